"""One reduction node, for the chapters that have reductions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._array import Array, copy_of, elementwise, wrap
from .._dtypes import DType, bool_
from .._promotion import scalar_value
from ..graph import views
from ..graph.node import Value
from ..graph.optable import OPS, REDUCE_OPS, ReduceSpec
from ..graph.views import Shape
from ._common import check_array, filled

Axis = int | Sequence[int] | None

# What a reduction of nothing gives; the others have no value for it.
_OF_NOTHING: dict[str, Any] = {
    "sum": 0,
    "prod": 1,
    "mean": math.nan,
    "var": math.nan,
    "squared_deviations": 0,
    "any": False,
    "all": True,
    "count_nonzero": 0,
}


def reduce(name: str, x: Array, axis: Axis, keepdims: bool, dtype: DType | None = None) -> Array:
    """Return the node of a reduction of ``x`` over axes (None: all of them)."""
    check_array(x, name)
    spec = REDUCE_OPS[name].resolve(x.dtype, dtype)
    shape = x.shape
    axes = normalized(axis, len(shape))
    if keepdims:
        out_shape = tuple(1 if d in axes else n for d, n in enumerate(shape))
    else:
        out_shape = tuple(n for d, n in enumerate(shape) if d not in axes)
    if 0 in shape:
        return _of_nothing(spec, x, axes, out_shape)
    if not axes:
        return _of_each(spec, x)
    plain = x._view is None
    view = x.view
    value = Value(
        spec,
        (x._cell.value,),
        None if plain else (view.strides,),
        None if plain else (view.offset,),
        (shape, axes),
        out_shape,
        x.device,
    )
    return wrap(value)


def normalized(axis: Axis, ndim: int) -> Shape:
    """Return axes counted from the front, ascending; None means all."""
    try:
        return views.normalize_axes(axis, ndim)
    except TypeError:
        raise TypeError(f"axis must be an int or a tuple of ints, not {axis!r}") from None


def _of_each(spec: ReduceSpec, x: Array) -> Array:
    """Reduce over no axes: every element by itself."""
    if spec.is_pair:
        return filled(x.shape, 0, spec.out_dtype, x.device)
    if spec.lane is not None:  # an element's distance from itself: 0, or NaN
        return copy_of(elementwise(OPS["subtract"], x, x), spec.out_dtype)
    if spec.op.name == "count_nonzero":
        return copy_of(copy_of(x, bool_), spec.out_dtype)
    return copy_of(x, spec.out_dtype)


def _of_nothing(spec: ReduceSpec, x: Array, axes: Shape, out_shape: Shape) -> Array:
    name = spec.op.name
    if 0 in out_shape:
        return filled(out_shape, scalar_value(0, spec.out_dtype), spec.out_dtype, x.device)
    if name not in _OF_NOTHING:
        raise ValueError(f"{name} of an array of shape {x.shape} over axes {axes}: no elements")
    scalar = _OF_NOTHING[name]
    if name == "mean" and spec.out_dtype.kind == "c":
        scalar = complex(math.nan, math.nan)
    return filled(out_shape, scalar_value(scalar, spec.out_dtype), spec.out_dtype, x.device)
