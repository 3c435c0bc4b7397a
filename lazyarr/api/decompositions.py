"""Matrix decompositions of the ``linalg`` extension.

They run at the call: a library call with its inputs in order, and where it can fail one control
read. What is made of the results (triangles, conjugates, transposes) is lazy or a view.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .. import _dtypes as dt
from .._array import Array, elementwise
from ..graph.optable import OPS
from ..graph.views import Shape
from ._matrices import (
    Output,
    adjoint,
    call,
    check_finite,
    checked_call,
    identity,
    matrices,
    square,
)
from .creation import tril, triu, zeros
from .manipulation import roll
from .searching import where

__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals"]

_JACOBI_UP_TO = 32  # stacks of matrices up to this size go to the batched Jacobi method
_DIVERGED = "has eigenvalues that did not converge"


class QRResult(NamedTuple):
    """The factors of `qr`."""

    Q: Array
    R: Array


class EighResult(NamedTuple):
    """The decomposition of `eigh`."""

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """The decomposition of `eig`."""

    eigenvalues: Array
    eigenvectors: Array


class SVDResult(NamedTuple):
    """The decomposition of `svd`."""

    U: Array
    S: Array
    Vh: Array


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Return Cholesky factors of symmetric or Hermitian positive-definite matrices.

    Parameters
    ----------
    x : Array
        Square matrices of a floating-point dtype, in the last two axes. Only the triangle that is
        asked for is read; that the other one fits is not checked.
    upper : bool
        Return U with ``x = U^H U`` instead of L with ``x = L L^H``.

    Returns
    -------
    Array
        Of x's shape and dtype; the other triangle is zero. Forces x, and reads one control value.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite, or not square.
    TypeError
        For dtypes that are not floating-point ones.

    Notes
    -----
    LAPACK's potrf: cuSOLVER on ``cuda``, NumPy's otherwise.
    """
    x = square(x, "cholesky")
    if x.size == 0:
        return zeros(x.shape, dtype=x.dtype, device=x.device)
    fault = "is not positive definite"
    (factor,) = checked_call(
        "cholesky", [x], [(x.shape, x.dtype)], (bool(upper),), "cholesky", fault
    )
    return triu(factor) if upper else tril(factor)


def qr(x: Array, /, *, mode: str = "reduced") -> QRResult:
    """Return QR decompositions: ``x = Q R``, Q with orthonormal columns, R upper triangular.

    Parameters
    ----------
    x : Array
        Matrices (M, N) of a floating-point dtype, in the last two axes.
    mode : {"reduced", "complete"}
        "reduced": K = min(M, N) columns of Q and rows of R; "complete": M of them.

    Returns
    -------
    QRResult
        Q and R, of x's dtype. Forces x; reads no control value. R's diagonal may be negative.

    Raises
    ------
    ValueError
        For another mode.
    LinAlgError
        For arrays with fewer than two axes.
    TypeError
        For dtypes that are not floating-point ones.

    Notes
    -----
    Householder reflections, LAPACK's geqrf and orgqr: cuSOLVER on ``cuda``, NumPy's otherwise.
    """
    x = matrices(x, "qr")
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode must be 'reduced' or 'complete', not {mode!r}")
    *lead, m, n = x.shape
    k = m if mode == "complete" else min(m, n)
    if x.size == 0:
        r = zeros((*lead, k, n), dtype=x.dtype, device=x.device)
        return QRResult(+identity((*lead, m, m), x)[..., :k], r)
    outputs: list[Output] = [((*lead, k, m), x.dtype), ((*lead, n, m), x.dtype)]
    columns, factors = call("qr", [x.mT], outputs, (), "qr")
    return QRResult(columns.mT, triu(factors.mT[..., :k, :]))


def eigh(x: Array, /) -> EighResult:
    """Return eigenvalues and eigenvectors of symmetric or Hermitian matrices.

    Parameters
    ----------
    x : Array
        Square matrices of a floating-point dtype, in the last two axes. Only the lower triangle is
        read; that the upper one fits is not checked.

    Returns
    -------
    EighResult
        The eigenvalues, of x's real dtype, ascending; the eigenvectors, of x's dtype, as columns
        of unitary matrices. Forces x, and reads two control values.

    Raises
    ------
    LinAlgError
        If a matrix is not square or not finite, or if its eigenvalues do not converge.
    TypeError
        For dtypes that are not floating-point ones.

    Notes
    -----
    Divide and conquer, LAPACK's syevd: cuSOLVER on ``cuda``, NumPy's otherwise.
    """
    x = square(x, "eigh")
    values = (x.shape[:-1], dt.real_of(x.dtype))
    if x.size == 0:
        return EighResult(_empty(values[0], x), zeros(x.shape, dtype=x.dtype, device=x.device))
    check_finite(tril(x), "eigh")
    outputs = [values, (x.shape, x.dtype)]
    w, rows = checked_call("eigh", [x], outputs, (), "eigh", _DIVERGED)
    return EighResult(w, adjoint(rows))


def eigvalsh(x: Array, /) -> Array:
    """Return the eigenvalues of symmetric or Hermitian matrices, ascending; see `eigh`.

    Parameters, errors and forcing are those of `eigh`; no eigenvectors are computed.
    """
    x = square(x, "eigvalsh")
    if x.size == 0:
        return _empty(x.shape[:-1], x)
    check_finite(tril(x), "eigvalsh")
    outputs = [(x.shape[:-1], dt.real_of(x.dtype))]
    return checked_call("eigh", [x], outputs, (), "eigvalsh", _DIVERGED)[0]


def eig(x: Array, /) -> EigResult:
    """Return eigenvalues and (right) eigenvectors of square matrices.

    Parameters
    ----------
    x : Array
        Square matrices of a floating-point dtype, in the last two axes.

    Returns
    -------
    EigResult
        Of the complex dtype of x's precision: the eigenvalues, in no order; the eigenvectors as
        columns of length 1. The eigenvalues of real matrices are real or come in conjugate pairs,
        exactly. Forces x, and reads two control values.

    Raises
    ------
    LinAlgError
        If a matrix is not square or not finite, or if its eigenvalues do not converge.
    TypeError
        For dtypes that are not floating-point ones.

    Notes
    -----
    The QR algorithm, LAPACK's geev: cuSOLVER of CUDA 12.6 or later on ``cuda``, NumPy's otherwise.
    With an older cuSOLVER the matrices are copied to the host and the results back; these copies
    are counted, and ``transfer_guard`` forbids them.
    """
    x = square(x, "eig")
    values = (x.shape[:-1], dt.complex_of(x.dtype))
    if x.size == 0:
        zero = zeros(x.shape, dtype=values[1], device=x.device)
        return EigResult(zeros(values[0], dtype=values[1], device=x.device), zero)
    check_finite(x, "eig")
    outputs = [values, (x.shape, x.dtype)]
    w, rows = checked_call("eig", [x.mT], outputs, (), "eig", _DIVERGED)
    if x.dtype not in dt.COMPLEX_FLOATING:
        rows = _unpacked(w, rows)
    return EigResult(w, rows.mT)


def _unpacked(w: Array, rows: Array) -> Array:
    """Return complex eigenvectors, as rows, from LAPACK's packed ones of real matrices."""
    imaginary = elementwise(OPS["imag"], w)[..., None]
    first = elementwise(OPS["greater"], imaginary, 0)
    second = elementwise(OPS["less"], imaginary, 0)
    real_part = where(second, roll(rows, 1, axis=-2), rows)
    imaginary_part = where(first, roll(rows, -1, axis=-2), where(second, -rows, 0))
    return real_part + imaginary_part * 1j  # type: ignore[no-any-return]


def eigvals(x: Array, /) -> Array:
    """Return the eigenvalues of square matrices, of a complex dtype, in no order; see `eig`.

    Parameters, errors and forcing are those of `eig`; no eigenvectors are computed.
    """
    x = square(x, "eigvals")
    dtype = dt.complex_of(x.dtype)
    if x.size == 0:
        return zeros(x.shape[:-1], dtype=dtype, device=x.device)
    check_finite(x, "eigvals")
    return checked_call("eig", [x], [(x.shape[:-1], dtype)], (), "eigvals", _DIVERGED)[0]


def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """Return singular value decompositions: ``x = U S Vh``.

    Parameters
    ----------
    x : Array
        Matrices (M, N) of a floating-point dtype, in the last two axes.
    full_matrices : bool
        Whether U is (M, M) and Vh (N, N), or U is (M, K) and Vh (K, N) with K = min(M, N).

    Returns
    -------
    SVDResult
        U and Vh, of x's dtype, with orthonormal columns and rows; S, of x's real dtype, descending.
        Forces x, and reads two control values.

    Raises
    ------
    LinAlgError
        If a matrix is not finite, or if the method does not converge; for fewer than two axes.
    TypeError
        For dtypes that are not floating-point ones.

    Notes
    -----
    LAPACK's gesdd of NumPy; on ``cuda`` cuSOLVER's gesvd (the QR algorithm), and for stacks of
    matrices of up to 32 rows and columns its batched one-sided Jacobi method.
    """
    x = matrices(x, "svd")
    m, n = x.shape[-2:]
    if x.size == 0:
        return _empty_svd(x, bool(full_matrices))
    check_finite(x, "svd")
    if m > n:  # libraries take the wide ones
        u, s, vh = _wide_svd(x.mT, bool(full_matrices))
        return SVDResult(vh.mT, s, u.mT)
    return SVDResult(*_wide_svd(x, bool(full_matrices)))


def _wide_svd(x: Array, full: bool) -> tuple[Array, Array, Array]:
    *lead, m, n = x.shape
    u: tuple[Shape, dt.DType] = ((*lead, m, m), x.dtype)
    s = ((*lead, m), dt.real_of(x.dtype))
    fault = "has singular values that did not converge"
    if _jacobi(x):
        outputs = [((*lead, n, n), x.dtype), s, u]
        right, values, rows = checked_call("svd_jacobi", [x], outputs, (), "svd", fault)
        return adjoint(rows), values, right if full else right[..., :m, :]
    outputs = [u, s, ((*lead, n if full else m, n), x.dtype)]
    left, values, right = checked_call("svd", [x], outputs, (), "svd", fault)
    return left, values, right


def _jacobi(x: Array) -> bool:
    """Whether the batched Jacobi method is the one for a stack: many and small."""
    return max(x.shape[-2:]) <= _JACOBI_UP_TO and math.prod(x.shape[:-2]) > 1


def _empty_svd(x: Array, full: bool) -> SVDResult:
    """Return the decomposition of matrices without elements, or of an empty stack."""
    *lead, m, n = x.shape
    k = min(m, n)
    u = +identity((*lead, m, m), x)[..., : m if full else k]
    vh = +identity((*lead, n, n), x)[..., : n if full else k, :]
    return SVDResult(u, _empty((*lead, k), x), vh)


def _empty(shape: Shape, x: Array) -> Array:
    return zeros(shape, dtype=dt.real_of(x.dtype), device=x.device)


def svdvals(x: Array, /) -> Array:
    """Return singular values of matrices, of x's real dtype, descending; see `svd`.

    Parameters, errors and forcing are those of `svd`; no vectors are computed.
    """
    x = matrices(x, "svdvals")
    shape = (*x.shape[:-2], min(x.shape[-2:]))
    if x.size == 0:
        return _empty(shape, x)
    check_finite(x, "svdvals")
    wide = x.mT if x.shape[-2] > x.shape[-1] else x
    name = "svd_jacobi" if _jacobi(wide) else "svd"
    fault = "has singular values that did not converge"
    outputs = [(shape, dt.real_of(x.dtype))]
    return checked_call(name, [wide], outputs, (), "svdvals", fault)[0]
