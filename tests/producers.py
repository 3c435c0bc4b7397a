"""Producers of foreign memory that are free to lie: DLPack capsules made with ``ctypes``."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Sequence
from typing import Any

import numpy as np

import lazyarr as xp
from lazyarr import _dlpack as dl

HOST = (dl.CPU, 0)
GPU = (dl.CUDA, 0)
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)


# A consumer may outlive its producer, and calls a deleter that must exist then.
_given: list[Any] = []


def name_of(capsule: Any) -> str:
    return _name(capsule).decode()


class Raw:
    """A producer with one tensor, whose fields are whatever the test says.

    ``deleted`` counts the calls of its deleter, and ``asked`` keeps the keywords of each call.
    """

    def __init__(
        self,
        data: int,
        shape: Sequence[int] | None,
        strides: Sequence[int] | None = None,
        *,
        dtype: Any = np.float64,
        device: tuple[int, int] = HOST,
        announced: Any = None,
        version: tuple[int, int] | None = (1, 0),
        flags: int = 0,
        deleter: bool = True,
        keep: Any = None,
        name: bytes | None = None,
        keywords: Sequence[str] = ("stream", "max_version", "dl_device", "copy"),
        **fields: Any,
    ) -> None:
        kind = np.dtype(dtype)
        self.keep = keep
        self.device = device if announced is None else announced
        self.keywords = keywords
        self.deleted = 0
        self.asked: list[dict[str, Any]] = []
        self.managed: Any = dl._Managed() if version is None else dl._ManagedVersioned()
        if version is not None:
            self.managed.major, self.managed.minor = version
            self.managed.flags = flags
        if name is None:
            name = b"dltensor" if version is None else b"dltensor_versioned"
        self.name = name  # the capsule does not copy it
        self._callback = dl._Deleter(self._delete)
        if deleter:
            self.managed.deleter = ctypes.cast(self._callback, ctypes.c_void_p).value
        tensor = self.managed.tensor
        tensor.data = data or None
        tensor.device_type, tensor.device_id = device
        tensor.code, tensor.bits, tensor.lanes = CODES[kind.kind], kind.itemsize * 8, 1
        tensor.ndim = len(shape or ())
        if shape is not None:
            self._shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
            tensor.shape = self._shape
        if strides is not None:
            self._strides = (ctypes.c_int64 * max(len(strides), 1))(*strides)
            tensor.strides = self._strides
        for field, value in fields.items():
            setattr(tensor, field, value)

    def _delete(self, address: int) -> None:
        assert address == ctypes.addressof(self.managed)
        self.deleted += 1

    def capsule(self) -> Any:
        _given.append(self)
        return _new(ctypes.addressof(self.managed), self.name, None)

    def __dlpack_device__(self) -> Any:
        return self.device

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        unknown = set(keywords) - set(self.keywords)
        if unknown:
            raise TypeError(f"unexpected keyword argument {min(unknown)!r}")
        return self.capsule()


class Interface:
    """An object with ``__cuda_array_interface__``, and with whatever keeps its memory alive."""

    def __init__(self, interface: Any, keep: Any = None) -> None:
        self.__cuda_array_interface__ = interface
        self.keep = keep


class Bytes:
    """Bytes in the memory of a device that others can read; those of ``sim`` are the host's."""

    def __init__(self, device: str, data: np.ndarray) -> None:
        self.place = GPU if device.startswith("cuda") else HOST
        if self.place == GPU:
            self._array = xp.asarray(data, device=device)
            self.address = self._array.gpudata
        else:
            self._host = data.copy()
            self.address = self._host.ctypes.data

    def now(self) -> np.ndarray:
        """Return what they are now."""
        return self._array.get() if self.place == GPU else self._host.copy()


def settle() -> None:
    """Let everything die that is dead: exceptions keep their frames in cycles, young ones."""
    gc.collect(1)
