"""Flagged elements of an array in memory: the heads of runs of equal neighbours, or nonzero ones.

How many there are is a control read: the shapes of what is made of them depend on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._array import Array, wrap
from ..graph import evaluate, sorting
from ..graph.node import Value
from ..storage import transfer


class Runs(NamedTuple):
    """What was found: ``number`` flagged elements among ``size``."""

    source: Value
    offsets: Value
    size: int
    heads: bool
    number: int


def find_runs(source: Value, size: int, cause: str, *, heads: bool) -> Runs:
    """Find flagged elements of a value that is read in order. Forces it, and reads their number."""
    offsets = sorting.run_offsets_call(source, size, heads)
    evaluate.force([offsets], cause)
    return Runs(source, offsets, size, heads, _last(offsets, f"count of {cause}"))


def _last(value: Value, cause: str) -> int:
    """Return the last element of a real int64 value, read as a count that steers the library."""
    storage = value.real
    assert storage is not None
    if storage.backend is None:
        assert storage.host is not None
        return int(storage.host.view(np.int64)[-1])
    storage.verify()
    buffer = np.empty(1, np.int64)
    at = storage.ptr + storage.nbytes - 8
    transfer.copy(storage.backend, "d2h", at, buffer.view(np.uint8), cause, control=True)
    return int(buffer[0])


def _emit(runs: Runs, what: str, count: int, *picks: Value) -> Array:
    others = (runs.offsets, *picks)
    return wrap(sorting.run_emit_call(what, runs.source, runs.size, runs.heads, others, count))


def values_of(runs: Runs) -> Array:
    """Return the flagged elements."""
    return _emit(runs, "values", runs.number)


def positions_of(runs: Runs) -> Array:
    """Return where the flagged elements are, ascending."""
    return _emit(runs, "positions", runs.number)


def starts_of(runs: Runs) -> Array:
    """Return where each run starts, and the number of elements behind them. Needs an element."""
    return _emit(runs, "starts", runs.number + 1)


def inverse_of(runs: Runs, picks: Value) -> Array:
    """Return, at the place ``picks[i]``, the number of the run in which element i is."""
    return _emit(runs, "inverse", runs.size, picks)
