"""``asarray``: from Python, NumPy, lazyarr and other libraries' objects to arrays.

A part of the creation chapter. What comes from the host is copied once, into memory that an upload
can start from; nothing is uploaded before a kernel reads it.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _dtypes as dt
from .._array import Array, copy_of, view_of, wrap
from .._devices import CPU, Device, parse_device
from .._dtypes import DType
from .._host import copy_plain, move
from .._promotion import default_dtype, result_type
from ..graph import views
from ..graph.node import const, leaf
from ..graph.numpy_ops import cast_to
from ..graph.share import shared_leaf
from ..interchange import import_foreign
from ..runtime.select import backend_for
from ..storage.storage import Storage, from_host
from ._common import fill_scalar, known_device
from .manipulation import stack

_INT64_MAX = 2**63 - 1
_MAX_DEPTH = 64  # NumPy's; a list that contains itself has no end


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Array:
    """Return an object as an array.

    Parameters
    ----------
    obj : object
        A Python or NumPy scalar, a nested sequence, a NumPy array, a lazyarr array, or what has
        ``__dlpack__``, ``__cuda_array_interface__``, ``__array__`` or the buffer protocol.
    dtype : dtype, optional
        By default that of the object; int64, float64 and complex128 for Python numbers.
    device : device, optional
        Where the result is to be. By default an array's own device, or the default device.
    copy : bool, optional
        None copies only if it must. True always copies. False shares the memory or raises.

    Returns
    -------
    Array
        Of a NumPy array: a snapshot, which stays on the host until a kernel reads it; for
        ``copy=False`` the NumPy array's own memory. Of a lazyarr array: itself if nothing changes,
        or a lazy conversion; another device means an explicit copy, which forces it. Scalars stay
        lazy.

    Raises
    ------
    TypeError
        For objects and dtypes that arrays cannot hold, and from complex to real dtypes.
    ValueError
        For ``copy=False`` where a copy is needed, and ragged sequences.
    OverflowError
        For Python integers that do not fit the dtype.
    """
    wanted = None if dtype is None else dt.as_dtype(dtype)
    if type(obj) is Array:
        return _from_array(obj, wanted, device, copy)
    if isinstance(obj, np.ndarray):
        plain = obj if type(obj) is np.ndarray else _unmasked(obj)
        return _from_numpy(plain, wanted, known_device(device), copy)
    if isinstance(obj, (bool, int, float, complex, np.generic)):
        return _from_scalar(obj, wanted, known_device(device), copy)
    if isinstance(obj, (list, tuple, range)):
        if copy is False:
            raise ValueError(f"copy=False: a {type(obj).__name__} cannot be shared, only copied")
        return _from_sequence(obj, wanted, device)
    if _is_foreign(obj):
        found = import_foreign(obj, device=device, copy=copy)
        return found if wanted is None else _from_array(found, wanted, None, copy)
    return _from_numpy(_host_array(obj), wanted, known_device(device), copy)


def _is_foreign(obj: Any) -> bool:
    """Whether DLPack or the CUDA array interface can give an object's memory."""
    if hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__"):
        return True
    return hasattr(obj, "__cuda_array_interface__")


def _unmasked(source: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array of a subclass as a plain one; raise TypeError if that would lose a mask."""
    masks = sys.modules.get("numpy.ma")  # imported by whoever has a masked array
    if masks is not None and masks.is_masked(source):
        raise TypeError(
            "a lazyarr array cannot hold a mask; fill it with x.filled(value), or take x.data "
            "with what the mask hides"
        )
    return np.asarray(source)


def _host_array(obj: Any) -> npt.NDArray[Any]:
    """Return what has ``__array__`` or the buffer protocol as a NumPy array."""
    interface = getattr(obj, "__array_interface__", None)
    if isinstance(interface, dict) and interface.get("mask") is not None:
        raise BufferError("an __array_interface__ with a mask is not supported")
    if interface is not None or hasattr(obj, "__array__") or hasattr(obj, "__array_struct__"):
        return _unmasked(np.asarray(obj))
    try:
        return np.asarray(memoryview(obj))
    except TypeError:
        raise TypeError(f"asarray cannot make an array of {type(obj).__name__}") from None


def _from_array(x: Array, wanted: DType | None, spec: Any, copy: bool | None) -> Array:
    moved = x
    if spec is not None:
        device = parse_device(spec)
        if device is not x.device:
            if copy is False:
                raise ValueError(f"copy=False: to move from {x.device} to {device} is a copy")
            copy = None  # the move is the copy
            moved = move(x, known_device(device))
        elif x.location == "host":
            moved = move(x, device)
    if wanted is not None and wanted != x.dtype:
        if copy is False:
            raise ValueError(f"copy=False: to convert {x.dtype} to {wanted} is a copy")
        _check_kinds(x.dtype, wanted)
        return copy_of(moved, wanted)
    return copy_of(moved) if copy else moved


def _check_kinds(source: DType, target: DType) -> None:
    if source.kind == "c" and target.kind not in "bc":
        raise TypeError(f"{source} to {target} drops a part; take the real or imaginary part first")


def _from_scalar(value: Any, wanted: DType | None, device: Device, copy: bool | None) -> Array:
    if copy is False:
        raise ValueError(f"copy=False: a {type(value).__name__} cannot be shared, only copied")
    if wanted is None:
        wanted = default_dtype(value)
        return wrap(const(fill_scalar(value, wanted), wanted, (), device))
    converted = np.asarray(_from_python(value, wanted))
    return wrap(const(converted.item(), wanted, (), device))


def _from_python(obj: Any, wanted: DType | None) -> npt.NDArray[Any]:
    """Convert Python numbers as NumPy does, without its warnings."""
    with np.errstate(all="ignore"):
        return np.array(obj, dtype=wanted)


def _from_sequence(obj: Any, wanted: DType | None, spec: Any) -> Array:
    arrays, others = ([], []) if isinstance(obj, range) else _leaves(obj)
    if arrays:
        device = arrays[0].device if spec is None else spec
        common = wanted or result_type(*arrays, *others)
        return stack([asarray(part, dtype=common, device=device) for part in obj])
    data = _from_python(obj, wanted)
    if wanted is None:
        _check_ints(obj, data)
    return _from_numpy(data, wanted, known_device(spec), None)


def _leaves(obj: Any) -> tuple[list[Array], list[Any]]:
    """Return the lazyarr arrays inside nested lists and tuples, and everything else there."""
    arrays: list[Array] = []
    others: list[Any] = []
    nested = [(obj, 1)]
    while nested:
        items, depth = nested.pop()
        if depth > _MAX_DEPTH:
            raise ValueError(f"asarray: sequences are nested deeper than {_MAX_DEPTH} levels")
        for part in items:
            kind = type(part)
            if kind is Array:
                arrays.append(part)
            elif kind is list or kind is tuple:
                nested.append((part, depth + 1))
            else:
                others.append(part)
    return arrays, others


def _check_ints(obj: Any, data: npt.NDArray[Any]) -> None:
    """Raise for Python ints beyond int64: NumPy would make uint64, floats or objects of them."""
    kind = data.dtype.kind
    if kind not in "uO" and not (kind == "f" and np.any(np.abs(data) >= 2.0**63)):
        return
    leaves = list(obj) if isinstance(obj, range) else _leaves(obj)[1]
    if all(type(part) is int for part in leaves):
        large = [n for n in leaves if not -_INT64_MAX - 1 <= n <= _INT64_MAX]
        if large:
            raise OverflowError(f"{large[0]} does not fit int64; give a dtype")


def _from_numpy(
    source: npt.NDArray[Any], wanted: DType | None, device: Device, copy: bool | None
) -> Array:
    native = source.dtype.newbyteorder("=")
    dtype = dt.as_dtype(native)
    target = dtype if wanted is None else wanted
    _check_kinds(dtype, target)
    order = _memory_order(source)
    if copy is False:
        if source.dtype != native or target != dtype:
            raise ValueError(f"copy=False: to convert {source.dtype} to {target} is a copy")
        if order is None or not source.flags.aligned:
            raise ValueError(
                "copy=False: the source is strided or not aligned, so a copy is needed"
            )
        make = shared_leaf
        storage = _shared(source, order, device)
    else:
        make = leaf
        if order is None:
            order = tuple(range(source.ndim))
        storage = _snapshot(source, order, target, device)
    laid = tuple(source.shape[a] for a in order)
    x = Array(make(storage, target, laid, device))
    if order == tuple(range(source.ndim)):
        return x
    back = [order.index(a) for a in range(source.ndim)]
    return view_of(x, views.permute(x.view, back))


def _memory_order(source: npt.NDArray[Any]) -> tuple[int, ...] | None:
    """Return the axes in the order in which they lie in memory without gaps, if they do."""
    if source.flags.c_contiguous:
        return tuple(range(source.ndim))
    order = sorted(range(source.ndim), key=lambda a: (-abs(source.strides[a]), a))
    return tuple(order) if source.transpose(order).flags.c_contiguous else None


def _bytes_of(source: npt.NDArray[Any], order: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    return source.transpose(order).reshape(-1).view(np.uint8)


def _shared(source: npt.NDArray[Any], order: tuple[int, ...], device: Device) -> Storage:
    backend = None if device is CPU else backend_for(device)
    storage = from_host(backend, _bytes_of(source, order))
    storage.shared = 1
    storage.host_open = 1  # writes go where the source's owner looks
    storage.keeper = source
    storage.readonly = not source.flags.writeable
    return storage


def _snapshot(
    source: npt.NDArray[Any], order: tuple[int, ...], target: DType, device: Device
) -> Storage:
    """Copy a source, converted, in one pass to memory of our own."""
    nbytes = source.size * target.itemsize
    backend = None if device is CPU else backend_for(device)
    if backend is None or nbytes == 0:
        data = np.empty(nbytes, np.uint8)
    else:
        data = backend.host_buffer(nbytes)
    laid = source.transpose(order)
    with np.errstate(all="ignore"):
        native = laid.dtype.newbyteorder("=")
        if native != target:
            laid = cast_to(laid.astype(native, copy=False), target)
        copy_plain(np.ndarray(laid.shape, target, buffer=data), laid)
    return from_host(backend, data)
