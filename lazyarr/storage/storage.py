"""Storage: one allocation, and which side holds the truth of it.

Owns ``Location`` and every change of it. The legal moves (``m`` stands for mirrored: the other side
holds the same bytes too; whole and part say how much of the storage is written):

===================  ===========  ===========  ===========  ===========
event                HOST         HOST m       DEVICE       DEVICE m
===================  ===========  ===========  ===========  ===========
device read          up, HOST m   HOST m       DEVICE       DEVICE m
host read            HOST         HOST m       down, DEV m  DEVICE m
device write, whole  DEVICE       DEVICE       DEVICE       DEVICE
device write, part   up, DEVICE   DEVICE       DEVICE       DEVICE
host write, whole    HOST         HOST         HOST         HOST
host write, part     HOST         HOST         down, HOST   HOST
to device            up, DEV m    DEVICE m     DEVICE       DEVICE m
to host              HOST         HOST m       down, HOST m HOST m
===================  ===========  ===========  ===========  ===========

``up`` and ``down`` are the only copies. A shared storage (one whose pointer left the library) is
never mirrored: a read on the other side copies every time.
"""

from __future__ import annotations

import sys
from enum import Enum
from typing import Any, Final

import numpy as np

from ..runtime.base import ANY_STREAM, Backend, HostBytes, Memory
from . import guard, transfer


class Location(Enum):
    """Which copy of a storage is authoritative."""

    HOST = "host"
    DEVICE = "device"


HOST: Final = Location.HOST
DEVICE: Final = Location.DEVICE


class Storage:
    """Bytes with a location. ``backend`` is None for the ``cpu`` device: host memory only."""

    __slots__ = (
        "backend",
        "checks",
        "exported",
        "foreign",
        "host",
        "host_open",
        "keeper",
        "location",
        "memory",
        "mirrored",
        "nbytes",
        "ptr",
        "readonly",
        "shared",
        "stream",
    )

    def __init__(self, backend: Backend | None, nbytes: int, allocate: bool = True) -> None:
        """Make a storage whose memory is allocated and not yet written, or one without memory."""
        self.backend = backend
        self.nbytes = nbytes
        self.host: HostBytes | None = None
        self.keeper: Any = None  # the foreign owner of memory that is not ours
        self.location = DEVICE
        self.mirrored = False
        self.shared = 0
        self.exported = False  # an address was given away that nobody gives back
        self.foreign = False  # others may use the memory, on streams that we do not know
        self.host_open = 0  # open writable views of the host's side
        self.readonly = False
        self.stream = 0
        # What the data depends on that is not known to be good: see ``checks``.
        self.checks: list[Any] | None = None
        self.memory: Memory | None = None
        self.ptr = 0
        if not allocate:
            return
        if backend is None:
            self.location = HOST
            self.host = np.empty(nbytes, np.uint8)
        elif nbytes:
            self.memory = backend.allocate(nbytes)
            self.ptr = self.memory.ptr
            self.stream = self.memory.used_on

    def __del__(self) -> None:
        memory = self.memory
        if memory is not None and self.backend is not None:
            memory.used_on = ANY_STREAM if self.foreign else self.stream
            self.backend.release(memory)

    @property
    def device_valid(self) -> bool:
        """Whether the device holds the storage's bytes now."""
        return self.location is DEVICE or (self.mirrored and not self.shared)

    def _allocate(self) -> None:
        if self.memory is None and self.backend is not None and self.nbytes and not self.ptr:
            self.memory = self.backend.allocate(self.nbytes)
            self.ptr = self.memory.ptr
            self.stream = self.memory.used_on

    def _upload(self, cause: str) -> None:
        assert self.backend is not None and self.host is not None
        self._allocate()
        if self.backend.many_streams:
            self.join_stream()
        transfer.copy(self.backend, "h2d", self.ptr, self.host, cause)
        if self.shared:
            # Somebody may write the buffer at any time: the copy must not be under way any more.
            with self.backend.batch():
                self.backend.record().synchronize()

    def _download(self, cause: str) -> None:
        assert self.backend is not None
        if self.host is None or self.held():
            self.host = self.backend.host_buffer(self.nbytes)
        if self.backend.many_streams:
            self.join_stream()
        transfer.copy(self.backend, "d2h", self.ptr, self.host, cause)

    def held(self) -> bool:
        """Whether somebody still looks at the host buffer: a view of it, or an upload under way."""
        return self.host is not None and _references(self) > _UNHELD

    def verify(self) -> None:
        """Raise IndexError if the data was computed with an index out of range. May wait."""
        checks = self.checks
        if checks is not None:
            for check in checks:
                check.verify()
            self.checks = None

    def add_checks(self, checks: list[Any]) -> None:
        """Note what else the data depends on: earlier launches, which are blamed first."""
        known = self.checks or []
        self.checks = [check for check in checks if check not in known] + known

    def device_read(self, cause: str, *, explicit: bool = False) -> None:
        """Make the device's copy valid; guarded if there is none and the access is implicit."""
        if self.location is DEVICE:
            return
        if not explicit:
            # With a mirror the device copy is valid, and reading it crosses no bus.
            if self.device_valid:
                return
            guard.check("h2d", self.nbytes, cause)
        if not self.device_valid:
            self._upload(cause)
            self.mirrored = not self.shared

    def device_write(self, cause: str, *, whole: bool, explicit: bool = False) -> None:
        """Make the device authoritative before a kernel writes the storage, or a part of it."""
        if self.location is HOST:
            if whole:
                self._allocate()
            else:
                self.device_read(cause, explicit=explicit)
        if whole:
            self.checks = None
        self.location = DEVICE
        self.drop_mirror()

    def host_read(self, cause: str, *, explicit: bool = False) -> HostBytes:
        """Return the storage's bytes on the host; guarded while the device is authoritative."""
        if self.location is DEVICE:
            if self.checks is not None:
                self.verify()
            if not explicit:
                guard.check("d2h", self.nbytes, cause)
            if not self.mirrored or self.shared:
                self._download(cause)
                self.mirrored = not self.shared
        assert self.host is not None
        return self.host

    def host_write(self, cause: str, *, whole: bool, explicit: bool = False) -> HostBytes:
        """Return the host's bytes for writing; afterwards the host is authoritative."""
        if not whole:
            self.host_read(cause, explicit=explicit)
        if self.host is None or self.held():
            self._replace_host(keep=not whole)
        self.checks = None
        self.location = HOST
        self.mirrored = False
        assert self.host is not None
        return self.host

    def _replace_host(self, *, keep: bool) -> None:
        """Leave the host buffer to those who hold it and take another."""
        if self.shared and self.location is HOST:
            return  # the holder asked to see our writes
        old = self.host
        if self.backend is None:
            self.host = np.empty(self.nbytes, np.uint8)
        else:
            self.host = self.backend.host_buffer(self.nbytes)
        if keep and old is not None:
            self.host[:] = old

    def settle(self, location: Location, cause: str) -> None:
        """Explicitly make one side authoritative, keeping the other side as a mirror."""
        if location is self.location or self.backend is None:
            return
        if location is DEVICE:
            self.device_read(cause, explicit=True)
        else:
            self.host_read(cause, explicit=True)
        self.location = location
        self.mirrored = not self.shared

    def join_stream(self) -> None:
        """Order the current stream after the one that used the storage last."""
        assert self.backend is not None
        stream = self.backend.stream_handle
        if self.stream != stream:
            self.backend.wait_for_stream(self.stream)
            self.stream = stream

    def drop_mirror(self) -> None:
        """Forget the host's bytes; whoever holds them keeps them."""
        self.mirrored = False
        if self.location is DEVICE and not self.shared:
            self.host = None


def _references(storage: Storage) -> int:
    return sys.getrefcount(storage.host)


def _references_unheld() -> int:
    """Return the count for a host buffer that only its storage holds."""
    return _references(Storage(None, 1))


_UNHELD: Final = _references_unheld()


def from_host(backend: Backend | None, data: HostBytes) -> Storage:
    """Return a storage whose host buffer is ``data`` itself; nothing is copied."""
    storage = Storage(backend, data.nbytes, allocate=False)
    if type(data.base) is np.ndarray and data.nbytes:
        # NumPy lets views refer to the array underneath: `held` would not see them.
        data = np.frombuffer(data.data, np.uint8)
    storage.host = data
    storage.location = HOST
    return storage


def from_foreign(
    backend: Backend, ptr: int, nbytes: int, keeper: Any, *, readonly: bool
) -> Storage:
    """Return a storage over somebody else's device memory, kept alive by ``keeper``."""
    storage = Storage(backend, nbytes, allocate=False)
    storage.ptr = ptr
    storage.keeper = keeper
    storage.shared = 1
    storage.readonly = readonly
    return storage
