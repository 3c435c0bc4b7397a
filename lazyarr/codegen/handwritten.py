"""Kernels written by hand: the files of ``kernels/``, specialised by definitions.

Owns the source text of each; the graph's steps own shapes and arguments.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from .._kernel_files import kernel_text
from .emit import BLOCK
from .key import TextKey

LINE = 128  # bytes that memory moves at best
WORDS: Final = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}


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
    definitions = [
        item_type(itemsize),
        f"#define LZ_BATCH {batch}",
        f"#define LZ_ROWS {tile.rows}",
        f"#define LZ_COLUMNS {tile.columns}",
        f"#define LZ_THREADS {tile.threads}",
    ]
    text = "\n".join([*definitions, kernel_text("transpose.cuh")])
    return TextKey("transpose", "lz_transpose", text)


def join_key(unit: int, pieces: int, long: bool, wide: bool) -> TextKey:
    """Return the kernel that puts pieces side by side, for units of a size in bytes.

    ``long``: rows fill a block's stretches; ``wide``: 32 bits cannot count all units.
    """
    count = "unsigned long long" if wide else "unsigned int"
    sizes = f"#define LZ_PIECES {pieces}\n#define LZ_THREADS {BLOCK}\n#define LZ_LINE {LINE}"
    items = f"#define LZ_ITEMS {join_items(unit)}\ntypedef {count} LZ_U;"
    text = f"{item_type(unit)}\n{sizes}\n{items}\n{kernel_text('join.cuh')}"
    return TextKey("join", "lz_join_long" if long else "lz_join_short", text)


def join_items(unit: int) -> int:
    """Return how many units a thread of a join takes: about 16 bytes, and at least 2 loads."""
    return {1: 8, 2: 8, 4: 4, 8: 4, 16: 2}[unit]


def item_type(itemsize: int) -> str:
    """Return the definition of LZ_T, for kernels that only move items of a size."""
    if itemsize == 16:
        return "struct alignas(16) LZ_T { unsigned long long a, b; };"
    return f"typedef {WORDS[itemsize]} LZ_T;"
