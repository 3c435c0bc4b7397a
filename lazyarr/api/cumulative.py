"""Scans: ``cumulative_sum`` and ``cumulative_prod`` (of the standard's statistical chapter)."""

from __future__ import annotations

from typing import Any

from .. import _dtypes as dt
from .._array import Array, wrap
from ..graph import scans, views
from ..graph.optable import REDUCE_OPS
from ..graph.write import right_side
from ._common import check_array
from .creation import full

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
        Lazily computed. The order of additions depends on the shape and the axis alone, so the
        same bits come from every layout and every run. One kernel if ``x`` is C-contiguous;
        otherwise a copy comes first.

    Raises
    ------
    ValueError
        If ``axis`` is missing and ``x`` is not 1-d.
    """
    return _cumulative("sum", x, axis, dtype, include_initial)


def cumulative_prod(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Array:
    """Return the running products along an axis; see `cumulative_sum`. The initial value is 1."""
    return _cumulative("prod", x, axis, dtype, include_initial)


def _cumulative(name: str, x: Array, axis: int | None, dtype: Any, include_initial: bool) -> Array:
    check_array(x, f"cumulative_{name}")
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"cumulative_{name} needs axis= for an array of {x.ndim} axes")
        axis = 0
    axis = views.normalize_axis(axis, x.ndim)
    spec = REDUCE_OPS[name].resolve(x.dtype, None if dtype is None else dt.as_dtype(dtype))
    if include_initial and x.shape[axis] == 0:
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        return full(shape, scans.INITIAL[name], dtype=spec.out_dtype, device=x.device)
    source, view = x._cell.value, x.view
    if not views.is_contiguous(view.shape, view.strides):
        source, view = right_side(x.dtype, x.shape, source, view), views.contiguous(x.shape)
    return wrap(scans.scan_call(source, view, spec, axis, include_initial))
