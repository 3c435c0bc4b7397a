"""Measure the host path without a device: ``python -m benchmarks.host``, on the wheel.

The device does nothing, but its calls are Python's, and cost what the last rows say.
``docs/design/performance.md`` explains the parts.
"""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import lazyarr as xp
from benchmarks.null_device import NAME, Null, null_device
from lazyarr._array import wrap
from lazyarr.codegen.launch import Run, upload
from lazyarr.graph import evaluate
from lazyarr.graph.capture import capture
from lazyarr.graph.node import Value
from lazyarr.graph.optable import OPS
from lazyarr.storage.storage import Storage

_CALLS = 4000
_ROUNDS = 9
_SIZE = 1024


def microseconds(call: Callable[[], object]) -> float:
    """Return the median time of a call, less that of a call that does nothing."""
    return _median(call) - _median(lambda: None)


def _median(call: Callable[[], object]) -> float:
    timer = timeit.Timer(call)
    timer.timeit(_CALLS)
    return statistics.median(timer.repeat(_ROUNDS, _CALLS)) / _CALLS * 1e6


def _evaluated(build: Callable[[], xp.Array]) -> None:
    evaluate.force([build()._cell.value], "benchmark")


def whole(build: Callable[[], xp.Array]) -> dict[str, float]:
    """Return what an expression takes that is evaluated, and one that is dropped before."""
    return {
        "in all": microseconds(lambda: _evaluated(build)),
        "building, and dropping unevaluated": microseconds(build),
    }


def node_parts(x: xp.Array, y: xp.Array) -> dict[str, float]:
    """Return the parts of making one operation's result."""
    op = OPS["multiply"]
    value = (x * y)._cell.value
    spec, args, shape, device = value.spec, value.args, value.shape, value.device
    return {
        "promotion": microseconds(lambda: op.specs.get((x._dtype, y._dtype))),
        "node": microseconds(lambda: Value(spec, args, None, None, None, shape, device)),
        "bounds, cell and array": microseconds(lambda: wrap(value)),
        "operator, with all of these": microseconds(lambda: x * y),
    }


def direct_parts(build: Callable[[], xp.Array]) -> dict[str, float]:
    """Return the parts of evaluating one operation whose plan is known."""
    x = build()
    value = x._cell.value
    state = evaluate.runtime(x.device)
    storages: Any = evaluate._operands(value)
    key = evaluate._direct_key(value, storages)
    plan: Any = state.plans[key]
    step = plan.steps[0][0]
    slots = [*storages, None]
    return {
        "key": microseconds(lambda: evaluate._direct_key(value, storages)),
        "look-up": microseconds(lambda: state.plans.get(key)),
        "operands on the device": microseconds(
            lambda: upload(state.backend, slots, plan.leaves, "benchmark")
        ),
        "allocation, packing and launch": microseconds(lambda: step.run_plain(state, slots)),
    }


def captured_parts(build: Callable[[], xp.Array]) -> dict[str, float]:
    """Return the parts of evaluating an expression whose plan is known."""
    x = build()
    value = x._cell.value
    state = evaluate.runtime(x.device)
    tape = capture([value])
    tape.key.append(value.slot)
    words = tape.key
    key = tuple(words)
    plan: Any = state.plans[key]
    step = plan.steps[0][0]

    def run_of() -> Run:
        held = [v.real for v in tape.order if v is not None]
        return Run(state, held, tape.scalars, tape.offsets, "benchmark")

    run = run_of()
    return {
        "key: capture": microseconds(lambda: capture([value])),
        "key: one tuple": microseconds(lambda: tuple(words)),
        "look-up": microseconds(lambda: state.plans.get(key)),
        "what the slots hold": microseconds(run_of),
        "operands on the device": microseconds(
            lambda: upload(state.backend, run.storages, plan.leaves, "benchmark")
        ),
        "allocation, packing and launch": microseconds(lambda: step.run(run)),
    }


def device_parts(backend: Null) -> dict[str, float]:
    """Return what the device that does nothing takes itself, and allocation around it."""

    def batch() -> None:
        with backend.batch():
            pass

    typed: Any = backend
    return {
        "a storage made and dropped": microseconds(lambda: Storage(typed, 4 * _SIZE)),
        "of it, the device's allocation": microseconds(lambda: backend.allocate(4 * _SIZE)),
        "the device's launch": microseconds(lambda: backend.launch(None, (1,), (1,), b"")),
        "the device's batch": microseconds(batch),
    }


def main() -> None:
    with null_device() as backend:
        a, b, c = (xp.asarray(np.ones(_SIZE, np.float32), device=NAME) for _ in range(3))

        def chain() -> xp.Array:
            t = a
            for _ in range(5):
                t = t * b + c
            return t

        programs = {
            "a * b": lambda: a * b,
            "a * b + c - a": lambda: a * b + c - a,
            "chain of 10": chain,
        }
        _show("making a node", node_parts(a, b))
        for name, build in programs.items():
            for _ in range(3):
                _evaluated(build)
            parts = direct_parts if build is programs["a * b"] else captured_parts
            _show(name, whole(build) | parts(build))
        _show("the device", device_parts(backend))


def _show(title: str, parts: dict[str, float]) -> None:
    print(title)
    for name, time in parts.items():
        print(f"  {name:36} {time:7.3f} us")


if __name__ == "__main__":
    main()
