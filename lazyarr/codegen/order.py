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
# Pairs of a result and a chunk that keep a GPU busy. Over the last axes a chunk has 64 threads or
# more, which read along it; over others it has 16, whose neighbours read other results.
_PAIRS = 8192
_PAIRS_ACROSS = 32768
_SHORTEST = 4096


class Order(NamedTuple):
    """Lanes in a chunk, elements in a chunk, chunks."""

    lanes: int
    length: int
    chunks: int


def combination_order(results: int, elements: int, trailing: bool) -> Order:
    """Return the order for ``results`` (M) outputs of ``elements`` (K) each.

    ``trailing``: the reduced axes are the last ones of the shape.
    """
    if elements < 32:
        return Order(4, 32, 1)
    if elements < 1024:
        return Order(32, 1024, 1)
    pairs = _PAIRS if trailing or results >= _PAIRS_ACROSS else _PAIRS_ACROSS
    wanted = max(results * elements // pairs, elements // _PAIRS, 1)
    length = max(_SHORTEST, 1 << (wanted - 1).bit_length())
    return Order(256, length, max(elements // length, 1))
