"""Data type functions."""

from __future__ import annotations

from typing import Any

from .. import _dtypes as dt
from .. import _promotion
from .._array import Array, copy_of
from .._devices import parse_device
from .._dtypes import FInfo, IInfo, finfo, iinfo, isdtype
from .._host import move
from ._common import check_array, known_device

__all__ = [
    "FInfo",
    "IInfo",
    "astype",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "result_type",
]


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether promotion takes a dtype, or an array's dtype, to the dtype ``to``. Forces nothing."""
    return _promotion.can_cast(from_, to)


def result_type(*arrays_and_dtypes: Any) -> dt.DType:
    """Return the dtype that arrays, dtypes and scalars promote to together. Forces nothing.

    Python scalars are applied last, to what the others promote to.

    Raises
    ------
    TypeError
        Where the standard defines no common dtype.
    ValueError
        If there is neither an array nor a dtype.
    """
    return _promotion.result_type(*arrays_and_dtypes)


def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """Convert an array to a dtype.

    Parameters
    ----------
    x : Array
    dtype : dtype
        Integers wrap; floats saturate to integers, with NaN as 0; nonzero is True.
    copy : bool
        False returns x itself where nothing changes.
    device : device, optional
        Where the result is to be; another device means an explicit copy, which forces x.

    Returns
    -------
    Array
        Of x's shape; a new array, or x. Lazy on one device.

    Raises
    ------
    TypeError
        From a complex to a real dtype: take ``xp.real(x)`` first. For an unknown dtype.
    """
    check_array(x, "astype")
    target = dt.as_dtype(dtype)
    if x.dtype.kind == "c" and target.kind not in "bc":
        raise TypeError(f"astype from {x.dtype} to {target} drops a part; use xp.real or xp.imag")
    if device is not None and parse_device(device) is not x.device:
        moved = move(x, known_device(device))
        return moved if target == moved.dtype else copy_of(moved, target)
    if target == x.dtype and not copy:
        return x
    return copy_of(x, target)
