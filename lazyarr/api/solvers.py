"""Linear systems and what is made of factors, of the ``linalg`` extension.

Triangular factors come from library calls, at the call; the rest is array operations and lazy.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .. import _dtypes as dt
from .._array import Array, copy_of, elementwise
from .._promotion import result_dtype
from ..graph import views
from ..graph.optable import OPS
from ._common import check_arrays, check_int
from ._matrices import (
    adjoint,
    call,
    checked_call,
    conjugate,
    floating,
    identity,
    matrices,
    square,
)
from ._reduction import reduce
from .creation import ones, zeros
from .decompositions import svd, svdvals
from .linear_algebra import matmul
from .manipulation import broadcast_to, expand_dims, reshape
from .searching import where

__all__ = [
    "det",
    "inv",
    "matrix_power",
    "matrix_rank",
    "pinv",
    "slogdet",
    "solve",
]

_SINGULAR = "is singular"


class SlogdetResult(NamedTuple):
    """The sign and the logarithm of the size of a determinant, of `slogdet`."""

    sign: Array
    logabsdet: Array


def solve(x1: Array, x2: Array, /) -> Array:
    """Return the solutions X of ``x1 X = x2``.

    Parameters
    ----------
    x1 : Array
        Square matrices (M, M) of a floating-point dtype, in the last two axes.
    x2 : Array
        Right sides: one vector (M,) for all matrices if it has one axis, or else matrices (M, K),
        whose stack broadcasts with that of x1.

    Returns
    -------
    Array
        Of the promoted dtype: (..., M) for a vector, (..., M, K) otherwise. Forces the operands,
        and reads one control value. May be a transposed view.

    Raises
    ------
    LinAlgError
        If a matrix is exactly singular, at every size of the stack, or not square.
    ValueError
        If the shapes do not fit, or for arrays on different devices.
    TypeError
        For dtypes that are not floating-point ones.

    Notes
    -----
    Elimination with partial pivoting, LAPACK's getrf and getrs: cuSOLVER and cuBLAS on ``cuda``,
    NumPy's otherwise.
    """
    check_arrays((x1, x2), "solve")
    a, b = square(x1, "solve"), floating(x2, "solve")
    m = a.shape[-1]
    if b.ndim == 0 or b.shape[-1 if b.ndim == 1 else -2] != m:
        raise ValueError(f"solve: matrices of shape {a.shape} and right sides of shape {b.shape}")
    dtype = result_dtype(a.dtype, b.dtype)
    if b.ndim == 1:
        lead = a.shape[:-2]
        rows = broadcast_to(b, (*lead, 1, m))
    else:
        lead = views.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        rows = broadcast_to(b, (*lead, *b.shape[-2:])).mT
    if a.size == 0 or rows.size == 0:
        return zeros((*lead, m) if b.ndim == 1 else rows.mT.shape, dtype=dtype, device=a.device)
    solutions = _solutions(_of_dtype(a, dtype), _of_dtype(rows, dtype))
    return solutions[..., 0, :] if b.ndim == 1 else solutions.mT


def _of_dtype(x: Array, dtype: dt.DType) -> Array:
    return x if x.dtype == dtype else copy_of(x, dtype)


def _solutions(a: Array, rows: Array) -> Array:
    """Return the solutions for right sides that lie in rows, likewise in rows.

    One matrix for a whole stack of right sides is factorised once.
    """
    shape = rows.shape
    m = shape[-1]
    if math.prod(a.shape[:-2]) == 1:
        a = reshape(a, (m, m))
        rows = reshape(rows, (-1, m))
    else:
        a = broadcast_to(a, (*shape[:-2], m, m))
    outputs = [(rows.shape, rows.dtype)]
    (result,) = checked_call("solve", [a, rows], outputs, (False,), "solve", _SINGULAR)
    return reshape(result, shape)


def inv(x: Array, /) -> Array:
    """Return the inverses of square matrices.

    Parameters
    ----------
    x : Array
        Square matrices of a floating-point dtype, in the last two axes.

    Returns
    -------
    Array
        Of x's shape and dtype. Forces x, and reads one control value.

    Raises
    ------
    LinAlgError
        If a matrix is exactly singular, at every size of the stack, or not square.
    TypeError
        For dtypes that are not floating-point ones.

    Notes
    -----
    `solve` with the identity as right side.
    """
    x = square(x, "inv")
    if x.size == 0:
        return zeros(x.shape, dtype=x.dtype, device=x.device)
    outputs = [(x.shape, x.dtype)]
    right = identity(x.shape, x)
    # Solving with the transpose, rows of solutions are rows of the inverse.
    return checked_call("solve", [x, right], outputs, (True,), "inv", _SINGULAR)[0]


def _slogdet(x: Array, function: str) -> tuple[Array, Array]:
    """Return signs, and logarithms of absolute values in float64."""
    outputs = [(x.shape[:-2], x.dtype), (x.shape[:-2], dt.float64)]
    sign, size = call("slogdet", [x], outputs, (), function)
    # cuSOLVER's search for a pivot passes over NaN.
    unknown = reduce("any", elementwise(OPS["not_equal"], x, x), (-2, -1), False)
    return where(unknown, math.nan, sign), where(unknown, math.nan, size)


def slogdet(x: Array, /) -> SlogdetResult:
    """Return signs and natural logarithms of the absolute values of determinants.

    Parameters
    ----------
    x : Array
        Square matrices of a floating-point dtype, in the last two axes.

    Returns
    -------
    SlogdetResult
        The signs, of x's dtype (of absolute value 1, or 0 for a singular matrix), and the
        logarithms, of x's real dtype (``-inf`` for a singular one). Forces x; reads no control
        value.

    Raises
    ------
    LinAlgError
        If a matrix is not square.
    TypeError
        For dtypes that are not floating-point ones.

    Notes
    -----
    From the pivots of LAPACK's getrf: of cuSOLVER or cuBLAS on ``cuda``, of NumPy otherwise.
    """
    x = square(x, "slogdet")
    if x.size == 0:
        lead = x.shape[:-2]
        one = ones(lead, dtype=x.dtype, device=x.device)
        return SlogdetResult(one, zeros(lead, dtype=dt.real_of(x.dtype), device=x.device))
    sign, size = _slogdet(x, "slogdet")
    return SlogdetResult(sign, _of_dtype(size, dt.real_of(x.dtype)))


def det(x: Array, /) -> Array:
    """Return the determinants of square matrices.

    Parameters
    ----------
    x : Array
        Square matrices of a floating-point dtype, in the last two axes.

    Returns
    -------
    Array
        Of x's dtype. Forces x; reads no control value. No partial product leaves the range of the
        dtype unless the determinant does.

    Raises
    ------
    LinAlgError
        If a matrix is not square.
    TypeError
        For dtypes that are not floating-point ones.

    Notes
    -----
    ``sign * exp(logabsdet)`` of `slogdet`, the exponential in float64, as in NumPy: for large
    exponents the relative error is as many times larger.
    """
    x = square(x, "det")
    if x.size == 0:
        return ones(x.shape[:-2], dtype=x.dtype, device=x.device)
    sign, size = _slogdet(x, "det")
    real = dt.real_of(x.dtype)
    return elementwise(OPS["multiply"], sign, _of_dtype(elementwise(OPS["exp"], size), real))


def _is_large(s: Array, x: Array, rtol: Any, function: str) -> Array:
    """Return which singular values of x count as other than zero."""
    if rtol is None:
        rtol = max(x.shape[-2:]) * dt.finfo(x.dtype).eps
    if type(rtol) is Array:
        if rtol.dtype not in dt.REAL_FLOATING:
            raise TypeError(f"{function}: rtol must be of a real floating dtype, not {rtol.dtype}")
        rtol = expand_dims(rtol, -1)
    largest = reduce("max", s, -1, True)
    return elementwise(OPS["greater"], s, largest * rtol)


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the ranks of matrices: how many singular values are not almost zero.

    Parameters
    ----------
    x : Array
        Matrices (M, N) of a floating-point dtype, in the last two axes.
    rtol : float or Array, optional
        Singular values of at most rtol times the largest one count as zero; an array broadcasts
        with the stack. By default ``max(M, N)`` times the dtype's epsilon.

    Returns
    -------
    Array
        Of int64. Forces x for `svdvals`, whose errors it has; the comparison is lazy.
    """
    x = matrices(x, "matrix_rank")
    if x.size == 0:
        return zeros(x.shape[:-2], dtype=dt.int64, device=x.device)
    s = svdvals(x)
    return reduce("count_nonzero", _is_large(s, x, rtol, "matrix_rank"), -1, False)


def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the Moore-Penrose pseudo-inverses of matrices.

    Parameters
    ----------
    x : Array
        Matrices (M, N) of a floating-point dtype, in the last two axes.
    rtol : float or Array, optional
        Singular values of at most rtol times the largest one count as zero; an array broadcasts
        with the stack. By default ``max(M, N)`` times the dtype's epsilon.

    Returns
    -------
    Array
        (..., N, M), of x's dtype. Forces x for `svd`, whose errors it has; the product is lazy.
    """
    x = matrices(x, "pinv")
    *lead, m, n = x.shape
    if x.size == 0:
        return zeros((*lead, n, m), dtype=x.dtype, device=x.device)
    u, s, vh = svd(x, full_matrices=False)
    large = _is_large(s, x, rtol, "pinv")
    inverse = where(large, elementwise(OPS["reciprocal"], where(large, s, 1)), 0)
    scaled = elementwise(OPS["multiply"], conjugate(vh), expand_dims(inverse, -1))
    return _of_dtype(matmul(scaled.mT, adjoint(u)), x.dtype)


def matrix_power(x: Array, n: int, /) -> Array:
    """Return integer powers of square matrices.

    Parameters
    ----------
    x : Array
        Square matrices of a floating-point dtype, in the last two axes.
    n : int
        The exponent. 0 gives identity matrices; a negative one takes the inverses' powers.

    Returns
    -------
    Array
        Of x's shape and dtype. Lazy, by repeated squaring; for negative n `inv` forces x.

    Raises
    ------
    LinAlgError
        If a matrix is not square, or singular where n is negative.
    TypeError
        For dtypes that are not floating-point ones, or an exponent that is no integer.
    """
    x = square(x, "matrix_power")
    rest = check_int(n, "n")
    if rest == 0 or x.size == 0:
        return copy_of(identity(x.shape, x))
    base = x if rest > 0 else inv(x)
    rest = abs(rest)
    result: Array | None = None
    while True:
        if rest & 1:
            result = base if result is None else matmul(result, base)
        rest >>= 1
        if not rest:
            break
        base = matmul(base, base)
    assert result is not None
    return copy_of(result) if result is x else result
