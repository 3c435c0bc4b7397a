"""Flagged elements of an array: the heads of runs of equal neighbours, or nonzero ones.

How many there are is a control read: the shapes of what is made of them depend on it.
"""

from __future__ import annotations

from typing import NamedTuple

from .. import _dtypes as dt
from .._array import Array, wrap
from ..graph import evaluate, runs
from ..graph.node import Value
from ..graph.views import is_contiguous
from ._common import in_order
from .creation import empty


class Runs(NamedTuple):
    """What was found: ``number`` flagged elements among ``size``."""

    flags: Value
    size: int
    number: int


def without_gaps(x: Array) -> tuple[Value, int]:
    """Return a value that holds the elements of x in row-major order, and where they begin in it.

    x's own where it does so already; otherwise that of a pending copy.
    """
    if x._view is None:
        return x._cell.value, 0
    view = x.view
    if is_contiguous(view.shape, view.strides):
        return x._cell.value, view.offset
    return in_order(x, x.dtype), 0


def find_heads(source: Value, size: int, cause: str) -> Runs:
    """Find where runs of equal neighbours begin. Forces the source, and reads their number."""
    flags = runs.flags_call(source, 0, size, heads=True)
    evaluate.force([flags], cause)
    return Runs(flags, size, runs.count_of(flags, cause))


def select(x: Array, mask: Array) -> Array:
    """Return the elements of x where a mask of its shape is true, computed at the call."""
    flags = runs.flags_call(*without_gaps(mask), x.size, heads=False)
    found = runs.find_values(flags, *without_gaps(x), x.size, "mask")
    return empty((0,), dtype=x.dtype, device=x.device) if found is None else wrap(found)


def positions_of_nonzero(x: Array, cause: str) -> Array:
    """Return where elements of the flattened x are not zero, ascending, computed at the call."""
    flags = runs.flags_call(*without_gaps(x), x.size, heads=False)
    found = runs.find_positions(flags, x.size, cause)
    return empty((0,), dtype=dt.int64, device=x.device) if found is None else wrap(found)


def values_of(found: Runs, source: Value) -> Array:
    """Return the flagged ones of elements that are read in order."""
    return wrap(runs.values_call(found.flags, source, 0, found.size, found.number))


def _emit(found: Runs, what: str, count: int, *picks: Value) -> Array:
    return wrap(runs.emit_call(what, found.flags, found.size, picks, count))


def starts_of(found: Runs) -> Array:
    """Return where each run starts, and the number of elements behind them. Needs an element."""
    return _emit(found, "starts", found.number + 1)


def inverse_of(found: Runs, picks: Value) -> Array:
    """Return, at the place ``picks[i]``, the number of the run in which element i is."""
    return _emit(found, "inverse", found.size, picks)
