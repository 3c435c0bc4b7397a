"""The covariance matrix of the columns, row by row."""

from __future__ import annotations

from typing import Any


def kernel(M: int, float_n: float, data: Any) -> Any:
    """Return the matrix; ``data`` is centred in place."""
    xp = data.__array_namespace__()
    mean = xp.mean(data, axis=0)
    data -= mean
    cov = xp.zeros((M, M), dtype=data.dtype, device=data.device)
    for i in range(M):
        cov[i:M, i] = cov[i, i:M] = data[:, i] @ data[:, i:M] / (float_n - 1.0)
    return cov


def rewritten(M: int, float_n: float, data: Any) -> Any:
    """Return the same; the rows are one matrix product."""
    xp = data.__array_namespace__()
    data -= xp.mean(data, axis=0)
    return data.T @ data / (float_n - 1.0)
