"""Checks of ``xp.linalg`` by what the results must satisfy, for any device and library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import lazyarr as xp

FLOATS = [xp.float32, xp.float64, xp.complex64, xp.complex128]


def sample(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def positive_definite(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    a = sample(shape, dtype, seed)
    return a @ np.conj(a.mT) + np.eye(shape[-1], dtype=dtype)


def hermitian(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    a = sample(shape, dtype, seed)
    return a + np.conj(a.mT)


def _padded(a: Any) -> xp.Array:
    wide = np.full((*a.shape[:-2], a.shape[-2] + 1, 2 * a.shape[-1] + 1), np.nan, a.dtype)
    wide[..., 1:, 1::2] = a
    return xp.asarray(wide)[..., 1:, 1::2]


LAYOUTS: dict[str, Callable[[Any], xp.Array]] = {
    "in order": xp.asarray,
    "transposed": lambda a: xp.asarray(np.ascontiguousarray(a.mT)).mT,
    "strided": _padded,
    "backwards": lambda a: xp.asarray(a[..., ::-1, ::-1].copy())[..., ::-1, ::-1],
    "pending": lambda a: xp.asarray(a) * 1,
}


@st.composite
def stacks(draw: Any, square: bool = False, largest: int = 5) -> tuple[Any, Any, int, str]:
    """Draw shape, dtype, seed and layout of a stack of matrices, some without elements."""
    lead = draw(st.sampled_from([(), (), (1,), (2,), (3,), (2, 2), (0,), (2, 0)]))
    m = draw(st.integers(0, largest))
    n = m if square else draw(st.integers(0, largest))
    dtype = draw(st.sampled_from(FLOATS))
    return (*lead, m, n), dtype, draw(st.integers(0, 99)), draw(st.sampled_from(list(LAYOUTS)))


def tolerance(dtype: Any) -> float:
    return float(2000 * np.finfo(dtype).eps)


def close(got: Any, want: Any, factor: float = 1.0) -> None:
    """Assert shape, dtype, and values within what rounding explains."""
    want = np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    tol = factor * tolerance(want.dtype) if want.dtype.kind in "fc" else 0
    np.testing.assert_allclose(np.asarray(got), want, rtol=tol, atol=tol)


def is_unitary(q: xp.Array) -> None:
    """Assert orthonormal columns."""
    a = np.asarray(q)
    unit = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), (*a.shape[:-2], *(a.shape[-1],) * 2))
    tol = tolerance(a.dtype)
    np.testing.assert_allclose(np.conj(a.mT) @ a, unit, rtol=tol, atol=tol)


def check_cholesky(x: xp.Array, a: Any, upper: bool) -> None:
    factor = xp.linalg.cholesky(x, upper=upper)
    close(factor, np.linalg.cholesky(a, upper=upper))
    found = np.asarray(factor)
    np.testing.assert_array_equal(found, np.triu(found) if upper else np.tril(found))


def check_qr(x: xp.Array, a: Any, mode: str) -> None:
    q, r = result = xp.linalg.qr(x, mode=mode)
    assert type(result).__name__ == "QRResult" and result.Q is q and result.R is r
    m, n = a.shape[-2:]
    k = m if mode == "complete" else min(m, n)
    assert (q.shape, r.shape) == ((*a.shape[:-2], m, k), (*a.shape[:-2], k, n))
    close(q @ r, a)
    is_unitary(q)
    found = np.asarray(r)
    np.testing.assert_array_equal(found, np.triu(found))


def check_svd(x: xp.Array, a: Any, full: bool) -> None:
    u, s, vh = result = xp.linalg.svd(x, full_matrices=full)
    assert type(result).__name__ == "SVDResult" and result.S is s
    m, n = a.shape[-2:]
    k = min(m, n)
    lead = a.shape[:-2]
    assert u.shape == (*lead, m, m if full else k) and vh.shape == (*lead, n if full else k, n)
    close(s, np.linalg.svd(a, compute_uv=False) if a.size else np.zeros(s.shape, s.dtype))
    assert np.all(np.diff(np.asarray(s), axis=-1) <= 0)
    is_unitary(u)
    is_unitary(vh.mT)
    close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a)
    close(xp.linalg.svdvals(x), np.asarray(s))


def check_eigh(x: xp.Array, a: Any) -> None:
    w, v = result = xp.linalg.eigh(x)
    assert type(result).__name__ == "EighResult" and result.eigenvalues is w
    want = np.linalg.eigvalsh(a) if a.size else np.zeros(a.shape[:-1], w.dtype)
    close(w, want)
    close(xp.linalg.eigvalsh(x), want)
    assert np.all(np.diff(np.asarray(w), axis=-1) >= 0)
    is_unitary(v)
    close((v * w[..., None, :]) @ xp.conj(v).mT, a)


def check_eig(x: xp.Array, a: Any) -> None:
    w, v = result = xp.linalg.eig(x)
    assert type(result).__name__ == "EigResult" and result.eigenvalues is w
    complex_dtype = np.result_type(a.dtype, np.complex64)
    assert (w.dtype, v.dtype) == (complex_dtype, complex_dtype)
    assert (w.shape, v.shape) == (a.shape[:-1], a.shape)
    vectors, values = np.asarray(v), np.asarray(w)
    close(v * w[..., None, :], a.astype(complex_dtype) @ vectors)
    if a.size:
        close(
            xp.asarray(np.linalg.norm(vectors, axis=-2)), np.ones(values.shape, values.real.dtype)
        )
        want = np.sort_complex(np.linalg.eigvals(a).astype(complex_dtype))
        tol = 100 * tolerance(a.dtype)
        for found in (values, np.asarray(xp.linalg.eigvals(x))):
            np.testing.assert_allclose(_matched(found, want), want, rtol=tol, atol=tol)
    if a.dtype.kind != "c":  # real, or conjugate pairs, exactly
        np.testing.assert_array_equal(
            np.sort(values.imag, axis=-1), -np.sort(values.imag, axis=-1)[..., ::-1]
        )


def _matched(found: Any, want: Any) -> Any:
    """Return the values found in the order of those wanted, each the nearest that is left."""
    result = np.empty_like(found)
    for place in np.ndindex(found.shape[:-1]):
        rest = list(found[place])
        for n, value in enumerate(want[place]):
            result[(*place, n)] = rest.pop(int(np.argmin(np.abs(np.array(rest) - value))))
    return result


def check_solve(x: xp.Array, a: Any, y: xp.Array, b: Any) -> None:
    result = xp.linalg.solve(x, y)
    if a.size and b.size:
        close(result, np.linalg.solve(a, b), 10 * float(np.max(np.linalg.cond(a))))
        return
    lead = a.shape[:-2] if b.ndim == 1 else np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    tail = a.shape[-1:] if b.ndim == 1 else b.shape[-2:]
    assert (result.shape, result.dtype) == ((*lead, *tail), np.result_type(a, b))


def check_inv(x: xp.Array, a: Any) -> None:
    factor = 10 * float(np.max(np.linalg.cond(a))) if a.size else 1.0
    close(xp.linalg.inv(x), np.linalg.inv(a), factor)


def check_det(x: xp.Array, a: Any) -> None:
    close(xp.linalg.det(x), np.linalg.det(a), 10)
    sign, size = result = xp.linalg.slogdet(x)
    assert type(result).__name__ == "SlogdetResult" and result.sign is sign
    want = np.linalg.slogdet(a)
    close(sign, want.sign)
    close(size, want.logabsdet, 10)
