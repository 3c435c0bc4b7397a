"""How ``cuda`` calls cuSOLVER, cuBLAS and cuFFT, without a GPU.

The callers run on the simulator's memory with stand-ins of the libraries (``cuda_math``), whose
matrices are column-major and which destroy their inputs: whatever is laid out or passed wrongly
gives wrong results. The API's own tests check the real libraries where there is a GPU.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import lazyarr as xp
from lazyarr._kernel_files import kernel_text
from lazyarr.graph import evaluate
from lazyarr.runtime import cuda_fft, cuda_libraries, cuda_solver
from lazyarr.runtime.base import LibraryCall
from lazyarr.runtime.cuda_solver import determinant_source
from lazyarr.runtime.select import default_device
from lazyarr.runtime.sim import SimBackend
from tests.api import linalg_support as check

from .cuda_math import Cublas, Cufft, CusolverDn

NEW, OLD = 11702, 11600  # versions of cuSOLVER with and without Xgeev and XsyevBatched


class Libraries(NamedTuple):
    solver: CusolverDn
    blas: Cublas
    fft: Cufft


@pytest.fixture
def libraries(monkeypatch: pytest.MonkeyPatch) -> Iterator[Libraries]:
    with xp.default_device("sim"):
        backend = evaluate.runtime(default_device()).backend
        assert isinstance(backend, SimBackend)
        fakes = Libraries(CusolverDn(backend), Cublas(backend), Cufft(backend))
        monkeypatch.setattr(cuda_solver, "_cusolver", lambda: fakes.solver)
        monkeypatch.setattr(cuda_solver, "_cublas", lambda: fakes.blas)
        monkeypatch.setattr(cuda_libraries, "_cublas", lambda: fakes.blas)
        monkeypatch.setattr(cuda_fft, "_cufft", lambda: fakes.fft)
        monkeypatch.setattr(cuda_solver, "_version", lambda: NEW)
        solver = cuda_solver.Solver(backend, cuda_libraries.Blas())
        fft = cuda_fft.Fft(backend)

        def run(self: SimBackend, call: LibraryCall) -> None:
            (fft if call.name == "fft" else solver).run(call)

        monkeypatch.setattr(SimBackend, "library", run)
        monkeypatch.setattr(SimBackend, "has_library", lambda self, name: solver.has(name))
        yield fakes


SHAPES = [(1, 1), (3, 3), (1, 3, 3), (2, 3, 3), (2, 2, 4, 4)]
RECTANGLES = [(3, 5), (5, 3), (1, 4), (4, 1), (2, 3, 5), (2, 5, 3), (2, 34, 36), (2, 36, 34)]
dtypes = pytest.mark.parametrize("dtype", check.FLOATS, ids=str)
single = pytest.mark.parametrize("batched_up_to", [512, 2])  # 2: each matrix by itself


def routed(monkeypatch: pytest.MonkeyPatch, batched_up_to: int) -> None:
    monkeypatch.setattr(cuda_solver, "_BATCHED_UP_TO", batched_up_to)


@dtypes
@single
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_cholesky(
    libraries: Libraries, monkeypatch: Any, batched_up_to: int, shape: Any, dtype: Any
) -> None:
    routed(monkeypatch, batched_up_to)
    a = check.positive_definite(shape, dtype)
    for upper in (False, True):
        x = xp.asarray(a)
        check.check_cholesky(x, a, upper)
        np.testing.assert_array_equal(np.asarray(x), a)
    batched = len(shape) > 2 and np.prod(shape[:-2]) > 1 and shape[-1] < batched_up_to
    assert libraries.solver.called == ["potrf_batched"] * 2 if batched else ["xpotrf"] * 2


@dtypes
@single
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_solve_inv_and_det(
    libraries: Libraries, monkeypatch: Any, batched_up_to: int, shape: Any, dtype: Any
) -> None:
    routed(monkeypatch, batched_up_to)
    a = check.sample(shape, dtype)
    x = xp.asarray(a)
    check.check_inv(x, a)
    check.check_det(x, a)
    for side in ((shape[-1],), (*shape[:-1], 2), (3, *shape[:-1], 1)):
        b = check.sample(side, dtype, 1)
        y = xp.asarray(b)
        check.check_solve(x, a, y, b)
        np.testing.assert_array_equal(np.asarray(y), b)
    np.testing.assert_array_equal(np.asarray(x), a)
    batched = np.prod(shape[:-2]) > 1 and shape[-1] < batched_up_to
    assert ("getrf_batched" in libraries.blas.called) == batched


@single
@pytest.mark.parametrize("batch", [1, 2, 5])
def test_failures_are_found(
    libraries: Libraries, monkeypatch: Any, batched_up_to: int, batch: int
) -> None:
    routed(monkeypatch, batched_up_to)
    a = np.stack([np.eye(3)] * batch)
    a[-1, -1, -1] = 0
    x = xp.asarray(a)
    which = rf"matrix \({batch - 1},\)"
    with pytest.raises(xp.linalg.LinAlgError, match=f"{which} .*singular"):
        xp.linalg.inv(x)
    with pytest.raises(xp.linalg.LinAlgError, match=f"{which} .*positive"):
        xp.linalg.cholesky(x)
    np.testing.assert_array_equal(np.asarray(xp.linalg.det(x)), [1.0] * (batch - 1) + [0.0])


@dtypes
@pytest.mark.parametrize("shape", SHAPES + RECTANGLES, ids=str)
def test_qr(libraries: Libraries, shape: Any, dtype: Any) -> None:
    a = check.sample(shape, dtype)
    for mode in ("reduced", "complete"):
        x = xp.asarray(a)
        check.check_qr(x, a, mode)
        np.testing.assert_array_equal(np.asarray(x), a)
    assert set(libraries.solver.called) >= {"xgeqrf"}


@dtypes
@pytest.mark.parametrize("version", [NEW, OLD])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_eigh(libraries: Libraries, monkeypatch: Any, shape: Any, dtype: Any, version: int) -> None:
    monkeypatch.setattr(cuda_solver, "_version", lambda: version)
    a = check.hermitian(shape, dtype)
    lower = np.tril(a) + np.triu(np.full(shape, 5, dtype), 1)
    x = xp.asarray(lower)
    check.check_eigh(x, a)
    np.testing.assert_array_equal(np.asarray(x), lower)
    batched = np.prod(shape[:-2]) > 1 and version == NEW
    assert set(libraries.solver.called) == {"xsyev_batched" if batched else "xsyevd"}


def test_large_stacks_of_eigenproblems_go_in_parts(libraries: Libraries, monkeypatch: Any) -> None:
    monkeypatch.setattr(cuda_solver, "_INT32_MAX", 3 * 9 * 8)  # three matrices at once
    a = check.hermitian((7, 3, 3), np.float64)
    check.check_eigh(xp.asarray(a), a)
    assert libraries.solver.called == ["xsyev_batched"] * 6  # with vectors and without


@dtypes
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_eig(libraries: Libraries, shape: Any, dtype: Any) -> None:
    a = check.sample(shape, dtype)
    x = xp.asarray(a)
    check.check_eig(x, a)
    np.testing.assert_array_equal(np.asarray(x), a)


def test_eig_without_xgeev_is_no_device_function(libraries: Libraries, monkeypatch: Any) -> None:
    monkeypatch.setattr(cuda_solver, "_version", lambda: OLD)
    a = check.sample((2, 3, 3), np.float32)
    x = xp.asarray(a) * 1
    xp.evaluate(x, xp.all(xp.isfinite(x)))
    with xp.transfer_guard("error"), pytest.raises(xp.TransferGuardError, match="lack"):
        xp.linalg.eigvals(x)
    check.check_eig(x, a)
    assert libraries.solver.called == []


@dtypes
@pytest.mark.parametrize("shape", SHAPES + RECTANGLES, ids=str)
def test_svd(libraries: Libraries, shape: Any, dtype: Any) -> None:
    a = check.sample(shape, dtype)
    for full in (False, True):
        x = xp.asarray(a)
        check.check_svd(x, a, full)
        np.testing.assert_array_equal(np.asarray(x), a)
    jacobi = np.prod(shape[:-2]) > 1 and max(shape[-2:]) <= 32
    assert ("gesvdj_batched" in libraries.solver.called) == jacobi
    assert ("xgesvd" in libraries.solver.called) != jacobi


def test_many_small_singular_value_problems_go_in_parts(
    libraries: Libraries, monkeypatch: Any
) -> None:
    monkeypatch.setattr(cuda_solver, "_JACOBI_AT_ONCE", 3)
    a = check.sample((7, 3, 4), np.complex64)
    check.check_svd(xp.asarray(a), a, True)
    assert libraries.solver.called.count("gesvdj_batched") == 6


REAL = [xp.float32, xp.float64]


@pytest.mark.parametrize("axes", [(0,), (1,), (1, 2), (0, 2), (0, 1, 2), (3, 2, 1, 0)], ids=str)
@dtypes
def test_transforms(libraries: Libraries, axes: Any, dtype: Any) -> None:
    a = check.sample((3, 4, 5, 2), dtype)
    x = xp.asarray(a)
    for name in ("fftn", "ifftn", "irfftn", *(["rfftn"] if dtype in REAL else [])):
        got = getattr(xp.fft, name)(x, axes=axes)
        check.close(got, getattr(np.fft, name)(a, axes=axes), 10)
        np.testing.assert_array_equal(np.asarray(x), a)
        y = xp.fft.fft(x)
        keep = y.get()
        xp.evaluate(xp.fft.irfft(y))
        np.testing.assert_array_equal(np.asarray(y), keep)


def test_plans_are_kept_and_let_go(libraries: Libraries, monkeypatch: Any) -> None:
    monkeypatch.setattr(cuda_fft, "_MOST_PLANS", 2)
    x = xp.asarray(check.sample((2, 8), np.complex64))
    for n in (8, 8, 4, 8, 5, 8, 4):
        xp.evaluate(xp.fft.ifft(xp.fft.fft(x, n=n)))
    # 8 and 4 are made, 5 takes the place of 4, and 4 that of 5.
    assert len(libraries.fft.plans) == 4
    assert libraries.fft.destroyed == [1, 2]


def test_a_plan_that_fails_is_not_kept(libraries: Libraries, monkeypatch: Any) -> None:
    def fail(*arguments: Any) -> int:
        raise RuntimeError("CUFFT_INVALID_SIZE")

    x = xp.asarray(check.sample((2, 8), np.complex64))
    with monkeypatch.context() as broken:
        broken.setattr(Cufft, "make_plan_many64", fail)
        with pytest.raises(RuntimeError, match="INVALID_SIZE"):
            xp.evaluate(xp.fft.fft(x))
    assert libraries.fft.destroyed == [0]
    check.close(xp.fft.fft(x), np.fft.fft(np.asarray(x)))


@pytest.mark.sanitize
@pytest.mark.parametrize("count", [1, 256, 257])
def test_the_addresses_of_matrices(kernel_device: str, count: int) -> None:
    kernel = xp.SourceModule(kernel_text("pointers.cuh")).get_function("lz_pointers")
    out = xp.zeros(count, dtype=xp.uint64)
    first, step = np.uint64(2**40 + 8), np.uint64(24)
    kernel(xp.Out(out), first, step, np.int64(count), grid=(-(-count // 256),), block=(256,))
    want = first + np.arange(count, dtype=np.uint64) * step
    np.testing.assert_array_equal(np.asarray(out), want)


@pytest.mark.sanitize
@dtypes
def test_determinants_from_factors(kernel_device: str, dtype: Any) -> None:
    n, batch = 300, 3
    rng = np.random.default_rng(0)
    pivots = np.where(rng.random((batch, n)) < 0.3, n, np.arange(1, n + 1)).astype(np.int32)
    factors = check.sample((batch, n, n), dtype)
    factors[1, 5, 5] = 0
    source = determinant_source(np.dtype(dtype))
    kernel = xp.SourceModule(source).get_function("lz_determinant")
    real = np.finfo(dtype).dtype
    parts = np.dtype(dtype).itemsize // real.itemsize  # the kernel takes real numbers
    sign, size = xp.zeros(batch * parts, dtype=real), xp.zeros(batch)
    inputs = [xp.In(xp.asarray(a)) for a in (factors.view(real), pivots)]
    kernel(xp.Out(sign), xp.Out(size), *inputs, np.int64(n), grid=(batch,), block=(128,))
    diagonal = np.diagonal(factors, 0, 1, 2).astype(np.complex128)
    exchanged = np.where(pivots != np.arange(1, n + 1), -1, 1)
    with np.errstate(all="ignore"):
        units = np.where(diagonal == 0, 0, diagonal / np.abs(diagonal))
        want = np.sum(np.log(np.abs(diagonal)), axis=1)
    found = np.prod(units * exchanged, axis=1)
    np.testing.assert_allclose(sign.get().view(dtype), found, atol=check.tolerance(dtype))
    np.testing.assert_allclose(np.asarray(size), want, rtol=1e-6)


def real_signatures() -> dict[tuple[str, str], int]:
    """Return how many arguments the functions of the installed bindings take, by their text."""
    bindings = pytest.importorskip("nvmath.bindings", reason="nvmath-python is not installed")
    found = {}
    for module in ("cublas", "cusolverDn", "cufft"):
        for name, function in vars(getattr(bindings, module)).items():
            text = (getattr(function, "__doc__", None) or "").partition(")")[0]
            if text.startswith(f"{name}("):
                found[module, name] = text.count(",") + (not text.endswith("("))
    return found


def test_the_stand_ins_take_the_arguments_of_the_bindings() -> None:
    found = real_signatures()
    for module, library in (("cublas", Cublas), ("cusolverDn", CusolverDn), ("cufft", Cufft)):
        typed = {n: f"s{n}" if not n.startswith("ung") else f"c{n}" for n in library.TYPED}
        plain = {n for n, f in vars(library).items() if inspect.isfunction(f) and n[0] != "_"}
        for own, real in [(f"_{n}", t) for n, t in typed.items()] + [(n, n) for n in plain]:
            extra = 2 if own != real else 1  # self, and the dtype
            count = len(inspect.signature(getattr(library, own)).parameters) - extra
            assert found.get((module, real), count) == count, (module, real)
            assert (module, real) in found or real == "__init__", (module, real)


def test_work_space_is_given_back(libraries: Libraries) -> None:
    x = xp.asarray(check.sample((3, 4, 4), np.float64))
    xp.evaluate(x + 0)
    before = xp.memory_info().used
    for function in (xp.linalg.inv, xp.linalg.svd, xp.linalg.qr, xp.linalg.eig, xp.linalg.det):
        xp.evaluate(xp.asarray(0.0))
        function(x)
    xp.evaluate(xp.fft.irfft(x))
    assert xp.memory_info().used <= before + 64
