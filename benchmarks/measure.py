"""Timing: device time by events, host time by the clock, medians of repeated runs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import lazyarr as xp
from lazyarr._devices import Device
from lazyarr.runtime.select import backend_for

GPU = Device("cuda")


def gpu_milliseconds(run: Callable[[], object], repeat: int = 15) -> float:
    """Return the median device time of a call, by events around it, after two warm-up calls."""
    backend = backend_for(GPU)
    times = []
    for n in range(repeat + 2):
        with backend.batch():
            before = backend.record()
            run()
            after = backend.record()
            after.synchronize()
            if n >= 2:
                times.append(after.milliseconds_since(before))
    return statistics.median(times)


def host_microseconds(
    runs: dict[str, Callable[[], object]], calls: int = 500, groups: int = 21
) -> dict[str, float]:
    """Return the median host time of calls that only queue work.

    Groups of calls alternate between the programs, so that a change of the machine's speed meets
    them all.
    """
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


def peers() -> dict[str, Any]:
    """Return the libraries to compare with that are installed here: CuPy, torch, JAX."""
    found: dict[str, Any] = {}
    for name in ("cupy", "torch", "jax"):
        try:
            found[name] = __import__(name)
        except ImportError:
            continue
    return found
