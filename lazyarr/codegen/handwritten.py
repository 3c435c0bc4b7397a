"""Kernels written by hand: the files of ``kernels/``, specialised by definitions.

Owns the source text of each; the graph's steps own shapes and arguments.
"""

from __future__ import annotations

from .._kernel_files import kernel_text
from .key import TextKey

_BY_SIZE = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}


def transpose_key(itemsize: int, batch: int, tile: int, lines: int) -> TextKey:
    """Return the tiled copy for elements of a size, with further axes besides the two."""
    if itemsize == 16:
        definition = "struct alignas(16) LZ_T { unsigned long long a, b; };"
    else:
        definition = f"typedef {_BY_SIZE[itemsize]} LZ_T;"
    sizes = f"#define LZ_BATCH {batch}\n#define LZ_TILE {tile}\n#define LZ_LINES {lines}"
    text = f"{definition}\n{sizes}\n{kernel_text('transpose.cuh')}"
    return TextKey("transpose", "lz_transpose", text)
