"""The thirteen dtypes, their kinds, limits and C spellings.

Owns every table that is indexed by a dtype alone. A lazyarr dtype *is* a NumPy dtype instance.
Imports NumPy and nothing of lazyarr.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

DType = np.dtype[Any]

bool_: DType = np.dtype("bool")
int8: DType = np.dtype("int8")
int16: DType = np.dtype("int16")
int32: DType = np.dtype("int32")
int64: DType = np.dtype("int64")
uint8: DType = np.dtype("uint8")
uint16: DType = np.dtype("uint16")
uint32: DType = np.dtype("uint32")
uint64: DType = np.dtype("uint64")
float32: DType = np.dtype("float32")
float64: DType = np.dtype("float64")
complex64: DType = np.dtype("complex64")
complex128: DType = np.dtype("complex128")

SIGNED: tuple[DType, ...] = (int8, int16, int32, int64)
UNSIGNED: tuple[DType, ...] = (uint8, uint16, uint32, uint64)
INTEGRAL: tuple[DType, ...] = SIGNED + UNSIGNED
REAL_FLOATING: tuple[DType, ...] = (float32, float64)
COMPLEX_FLOATING: tuple[DType, ...] = (complex64, complex128)
FLOATING: tuple[DType, ...] = REAL_FLOATING + COMPLEX_FLOATING
REAL_NUMERIC: tuple[DType, ...] = INTEGRAL + REAL_FLOATING
NUMERIC: tuple[DType, ...] = REAL_NUMERIC + COMPLEX_FLOATING
ALL: tuple[DType, ...] = (bool_, *NUMERIC)

# The kind names of the standard's ``isdtype``.
KINDS: dict[str, frozenset[DType]] = {
    "bool": frozenset({bool_}),
    "signed integer": frozenset(SIGNED),
    "unsigned integer": frozenset(UNSIGNED),
    "integral": frozenset(INTEGRAL),
    "real floating": frozenset(REAL_FLOATING),
    "complex floating": frozenset(COMPLEX_FLOATING),
    "numeric": frozenset(NUMERIC),
}

default_int: DType = int64
default_real: DType = float64
default_complex: DType = complex128

# Equal dtypes can be distinct objects (C long and long long): this maps each to ours.
_CANONICAL: dict[DType, DType] = {dtype: dtype for dtype in ALL}
_TYPES: dict[type, DType] = {
    **{dtype.type: dtype for dtype in ALL},
    np.longlong: int64,
    np.ulonglong: uint64,
    bool: bool_,
    int: default_int,
    float: default_real,
    complex: default_complex,
}

# "char" may be signed or unsigned in C, and "long" is 32 bits on some systems: neither is used.
_C_TYPES: dict[DType, str] = {
    bool_: "bool",
    int8: "signed char",
    int16: "short",
    int32: "int",
    int64: "long long",
    uint8: "unsigned char",
    uint16: "unsigned short",
    uint32: "unsigned int",
    uint64: "unsigned long long",
    float32: "float",
    float64: "double",
    complex64: "lz_c64",
    complex128: "lz_c128",
}
_STRUCT_CODES: dict[DType, str] = {
    bool_: "?",
    int8: "b",
    int16: "h",
    int32: "i",
    int64: "q",
    uint8: "B",
    uint16: "H",
    uint32: "I",
    uint64: "Q",
    float32: "f",
    float64: "d",
    complex64: "ff",
    complex128: "dd",
}
_COMPLEX_OF: dict[DType, DType] = {float32: complex64, float64: complex128}
_REAL_OF: dict[DType, DType] = {complex64: float32, complex128: float64}


def as_dtype(obj: object) -> DType:
    """The lazyarr dtype that `obj` names: a NumPy dtype, a NumPy scalar type or a Python type.

    ``bool``, ``int``, ``float`` and ``complex`` give the default dtype of their kind. Everything
    else (``float16``, strings, objects, other byte orders) raises TypeError.
    """
    found: DType | None = None
    if isinstance(obj, np.dtype):
        found = _CANONICAL.get(obj)
    elif isinstance(obj, type):
        found = _TYPES.get(obj)
    if found is None:
        names = ", ".join(dtype.name for dtype in ALL)
        raise TypeError(f"{obj!r} is not a dtype that lazyarr supports; it supports {names}")
    return found


def is_supported(dtype: DType) -> bool:
    """Whether a NumPy dtype is one of the thirteen."""
    return dtype in _CANONICAL


def c_type(dtype: DType) -> str:
    """The C spelling of `dtype` in generated code."""
    return _C_TYPES[dtype]


def struct_code(dtype: DType) -> str:
    """The native ``struct`` code of one value; a complex value packs as its two parts."""
    return _STRUCT_CODES[dtype]


def real_of(dtype: DType) -> DType:
    """The dtype of a complex dtype's parts; every other dtype is its own."""
    return _REAL_OF.get(dtype, dtype)


def complex_of(dtype: DType) -> DType:
    """The complex dtype with the precision of a floating dtype."""
    return _COMPLEX_OF.get(dtype, dtype)


def isdtype(dtype: object, kind: object) -> bool:
    """Whether `dtype` is of `kind`: a dtype, a kind name of the standard, or a tuple of those.

    Reads no array. An unknown kind name raises ValueError.
    """
    wanted = as_dtype(dtype)
    if isinstance(kind, tuple):
        found = [isdtype(wanted, one) for one in kind]  # each is checked, also after a match
        return any(found)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"unknown dtype kind {kind!r}; the kinds are {', '.join(KINDS)}")
        return wanted in KINDS[kind]
    return wanted == as_dtype(kind)


@dataclass(frozen=True, slots=True)
class FInfo:
    """Machine limits of a real floating dtype, as Python floats."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IInfo:
    """Machine limits of an integer dtype, as Python ints."""

    bits: int
    max: int
    min: int
    dtype: DType


def _dtype_or_array(obj: object) -> DType:
    if not isinstance(obj, (np.dtype, type)):
        obj = getattr(obj, "dtype", obj)
    return as_dtype(obj)


def finfo(type: object, /) -> FInfo:
    """The limits of a floating dtype, or of an array's; a complex dtype gives those of its parts.

    Forces nothing.
    """
    dtype = real_of(_dtype_or_array(type))
    if dtype.kind != "f":
        raise TypeError(f"finfo needs a floating-point dtype, not {dtype}")
    info = np.finfo(dtype)
    return FInfo(
        bits=int(info.bits),
        eps=float(info.eps),
        max=float(info.max),
        min=float(info.min),
        smallest_normal=float(info.smallest_normal),
        dtype=dtype,
    )


def iinfo(type: object, /) -> IInfo:
    """The limits of an integer dtype, or of an array's. Forces nothing."""
    dtype = _dtype_or_array(type)
    if dtype.kind not in "iu":
        raise TypeError(f"iinfo needs an integer dtype, not {dtype}")
    info = np.iinfo(dtype)
    return IInfo(bits=info.bits, max=int(info.max), min=int(info.min), dtype=dtype)
