"""A matrix product of every vector of a stack, in place."""

from __future__ import annotations

from typing import Any


def kernel(NR: int, NQ: int, NP: int, A: Any, C4: Any) -> None:
    """Multiply each A[r, q, :] by C4; each vector is a matrix of one row."""
    xp = A.__array_namespace__()
    A[...] = xp.reshape(xp.reshape(A, (NR, NQ, 1, NP)) @ C4, (NR, NQ, NP))


def rewritten(NR: int, NQ: int, NP: int, A: Any, C4: Any) -> None:
    """Do the same; the vectors are the rows of one matrix."""
    xp = A.__array_namespace__()
    A[...] = xp.reshape(xp.reshape(A, (NR * NQ, NP)) @ C4, (NR, NQ, NP))
