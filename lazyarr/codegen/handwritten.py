"""Kernels written by hand: the files of ``kernels/``, specialised by definitions.

Owns the source text of each; the graph's steps own shapes and arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _dtypes as dt
from .._kernel_files import kernel_text
from .emit import prelude
from .key import TextKey

if TYPE_CHECKING:
    from ..graph.optable import ReduceSpec

SHORT_ROW = 64
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
    if itemsize == 16:
        definition = "struct alignas(16) LZ_T { unsigned long long a, b; };"
    else:
        definition = f"typedef {_BY_SIZE[itemsize]} LZ_T;"
    sizes = f"#define LZ_BATCH {batch}\n#define LZ_TILE {tile}\n#define LZ_LINES {lines}"
    text = f"{definition}\n{sizes}\n{kernel_text('transpose.cuh')}"
    return TextKey("transpose", "lz_transpose", text)
