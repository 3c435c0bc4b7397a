"""``LAZYARR_DEBUG=1``: a line for every kernel, when its time is known."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from lazyarr import ledger
from lazyarr._errors import KernelError
from lazyarr.kernel_log import KernelLog

ROOT = Path(__file__).resolve().parent.parent

PROGRAM = """
import numpy as np
import lazyarr as xp

x = xp.asarray(np.arange(1000, dtype=np.float32))
for _ in range(2):
    y = x * 2.5 + 1.25
    xp.evaluate(y)
with xp.trace() as t:
    a = xp.asarray(np.eye(8))
    xp.evaluate(a @ a)
print(float(y[3]), xp.stats().launches, [e.gpu_seconds is not None for e in t if e.clock is None])
xp.evaluate(xp.sum(y))
"""

LINE = re.compile(
    r"lazyarr (?P<device>\w+): (?P<name>[\w+]+): (?P<operations>\d+) operations?, "
    r"(?P<read>[\d.]+ \w+) read, (?P<written>[\d.]+ \w+) written, (?P<time>[\d.]+ [mu]?s), "
    r"((?P<share>\d+)% of a copy's rate, )?"
    r"(binary from (?P<binary>memory|disk cache|compiler)|library call)"
)


def run(device: str, **environment: str) -> tuple[str, list[str]]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environ = {**os.environ, "PYTHONPATH": path, "LAZYARR_DEVICE": device, **environment}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=120,
        env=environ,
        check=True,
    )
    return done.stdout, done.stderr.splitlines()


def test_a_line_for_every_kernel(kernel_device: str) -> None:
    quiet, nothing = run(kernel_device, LAZYARR_DEBUG="0", LAZYARR_CACHE="1")
    output, lines = run(kernel_device, LAZYARR_DEBUG="1", LAZYARR_CACHE="1")
    assert nothing == []
    assert output == quiet
    found = [LINE.fullmatch(line) for line in lines]
    assert all(found), lines
    rows = [m.groupdict() for m in found if m is not None]
    kernels = [(r["name"], r["operations"], r["read"], r["written"]) for r in rows]
    assert kernels == [
        ("multiply+add", "2", "3.906 KiB", "3.906 KiB"),
        ("multiply+add", "2", "3.906 KiB", "3.906 KiB"),
        ("matmul", "1", "1 KiB", "512 B"),
        ("sum", "1", "3.906 KiB", "4 B"),  # nothing waits for it but the end
    ]
    assert [r["binary"] for r in rows] == ["disk cache", "memory", None, "disk cache"]
    for r in rows:
        assert r["device"] == kernel_device
        assert (r["share"] is None) == (kernel_device == "sim")


class Moment:
    """An event of a device that reaches it when told so."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.reached = False

    def done(self) -> bool:
        return self.reached

    def milliseconds_since(self, earlier: Moment) -> float:
        assert self.reached, "read before the work was done"
        return (self.seconds - earlier.seconds) * 1e3


class Slow:
    """A device that has done nothing so far, and copies 2 MB/s."""

    kind = "cuda"
    ordinal = 1

    def __init__(self) -> None:
        self.moments: list[Moment] = []
        self.error: str | None = None

    def batch(self) -> AbstractContextManager[None]:
        return nullcontext()

    def record(self) -> Moment:
        self.moments.append(Moment(len(self.moments)))
        return self.moments[-1]

    def synchronize(self) -> None:
        if self.error is not None:
            raise KernelError(self.error)
        for moment in self.moments:
            moment.reached = True

    def copy_rate(self) -> float:
        return 2e6


def launch(log: KernelLog, backend: Slow, name: str) -> ledger.Event:
    """Add the event of a kernel that takes a second and moves a megabyte."""
    clock = ledger.Clock(backend, backend.record(), backend.record())
    details = {
        "device": "cuda:1",
        "operations": ("exp",),
        "read": 600_000,
        "written": 400_000,
        "binary": "memory",
    }
    event = ledger.Event("kernel", name, 1_000_000, "test", details=details, clock=clock)
    log.waiting.append(event)
    return event


@pytest.fixture
def text() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def log(text: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> KernelLog:
    monkeypatch.setattr("atexit.register", lambda function: function)
    return KernelLog(text)


def names(text: io.StringIO) -> list[str]:
    return [line.split(": ")[1] for line in text.getvalue().splitlines()]


def test_lines_come_in_order_and_without_waiting(log: KernelLog, text: io.StringIO) -> None:
    backend = Slow()
    first, second = launch(log, backend, "first"), launch(log, backend, "second")
    log.waiting.append(ledger.Event("copy", "d2h", 8))
    log.write_finished()
    assert names(text) == []
    assert second.clock is not None
    second.clock.after.reached = True  # on another stream: it waits for its turn
    log.write_finished()
    assert names(text) == []
    assert first.clock is not None
    first.clock.after.reached = True
    log.write_finished()
    assert names(text) == ["first", "second"]
    assert log.waiting == []


def test_the_end_waits_for_what_is_left(log: KernelLog, text: io.StringIO) -> None:
    launch(log, Slow(), "first")
    launch(log, Slow(), "second")
    log.write_all()
    assert text.getvalue().splitlines() == [
        f"lazyarr cuda:1: {name}: 1 operation, 585.9 KiB read, 390.6 KiB written, 1 s, "
        "50% of a copy's rate, binary from memory"
        for name in ("first", "second")
    ]


def test_a_device_that_failed_leaves_no_times(log: KernelLog, text: io.StringIO) -> None:
    backend = Slow()
    backend.error = "an illegal address"
    launch(log, backend, "first")
    log.write_all()
    assert text.getvalue() == "lazyarr: no times of the last kernels: an illegal address\n"
    assert log.waiting == []


def test_a_forked_child_writes_nothing_of_its_parent(log: KernelLog, text: io.StringIO) -> None:
    launch(log, Slow(), "first")
    log.forget()
    log.write_all()
    assert names(text) == []
