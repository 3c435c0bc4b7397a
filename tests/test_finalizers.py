"""Finalizers of users, in dead cycles, that use arrays whose own finalizers may have run before."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr.runtime.finalizers import Last

Make = Callable[[], tuple[Any, ...]]
ADD = 'extern "C" __global__ void add(double* p) { p[threadIdx.x] += 1; }'


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Leave it to the test when the collector runs."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class InCycle:
    """Calls a function when the collector finds it; dies with everything it was given."""

    def __init__(self, act: Callable[..., Any], *things: Any) -> None:
        self.me = self
        self.act = act
        self.things = things

    def __del__(self) -> None:
        self.act(*self.things)


def die_in_cycle(act: Callable[..., Any], make: Make, *, late: bool) -> None:
    """Collect a cycle whose finalizer is called before those of what it uses, or after."""
    if late:
        things = make()
        cycle = InCycle(act, *things)
        del things, cycle
    else:
        cycle = InCycle(act)
        cycle.things = make()
        del cycle
    gc.collect()


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("kind", ["real", "pending", "view", "mirrored", "host", "written"])
def test_arrays_live_as_long_as_finalizers_use_them(device: str, kind: str, late: bool) -> None:
    seen: list[list[float]] = []

    def make() -> tuple[xp.Array, ...]:
        x = xp.arange(6, dtype=xp.float64) * 2
        xp.evaluate(x)
        if kind == "pending":
            return (x + 0.0,)
        if kind == "view":
            return (x[::-1][::-1],)
        if kind == "mirrored":
            np.asarray(x)
        if kind == "host":
            return (xp.asarray(np.arange(0.0, 12.0, 2.0)),)
        if kind == "written":
            x[0] = 0.0
        return (x,)

    def act(x: xp.Array) -> None:
        others = [xp.full(6, -1.0) * k for k in range(4)]  # would take memory that was given away
        xp.evaluate(*others)
        seen.append((x * 1).get().tolist())
        x += 1
        seen.append(x.get().tolist())

    die_in_cycle(act, make, late=late)
    assert seen == [[0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 11]]


@pytest.mark.parametrize("late", [False, True])
def test_memory_is_given_back_afterwards(kernel_device: str, late: bool) -> None:
    xp.memory_info()
    gc.collect()
    before = xp.memory_info().used
    for _ in range(3):
        die_in_cycle(lambda x: float(xp.sum(x)), lambda: (xp.ones(1000) * 2 + 1,), late=late)
        die_in_cycle(lambda x: xp.evaluate(x), lambda: (xp.ones(1000) * 2 + 1,), late=late)
    assert xp.memory_info().used == before


def test_arrays_that_a_finalizer_saves(kernel_device: str) -> None:
    saved: list[xp.Array] = []
    x = xp.ones(100) * 3
    xp.evaluate(x)
    used = xp.memory_info().used
    die_in_cycle(saved.append, lambda: (x * 2,), late=True)

    def real() -> tuple[xp.Array]:
        y = x * 2
        xp.evaluate(y)
        return (y,)

    die_in_cycle(saved.append, real, late=True)
    del real
    other = xp.zeros(100) + 9
    xp.evaluate(other)
    assert [float(xp.sum(y)) for y in saved] == [600.0, 600.0]
    saved[1][0] = 7.0
    assert float(xp.sum(saved[1])) == 601.0
    del other
    saved.clear()
    gc.collect()
    assert xp.memory_info().used == used


@pytest.mark.parametrize("late", [False, True])
def test_kernels_live_as_long_as_finalizers_use_them(kernel_device: str, late: bool) -> None:
    x = xp.zeros(4)

    def make() -> tuple[Any, ...]:
        source = ADD.replace("+= 1", f"+= {2 + late}")
        return (xp.SourceModule(source).get_function("add"),)

    die_in_cycle(lambda add: add(x, block=4, grid=1), make, late=late)
    assert x.get().tolist() == [2.0 + late] * 4


@pytest.mark.parametrize("late", [False, True])
def test_imported_memory_lives_as_long_as_finalizers_use_it(late: bool) -> None:
    seen: list[float] = []
    die_in_cycle(
        lambda x: seen.append(float(xp.sum(x))),
        lambda: (xp.from_dlpack(np.arange(10.0)),),
        late=late,
    )
    assert seen == [45.0]


@pytest.mark.parametrize("late", [False, True])
def test_the_last_call(late: bool) -> None:
    """It comes once: after finalizers in its cycle, and after whoever they saved it for."""
    calls: list[str] = []
    saved: list[Any] = []
    die_in_cycle(
        lambda last: (calls.append("finalizer"), saved.append(last)),
        lambda: (Last(calls.append, "last"),),
        late=late,
    )
    assert calls == ["finalizer"]
    again = [saved.pop()]
    again.append(again)
    del again
    gc.collect()
    assert calls == ["finalizer", "last"]
    Last(calls.append, "at once")
    assert calls == ["finalizer", "last", "at once"]
