"""Field cases of group O: what times say."""

from __future__ import annotations

import numpy as np
import pytest

import lazyarr as xp

from .common import kernel

SPIN = """
extern "C" __global__ void spin(float* p, long long clocks) {
  long long start = clock64();
  while (clock64() - start < clocks) {}
  p[0] += 1.f;
}
"""


@pytest.mark.cuda
def test_142_a_download_is_not_blamed_for_the_kernel_before_it() -> None:
    with xp.default_device("cuda"):
        spin = kernel(SPIN, "spin")
        x = xp.zeros(1000, dtype=xp.float32)
        spin((1,), (1,), (x, np.int64(1)))
        x.get()
        with xp.trace() as t:
            spin((1,), (1,), (x, np.int64(200_000_000)))
            x.get()
        (launch,) = [e for e in t.events if e.kind == "kernel"]
        (copy,) = [e for e in t.events if e.kind == "copy"]
        assert launch.gpu_seconds > 0.05
        assert copy.seconds > 0.03  # waiting for the kernel and copying
        assert copy.gpu_seconds < 0.01  # copying


def test_142_waiting_and_copying_are_apart(kernel_device: str) -> None:
    n = 1 << 16
    x = xp.asarray(np.ones(n))
    with xp.trace() as t:
        y = xp.sort(x * 2)
        y.get()
    (copy,) = [e for e in t.events if e.kind == "copy" and e.name == "d2h"]
    kernels = [e for e in t.events if e.kind == "kernel"]
    assert kernels
    for e in (copy, *kernels):
        assert e.gpu_seconds is not None
    assert copy.gpu_seconds < sum(e.gpu_seconds for e in kernels)
    b = xp.benchmark(lambda: xp.sort(x * 2).get(), repeat=2)
    assert b.d2h.median < b.kernel.median
    assert b.bytes_d2h == 8 * n
