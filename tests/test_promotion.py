"""Tests of `lazyarr._promotion`: the table, scalars, `result_type` and `can_cast`."""

from __future__ import annotations

import itertools
import math
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

from lazyarr import _dtypes as dt
from lazyarr._promotion import (
    can_cast,
    default_dtype,
    result_dtype,
    result_type,
    scalar_dtype,
    scalar_value,
)

PAIRS = list(itertools.product(dt.ALL, repeat=2))


def _strict(dtype: dt.DType) -> Any:
    return getattr(strict, dtype.name)


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=lambda dtype: str(dtype))
def test_table_agrees_with_array_api_strict(a: dt.DType, b: dt.DType) -> None:
    try:
        wanted = strict.result_type(_strict(a), _strict(b))
    except TypeError:
        with pytest.raises(TypeError, match=f"{a} and {b} .*astype"):
            result_dtype(a, b)
        assert not can_cast(a, b)
        return
    assert _strict(result_dtype(a, b)) == wanted
    assert can_cast(a, b) == strict.can_cast(_strict(a), _strict(b))


SCALARS: list[Any] = [True, 1, 1.5, 1j]


@pytest.mark.parametrize("value", SCALARS, ids=repr)
@pytest.mark.parametrize("dtype", dt.ALL, ids=str)
def test_python_scalar_beside_an_array(value: Any, dtype: dt.DType) -> None:
    try:
        wanted = (strict.ones(1, dtype=_strict(dtype)) == value) is not None
        wanted_dtype = strict.result_type(_strict(dtype), value)
    except TypeError:
        with pytest.raises(TypeError, match=rf"{type(value).__name__} .* {dtype} array .*astype"):
            scalar_dtype(value, dtype)
        return
    assert wanted
    assert _strict(result_dtype(dtype, scalar_dtype(value, dtype))) == wanted_dtype


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(128, dt.int8), (-129, dt.int8), (-1, dt.uint8), (2**64, dt.uint64), (10**400, dt.float32)],
    ids=["int8 above", "int8 below", "uint8 below", "uint64 above", "float"],
)
def test_int_that_does_not_fit(value: int, dtype: dt.DType) -> None:
    with pytest.raises(OverflowError, match=str(dtype)):
        scalar_dtype(value, dtype)


def test_numpy_scalars_are_typed() -> None:
    assert scalar_dtype(np.float64(2), dt.float32) is dt.float64
    assert scalar_dtype(np.int32(3), dt.int8) is dt.int32
    assert scalar_dtype(np.complex64(3), dt.float64) is dt.complex64
    assert scalar_dtype(np.True_, dt.int8) is dt.bool_
    with pytest.raises(TypeError):
        scalar_dtype(np.float16(1), dt.float32)
    with pytest.raises(TypeError):
        scalar_dtype("1", dt.float32)


def test_scalar_value_is_rounded_to_the_dtype() -> None:
    assert scalar_value(0.1, dt.float32) == float(np.float32(0.1))
    assert scalar_value(1e200, dt.float32) == math.inf
    assert scalar_value(3.4028235677973362e38, dt.float32) == float(np.finfo(np.float32).max)
    assert math.isnan(scalar_value(math.nan, dt.float32).real)
    assert scalar_value(-1e200, dt.complex64) == complex(-math.inf, 0.0)
    assert math.copysign(1, scalar_value(-0.0, dt.float32).real) == -1
    assert type(scalar_value(np.int8(3), dt.int8)) is int
    assert scalar_value(True, dt.bool_) is True
    assert type(scalar_value(3, dt.float64)) is float


def test_default_dtype_of_a_lone_scalar() -> None:
    assert [default_dtype(v) for v in SCALARS] == [dt.bool_, dt.int64, dt.float64, dt.complex128]
    assert default_dtype(np.float32(1)) is dt.float32
    with pytest.raises(OverflowError):
        default_dtype(2**63)


def test_result_type_with_arrays_dtypes_and_scalars() -> None:
    assert result_type(np.float32, 1.0) is dt.float32
    assert result_type(1, np.int8) is dt.int8
    assert result_type(np.ones(1, np.int16), dt.uint8, 1) is dt.int16
    assert result_type(dt.float32, 1j) is dt.complex64
    assert result_type(bool, dt.bool_) is dt.bool_
    assert result_type(1j, dt.float32, dt.float64, 2) is dt.complex128
    assert result_type(np.float64(1), dt.float32) is dt.float64
    with pytest.raises(ValueError, match="at least one"):
        result_type(1, 2.0)
    with pytest.raises(TypeError):
        result_type(dt.int8, 1.5)


@pytest.mark.parametrize("order", list(itertools.permutations([dt.int8, dt.uint8, dt.int32])))
def test_result_type_is_associative(order: tuple[dt.DType, ...]) -> None:
    assert result_type(*order) is dt.int32


def test_can_cast_takes_arrays() -> None:
    assert can_cast(np.ones(1, np.int8), dt.int32)
    assert not can_cast(dt.int32, dt.int8)
    assert not can_cast(dt.int32, dt.float64)
