"""Scans: ``cumulative_sum`` and ``cumulative_prod`` (of the standard's statistical chapter)."""

from __future__ import annotations

from typing import Any

from .. import _dtypes as dt
from .._array import Array, copy_of, view_of, wrap
from ..graph import views
from ..graph.node import Value, call_spec
from ..graph.optable import REDUCE_OPS
from ..graph.write import right_side
from ._common import check_array
from .creation import empty

__all__ = ["cumulative_prod", "cumulative_sum"]


def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Array:
    """Return the running sums along an axis.

    Parameters
    ----------
    x : Array
        Numeric, at least 1-d.
    axis : int, optional
        May be left out for a 1-d ``x`` only.
    dtype : dtype, optional
        Of the sums; by default 64 bits for integers, the array's own for floats.
    include_initial : bool
        Put a 0 before the first sum, so that the axis is one longer.

    Returns
    -------
    Array
        Lazily computed. The order of additions depends on the length of the axis alone.

    Raises
    ------
    ValueError
        If ``axis`` is missing and ``x`` is not 1-d.
    """
    return _cumulative("sum", 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Array:
    """Return the running products along an axis; see `cumulative_sum`. The initial value is 1."""
    return _cumulative("prod", 1, x, axis, dtype, include_initial)


def _cumulative(
    name: str, initial: int, x: Array, axis: int | None, dtype: Any, include_initial: bool
) -> Array:
    check_array(x, f"cumulative_{name}")
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"cumulative_{name} needs axis= for an array of {x.ndim} axes")
        axis = 0
    axis = views.normalize_axis(axis, x.ndim)
    spec = REDUCE_OPS[name].resolve(x.dtype, None if dtype is None else dt.as_dtype(dtype))
    last = x.ndim - 1
    order = (*[d for d in range(x.ndim) if d != axis], axis)
    back = (*range(axis), last, *range(axis, last))
    moved = view_of(x, views.permute(x.view, order))
    source = right_side(x.dtype, moved.shape, x._cell.value, moved.view)
    scan = call_spec("scan", spec.out_dtype)
    result = wrap(Value(scan, (source,), None, None, spec, moved.shape, x.device))
    if include_initial:
        result = _with_initial(result, initial)
    return _restored(result, back)


def _with_initial(result: Array, initial: int) -> Array:
    shape = (*result.shape[:-1], result.shape[-1] + 1)
    longer = empty(shape, dtype=result.dtype, device=result.device)
    longer[..., :1] = initial
    longer[..., 1:] = result
    return longer


def _restored(result: Array, axes: tuple[int, ...]) -> Array:
    """Return the axes in their places; C-contiguous unless they are already."""
    if axes == tuple(range(len(axes))):
        return result
    return copy_of(view_of(result, views.permute(result.view, axes)))
