"""The locks of the process, their order, and what a fork does with them.

A forked child has one thread. A lock that another thread held would stay locked there for good,
over data half changed. So a fork waits for all locks first, the outer ones before the inner ones,
and both sides let go of them afterwards. Imports nothing of lazyarr.

All locks are reentrant: a finalizer or a signal handler of the user's may run in the thread that
holds one.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from enum import IntEnum
from typing import Any

_FORK_SECONDS = 10.0  # how long a fork waits for other threads, in all
_PRUNE_FROM = 256


class Rank(IntEnum):
    """The order in which a thread takes locks: never one of a lower rank while it has a higher."""

    RUNTIME = 0  # making what the graph keeps of a device
    BACKEND = 1  # making a backend
    DEVICE = 2  # a device's evaluations, writes and reads
    SHARE = 3  # the count of holders of shared storages
    CHECKS = 4  # the error slots of a device
    COMPILE = 5  # the modules of a simulated device
    LAUNCH = 6  # the one launch of all simulated devices
    POOL = 7  # the memory of a simulated device
    CAPSULE = 8  # taking a DLPack capsule


_locks: list[tuple[Rank, weakref.ref[Any]]] = []
_of_fork = threading.local()


def make_lock(rank: Rank) -> Any:
    """Return a new reentrant lock, which forks look after."""
    lock = threading.RLock()
    if len(_locks) > _PRUNE_FROM:
        _locks[:] = [(r, known) for r, known in _locks if known() is not None]
    _locks.append((rank, weakref.ref(lock)))
    return lock


def _alive() -> list[Any]:
    """Return the locks, outer ones first."""
    found = [(rank, known()) for rank, known in list(_locks)]
    return [lock for _, lock in sorted(found, key=lambda pair: pair[0]) if lock is not None]


def _before_fork() -> None:
    """Take every lock; leave out one that stays taken for too long."""
    deadline = time.monotonic() + _FORK_SECONDS
    held = []
    for lock in _alive():
        if lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            held.append(lock)
    _of_fork.held = held


def _after_in_parent() -> None:
    for lock in reversed(_of_fork.held):
        lock.release()
    _of_fork.held = []


def _after_in_child() -> None:
    held = {id(lock) for lock in _of_fork.held}
    for lock in _alive():
        if id(lock) not in held:
            lock._at_fork_reinit()  # whoever has it is not here
    _after_in_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
