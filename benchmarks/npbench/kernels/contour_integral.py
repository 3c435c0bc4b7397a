"""Contour integration: a linear system for each point of the contour, and two sums of solutions."""

from __future__ import annotations

from typing import Any


def contour_integral(NR: int, NM: int, slab_per_bc: int, Ham: Any, int_pts: Any, Y: Any) -> Any:
    """Return the sums, point by point."""
    xp = Ham.__array_namespace__()
    P0 = xp.zeros((NR, NM), dtype=xp.complex128, device=Ham.device)
    P1 = xp.zeros((NR, NM), dtype=xp.complex128, device=Ham.device)
    for p in range(int_pts.shape[0]):
        z = int_pts[p]
        matrix = xp.zeros((NR, NR), dtype=xp.complex128, device=Ham.device)
        for n in range(slab_per_bc + 1):
            factor = z ** (slab_per_bc / 2 - n)
            matrix += factor * Ham[n, :, :]
        if NR == NM:
            X = xp.linalg.inv(matrix)
        else:
            X = xp.linalg.solve(matrix, Y)
        # A control value: whether the point lies inside the circle decides what runs.
        if xp.abs(z) < 1.0:
            X = -X
        P0 += X
        P1 += z * X
    return P0, P1


def rewritten(NR: int, NM: int, slab_per_bc: int, Ham: Any, int_pts: Any, Y: Any) -> Any:
    """Return the same; all systems are one stack, the sign is chosen by ``where``."""
    xp = Ham.__array_namespace__()
    z = int_pts[:, None, None]
    matrices = xp.zeros((int_pts.shape[0], NR, NR), dtype=xp.complex128, device=Ham.device)
    for n in range(slab_per_bc + 1):
        matrices += z ** (slab_per_bc / 2 - n) * Ham[n, :, :]
    X = xp.linalg.inv(matrices) if NR == NM else xp.linalg.solve(matrices, Y)
    X = xp.where(xp.abs(z) < 1.0, -X, X)
    return xp.sum(X, axis=0), xp.sum(z * X, axis=0)
