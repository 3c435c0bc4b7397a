"""Flagged elements of an array: the heads of runs of equal neighbours, or nonzero ones.

How many there are is a control read: the shapes of what is made of them depend on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._array import Array, wrap
from ..graph import evaluate, runs
from ..graph.node import Value
from ..graph.views import is_contiguous
from ..storage import transfer
from ._common import in_order


class Runs(NamedTuple):
    """What was found: ``number`` flagged elements among ``size``."""

    flags: Value
    size: int
    number: int


def without_gaps(x: Array) -> tuple[Value, int]:
    """Return a value that holds the elements of x in row-major order, and where they begin in it.

    x's own where it does so already; otherwise that of a pending copy.
    """
    view = x.view
    if is_contiguous(view.shape, view.strides):
        return x._cell.value, view.offset
    return in_order(x, x.dtype), 0


def find_heads(source: Value, size: int, cause: str) -> Runs:
    """Find where runs of equal neighbours begin. Forces the source, and reads their number."""
    return _find(runs.flags_call(source, 0, size, heads=True), size, cause)


def find_nonzero(x: Array, cause: str) -> Runs:
    """Find the elements of x, flattened, that are not zero. Forces x, and reads their number."""
    source, offset = without_gaps(x)
    return _find(runs.flags_call(source, offset, x.size, heads=False), x.size, cause)


def _find(flags: Value, size: int, cause: str) -> Runs:
    evaluate.force([flags], cause)
    return Runs(flags, size, _last(flags, f"count of {cause}"))


def _last(value: Value, cause: str) -> int:
    """Return the last element of a real int64 value, read as a count that steers the library."""
    storage = value.real
    assert storage is not None
    if storage.backend is None:
        assert storage.host is not None
        return int(storage.host.view(np.int64)[-1])
    buffer = storage.backend.host_buffer(8)
    at = storage.ptr + storage.nbytes - 8
    transfer.copy(storage.backend, "d2h", at, buffer, cause, control=True)
    return int(buffer.view(np.int64)[0])


def values_of(found: Runs, source: Value, offset: int = 0) -> Array:
    """Return the flagged ones of elements that begin at an offset."""
    count = found.number
    return wrap(runs.values_call(found.flags, source, offset, found.size, count))


def _emit(found: Runs, what: str, count: int, *picks: Value) -> Array:
    return wrap(runs.emit_call(what, found.flags, found.size, picks, count))


def positions_of(found: Runs) -> Array:
    """Return where the flagged elements are, ascending."""
    return _emit(found, "positions", found.number)


def starts_of(found: Runs) -> Array:
    """Return where each run starts, and the number of elements behind them. Needs an element."""
    return _emit(found, "starts", found.number + 1)


def inverse_of(found: Runs, picks: Value) -> Array:
    """Return, at the place ``picks[i]``, the number of the run in which element i is."""
    return _emit(found, "inverse", found.size, picks)
