"""Searching functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import Array, as_operand, elementwise, wrap
from .._promotion import result_dtype, scalar_dtype, scalar_value
from ..graph import sorting
from ..graph.node import const
from ..graph.optable import OPS
from ._common import check_array, check_arrays, check_int, in_order
from ._reduction import Axis, reduce
from .indexing import take
from .sorting import check_real

__all__ = ["argmax", "argmin", "count_nonzero", "searchsorted", "where"]


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


def searchsorted(
    x1: Array, x2: Any, /, *, side: str = "left", sorter: Array | None = None
) -> Array:
    """Return where elements of x2 would have to be inserted in x1 to keep it sorted.

    Parameters
    ----------
    x1 : Array
        1-d, of a real dtype or bool, ascending (or in the order of ``sorter``), NaN last, as
        `sort` leaves it. Not checked.
    x2 : Array or scalar
        Of any shape; the dtypes must promote together.
    side : {"left", "right"}
        Before or behind the elements that are equal.
    sorter : Array, optional
        Integers of x1's shape that sort it, as `argsort` returns them.

    Returns
    -------
    Array
        Of dtype int64 and x2's shape. Lazy: a thread an element of x2 searches by halving. NaN
        goes where `sort` puts it.

    Raises
    ------
    ValueError
        If x1 is not 1-d, ``side`` is neither, the sorter's shape is not x1's, or for arrays on
        different devices.
    TypeError
        For complex dtypes, dtypes without a common one, or a sorter that is not of integers.
    OverflowError
        For an int that does not fit x1's dtype.
    IndexError
        If an index in ``sorter`` is out of range, when the host knows it or the result is
        evaluated.
    """
    check_real(x1, "searchsorted")
    if x1.ndim != 1:
        raise ValueError(f"searchsorted needs x1 with one axis, not of shape {x1.shape}")
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', not {side!r}")
    if isinstance(x2, (bool, int, float, complex, np.generic)):
        own = scalar_dtype(x2, x1.dtype)
        x2 = Array(const(scalar_value(x2, own), own, (), x1.device))
    x2 = check_real(as_operand(x2, x1.device), "searchsorted")
    check_arrays([x1, x2], "searchsorted")
    dtype = result_dtype(x1.dtype, x2.dtype)
    if sorter is not None:
        x1 = take(x1, _checked_sorter(sorter, x1))
    ordered, elements = in_order(x1, dtype), in_order(x2, dtype)
    return wrap(sorting.searchsorted_call(ordered, x1.size, elements, x2.shape, side == "right"))


def _checked_sorter(sorter: Any, x1: Array) -> Array:
    check_arrays([x1, sorter], "searchsorted")
    if sorter.dtype.kind not in "iu":
        raise TypeError(f"sorter must hold integers, not {sorter.dtype}")
    if sorter.shape != x1.shape:
        raise ValueError(f"sorter has the shape {sorter.shape}, and x1 {x1.shape}")
    return sorter  # type: ignore[no-any-return]


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
