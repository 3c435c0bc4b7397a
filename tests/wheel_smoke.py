"""Run by ``.ci/run`` against an installed wheel: is everything in it that a user needs?"""

import importlib.metadata
from pathlib import Path

import numpy as np

import lazyarr as xp

SOURCE = """
extern "C" __global__ void twice(const float* a, float* b, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) b[i] = 2.0f * a[i];
}
"""


def check_files() -> None:
    package = Path(xp.__file__).parent
    kernels = sorted(path.name for path in (package / "kernels").iterdir())
    assert any(name.endswith((".cu", ".cuh")) for name in kernels), kernels
    assert list((package / "runtime" / "sim").rglob("*.h")), "the simulator's header is missing"
    assert (package / "py.typed").is_file()
    print("lazyarr", importlib.metadata.version("lazyarr"), "kernels:", *kernels)


def check_arrays(device: str) -> None:
    with xp.default_device(device):
        a = xp.asarray(np.arange(100.0))
        assert float(xp.sum(a * 2 + 1)) == 10000.0


def check_kernel() -> None:
    n = 1000
    with xp.default_device("sim"):
        a = xp.arange(n, dtype=xp.float32)
        b = xp.empty(n, dtype=xp.float32)
        twice = xp.SourceModule(SOURCE).get_function("twice")
        twice(xp.In(a), xp.Out(b), np.int64(n), block=(256, 1, 1), grid=((n + 255) // 256, 1))
        np.testing.assert_array_equal(np.asarray(b), 2 * np.arange(n, dtype=np.float32))


if __name__ == "__main__":
    check_files()
    check_arrays("cpu")
    check_arrays("sim")
    check_kernel()
    print("the wheel works")
