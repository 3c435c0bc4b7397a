"""Counters and the event list that lower layers report to.

Owns the process-wide counters behind ``xp.stats`` and the lists of active traces and of those that
are told after each event. Imports nothing of lazyarr, so that every layer can report.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

_PACKAGE = str(Path(__file__).parent)


class Stats(NamedTuple):
    """Counts since the last reset. Bytes are bytes; ``control`` counts small reads that steer.

    ``spills`` counts arrays whose device memory was needed for others, ``returns`` how often one
    came back; what was copied for that is in ``bytes_spilled`` and ``bytes_returned`` alone.
    """

    launches: int
    compiles: int
    h2d: int
    d2h: int
    bytes_h2d: int
    bytes_d2h: int
    control: int
    library_calls: int
    evaluations: int
    spills: int = 0
    returns: int = 0
    bytes_spilled: int = 0
    bytes_returned: int = 0


class Clock(NamedTuple):
    """The device events around a piece of work, and the backend that recorded them."""

    backend: Any
    before: Any
    after: Any


@dataclass
class Event:
    """One thing that happened: kernel, copy, spill, control, compile, evaluate or library.

    ``seconds`` is host time from start to end of the call; ``gpu_seconds`` is the device's, read
    from ``clock`` once the work is done. ``line`` is the user's Python line.
    """

    kind: str
    name: str
    nbytes: int = 0
    cause: str = ""
    seconds: float = 0.0
    gpu_seconds: float | None = None
    line: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    clock: Clock | None = None


class Counters:
    """The live counters; increments happen under the caller's device lock or are single-thread."""

    def __init__(self) -> None:
        self.sinks: list[list[Event]] = []  # one list an active trace
        self.reset()

    def reset(self) -> None:
        self.launches: int = 0
        self.compiles: int = 0
        self.h2d: int = 0
        self.d2h: int = 0
        self.bytes_h2d: int = 0
        self.bytes_d2h: int = 0
        self.control: int = 0
        self.library_calls: int = 0
        self.evaluations: int = 0
        self.spills: int = 0
        self.returns: int = 0
        self.bytes_spilled: int = 0
        self.bytes_returned: int = 0

    def snapshot(self) -> Stats:
        return Stats(
            self.launches,
            self.compiles,
            self.h2d,
            self.d2h,
            self.bytes_h2d,
            self.bytes_d2h,
            self.control,
            self.library_calls,
            self.evaluations,
            self.spills,
            self.returns,
            self.bytes_spilled,
            self.bytes_returned,
        )


counters: Final = Counters()
sinks: Final[list[list[Event]]] = counters.sinks
# Called after an event was added to the sinks, and after a wait for a device.
watchers: Final[list[Callable[[], None]]] = []


def emit(event: Event, started: float | None = None) -> None:
    """Add an event to every active trace, with the user's line. Costs nothing without a trace."""
    if not sinks:
        return
    if started is not None:
        event.seconds = time.perf_counter() - started
    if not event.line:
        event.line = user_line()
    for sink in tuple(sinks):  # another thread's trace may end meanwhile
        sink.append(event)
    tell_watchers()


def tell_watchers() -> None:
    """Say that work of a device may have finished."""
    for watcher in watchers:
        watcher()


def user_line() -> str:
    """Return ``file:line`` of the innermost frame outside lazyarr."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return ""
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
