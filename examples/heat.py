"""Jacobi iteration of the 2-D heat equation, with in-place slices (npbench's jacobi_2d).

Each of the two statements of a step becomes one kernel, and nothing is copied inside the loop: the
transfer guard would raise if it were.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import check, counted, on, parse

import lazyarr as xp


def jacobi(steps: int, A: Any, B: Any) -> None:
    """Relax A and B in turn. Plain slices: this runs on NumPy arrays as well."""
    for _ in range(steps):
        B[1:-1, 1:-1] = 0.2 * (
            A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]
        )
        A[1:-1, 1:-1] = 0.2 * (
            B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1]
        )


def plate(n: int) -> np.ndarray:
    """Return a cold plate with one hot edge and a hot spot."""
    temperature = np.zeros((n, n))
    temperature[0, :] = 100.0
    temperature[n // 2, n // 3] = 1000.0
    return temperature


def main(arguments: Sequence[str] | None = None) -> int:
    args = parse(__doc__, arguments, size=200, steps=50)
    start = plate(args.size)
    with on(args.device):
        A, B = xp.asarray(start), xp.asarray(start)
        print(f"{args.size} x {args.size} plate, {args.steps} steps on {A.device}")
        with counted("first step (uploads, compiles)"):
            jacobi(1, A, B)
            xp.evaluate(A, B)
        with counted(f"{args.steps - 1} more steps"), xp.transfer_guard("error"):
            jacobi(args.steps - 1, A, B)
            xp.evaluate(A, B)
        print(f"A is on the {A.location}")
        with counted("reading the result"):
            result = A.get()
    want_a, want_b = start.copy(), start.copy()
    jacobi(args.steps, want_a, want_b)
    return check("temperature", result, want_a)


if __name__ == "__main__":
    sys.exit(main())
