"""Sorting functions.

All orders are total, so that results do not depend on the device: NaN comes last, ascending and
descending, and +0 equals -0. Every sort is stable.
"""

from __future__ import annotations

from typing import Any

from .._array import Array, copy_of, view_of, wrap
from ..graph import sorting, views
from ._common import check_array, in_order

__all__ = ["argsort", "sort"]


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the elements of x in order along an axis.

    Parameters
    ----------
    x : Array
        Of a real dtype or bool.
    axis : int
    descending : bool
        NaN comes last in both directions.
    stable : bool
        Every sort is stable: elements that compare equal (+0 and -0, NaNs) keep their order, also
        in descending order.

    Returns
    -------
    Array
        Of x's dtype and shape. Lazy. Rows of up to 4096 elements are one kernel, longer ones a
        radix sort (Adinets and Merrill, 2022) that takes a read and a write for each byte of an
        element, and a buffer as large as x.

    Raises
    ------
    TypeError
        For complex dtypes.
    IndexError
        If x has no such axis.
    """
    return _along(sorting.sort_call, check_real(x, "sort"), axis, descending)


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the indices that sort x along an axis.

    Parameters, evaluation and errors are those of `sort`. Indices of equal elements ascend.

    Returns
    -------
    Array
        Of dtype int64 and x's shape. Lazy.
    """
    return _along(sorting.argsort_call, check_real(x, "argsort"), axis, descending)


def check_real(x: Any, function: str) -> Array:
    """Return x if it is an array whose elements have an order."""
    if check_array(x, function).dtype.kind == "c":
        raise TypeError(
            f"{function} is not defined for {x.dtype}: complex numbers have no order; "
            "use xp.real(x), xp.imag(x) or xp.abs(x)"
        )
    return x  # type: ignore[no-any-return]


def _along(call: Any, x: Array, axis: int, descending: bool) -> Array:
    axis = views.normalize_axis(axis, x.ndim)
    last = x.ndim - 1
    order = (*[d for d in range(x.ndim) if d != axis], axis)
    moved = view_of(x, views.permute(x.view, order))
    rows = wrap(call(in_order(moved, x.dtype), moved.shape, bool(descending)))
    if axis == last:
        return rows
    back = (*range(axis), last, *range(axis, last))
    return copy_of(view_of(rows, views.permute(rows.view, back)))
