"""A kernel of your own in a loop, on arrays that stay on the device between the launches.

``In`` is only read and ``Out`` only written, so nothing is uploaded for the one or downloaded for
the other; needs a device that runs kernels (cuda or sim).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from _common import check, counted, on, parse

import lazyarr as xp

SOURCE = r"""
extern "C" __global__ void smooth(const float* in, float* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    float left = in[i > 0 ? i - 1 : 0], right = in[i + 1 < n ? i + 1 : n - 1];
    out[i] = 0.25f * left + 0.5f * in[i] + 0.25f * right;
}
"""
BLOCK = 256


def smooth_numpy(x: np.ndarray) -> np.ndarray:
    padded = np.pad(x, 1, mode="edge")
    return (0.25 * padded[:-2] + 0.5 * padded[1:-1] + 0.25 * padded[2:]).astype(x.dtype)


def _best() -> str:
    """Return the first device that runs kernels; the simulator is always there."""
    first = str(xp.devices()[0])
    return "sim" if first == "cpu" else first


def main(arguments: Sequence[str] | None = None) -> int:
    args = parse(__doc__, arguments, size=100_000, steps=100)
    signal = np.random.default_rng(7).normal(size=args.size).astype(np.float32)
    n = np.int64(args.size)
    grid = ((args.size + BLOCK - 1) // BLOCK, 1)
    with on(args.device or _best()):
        a = xp.asarray(signal)
        b = xp.empty_like(a)
        print(f"{args.size} samples, {args.steps} launches on {a.device}")
        smooth = xp.SourceModule(SOURCE).get_function("smooth")
        xp.prefetch(a)
        with counted(f"{args.steps} launches"), xp.transfer_guard("error"):
            for _ in range(args.steps):
                smooth(xp.In(a), xp.Out(b), n, block=(BLOCK, 1, 1), grid=grid)
                a, b = b, a
        with counted("roughness, by array functions"):
            roughness = float(xp.mean((a[1:] - a[:-1]) ** 2))
        print(f"roughness {roughness:.3e}; a is on the {a.location}")
        result = a.get()
    want = signal
    for _ in range(args.steps):
        want = smooth_numpy(want)
    return check("signal", result, want, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    sys.exit(main())
