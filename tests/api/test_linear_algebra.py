"""Matrix products against NumPy, on every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyarr as xp

FLOATS = [xp.float32, xp.float64, xp.complex64, xp.complex128]
INTS = [xp.int8, xp.uint8, xp.int32, xp.uint64]


def data(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    if dtype.kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.kind == "c" else x).astype(dtype)


def check(got: Any, want: Any) -> None:
    want = np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    rtol = 1e-5 if want.dtype.itemsize <= 8 and want.dtype.kind in "fc" else 1e-12
    np.testing.assert_allclose(np.asarray(got), want, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=str)
@pytest.mark.parametrize(
    ("shape1", "shape2"),
    [
        ((3, 4), (4, 5)),
        ((4,), (4,)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((1, 4), (4, 1)),
        ((3, 1), (1, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (3, 4, 5)),
        ((4,), (2, 4, 5)),
        ((0, 4), (4, 5)),
        ((3, 0), (0, 5)),
        ((2, 3, 0), (0,)),
    ],
)
def test_matmul(device: str, shape1: Any, shape2: Any, dtype: Any) -> None:
    a, b = data(shape1, dtype, 1), data(shape2, dtype, 2)
    with np.errstate(over="ignore"):
        check(xp.matmul(xp.asarray(a), xp.asarray(b)), np.matmul(a, b))


LAYOUTS: dict[str, Any] = {
    "transposed": lambda x: xp.asarray(x.T.copy()).T,
    "rows skipped": lambda x: xp.asarray(np.repeat(x, 2, axis=0))[::2, ...],
    "columns skipped": lambda x: xp.asarray(np.repeat(x, 2, axis=1))[:, ::2],
    "backwards": lambda x: xp.asarray(x[::-1, ::-1].copy())[::-1, ::-1],
    "part of a row": lambda x: xp.asarray(np.hstack([x, x]))[:, : x.shape[1]],
}


@pytest.mark.parametrize("shape", [(4, 4), (1, 4), (4, 1)], ids=str)
@pytest.mark.parametrize("name", LAYOUTS)
def test_matmul_of_views(device: str, name: str, shape: tuple[int, int]) -> None:
    a, b = data(shape, xp.float64, 1), data(shape[::-1], xp.float64, 2)
    view = LAYOUTS[name]
    check(xp.matmul(view(a), view(b)), a @ b)
    check(xp.matmul(view(a), xp.asarray(b)), a @ b)


def test_matmul_of_broadcast_and_permuted_batches(device: str) -> None:
    a, b = data((2, 3, 4, 5), xp.float64, 1), data((5, 6), xp.float64, 2)
    x, y = xp.asarray(a), xp.asarray(b)
    check(xp.matmul(xp.permute_dims(x, (1, 0, 2, 3)), y), a.transpose(1, 0, 2, 3) @ b)
    check(xp.matmul(xp.broadcast_to(x[0, ...], (7, 3, 4, 5)), y), np.array([a[0] @ b] * 7))
    check(xp.matmul(xp.broadcast_to(y[:1, :], (5, 6)).T, y), np.array([b[0]] * 5).T @ b)
    check(xp.matmul(x[::-1, ...], y), a[::-1] @ b)


def test_operators(device: str) -> None:
    a, b = data((3, 3), xp.float64, 1), data((3, 3), xp.float64, 2)
    x, y = xp.asarray(a), xp.asarray(b)
    check(x @ y, a @ b)
    check(a @ y, a @ b)
    check(x @ b, a @ b)
    x @= y
    check(x, a @ b)
    with pytest.raises(TypeError):
        x @ 2
    with pytest.raises(TypeError):
        x @= y[:, 0]


def test_a_product_is_one_library_call(kernel_device: str) -> None:
    x = xp.asarray(data((4, 4), xp.float32))
    xp.evaluate(x + 0)
    xp.stats(reset=True)
    xp.evaluate(xp.matmul(x.T, x) + 1.0)
    counts = xp.stats()
    assert (counts.library_calls, counts.launches) == (1, 1)
    n = xp.asarray(data((4, 4), xp.int32))
    xp.evaluate(n + 0)
    xp.stats(reset=True)
    xp.evaluate(xp.matmul(n, n))
    counts = xp.stats()
    assert (counts.library_calls, counts.launches) == (0, 1)


def test_matmul_promotes(device: str) -> None:
    a, b = data((2, 3), xp.float32, 1), data((3, 2), xp.float64, 2)
    check(xp.matmul(xp.asarray(a), xp.asarray(b)), a.astype(np.float64) @ b)
    c, d = data((2, 3), xp.int8, 1), data((3, 2), xp.int32, 2)
    check(xp.matmul(xp.asarray(c), xp.asarray(d)), c.astype(np.int32) @ d)


def test_matmul_errors(device: str) -> None:
    x = xp.ones((2, 3))
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        xp.matmul(x, x)
    with pytest.raises(ValueError, match="axis"):
        xp.matmul(x, xp.asarray(1.0))
    with pytest.raises(ValueError, match="broadcast"):
        xp.matmul(xp.ones((2, 3, 3)), xp.ones((4, 3, 3)))
    with pytest.raises(TypeError, match="bool"):
        xp.matmul(xp.ones((2, 2), dtype=xp.bool), xp.ones((2, 2), dtype=xp.bool))
    with pytest.raises(TypeError, match="common"):
        xp.matmul(x, xp.ones((3, 2), dtype=xp.int32))


@pytest.mark.parametrize("dtype", [xp.float64, xp.complex64, xp.int16], ids=str)
@pytest.mark.parametrize("axes", [0, 1, 2, ([1], [0]), ([0, 2], [1, -1]), ((), ())], ids=str)
def test_tensordot(device: str, axes: Any, dtype: Any) -> None:
    a, b = data((3, 4, 5), dtype, 1), data((4, 3, 5), dtype, 2)
    if axes in (1, 2):
        b = data((5, 2) if axes == 1 else (4, 5, 2), dtype, 2)
    if axes == ([1], [0]):
        b = data((4, 2), dtype, 2)
    check(xp.tensordot(xp.asarray(a), xp.asarray(b), axes=axes), np.tensordot(a, b, axes=axes))


def test_tensordot_errors(device: str) -> None:
    x = xp.ones((2, 3))
    with pytest.raises(ValueError, match="length"):
        xp.tensordot(x, x, axes=1)
    with pytest.raises(ValueError, match="axes"):
        xp.tensordot(x, x, axes=3)
    with pytest.raises(ValueError, match="axes"):
        xp.tensordot(x, x, axes=([0], [0, 1]))
    with pytest.raises(TypeError, match="axes"):
        xp.tensordot(x, x, axes=1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [xp.float64, xp.complex128, xp.int8, xp.uint32], ids=str)
def test_vecdot(device: str, dtype: Any) -> None:
    a, b = data((2, 3, 4), dtype, 1), data((3, 4), dtype, 2)
    want = np.sum(np.conj(a) * b, axis=-1, dtype=dtype)
    check(xp.vecdot(xp.asarray(a), xp.asarray(b)), want)
    want = np.sum(np.conj(a) * b, axis=-2, dtype=dtype)
    check(xp.vecdot(xp.asarray(a), xp.asarray(b), axis=-2), want)


def test_vecdot_errors(device: str) -> None:
    with pytest.raises(ValueError, match="differ"):
        xp.vecdot(xp.ones(3), xp.ones(1))
    with pytest.raises(IndexError):
        xp.vecdot(xp.ones((2, 3)), xp.ones(3), axis=-2)
    with pytest.raises(TypeError, match="bool"):
        xp.vecdot(xp.ones(3, dtype=xp.bool), xp.ones(3, dtype=xp.bool))


def test_matrix_transpose(device: str) -> None:
    a = data((2, 3, 4), xp.float64)
    check(xp.matrix_transpose(xp.asarray(a)), a.swapaxes(1, 2))
    with pytest.raises(ValueError, match="axes"):
        xp.matrix_transpose(xp.ones(3))
