"""Type promotion: the standard's table, and Python and NumPy scalars beside arrays.

Owns the rules for two or more dtypes. What the standard leaves undefined raises TypeError.
Imports `_dtypes` only.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from . import _dtypes as dt
from ._dtypes import DType, as_dtype

_FLOAT32 = struct.Struct("f")

Scalar = bool | int | float | complex


def _build_table() -> dict[tuple[DType, DType], DType]:
    table: dict[tuple[DType, DType], DType] = {(dt.bool_, dt.bool_): dt.bool_}
    for group in (dt.SIGNED, dt.UNSIGNED):
        for a in group:
            for b in group:
                table[a, b] = a if a.itemsize >= b.itemsize else b
    for a in dt.SIGNED:
        for b in dt.UNSIGNED:
            wide = [s for s in dt.SIGNED if s.itemsize > b.itemsize and s.itemsize >= a.itemsize]
            if wide:  # nothing holds both a signed integer and uint64
                table[a, b] = table[b, a] = wide[0]
    for a in dt.FLOATING:
        for b in dt.FLOATING:
            size = max(dt.real_of(a).itemsize, dt.real_of(b).itemsize)
            real = dt.float32 if size == 4 else dt.float64
            table[a, b] = dt.complex_of(real) if "c" in (a.kind, b.kind) else real
    return table


_TABLE = _build_table()
_INT_LIMITS: dict[DType, tuple[int, int]] = {
    dtype: (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) for dtype in dt.INTEGRAL
}


def result_dtype(a: DType, b: DType) -> DType:
    """The dtype that two array dtypes promote to; TypeError where the standard defines none."""
    found = _TABLE.get((a, b))
    if found is None:
        raise TypeError(
            f"{a} and {b} have no common dtype in the array API standard; "
            f"convert one of them with astype first"
        )
    return found


def _int_dtype(value: int, dtype: DType) -> DType:
    if dtype.kind in "iu":
        low, high = _INT_LIMITS[dtype]
        if not low <= value <= high:
            raise OverflowError(
                f"{value} does not fit {dtype} ({low} to {high}); "
                f"convert the array with astype first"
            )
        return dtype
    if dtype.kind == "b":
        raise _undefined(value, dtype)
    try:
        float(value)
    except OverflowError:
        raise OverflowError(f"the Python int is too large for {dtype}") from None
    return dtype


def _undefined(value: object, dtype: DType) -> TypeError:
    return TypeError(
        f"a Python {type(value).__name__} ({value!r}) beside a {dtype} array is undefined in the "
        f"array API standard; convert the array with astype first"
    )


def scalar_dtype(value: object, array_dtype: DType) -> DType:
    """The dtype that a scalar operand takes beside an array of `array_dtype`.

    A Python scalar takes the array's dtype (a complex one the complex dtype of the array's
    precision); TypeError where the standard defines no result, OverflowError for an int that the
    dtype cannot hold. A NumPy scalar is typed: it keeps its dtype, which promotes as an array's.
    """
    if isinstance(value, np.generic):  # first: np.float64 is a Python float too
        return as_dtype(value.dtype)
    if isinstance(value, bool):  # before int: bool is one
        if array_dtype.kind == "b":
            return array_dtype
        raise _undefined(value, array_dtype)
    if isinstance(value, int):
        return _int_dtype(value, array_dtype)
    if isinstance(value, float):
        if array_dtype.kind in "fc":
            return array_dtype
        raise _undefined(value, array_dtype)
    if isinstance(value, complex):
        if array_dtype.kind in "fc":
            return dt.complex_of(array_dtype)
        raise _undefined(value, array_dtype)
    raise TypeError(f"{value!r} is neither an array nor a Python or NumPy scalar")


def scalar_value(value: Any, dtype: DType) -> Scalar:
    """`value` rounded to `dtype`, as the Python scalar that ``struct`` packs and C receives.

    A value beyond float32 becomes infinite (``struct`` alone would raise).
    `dtype` comes from `scalar_dtype`, so the conversion is defined.
    """
    if dtype.kind == "b":
        return bool(value)
    if dtype.kind in "iu":
        return int(value)
    if dtype.kind == "f":
        return _round32(float(value)) if dtype.itemsize == 4 else float(value)
    number = complex(value)
    if dtype.itemsize == 8:
        return complex(_round32(number.real), _round32(number.imag))
    return number


def _round32(value: float) -> float:
    try:
        rounded: float = _FLOAT32.unpack(_FLOAT32.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def default_dtype(value: object) -> DType:
    """The dtype of a scalar that stands alone: a Python scalar's default, a NumPy scalar's own."""
    if isinstance(value, np.generic):
        return as_dtype(value.dtype)
    if isinstance(value, bool):
        return dt.bool_
    if isinstance(value, int):
        low, high = _INT_LIMITS[dt.default_int]
        if not low <= value <= high:
            raise OverflowError(f"{value} does not fit {dt.default_int}; give a dtype")
        return dt.default_int
    if isinstance(value, float):
        return dt.default_real
    if isinstance(value, complex):
        return dt.default_complex
    raise TypeError(f"{value!r} is neither a Python nor a NumPy scalar")


def result_type(*arrays_and_dtypes: object) -> DType:
    """The dtype that arrays, dtypes and scalars promote to together. Forces nothing.

    Python scalars are applied last, to what the others promote to; with Python scalars alone
    there is no dtype to start from: ValueError.
    """
    common: DType | None = None
    scalars: list[object] = []
    for arg in arrays_and_dtypes:
        if isinstance(arg, (bool, int, float, complex)) and not isinstance(arg, np.generic):
            scalars.append(arg)
            continue
        dtype = as_dtype(arg if isinstance(arg, (np.dtype, type)) else getattr(arg, "dtype", arg))
        common = dtype if common is None else result_dtype(common, dtype)
    if common is None:
        raise ValueError("result_type needs at least one array or dtype")
    for scalar in scalars:
        common = result_dtype(common, scalar_dtype(scalar, common))
    return common


def can_cast(from_: object, to: object, /) -> bool:
    """Whether promotion takes `from_` (a dtype or an array) to the dtype `to`. Forces nothing."""
    source = as_dtype(
        from_ if isinstance(from_, (np.dtype, type)) else getattr(from_, "dtype", from_)
    )
    target = as_dtype(to)
    return _TABLE.get((source, target)) is target  # "is": NumPy says that None == float64
