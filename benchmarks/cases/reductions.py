"""Sums, maxima, means and variances over all, first, last and middle axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.cases.case import FLOATS, NUMBERS, Case, cube, flat, read, square, tall, wide

_AHEAD = {"jax": 1.0, "cupy": 1.0, "torch": 1.0}


def over(name: str, axis: Any) -> Callable[..., Any]:
    return lambda m, x: getattr(m, name)(x, axis=axis)


def distance(m: Any, a: Any, b: Any) -> Any:
    return m.sum((a - b) ** 2)


def _mean_of_product(m: Any, x: Any) -> Any:
    return m.mean(x * x + 1.0, axis=0)


_SHAPES = {"square": square, "tall": tall, "wide": wide}


def _axes() -> list[Case]:
    cases = []
    for kind in ("sum", "max", "mean", "var"):
        dtypes = NUMBERS if kind in ("sum", "max") else FLOATS
        once = {"share": 0.95, "tolerance": 1e-3}
        cases.append(
            Case(f"{kind} of all", flat(1), over(kind, None), read, ahead=_AHEAD, dtypes=dtypes,
                 **once)
        )  # fmt: skip
        for shape, make in _SHAPES.items():
            for axis in (0, 1):
                cases.append(
                    Case(f"{kind} of {shape}, axis {axis}", make, over(kind, axis), read,
                         ahead=_AHEAD, dtypes=dtypes if shape == "square" else ("float32",),
                         **once)
                )  # fmt: skip
        cases.append(
            Case(f"{kind} of 3-D, middle axis", cube, over(kind, 1), read, ahead=_AHEAD,
                 dtypes=("float32",), **once)
        )  # fmt: skip
    return cases


CASES = (
    *_axes(),
    Case("sum of squared difference", flat(2), distance, read, 0.95, _AHEAD, tolerance=1e-4),
    Case("mean of x * x + 1, axis 0", square, _mean_of_product, read, 0.95, _AHEAD, tolerance=1e-4),
)  # fmt: skip
