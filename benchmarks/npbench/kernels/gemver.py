"""A rank-2 update of a matrix and two products with it, in place."""

from __future__ import annotations

from typing import Any


def kernel(
    alpha: float,
    beta: float,
    A: Any,
    u1: Any,
    v1: Any,
    u2: Any,
    v2: Any,
    w: Any,
    x: Any,
    y: Any,
    z: Any,
) -> None:
    """Update A, then x by a product with A's columns, then w by one with its rows."""
    xp = A.__array_namespace__()
    A += xp.linalg.outer(u1, v1) + xp.linalg.outer(u2, v2)
    x += beta * y @ A + z
    w += alpha * A @ x


def rewritten(
    alpha: float,
    beta: float,
    A: Any,
    u1: Any,
    v1: Any,
    u2: Any,
    v2: Any,
    w: Any,
    x: Any,
    y: Any,
    z: Any,
) -> None:
    """Do the same; the products are scaled, not the matrix."""
    xp = A.__array_namespace__()
    A += xp.linalg.outer(u1, v1) + xp.linalg.outer(u2, v2)
    x += beta * (y @ A) + z
    w += alpha * (A @ x)
