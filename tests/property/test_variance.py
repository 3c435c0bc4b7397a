"""Variances in one reading: as accurate as two, in one kernel, of the same bits in any layout."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import lazyarr as xp

from .support import Shape, check, values


def hard_data(n: int) -> dict[str, Any]:
    """Return data of which sums of squares, or shifts by a single element, lose digits."""
    z = np.random.default_rng(3).standard_normal(n)
    return {
        "plain": z,
        "far from 0": z + 1e6,
        "very far from 0": z + 1e8,
        "first is far off": np.r_[1e8, z[1:]],
        "last is far off": np.r_[z[:-1], 1e8],
        "first alone is near 0": np.r_[0, z[1:] + 1e8],
        "drifts": z + np.arange(n),
    }


def exact_variance(a: Any) -> Fraction:
    elements = [Fraction(float(v)) for v in a]
    mean = sum(elements) / len(elements)
    return sum(((v - mean) ** 2 for v in elements), Fraction(0)) / len(elements)


def error(got: Any, exact: Fraction, dtype: Any) -> float:
    """Return the relative error, in units of the dtype's epsilon."""
    if exact == 0:
        return abs(float(got))
    return float(abs(Fraction(float(got)) - exact) / exact) / float(np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [3, 40, 1500, 9000])
def test_no_less_accurate_than_two_passes(kernel_device: str, n: int, dtype: str) -> None:
    for name, data in hard_data(n).items():
        a = data.astype(dtype)
        exact = exact_variance(a)
        got = np.asarray(xp.var(xp.asarray(a)))
        assert error(got, exact, dtype) <= max(error(np.var(a), exact, dtype), 4), name


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_constants_vary_by_exactly_nothing(kernel_device: str, dtype: str) -> None:
    for shape in ((9000,), (1500,), (40,), (3,)):
        for value in (0.1, 1e8 + 0.1, -1e-30, 3e30):
            check(xp.var(xp.asarray(np.full(shape, value, dtype))), np.zeros((), dtype))


SHAPES: list[tuple[Shape, Shape]] = [((9000,), (0,)), ((33, 40), (1,)), ((1500, 7), (0,))]


@pytest.mark.parametrize(("shape", "axes"), SHAPES, ids=str)
def test_layout_and_producers_change_no_bit(kernel_device: str, shape: Shape, axes: Shape) -> None:
    n = values("float32", int(np.prod(shape)), 1, special=False).reshape(shape)
    x = xp.asarray(n)
    want = np.asarray(xp.var(x, axis=axes))
    apart = np.zeros((*shape[:-1], 2 * shape[-1]), n.dtype)
    apart[..., ::2] = n
    shifted = xp.asarray(np.concatenate([n.reshape(-1)[:1], n.reshape(-1)]))[1:]
    made: dict[str, Callable[[], Any]] = {
        "columns": lambda: xp.asarray(np.ascontiguousarray(n.T)).T if n.ndim > 1 else x,
        "strided": lambda: xp.asarray(apart)[..., ::2],
        "flipped": lambda: xp.flip(xp.asarray(np.flip(n))),
        "shifted": lambda: xp.reshape(shifted, shape),
        "produced": lambda: xp.asarray(n * 2) * 0.5,
    }
    for name, make in made.items():
        check(xp.var(make(), axis=axes), want, name)
    sibling = xp.var(x * 1, axis=axes)
    xp.evaluate(xp.sum(x * 1, axis=axes), sibling)
    check(sibling, want, "with a sum")


def test_special_values(device: str) -> None:
    for dtype in ("float32", "float64"):
        n = values(dtype, 2000, 5, special=False)
        for place in (0, 7, 1999):
            for value in (np.inf, -np.inf, np.nan):
                m = n.copy()
                m[place] = value
                check(xp.var(xp.asarray(m)), np.asarray(np.nan, dtype))
        huge = float(np.finfo(dtype).max) / 4
        check(xp.var(xp.asarray(np.r_[huge, n].astype(dtype))), np.asarray(np.inf, dtype))
    check(xp.var(xp.asarray([1e200, -1e200] * 3000)), np.inf)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_corrections_and_axes(device: str, dtype: str) -> None:
    n = values(dtype, 60 * 70, 7, special=False).reshape(60, 70)
    x = xp.asarray(n)
    exact = n.astype("float64")
    tolerance = 8 * float(np.finfo(dtype).eps)
    for axis in (None, 0, 1):
        for correction in (0, 1, 2.5):
            for name in ("var", "std"):
                got = getattr(xp, name)(x, axis=axis, correction=correction, keepdims=True)
                want = getattr(np, name)(exact, axis=axis, ddof=correction, keepdims=True)
                assert got.dtype == n.dtype
                np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance)
    check(xp.var(x, axis=()), np.zeros_like(n))
    check(xp.var(xp.asarray(np.asarray([np.inf, 1.0], dtype)), axis=()),
          np.asarray([np.nan, 0.0], dtype))  # fmt: skip
    check(xp.var(x[:3, :2], axis=0, correction=3), np.full(2, np.nan, dtype))
    check(xp.var(x[:3, :2], axis=0, correction=4), np.full(2, np.nan, dtype))
    check(xp.var(x[:0], axis=0), np.full(70, np.nan, dtype))
    check(xp.var(x[:0], axis=0, correction=1), np.full(70, np.nan, dtype))
    check(xp.var(x[:0], axis=1), np.empty(0, dtype))


def test_one_kernel_with_what_belongs_to_it(kernel_device: str) -> None:
    n = values("float64", 7 * 1100, 8, special=False).reshape(7, 1100)
    x = xp.asarray(n)
    xp.evaluate(x)

    def launches(*results: Any) -> int:
        xp.stats(reset=True)
        xp.evaluate(*results)
        return xp.stats(reset=True).launches

    assert launches(xp.var(x)) == 1
    assert launches(xp.var(x, axis=0), xp.mean(x, axis=0)) == 1
    mean, var = xp.mean(x, axis=1, keepdims=True), xp.var(x, axis=1, keepdims=True)
    assert launches(xp.std(x * 2 + 1, axis=1)) == 1
    norm = (x - mean) / xp.sqrt(var + 1e-5)
    assert launches(norm, mean, var) == 1
    want = (n - n.mean(1, keepdims=True)) / np.sqrt(n.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(np.asarray(norm), want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.asarray(var), n.var(1, keepdims=True), rtol=1e-13)
