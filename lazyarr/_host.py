"""Explicit moves between the two sides: ``x.host``, ``x.to_device``, ``xp.prefetch``.

Everything here is explicit: allowed under every transfer guard.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from ._array import Array
from ._devices import CPU, Device
from .graph import evaluate, share
from .graph.interpret import host_view
from .graph.node import leaf
from .graph.write import own_storage
from .storage.storage import DEVICE, HOST, Storage, from_host

_MODES = ("r", "w", "rw")


def is_broadcast(x: Array) -> bool:
    """Whether several elements of x lie at one place."""
    return any(s == 0 and n > 1 for s, n in zip(x.view.strides, x.shape, strict=True))


def covers(x: Array) -> bool:
    """Whether x has every element of its storage."""
    return x._view is None or (x.size == x._cell.value.size and not is_broadcast(x))


def open_host(x: Array, mode: str) -> AbstractContextManager[npt.NDArray[Any]]:
    """Return the context manager of ``x.host(mode)``; see there.

    Raises
    ------
    ValueError
        For an unknown mode, and in the write modes for a broadcast or read-only array.
    """
    if mode not in _MODES:
        raise ValueError(f"unknown mode {mode!r} of host(); modes are 'r', 'w' and 'rw'")
    if mode == "r":
        return _reading(x)
    if x._frozen or is_broadcast(x):
        raise ValueError(
            f"a broadcast array of shape {x.shape} is read-only, so host({mode!r}) cannot open it; "
            "copy it with xp.asarray(x, copy=True)"
        )
    storage = x._cell.value.real
    if storage is not None and storage.readonly:
        raise ValueError(
            "this array shares read-only memory; copy it with xp.asarray(x, copy=True)"
        )
    return _writing(x, mode)


@contextmanager
def _reading(x: Array) -> Iterator[npt.NDArray[Any]]:
    yield x._read("host('r')", explicit=True)


@contextmanager
def _writing(x: Array, mode: str) -> Iterator[npt.NDArray[Any]]:
    cause = f"host({mode!r})"
    whole = mode == "w" and covers(x)
    with share.device_lock(x._device):
        if whole and x._device is not CPU and share.is_disposable(x._cell):
            backend = evaluate.runtime(x._device).backend
            nbytes = x._cell.value.nbytes
            share.replace(x._cell, from_host(backend, backend.host_buffer(nbytes)))
        storage = own_storage(x._cell, cause)
        exported = storage.shared > storage.host_open and storage.location is DEVICE
        storage.host_write(cause, whole=whole, explicit=True)
        value = x._cell.value
        share.hold(value)
        storage.host_open += 1
    opened = host_view(storage, x._dtype, x.view)
    try:
        yield opened
    finally:
        opened.flags.writeable = False
        with share.device_lock(x._device):
            storage.host_open -= 1
            if exported and not storage.host_open:
                # Somebody else holds the device's side and could not see what was written here.
                with evaluate.runtime(x._device).backend.batch():
                    storage.settle(DEVICE, cause)
            share.release(value)


def move(x: Array, device: Device) -> Array:
    """Return x on a device: x itself, settled there, or an explicit copy.

    Forces x. A copy goes through the host and is counted; it is contiguous.
    """
    if device is x._device:
        _settle(x, DEVICE, "to_device")
        return x
    with share.device_lock(x._device):
        host = x._read("to_device", explicit=True)
        storage = x._cell.value.real
        if device is CPU and x._view is None and storage is not None and not storage.shared:
            assert storage.host is not None
            # Whoever writes first leaves this buffer to the other.
            return Array(leaf(from_host(None, storage.host), x._dtype, x._shape, CPU))
    moved = array_from_numpy(host, device)
    _settle(moved, DEVICE, "to_device")
    return moved


def array_from_numpy(host: npt.NDArray[Any], device: Device) -> Array:
    """Return an array on a device with a snapshot of a NumPy array; nothing is uploaded yet."""
    if device is CPU:
        backend = None
        buffer = np.empty(host.nbytes, np.uint8)
    else:
        backend = evaluate.runtime(device).backend
        buffer = backend.host_buffer(host.nbytes)
    copy_plain(np.ndarray(host.shape, host.dtype, buffer=buffer), host)
    return Array(leaf(from_host(backend, buffer), host.dtype, host.shape, device))


def copy_plain(target: npt.NDArray[Any], source: npt.NDArray[Any]) -> None:
    """Copy a NumPy array; in a copy of bools every true is 1, which kernels rely on."""
    if source.dtype == np.bool_ and target.dtype == np.bool_:
        np.not_equal(source.view(np.uint8), 0, out=target)
    else:
        np.copyto(target, source)


def _settle(x: Array, location: Any, cause: str) -> None:
    with share.device_lock(x._device):
        storage = evaluate.real_storage(x._cell.value, cause)
        _settle_storage(storage, location, cause)


def _settle_storage(storage: Storage, location: Any, cause: str) -> None:
    if storage.backend is None or storage.host_open:
        return
    with storage.backend.batch():
        storage.settle(location, cause)


def prefetch(*arrays: Array, to: str = "device") -> None:
    """Bring arrays to one side now, explicitly; that side becomes authoritative.

    Parameters
    ----------
    *arrays : Array
        Forced in one evaluation. On ``cpu`` there is one side only and nothing is copied.
    to : {"device", "host"}
        The side. The other side keeps its copy as a mirror.

    Raises
    ------
    TypeError
        If something else than lazyarr arrays is given.
    ValueError
        For an unknown side.

    Notes
    -----
    Allowed under a transfer guard. An upload is asynchronous; a download waits.
    """
    if to not in ("device", "host"):
        raise ValueError(f"prefetch(to={to!r}): expected 'device' or 'host'")
    for x in arrays:
        if type(x) is not Array:
            raise TypeError(f"prefetch takes lazyarr arrays, not {type(x).__name__}")
    evaluate.force([x._cell.value for x in arrays], "prefetch")
    for x in arrays:
        _settle(x, DEVICE if to == "device" else HOST, "prefetch")
