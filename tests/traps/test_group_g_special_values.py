"""Field cases of group G: special values and complex numbers."""

from __future__ import annotations

import math

import numpy as np

import lazyarr as xp

from .common import eq


def test_74_sign_of_nan(device: str) -> None:
    eq(xp.sign(xp.asarray([np.nan, -2.0, 3.0])), [np.nan, -1.0, 1.0])
    assert float(xp.sign(xp.asarray(-0.0))) == 0.0
    np.testing.assert_allclose(np.asarray(xp.sign(xp.asarray([3 + 4j]))), [0.6 + 0.8j])


def test_76_signs_of_zero(device: str) -> None:
    eq(xp.round(xp.asarray([0.5, -0.5, 1.5, 2.5, -0.0])), [0.0, -0.0, 2.0, 2.0, -0.0])
    eq(xp.trunc(xp.asarray([-0.3])), [-0.0])
    a, b = xp.asarray([-0.0, 4.0, -4.0]), xp.asarray([2.0, -2.0, 2.0])
    eq(xp.remainder(a, b), [0.0, -0.0, 0.0])
    eq(xp.atan2(xp.asarray([0.0, -0.0]), xp.asarray([-0.0, -0.0])), [math.pi, -math.pi])
    eq(xp.sqrt(xp.asarray([-0.0])), [-0.0])


def test_77_zero_to_the_power_of_zero(device: str) -> None:
    z = xp.asarray([0j])
    eq(xp.pow(z, z), [1 + 0j])


def test_79_complex_exp_and_log_at_infinities(device: str) -> None:
    inf, nan = np.inf, np.nan
    e = np.asarray(xp.exp(xp.asarray([complex(-inf, inf), complex(-inf, nan), complex(nan, 0.0)])))
    assert e[0] == 0 and e[1] == 0 and np.isnan(e[2].real) and e[2].imag == 0
    x = np.asarray(xp.log(xp.asarray([complex(-0.0, 0.0), complex(inf, nan)])))
    assert x[0].real == -inf and abs(x[0].imag - math.pi) < 1e-15
    assert x[1].real == inf and np.isnan(x[1].imag)
    assert float(xp.abs(xp.asarray([complex(inf, nan)]))[0]) == inf


def test_80_overflow_inside_abs_and_complex_division(device: str) -> None:
    big = float(xp.abs(xp.asarray([complex(3e200, 4e200)]))[0])
    assert abs(big / 5e200 - 1) < 1e-15
    z = xp.asarray([1e200 + 1e200j])
    np.testing.assert_allclose(np.asarray(z / z), [1 + 0j])


def test_82_nan_in_argsort(device: str) -> None:
    eq(xp.argsort(xp.asarray([3.0, np.nan, 1.0, np.nan, 2.0]), stable=True), [2, 4, 0, 1, 3])
    eq(xp.argsort(xp.asarray([np.nan] * 40), stable=True), np.arange(40))
    x = xp.asarray([1.0, np.nan, -0.0, 0.0, -np.inf, np.inf])
    eq(xp.sort(x), [-np.inf, -0.0, 0.0, 1.0, np.inf, np.nan])
    eq(xp.sort(x, descending=True), [np.inf, 1.0, -0.0, 0.0, -np.inf, np.nan])


def test_83_stability(device: str) -> None:
    x = xp.asarray([1000] * 6 + [0, 1000])
    eq(xp.argsort(x, stable=True), [6, 0, 1, 2, 3, 4, 5, 7])
    n = 100_000
    keys = xp.arange(n) % 7
    eq(xp.argsort(keys, stable=True), np.argsort(np.arange(n) % 7, kind="stable"))
    eq(xp.argsort(xp.asarray([1, 0, 1, 0]), descending=True, stable=True), [0, 2, 1, 3])


def test_83_descending_extremes(device: str) -> None:
    eq(xp.sort(xp.asarray([0, 255, 3], dtype=xp.uint8), descending=True), [255, 3, 0])
    for dtype in (xp.int8, xp.int64):
        low, high = xp.iinfo(dtype).min, xp.iinfo(dtype).max
        x = xp.asarray([0, low, high, -1], dtype=dtype)
        eq(xp.sort(x, descending=True), [high, 0, -1, low])
        eq(xp.argsort(x), [1, 3, 0, 2])


def test_85_the_shape_of_unique_inverse(device: str) -> None:
    x = xp.asarray([[3, 1], [3, 2]])
    u = xp.unique_inverse(x)
    assert u.inverse_indices.shape == x.shape
    flat = xp.take(u.values, xp.reshape(u.inverse_indices, (-1,)))
    eq(xp.reshape(flat, x.shape), np.asarray(x))


def test_86_searchsorted_with_nan_and_mixed_dtypes(device: str) -> None:
    s = xp.asarray([-0.4, -0.3, -0.2], dtype=xp.float32)
    eq(xp.searchsorted(s, xp.asarray([0.1, np.nan], dtype=xp.float32)), [3, 3])
    eq(xp.searchsorted(s, xp.asarray([-0.3])), [2])  # the float32 lies below the float64
    e = xp.asarray([0.0, 1.0, 1.0, 2.0])
    eq(xp.searchsorted(e, xp.asarray([1.0]), side="left"), [1])
    eq(xp.searchsorted(e, xp.asarray([1.0]), side="right"), [3])
