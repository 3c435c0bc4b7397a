"""Searching functions."""

from __future__ import annotations

from typing import Any

from .._array import Array, elementwise
from ..graph.optable import OPS
from ._common import check_array, check_int
from ._reduction import Axis, reduce

__all__ = ["argmax", "argmin", "count_nonzero", "where"]


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the indices of the first largest elements; the first NaN wins.

    Parameters
    ----------
    x : Array
        Of a real dtype.
    axis : int, optional
        None: the index into all elements, in row-major order.
    keepdims : bool
        Leave the reduced axes in the shape, with length 1.

    Returns
    -------
    Array
        Of dtype int64. Lazy.

    Raises
    ------
    ValueError
        If there are no elements to choose from.
    TypeError
        For bool and complex dtypes.
    """
    return reduce("argmax", x, _one_axis(axis), keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the indices of the first smallest elements; the first NaN wins.

    Parameters, result and errors are those of `argmax`. Lazy.
    """
    return reduce("argmin", x, _one_axis(axis), keepdims)


def _one_axis(axis: int | None) -> int | None:
    return None if axis is None else check_int(axis, "axis")


def count_nonzero(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return how many elements along axes are not zero (or False); NaN is not zero.

    Parameters
    ----------
    x : Array
        Of any dtype.
    axis : int or tuple of int, optional
        None: all axes; ``()``: each element by itself.
    keepdims : bool
        Leave the reduced axes in the shape, with length 1.

    Returns
    -------
    Array
        Of dtype int64. Lazy.
    """
    return reduce("count_nonzero", x, axis, keepdims)


def where(condition: Array, x1: Any, x2: Any, /) -> Array:
    """Return elements of x1 where the condition is True, and of x2 elsewhere.

    Parameters
    ----------
    condition : Array
        Of dtype bool.
    x1, x2 : Array or scalar
        At least one an array. All three broadcast.

    Returns
    -------
    Array
        Of the broadcast shape and the promoted dtype of x1 and x2. Lazy: nothing is forced.

    Raises
    ------
    TypeError
        For a condition that is not bool, or two scalars.
    ValueError
        For shapes that do not broadcast, or arrays on different devices.
    """
    check_array(condition, "where")
    return elementwise(OPS["where"], condition, x1, x2)
