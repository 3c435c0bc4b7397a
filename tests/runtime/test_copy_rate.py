"""The rate at which a device copies its own memory."""

from __future__ import annotations

from typing import Any

import pytest

import lazyarr as xp
from lazyarr._devices import parse_device
from lazyarr.runtime.base import MemoryInfo
from lazyarr.runtime.copy_rate import measured_copy_rate
from lazyarr.runtime.select import backend_for
from lazyarr.runtime.sim import SimBackend

MIB = 1 << 20


class Counting(SimBackend):
    """A simulated device with little memory that counts what it copies."""

    def __init__(self, free: int) -> None:
        super().__init__(7)
        self.free = free
        self.copied: list[int] = []

    def memory_info(self) -> MemoryInfo:
        return super().memory_info()._replace(free=self.free)

    def copy_on_device(self, destination: int, source: int, nbytes: int) -> None:
        self.copied.append(nbytes)
        super().copy_on_device(destination, source, nbytes)


def test_it_is_measured_and_leaves_nothing() -> None:
    backend = Counting(18 * MIB)
    xp.stats(reset=True)
    rate = measured_copy_rate(backend)
    assert rate is not None
    assert 1e6 < rate < 1e13
    assert len(backend.copied) > 1
    assert set(backend.copied) == {4 * MIB}  # twice that fits into half of what is free
    info = backend.memory_info()
    assert (info.used, info.pooled) == (0, 0)
    assert set(xp.stats()) == {0}


def test_without_memory_it_is_unknown() -> None:
    backend = Counting(3 * MIB)
    assert measured_copy_rate(backend) is None
    assert backend.copied == []


def test_the_simulator_has_no_ceiling() -> None:
    assert SimBackend(7).copy_rate() is None


@pytest.mark.cuda
def test_a_gpu_is_measured_once() -> None:
    backend: Any = backend_for(parse_device("cuda"))
    with backend.batch():
        before = backend.memory_info()
        rate = backend.copy_rate()
        assert 1e10 < rate < 5e13
        assert backend.copy_rate() == rate
        after = backend.memory_info()
    assert (after.used, after.peak) == (before.used, before.peak)
