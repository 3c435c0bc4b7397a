"""The ``linalg`` extension against NumPy, and by what its results must satisfy."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazyarr as xp
from lazyarr.graph import library
from lazyarr.runtime.host_library import FUNCTIONS

from .linalg_support import (
    FLOATS,
    LAYOUTS,
    check_cholesky,
    check_det,
    check_eig,
    check_eigh,
    check_inv,
    check_qr,
    check_solve,
    check_svd,
    close,
    hermitian,
    positive_definite,
    sample,
    stacks,
)


def on_device(a: Any) -> xp.Array:
    """Return an array whose values lie on the device."""
    x = xp.asarray(a)
    xp.prefetch(x)
    return x


@given(stacks(square=True), st.booleans())
def test_cholesky(device: str, given: Any, upper: bool) -> None:
    shape, dtype, seed, layout = given
    a = positive_definite(shape, dtype, seed)
    check_cholesky(LAYOUTS[layout](a), a, upper)


def test_cholesky_reads_one_triangle(device: str) -> None:
    a = positive_definite((2, 4, 4), np.complex128)
    for upper, other in ((False, np.triu), (True, np.tril)):
        k = 1 if other is np.triu else -1
        changed = a + other(np.full(a.shape, 7.0), k)
        close(
            xp.linalg.cholesky(xp.asarray(changed), upper=upper), np.linalg.cholesky(a, upper=upper)
        )


@given(stacks(), st.sampled_from(["reduced", "complete"]))
def test_qr(device: str, given: Any, mode: str) -> None:
    shape, dtype, seed, layout = given
    a = sample(shape, dtype, seed)
    check_qr(LAYOUTS[layout](a), a, mode)


@given(stacks(), st.booleans())
def test_svd(device: str, given: Any, full: bool) -> None:
    shape, dtype, seed, layout = given
    a = sample(shape, dtype, seed)
    check_svd(LAYOUTS[layout](a), a, full)


@pytest.mark.parametrize("shape", [(40, 35), (2, 40, 35), (2, 3, 40)], ids=str)
@pytest.mark.parametrize("full", [False, True])
def test_svd_of_larger_matrices(device: str, shape: Any, full: bool) -> None:
    a = sample(shape, np.complex128)
    check_svd(xp.asarray(a), a, full)


@given(stacks(square=True))
def test_eigh(device: str, given: Any) -> None:
    shape, dtype, seed, layout = given
    a = hermitian(shape, dtype, seed)
    check_eigh(LAYOUTS[layout](a), a)


def test_eigh_reads_the_lower_triangle(device: str) -> None:
    a = hermitian((3, 4, 4), np.complex128)
    changed = np.tril(a) + np.triu(np.full(a.shape, np.nan), 1)
    close(xp.linalg.eigvalsh(xp.asarray(changed)), np.linalg.eigvalsh(a))
    w, v = xp.linalg.eigh(xp.asarray(changed))
    close((v * w[..., None, :]) @ xp.conj(v).mT, a)


@given(stacks(square=True))
def test_eig(device: str, given: Any) -> None:
    shape, dtype, seed, layout = given
    a = sample(shape, dtype, seed)
    check_eig(LAYOUTS[layout](a), a)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_eig_of_rotations(device: str, dtype: Any) -> None:
    a = np.array([[[0, -1, 0], [1, 0, 0], [0, 0, 2]], [[1, 0, 0], [0, 3, 4], [0, -4, 3]]], dtype)
    check_eig(xp.asarray(a), a)


@given(stacks(square=True), st.sampled_from(["vector", "matrix", "one", "stack"]), st.data())
def test_solve(device: str, given: Any, right: str, data: Any) -> None:
    shape, dtype, seed, layout = given
    *lead, m, _ = shape
    k = data.draw(st.integers(0, 3))
    sides = {
        "vector": (m,),
        "matrix": (m, k),
        "one": (*[1 for _ in lead], m, k),
        "stack": (2, *lead, m, k),
    }
    a = sample(shape, dtype, seed)
    b = sample(sides[right], data.draw(st.sampled_from(FLOATS)), seed + 1)
    y = xp.asarray(b) if b.ndim == 1 else LAYOUTS[layout](b)
    check_solve(LAYOUTS[layout](a), a, y, b)


def test_solve_factorises_one_matrix_once(kernel_device: str) -> None:
    a, b = sample((4, 4), np.float64), sample((5, 3, 4, 2), np.float64, 1)
    x, y = on_device(a), on_device(b)
    with xp.trace() as t:
        result = xp.linalg.solve(x, y)
    assert [e.name for e in t if e.kind == "library"] == ["solve"]
    close(result, np.linalg.solve(a, b))


@given(stacks(square=True))
def test_inv_and_det(device: str, given: Any) -> None:
    shape, dtype, seed, layout = given
    a = sample(shape, dtype, seed)
    x = LAYOUTS[layout](a)
    check_inv(x, a)
    check_det(x, a)


@pytest.mark.parametrize("shape", [(150, 150), (2, 70, 70)], ids=str)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_det_of_larger_matrices(device: str, shape: Any, dtype: Any) -> None:
    a = sample(shape, dtype) / np.asarray(math.sqrt(shape[-1] / math.e), dtype)
    check_det(xp.asarray(a), a)


def test_det_of_singular_and_extreme_matrices(device: str) -> None:
    a = np.zeros((3, 3, 3))
    a[1] = np.ones((3, 3))
    a[2] = np.diag([2.0, 3.0, 0.0])
    x = xp.asarray(a)
    np.testing.assert_array_equal(np.asarray(xp.linalg.det(x)), [0, 0, 0])
    sign, size = xp.linalg.slogdet(x)
    np.testing.assert_array_equal(np.asarray(sign), [0, 0, 0])
    np.testing.assert_array_equal(np.asarray(size), [-np.inf] * 3)
    far = np.diag([1e200, -1e200, 1e-200, 1e-200])
    close(xp.linalg.det(xp.asarray(far)), np.asarray(-1.0))
    close(xp.linalg.det(xp.asarray(far[::-1].copy())), np.asarray(-1.0))
    assert float(xp.linalg.det(xp.asarray(np.diag([1.0, np.nan])))) != 0


@given(stacks(), st.sampled_from([None, 1e-3, "array"]))
def test_pinv_and_rank(device: str, given: Any, rtol: Any) -> None:
    shape, dtype, seed, layout = given
    a = sample(shape, dtype, seed)
    if min(shape[-2:]) > 1:
        a[..., -1, :] = a[..., 0, :]  # not of full rank
    x = LAYOUTS[layout](a)
    real = np.finfo(dtype).dtype
    tol = np.full(shape[:-2], 1e-4, real) if rtol == "array" else rtol
    given_tol = xp.asarray(tol) if rtol == "array" else tol
    want_tol = max(*shape[-2:]) * np.finfo(dtype).eps if rtol is None else tol
    if rtol is not None and a.size:
        close(xp.linalg.pinv(x, rtol=given_tol), np.linalg.pinv(a, want_tol), 50)
    elif a.size:
        found = np.asarray(xp.linalg.pinv(x, rtol=rtol))
        assert (found.shape, found.dtype) == ((*shape[:-2], shape[-1], shape[-2]), dtype)
    rank = xp.linalg.matrix_rank(x, rtol=given_tol)
    assert (rank.shape, rank.dtype) == (shape[:-2], xp.int64)
    if rtol is not None and a.size:
        np.testing.assert_array_equal(np.asarray(rank), np.linalg.matrix_rank(a, rtol=tol))


def test_rank_by_the_default_tolerance(device: str) -> None:
    a = np.diag([1.0, 1e-3, 1e-16])
    assert int(xp.linalg.matrix_rank(xp.asarray(a))) == 2
    assert int(xp.linalg.matrix_rank(xp.asarray(a), rtol=1e-2)) == 1
    with pytest.raises(TypeError, match="rtol"):
        xp.linalg.pinv(xp.asarray(a), rtol=xp.asarray(1))
    b = np.outer([1.0, 2.0, 3.0], [1.0, -1.0])
    close(xp.linalg.pinv(xp.asarray(b)), np.linalg.pinv(b))


@pytest.mark.parametrize("n", [-5, -1, 0, 1, 2, 7])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_matrix_power(device: str, n: int, dtype: Any) -> None:
    a = sample((2, 3, 3), dtype)
    x = xp.asarray(a)
    factor = 10 * float(np.max(np.linalg.cond(a))) ** max(1, -n)
    close(xp.linalg.matrix_power(x, n), np.linalg.matrix_power(a, n), factor)
    result = xp.linalg.matrix_power(x, n)
    result[...] = 0  # no view of the argument
    np.testing.assert_array_equal(np.asarray(x), a)


ORDERS = [2, 1, 0, -1, -2, 3, 0.5, -3.5, math.inf, -math.inf]


@pytest.mark.parametrize("order", ORDERS, ids=str)
@given(st.data())
def test_vector_norm(device: str, order: float, data: Any) -> None:
    shape = data.draw(st.sampled_from([(), (4,), (3, 4), (2, 3, 2)]))
    chosen = st.sets(st.sampled_from(range(-len(shape), 0))).map(tuple) if shape else st.none()
    axes = data.draw(st.none() | chosen)
    keepdims = data.draw(st.booleans())
    dtype = data.draw(st.sampled_from(FLOATS))
    a = sample(shape, dtype, data.draw(st.integers(0, 99)))
    size = np.abs(a)
    with np.errstate(all="ignore"):
        if math.isinf(order):
            want = (np.max if order > 0 else np.min)(size, axis=axes, keepdims=keepdims)
        elif order == 0:
            want = np.sum(size != 0, axis=axes, keepdims=keepdims)
        else:
            want = np.sum(size**order, axis=axes, keepdims=keepdims) ** (1 / order)
    want = np.asarray(want).astype(np.finfo(dtype).dtype)
    close(xp.linalg.vector_norm(xp.asarray(a), axis=axes, keepdims=keepdims, ord=order), want, 10)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_norms_leave_their_range_only_if_they_must(device: str, dtype: Any) -> None:
    info = np.finfo(dtype)
    for scale in (info.max / 16, info.tiny * 16):
        a = (np.array([3.0, 4.0, 0.0]) * scale).astype(dtype)
        for order, want in ((2, 5.0), (3, 91 ** (1 / 3)), (-1, 0.0), (1, 7.0)):
            norm = float(xp.linalg.vector_norm(xp.asarray(a), ord=order))
            assert norm == pytest.approx(want * float(scale), rel=1e-5)
        norm = float(xp.linalg.vector_norm(xp.asarray(a[:2]), ord=-1))
        assert norm == pytest.approx(12 / 7 * float(scale), rel=1e-5)
    for special in (np.inf, np.nan):
        a = np.array([1, special, 2], dtype)
        for order in (2, 3, 1, math.inf):
            np.testing.assert_equal(float(xp.linalg.vector_norm(xp.asarray(a), ord=order)), special)
    zero = xp.zeros(3, dtype=dtype)
    assert [float(xp.linalg.vector_norm(zero, ord=p)) for p in ORDERS] == [0.0] * len(ORDERS)


def test_norms_of_nothing(device: str) -> None:
    x = xp.zeros((2, 0))
    for order in ORDERS:
        norm = xp.linalg.vector_norm(x, axis=1, ord=order)
        assert np.asarray(norm).tolist() == [math.inf if order < 0 else 0.0] * 2
        assert xp.linalg.vector_norm(x, axis=0, ord=order, keepdims=True).shape == (1, 0)
    for order in ("fro", "nuc", 1, 2, math.inf):
        assert float(xp.linalg.matrix_norm(x, ord=order)) == 0
    assert xp.linalg.matrix_norm(x, ord=2, keepdims=True).shape == (1, 1)
    # the smallest of sums of nothing, and of no sums
    for shape, order, want in (
        ((0, 3), -1, 0.0), ((3, 0), -1, math.inf), ((0, 3), -math.inf, math.inf),
        ((3, 0), -math.inf, 0.0), ((0, 0), -1, math.inf), ((0, 3), -2, math.inf),
    ):  # fmt: skip
        assert float(xp.linalg.matrix_norm(xp.zeros(shape), ord=order)) == want


@pytest.mark.parametrize("order", ["fro", None, "nuc", 1, -1, 2, -2, math.inf, -math.inf], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_matrix_norm(device: str, order: Any, keepdims: bool, dtype: Any) -> None:
    a = sample((2, 3, 4), dtype)
    want = np.linalg.norm(a, axis=(-2, -1), keepdims=keepdims, ord=order)
    close(xp.linalg.matrix_norm(xp.asarray(a), keepdims=keepdims, ord=order), want)


@pytest.mark.parametrize("dtype", [*FLOATS, xp.int8, xp.uint64], ids=str)
def test_cross(device: str, dtype: Any) -> None:
    a, b = (sample(s, np.float64, n) * 5 for n, s in enumerate([(2, 4, 3), (4, 3)]))
    a, b = a.astype(dtype), b.astype(dtype)
    x, y = xp.asarray(a), xp.asarray(b)
    close(xp.linalg.cross(x, y), np.cross(a, b))
    close(xp.linalg.cross(x.mT, y.mT, axis=-2), np.cross(a, b).mT)
    close(xp.linalg.cross(x[:, :1, :], y), np.cross(a[:, :1], b))
    close(xp.linalg.cross(y, y[::-1, :], axis=1), np.cross(b, b[::-1]))
    close(xp.linalg.cross(x[:0, ...], y), np.cross(a[:0], b))


def test_cross_is_one_kernel(kernel_device: str) -> None:
    x, y = on_device(sample((5, 3), np.float32)), on_device(sample((5, 3), np.float32, 1))
    xp.stats(reset=True)
    xp.evaluate(xp.linalg.cross(x, y) * 2)
    counts = xp.stats()
    assert (counts.launches, counts.library_calls) == (1, 0)


@pytest.mark.parametrize("offset", [0, 1, -2, 3, 9, -9])
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 3), (0, 3), (2, 2, 0)], ids=str)
def test_diagonal_and_trace(device: str, offset: int, shape: Any) -> None:
    a = np.arange(math.prod(shape), dtype=np.int16).reshape(shape)
    x = xp.asarray(a)
    want = np.diagonal(a, offset, -2, -1)
    np.testing.assert_array_equal(np.asarray(xp.linalg.diagonal(x, offset=offset)), want)
    trace = xp.linalg.trace(x, offset=offset)
    assert trace.dtype == xp.int64
    np.testing.assert_array_equal(np.asarray(trace), want.sum(-1))
    assert xp.linalg.trace(x, offset=offset, dtype=xp.float32).dtype == xp.float32
    turned = xp.linalg.diagonal(x.mT, offset=-offset)
    np.testing.assert_array_equal(np.asarray(turned), want)


def test_a_diagonal_is_a_view(device: str) -> None:
    x = xp.zeros((2, 3, 3))
    d = xp.linalg.diagonal(x, offset=1)
    d[...] = 1
    d += 1
    want = np.broadcast_to(np.diag([2.0, 2.0], 1), (2, 3, 3))
    np.testing.assert_array_equal(np.asarray(x), want)


def test_outer_and_aliases(device: str) -> None:
    a, b = np.arange(3, dtype=np.int8), np.arange(4, dtype=np.int32)
    close(xp.linalg.outer(xp.asarray(a), xp.asarray(b)), np.outer(a, b.astype(np.int32)))
    for name in ("matmul", "matrix_transpose", "tensordot", "vecdot"):
        assert getattr(xp.linalg, name) is getattr(xp, name)


# Devices, copies, counts.

CALLS: dict[str, Any] = {
    "cholesky": (lambda x: xp.linalg.cholesky(x @ x.mT + xp.eye(4)), 1),
    "det": (xp.linalg.det, 0),
    "eig": (xp.linalg.eig, 2),
    "eigh": (lambda x: xp.linalg.eigh(x + x.mT), 2),
    "eigvals": (xp.linalg.eigvals, 2),
    "eigvalsh": (lambda x: xp.linalg.eigvalsh(x + x.mT), 2),
    "inv": (xp.linalg.inv, 1),
    "matrix_norm": (lambda x: xp.linalg.matrix_norm(x, ord="nuc"), 2),
    "matrix_power": (lambda x: xp.linalg.matrix_power(x, -2), 1),
    "matrix_rank": (xp.linalg.matrix_rank, 2),
    "pinv": (xp.linalg.pinv, 2),
    "qr": (xp.linalg.qr, 0),
    "slogdet": (xp.linalg.slogdet, 0),
    "solve": (lambda x: xp.linalg.solve(x, x[..., 0, :]), 1),
    "svd": (xp.linalg.svd, 2),
    "svdvals": (xp.linalg.svdvals, 2),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("shape", [(4, 4), (3, 4, 4)], ids=str)
def test_nothing_is_copied_behind_the_users_back(kernel_device: str, name: str, shape: Any) -> None:
    function, controls = CALLS[name]
    if name == "solve":
        shape = (4, 4)
    x = on_device(sample(shape, np.float64))
    xp.stats(reset=True)
    with xp.transfer_guard("error"):
        result = function(x)
        xp.evaluate(*(result if isinstance(result, tuple) else (result,)))
    counts = xp.stats()
    assert (counts.h2d, counts.d2h, counts.control) == (0, 0, controls)
    products = {"cholesky": 1, "pinv": 1, "matrix_power": 1}.get(name, 0)
    assert counts.library_calls == 1 + products
    for part in result if isinstance(result, tuple) else (result,):
        assert part.location == "device"
    np.testing.assert_array_equal(np.asarray(x), sample(shape, np.float64))


def test_a_library_call_is_in_the_trace(kernel_device: str) -> None:
    x = on_device(sample((3, 3), np.float32))
    with xp.trace() as t:
        xp.linalg.inv(x)
    (event,) = [e for e in t if e.kind == "library"]
    assert (event.name, event.cause, event.nbytes) == ("solve", "inv", 4 * (3 * 9 + 1))
    assert event.gpu_seconds is not None and "test_linalg" in event.line


def test_what_the_libraries_lack_goes_through_the_host(
    kernel_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "on_device", lambda backend, name: name != "eig")
    a = sample((2, 3, 3), np.float64)
    x = on_device(a)
    xp.evaluate(x * 1)
    with xp.transfer_guard("error"), pytest.raises(xp.TransferGuardError, match="eig"):
        xp.linalg.eigvals(x + 0)
    y = x + 0
    xp.stats(reset=True)
    w = xp.linalg.eigvals(y)
    counts = xp.stats()
    assert (counts.d2h, counts.h2d, counts.library_calls) == (1, 2, 0)
    assert w.location == "device"
    check_eig(x, a)


def test_every_function_of_the_table_is_used() -> None:
    assert set(FUNCTIONS) == {
        "cholesky", "eig", "eigh", "fft", "qr", "slogdet", "solve", "svd", "svd_jacobi",
    }  # fmt: skip


def test_results_stay_lazy_and_arguments_unchanged(kernel_device: str) -> None:
    a = sample((4, 4), np.float64)
    x = on_device(a)
    xp.evaluate(xp.linalg.det(x), xp.linalg.trace(x))
    xp.stats(reset=True)
    results = (
        xp.linalg.diagonal(x),
        xp.linalg.trace(x),
        xp.linalg.vector_norm(x),
        xp.linalg.outer(x[0, :], x[1, :]),
        xp.linalg.cross(x[:, :3], x[:, 1:]),
        xp.linalg.matrix_norm(x, ord=1),
        xp.linalg.matrix_power(x, 3),
    )
    assert xp.stats().launches == 0
    x[...] = 0  # results are those of the call
    assert float(results[1]) == pytest.approx(np.trace(a))
    close(results[6], np.linalg.matrix_power(a, 3))


# Errors.


@pytest.mark.parametrize("batch", [(), (1,), (2,), (3,), (17,), (2, 3)], ids=str)
def test_a_singular_matrix_raises_in_every_stack(device: str, batch: Any) -> None:
    a = np.broadcast_to(np.eye(3), (*batch, 3, 3)).copy()
    a[(*(-1 for _ in batch), -1, -1)] = 0
    x = xp.asarray(a)
    last = tuple(n - 1 for n in batch)
    which = "matrix" if math.prod(batch) == 1 else f"matrix {last}"
    pattern = which.replace("(", r"\(").replace(")", r"\)")
    for call in (
        lambda: xp.linalg.inv(x),
        lambda: xp.linalg.solve(x, xp.ones(3)),
        lambda: xp.linalg.matrix_power(x, -1),
    ):
        with pytest.raises(xp.linalg.LinAlgError, match=f"{pattern}.* is singular"):
            call()
    with pytest.raises(xp.linalg.LinAlgError, match=f"{pattern}.* not positive definite"):
        xp.linalg.cholesky(x)
    np.testing.assert_array_equal(np.asarray(x), a)


def test_values_that_no_iteration_can_take(device: str) -> None:
    for bad in (np.nan, np.inf):
        a = np.eye(3)
        a[2, 0] = bad
        for name in ("eig", "eigvals", "eigh", "eigvalsh", "svd", "svdvals", "pinv"):
            with pytest.raises(xp.linalg.LinAlgError, match="NaN or infinity"):
                getattr(xp.linalg, name)(xp.asarray(a))
        assert not np.all(np.isfinite(np.asarray(xp.linalg.qr(xp.asarray(a)).R)))
        assert not math.isfinite(float(xp.linalg.det(xp.asarray(np.full((2, 2), bad)))))


def test_the_error_is_numpys_too() -> None:
    assert issubclass(xp.linalg.LinAlgError, np.linalg.LinAlgError)
    assert issubclass(xp.linalg.LinAlgError, ValueError)


SQUARE = ("cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "slogdet")
ANY = ("matrix_norm", "matrix_rank", "pinv", "qr", "svd", "svdvals")


@pytest.mark.parametrize("name", SQUARE + ANY)
def test_what_is_no_matrix(device: str, name: str) -> None:
    function = getattr(xp.linalg, name)
    with pytest.raises(xp.linalg.LinAlgError, match=r"2 axes, not shape \(3,\)"):
        function(xp.ones(3))
    with pytest.raises(TypeError, match="floating-point"):
        function(xp.ones((2, 2), dtype=xp.int64))
    with pytest.raises(TypeError, match="lazyarr array"):
        function(np.ones((2, 2)))
    if name in SQUARE:
        with pytest.raises(xp.linalg.LinAlgError, match=r"square matrices, not shape \(2, 3\)"):
            function(xp.ones((2, 3)))


def test_other_errors(device: str) -> None:
    x = xp.ones((3, 3))
    la = xp.linalg
    for error, text, call in [
        (ValueError, "mode", lambda: la.qr(x, mode="r")),
        (ValueError, "right sides", lambda: la.solve(x, xp.ones(2))),
        (ValueError, "right sides", lambda: la.solve(x, xp.ones((2, 3)))),
        (ValueError, "right sides", lambda: la.solve(x, xp.asarray(1.0))),
        (ValueError, "broadcast", lambda: la.solve(xp.ones((2, 3, 3)), xp.ones((4, 3, 1)))),
        (TypeError, "floating", lambda: la.solve(x, xp.ones(3, dtype=xp.int32))),
        (la.LinAlgError, "square", lambda: la.solve(xp.ones((2, 3)), xp.ones(2))),
        (TypeError, "n must be an integer", lambda: la.matrix_power(x, 1.5)),
        (ValueError, "ord", lambda: la.matrix_norm(x, ord=3)),
        (TypeError, "ord", lambda: la.vector_norm(x, ord="fro")),
        (IndexError, "axis", lambda: la.vector_norm(x, axis=2)),
        (ValueError, "3 elements", lambda: la.cross(xp.ones(2), xp.ones(2))),
        (ValueError, "3 elements", lambda: la.cross(xp.ones(3), xp.ones((3, 1)))),
        (ValueError, "from the end", lambda: la.cross(xp.ones(3), xp.ones((2, 3)), axis=0)),
        (IndexError, "axis", lambda: la.cross(xp.ones(3), xp.ones((2, 3)), axis=-2)),
        (TypeError, "bool", lambda: la.cross(*(xp.ones(3, dtype=xp.bool),) * 2)),
        (ValueError, "1 axis", lambda: la.outer(x, xp.ones(3))),
        (TypeError, "offset", lambda: la.diagonal(x, offset=0.5)),
        (la.LinAlgError, "2 axes", lambda: la.trace(xp.ones(3))),
        (TypeError, "bool", lambda: la.trace(xp.ones((2, 2), dtype=xp.bool))),
    ]:
        with pytest.raises(error, match=text):
            call()


def test_operands_on_two_devices(kernel_device: str) -> None:
    x, y = xp.ones((3, 3)), xp.ones(3, device="cpu")
    for function in (xp.linalg.solve, xp.linalg.outer, xp.linalg.cross):
        with pytest.raises(ValueError, match="devices"):
            function(x if function is xp.linalg.solve else xp.ones(3), y)


@pytest.mark.parametrize("name", xp.linalg.__all__)
def test_names_are_documented(name: str) -> None:
    value = getattr(xp.linalg, name)
    assert inspect.getdoc(value)
