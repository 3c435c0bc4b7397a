"""Sharing: values whose memory somebody outside the library reads or writes.

Owns the count of holders. While a storage is shared, operations on it run at the call: its value
looks as if laziness had reached its bound, so that the hot path needs no question of its own.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from .._devices import CPU, Device
from ..runtime.locks import Rank, make_lock
from ..storage.storage import DEVICE, Storage
from . import evaluate, interpret
from .node import MAX_WORK, Cell, Value, leaf, leaf_work
from .write import has_readers

_SHARED_WORK = MAX_WORK + 1
_lock = make_lock(Rank.SHARE)  # a finalizer may release in the thread that holds


def device_lock(device: Device) -> AbstractContextManager[Any]:
    """Return the lock that a device's evaluations, writes and reads take."""
    if device is CPU:
        return interpret.lock  # type: ignore[no-any-return]
    return evaluate.runtime(device).lock  # type: ignore[no-any-return]


def hold(value: Value) -> None:
    """Count one more holder of a real value's memory."""
    storage = value.real
    assert storage is not None
    with _lock:
        storage.shared += 1
        value.work = _SHARED_WORK


def release(value: Value) -> None:
    """Count one holder less; without any, operations on the value are lazy again."""
    storage = value.real
    assert storage is not None
    with _lock:
        storage.shared -= 1
        if not storage.shared:
            value.work = leaf_work(storage)


def shared_leaf(storage: Storage, dtype: Any, shape: tuple[int, ...], device: Device) -> Value:
    """Return a real value over a storage that is shared already."""
    value = leaf(storage, dtype, shape, device)
    value.work = _SHARED_WORK
    return value


def give_memory(value: Value, cause: str) -> Storage:
    """Make the side that operations use authoritative and alone, ready to be handed out."""
    storage = value.real
    assert storage is not None
    storage.verify()
    if storage.backend is None:
        if storage.held() and not storage.shared and not storage.readonly:
            storage.host_write(cause, whole=False)  # those who read before keep what they read
        return storage
    with storage.backend.batch():
        storage.device_read(cause)
    storage.location = DEVICE
    storage.drop_mirror()
    return storage


def is_disposable(cell: Cell) -> bool:
    """Whether a write to all of the cell should take other memory: nothing needs what is there.

    The cell's value is pending, or others will still read it. The caller must not hold the value.
    """
    storage = cell.value.real
    return storage is None or (not storage.shared and has_readers(cell))


def replace(cell: Cell, storage: Storage) -> None:
    """Point a cell, all of which is about to be written, to memory that holds nothing yet."""
    old = cell.value
    cell.value = leaf(storage, old.dtype, old.shape, old.device)
