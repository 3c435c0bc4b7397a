"""Gathers, masks and ``where``."""

from __future__ import annotations

import math
from typing import Any

import lazyarr as xp
from benchmarks.cases.case import NUMBERS, Case, random, read

# 2^28 indices of 8 bytes beside 2^28 elements.
_AHEAD = {"cupy": 1.0}


def take(m: Any, x: Any, indices: Any) -> Any:
    return m.take(x, indices, axis=0)


def select(m: Any, x: Any, mask: Any) -> Any:
    return x[mask]


def store(m: Any, x: Any, mask: Any) -> Any:
    x[mask] = 1


def where(m: Any, mask: Any, a: Any, b: Any) -> Any:
    return m.where(mask, a, b)


def _picks(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    return random(n, dtype, 2 * seed), _indices(n, n, 2 * seed + 1)


def _row_picks(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    rows = n // 64
    return random((rows, 64), dtype, 2 * seed), _indices(rows, rows, 2 * seed + 1)


def _indices(count: int, below: int, seed: int) -> Any:
    drawn = xp.astype(random(count, "int32", seed), xp.int64)
    indices = (drawn + 2**31) % below
    xp.evaluate(indices)
    return indices


def _masked(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    return random(n, dtype, 2 * seed), random(n, "bool", 2 * seed + 1)


def _choice(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    return (
        random(n, "bool", 3 * seed),
        random(n, dtype, 3 * seed + 1),
        random(n, dtype, 3 * seed + 2),
    )


def _gathered(inputs: tuple[Any, ...]) -> int:
    x, indices = inputs
    picked = math.prod(indices.shape) * x.nbytes // x.shape[0]
    return int(2 * picked + indices.nbytes)


def _selected(inputs: tuple[Any, ...]) -> int:
    x, mask = inputs
    return int(mask.nbytes + x.nbytes + x.nbytes // 2)


def _stored(inputs: tuple[Any, ...]) -> int:
    x, mask = inputs
    return int(mask.nbytes + 2 * x.nbytes)


def _chosen(inputs: tuple[Any, ...]) -> int:
    return read(inputs) + int(inputs[1].nbytes)


CASES = (
    Case("take, random", _picks, take, _gathered, None, _AHEAD, dtypes=NUMBERS, launches=None),
    Case("take of rows of 64", _row_picks, take, _gathered, None, _AHEAD, dtypes=("float32",),
         launches=None),
    Case("x[mask]", _masked, select, _selected, None, {"cupy": 3.0}, dtypes=NUMBERS,
         special={"jax": None}, launches=None),
    Case("x[mask] = 1", _masked, store, _stored, None, {"cupy": 3.0}, dtypes=NUMBERS,
         special={"jax": None}, writes=True, launches=None),
    Case("where", _choice, where, _chosen, 0.92, _AHEAD, dtypes=NUMBERS),
)  # fmt: skip
