"""Indices that a kernel found out of range: recorded on the device, looked at before data is read.

A kernel that uses computed indices gets an error slot of its own. What it stores carries the check,
and so does what is computed from that; a read, an export or a write in place looks at the slots
first, all at once, and raises if an index was bad. Nothing waits for the device before that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ledger
from ..runtime.base import Backend
from ..runtime.locks import Rank, make_lock
from . import transfer
from .storage import Storage

SLOT_BYTES = 32  # {site, index, axis, size} as 64-bit integers; site: of the user's line, or 0
_SLOTS = 256


def out_of_range(index: int, axis: int, size: int, line: str = "") -> BaseException:
    """Return the error for an index, with a note of the line that made the operation."""
    text = f"index {index} is out of bounds for axis {axis} with size {size}"
    return ledger.noted(IndexError(text), line)


class Check:
    """The outcome of one launch's indices: not known yet, all good, or the first bad one."""

    __slots__ = ("bad", "done", "ptr", "slots", "stream")

    def __init__(self, slots: ErrorSlots, ptr: int) -> None:
        self.slots = slots
        self.ptr = ptr
        self.stream = slots.backend.stream_handle
        self.done = False
        self.bad: tuple[int, int, int, int] | None = None

    def verify(self) -> None:
        """Wait for the launch if its outcome is not known, and raise IndexError if it was bad."""
        if not self.done:
            self.slots.resolve()
        if self.bad is not None:
            site, index, axis, size = self.bad
            raise out_of_range(index, axis, size, ledger.site_line(site))


class ErrorSlots:
    """The slots of one device. ``watch``: some storage may carry a check that is not good."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.watch = False
        self._failed = False
        self._pending: list[Check] = []
        self._storage: Storage | None = None
        self._lock = make_lock(Rank.CHECKS)

    def new(self) -> Check:
        """Return the check of a launch that follows. May wait, once in a few hundred."""
        with self._lock:
            if self._storage is None:
                self._storage = Storage(self.backend, _SLOTS * SLOT_BYTES)
                self.backend.fill_zero(self._storage.ptr, self._storage.nbytes)
            if self.backend.many_streams:
                self._storage.join_stream()
            if len(self._pending) == _SLOTS:
                self.resolve()
            check = Check(self, self._storage.ptr + len(self._pending) * SLOT_BYTES)
            self._pending.append(check)
            self.watch = True
            return check

    def resolve(self) -> None:
        """Wait for all launches with a check, and note how they ended: one small control read."""
        with self._lock, self.backend.batch():
            pending = self._pending
            if not pending or self._storage is None:
                return
            if self.backend.many_streams:
                for stream in {check.stream for check in pending}:
                    self.backend.wait_for_stream(stream)
            nbytes = len(pending) * SLOT_BYTES
            data = transfer.control_read(self.backend, self._storage.ptr, nbytes, "index check")
            found: Any = data.view(np.int64).reshape(len(pending), -1)
            self._pending = []
            for check, slot in zip(pending, found.tolist(), strict=True):
                check.done = True
                if slot[0]:
                    check.bad = slot[0], slot[1], slot[2], slot[3]
                    self._failed = True
            if found[:, 0].any():
                self.backend.fill_zero(self._storage.ptr, self._storage.nbytes)
            self.watch = self._failed
