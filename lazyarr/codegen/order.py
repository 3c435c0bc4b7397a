"""The order in which reductions combine: a function of the shape and the axes alone.

With K elements to combine for each of M results, the elements (in C order of the reduced axes) are
cut into chunks of ``length``; the last takes the rest, less than twice as many. In a chunk, lane
``l`` of ``lanes`` combines the elements k with ``k % lanes == l``, ascending; then lanes combine in
halves: l with l + lanes/2, down to one. More than one chunk: the chunks' results are combined like
one chunk.

Layout, producers, vector width, thread count and GPU change none of it, so they change no bit of a
result.
"""

from __future__ import annotations

from typing import NamedTuple

# Pairs of a result and a chunk that keep a GPU busy. Over the last axes a chunk has 64 threads or
# more, which read along it; over others it has 16, whose neighbours read other results.
_PAIRS = 8192
_PAIRS_ACROSS = 32768
_SHORTEST = 4096
_SHORTEST_ACROSS = 256
_LONG = range(8192, 32769)  # rows that a block takes whole, and may hold in registers,
_MANY = 512  # where there are enough of them


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
    if not trailing:
        return _across(results, elements)
    if elements in _LONG and results >= _MANY:
        return Order(1024, _power_of_two(elements), 1)
    wanted = max(results * elements // _PAIRS, 1)
    length = max(_SHORTEST, _power_of_two(wanted))
    chunks = max(elements // length, 1)
    return Order(1024 if chunks == 1 and elements >= _LONG.start else 256, length, chunks)


def _across(results: int, elements: int) -> Order:
    """Return the order over axes that are not the last: few lanes, as a thread holds several."""
    pairs = _PAIRS if results >= _PAIRS_ACROSS else _PAIRS_ACROSS
    wanted = max(results * elements // pairs, elements // _PAIRS, 1)
    length = max(_SHORTEST_ACROSS, _power_of_two(wanted))
    return Order(64, length, max(elements // length, 1))


def _power_of_two(n: int) -> int:
    """Return the smallest power of two that is not below ``n``."""
    return 1 << (n - 1).bit_length()
