"""DLPack's structures and capsules, through ``ctypes``: versions 1.x and those before.

Owns the memory layout and the lifetimes: an exported structure lives until its consumer's deleter
call, an imported one until its ``Owner`` dies. Knows nothing of arrays.
"""

from __future__ import annotations

import atexit
import ctypes
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

CPU = 1
CUDA = 2
CUDA_HOST = 3
CUDA_MANAGED = 13
READ_ONLY = 1
IS_COPIED = 2
VERSION = (1, 0)

_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_KINDS_BACK = {code: kind for kind, code in _KINDS.items()}
_NAME, _USED = b"dltensor", b"used_dltensor"
_NAME_V, _USED_V = b"dltensor_versioned", b"used_dltensor_versioned"


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (
        ("tensor", _Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class _ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


def _api(name: str, result: Any, *arguments: Any) -> Any:
    # A prototype of our own: the functions of ctypes.pythonapi are shared with everyone.
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new = _api("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_is_valid = _api("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_pointer = _api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_rename = _api("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
# For a capsule that is being destroyed, which must not be touched as an object.
_dying_is_valid = _api("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_dying_pointer = _api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)

# A deleter or destructor may be called while an exception is on its way: it is put aside before
# Python code runs, and put back.
if sys.version_info >= (3, 12):
    _take_error = _api("PyErr_GetRaisedException", ctypes.c_void_p)
    _put_error = _api("PyErr_SetRaisedException", None, ctypes.c_void_p)

    def _set_error(error: Any) -> None:
        if error:
            _put_error(error)
else:
    _fetch = _api("PyErr_Fetch", None, *(ctypes.c_void_p,) * 3)
    _put_error = _api("PyErr_Restore", None, *(ctypes.c_void_p,) * 3)
    _slots = [ctypes.c_void_p() for _ in range(3)]
    _fetch_arguments = tuple(map(ctypes.addressof, _slots))

    def _take_error() -> Any:
        _fetch(*_fetch_arguments)
        return [slot.value for slot in _slots]

    def _set_error(error: Any) -> None:
        if error[0]:
            _put_error(*error)


class _Export:
    """One exported structure and what it keeps alive."""

    __slots__ = ("managed", "release", "shape", "strides")

    def __init__(self, managed: Any, shape: Any, strides: Any, release: Callable[[], None]) -> None:
        self.managed = managed
        self.shape = shape
        self.strides = strides
        self.release = release


_exports: dict[int, _Export] = {}


def _delete(address: int) -> None:
    error = _take_error()
    try:
        export = _exports.pop(address, None)
        if export is not None:
            export.release()
    finally:
        _set_error(error)


def _destroy(capsule: int) -> None:
    error = _take_error()
    try:
        for name in (_NAME, _NAME_V):
            if _dying_is_valid(capsule, name):  # nobody consumed it
                export = _exports.pop(_dying_pointer(capsule, name), None)
                if export is not None:
                    export.release()
    finally:
        _set_error(error)


_deleter = _Deleter(_delete)
_destructor = _Destructor(_destroy)
_deleter_address = ctypes.cast(_deleter, ctypes.c_void_p).value
_destructor_address = ctypes.cast(_destructor, ctypes.c_void_p).value


@atexit.register
def _abandon() -> None:
    """Leave what is still exported to its consumers: soon no Python code can be called back."""
    for export in _exports.values():
        export.managed.deleter = None
        for kept in (export, export.managed, export.shape, export.strides, export.release):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


def make_capsule(
    address: int,
    shape: Sequence[int],
    strides: Sequence[int],
    dtype: np.dtype[Any],
    device: tuple[int, int],
    *,
    versioned: bool,
    flags: int,
    release: Callable[[], None],
) -> Any:
    """Return a capsule for memory; strides count elements.

    ``release`` is called once: by the consumer's deleter, or when the capsule dies unconsumed.
    """
    managed: Any = _ManagedVersioned() if versioned else _Managed()
    if versioned:
        managed.major, managed.minor = VERSION
        managed.flags = flags
    ndim = len(shape)
    extents = (ctypes.c_int64 * max(ndim, 1))(*shape)
    steps = (ctypes.c_int64 * max(ndim, 1))(*strides)
    tensor = managed.tensor
    tensor.data = address
    tensor.device_type, tensor.device_id = device
    tensor.ndim = ndim
    tensor.code = _KINDS[dtype.kind]
    tensor.bits = 8 * dtype.itemsize
    tensor.lanes = 1
    tensor.shape = ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64))
    tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = _deleter_address
    place = ctypes.addressof(managed)
    _exports[place] = _Export(managed, extents, steps, release)
    return _new(place, _NAME_V if versioned else _NAME, _destructor_address)


class Owner:
    """The consumer's side of a capsule: calls its deleter when it dies."""

    __slots__ = ("_address", "_call")

    def __init__(self, address: int, deleter: int | None) -> None:
        self._address = address
        self._call = _Deleter(deleter) if deleter else None

    def __del__(self) -> None:
        if self._call is not None:
            self._call(self._address)


class Imported(NamedTuple):
    """A consumed capsule. ``address`` is the first element's; strides count elements."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    device: tuple[int, int]
    readonly: bool
    owner: Owner


def take(capsule: Any) -> Imported:
    """Consume a capsule. Raises ``BufferError`` for what cannot be understood."""
    if _is_valid(capsule, _NAME_V):
        versioned = _ManagedVersioned.from_address(_pointer(capsule, _NAME_V))
        _rename(capsule, _USED_V)
        owner = Owner(ctypes.addressof(versioned), versioned.deleter)
        if versioned.major > VERSION[0]:
            raise BufferError(
                f"DLPack version {versioned.major}.{versioned.minor} is not understood; "
                f"up to {VERSION[0]}.x is"
            )
        return _read(versioned.tensor, bool(versioned.flags & READ_ONLY), owner)
    if _is_valid(capsule, _NAME):
        managed = _Managed.from_address(_pointer(capsule, _NAME))
        _rename(capsule, _USED)
        return _read(managed.tensor, False, Owner(ctypes.addressof(managed), managed.deleter))
    raise BufferError(f"not a DLPack capsule, or one that was consumed already: {capsule!r}")


def _read(tensor: Any, readonly: bool, owner: Owner) -> Imported:
    dtype = _dtype(tensor)
    ndim = tensor.ndim
    shape = tuple(tensor.shape[:ndim]) if ndim else ()
    strides = tuple(tensor.strides[:ndim]) if ndim and tensor.strides else None
    address = (tensor.data or 0) + tensor.byte_offset
    if math.prod(shape) == 0:
        strides = None
    device = (tensor.device_type, tensor.device_id)
    return Imported(address, shape, strides, dtype, device, readonly, owner)


def _dtype(tensor: Any) -> np.dtype[Any]:
    kind = _KINDS_BACK.get(tensor.code)
    bits = tensor.bits
    try:
        if kind is None or tensor.lanes != 1 or bits % 8:
            raise TypeError
        return np.dtype(f"{kind}{bits // 8}")
    except TypeError:
        raise BufferError(
            f"DLPack's dtype code {tensor.code} with {bits} bits and {tensor.lanes} lanes is not "
            "supported"
        ) from None
