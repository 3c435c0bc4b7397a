"""What an operation costs the host, counted in Python calls and memory blocks, not in seconds.

The device is a stub that does nothing, so that what is counted is lazyarr's. Bounds lie close above
what is needed today.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest

import lazyarr as xp
from benchmarks.null_device import NAME, Null, null_device
from lazyarr.graph import node
from lazyarr.ledger import sinks

COMPILED = str(node.__file__).endswith((".so", ".pyd"))
REPEATS = 20
WARM_UP = 5
KEPT = 400

ADVICE = (
    "The host path got longer: see docs/design/performance.md for what each part costs and how to "
    "measure it. Take the new work out of the path of repeated operations (into plan making, or "
    "behind a test of an attribute); if it has to be there, measure on a wheel with "
    "python -m benchmarks.host and, on a GPU, python -m benchmarks, say what it costs, and raise "
    "the bound."
)


@pytest.fixture
def backend() -> Iterator[Null]:
    if sinks:
        pytest.skip("events are recorded (LAZYARR_DEBUG): every launch takes the longer way")
    with null_device() as made:
        yield made


def held(*shape: int) -> xp.Array:
    x = xp.asarray(np.ones(shape, np.float32), device=NAME)
    xp.prefetch(x)
    return x


def programs() -> dict[str, Callable[[], Any]]:
    """Return the programs that are counted; each leaves the arrays it began with."""
    a, b, c = held(1024), held(1024), held(1024)
    u, v = held(64, 64), held(64, 64)

    def chain() -> xp.Array:
        t = a
        for _ in range(5):
            t = t * b + c
        return t

    def jacobi() -> None:
        v[1:-1, 1:-1] = 0.25 * (u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])

    return {
        "a * a": lambda: evaluated(a * a),
        "a * b + c - a": lambda: evaluated(a * b + c - a),
        "chain of 10": lambda: evaluated(chain()),
        "a Jacobi step": jacobi,
        "a * b + c - a, pending": lambda: a * b + c - a,
    }


def evaluated(x: xp.Array) -> xp.Array:
    xp.evaluate(x)
    return x


def python_calls(program: Callable[[], Any]) -> float:
    """Return how many functions of lazyarr a repetition calls; those of the stub do not count."""
    for _ in range(WARM_UP):  # the first ones plan and compile
        program()
    count = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        if event == "call" and frame.f_globals.get("__name__", "").startswith("lazyarr"):
            count += 1

    before = sys.getprofile()
    gc.disable()  # finalizers of other tests' garbage would be counted
    try:
        sys.setprofile(profile)
        for _ in range(REPEATS):
            program()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count / REPEATS


CALLS = {
    "a * a": 21,
    "a * b + c - a": 41,
    "chain of 10": 92,
    "a Jacobi step": 223,
    "a * b + c - a, pending": 19,
}
# Of what is kept: the array, its cell and value, its storage, and what the stub allocates.
BLOCKS = {"a * a": 9, "a * b + c - a": 10, "a * b + c - a, pending": 9}


@pytest.mark.skipif(COMPILED, reason="the host path is compiled: a profiler does not see its calls")
@pytest.mark.parametrize("name", CALLS)
def test_python_calls(backend: Null, name: str) -> None:
    calls = python_calls(programs()[name])
    assert backend.launched == (0 if name.endswith("pending") else REPEATS + WARM_UP)
    assert calls <= CALLS[name], f"{name}: {calls} calls a time. {ADVICE}"


class Left(NamedTuple):
    """What repetitions leave, a repetition: memory blocks, and objects in cycles."""

    blocks: float
    in_cycles: float


def left_by(program: Callable[[], Any], keep: bool) -> Left:
    """Count what repetitions leave once their results are dropped, or kept."""
    for _ in range(50):
        program()
    kept: list[Any] = [None] * KEPT
    gc.collect()  # empties the interpreter's free lists, too
    gc.disable()
    try:
        before = sys.getallocatedblocks()
        for k in range(KEPT):
            result = program()
            if keep:
                kept[k] = result
        del result
        cycles = gc.collect()
        return Left((sys.getallocatedblocks() - before) / KEPT, cycles / KEPT)
    finally:
        gc.enable()


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_left_behind(backend: Null, name: str) -> None:
    left = left_by(programs()[name], keep=False)
    assert left.blocks < 0.1
    assert left.in_cycles < 0.1


@pytest.mark.parametrize(("name", "most"), BLOCKS.items())
def test_blocks_that_a_result_holds(backend: Null, name: str, most: int) -> None:
    blocks = left_by(programs()[name], keep=True).blocks
    assert round(blocks) <= most, f"{name}: a result holds {blocks} blocks. {ADVICE}"
