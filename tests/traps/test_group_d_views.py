"""Field cases of group D: views, strides, layout."""

from __future__ import annotations

import numpy as np
import pytest

import lazyarr as xp

from .common import eq, kernel

PICK = """
extern "C" __global__ void pick(const float* p, float* out, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = p[i];
}
"""


def _picked(x: xp.Array) -> np.ndarray:
    out = xp.empty(x.size, dtype=xp.float32)
    kernel(PICK, "pick")((1,), (32,), (xp.In(x), xp.Out(out), np.int64(x.size)))
    return np.asarray(out)


def test_52_a_users_kernel_refuses_a_strided_view(kernel_device: str) -> None:
    x = xp.reshape(xp.arange(10, dtype=xp.float32), (2, 5))
    for view in (x[:, :4], x.T, xp.flip(x), x[:, ::2]):
        with pytest.raises(ValueError, match="copy") as caught:
            _picked(view)
        assert str(view.shape) in str(caught.value)
    assert _picked(xp.asarray(x[:, :4], copy=True))[6] == 7.0
    eq(_picked(x[1:]), np.arange(5, 10, dtype=np.float32))  # the pointer includes the offset


def test_53_negative_strides_start_at_the_last_element(device: str) -> None:
    a = np.zeros(31)
    a[15] = 1.0
    b = np.linspace(0, 1, 31)
    fa = xp.flip(xp.asarray(a))
    xb = xp.asarray(b)
    eq(fa, a[::-1])
    assert float(xp.sum(fa * xb)) == b[15]
    m = np.arange(12.0).reshape(3, 4)
    fm = xp.flip(xp.asarray(m))
    eq(xp.sum(fm, axis=0), m[::-1, ::-1].sum(0))
    eq(xp.flip(fm)[1:, ::-1], m[1:, ::-1])


def test_53_matmul_of_flipped_operands(device: str) -> None:
    b = np.linspace(0, 1, 31)
    m = np.arange(12.0).reshape(3, 4)
    got = xp.matmul(xp.flip(xp.asarray(m)), xp.flip(xp.asarray(b)[:4]))
    want = m[::-1, ::-1] @ b[:4][::-1]
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-15)


def test_53_cumulative_sum_of_a_flipped_operand(device: str) -> None:
    b = np.linspace(0, 1, 31)
    np.testing.assert_allclose(
        np.asarray(xp.cumulative_sum(xp.flip(xp.asarray(b)))), np.cumsum(b[::-1]), rtol=1e-15
    )
    i = np.arange(31)
    eq(xp.cumulative_sum(xp.flip(xp.asarray(i))), np.cumsum(i[::-1]))


def test_55_views_of_views(device: str) -> None:
    x = np.arange(50.0).reshape(5, 10)
    a = xp.asarray(x)
    eq(xp.reshape(a[:3, :5], (15,)), x[:3, :5].reshape(15))
    eq(xp.permute_dims(a[:, 7:9], (1, 0)), x[:, 7:9].T)
    eq(a[:3, :5] + a[:3, ::2], x[:3, :5] + x[:3, ::2])
    eq(a[::3], x[::3])
    assert a[::3].shape == (2, 10)
    eq(a[::3][1], x[3])


def test_55_fortran_order_and_other_strides_of_the_source(device: str) -> None:
    x = np.arange(50.0).reshape(5, 10)
    a = xp.asarray(x)
    f = xp.asarray(np.asfortranarray(x))
    eq(xp.asarray(f, copy=True), x)
    eq(f + a, x + x)
    for v in (x[::2], x[:, ::-3], x.T, x[::-1, 1:], np.broadcast_to(x[0], (3, 10)), x[2:2]):
        eq(xp.asarray(v), v)


def test_55_writes_through_views_of_views(device: str) -> None:
    w = np.arange(60).reshape(3, 4, 5)
    a = xp.asarray(w)
    va = xp.permute_dims(a[:, ::-1, 1:], (2, 0, 1))[::2, :, 1:]
    vw = w[:, ::-1, 1:].transpose(2, 0, 1)[::2, :, 1:]
    va[...] = va * 10
    vw[...] = vw * 10
    eq(a, w)
    va[0, 1] = xp.asarray([7, 8, 9])
    vw[0, 1] = [7, 8, 9]
    eq(a, w)
    eq(va, vw)
    flat = xp.reshape(a[:2], (8, 5))  # a view of the same memory
    flat[:, 3] = -1
    w[:2].reshape(8, 5)[:, 3] = -1
    eq(a, w)


def test_55_a_view_of_a_pending_array_writes_through(device: str) -> None:
    a = xp.arange(10) * 2
    v = a[2:8]
    v[::2] = 0
    v += 1
    want = np.arange(10) * 2
    want[2:8:2] = 0
    want[2:8] += 1
    eq(a, want)
    eq(v, want[2:8])


def test_56_reshape_of_no_elements(device: str) -> None:
    with pytest.raises(ValueError):
        xp.reshape(xp.zeros((0,)), ())
    with pytest.raises(ValueError):
        xp.reshape(xp.asarray([3, 7]), ())
    eq(xp.reshape(xp.zeros((0, 3)), (3, 0)), np.zeros((3, 0)))
    with pytest.raises(ValueError):
        xp.reshape(xp.zeros((0, 3)), (-1, 0))
    eq(xp.reshape(xp.asarray([3]), ()), 3)
    eq(xp.reshape(xp.asarray(3), (1, 1)), [[3]])


def test_58_a_users_kernel_refuses_a_broadcast_view(kernel_device: str) -> None:
    x = xp.broadcast_to(xp.asarray([1.0], dtype=xp.float32), (1000,))
    with pytest.raises(ValueError, match="copy"):
        _picked(x)
    eq(_picked(xp.asarray(x, copy=True)[:32]), np.ones(32, np.float32))


@pytest.mark.parametrize("shape", [(3, 5), (64, 64), (129, 70), (1, 1000), (1000, 1), (2, 70, 90)])
@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex128"])
def test_59_a_transposed_copy(device: str, shape: tuple[int, ...], dtype: str) -> None:
    w = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    x = xp.asarray(w)
    eq(xp.asarray(x.mT, copy=True), np.swapaxes(w, -1, -2))
    back = xp.empty_like(x)
    back[...] = xp.asarray(x.mT + 0, copy=True).mT
    eq(back, w)
