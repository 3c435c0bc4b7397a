"""The standard's special cases, and lazyarr's own rules, on the NumPy side of the op table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lazyarr import _dtypes as dt
from lazyarr.graph.optable import OPS, REDUCE_OPS, cast_spec

INF = math.inf
NAN = math.nan
PI = math.pi

# name, operands, result; "x" as a sign suffix is not needed: -0.0 is compared with its sign
UNARY: dict[str, list[tuple[float, float]]] = {
    "abs": [(NAN, NAN), (-0.0, 0.0), (-INF, INF)],
    "acos": [(NAN, NAN), (1.5, NAN), (-1.5, NAN), (1.0, 0.0)],
    "acosh": [(NAN, NAN), (0.5, NAN), (1.0, 0.0), (INF, INF)],
    "asin": [(NAN, NAN), (1.5, NAN), (-1.5, NAN), (0.0, 0.0), (-0.0, -0.0)],
    "asinh": [(NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)],
    "atan": [(NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, PI / 2), (-INF, -PI / 2)],
    "atanh": [(NAN, NAN), (-1.5, NAN), (1.5, NAN), (-1.0, -INF), (1.0, INF), (-0.0, -0.0)],
    "ceil": [(NAN, NAN), (INF, INF), (-0.0, -0.0), (-0.5, -0.0), (1.2, 2.0)],
    "cos": [(NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)],
    "cosh": [(NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF)],
    "exp": [(NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0)],
    "expm1": [(NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0)],
    "floor": [(NAN, NAN), (-INF, -INF), (-0.0, -0.0), (-0.5, -1.0), (1.8, 1.0)],
    "isfinite": [(NAN, False), (INF, False), (-INF, False), (1.0, True)],
    "isinf": [(NAN, False), (INF, True), (-INF, True), (1.0, False)],
    "isnan": [(NAN, True), (INF, False), (1.0, False)],
    "log": [(NAN, NAN), (-1.0, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF)],
    "log10": [(NAN, NAN), (-1.0, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF)],
    "log1p": [(NAN, NAN), (-2.0, NAN), (-1.0, -INF), (-0.0, -0.0), (0.0, 0.0), (INF, INF)],
    "log2": [(NAN, NAN), (-1.0, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF)],
    "negative": [(0.0, -0.0), (-0.0, 0.0), (INF, -INF)],
    "reciprocal": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, -0.0), (NAN, NAN)],
    "round": [(0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0), (-0.0, -0.0), (NAN, NAN)],
    "sign": [(-2.0, -1.0), (3.0, 1.0), (-0.0, 0.0), (0.0, 0.0), (NAN, NAN), (-INF, -1.0)],
    "signbit": [(0.0, False), (-0.0, True), (INF, False), (-INF, True), (-NAN, True)],
    "sin": [(NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, NAN)],
    "sinh": [(NAN, NAN), (-0.0, -0.0), (INF, INF), (-INF, -INF)],
    "sqrt": [(NAN, NAN), (-1.0, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, INF)],
    "square": [(-0.0, 0.0), (-INF, INF), (NAN, NAN)],
    "tan": [(NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (-INF, NAN)],
    "tanh": [(NAN, NAN), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0)],
    "trunc": [(NAN, NAN), (INF, INF), (-0.0, -0.0), (-0.5, -0.0), (-1.8, -1.0)],
}
BINARY: dict[str, list[tuple[float, float, float]]] = {
    "add": [(INF, -INF, NAN), (-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0), (3.0, -3.0, 0.0)],
    "atan2": [
        (0.0, 1.0, 0.0), (0.0, 0.0, 0.0), (0.0, -0.0, PI), (0.0, -1.0, PI), (-0.0, 1.0, -0.0),
        (-0.0, 0.0, -0.0), (-0.0, -0.0, -PI), (1.0, INF, 0.0), (1.0, -INF, PI),
        (-1.0, -INF, -PI), (INF, 1.0, PI / 2), (INF, INF, PI / 4), (INF, -INF, 3 * PI / 4),
        (-INF, INF, -PI / 4), (NAN, 1.0, NAN), (1.0, NAN, NAN),
    ],
    "copysign": [(1.0, -0.0, -1.0), (-1.0, 0.0, 1.0), (1.0, -NAN, -1.0), (-0.0, 2.0, 0.0)],
    "divide": [
        (INF, INF, NAN), (0.0, -0.0, NAN), (0.0, -1.0, -0.0), (1.0, 0.0, INF), (1.0, -0.0, -INF),
        (INF, -2.0, -INF), (1.0, -INF, -0.0), (-1.0, INF, -0.0), (NAN, 1.0, NAN),
    ],
    "floor_divide": [
        (NAN, 1.0, NAN), (1.0, NAN, NAN), (INF, -INF, NAN), (0.0, -0.0, NAN), (0.0, 1.0, 0.0),
        (-0.0, 1.0, -0.0), (0.0, -1.0, -0.0), (-0.0, -1.0, 0.0), (1.0, 0.0, INF),
        (1.0, -0.0, -INF), (-1.0, 0.0, -INF), (-1.0, -0.0, INF), (INF, 2.0, INF),
        (INF, -2.0, -INF), (-INF, 2.0, -INF), (-INF, -2.0, INF), (1.0, INF, 0.0),
        (1.0, -INF, -0.0), (-1.0, INF, -0.0), (-1.0, -INF, 0.0), (7.0, -2.0, -4.0),
        (-7.0, 2.0, -4.0), (-7.0, -2.0, 3.0), (1.0, 2.0, 0.0), (-1.0, -2.0, 0.0),
    ],
    "hypot": [(INF, NAN, INF), (NAN, -INF, INF), (0.0, -3.0, 3.0), (NAN, 1.0, NAN)],
    "logaddexp": [(NAN, 0.0, NAN), (INF, 1.0, INF), (-INF, -INF, -INF), (1.0, INF, INF)],
    "maximum": [(NAN, 1.0, NAN), (1.0, NAN, NAN), (-0.0, 0.0, 0.0), (0.0, -0.0, 0.0)],
    "minimum": [(NAN, 1.0, NAN), (1.0, NAN, NAN), (-0.0, 0.0, -0.0), (0.0, -0.0, -0.0)],
    "multiply": [(INF, 0.0, NAN), (-0.0, 2.0, -0.0), (INF, -2.0, -INF)],
    "nextafter": [(NAN, 1.0, NAN), (1.0, NAN, NAN), (0.0, -0.0, -0.0), (-0.0, 0.0, 0.0)],
    "pow": [
        (2.0, NAN, NAN), (NAN, 0.0, 1.0), (NAN, -0.0, 1.0), (NAN, 1.0, NAN), (2.0, INF, INF),
        (-2.0, -INF, 0.0), (1.0, INF, 1.0), (-1.0, -INF, 1.0), (1.0, NAN, 1.0), (0.5, INF, 0.0),
        (0.5, -INF, INF), (INF, 2.0, INF), (INF, -2.0, 0.0), (-INF, 3.0, -INF), (-INF, 2.0, INF),
        (-INF, -3.0, -0.0), (-INF, -2.0, 0.0), (0.0, 2.0, 0.0), (0.0, -2.0, INF),
        (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0), (-0.0, -3.0, -INF), (-0.0, -2.0, INF),
        (-1.0, 0.5, NAN),
    ],
    "remainder": [
        (NAN, 1.0, NAN), (INF, -INF, NAN), (0.0, -0.0, NAN), (0.0, 1.0, 0.0), (-0.0, 2.0, 0.0),
        (0.0, -1.0, -0.0), (-0.0, -1.0, -0.0), (1.0, 0.0, NAN), (-1.0, -0.0, NAN),
        (INF, 2.0, NAN), (-INF, -2.0, NAN), (1.0, INF, 1.0), (1.0, -INF, -INF),
        (-1.0, INF, INF), (-1.0, -INF, -1.0), (4.0, -2.0, -0.0), (7.0, -2.0, -1.0),
        (-7.0, 2.0, 1.0),
    ],
    "subtract": [(INF, INF, NAN), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (0.0, -0.0, 0.0)],
}  # fmt: skip
FLOAT_CASES: list[tuple[str, tuple[float, ...], Any]] = [
    (name, case[:-1], case[-1]) for name, cases in UNARY.items() for case in cases
] + [(name, case[:-1], case[-1]) for name, cases in BINARY.items() for case in cases]


def same(got: Any, want: Any) -> bool:
    """Equal, the sign of zero included, or both NaN; floats to a few units in the last place."""
    if np.isnan(want):
        return bool(np.isnan(got))
    if want == 0 or not np.isfinite(want):
        return bool(got == want and np.signbit(got) == np.signbit(want))
    return math.isclose(got, want, rel_tol=1e-6)


@pytest.mark.parametrize(("name", "operands", "want"), FLOAT_CASES)
@pytest.mark.parametrize("dtype", dt.REAL_FLOATING, ids=str)
def test_special_case(name: str, operands: tuple[float, ...], want: float, dtype: dt.DType) -> None:
    spec = OPS[name].resolve(*[dtype] * len(operands))
    got = spec.numpy(*[np.asarray(value, dtype) for value in operands])
    assert got.dtype == spec.out_dtype
    assert same(got[()], spec.out_dtype.type(want))


@pytest.mark.parametrize("dtype", dt.SIGNED, ids=str)
def test_signed_integers_wrap(dtype: dt.DType) -> None:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    width = 8 * dtype.itemsize

    def run(name: str, *values: int) -> int:
        spec = OPS[name].resolve(*[dtype] * len(values))
        return int(spec.numpy(*[np.asarray(value, dtype) for value in values]))

    assert run("add", high, 1) == low
    assert run("subtract", low, 1) == high
    assert run("multiply", high, 2) == -2
    assert run("negative", low) == low
    assert run("abs", low) == low
    assert run("floor_divide", low, -1) == low
    assert run("remainder", low, -1) == 0
    assert run("floor_divide", 5, 0) == 0
    assert run("remainder", 5, 0) == 0
    assert run("floor_divide", -7, 2) == -4
    assert run("remainder", -7, 2) == 1
    assert run("bitwise_left_shift", 1, width) == 0
    assert run("bitwise_left_shift", 1, -1) == 0
    assert run("bitwise_right_shift", -5, width) == -1
    assert run("bitwise_right_shift", 5, -1) == 0
    assert [run("pow", base, -3) for base in (0, 1, -1, 2, -2)] == [0, 1, -1, 0, 0]
    assert run("pow", -1, -2) == 1
    assert run("pow", 3, 100) == (3**100 - low) % (1 << width) + low


@pytest.mark.parametrize("source", dt.REAL_FLOATING, ids=str)
@pytest.mark.parametrize("target", dt.INTEGRAL, ids=str)
def test_float_to_integer_saturates(source: dt.DType, target: dt.DType) -> None:
    info = np.iinfo(target)
    values = np.array([NAN, INF, -INF, 1e30, -1e30, 2.0**info.bits, -0.5, 1.9, 100.9], source)
    want = [0, info.max, info.min, info.max, info.min, info.max, 0, 1, 100]
    assert cast_spec(source, target).numpy(values).tolist() == want
    assert cast_spec(source, target).numpy(values[1])[()] == info.max


def test_other_casts() -> None:
    assert cast_spec(dt.int32, dt.int8).numpy(np.asarray(300, np.int32))[()] == 44
    assert cast_spec(dt.int8, dt.uint16).numpy(np.asarray(-1, np.int8))[()] == 65535
    assert cast_spec(dt.float64, dt.bool_).numpy(np.array([NAN, -0.0])).tolist() == [True, False]
    assert cast_spec(dt.complex64, dt.bool_).numpy(np.array([1j, 0], np.complex64)).tolist() == [
        True,
        False,
    ]
    assert cast_spec(dt.complex128, dt.int8).numpy(np.asarray(3.7 + 9j))[()] == 3
    assert np.isposinf(cast_spec(dt.float64, dt.float32).numpy(np.asarray(1e300)))


def reduce_with(
    name: str, values: Any, axes: tuple[int, ...] = (0,), keepdims: bool = False
) -> Any:
    array = np.asarray(values)
    return REDUCE_OPS[name].resolve(array.dtype).numpy(array, axes, keepdims)


def test_reductions_of_signed_zeros_and_nothing() -> None:
    for dtype in dt.FLOATING:
        minus = -np.zeros(2, dtype)
        assert np.signbit(reduce_with("sum", minus).real)
        assert np.signbit(reduce_with("mean", minus).real)
        assert not np.signbit(reduce_with("sum", minus[:0]).real)
        assert np.isnan(reduce_with("mean", minus[:0]))
    assert not np.signbit(reduce_with("max", [-0.0, 0.0, -0.0]))
    assert np.signbit(reduce_with("min", [0.0, -0.0, 0.0]))
    assert reduce_with("prod", np.empty(0, np.int8)) == 1
    assert reduce_with("all", np.empty(0)) and not reduce_with("any", np.empty(0))


def test_reductions_and_nan() -> None:
    values = [1.0, NAN, 3.0, NAN]
    assert np.isnan(reduce_with("max", values)) and np.isnan(reduce_with("min", values))
    assert reduce_with("argmax", values) == reduce_with("argmin", values) == 1
    assert reduce_with("count_nonzero", values) == 4
    assert reduce_with("argmax", [2, 5, 5]) == 1


def test_reductions_over_several_axes() -> None:
    array = np.arange(24).reshape(2, 3, 4)[::-1, :, ::-1]
    out = reduce_with("argmax", array, (0, 2), True)
    assert out.shape == (1, 3, 1)
    assert out.ravel().tolist() == [0, 0, 0]
    assert reduce_with("argmin", array, (0, 1, 2)).tolist() == 15
    assert reduce_with("sum", array, (2, 0)).tolist() == [60, 92, 124]
    assert reduce_with("count_nonzero", array, (0, 1, 2), True).shape == (1, 1, 1)
    scalar = reduce_with("argmax", np.float64(3), ())
    assert scalar.shape == () and scalar == 0


def test_reduction_in_another_dtype() -> None:
    total = REDUCE_OPS["sum"].resolve(dt.int8, dt.int8)
    assert total.numpy(np.array([100, 100], np.int8), (0,), False)[()] == -56
    wide = REDUCE_OPS["sum"].resolve(dt.float32, dt.float64)
    assert wide.numpy(np.array([1e38] * 10, np.float32), (0,), False).dtype == dt.float64
