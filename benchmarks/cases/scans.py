"""Cumulative sums along any axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.cases.case import NUMBERS, Case, cube, flat, square, tall, wide

_AHEAD = {"cupy": 1.0, "jax": 1.0, "torch": 1.0}


def along(axis: int) -> Callable[..., Any]:
    return lambda m, x: m.cumulative_sum(x, axis=axis)


def scanned(inputs: tuple[Any, ...]) -> int:
    """Read the input once, and write the result once: the sums of integers have 64 bits."""
    (x,) = inputs
    return int(x.nbytes + x.size * (8 if x.dtype.kind == "i" else x.dtype.itemsize))


def _case(name: str, make: Any, axis: int, dtypes: tuple[str, ...] = ("float32",)) -> Case:
    return Case(f"cumulative_sum, {name}", make, along(axis), scanned, 0.80, _AHEAD, dtypes=dtypes,
                tolerance=2e-3)  # fmt: skip


CASES = (
    _case("1-D", flat(1), 0, NUMBERS),
    _case("square, axis 0", square, 0, ("float32", "float64")),
    _case("square, axis 1", square, 1, ("float32", "float64")),
    _case("tall, axis 0", tall, 0),
    _case("tall, axis 1", tall, 1),
    _case("wide, axis 0", wide, 0),
    _case("wide, axis 1", wide, 1),
    _case("3-D, middle axis", cube, 1),
)
