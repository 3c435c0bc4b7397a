"""One function on one device: evaluated by lazyarr, compared with the exact values."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import lazyarr as xp
from accuracy import reference
from accuracy.functions import FUNCTIONS, Function, allowed
from accuracy.points import points

NDArray = npt.NDArray[Any]

DTYPES = ("float32", "float64", "complex64", "complex128")


class Measured(NamedTuple):
    """The largest error of one function for one dtype, and where it is."""

    function: str
    dtype: str
    max_ulp: float
    where: list[str]
    points: int
    allowed: float | None
    exhaustive: bool = False

    @property
    def holds(self) -> bool:
        """Whether the error is one that the function may have."""
        return self.allowed is None or self.max_ulp <= self.allowed


def jobs(pattern: str | None = None) -> list[tuple[Function, str]]:
    """Return the functions and dtypes to measure, those whose name contains the pattern."""
    return [
        (function, dtype)
        for function in FUNCTIONS
        for dtype in DTYPES
        if np.dtype(dtype).kind in function.kinds and (pattern or "") in function.name
    ]


def evaluate(function: Function, inputs: list[NDArray]) -> NDArray:
    """Return what lazyarr gives, as a NumPy array."""
    return np.asarray(getattr(xp, function.name)(*[xp.asarray(x) for x in inputs]))


def measure(
    function: Function,
    dtype: str,
    device: str,
    count: int,
    seed: int = 0,
    workers: Executor | None = None,
) -> Measured:
    """Measure a function at a sample of points."""
    inputs = points(function, dtype, count, seed)
    with xp.default_device(device):
        got = evaluate(function, inputs)
    re, im = reference.exact_values(function, inputs, workers)
    scale = None
    if function.name == "logaddexp":  # ill-conditioned where the result is near 0
        scale = np.maximum(np.abs(inputs[0]), np.abs(inputs[1])).astype(reference.Wide)
    error = reference.ulp_error(got, re, im, scale)
    worst = int(np.argmax(error))
    where = [repr(x[worst].item()) for x in inputs]
    limit = allowed(function, dtype, device)
    # half a unit is reached exactly, and the exact values are rounded to 64 bits
    largest = round(float(error[worst]), 3)
    return Measured(function.name, dtype, largest, where, len(inputs[0]), limit)
