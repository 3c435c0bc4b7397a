"""Uploads that run ahead of the work that is queued after them: ``prefetch`` of large arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr.storage.storage import ARRIVING, DEVICE

N = 1 << 18  # float64: 2 MiB


def arriving(*seeds: int) -> list[tuple[xp.Array, Any]]:
    result = []
    for seed in seeds:
        data = np.random.default_rng(seed).random(N)
        result.append((xp.asarray(data), data))
    xp.prefetch(*[x for x, _ in result])
    return result


def state(x: xp.Array) -> Any:
    return x._cell.value.real.location


def test_each_is_waited_for_when_it_is_used(kernel_device: str) -> None:
    xp.stats(reset=True)
    (x, a), (y, b) = arriving(1, 2)
    assert [state(x), state(y)] == [ARRIVING, ARRIVING]
    assert [x.location, y.location] == ["device", "device"]
    assert (xp.stats().h2d, xp.stats().bytes_h2d) == (2, 16 * N)
    xp.prefetch(y)  # it is on its way
    with xp.transfer_guard("error"):
        z = x * 2
        xp.evaluate(z)
    assert [state(x), state(y)] == [DEVICE, ARRIVING]
    np.testing.assert_array_equal(z.get(), a * 2)
    np.testing.assert_array_equal((y + 1).get(), b + 1)
    assert xp.stats().h2d == 2


INCREMENT = """
extern "C" __global__ void inc(double* p, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) p[i] += 1.0;
}
"""


def _write_part(x: xp.Array, w: Any) -> None:
    x[1:5] = 3.0
    w[1:5] = 3.0


def _write_whole(x: xp.Array, w: Any) -> None:
    x[...] = 3.0
    w[...] = 3.0


def _write_on_the_host(x: xp.Array, w: Any) -> None:
    with x.host("rw") as h:
        h[7] = 1.0
    w[7] = 1.0


def _write_all_on_the_host(x: xp.Array, w: Any) -> None:
    with x.host("w") as h:
        h[:] = 1.0
    w[:] = 1.0


def _run_kernel(x: xp.Array, w: Any) -> None:
    increment = xp.SourceModule(INCREMENT).get_function("inc")
    increment(x, np.int64(N), grid=(N // 256,))
    w += 1


def _write_all_by_a_kernel(x: xp.Array, w: Any) -> None:
    increment = xp.SourceModule(INCREMENT.replace("+=", "=")).get_function("inc")
    increment(xp.Out(x), np.int64(N), grid=(N // 256,))
    w[:] = 1.0


def _settle_on_the_host(x: xp.Array, w: Any) -> None:
    xp.prefetch(x, to="host")
    assert x.location == "host"


def _spill(x: xp.Array, w: Any) -> None:
    xp.set_memory_limit(0)
    xp.set_memory_limit(None)
    assert x.location == "device"


def _spill_and_prefetch(x: xp.Array, w: Any) -> None:
    _spill(x, w)
    xp.prefetch(x)


def _read_an_element(x: xp.Array, w: Any) -> None:
    assert float(x[5]) == w[5]


@pytest.mark.parametrize(
    "do",
    [
        _write_part,
        _write_whole,
        _write_on_the_host,
        _write_all_on_the_host,
        _run_kernel,
        _write_all_by_a_kernel,
        _settle_on_the_host,
        _spill,
        _spill_and_prefetch,
        _read_an_element,
    ],
)
def test_whatever_comes_next_is_right(kernel_device: str, do: Callable[[Any, Any], None]) -> None:
    ((x, w),) = arriving(3)
    w = w.copy()
    do(x, w)
    np.testing.assert_array_equal((x + 0).get(), w)
    np.testing.assert_array_equal(np.asarray(x), w)
    xp.prefetch(x)
    x *= 2
    np.testing.assert_array_equal(x.get(), w * 2)


def test_an_array_that_dies_on_its_way_leaves_its_memory_in_order(kernel_device: str) -> None:
    for seed in range(5):
        ((x, _),) = arriving(seed)
        del x
        y = xp.full(N, 1.0) * 2
        xp.evaluate(y)
        assert float(xp.min(y)) == float(xp.max(y)) == 2.0


def test_small_arrays_come_in_order(kernel_device: str) -> None:
    x = xp.asarray(np.arange(10.0))
    xp.prefetch(x)
    assert state(x) is DEVICE


def test_a_trace_times_the_upload(kernel_device: str) -> None:
    with xp.trace() as t:
        ((x, _),) = arriving(1)
        xp.evaluate(x + 1)
    copies = [e for e in t if e.kind == "copy"]
    assert [(e.name, e.nbytes, e.cause) for e in copies] == [("h2d", 8 * N, "prefetch")]
    assert copies[0].gpu_seconds is not None
