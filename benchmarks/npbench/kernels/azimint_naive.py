"""Azimuthal integration: the mean of the data in each ring of equal width."""

from __future__ import annotations

from typing import Any


def azimint_naive(data: Any, radius: Any, npt: int) -> Any:
    """Return the means; a ring's elements are picked by a mask."""
    xp = data.__array_namespace__()
    rmax = xp.max(radius)
    res = xp.zeros(npt, dtype=xp.float64, device=data.device)
    for i in range(npt):
        inner = rmax * i / npt
        outer = rmax * (i + 1) / npt
        in_ring = xp.logical_and(inner <= radius, radius < outer)
        values = data[in_ring]
        res[i] = xp.mean(values)
    return res


def rewritten(data: Any, radius: Any, npt: int) -> Any:
    """Return the same; sorted by radius, a ring is a range, and its sum a difference of sums."""
    xp = data.__array_namespace__()
    order = xp.argsort(radius)
    radius = xp.take(radius, order)
    bounds = radius[-1] * xp.arange(npt + 1, dtype=xp.float64, device=data.device) / npt
    starts = xp.searchsorted(radius, bounds)
    sums = xp.cumulative_sum(xp.take(data, order), include_initial=True)
    totals = xp.take(sums, starts)
    counts = xp.astype(starts[1:] - starts[:-1], xp.float64)
    return (totals[1:] - totals[:-1]) / counts
