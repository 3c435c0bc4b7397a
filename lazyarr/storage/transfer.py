"""The one function that copies between host and device.

Every copy of the library passes here, so that every copy is counted and traced.
"""

from __future__ import annotations

import time

from .. import ledger
from ..runtime.base import Backend, Event, HostBytes


def copy(
    backend: Backend,
    direction: str,
    device: int,
    host: HostBytes,
    cause: str,
    kind: str = "copy",
    *,
    ahead: bool = False,
) -> Event | None:
    """Copy ``host.nbytes`` bytes between a device address and a host buffer.

    Parameters
    ----------
    direction : {"h2d", "d2h"}
        A download waits until the bytes are there; an upload from page-locked memory does not.
    cause : str
        What asked for the bytes, for the trace.
    kind : {"copy", "control", "spill"}
        Control reads are small and steer the library (a count, an error flag). Spills take bytes
        to the host because the device's memory is short, and back. Both are counted apart.
    ahead : bool
        Upload beside the later work of the current stream, if the backend can.

    Returns
    -------
    Event or None
        What to wait for before the bytes are used, if the current stream does not do so by itself.
    """
    if host.nbytes == 0:
        return None
    started = time.perf_counter()
    with backend.batch():
        before: Event | None = None
        after: Event | None = None
        span = backend.upload_ahead(device, host) if ahead else None
        if span is not None:
            before, after = span
        else:
            before = backend.record() if ledger.sinks else None
            if direction == "h2d":
                backend.copy_to_device(device, host)
            else:
                backend.copy_to_host(host, device)
            after = backend.record() if ledger.sinks else None
    count = ledger.counters
    if kind == "control":
        count.control += 1
    elif kind == "spill":
        _count_spill(backend, direction, host.nbytes)
    elif direction == "h2d":
        count.h2d += 1
        count.bytes_h2d += host.nbytes
    else:
        count.d2h += 1
        count.bytes_d2h += host.nbytes
    if ledger.sinks:
        event = ledger.Event(kind, direction, host.nbytes, cause)
        if before is not None:
            event.clock = ledger.Clock(backend, before, after)
        ledger.emit(event, started)
    return None if span is None else span[1]


def _count_spill(backend: Backend, direction: str, nbytes: int) -> None:
    count = ledger.counters
    if direction == "h2d":
        count.bytes_returned += nbytes
        backend.budget.bytes_returned += nbytes
    else:
        count.bytes_spilled += nbytes
        backend.budget.bytes_spilled += nbytes


def control_read(backend: Backend, device: int, nbytes: int, cause: str) -> HostBytes:
    """Return a few bytes that steer the library, read through page-locked memory."""
    buffer = backend.host_buffer(nbytes)
    copy(backend, "d2h", device, buffer, cause, "control")
    return buffer
