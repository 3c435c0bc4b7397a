"""What the chapters share: argument checks, devices, scalars, uninitialised arrays."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from .. import _dtypes as dt
from .._array import Array, wrap
from .._devices import CPU, Device, parse_device
from .._dtypes import DType
from .._promotion import default_dtype, scalar_dtype, scalar_value
from ..graph import evaluate, views
from ..graph.node import Value, const, leaf
from ..graph.views import Shape
from ..graph.write import right_side
from ..runtime.select import default_device
from ..storage.storage import Storage

_KIND_ORDER = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def check_array(x: Any, function: str) -> Array:
    """Return ``x`` if it is a lazyarr array; otherwise raise a TypeError that names the remedy."""
    if type(x) is Array:
        return x
    raise TypeError(
        f"{function} needs a lazyarr array, not {type(x).__name__}; convert it with xp.asarray"
    )


def check_arrays(arrays: Any, function: str) -> list[Array]:
    """Return the arrays as a list; raise unless all are lazyarr arrays on one device."""
    result = [check_array(x, function) for x in arrays]
    for x in result[1:]:
        if x.device is not result[0].device:
            raise ValueError(
                f"{function}: arrays are on different devices: {result[0].device} and {x.device}; "
                f"move one with x.to_device({str(result[0].device)!r})"
            )
    return result


def check_int(value: Any, name: str) -> int:
    """Return an integer argument as an int; TypeError for anything else."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {value!r}") from None


def check_shape(shape: Any) -> Shape:
    """Return a shape argument as a tuple of ints; raise a TypeError or ValueError that shows it."""
    try:
        return views.check_shape(shape)
    except TypeError:
        raise TypeError(f"shape must be an int or a tuple of ints, not {shape!r}") from None


def known_device(spec: Any) -> Device:
    """Return the device that ``spec`` names, or the default one for None; it must be usable."""
    device = default_device() if spec is None else parse_device(spec)
    if device is not CPU and device.runtime is None:
        evaluate.runtime(device)
    return device


def like_device(spec: Any, x: Array) -> Device:
    """Return the device of a result that is like ``x``: the one asked for, or that of ``x``."""
    return x.device if spec is None else known_device(spec)


def fill_dtype(value: Any) -> DType:
    """Return the dtype that a fill value alone gives."""
    check_scalar(value)
    return default_dtype(value)


def check_scalar(value: Any) -> None:
    if not isinstance(value, (bool, int, float, complex, np.generic)):
        raise TypeError(
            f"a fill value must be a Python or NumPy scalar, not {type(value).__name__}; "
            "xp.broadcast_to repeats an array"
        )


def fill_scalar(value: Any, dtype: DType) -> Any:
    """Return a fill value as the Python scalar of a dtype.

    Raises TypeError where its kind does not fit the dtype's, OverflowError where its size does not.
    """
    check_scalar(value)
    if isinstance(value, np.generic):
        value = value.item()
    kind = dt.as_dtype(type(value)).kind
    if _KIND_ORDER[kind] > _KIND_ORDER[dtype.kind]:
        raise TypeError(f"{value!r} cannot fill an array of {dtype}; give another dtype")
    if kind == "i" and dtype.kind in "iu":
        scalar_dtype(value, dtype)  # raises if it does not fit
    return scalar_value(value, dtype)


def filled(shape: Shape, scalar: Any, dtype: DType, device: Device) -> Array:
    """Return an array that is one (converted) scalar everywhere; no memory until it is forced."""
    return wrap(const(scalar, dtype, shape, device))


def in_order(x: Array, dtype: DType) -> Value:
    """Return a value that holds the elements of x in row-major order, converted to a dtype.

    x's own where it is that already; otherwise a pending copy. The value's shape may be another.
    """
    if x._view is None and x.dtype == dtype:
        return x._cell.value
    return right_side(dtype, x.shape, x._cell.value, x.view)


def uninitialised(shape: Shape, dtype: DType, device: Device) -> Array:
    """Return an array of memory that nobody has written yet, on the device."""
    nbytes = math.prod(shape) * dtype.itemsize
    if device is CPU:
        storage = Storage(None, nbytes)
    else:
        backend = evaluate.runtime(device).backend
        with backend.batch():
            storage = Storage(backend, nbytes)
    return Array(leaf(storage, dtype, shape, device))
