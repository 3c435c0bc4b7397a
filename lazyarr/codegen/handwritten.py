"""Kernels written by hand: the files of ``kernels/``, specialised by definitions.

Owns the source text of each; the graph's steps own shapes and arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _dtypes as dt
from .._kernel_files import kernel_text
from .emit import BLOCK, prelude
from .key import TextKey

if TYPE_CHECKING:
    from ..graph.optable import ReduceSpec

SHORT_ROW = 64
LINE = 128  # bytes that memory moves at best
_BY_SIZE = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}


def scan_key(spec: ReduceSpec, length: int) -> TextKey:
    """Return the inclusive scan that combines as the reduction does, for rows of a length."""
    definitions = [
        f"typedef {dt.c_type(spec.in_dtype)} LZ_T;",
        f"typedef {spec.acc_c_type} LZ_A;",
        f"#define LZ_LOAD(x) {spec.load.format(x='x', k='0')}",
        f"#define LZ_COMBINE(p, q) {spec.combine.format(a='(p)', b='(q)')}",
        f"#define LZ_IDENTITY {spec.identity}",
    ]
    function = "lz_scan_short" if length <= SHORT_ROW else "lz_scan_long"
    text = f"{prelude(True)}{chr(10).join(definitions)}\n{kernel_text('scan.cuh')}"
    return TextKey(f"scan {spec.op.name}", function, text)


def transpose_key(itemsize: int, batch: int, tile: int, lines: int) -> TextKey:
    """Return the tiled copy for elements of a size, with further axes besides the two."""
    definition = _unit(itemsize)
    sizes = f"#define LZ_BATCH {batch}\n#define LZ_TILE {tile}\n#define LZ_LINES {lines}"
    text = f"{definition}\n{sizes}\n{kernel_text('transpose.cuh')}"
    return TextKey("transpose", "lz_transpose", text)


def join_key(unit: int, pieces: int, long: bool, wide: bool) -> TextKey:
    """Return the kernel that puts pieces side by side, for units of a size in bytes.

    ``long``: rows fill a block's stretches; ``wide``: 32 bits cannot count all units.
    """
    count = "unsigned long long" if wide else "unsigned int"
    sizes = f"#define LZ_PIECES {pieces}\n#define LZ_THREADS {BLOCK}\n#define LZ_LINE {LINE}"
    items = f"#define LZ_ITEMS {join_items(unit)}\ntypedef {count} LZ_U;"
    text = f"{_unit(unit)}\n{sizes}\n{items}\n{kernel_text('join.cuh')}"
    return TextKey("join", "lz_join_long" if long else "lz_join_short", text)


def join_items(unit: int) -> int:
    """Return how many units a thread of a join takes: about 16 bytes, and at least 2 loads."""
    return {1: 8, 2: 8, 4: 4, 8: 4, 16: 2}[unit]


def _unit(itemsize: int) -> str:
    """Return the definition of LZ_T, for copies of items of a size."""
    if itemsize == 16:
        return "struct alignas(16) LZ_T { unsigned long long a, b; };"
    return f"typedef {_BY_SIZE[itemsize]} LZ_T;"
