"""Field cases of group F: promotion and Python scalars."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lazyarr as xp

from .common import eq


def test_65_bool_with_a_python_bool(device: str) -> None:
    r = xp.eye(3, dtype=xp.bool) ^ True
    assert r.dtype == xp.bool
    eq(r, ~np.eye(3, dtype=bool))
    assert (xp.asarray([True]) & False).dtype == xp.bool
    assert (True | xp.asarray([True])).dtype == xp.bool


def test_67_a_scalar_that_does_not_fit(device: str) -> None:
    a = xp.asarray([10], dtype=xp.int8)
    with pytest.raises(OverflowError):
        a + 256
    with pytest.raises(OverflowError):
        xp.asarray([10], dtype=xp.uint8) + (-1)
    assert (a + 100).dtype == xp.int8
    f = xp.asarray([1], dtype=xp.float32)
    assert (f * 1e30).dtype == xp.float32
    assert float(np.asarray(f * 1e200)[0]) == math.inf
    eq(a + xp.asarray([127], dtype=xp.int8), np.asarray([-119], np.int8))  # arrays wrap
    a += 120
    eq(a, np.asarray([-126], np.int8))
    with pytest.raises(OverflowError):
        a[0] = 300
    with pytest.raises(OverflowError):
        a *= 1000
    eq(a, np.asarray([-126], np.int8))  # nothing was changed


def test_68_a_0d_array_promotes(device: str) -> None:
    a = xp.ones((1,), dtype=xp.int8)
    b = xp.asarray(3, dtype=xp.int32)
    assert (a + b).dtype == xp.int32
    c = xp.ones((2,), dtype=xp.float32) + xp.asarray(1.0, dtype=xp.float64)
    assert c.dtype == xp.float64


def test_70_result_type(device: str) -> None:
    assert xp.result_type(xp.float32, 1.0) == xp.float32
    assert xp.result_type(1, xp.int8) == xp.int8
    assert xp.result_type(xp.asarray([1], dtype=xp.int16), xp.uint8, 1) == xp.int16
    assert xp.result_type(xp.float32, 1j) == xp.complex64
    assert xp.result_type(xp.bool, xp.bool) == xp.bool


def test_71_the_accumulator_of_sums(device: str) -> None:
    i8 = xp.asarray([100, 100, 50], dtype=xp.int8)
    u8 = xp.asarray([200, 100, 50], dtype=xp.uint8)
    eq(xp.cumulative_sum(i8), [100, 200, 250])
    assert xp.cumulative_sum(i8).dtype == xp.int64
    assert xp.sum(u8).dtype == xp.uint64
    assert int(xp.sum(u8)) == 350
    assert xp.sum(i8, dtype=xp.int8).dtype == xp.int8
    assert int(xp.sum(i8, dtype=xp.int8)) == -6
    assert xp.sum(xp.ones(3, dtype=xp.float32)).dtype == xp.float32
    eq(xp.cumulative_prod(u8), np.asarray([200, 20000, 1000000], np.uint64))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
def test_73_division_by_zero_and_negative_powers(device: str, dtype: str) -> None:
    kind = getattr(xp, dtype)
    a = xp.asarray([7, 0, 1], dtype=kind)
    zero = xp.asarray([0, 0, 0], dtype=kind)
    eq(a // zero, np.zeros(3, dtype))
    eq(a % zero, np.zeros(3, dtype))
    eq(a // 0, np.zeros(3, dtype))
    if dtype.startswith("i"):
        low = xp.asarray([xp.iinfo(kind).min], dtype=kind)
        eq(low // -1, np.asarray([np.iinfo(dtype).min], dtype))
        eq(low % -1, np.zeros(1, dtype))
        eq(xp.pow(a, xp.asarray([-1, -1, -1], dtype=kind)), np.asarray([0, 0, 1], dtype))
    eq(a + 1, np.asarray([8, 1, 2], dtype))  # the device is not spoiled
