"""Counters and the event list that lower layers report to, and the user's lines.

Owns the process-wide counters behind ``xp.stats``, the lists of active traces and of those that
are told after each event, and the numbers under which kernels know the user's lines. Imports
nothing of lazyarr, so that every layer can report.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final, NamedTuple

_PACKAGE: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep
_CONTEXTS: Final = str(contextlib.__file__)  # its frames lie between ours and the user's
_MOST_SITES: Final = 1 << 16


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


def _user_frame() -> FrameType | None:
    """Return the innermost frame outside lazyarr."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_PACKAGE) and name != _CONTEXTS:
            return frame
        frame = frame.f_back
    return None


def user_line() -> str:
    """Return ``file:line`` of the innermost frame outside lazyarr."""
    frame = _user_frame()
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


_sites: Final[dict[int, tuple[str, int]]] = {0: ("", 0)}
_site_numbers: Final[dict[tuple[str, int], int]] = {_sites[0]: 0}
_new_sites = itertools.count(1)


def site() -> int:
    """Return the number of the user's line, from 1, which a kernel can hand back with an error."""
    frame = _user_frame()
    place = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    number = _site_numbers.get(place)
    if number is None:
        number = 0
        if len(_sites) < _MOST_SITES:  # two threads may give one line two numbers: both are right
            number = next(_new_sites)
            _sites[number] = place
            _site_numbers[place] = number
    return number + 1


def site_line(number: int) -> str:
    """Return ``file:line`` of a number that ``site`` gave; empty if it had to forget it."""
    name, line = _sites[number - 1]
    return f"{name}:{line}" if name else ""


def noted(error: BaseException, line: str = "") -> BaseException:
    """Return an error with a note of the line that made the operation: by default, the user's."""
    where = line or user_line()
    if where:
        error.add_note(f"The operation was made at {where}")
    return error
