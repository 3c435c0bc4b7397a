"""Field cases of group A: transfers, the location, staleness."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr.graph.evaluate import runtime

from .common import eq, kernel

INCREMENT = """
extern "C" __global__ void inc(float* p, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) p[i] += 1.f;
}
"""
COPY = """
extern "C" __global__ void copy(const float* p, float* q, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) q[i] = p[i];
}
"""


@pytest.mark.parametrize("marked", [True, False])
def test_01_data_persists_between_kernel_launches(kernel_device: str, marked: bool) -> None:
    increment = kernel(INCREMENT, "inc")
    n = 1 << 20 if kernel_device == "cuda" else 1 << 10
    launches = 1000 if kernel_device == "cuda" else 200
    a = xp.zeros(n, dtype=xp.float32)
    xp.stats(reset=True)
    for _ in range(launches):
        increment((n // 256,), (256,), (xp.InOut(a) if marked else a, np.int64(n)))
    s = xp.stats()
    assert (s.h2d, s.d2h) == (0, 0)
    assert a.location == "device"
    assert float(a[0]) == launches
    s = xp.stats()
    assert (s.d2h, s.bytes_d2h) == (1, 4)


def test_02_read_only_arguments_are_not_copied_back(kernel_device: str) -> None:
    copy = kernel(COPY, "copy")
    n = 1 << 12
    a = xp.asarray(np.ones(n, dtype=np.float32))
    out = xp.empty_like(a)
    xp.stats(reset=True)
    copy((n // 256,), (256,), (xp.In(a), xp.Out(out), np.int64(n)))
    s = xp.stats()
    assert (s.h2d, s.d2h) == (1, 0)  # `out` is never uploaded, `a` never downloaded
    copy((n // 256,), (256,), (xp.In(a), xp.Out(out), np.int64(n)))
    assert xp.stats().h2d == 1  # nothing moves at the second launch
    eq(a, np.ones(n, np.float32))
    assert xp.stats().d2h == 0  # the host copy of `a` is still valid
    eq(out, np.ones(n, np.float32))
    assert xp.stats().d2h == 1


def test_04_the_verdict_does_not_depend_on_caches(kernel_device: str) -> None:
    a = xp.ones(10)
    xp.evaluate(a)
    with xp.transfer_guard("error"):
        eq(a.get(), np.ones(10))  # explicit: allowed, cold
        eq(a.get(), np.ones(10))  # and warm
        with pytest.raises(xp.TransferGuardError):
            float(xp.sum(a) + 1)
        with pytest.raises(xp.TransferGuardError):
            np.asarray(a)  # although a host copy is cached
    eq(a, np.ones(10))


def test_05_what_stays_on_the_host_is_no_transfer(kernel_device: str) -> None:
    xp.stats(reset=True)
    with xp.transfer_guard("error"):
        x = xp.asarray(np.arange(4.0))
        assert x.location == "host"
        assert x.shape == (4,)
        assert x.dtype == xp.float64
        assert np.asarray(x)[2] == 2.0
    assert (xp.stats().h2d, xp.stats().d2h) == (0, 0)


@pytest.mark.parametrize("n", [4, 100, 1_000_000])
@pytest.mark.parametrize("copy", [True, None])
def test_07_later_edits_of_the_source_are_not_seen(device: str, n: int, copy: Any) -> None:
    h = np.arange(float(n))
    x = xp.asarray(h, copy=copy)
    y = x + 1
    z = x * 2
    xp.evaluate(z)
    h[:] = -1.0
    assert float(x[0]) == 0.0
    assert float(y[0]) == 1.0
    assert float(z[1]) == 2.0


def test_08_an_upload_does_not_race_with_a_host_write(kernel_device: str) -> None:
    size = 64 << 20 if kernel_device == "cuda" else 1 << 16
    h = np.empty(size, np.uint8)
    h[:] = 1
    x = xp.asarray(h, copy=True)
    y = x * 1
    xp.evaluate(y)
    h[:] = 0
    assert int(xp.min(x)) == 1
    assert int(xp.min(y)) == 1


def test_08_an_upload_does_not_race_with_a_write_through_host(kernel_device: str) -> None:
    size = 16 << 20 if kernel_device == "cuda" else 1 << 12
    x = xp.asarray(np.ones(size, np.uint8))
    y = x * 1
    xp.evaluate(y)  # the upload may be in flight
    with x.host("rw") as h:
        h[:] = 0
    assert int(xp.min(y)) == 1
    assert int(xp.max(x)) == 0


def test_13_nothing_falls_back_to_the_host(kernel_device: str) -> None:
    a = xp.reshape(xp.arange(1e4), (100, 100))
    xp.evaluate(a)
    xp.stats(reset=True)
    with xp.transfer_guard("error"):
        r = xp.sort(xp.mean(a, axis=0) - xp.std(a, axis=1))
        r = xp.where(r > 0, r, -r)
        r = xp.matmul(a, r)
        t = xp.concat([r, xp.roll(r, 3), xp.tile(r, (2,))])
        xp.evaluate(r, t, xp.argmax(a, axis=1), xp.take(r, xp.argmax(a, axis=1)))
        r[r > 5.0] = 0.0
        xp.evaluate(xp.cumulative_sum(r), r[xp.astype(a[0] > 50, xp.int64)])
        xp.evaluate(xp.unique_values(r), xp.searchsorted(xp.sort(r), r), xp.isin(r, a))
    s = xp.stats()
    assert (s.h2d, s.d2h) == (0, 0)


def test_14_mixed_locations_upload_each_array_once(kernel_device: str) -> None:
    x = xp.ones((1000, 10))
    xp.evaluate(x)
    y = xp.asarray(np.arange(1000.0))
    xp.stats(reset=True)
    r = xp.matmul(x.T, y)
    xp.evaluate(r)
    assert xp.stats().h2d == 1
    assert r.location == "device"
    xp.evaluate(xp.matmul(x.T, y))
    assert xp.stats().h2d == 1  # y keeps its device copy
    eq(r, np.full(10, 499500.0))


def test_16_the_truth_of_a_lazy_comparison(device: str) -> None:
    x = xp.asarray(5.0)
    n = 0
    while x > 1.0:
        x = x / 2
        n += 1
    assert n == 3
    assert not bool(xp.asarray(0))
    assert bool(xp.all(xp.asarray([], dtype=xp.bool)))
    with pytest.raises(ValueError):
        bool(xp.asarray([1, 2]))
    with pytest.raises(ValueError):
        bool(xp.asarray([], dtype=xp.float64))


def test_16_a_test_reads_one_byte_once(kernel_device: str) -> None:
    x = xp.asarray(5.0) * 1
    xp.evaluate(x)
    condition = x > 1.0
    xp.stats(reset=True)
    assert condition
    assert (xp.stats().d2h, xp.stats().bytes_d2h) == (1, 1)
    assert condition  # what was read stays known
    assert xp.stats().d2h == 1


@pytest.mark.cuda
@pytest.mark.slow
def test_10_downloads_have_the_speed_of_the_bus() -> None:
    with xp.default_device("cuda"):
        nbytes = 1 << 30
        x = xp.ones(nbytes // 4, dtype=xp.float32)
        xp.evaluate(x)
        backend = runtime(x.device).backend
        with backend.batch():
            buffer = backend.host_buffer(nbytes)
            address = x._cell.value.real.ptr
            plain = min(_seconds(backend.copy_to_host, buffer, address) for _ in range(3))
        del buffer
        y = x + 1
        xp.evaluate(y)
        xp.synchronize()
        assert _seconds(np.asarray, y) <= 1.25 * plain


def _seconds(function: Any, *args: Any) -> float:
    started = time.perf_counter()
    function(*args)
    return time.perf_counter() - started


LAYOUTS = {
    "contiguous": lambda h: h,
    "transposed": lambda h: h.T,
    "Fortran": np.asfortranarray,
    "rows": lambda h: h[::2],
    "columns": lambda h: h[:, ::2],
    "backwards": lambda h: h[::-1],
    "both ways backwards": lambda h: h[::-1, ::-2],
    "a part, transposed": lambda h: h[5:200, 7:].T,
    "big-endian": lambda h: h.astype(">f8"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_11_a_strided_source_costs_one_pass_on_the_host(device: str, layout: str) -> None:
    source = LAYOUTS[layout](np.random.default_rng(0).random((512, 512)))
    xp.evaluate(xp.asarray(np.ones(4)) + 1)
    tracemalloc.start()
    try:
        x = xp.asarray(source)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= source.nbytes + (1 << 16)  # one buffer, into which everything was copied
    xp.stats(reset=True)
    eq(x + 0, source + 0)
    assert xp.stats().h2d == (0 if device == "cpu" else 1)
