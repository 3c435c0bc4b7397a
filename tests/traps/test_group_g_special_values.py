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
