"""The sum of tanh along the diagonal, added to the matrix."""

from __future__ import annotations

from typing import Any


def go_fast(a: Any) -> Any:
    """Return the matrix and the sum; the sum is taken element by element."""
    xp = a.__array_namespace__()
    trace = 0.0
    for i in range(a.shape[0]):
        trace += xp.tanh(a[i, i])
    return a + trace


def rewritten(a: Any) -> Any:
    """Return the same; the sum is one reduction."""
    xp = a.__array_namespace__()
    return a + xp.sum(xp.tanh(xp.linalg.diagonal(a)))
