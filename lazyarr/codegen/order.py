"""The order in which reductions combine: a function of the shape and the axes alone.

With K elements to combine for each of M results, the elements (in C order of the reduced axes) are
cut into chunks of ``length``; the last takes the rest, less than twice as many. In a chunk, lane
``l`` of ``lanes`` combines the elements k with ``k % lanes == l``, ascending; then lanes combine in
halves: l with l + lanes/2, down to one. More than one chunk: the chunks' results are combined like
one chunk, with ``FINAL_LANES`` lanes.

Layout, producers, vector width, thread count and GPU change none of it, so they change no bit of a
result.
"""

from __future__ import annotations

from typing import NamedTuple

FINAL_LANES = 256
_CHUNKS = 8192
_SHORTEST = 4096


class Order(NamedTuple):
    """Lanes in a chunk, elements in a chunk, chunks."""

    lanes: int
    length: int
    chunks: int


def combination_order(results: int, elements: int) -> Order:
    """Return the order for ``results`` (M) outputs of ``elements`` (K) each."""
    if elements < 32:
        return Order(4, 32, 1)
    if elements < 1024:
        return Order(32, 1024, 1)
    wanted = max(results * elements // _CHUNKS, 1)
    length = max(_SHORTEST, 1 << (wanted - 1).bit_length())
    return Order(256, length, max(elements // length, 1))
