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

Where the device's memory is short, a storage is spilled: its device memory goes, and its bytes stay
on the host. It counts as before, so that users and the guard see no difference:

=====================  ===================================  ==============================
event                  SPILLED                              HOST m without device memory
=====================  ===================================  ==============================
it got there from      DEVICE: down; DEVICE m: no copy      HOST m: no copy
counts as              DEVICE m                             HOST m
device read            back, DEVICE m                       back, HOST m
device write, whole    DEVICE                               DEVICE
device write, part     back, DEVICE                         back, DEVICE
to device              back, DEVICE m                       back, DEVICE m
everything else        as DEVICE m                          as HOST m
=====================  ===================================  ==============================

``back`` and the ``down`` of a spill are copies that are counted apart.

A large storage that is moved to the device explicitly is ARRIVING first: its upload runs beside
what the stream is given later. It counts as DEVICE m, and becomes that once a kernel needs it.
"""

from __future__ import annotations

import sys
import time
from enum import Enum
from typing import Any, Final

import numpy as np

from .. import ledger
from ..runtime.base import ANY_STREAM, Backend, Event, HostBytes, Memory
from ..runtime.finalizers import DeathCount, Last
from . import guard, transfer


class Location(Enum):
    """Which copy of a storage is authoritative. The last two count as being on the device."""

    HOST = "host"
    DEVICE = "device"
    SPILLED = "spilled"
    ARRIVING = "arriving"


HOST: Final = Location.HOST
DEVICE: Final = Location.DEVICE
SPILLED: Final = Location.SPILLED
ARRIVING: Final = Location.ARRIVING

_LARGE: Final = 1 << 28
_AHEAD_FROM: Final = 1 << 20  # smaller uploads do not pay for a stream of their own


class Uses:
    """When storages were used: noted only once memory was short, or has a limit.

    ``now`` counts evaluations. ``large``: storages from this size on bound laziness.
    """

    __slots__ = ("large", "now", "on")

    def __init__(self) -> None:
        self.on = False
        self.now: int = 0
        self.large: int = _LARGE


uses: Final = Uses()


# Its own constant: at the end of the interpreter, imported names are gone before finalizers run.
_UNKNOWN: Final[int] = ANY_STREAM


class Storage:
    """Bytes with a location. ``backend`` is None for the ``cpu`` device: host memory only."""

    __slots__ = (
        "arrival",
        "backend",
        "checks",
        "exported",
        "foreign",
        "host",
        "host_open",
        "keeper",
        "line",
        "location",
        "memory",
        "mirrored",
        "nbytes",
        "ptr",
        "readonly",
        "shared",
        "stream",
        "used",
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
        self.used: int = uses.now
        self.arrival: Event | None = None  # of an upload that the stream has not waited for
        self.line = ""  # the user's, if a trace saw the storage made
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
        backend = self.backend
        if memory is not None and backend is not None:
            memory.used_on = _UNKNOWN if self.foreign else self.stream
            count = sys.getrefcount(self)
            if count > _deaths.alone and _deaths.is_referenced(count):
                if backend.many_streams:
                    memory.used_on = _UNKNOWN
                self.keeper = self.keeper, Last(backend.release, memory)
            else:
                backend.release(memory)

    @property
    def device_valid(self) -> bool:
        """Whether the device holds the storage's bytes now, or did before they were spilled."""
        return self.location is not HOST or (self.mirrored and not self.shared)

    def _allocate(self) -> None:
        if self.memory is None and self.backend is not None and self.nbytes and not self.ptr:
            self.memory = self.backend.allocate(self.nbytes)
            self.ptr = self.memory.ptr
            self.stream = self.memory.used_on

    def _upload(self, cause: str, kind: str = "copy") -> None:
        assert self.backend is not None and self.host is not None
        self._allocate()
        if self.backend.many_streams:
            self.join_stream()
        transfer.copy(self.backend, "h2d", self.ptr, self.host, cause, kind)
        if self.shared:
            # Somebody may write the buffer at any time: the copy must not be under way any more.
            with self.backend.batch():
                self.backend.record().synchronize()

    def _download(self, cause: str, kind: str = "copy") -> None:
        assert self.backend is not None
        if self.host is None or self.held():
            self.host = self.backend.host_buffer(self.nbytes)
        if self.backend.many_streams:
            self.join_stream()
        transfer.copy(self.backend, "d2h", self.ptr, self.host, cause, kind)

    def spill(self, cause: str) -> None:
        """Give the device's memory back. What only the device holds is copied to the host first.

        The caller has made sure that nobody uses the memory: see ``graph.pressure``.
        """
        memory = self.memory
        assert memory is not None and self.backend is not None
        started = time.perf_counter()
        counts = self.device_valid
        copies = counts and not self.mirrored
        if copies:
            self._download(cause, "spill")
            self.mirrored = True
        if self.location is not HOST:
            self.location = SPILLED
        self.arrival = None
        self.memory = None
        self.ptr = 0
        memory.used_on = self.stream
        self.backend.release(memory)
        if not counts:
            return  # what the memory held was out of date
        ledger.counters.spills += 1
        if ledger.sinks and not copies:
            ledger.emit(ledger.Event("spill", "no copy", 0, cause), started)

    def _return(self, cause: str) -> None:
        """Bring back what was spilled, and wait for what is on its way."""
        if self.arrival is not None:
            self._arrive()
        elif not self.ptr and self.nbytes:
            self._upload(cause, "spill")
            ledger.counters.returns += 1
        if self.location is not HOST:
            self.location = DEVICE

    def _arrive(self) -> None:
        """Let the current stream wait for the upload that is under way, if there is one."""
        arrival = self.arrival
        if arrival is None:
            return
        assert self.backend is not None
        with self.backend.batch():
            self.backend.wait(arrival)
            self.stream = self.backend.stream_handle
        self.arrival = None

    def _send_ahead(self, cause: str) -> None:
        """Start an upload that the stream's later work need not wait for."""
        backend = self.backend
        assert backend is not None and self.host is not None
        kind = "spill" if self.device_valid else "copy"
        self._allocate()
        if backend.many_streams:
            self.join_stream()
        self.arrival = transfer.copy(backend, "h2d", self.ptr, self.host, cause, kind, ahead=True)
        if kind == "spill":
            ledger.counters.returns += 1
        self.location = DEVICE
        self.mirrored = True
        if self.arrival is not None:
            self.location = ARRIVING
            self.stream = backend.ahead_stream

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
        if self.device_valid:
            # A mirror: reading it crosses no bus, or would not if it had not been spilled.
            self._return(cause)
            return
        if not explicit:
            guard.check("h2d", self.nbytes, cause)
        self._upload(cause)
        self.mirrored = not self.shared

    def device_write(self, cause: str, *, whole: bool, explicit: bool = False) -> None:
        """Make the device authoritative before a kernel writes the storage, or a part of it."""
        if self.location is not DEVICE:
            if whole:
                self._arrive()
                self._allocate()
            else:
                self.device_read(cause, explicit=explicit)
        if whole:
            self.checks = None
        self.location = DEVICE
        self.drop_mirror()

    def host_read(self, cause: str, *, explicit: bool = False) -> HostBytes:
        """Return the storage's bytes on the host; guarded while the device is authoritative."""
        if self.location is not HOST:
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
        self._arrive()
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
            host: HostBytes = np.empty(self.nbytes, np.uint8)
        else:
            host = self.backend.host_buffer(self.nbytes)
        if keep and old is not None:
            host[:] = old
        self.host = host  # only now: on ``cpu`` others may be computing with it

    def settle(self, location: Location, cause: str) -> None:
        """Explicitly make one side authoritative, keeping the other side as a mirror."""
        if location is self.location or self.backend is None:
            return
        if location is DEVICE:
            if self.location is ARRIVING:
                return
            here = self.ptr and self.device_valid
            if not here and not self.shared and self.nbytes >= _AHEAD_FROM:
                self._send_ahead(cause)
                return
            self.device_read(cause, explicit=True)
        else:
            self.host_read(cause, explicit=True)
        self.location = location
        self.mirrored = not self.shared

    def control_read(self, start: int, nbytes: int, cause: str) -> HostBytes:
        """Return bytes that steer the library: a small copy, counted apart, if the host lacks them.

        The storage is on a kernel device, and real.
        """
        if self.location is not DEVICE:
            return self.host_read(cause, explicit=True)[start : start + nbytes]
        self.verify()
        assert self.backend is not None
        return transfer.control_read(self.backend, self.ptr + start, nbytes, cause)

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


_deaths: Final = DeathCount()


def _let_one_die() -> None:
    """Let a storage die that nobody refers to, for ``_deaths``."""
    storage = Storage(None, 1)
    storage.backend = _NoDevice()  # type: ignore[assignment]
    storage.memory = _NoMemory()


class _NoMemory:
    """The memory of a storage that is only there to die."""

    def __init__(self) -> None:
        self.ptr = 0
        self.nbytes = 0
        self.used_on = 0


class _NoDevice:
    """Where it comes from."""

    many_streams = False

    def release(self, memory: Memory) -> None:
        """Do nothing."""


_let_one_die()


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
