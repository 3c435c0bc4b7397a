"""Element-wise functions: presence, signatures, broadcasting, scalars, one kernel."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr.api import elementwise
from lazyarr.graph.optable import OPS

# Rows that are no function of their own: they serve clip and where.
_INTERNAL = {"clip_min", "clip_max", "where"}


def values(dtype: Any, shape: tuple[int, ...], seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(1, 100, shape).astype(dtype)
    x = rng.uniform(0.1, 0.9, shape)
    return (x + 1j * rng.uniform(0.1, 0.9, shape) if dtype.kind == "c" else x).astype(dtype)


def test_every_row_is_a_function() -> None:
    assert set(elementwise.__all__) == set(OPS) - _INTERNAL
    assert set(elementwise.__all__) <= set(xp.__all__)


@pytest.mark.parametrize("name", sorted(elementwise.__all__))
def test_names_documentation_and_signatures(name: str) -> None:
    function = getattr(xp, name)
    assert function.__name__ == name
    assert "Array" in function.__doc__
    if name != "clip":
        names = ["x"] if OPS[name].arity == 1 else ["x1", "x2"]
        parameters = inspect.signature(function).parameters.values()
        assert [p.name for p in parameters] == names
        assert all(p.kind is p.POSITIONAL_ONLY for p in parameters)


@pytest.mark.parametrize("name", sorted(set(OPS) - _INTERNAL - {"clip"}))
def test_values(device: str, name: str) -> None:
    op = OPS[name]
    kinds = "".join(op.row.c)
    dtype = next(d for d in (xp.float64, xp.bool, xp.int32, xp.complex128) if d.kind in kinds)
    arrays = [values(dtype, (2, 3), 1), values(dtype, (3,), 2)][: op.arity]
    want = op.resolve(*[dtype] * op.arity).numpy(*arrays)
    got = getattr(xp, name)(*[xp.asarray(a) for a in arrays])
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-13)


@pytest.mark.parametrize("name", ["sin", "add", "equal", "floor", "logical_not"])
def test_empty_and_0d(device: str, name: str) -> None:
    function = getattr(xp, name)
    count = OPS[name].arity
    dtype = xp.bool if name == "logical_not" else xp.float32
    assert function(*[xp.ones((0, 2), dtype=dtype)] * count).shape == (0, 2)
    assert function(*[xp.ones((), dtype=dtype)] * count).shape == ()


def test_scalars_on_either_side(device: str) -> None:
    x = xp.asarray([1, 2, 3], dtype=xp.int8)
    for got, want in (
        (xp.subtract(1, x), [0, -1, -2]),
        (xp.subtract(x, 1), [0, 1, 2]),
        (xp.maximum(x, 2), [2, 2, 3]),
        (xp.bitwise_left_shift(x, 1), [2, 4, 6]),
    ):
        assert got.dtype == xp.int8
        np.testing.assert_array_equal(np.asarray(got), want)
    with pytest.raises(TypeError):
        xp.add(x, 1.5)
    with pytest.raises(OverflowError):
        xp.add(x, 300)
    with pytest.raises(TypeError, match="array"):
        xp.add(1, 2)
    with pytest.raises(TypeError, match="array"):
        xp.sin(1.0)


def test_errors_come_at_the_call(device: str) -> None:
    with pytest.raises(ValueError, match=r"\(2,\) \(3,\)"):
        xp.add(xp.ones(2), xp.ones(3))
    with pytest.raises(TypeError, match="int32"):
        xp.sin(xp.ones(2, dtype=xp.int32))
    with pytest.raises(TypeError, match="common dtype"):
        xp.add(xp.ones(2), xp.ones(2, dtype=xp.int32))


def test_devices_do_not_mix(kernel_device: str) -> None:
    with pytest.raises(ValueError, match="to_device"):
        xp.add(xp.ones(2), xp.ones(2, device="cpu"))


@pytest.mark.parametrize(
    ("low", "high"), [(None, None), (2, None), (None, 5), (2, 5), (2.5, None), (5, 2)]
)
def test_clip(device: str, low: Any, high: Any) -> None:
    source = np.arange(8.0)
    x = xp.asarray(source)
    want = source.copy()
    if high is not None:
        want = np.minimum(want, high)
    if low is not None:
        want = np.maximum(want, low)
    np.testing.assert_array_equal(np.asarray(xp.clip(x, low, high)), want)
    if low is not None:
        bound = xp.full((2, 1), float(low))
        np.testing.assert_array_equal(np.asarray(xp.clip(x, bound, max=high))[1], want)


def test_clip_of_nan_and_wrong_dtypes(device: str) -> None:
    x = xp.asarray([np.nan, 1.0])
    assert np.isnan(np.asarray(xp.clip(x, 0.0, 1.0))[0])
    assert np.all(np.isnan(np.asarray(xp.clip(x, float("nan")))))
    with pytest.raises(TypeError):
        xp.clip(xp.ones(2, dtype=xp.bool))
    assert xp.clip(x) is not x


def test_a_chain_is_one_kernel(kernel_device: str) -> None:
    a, b = xp.asarray(np.linspace(0, 1, 50)), xp.asarray(np.linspace(1, 2, 50))
    xp.stats(reset=True)
    y = xp.sqrt(xp.add(xp.multiply(a, b), 1.0)) - xp.exp(xp.negative(a))
    assert xp.stats().launches == 0
    xp.evaluate(y)
    counts = xp.stats()
    assert (counts.launches, counts.h2d, counts.d2h) == (1, 2, 0)


def test_a_power_of_two_is_a_multiplication(device: str) -> None:
    for dtype in ("float32", "float64", "int16", "uint8"):
        a = np.array([0, 3, 200, 250]).astype(dtype)
        x = xp.asarray(a)
        for y in (x**2, xp.pow(x, 2)):
            assert y.dtype == x.dtype
            assert np.array_equal(np.asarray(y), a * a)
        x **= 2
        assert np.array_equal(np.asarray(x), a * a)
    x = xp.asarray(np.array([-3.0, np.nan, -np.inf]))
    np.testing.assert_array_equal(np.asarray(x**2.0), [9.0, np.nan, np.inf])
    with pytest.raises(TypeError):
        xp.asarray([1, 2]) ** 2.0
    with pytest.raises(TypeError):
        xp.asarray([True]) ** 2


@pytest.mark.parametrize("exponent", ["scalar", "0-d", "one", "all", "broadcast"])
def test_a_power_of_a_half_is_no_square_root(device: str, exponent: str) -> None:
    a = np.array([-0.0, 0.0, -np.inf, np.inf, 4.0])
    half = {
        "scalar": 0.5,
        "0-d": xp.asarray(0.5),
        "one": xp.asarray([0.5]),
        "all": xp.asarray(np.full(5, 0.5)),
        "broadcast": xp.broadcast_to(xp.asarray([0.5]), (5,)),
    }[exponent]
    y = np.asarray(xp.asarray(a) ** half)
    np.testing.assert_array_equal(y, [0.0, 0.0, np.inf, np.inf, 2.0])
    assert not np.signbit(y).any()
    one = np.asarray(xp.asarray(a[:1]) ** xp.asarray([0.5]))
    assert one[0] == 0 and not np.signbit(one[0])
