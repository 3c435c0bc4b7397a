"""Bounds on laziness: long loops, deep graphs, doublings and many inputs cost what they should."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import textwrap
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr.graph.evaluate import runtime

from .support import check, eager

ROOT = Path(xp.__file__).parents[1]


def _growth(step: Callable[[], Any], steps: int, backend: Any) -> int:
    """Return by how many bytes Python's memory grows over a number of steps.

    Without what a backend keeps of freed memory, which has bounds of its own.
    """

    def held() -> int:
        gc.collect()
        with backend.batch():
            backend.free_cached()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        for _ in range(500):
            step()
        before = held()
        for _ in range(steps):
            step()
        return held() - before
    finally:
        tracemalloc.stop()


def test_a_hundred_thousand_steps_use_flat_memory(kernel_device: str) -> None:
    x = xp.asarray([1.0, 2.0])
    for _ in range(2000):
        x = x * 0.5 + 1.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(100_000):
        x = x * 0.5 + 1.0
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    check(x, np.asarray([2.0, 2.0]))
    assert after - before < 20_000  # KiB


@pytest.mark.parametrize(
    "form", ["rebound", "in place", "augmented part", "two arrays", "reduction"]
)
def test_every_form_of_loop_uses_flat_memory(kernel_device: str, form: str) -> None:
    x, y = xp.asarray(np.arange(1.0, 9.0)), xp.asarray(np.ones(8))
    state = {"x": x, "y": y}

    def step() -> None:
        if form == "rebound":
            state["x"] = state["x"] * 0.5 + 1.0
        elif form == "in place":
            x[...] = x * 0.5 + 1.0
        elif form == "augmented part":
            x[2:5] *= 0.5
        elif form == "two arrays":
            state["x"], state["y"] = state["y"] * 0.5, state["x"] + 1.0
        else:
            state["y"] = state["y"] * 0.5 + xp.sum(state["x"])

    assert _growth(step, 3000, runtime(x.device).backend) < 100_000


def test_twenty_thousand_deep(device: str) -> None:
    x = xp.zeros(3)
    keep = []
    for i in range(20_000):
        x = -x + 1
        if i % 1000 == 0:
            keep.append(x)
    check(keep[0], np.ones(3))
    check(x, np.zeros(3))
    del keep, x


def test_deep_through_views_and_reductions(kernel_device: str) -> None:
    x = xp.asarray(np.arange(4.0))
    for _ in range(1500):
        x = x[::-1] + 1
    for _ in range(300):
        x = x - xp.max(x)
    check(x, np.arange(4.0) - 3)


def _doubling(count: int) -> float:
    started = time.process_time()
    x = xp.asarray(np.ones(4))
    for _ in range(count):
        x = x + x
    check(x, np.full(4, 2.0**count))
    return time.process_time() - started


def test_doublings_take_linear_time(device: str) -> None:
    _doubling(60)
    assert _doubling(60) < 1.0
    assert _doubling(600) < 5.0


def test_doublings_of_a_product(device: str) -> None:
    x = xp.asarray(np.ones(4))
    y = x
    for _ in range(60):
        x, y = x * y, y + x * 0
    check(x, np.ones(4))


@pytest.mark.parametrize("count", [47, 48, 49, 121, 600])
def test_many_leaves(device: str, count: int) -> None:
    parts = [xp.asarray(np.full(8, float(i))) for i in range(count)]
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    check(total, np.full(8, count * (count - 1) / 2.0))


def test_many_scalars(device: str) -> None:
    x = xp.asarray(np.zeros(8))
    for i in range(2000):
        x = x + float(i)
    check(x, np.full(8, 1999 * 2000 / 2.0))


def test_many_pending_arrays_at_once(device: str) -> None:
    x = xp.asarray(np.arange(6.0))
    results = [x * float(i) for i in range(1000)]
    xp.evaluate(*results)
    for i in (0, 1, 500, 999):
        check(results[i], np.arange(6.0) * i)


def test_a_wide_and_deep_net(device: str) -> None:
    layer = [xp.asarray(np.full(4, float(i))) for i in range(8)]
    want = [np.full(4, float(i)) for i in range(8)]
    for k in range(12):
        layer = [(layer[i] + layer[(i + k) % 8]) * 0.5 for i in range(8)]
        want = [(want[i] + want[(i + k) % 8]) * 0.5 for i in range(8)]
    for x, n in zip(layer, want, strict=True):
        check(x, n)


PROGRAM = """
    import lazyarr as xp
    import numpy as np

    x = xp.asarray(np.arange(12.0).reshape(3, 4))
    old = x * 2
    x[1:] = x[:-1]
    x += x[::-1]
    y = xp.sqrt(xp.abs(x)) - xp.mean(x, axis=1, keepdims=True)
    y[y > 0.0] = 1.0
    z = xp.cumulative_sum(xp.take(y, xp.asarray([2, 0]), axis=0), axis=1)
    xp.evaluate(y)
    print(float(xp.sum(old)), np.asarray(x).tolist(), np.asarray(z).tolist())
    print(xp.stats().launches, file=__import__("sys").stderr)
"""


def _output(device: str, **environment: str) -> tuple[str, int]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environ = {**os.environ, "PYTHONPATH": path, "LAZYARR_DEVICE": device, **environment}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environ,
        check=True,
    )
    return done.stdout, int(done.stderr)


def test_the_environment_variable_for_eager_evaluation(kernel_device: str) -> None:
    lazy, few = _output(kernel_device)
    at_once, many = _output(kernel_device, LAZYARR_EAGER="1")
    assert lazy == at_once
    assert few < many


def test_eager_operations_are_evaluated_at_the_call(kernel_device: str) -> None:
    x = xp.asarray(np.arange(5.0))

    def nothing_is_pending() -> bool:
        before = xp.stats(reset=True).launches
        xp.evaluate(y)
        return before > 0 and xp.stats().launches == 0

    with eager():
        y = x + 1
        assert nothing_is_pending()
        y += x
        assert nothing_is_pending()
        y[1:3] = 0.0
        assert nothing_is_pending()
        y[...] = x * 2
        assert nothing_is_pending()
    check(y, np.arange(5.0) * 2)
