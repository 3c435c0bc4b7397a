"""Flagged elements of an array in memory: the heads of runs of equal neighbours, or nonzero ones.

How many there are is a control read: the shapes of what is made of them depend on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import _dtypes as dt
from .._array import Array, wrap
from .._dtypes import DType
from ..graph import evaluate, sorting
from ..graph.node import Value, call_spec
from ..storage import transfer


class Runs(NamedTuple):
    """What was found: ``number`` flagged elements among ``size``."""

    source: Value
    offsets: Value
    extra: tuple[DType, int, bool]
    size: int
    number: int


def find_runs(source: Value, size: int, cause: str, *, heads: bool) -> Runs:
    """Find flagged elements of a value that is read in order. Forces it, and reads their number."""
    extra = (source.dtype, size, heads)
    shape = (sorting.run_tiles(size) + 1,)
    offsets = Value(
        call_spec("runs_offsets", dt.int64), (source,), None, None, extra, shape, source.device
    )
    evaluate.force([offsets], cause)
    return Runs(source, offsets, extra, size, _last(offsets, f"count of {cause}"))


def _last(value: Value, cause: str) -> int:
    """Return the last element of a real int64 value, read as a count that steers the library."""
    storage = value.real
    assert storage is not None
    if storage.backend is None:
        assert storage.host is not None
        return int(storage.host.view(np.int64)[-1])
    buffer = np.empty(1, np.int64)
    at = storage.ptr + storage.nbytes - 8
    transfer.copy(storage.backend, "d2h", at, buffer.view(np.uint8), cause, control=True)
    return int(buffer[0])


def _emit(runs: Runs, what: str, dtype: DType, count: int, *picks: Value) -> Array:
    spec = call_spec(f"runs_{what}", dtype)
    args = (runs.source, runs.offsets, *picks)
    return wrap(Value(spec, args, None, None, runs.extra, (count,), runs.source.device))


def values_of(runs: Runs) -> Array:
    """Return the flagged elements."""
    return _emit(runs, "values", runs.source.dtype, runs.number)


def positions_of(runs: Runs) -> Array:
    """Return where the flagged elements are, ascending."""
    return _emit(runs, "positions", dt.int64, runs.number)


def starts_of(runs: Runs) -> Array:
    """Return where each run starts, and the number of elements behind them. Needs an element."""
    return _emit(runs, "starts", dt.int64, runs.number + 1)


def inverse_of(runs: Runs, picks: Value) -> Array:
    """Return, at the place ``picks[i]``, the number of the run in which element i is."""
    return _emit(runs, "inverse", dt.int64, runs.size, picks)
