"""``LAZYARR_DEBUG=1``: a line on stderr for every kernel and library call.

Owns the log of a process. It listens like a trace, and writes an event once the device has done the
work, without waiting for it before the process ends.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import TextIO

from . import _config, ledger
from ._errors import KernelError
from .ledger import Event
from .profiling import bytes_text, read_clock, share_text, time_text

_SHOWN = ("kernel", "library")


class KernelLog:
    """Writes events to a stream in the order of their launches.

    ``waiting`` is what the ledger reports to: events not written so far. ``stream`` None stands for
    what ``sys.stderr`` is at the time.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.waiting: list[Event] = []
        self._stream = stream
        self._lock = threading.RLock()
        self._at_exit = False

    def write_finished(self) -> None:
        """Write the events whose work is done, up to the first one whose work is not."""
        with self._lock:
            if self.waiting and not self._at_exit:
                # Here and not at the start: the log goes before the devices, which close at exit.
                atexit.register(self.write_all)
                self._at_exit = True
            while self.waiting and _is_done(self.waiting[0]):
                self._write(self.waiting.pop(0))

    def write_all(self) -> None:
        """Wait for the devices, and write every event."""
        with self._lock:
            for backend in {e.clock.backend for e in self.waiting if e.clock is not None}:
                try:
                    with backend.batch():
                        backend.synchronize()
                except KernelError as error:
                    self._put(f"lazyarr: no times of the last kernels: {error}")
                    self.waiting.clear()
            while self.waiting:
                self._write(self.waiting.pop(0))

    def forget(self) -> None:
        """Leave what is waiting to the parent: for a forked child."""
        self._lock = threading.RLock()
        self.waiting.clear()

    def _write(self, e: Event) -> None:
        if e.kind in _SHOWN:
            read_clock(e)
            self._put(line_of(e))

    def _put(self, line: str) -> None:
        stream = sys.stderr if self._stream is None else self._stream
        if stream is not None:  # there is none under pythonw
            stream.write(line + "\n")


def _is_done(e: Event) -> bool:
    clock = e.clock
    if e.kind not in _SHOWN or clock is None:
        return True
    with clock.backend.batch():
        return bool(clock.after.done())


def line_of(e: Event) -> str:
    """Return the line of a kernel whose time is known."""
    details = e.details
    count = len(details["operations"])
    parts = [
        f"{count} operation{'' if count == 1 else 's'}",
        f"{bytes_text(details['read'])} read",
        f"{bytes_text(details['written'])} written",
    ]
    if e.gpu_seconds is not None:
        parts.append(time_text(e.gpu_seconds))
    if details.get("share") is not None:
        parts.append(f"{share_text(details['share'])} of a copy's rate")
    parts.append(f"binary from {details['binary']}" if "binary" in details else "library call")
    return f"lazyarr {details['device']}: {e.name}: {', '.join(parts)}"


def start_if_asked() -> None:
    """Start the process's log if the environment asks for it."""
    if not _config.config.debug:
        return
    log = KernelLog()
    ledger.sinks.append(log.waiting)
    ledger.watchers.append(log.write_finished)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=log.forget)
