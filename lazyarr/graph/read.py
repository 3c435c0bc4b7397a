"""Reads: what the host sees of a value.

Forces the value if it is pending, downloads no more than is asked for where that is cheaper, and
never hands out memory that a later write would change.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .._dtypes import DType
from ..ledger import sinks
from ..storage import guard, transfer
from ..storage.storage import DEVICE, Storage
from . import evaluate, share
from .interpret import host_view
from .node import ConstSpec, Value
from .optable import Spec
from .views import View, contiguous, extent
from .write import right_side


def read_host(
    value: Value, dtype: DType, view: View, cause: str, *, explicit: bool
) -> npt.NDArray[Any]:
    """Return the elements of a view on the host, as a read-only array.

    The array may share the storage's host buffer; a later write leaves that buffer to it.
    """
    lock = share.device_lock(value.device)
    if value.real is None:
        with lock:
            direct = _element(value, view, cause)
            if direct is not None:
                value, view = direct
            else:
                evaluate.force([value], cause)
    storage = value.real
    assert storage is not None
    _wait_aside(storage)
    with lock:
        result = _read(value, storage, dtype, view, cause, explicit)
    result.flags.writeable = False
    return result


def read_own(value: Value, dtype: DType, view: View, cause: str) -> npt.NDArray[Any]:
    """Return the elements of a view as a writable array that shares memory with nothing.

    What has to be downloaded goes straight into that array where it lies without gaps, and leaves
    no mirror. Explicit: allowed under a transfer guard.
    """
    storage = evaluate.real_storage(value, cause)
    _wait_aside(storage)
    with share.device_lock(value.device):
        if storage.location is DEVICE and (storage.shared or not storage.mirrored):
            low, high = extent(view)
            if high - low == math.prod(view.shape) and high > low:
                return _part(storage, dtype, view, low, high, cause, True)
    return read_host(value, dtype, view, cause, explicit=True).copy()


def _wait_aside(storage: Storage) -> None:
    """Let other threads launch while a download would wait for the device, holding the lock.

    Not while events are recorded: the wait belongs to the copy's time.
    """
    backend = storage.backend
    if backend is None or not backend.many_threads or storage.location is not DEVICE or sinks:
        return
    if storage.shared or not storage.mirrored:
        with backend.batch():
            backend.record().synchronize()


def _element(value: Value, view: View, cause: str) -> tuple[Value, View] | None:
    """A pending copy of one element (``x[3]``) needs no kernel of its own to be read."""
    spec = value.spec
    if value.real is not None or value.shape != () or type(spec) is not Spec or view.shape != ():
        return None
    if spec.op.name != "cast" or spec.in_dtypes[0] != spec.out_dtype:
        return None
    source = value.args[0]
    if source.real is None:
        if type(source.spec) is ConstSpec:
            return None
        evaluate.force([source], cause)
    offset = value.offsets[0] if value.offsets is not None else 0
    return source, View(offset, (), ())


def _read(
    value: Value, storage: Storage, dtype: DType, view: View, cause: str, explicit: bool
) -> npt.NDArray[Any]:
    count = math.prod(view.shape)
    if storage.location is DEVICE and count and (storage.shared or not storage.mirrored):
        low, high = extent(view)
        if high - low == count and count < value.size:
            return _part(storage, dtype, view, low, high, cause, explicit)
        if 2 * count <= high - low:
            packed = right_side(dtype, view.shape, value, view)
            if not explicit:
                guard.check("d2h", count * dtype.itemsize, cause)
            evaluate.force([packed], cause)
            assert packed.real is not None
            packed.real.host_read(cause, explicit=True)
            return host_view(packed.real, dtype, contiguous(view.shape))
    storage.host_read(cause, explicit=explicit)
    result = host_view(storage, dtype, view)
    # Others write to a shared host buffer, and this is the value at the call.
    return result.copy() if storage.shared and storage.location is not DEVICE else result


def _part(
    storage: Storage, dtype: DType, view: View, low: int, high: int, cause: str, explicit: bool
) -> npt.NDArray[Any]:
    """Download one gapless stretch of a storage; it says nothing about the rest."""
    storage.verify()
    size = dtype.itemsize
    if not explicit:
        guard.check("d2h", (high - low) * size, cause)
    assert storage.backend is not None
    if storage.backend.many_streams:
        storage.join_stream()
    buffer = storage.backend.host_buffer((high - low) * size)
    transfer.copy(storage.backend, "d2h", storage.ptr + low * size, buffer, cause)
    return np.ndarray(
        view.shape,
        dtype,
        buffer=buffer,
        offset=(view.offset - low) * size,
        strides=tuple(s * size for s in view.strides),
    )
