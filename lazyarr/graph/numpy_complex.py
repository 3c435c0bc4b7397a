"""Complex functions with NumPy, where NumPy's own depart from the standard or lose accuracy.

The host side of ``kernels/complex.cuh``, by the same sources (named there): special cases as the
standard states them, at most 4 ulp of the norm. `multiply`, `divide`, `sign` and `sqrt` give the
same bits as the kernels. The caller silences warnings; functions may return NumPy scalars.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

NDArray = npt.NDArray[Any]
Function = Callable[..., NDArray]


def from_parts(re: NDArray, im: NDArray) -> NDArray:
    """A complex array of two real ones; ``re + 1j * im`` would lose infinities and zero signs."""
    dtype = np.result_type(re, im, np.complex64)
    out = np.empty(np.broadcast_shapes(np.shape(re), np.shape(im)), dtype)
    out.real = re
    out.imag = im
    return out


def in_double(function: Function) -> Function:
    """`function` of complex128 arrays, for complex64 too: rounded once, at the end."""

    @functools.wraps(function)
    def run(*arrays: NDArray) -> NDArray:
        dtype = arrays[0].dtype
        result = function(*[np.asarray(a, np.complex128) for a in arrays])
        return np.asarray(result, dtype)

    return run


def in_extended(function: Function) -> Function:
    """`function` with more bits than the result has: NumPy's own would be 3 to 5 ulp off.

    Where ``long double`` is no wider than double, the accuracy is that of the C library.
    """

    @functools.wraps(function)
    def run(z: NDArray) -> NDArray:
        wide = np.clongdouble if z.dtype == np.complex128 else np.complex128
        return np.asarray(function(np.asarray(z, wide)), z.dtype)

    return run


def multiply(a: NDArray, b: NDArray) -> NDArray:
    """The product by the textbook formula; NumPy contracts it to FMA on some machines."""
    return from_parts(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


def absolute(z: NDArray) -> NDArray:
    """The modulus without overflow or underflow on the way."""
    return np.hypot(z.real, z.imag)  # type: ignore[no-any-return]


def square(z: NDArray) -> NDArray:
    """z times z."""
    return multiply(z, z)


def _larger(z: NDArray) -> NDArray:
    return np.maximum(np.abs(z.real), np.abs(z.imag))  # type: ignore[no-any-return]


def _scale(z: NDArray, exponent: NDArray) -> NDArray:
    return from_parts(np.ldexp(z.real, exponent), np.ldexp(z.imag, exponent))


def _units(z: NDArray) -> NDArray:
    """1 for infinities, 0 for the rest, with their signs."""
    return from_parts(
        np.copysign(np.isinf(z.real) * 1.0, z.real), np.copysign(np.isinf(z.imag) * 1.0, z.imag)
    )


def _over_conj(a: NDArray, b: NDArray) -> NDArray:
    """A times the conjugate of b."""
    return from_parts(a.real * b.real + a.imag * b.imag, a.imag * b.real - a.real * b.imag)


def _textbook_divide(a: NDArray, b: NDArray) -> NDArray:
    top = _over_conj(a, b)
    bottom = b.real * b.real + b.imag * b.imag
    return from_parts(top.real / bottom, top.imag / bottom)


@in_double
def divide(a: NDArray, b: NDArray) -> NDArray:
    """a / b without overflow on the way; by a real or imaginary number, part by part."""
    a, b = np.broadcast_arrays(a, b)
    out = _textbook_divide(a, b)
    n, d = _larger(a), _larger(b)
    plain = (n > 2.0**-480) & (n < 2.0**500) & (d > 2.0**-480) & (d < 2.0**500)
    if not plain.all():
        rest = ~plain
        out[rest] = _scaled_divide(a[rest], b[rest])
    real, imaginary = b.imag == 0, b.real == 0
    out.real[...] = np.where(real, a.real / b.real, np.where(imaginary, a.imag / b.imag, out.real))
    out.imag[...] = np.where(
        real, a.imag / b.real, np.where(imaginary, -(a.real / b.imag), out.imag)
    )
    return out


def _scaled_divide(a: NDArray, b: NDArray) -> NDArray:
    finite = np.isfinite(a), np.isfinite(b)
    top, bottom = np.frexp(_larger(a))[1], np.frexp(_larger(b))[1]
    out = _scale(_textbook_divide(_scale(a, -top), _scale(b, -bottom)), top - bottom)
    out = np.where(finite[0] & finite[1], out, _textbook_divide(a, b))
    infinite = _over_conj(_units(a), b)
    infinite = from_parts(np.inf * infinite.real, np.inf * infinite.imag)
    out = np.where(np.isinf(a) & finite[1], infinite, out)
    zero = _over_conj(a, _units(b))
    zero = from_parts(0 * zero.real, 0 * zero.imag)
    return np.where(np.isinf(b) & finite[0], zero, out)


def reciprocal(z: NDArray) -> NDArray:
    """1 / z."""
    return divide(np.ones((), z.dtype), z)


@in_double
def sign(z: NDArray) -> NDArray:
    """z / abs(z), 0 of 0, NaN of NaN; without overflow or underflow on the way."""
    n = _larger(z)
    exponent = np.where(np.isfinite(n), np.frexp(n)[1], 0)
    s = _scale(z, -exponent)
    m = np.where(np.isinf(n), n, np.sqrt(s.real * s.real + s.imag * s.imag))
    out = from_parts(s.real / m, s.imag / m)
    out[n == 0] = 0
    out[np.isnan(z)] = complex(np.nan, np.nan)
    return out


@in_double
def sqrt(z: NDArray) -> NDArray:
    """The principal square root (Kahan 1987), scaled where a square would overflow."""
    x, y = z.real, z.imag
    n = _larger(z)
    big, tiny = n > 2.0**500, n < 2.0**-400
    scale = np.where(big, 2.0**-600, np.where(tiny, 2.0**600, 1.0))
    back = np.where(big, 2.0**300, np.where(tiny, 2.0**-300, 1.0))
    a, b = np.abs(x) * scale, y * scale
    t = np.sqrt((a + np.sqrt(a * a + b * b)) * 0.5)
    other = b / (t + t)
    right = x >= 0
    out = from_parts(
        np.where(right, t * back, np.abs(other) * back),
        np.where(right, other * back, np.copysign(t, y) * back),
    )
    zero = n == 0
    out[zero] = from_parts(np.zeros(()), y[zero])
    infinite, small = np.isinf(x), np.where(np.isnan(y), y, 0.0)
    here = infinite & (x > 0)
    out[here] = from_parts(x, np.copysign(small, y))[here]
    here = infinite & (x < 0)
    out[here] = from_parts(small, np.copysign(x, y))[here]
    here = np.isnan(x)
    out[here] = from_parts(x, x)[here]
    here = np.isinf(y)
    out[here] = from_parts(np.abs(y), y)[here]
    return out


@in_double
def expm1(z: NDArray) -> NDArray:
    """exp(z) - 1 without cancellation."""
    x, y = z.real, z.imag
    half = np.sin(0.5 * y)
    growth = np.exp(x)
    near = np.expm1(x) * np.cos(y) - 2 * half * half
    out = from_parts(np.where(x < -40, growth * np.cos(y) - 1, near), growth * np.sin(y))
    out = np.where(x > 709, np.exp(z), out)
    out = np.where(y == 0, from_parts(np.where(x == 0, 0.0, np.expm1(x)), y), out)
    return np.where((x == -np.inf) & ~np.isfinite(y), -1 + 0j, out)


@in_extended
def tanh(z: NDArray) -> NDArray:
    """The hyperbolic tangent; at infinity the imaginary part is 0 with the sign it had."""
    flat = from_parts(np.copysign(1.0, z.real), np.copysign(0.0, z.imag))
    return np.where(np.isinf(z.real), flat, np.tanh(z))


def tan(z: NDArray) -> NDArray:
    """-i tanh(i z)."""
    turned = tanh(from_parts(-z.imag, z.real))
    return from_parts(turned.imag, -turned.real)


def _log_to_base(real_log: Any, per_unit: float) -> Function:
    @in_double
    def run(z: NDArray) -> NDArray:
        natural = np.log(z)
        on_axis = (z.real == 0) | (z.imag == 0)
        re = np.where(on_axis, real_log(_larger(z)), natural.real * per_unit)
        return from_parts(re, natural.imag * per_unit)

    return run


log2 = _log_to_base(np.log2, 1.44269504088896340736)
log10 = _log_to_base(np.log10, 0.43429448190325182765)


@in_double
def log1p(z: NDArray) -> NDArray:
    """log(1 + z), of |1 + z|**2 - 1 unless that is near -1 or large; NumPy loses all near 0."""
    x, y = z.real, z.imag
    u = 1 + x
    q = x * (2 + x) + y * y
    re = np.where((q > -0.5) & (q < 2.0**60), 0.5 * np.log1p(q), np.log(from_parts(u, y)).real)
    out = from_parts(re, np.arctan2(y, u))
    return np.where((y == 0) & (x > -1), from_parts(np.log1p(x), y), out)


_LARGEST_PRODUCT = 32


@in_double
def pow(z: NDArray, w: NDArray) -> NDArray:
    """exp(w log z); integer powers up to 32 by products; z**0 is 1."""
    z, w = np.broadcast_arrays(z, w)
    out = np.exp(multiply(w, np.log(z)))
    out = np.where((z == 0) & (w.real > 0) & np.isfinite(w), 0j, out)
    c = w.real
    whole = (w.imag == 0) & (np.abs(c) <= _LARGEST_PRODUCT) & (c == np.trunc(c)) & (c != 0)
    if whole.any():
        out[whole] = _power_by_products(z[whole], c[whole], out[whole])
    return np.where(w == 0, 1 + 0j, out)


def _power_by_products(z: NDArray, c: NDArray, otherwise: NDArray) -> NDArray:
    """z to the integers c, squaring; `otherwise` where that would leave the range of floats."""
    result, factor = np.ones_like(z), z
    left = np.abs(c).astype(np.int64)
    while left.any():
        odd = (left & 1) != 0
        first = (result.real == 1) & (result.imag == 0)
        result = np.where(odd, np.where(first, factor, multiply(result, factor)), result)
        factor = multiply(factor, factor)
        left >>= 1
    n = _larger(result)
    safe = (n > 2.0**-1000) & (n < 2.0**1000)
    return np.where(safe, np.where(c > 0, result, reciprocal(result)), otherwise)
