"""The correlation matrix of the columns, row by row."""

from __future__ import annotations

import math
from typing import Any


def kernel(M: int, float_n: float, data: Any) -> Any:
    """Return the matrix; ``data`` is centred and scaled in place."""
    xp = data.__array_namespace__()
    mean = xp.mean(data, axis=0)
    stddev = xp.std(data, axis=0)
    stddev[stddev <= 0.1] = 1.0
    data -= mean
    data /= math.sqrt(float_n) * stddev
    corr = xp.eye(M, dtype=data.dtype, device=data.device)
    for i in range(M - 1):
        corr[i + 1 : M, i] = corr[i, i + 1 : M] = data[:, i] @ data[:, i + 1 : M]
    return corr


def rewritten(M: int, float_n: float, data: Any) -> Any:
    """Return the same; the rows are one matrix product, the diagonal is 1."""
    xp = data.__array_namespace__()
    mean = xp.mean(data, axis=0)
    stddev = xp.std(data, axis=0)
    stddev = xp.where(stddev <= 0.1, 1.0, stddev)
    data -= mean
    data /= math.sqrt(float_n) * stddev
    diagonal = xp.eye(M, dtype=xp.bool, device=data.device)
    return xp.where(diagonal, 1.0, data.T @ data)
