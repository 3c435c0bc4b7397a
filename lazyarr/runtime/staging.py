"""Copies between a device and pageable memory, through page-locked chunks.

The bus has its full speed from page-locked memory alone, of which there is little. While the device
copies one chunk, the host fills or empties the other, with several threads. Imports
``runtime.base``; what the device does comes in as a ``Port``.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

import numpy as np

from lazyarr.runtime.base import Event, HostBytes

CHUNK: Final = 32 << 20
CHUNKS: Final = 2
# Below this the driver's own way is as good.
STAGED_FROM: Final = 8 << 20
_THREADS: Final = 4


class Port(Protocol):
    """How chunks cross the bus: asynchronously, in order."""

    def send(self, destination: int, chunk: HostBytes) -> Event:
        """Queue a copy to the device; the event is reached when it is done."""
        ...

    def fetch(self, chunk: HostBytes, source: int) -> Event:
        """Queue a copy from the device."""
        ...


def upload(port: Port, chunks: Sequence[HostBytes], destination: int, source: HostBytes) -> None:
    """Copy to the device. At return ``source`` is read, and the last chunks may be under way."""
    size = chunks[0].nbytes
    sent: deque[Event] = deque()
    with _Copier() as copier:
        for number, start in enumerate(range(0, source.nbytes, size)):
            if len(sent) == len(chunks):
                sent.popleft().synchronize()
            part = source[start : start + size]
            chunk = chunks[number % len(chunks)][: part.nbytes]
            copier.copy(chunk, part)
            sent.append(port.send(destination + start, chunk))


def download(port: Port, chunks: Sequence[HostBytes], destination: HostBytes, source: int) -> None:
    """Copy to the host; at return the bytes are there."""
    size = chunks[0].nbytes
    fetched: deque[tuple[Event, HostBytes, HostBytes]] = deque()
    with _Copier() as copier:
        for number, start in enumerate(range(0, destination.nbytes, size)):
            if len(fetched) == len(chunks):
                _empty(copier, *fetched.popleft())
            part = destination[start : start + size]
            chunk = chunks[number % len(chunks)][: part.nbytes]
            fetched.append((port.fetch(chunk, source + start), chunk, part))
        while fetched:
            _empty(copier, *fetched.popleft())


def _empty(copier: _Copier, event: Event, chunk: HostBytes, part: HostBytes) -> None:
    event.synchronize()
    copier.copy(part, chunk)


class _Copier:
    """Copies on the host with several threads, which live as long as one transfer."""

    def __init__(self) -> None:
        self._count = min(_THREADS, os.cpu_count() or 1)

    def __enter__(self) -> _Copier:
        self._pool = ThreadPoolExecutor(self._count, "lazyarr-copy")
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool.shutdown()

    def copy(self, destination: HostBytes, source: HostBytes) -> None:
        share = -(-source.nbytes // self._count)
        starts = range(0, source.nbytes, share)
        try:
            parts = [self._pool.submit(_copy, destination, source, n, n + share) for n in starts]
        except RuntimeError:  # the interpreter ends, and starts no threads any more
            np.copyto(destination, source)
            return
        for part in parts:
            part.result()


def _copy(destination: HostBytes, source: HostBytes, start: int, stop: int) -> None:
    np.copyto(destination[start:stop], source[start:stop])
