"""Programs that reduce rows and use the result in them: softmax, layer norm, distances."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.cases.case import FLOATS, Case, copied, random, shaped

_AHEAD = {"jax": 1.0, "cupy": 1.0}


def softmax(m: Any, x: Any) -> Any:
    e = m.exp(x - m.max(x, axis=-1, keepdims=True))
    return e / m.sum(e, axis=-1, keepdims=True)


def layer_norm(m: Any, x: Any) -> Any:
    centred = x - m.mean(x, axis=-1, keepdims=True)
    return centred / m.sqrt(m.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)


def pairwise(m: Any, x: Any, y: Any) -> Any:
    difference = x[:, None, :] - y[None, :, :]
    return m.sqrt(m.sum(difference * difference, axis=-1))


def _points(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    """Make two sets of points of 16 coordinates, with n differences between coordinates."""
    count = math.isqrt(n // 16)
    return random((count, 16), dtype, 2 * seed), random((count, 16), dtype, 2 * seed + 1)


def _distances(inputs: tuple[Any, ...]) -> int:
    x, y = inputs
    return int(x.nbytes + y.nbytes + x.shape[0] * y.shape[0] * x.dtype.itemsize)


def _cases() -> list[Case]:
    cases = []
    for length in (256, 1000, 4096, 16384, 100_000):
        dtypes = FLOATS if length in (1000, 4096) else ("float32",)
        for run, share in ((softmax, 0.6), (layer_norm, None)):
            cases.append(
                Case(f"{run.__name__}, rows of {length}", shaped(-1, length), run, copied, share,
                     _AHEAD, dtypes=dtypes, tolerance=1e-4, launches=1 if length <= 4096 else None)
            )  # fmt: skip
    return cases


CASES = (
    *_cases(),
    Case("pairwise distance, 16-D", _points, pairwise, _distances, None, _AHEAD, tolerance=1e-4,
         launches=None),
)  # fmt: skip
