"""Sorts and searches, against CuPy's."""

from __future__ import annotations

from typing import Any

import lazyarr as xp
from benchmarks.cases.case import NUMBERS, Case, copied, flat, random, shaped

_AHEAD = {"cupy": 1.0, "torch": 1.0}


def sort(m: Any, x: Any) -> Any:
    return m.sort(x)


def argsort(m: Any, x: Any) -> Any:
    return m.argsort(x, stable=True)


def unique_values(m: Any, x: Any) -> Any:
    return m.unique_values(x)


def searchsorted(m: Any, x: Any, v: Any) -> Any:
    return m.searchsorted(x, v)


def _searched(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    edges = xp.sort(random(n // 4, dtype, 2 * seed))
    xp.evaluate(edges)
    return edges, random(n, dtype, 2 * seed + 1)


def _found(inputs: tuple[Any, ...]) -> int:
    edges, values = inputs
    return int(edges.nbytes + values.nbytes + values.shape[0] * 8)


CASES = (
    Case("sort", flat(1), sort, copied, ahead=_AHEAD, dtypes=NUMBERS, launches=None),
    Case("sort, rows of 1000", shaped(-1, 1000), sort, copied, ahead=_AHEAD, dtypes=("float32",),
         launches=None),
    Case("argsort", flat(1), argsort, copied, ahead=_AHEAD, dtypes=NUMBERS, launches=None),
    Case("unique_values", flat(1), unique_values, copied, ahead={"cupy": 1.0}, dtypes=NUMBERS,
         launches=None, special={"jax": None}),
    Case("searchsorted", _searched, searchsorted, _found, ahead=_AHEAD, dtypes=NUMBERS,
         launches=None),
)  # fmt: skip
