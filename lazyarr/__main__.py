"""The demonstration: ``python -m lazyarr`` shows the devices and runs on the best of them.

It ends with status 1 if a result differs from NumPy's.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import lazyarr as xp
from lazyarr.runtime import select

KERNEL = r"""
extern "C" __global__ void radiate(float* t, float rate, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) t[i] -= rate * t[i];
}
"""
SIZE = 128
STEPS = 50
RATE = 0.0625  # a power of two, so that fused multiply-add rounds no differently


def main() -> int:
    """Print the devices, run the demonstration, return the exit status."""
    print(f"lazyarr {xp.__version__}, array API {xp.__array_api_version__}")
    devices = select.survey()
    for name, available, detail in devices:
        print(f"  {name:8} {'found' if available else 'missing'}: {detail}")
    best = _best([name for name, available, _ in devices if available])
    print(f"\nDemonstration on {best}: heat in a plate of {SIZE} x {SIZE}, {STEPS} steps")
    with xp.default_device(best):
        good = _demonstrate(runs_kernels=best != "cpu")
    print("The result agrees with NumPy." if good else "WRONG: the result differs from NumPy's.")
    return 0 if good else 1


def _best(available: list[str]) -> str:
    for kind in ("cuda", "sim"):
        for name in available:
            if name.split(":")[0] == kind:
                return name
    return "cpu"


def _plate() -> np.ndarray[Any, np.dtype[np.float32]]:
    plate = np.zeros((SIZE, SIZE), dtype=np.float32)
    plate[0, :] = 100.0
    plate[SIZE // 2, SIZE // 3] = 1000.0
    return plate


def _relax(t: Any) -> None:
    """Take one explicit step of the heat equation, in place; runs on NumPy arrays as well."""
    t[1:-1, 1:-1] = t[1:-1, 1:-1] + 0.125 * (
        t[1:-1, :-2] + t[1:-1, 2:] + t[2:, 1:-1] + t[:-2, 1:-1] - 4.0 * t[1:-1, 1:-1]
    )


def _demonstrate(runs_kernels: bool) -> bool:
    t = xp.asarray(_plate())
    _report("upload", lambda: xp.prefetch(t))
    _report(f"{STEPS} steps, one kernel each", lambda: _solve(t))
    if runs_kernels:
        _report(f"{STEPS} launches of a kernel of your own", lambda: _radiate(t))
    print(f"  the plate is on the {t.location}")
    _report("mean temperature, read by float()", lambda: float(xp.mean(t)))
    result = t.get()
    want = _plate()
    for _ in range(STEPS):
        _relax(want)
    if runs_kernels:
        for _ in range(STEPS):
            want -= np.float32(RATE) * want
    return bool(np.allclose(result, want, rtol=1e-5, atol=1e-6))


def _solve(t: xp.Array) -> None:
    with xp.transfer_guard("error"):
        for _ in range(STEPS):
            _relax(t)
        xp.evaluate(t)


def _radiate(t: xp.Array) -> None:
    radiate = xp.SourceModule(KERNEL).get_function("radiate")
    n = SIZE * SIZE
    with xp.transfer_guard("error"):
        for _ in range(STEPS):
            radiate(
                xp.InOut(t),
                np.float32(RATE),
                np.int64(n),
                block=(256, 1, 1),
                grid=((n + 255) // 256, 1),
            )


def _report(title: str, work: Any) -> None:
    """Run the work to its end and print its time and what lazyarr counted meanwhile."""
    xp.stats(reset=True)
    start = time.perf_counter()
    value = work()
    xp.synchronize()
    milliseconds = (time.perf_counter() - start) * 1e3
    s = xp.stats()
    shown = f" = {value:.4f}" if isinstance(value, float) else ""
    print(
        f"  {title}{shown}: {milliseconds:.1f} ms; kernels {s.launches}, compiled {s.compiles}; "
        f"copies to the device {s.h2d} ({s.bytes_h2d} bytes), back {s.d2h} ({s.bytes_d2h} bytes)"
    )


if __name__ == "__main__":
    sys.exit(main())
