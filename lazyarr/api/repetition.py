"""``repeat`` (of the standard's manipulation chapter)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dtypes as dt
from .. import ledger
from .._array import Array, copy_of, elementwise, view_of, wrap
from .._devices import CPU
from ..graph import scans, views
from ..graph.optable import OPS, REDUCE_OPS
from ..graph.views import View
from ._common import check_array, check_int
from ._reduction import reduce
from .conversion import asarray
from .creation import arange, zeros
from .cumulative import cumulative_sum
from .data_types import astype
from .indexing import NOWHERE, control_scalar, pick, store_at
from .manipulation import reshape

__all__ = ["repeat"]


def repeat(x: Array, repeats: Any, /, *, axis: int | None = None) -> Array:
    """Repeat each element along an axis.

    Parameters
    ----------
    x : Array
    repeats : int or Array
        How often: an int, or an array of one integer, or of one for each element along the axis.
    axis : int, optional
        None repeats the flattened elements.

    Returns
    -------
    Array
        A new array, made lazily. An array of counts is evaluated at the call, and one number of
        it (a control read) gives the shape of the result.

    Raises
    ------
    ValueError
        For a negative number, or an array that does not fit the axis.
    TypeError
        For an array that is not of integers.

    Notes
    -----
    By an array: each count's first place in the result is the sum of the counts before it; there
    the element's position is stored, and a running maximum spreads it over the places that follow.
    """
    check_array(x, "repeat")
    if axis is None:
        x, axis = reshape(x, (x.size,)), 0
    d = views.normalize_axis(axis, x.ndim)
    if type(repeats) is not Array:
        return _repeat_alike(x, check_int(repeats, "repeats"), d)
    if repeats.dtype.kind not in "iu":
        raise TypeError(f"repeat: repeats must be integers, not {repeats.dtype}")
    if repeats.ndim > 1:
        raise ValueError(f"repeat: repeats must have one axis, not shape {repeats.shape}")
    if repeats.size == 1:
        count = control_scalar(repeats, "repeat")
        if count < 0:
            raise ledger.noted(_negative(count))
        return _repeat_alike(x, count, d)
    if repeats.shape != (x.shape[d],):
        raise ValueError(f"repeat: {repeats.size} counts do not fit {x.shape[d]} elements")
    if repeats.device is not x.device:
        raise ValueError(
            f"repeat: x is on {x.device} and repeats on {repeats.device}; move one with "
            f"to_device({str(x.device)!r})"
        )
    return pick(x, _sources(repeats), d) if repeats.size else copy_of(x)


def _repeat_alike(x: Array, count: int, d: int) -> Array:
    """Repeat every element equally often: a copy that reads with a stride of 0."""
    if count < 0:
        raise _negative(count)
    view = x.view
    shape = (*view.shape[: d + 1], count, *view.shape[d + 1 :])
    strides = (*view.strides[: d + 1], 0, *view.strides[d + 1 :])
    result = views.check_shape((*view.shape[:d], view.shape[d] * count, *view.shape[d + 1 :]))
    return reshape(copy_of(view_of(x, View(view.offset, shape, strides))), result)


def _negative(count: int) -> ValueError:
    return ValueError(f"repeat: repeats must not be negative, and is {count}")


def _sources(repeats: Array) -> Array:
    """Return for each place of the result the position of the element that it repeats."""
    counts = astype(repeats, dt.int64, copy=False)
    ends = cumulative_sum(counts)
    negative = reduce("any", elementwise(OPS["less"], counts, 0), None, False)
    total = control_scalar(elementwise(OPS["where"], negative, -1, ends[-1]), "repeat")
    if total < 0:
        fault = "repeat: repeats must not be negative, nor add up to 2**63 or more"
        raise ledger.noted(ValueError(fault))
    if repeats.device is CPU:
        every = np.repeat(np.arange(repeats.size), np.asarray(counts))
        return asarray(every, device=CPU)
    marks = zeros((total,), dtype=dt.int64, device=repeats.device)
    if total == 0:
        return marks
    firsts = elementwise(OPS["where"], counts > 0, ends - counts, NOWHERE)
    store_at(marks, arange(repeats.size, device=repeats.device), firsts)
    maximum = REDUCE_OPS["max"].resolve(dt.int64)
    return wrap(scans.scan_call(marks._cell.value, marks.view, maximum, 0, False))
