"""Timing on one GPU: device time by events, wall time, host time.

Device time is what the device needs once all is queued: a kernel that only waits goes first, and
calls are queued behind it. The programs that are compared take turns, so that a change of the
machine's speed meets them all.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import lazyarr as xp
from lazyarr._devices import Device
from lazyarr.runtime.select import backend_for

GPU = Device("cuda")
Call = Callable[[int], object]  # takes the number of the call: which set of inputs it reads

_LONGEST_WAIT = 0.02  # s, on the device
_CALLS = 40
_ROUND_SECONDS = 2e-3
_WAIT = """
__global__ void wait(long long nanoseconds) {
  long long start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do {
    __nanosleep(500);
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}
"""


@dataclass(frozen=True)
class Timing:
    """Milliseconds of a call: medians over the rounds; ``spread`` is (largest - smallest) / median.

    ``device`` is None for a library whose streams cannot be timed from outside (JAX).
    """

    device: float | None
    wall: float
    spread: float

    @property
    def best(self) -> float:
        """The device's time where there is one."""
        return self.wall if self.device is None else self.device


@dataclass(frozen=True)
class Program:
    """Something to time: ``call(n)`` queues the n-th call, ``wait()`` waits for all of them."""

    call: Call
    wait: Callable[[], object]
    events: bool = True  # whether its work is ordered with the null stream


@cache
def _wait_kernel() -> Any:
    return xp.SourceModule(_WAIT, device="cuda").get_function("wait")


def _hold(seconds: float) -> None:
    nanoseconds = np.int64(min(seconds, _LONGEST_WAIT) * 1e9)
    _wait_kernel()(nanoseconds, block=(1, 1, 1), grid=(1, 1))


def _device_round(program: Program, calls: int, queue_seconds: float) -> float:
    backend = backend_for(GPU)
    _hold(queue_seconds)
    with backend.batch():
        before = backend.record()
    for n in range(calls):
        program.call(n)
    with backend.batch():
        after = backend.record()
        after.synchronize()
        return after.milliseconds_since(before) / calls


def _wall_round(program: Program, calls: int) -> float:
    program.wait()
    start = time.perf_counter()
    for n in range(calls):
        program.call(n)
    program.wait()
    return (time.perf_counter() - start) / calls * 1e3


def _calls(program: Program) -> tuple[int, float]:
    """Return how many calls make a round, and the seconds that queueing them takes."""
    program.call(0)
    program.wait()
    start = time.perf_counter()
    program.call(1)
    queued = time.perf_counter() - start
    program.wait()
    once = time.perf_counter() - start
    calls = max(1, min(_CALLS, round(_ROUND_SECONDS / max(once, 1e-6))))
    return calls, 1.5 * calls * queued + 1e-4


def compare(programs: Mapping[str, Program], rounds: int = 5) -> dict[str, Timing]:
    """Time programs side by side."""
    plans = {name: _calls(program) for name, program in programs.items()}
    device: dict[str, list[float]] = {name: [] for name in programs}
    wall: dict[str, list[float]] = {name: [] for name in programs}
    for n in range(rounds + 1):
        for name, program in programs.items():
            calls, queue_seconds = plans[name]
            times = (
                _device_round(program, calls, queue_seconds) if program.events else None,
                _wall_round(program, calls),
            )
            if n:  # the first round warms up
                wall[name].append(times[1])
                if times[0] is not None:
                    device[name].append(times[0])
    found = {}
    for name in programs:
        median = statistics.median(device[name]) if device[name] else None
        used = device[name] or wall[name]
        spread = (max(used) - min(used)) / statistics.median(used)
        found[name] = Timing(median, statistics.median(wall[name]), spread)
    return found


def gpu_milliseconds(run: Callable[[], object], rounds: int = 5) -> float:
    """Return the device time of a call of ours."""
    timing = compare({"": Program(lambda n: run(), xp.synchronize)}, rounds)[""]
    assert timing.device is not None
    return timing.device


def host_microseconds(
    runs: Mapping[str, Callable[[], object]], calls: int = 500, groups: int = 21
) -> dict[str, float]:
    """Return the median host time of calls that only queue work."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        for _ in range(calls):
            run()
    for _ in range(groups):
        for name, run in runs.items():
            xp.synchronize()
            start = time.perf_counter()
            for _ in range(calls):
                run()
            times[name].append((time.perf_counter() - start) / calls * 1e6)
    xp.synchronize()
    return {name: statistics.median(found) for name, found in times.items()}
