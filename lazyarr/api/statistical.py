"""Statistical functions: reductions and what is made of them.

All are lazy: they build nodes, copy nothing and force nothing. A reduction fuses the element-wise
work that makes its input.
"""

from __future__ import annotations

import math
from typing import Any

from .. import _dtypes as dt
from .._array import Array, copy_of, elementwise
from ..graph.optable import OPS
from ._common import check_array
from ._reduction import Axis, normalized, reduce

__all__ = ["max", "mean", "min", "prod", "std", "sum", "var"]


def max(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the largest elements along axes; NaN propagates, and +0 is larger than -0.

    Parameters
    ----------
    x : Array
        Of a real dtype.
    axis : int or tuple of int, optional
        None: all axes; ``()``: each element by itself.
    keepdims : bool
        Leave the reduced axes in the shape, with length 1.

    Returns
    -------
    Array
        Of x's dtype. Lazy.

    Raises
    ------
    ValueError
        If there are no elements to choose from.
    TypeError
        For bool and complex dtypes.
    """
    return reduce("max", x, axis, keepdims)


def min(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the smallest elements along axes; NaN propagates, and -0 is smaller than +0.

    Parameters, result and errors are those of `max`. Lazy.
    """
    return reduce("min", x, axis, keepdims)


def sum(x: Array, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """Return sums along axes; integers wrap. The sum of nothing is 0.

    Parameters
    ----------
    x : Array
        Of a numeric dtype.
    axis : int or tuple of int, optional
        None: all axes; ``()``: each element by itself.
    dtype : dtype, optional
        What to convert to before adding, and the result's dtype. By default int64 for signed and
        uint64 for unsigned integers, or else x's dtype.
    keepdims : bool
        Leave the reduced axes in the shape, with length 1.

    Returns
    -------
    Array
        Lazy. The order of additions depends on shape, axes and dtype alone.

    Raises
    ------
    TypeError
        For bool (see ``count_nonzero``), or a dtype that x cannot be converted to.
    """
    return reduce("sum", x, axis, keepdims, None if dtype is None else dt.as_dtype(dtype))


def prod(x: Array, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """Return products along axes; integers wrap. The product of nothing is 1.

    Parameters, result and errors are those of `sum`. Lazy.
    """
    return reduce("prod", x, axis, keepdims, None if dtype is None else dt.as_dtype(dtype))


def mean(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return arithmetic means along axes; NaN of nothing.

    Parameters
    ----------
    x : Array
        Of a floating-point dtype.
    axis, keepdims
        As in `sum`.

    Returns
    -------
    Array
        Of x's dtype. Lazy.

    Raises
    ------
    TypeError
        For bool and integer dtypes: convert with ``astype`` first.
    """
    return reduce("mean", x, axis, keepdims)


def var(
    x: Array, /, *, axis: Axis = None, correction: int | float = 0.0, keepdims: bool = False
) -> Array:
    """Return variances along axes: the squared deviations from the mean, over n - correction.

    Parameters
    ----------
    x : Array
        Of a real floating-point dtype.
    axis, keepdims
        As in `sum`.
    correction : int or float
        1 for the variance of a sample.

    Returns
    -------
    Array
        Of x's dtype; NaN where correction is n or more. Lazy: x is read once.

    Raises
    ------
    TypeError
        For dtypes other than real floating-point ones.
    """
    return _variance("var", x, axis, correction, keepdims)


def std(
    x: Array, /, *, axis: Axis = None, correction: int | float = 0.0, keepdims: bool = False
) -> Array:
    """Return standard deviations along axes: the square root of `var`. Lazy.

    Parameters and errors are those of `var`.
    """
    return elementwise(OPS["sqrt"], _variance("std", x, axis, correction, keepdims))


def _variance(name: str, x: Array, axis: Axis, correction: float, keepdims: bool) -> Array:
    check_array(x, name)
    if x.dtype.kind != "f":
        raise TypeError(f"{name} needs a real floating-point dtype, not {x.dtype}; use astype")
    axes = normalized(axis, x.ndim)
    if correction == 0:
        return reduce("var", x, axes, keepdims)  # divides inside the reduction
    freedom = math.prod(x.shape[d] for d in axes) - float(correction)
    total = reduce("squared_deviations", x, axes, keepdims)
    result = elementwise(OPS["divide"], total, freedom if freedom > 0 else math.nan)
    return result if x.dtype == result.dtype else copy_of(result, x.dtype)
