"""Tests of `lazyarr._dtypes`: canonical dtypes, kinds, limits and C spellings."""

from __future__ import annotations

import struct
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

from lazyarr import _dtypes as dt

NAMES = [dtype.name for dtype in dt.ALL]


def test_there_are_thirteen() -> None:
    assert len(set(dt.ALL)) == 13


@pytest.mark.parametrize("name", NAMES)
def test_as_dtype_gives_the_one_object(name: str) -> None:
    wanted = next(dtype for dtype in dt.ALL if dtype.name == name)
    assert dt.as_dtype(np.dtype(name)) is wanted
    assert dt.as_dtype(np.dtype(name).type) is wanted


def test_as_dtype_maps_equal_dtypes_and_python_types() -> None:
    assert dt.as_dtype(np.dtype("longlong")) is dt.int64
    assert dt.as_dtype(bool) is dt.bool_
    assert dt.as_dtype(int) is dt.int64
    assert dt.as_dtype(float) is dt.float64
    assert dt.as_dtype(complex) is dt.complex128


@pytest.mark.parametrize(
    "bad",
    [np.float16, np.dtype("float16"), object, np.dtype(object), str, np.dtype("U3"), "float32"]
    + [np.dtype(">f8"), np.dtype("M8[s]"), None, 3, np.integer],
    ids=repr,
)
def test_as_dtype_names_what_it_refuses(bad: object) -> None:
    with pytest.raises(TypeError) as error:
        dt.as_dtype(bad)
    assert repr(bad) in str(error.value)


@pytest.mark.parametrize("dtype", dt.ALL, ids=NAMES)
def test_struct_code_packs_the_bytes_of_numpy(dtype: dt.DType) -> None:
    value = np.ones((), dtype)
    parts = (1.0, 0.0) if dtype.kind == "c" else (value.item(),)
    assert struct.pack("=" + dt.struct_code(dtype), *parts) == value.tobytes()


def test_real_and_complex_partners() -> None:
    assert dt.real_of(dt.complex64) is dt.float32
    assert dt.real_of(dt.int8) is dt.int8
    assert dt.complex_of(dt.float64) is dt.complex128
    assert dt.complex_of(dt.complex64) is dt.complex64


@pytest.mark.parametrize("kind", list(dt.KINDS))
@pytest.mark.parametrize("name", NAMES)
def test_isdtype_agrees_with_array_api_strict(name: str, kind: str) -> None:
    theirs: Any = getattr(strict, name)
    assert dt.isdtype(np.dtype(name), kind) == strict.isdtype(theirs, kind)


def test_isdtype_takes_dtypes_and_tuples() -> None:
    assert dt.isdtype(dt.int8, np.int8)
    assert dt.isdtype(dt.int8, ("bool", dt.int8))
    assert not dt.isdtype(dt.int8, ("bool", "real floating"))
    with pytest.raises(ValueError, match="unknown dtype kind 'float'"):
        dt.isdtype(dt.int8, ("integral", "float"))
    with pytest.raises(TypeError):
        dt.isdtype(dt.int8, None)


@pytest.mark.parametrize("dtype", dt.FLOATING, ids=str)
def test_finfo(dtype: dt.DType) -> None:
    info = dt.finfo(dtype)
    wanted = np.finfo(dtype)
    for field in ("eps", "max", "min", "smallest_normal"):
        assert type(getattr(info, field)) is float
        assert getattr(info, field) == float(getattr(wanted, field))
    assert info.bits == wanted.bits
    assert info.dtype is dt.real_of(dtype)
    assert dt.finfo(np.ones(2, dtype)) == info


@pytest.mark.parametrize("dtype", dt.INTEGRAL, ids=str)
def test_iinfo(dtype: dt.DType) -> None:
    info = dt.iinfo(dtype)
    assert (info.min, info.max) == (np.iinfo(dtype).min, np.iinfo(dtype).max)
    assert info.bits == 8 * dtype.itemsize
    assert dt.iinfo(np.ones(2, dtype)) == info


def test_limits_of_the_wrong_kind() -> None:
    with pytest.raises(TypeError, match="finfo needs a floating-point dtype, not int8"):
        dt.finfo(dt.int8)
    with pytest.raises(TypeError, match="iinfo needs an integer dtype, not bool"):
        dt.iinfo(bool)
