"""Field cases of group M: device memory."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest

import lazyarr as xp

from .common import eq, kernel


@pytest.fixture
def unit(kernel_device: str) -> Iterator[int]:
    """Return how many float32 elements stand for a GiB; what other tests left is out of the way."""
    gc.collect()
    xp.set_memory_limit(0)
    xp.set_memory_limit(None)
    yield (1 << 24) if kernel_device == "cuda" else (1 << 14)
    xp.set_memory_limit(None)


def limit(units: float, unit: int) -> int:
    xp.synchronize()
    bound = xp.memory_info().used + int(4 * units * unit)
    xp.set_memory_limit(bound)
    return bound


def test_130_cached_blocks_are_given_back_before_anything_fails(unit: int) -> None:
    bound = limit(1.0, unit)
    a = xp.ones((2, unit // 4), dtype=xp.float32)
    xp.evaluate(a)
    del a
    xp.stats(reset=True)
    b = xp.ones((3, unit // 4), dtype=xp.float32)
    xp.evaluate(b)
    assert xp.stats().spills == 0
    assert xp.memory_info().used <= bound
    assert float(xp.sum(b)) == 3 * unit // 4


COPY = """
extern "C" __global__ void copy(const float* p, float* q) { q[threadIdx.x] = p[threadIdx.x]; }
"""


@pytest.mark.parametrize("by", ["an operation", "a library", "a kernel", "a checked operation"])
def test_130_an_array_that_a_traceback_keeps_is_no_obstacle(unit: int, by: str) -> None:
    a = xp.ones(unit, dtype=xp.float32) * 2
    index = xp.asarray(np.arange(2)) * 1
    copy = kernel(COPY, "copy")
    xp.evaluate(a, index)
    limit(0.5, unit)
    with pytest.raises(xp.OutOfMemoryError) as caught:
        if by == "an operation":
            xp.evaluate(a + xp.zeros((2, 1), dtype=xp.float32))
        elif by == "a checked operation":
            xp.evaluate(xp.take(a[:2], index) + a[:, None])
        elif by == "a library":
            xp.linalg.qr(xp.reshape(a, (128, -1)))
        else:
            copy((1,), (1,), (xp.In(a), xp.Out(xp.empty(unit, dtype=xp.float32) + 1)))
    b = xp.ones(unit, dtype=xp.float32) * 3
    xp.evaluate(b)  # a is spilled, although the traceback still has the frames that used it
    eq(b, np.full(unit, 3, np.float32))
    eq(a, np.full(unit, 2, np.float32))
    assert "cannot allocate" in str(caught.value)


def test_131_no_fragmentation(unit: int) -> None:
    """One and four units twice, with one in between, under a limit of eight."""
    limit(8, unit)

    def both() -> float:
        small, large = xp.ones(unit, dtype=xp.int32), xp.ones(4 * unit, dtype=xp.int32)
        xp.evaluate(small, large)
        return float(xp.sum(small)) + float(xp.sum(large))

    xp.stats(reset=True)
    assert both() == 5 * unit
    middle = xp.ones(unit, dtype=xp.int32) * 7
    xp.evaluate(middle)
    assert both() == 5 * unit
    assert xp.stats().spills == 0
    assert int(middle[-1]) == 7


def test_133_memory_is_taken_on_demand(unit: int) -> None:
    before = xp.memory_info().used
    arrays = [xp.ones(unit, dtype=xp.float32) for _ in range(4)]
    assert xp.memory_info().used == before  # nothing needed it so far
    bound = limit(2, unit)
    for x in arrays:
        xp.evaluate(x * 2)
        assert xp.memory_info().used <= bound
    del arrays


def test_134_the_device_is_full(unit: int) -> None:
    limit(4, unit)
    arrays = [xp.full(unit, float(k), dtype=xp.float32) * 1 for k in range(8)]
    for x in arrays:
        xp.evaluate(x)
    s = xp.stats()
    assert s.spills >= 4
    assert s.bytes_spilled >= 4 * 4 * unit
    assert all(x.location == "device" for x in arrays)
    for k, x in enumerate(arrays):
        assert float(xp.max(x)) == float(xp.min(x)) == k
    assert xp.stats().d2h - s.d2h == 16  # the reads of the maxima and minima, and nothing else
