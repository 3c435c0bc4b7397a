"""NumPy functions with lazyarr's semantics, where NumPy's own differ or are undefined.

Owns the host side of the op table: what the `cpu` device runs and tests compare kernels with. The
caller silences warnings. Functions may return NumPy scalars for 0-d arrays; `optable` wraps them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

NDArray = npt.NDArray[Any]


def cast_to(x: NDArray, dtype: np.dtype[Any]) -> NDArray:
    """`x` as `dtype`: integers wrap, floats saturate to integers (NaN gives 0), complex drops im.

    Returns `x` itself where the dtype is the same already.
    """
    if x.dtype == dtype:
        return x
    if x.dtype.kind == "c" and dtype.kind not in "bc":
        x = x.real
    if x.dtype.kind == "f" and dtype.kind in "iu":
        return _saturate(x, dtype)
    return x.astype(dtype)


def _saturate(x: NDArray, dtype: np.dtype[Any]) -> NDArray:
    info = np.iinfo(dtype)
    out = np.asarray(x.astype(dtype))  # what is out of range is undefined in C: replaced below
    top = x.dtype.type(2.0 ** (info.bits - (dtype.kind == "i")))  # the maximum may not be a float
    np.copyto(out, info.max, where=x >= top)
    np.copyto(out, info.min, where=x <= x.dtype.type(info.min))
    np.copyto(out, 0, where=np.isnan(x))
    return out


def floor_divide(a: NDArray, b: NDArray) -> NDArray:
    """floor(a / b) of floats, exact for finite operands and as the standard lists for the others.

    NumPy gives NaN for an infinite dividend and -1 for finite // infinite of another sign.
    """
    quotient = np.divide(a, b)
    plain = np.isinf(a) | np.isinf(b) | (b == 0)
    return np.where(plain, quotient, np.floor_divide(a, b))


def float_pow(base: NDArray, exponent: NDArray) -> NDArray:
    """Powers by C's rules: NumPy takes the square root where one exponent of 0.5 serves all."""
    result = np.asarray(np.power(base, exponent))
    half = (exponent == 0.5) & ((base == 0) | (base == -np.inf))
    return np.where(half, np.abs(base), result) if half.any() else result


def integer_pow(base: NDArray, exponent: NDArray) -> NDArray:
    """Powers of integers: wraps, and a negative exponent truncates (0 for 0, 1 and -1 exact)."""
    if exponent.dtype.kind == "u":
        return np.power(base, exponent)
    negative = exponent < 0
    out = np.power(base, np.where(negative, 0, exponent).astype(exponent.dtype))
    if not np.any(negative):
        return out  # type: ignore[no-any-return]
    odd = (exponent & 1) != 0
    inverse = np.where(base == 1, 1, np.where(base == -1, np.where(odd, -1, 1), 0))
    return np.where(negative, inverse.astype(base.dtype), out)


def reciprocal(x: NDArray) -> NDArray:
    """1 / x by division."""
    return np.divide(x.dtype.type(1), x)  # type: ignore[no-any-return]


def maximum(a: NDArray, b: NDArray) -> NDArray:
    """The larger float, NaN if one is NaN; +0 over -0, where NumPy depends on the machine."""
    out = np.maximum(a, b)
    zero = (a == 0) & (b == 0)
    return np.where(zero, a + b, out) if np.any(zero) else out


def minimum(a: NDArray, b: NDArray) -> NDArray:
    """The smaller float, NaN if one is NaN; -0 under +0, where NumPy depends on the machine."""
    out = np.minimum(a, b)
    zero = (a == 0) & (b == 0)
    return np.where(zero, -(-a - b), out) if np.any(zero) else out


def clip(x: NDArray, low: NDArray, high: NDArray) -> NDArray:
    """maximum(minimum(x, high), low), with the two functions above for floats."""
    if x.dtype.kind == "f":
        return maximum(minimum(x, high), low)
    return np.maximum(np.minimum(x, high), low)


def reduce_sum(x: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    """The sum in x's own dtype; a sum of nothing but -0 is -0, of nothing at all +0."""
    # from -0, unless there is nothing to add: NumPy starts from +0
    some = all(x.shape[axis] for axis in axes)
    minus = complex(-0.0, -0.0) if x.dtype.kind == "c" else -0.0
    start = x.dtype.type(minus if some and x.dtype.kind in "fc" else 0)
    return np.asarray(np.sum(x, axis=axes, keepdims=keepdims, dtype=x.dtype, initial=start))


def reduce_prod(x: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    """The product in x's own dtype."""
    return np.prod(x, axis=axes, keepdims=keepdims, dtype=x.dtype)  # type: ignore[no-any-return]


def reduce_mean(x: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    """The sum divided by the count; NaN of nothing."""
    count = math.prod(x.shape[axis] for axis in axes)
    total = reduce_sum(x, axes, keepdims)
    if x.dtype.kind == "c":  # each part by itself: NumPy would divide by count + 0j
        total.real /= count
        total.imag /= count
        return total
    return np.divide(total, x.dtype.type(count))  # type: ignore[no-any-return]


def reduce_var(x: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    """The mean of the squared distances from the mean, in x's own dtype."""
    return reduce_mean(_squared_distances(x, axes), axes, keepdims)


def reduce_squared_deviations(x: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    """The sum of the squared distances from the mean, in x's own dtype."""
    return reduce_sum(_squared_distances(x, axes), axes, keepdims)


def _squared_distances(x: NDArray, axes: tuple[int, ...]) -> NDArray:
    return np.square(x - reduce_mean(x, axes, True))  # type: ignore[no-any-return]


def reduce_max(x: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    """The largest element; +0 over -0, as `maximum`."""
    out = np.asarray(np.max(x, axis=axes, keepdims=keepdims))
    if x.dtype.kind == "f" and np.any(out == 0):
        plus = np.any((x == 0) & ~np.signbit(x), axis=axes, keepdims=keepdims)
        out = np.where(out == 0, np.where(plus, x.dtype.type(0.0), x.dtype.type(-0.0)), out)
    return out


def reduce_min(x: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    """The smallest element; -0 under +0, as `minimum`."""
    out = np.asarray(np.min(x, axis=axes, keepdims=keepdims))
    if x.dtype.kind == "f" and np.any(out == 0):
        minus = np.any((x == 0) & np.signbit(x), axis=axes, keepdims=keepdims)
        out = np.where(out == 0, np.where(minus, x.dtype.type(-0.0), x.dtype.type(0.0)), out)
    return out


def reduce_any(x: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    """Whether any element is nonzero."""
    return np.any(x, axis=axes, keepdims=keepdims)  # type: ignore[no-any-return]


def reduce_all(x: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    """Whether every element is nonzero."""
    return np.all(x, axis=axes, keepdims=keepdims)  # type: ignore[no-any-return]


def reduce_count_nonzero(x: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    """How many elements are nonzero."""
    return np.asarray(np.count_nonzero(x, axis=axes, keepdims=keepdims))


def _flatten_axes(x: NDArray, axes: tuple[int, ...]) -> NDArray:
    """`x` with `axes` moved behind the others, in ascending order, and made one."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    moved = x.transpose([*kept, *sorted(axes)])
    count = math.prod(x.shape[axis] for axis in axes)
    return moved.reshape([x.shape[axis] for axis in kept] + [count])


def _arg(function: Any, x: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    out = np.asarray(function(_flatten_axes(x, axes), axis=-1))
    if keepdims:
        out = out.reshape([1 if axis in axes else size for axis, size in enumerate(x.shape)])
    return out


def reduce_argmax(x: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    """The index, in row-major order of `axes`, of the first NaN or else the first maximum."""
    return _arg(np.argmax, x, axes, keepdims)


def reduce_argmin(x: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    """The index, in row-major order of `axes`, of the first NaN or else the first minimum."""
    return _arg(np.argmin, x, axes, keepdims)
