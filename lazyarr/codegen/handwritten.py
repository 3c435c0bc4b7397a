"""Kernels written by hand: the files of ``kernels/``, specialised by definitions.

Owns the source text of each; the graph's steps own shapes and arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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


class Tile(NamedTuple):
    """The tile of a transposing copy, and the threads that move it."""

    rows: int
    columns: int
    threads: int


def transpose_tile(itemsize: int, rows: int, columns: int, aligned: bool) -> Tile:
    """Return the tile for lines of ``rows`` elements that become lines of ``columns``.

    ``aligned``: all lines start at sectors of memory. Where they do not, longer pieces are stored,
    for a piece's two ends are sectors that are stored in part. Measured on an H200.
    """
    if itemsize == 16 or min(rows, columns) < 64:
        return Tile(32, 32, 256)
    if itemsize <= 2:
        return Tile(64, 64, 256)
    if itemsize == 4 and not aligned and columns >= 128:
        return Tile(32, 128, 512)
    return Tile(64, 64, 512)


def transpose_key(itemsize: int, batch: int, tile: Tile) -> TextKey:
    """Return the tiled copy for elements of a size, with further axes besides the two."""
    if itemsize == 16:
        definition = "struct alignas(16) LZ_T { unsigned long long a, b; };"
    else:
        definition = f"typedef {_BY_SIZE[itemsize]} LZ_T;"
    definitions = [
        definition,
        f"#define LZ_BATCH {batch}",
        f"#define LZ_ROWS {tile.rows}",
        f"#define LZ_COLUMNS {tile.columns}",
        f"#define LZ_THREADS {tile.threads}",
    ]
    text = "\n".join([*definitions, kernel_text("transpose.cuh")])
    return TextKey("transpose", "lz_transpose", text)
