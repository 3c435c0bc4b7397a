"""The process around CUDA: which threads are inside the driver, and how it all ends.

Owns the exit handler and what a forked child may do. Imports ``runtime.base``; makes no CUDA call.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol

from lazyarr.runtime.base import DeviceUnavailableError

_EXIT_SECONDS = 10.0  # how long the exit waits for other threads
_PRUNE_FROM = 256


class Process:
    """``closed`` says why CUDA cannot be used any more; it is empty while it can.

    ``started``: the driver was initialised, so that a forked child cannot use it. ``ending``: the
    interpreter shuts down. An object, because a module's names are None to those who still run when
    it is cleared.
    """

    __slots__ = ("closed", "ending", "started")

    def __init__(self) -> None:
        self.closed = ""
        self.ending = False
        self.started = False

    def refuse(self) -> NoReturn:
        """Raise because CUDA is closed. A daemon thread at the end just ends: nobody is told."""
        if self.ending and threading.current_thread() is not threading.main_thread():
            raise SystemExit
        raise DeviceUnavailableError(self.closed)


process = Process()


class Batch(Protocol):
    """A context that a thread made current."""

    def unwind(self) -> None:
        """Leave it, however often it was entered."""
        ...


class Closeable(Protocol):
    """A backend, as the end of the process sees it."""

    def close(self) -> None:
        """Wait for the device; from then on its objects die silently."""
        ...

    def abandon(self) -> None:
        """Let its objects die silently, without any call to CUDA."""
        ...


class Thread:
    """What one thread is doing: ``batch`` is the innermost one it is in."""

    __slots__ = ("__weakref__", "batch", "busy")

    def __init__(self) -> None:
        self.batch: Batch | None = None
        self.busy = 0


class _ThisThread(threading.local):
    def __init__(self) -> None:
        self.state = Thread()
        if len(_threads) > _PRUNE_FROM:
            _threads[:] = [known for known in _threads if known() is not None]
        _threads.append(weakref.ref(self.state))


_threads: list[weakref.ref[Thread]] = []
_this_thread = _ThisThread()
_backends: list[Closeable] = []


def this_thread() -> Thread:
    """Return the calling thread's state."""
    state: Thread = _this_thread.state
    return state


def register(backend: Closeable) -> None:
    """Have a backend closed when the process ends."""
    _backends.append(backend)


@contextmanager
def busy() -> Iterator[None]:
    """Mark the thread as inside the driver, so that the process does not end under it."""
    state = this_thread()
    state.busy += 1
    try:
        if process.closed:
            process.refuse()
        yield
    finally:
        state.busy -= 1


def leak(thing: Any) -> None:
    """Keep an object to the end of the process, past the interpreter's own clean-up."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _others_inside(own: Thread) -> bool:
    states = [known() for known in list(_threads)]
    return any(s is not None and s is not own and (s.batch or s.busy) for s in states)


def _close_at_exit() -> None:
    """Wait for the work queued, then make what is still alive die without a word."""
    process.ending = True
    process.closed = process.closed or "CUDA cannot be used while the interpreter is shutting down"
    own = this_thread()
    while own.batch is not None:
        own.batch.unwind()
    # A daemon thread that is killed inside the driver would abort the process.
    deadline = time.monotonic() + _EXIT_SECONDS
    while _others_inside(own) and time.monotonic() < deadline:
        time.sleep(0.001)
    for backend in _backends:
        backend.close()


def _close_in_child() -> None:
    """Close CUDA in a forked child: it shares the parent's driver state and can use none of it."""
    if not process.started:
        return
    process.closed = (
        "CUDA cannot be used in a forked process whose parent used it: start processes with "
        "multiprocessing's 'spawn' or 'forkserver' method"
    )
    for backend in _backends:
        backend.abandon()
    _backends.clear()


atexit.register(_close_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
