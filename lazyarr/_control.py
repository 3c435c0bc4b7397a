"""What users steer the library with: evaluation, devices, streams, memory."""

from __future__ import annotations

import operator
from contextlib import AbstractContextManager
from typing import Any

from ._array import Array, force_arrays
from ._devices import CPU, Device, parse_device, scoped_default, set_process_default
from .graph import evaluate as _evaluation
from .graph import pressure
from .ledger import Stats, counters, tell_watchers
from .runtime import select
from .runtime.base import MemoryInfo

__all__ = [
    "default_device",
    "devices",
    "evaluate",
    "memory_info",
    "set_default_device",
    "set_memory_limit",
    "stats",
    "stream",
    "synchronize",
]


def evaluate(*arrays: Array) -> None:
    """Run what arrays need, all in one go; independent results of one shape share kernels.

    Forces the arrays and copies nothing back. It does not wait for the device.

    Raises
    ------
    TypeError
        If something else than lazyarr arrays is given.
    """
    force_arrays(arrays)


def synchronize(device: Any = None) -> None:
    """Wait until a device (None: every device in use) has finished what was launched.

    Forces nothing: pending work stays pending.
    """
    if device is None:
        backends = select.made_backends()
    else:
        chosen = parse_device(device)
        backends = [] if chosen is CPU else [select.backend_for(chosen)]
    for backend in backends:
        with backend.batch():
            backend.synchronize()
    tell_watchers()


def stats(*, reset: bool = False) -> Stats:
    """Return the counts of launches, compiles, copies and their bytes since the last reset.

    Parameters
    ----------
    reset : bool
        Set every count to zero after reading it.

    Returns
    -------
    Stats
        A named tuple; it never changes after it was made. Forces nothing and copies nothing.
    """
    result = counters.snapshot()
    if reset:
        counters.reset()
    return result


def memory_info(device: Any = None) -> MemoryInfo:
    """Return a device's memory in bytes: used by live arrays, its peak, pooled, free, total.

    And the limit of ``set_memory_limit``, and what was copied for want of memory: ``spilled`` to
    the host, and ``returned``.

    Parameters
    ----------
    device : device, optional
        By default the default device.

    Returns
    -------
    MemoryInfo
        A named tuple. Forces nothing.

    Raises
    ------
    ValueError
        For ``cpu``, which has no memory apart from the host's.
    """
    chosen = select.default_device() if device is None else parse_device(device)
    if chosen is CPU:
        raise ValueError("memory_info: device 'cpu' has no memory of its own; ask 'cuda' or 'sim'")
    backend = select.backend_for(chosen)
    with backend.batch():
        return backend.memory_info()


def set_memory_limit(limit: int | None, *, device: Any = None) -> None:
    """Bound the memory that arrays may have on a device; what is above it is spilled at once.

    Parameters
    ----------
    limit : int or None
        Bytes. None takes the bound away: then the device's memory is the bound.
    device : device, optional
        By default the default device.

    Raises
    ------
    ValueError
        For a negative limit, and for ``cpu``, which has no memory apart from the host's.

    Notes
    -----
    ``LAZYARR_MEMORY_LIMIT`` sets the limit of every device at the start. An allocation above the
    limit makes arrays that were not used for longest go to the host until they are used again; see
    ``docs/location.md``. It raises ``OutOfMemoryError`` if that does not help.
    """
    chosen = select.default_device() if device is None else parse_device(device)
    if chosen is CPU:
        raise ValueError("set_memory_limit: device 'cpu' has no memory of its own")
    if limit is not None:
        limit = operator.index(limit)
        if limit < 0:
            raise ValueError(f"set_memory_limit: a limit is not negative, but {limit} was given")
    state = _evaluation.runtime(chosen)
    pressure.set_limit(state.backend, state.lock, limit)


def default_device(device: Any) -> AbstractContextManager[Device]:
    """Make a device the default one inside a ``with`` block, for this thread or task.

    Parameters
    ----------
    device : device
        A name such as ``"cuda:1"``, or a ``Device``.

    Returns
    -------
    context manager
        Its ``as`` target is the ``Device``.
    """
    return scoped_default(device)  # type: ignore[no-any-return]


def set_default_device(device: Any) -> None:
    """Make a device the default one of the process; None goes back to the rule.

    The rule: ``LAZYARR_DEVICE``, or else the first GPU, or else ``cpu``.
    """
    set_process_default(device)


def devices() -> tuple[Device, ...]:
    """Return the devices of this machine: GPUs, ``cpu``, and ``sim`` where it is enabled."""
    return select.devices()


def stream(stream: Any, *, device: Any = None) -> AbstractContextManager[None]:
    """Send this thread's (or task's) work on a device to a stream, inside a ``with`` block.

    Parameters
    ----------
    stream : object
        A PyCUDA, torch or CuPy stream, an object with ``__cuda_stream__``, a handle, or None for
        the null stream. The caller keeps it alive until its work is done.
    device : device, optional
        By default the default device.

    Returns
    -------
    context manager
        Arrays that another stream used last are waited for, on the device.

    Raises
    ------
    ValueError
        On a device without streams.
    """
    chosen = select.default_device() if device is None else parse_device(device)
    use = None if chosen is CPU else getattr(select.backend_for(chosen), "use_stream", None)
    if use is None:
        raise ValueError(f"device {chosen} has no streams; use 'cuda'")
    return use(stream)  # type: ignore[no-any-return]
