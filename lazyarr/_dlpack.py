"""DLPack's structures and capsules, through ``ctypes``: versions 1.x and those before.

Owns the memory layout and the lifetimes: an exported structure lives until its consumer's deleter
call, an imported one until its ``Owner`` dies. Knows nothing of lazyarr's arrays.
"""

from __future__ import annotations

import atexit
import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .runtime.finalizers import Last
from .runtime.locks import Rank, make_lock

CPU = 1
CUDA = 2
CUDA_HOST = 3
CUDA_MANAGED = 13
READ_ONLY = 1
IS_COPIED = 2
VERSION = (1, 0)

_MAX_NDIM = 64  # NumPy's
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
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


_is_valid = _api("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_pointer = _api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_rename = _api("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)


class _Export:
    """Memory as NumPy takes it. It dies when the consumer lets go, and ``release`` is called."""

    __slots__ = ("__array_interface__", "release")
    process_ends = False

    def __init__(self, interface: dict[str, Any], release: Callable[[], None]) -> None:
        self.__array_interface__ = interface
        self.release = release

    def __del__(self) -> None:
        if not self.process_ends:
            self.release()


@atexit.register
def _abandon() -> None:
    """Leave what is still exported to its consumers: soon no module is whole any more."""
    _Export.process_ends = True


def make_capsule(
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype[Any],
    device: tuple[int, int],
    *,
    versioned: bool,
    flags: int,
    release: Callable[[], None],
) -> Any:
    """Return a capsule for memory; strides count elements.

    ``release`` is called once: by the consumer's deleter, or when the capsule dies unconsumed.

    NumPy makes the capsule, as if the memory were the host's, and then the structure is told the
    device. So destructor and deleter are NumPy's, in C: a consumer may call them with an exception
    set, which a callback of ``ctypes`` could not leave set.
    """
    interface = {
        "version": 3,
        "shape": shape,
        "typestr": dtype.str,
        "strides": tuple(s * dtype.itemsize for s in strides),
        # NumPy refuses to give read-only memory in an unversioned capsule: our caller decides.
        "data": (address, False),
    }
    array = np.asarray(_Export(interface, release))
    capsule: Any = array.__dlpack__(max_version=VERSION if versioned else None)
    managed: Any
    if versioned:
        managed = _ManagedVersioned.from_address(_pointer(capsule, _NAME_V))
        managed.flags = flags
    else:
        managed = _Managed.from_address(_pointer(capsule, _NAME))
    managed.tensor.data = address
    managed.tensor.device_type, managed.tensor.device_id = device
    return capsule


class Owner:
    """The consumer's side of a capsule: calls its deleter when it dies."""

    __slots__ = ("_last",)

    def __init__(self, address: int, deleter: int | None) -> None:
        self._last = Last(_Deleter(deleter), address) if deleter else None


class Imported(NamedTuple):
    """A consumed capsule. ``address`` is the first element's; strides count elements."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    device: tuple[int, int]
    readonly: bool
    owner: Any
    copied: bool = False


_taking = make_lock(Rank.CAPSULE)  # a finalizer's deleter may take another capsule


def take(capsule: Any) -> Imported:
    """Consume a capsule. Raises ``BufferError`` for what cannot be understood.

    Whatever is refused after it was consumed has its deleter called like anything else.
    """
    with _taking:  # two threads may hold the same capsule
        name, used = (_NAME_V, _USED_V) if _is_valid(capsule, _NAME_V) else (_NAME, _USED)
        if not _is_valid(capsule, name):
            raise BufferError(
                f"not a DLPack capsule, or one that was consumed already: {capsule!r}"
            )
        address = _pointer(capsule, name)
        _rename(capsule, used)
    if name is _NAME:
        managed = _Managed.from_address(address)
        return _read(managed.tensor, 0, Owner(address, managed.deleter))
    versioned = _ManagedVersioned.from_address(address)
    owner = Owner(address, versioned.deleter)
    if versioned.major != VERSION[0]:
        raise BufferError(
            f"DLPack version {versioned.major}.{versioned.minor} is not understood; "
            f"{VERSION[0]}.x is"
        )
    return _read(versioned.tensor, versioned.flags, owner)


def _read(tensor: Any, flags: int, owner: Owner) -> Imported:
    dtype = _dtype(tensor)
    ndim = tensor.ndim
    if not 0 <= ndim <= _MAX_NDIM:
        raise BufferError(f"a DLPack tensor of {ndim} dimensions is not supported")
    if ndim and not tensor.shape:
        raise BufferError(f"a DLPack tensor of {ndim} dimensions has a null pointer as its shape")
    shape = tuple(tensor.shape[:ndim]) if ndim else ()
    strides = tuple(tensor.strides[:ndim]) if ndim and tensor.strides else None
    address = tensor.data or 0
    if address:
        address += tensor.byte_offset
    if 0 in shape:
        strides = None
    device = (tensor.device_type, tensor.device_id)
    readonly, copied = bool(flags & READ_ONLY), bool(flags & IS_COPIED)
    return Imported(address, shape, strides, dtype, device, readonly, owner, copied)


def _dtype(tensor: Any) -> np.dtype[Any]:
    kind = _KINDS.get(tensor.code)
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
