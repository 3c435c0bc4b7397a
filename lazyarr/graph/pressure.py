"""Memory under pressure: which arrays go to the host when the device has no room.

Owns ``ArrayRelief``, what a device's budget calls (``runtime.budget``), and ``set_limit``. Nothing
is kept for it while memory is plenty: arrays are found by a walk over Python's objects, and their
last uses are noted only once memory was short or has a limit. (What ``gc.freeze`` took from the
walk is never spilled.)

A storage may go if nothing but its value refers to it. Whoever works with one (an evaluation, a
library call, the launch of a user's kernel, a read) refers to it, and so keeps it where it is.
"""

from __future__ import annotations

import gc
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from .._devices import CPU
from ..runtime.base import Backend, OutOfMemoryError
from ..runtime.select import made_backends
from ..storage.storage import Storage, uses
from .node import Value, leaf, leaf_work

CAUSE: Final = "device memory is short"
_SHOWN: Final = 5
# More is spilled than asked for, so that the next few allocations need no walk: a share of the
# memory, and no more bytes than are copied in the time of a walk.
_SLACK_SHARE: Final = 16
_SLACK: Final = 1 << 27
# Arrays smaller than this share of what is needed go last.
_SMALL_SHARE: Final = 1024
_LARGEST: Final = 1 << 28


class ArrayRelief:
    """Spills arrays of one device; see ``runtime.budget.Relief``."""

    def __init__(self, backend: Backend, lock: Any) -> None:
        self.backend = backend
        self.lock: threading.RLock = lock
        self._busy = False
        self._host_is_full = False
        if backend.budget.limit is not None:
            _note_uses()

    def spill(self, nbytes: int, *, partly: bool) -> int:
        """Spill arrays that nobody uses now, the least recently used ones first."""
        if self._busy:
            return 0
        with self.lock, self.backend.batch():
            self._busy = True
            try:
                return self._spill(nbytes, partly)
            finally:
                self._busy = False

    def _spill(self, nbytes: int, partly: bool) -> int:
        uses.on = True
        storages = [v.real for v in values_on(self.backend)]
        chosen = [n for n in range(len(storages)) if _keeps(storages, n) is None]
        if not partly and sum(storages[n].nbytes for n in chosen) < nbytes:
            return 0
        small = nbytes // _SMALL_SHARE
        chosen.sort(key=lambda n: (storages[n].nbytes < small, storages[n].used))
        wanted = nbytes + min(self.backend.budget.total // _SLACK_SHARE, _SLACK)
        freed = 0
        self._host_is_full = False
        for n in chosen:
            if freed >= wanted:
                break
            try:
                storages[n].spill(CAUSE)
            except MemoryError:
                self._host_is_full = True
                break
            freed += storages[n].nbytes
        return freed

    def report(self) -> str:
        """Return text on the largest arrays of the device, and on why arrays stay there."""
        values = values_on(self.backend)
        storages = [v.real for v in values]
        reasons = [_keeps(storages, n) for n in range(len(storages))]
        order = sorted(range(len(values)), key=lambda n: -storages[n].nbytes)
        total = sum(s.nbytes for s in storages)
        lines = [f"{len(values)} arrays have {total} bytes there; the largest:"]
        lines += [f"  {_described(values[n])}: {reasons[n] or 'could go'}" for n in order[:_SHOWN]]
        count: Counter[str] = Counter()
        held: Counter[str] = Counter()
        for storage, reason in zip(storages, reasons, strict=True):
            count[reason or "could go"] += 1
            held[reason or "could go"] += storage.nbytes
        lines += [f"{reason}: {n}, {held[reason]} bytes" for reason, n in count.most_common()]
        if self._host_is_full:
            lines.append("the host has no memory for what could be spilled")
        budget = self.backend.budget
        if budget.bytes_spilled:
            lines.append(f"spilled so far: {budget.bytes_spilled} bytes")
        return "\n".join(lines)


@contextmanager
def let_go_if_short() -> Iterator[None]:
    """Let a traceback that somebody keeps hold no arrays, for they would count as used."""
    try:
        yield
    except OutOfMemoryError as error:
        # All but this frame and the generator's caller, which still run.
        traceback.clear_frames(error.__traceback__)
        raise


def _real_values(backend: Backend) -> list[Any]:
    """Return the real values of a device, wherever their bytes are."""
    found: list[Any] = [v for v in gc.get_objects() if type(v) is Value]
    # A value that another thread is making may lack the attribute.
    real = [v for v in found if getattr(v, "real", None) is not None]
    return [v for v in real if v.real.backend is backend]


def values_on(backend: Backend) -> list[Any]:
    """Return the real values that have memory on a device."""
    return [v for v in _real_values(backend) if v.real.ptr]


def _keeps(storages: list[Any], n: int) -> str | None:
    """Return why a storage cannot be spilled now; None if it can."""
    storage_is_used = _references(storages, n) > _RESTING
    storage: Storage = storages[n]
    if storage.host_open:
        return "open on the host"
    if storage.shared or storage.exported or storage.foreign or storage.memory is None:
        return "shared with others outside the library"
    if storage_is_used:
        return "used by what runs now"
    return None


def _references(storages: list[Any], n: int) -> int:
    return sys.getrefcount(storages[n])


def _resting() -> int:
    """Return the count for a storage that only its value holds, and a list."""
    value = leaf(Storage(None, 1), np.dtype("bool"), (), CPU)
    return _references([value.real], 0)


_RESTING: Final = _resting()


def _described(v: Any) -> str:
    storage = v.real
    line = f", made at {storage.line}" if storage.line else ""
    return f"{storage.nbytes} bytes, {v.dtype} {v.shape}{line}"


def set_limit(backend: Backend, lock: Any, limit: int | None) -> None:
    """Bound what arrays may have of a device's memory; spill at once what is above."""
    with lock, backend.batch():
        backend.set_limit(limit)
        _note_uses()
        for v in _real_values(backend):
            if not v.real.shared:
                v.work = leaf_work(v.real)
        if limit is not None:
            over = backend.memory_info().used - limit
            if over > 0:
                backend.budget.spill(over, partly=True)


def _note_uses() -> None:
    limited = [b.budget.limit is not None for b in made_backends()]
    uses.on = uses.on or any(limited)
    uses.large = min([_LARGEST, *[b.budget.total // 64 for b in made_backends()]])


__all__ = ["CAUSE", "ArrayRelief", "let_go_if_short", "set_limit", "values_on"]
