"""Field cases of group G: complex powers, exponentials and logarithms."""

from __future__ import annotations

import math

import numpy as np

import lazyarr as xp

from .common import eq


def test_77_zero_to_the_power_zero(device: str) -> None:
    z = xp.asarray([0j])
    eq(xp.pow(z, z), [1 + 0j])


def test_79_exp_and_log_at_infinities(device: str) -> None:
    at = [complex(-np.inf, np.inf), complex(-np.inf, np.nan), complex(np.nan, 0.0)]
    e = np.asarray(xp.exp(xp.asarray(at)))
    assert e[0] == 0 and e[1] == 0 and np.isnan(e[2].real) and e[2].imag == 0
    x = np.asarray(xp.log(xp.asarray([complex(-0.0, 0.0), complex(np.inf, np.nan)])))
    assert x[0].real == -np.inf and abs(x[0].imag - math.pi) < 1e-15
    assert x[1].real == np.inf and np.isnan(x[1].imag)


def test_79_abs_of_an_infinity_and_nan(device: str) -> None:
    assert float(xp.abs(xp.asarray([complex(np.inf, np.nan)]))[0]) == np.inf
