"""The Mandelbrot set: steps of the points that have not escaped, picked by a mask."""

from __future__ import annotations

from typing import Any

import lazyarr


def mandelbrot(
    xmin: float,
    xmax: float,
    ymin: float,
    ymax: float,
    xn: int,
    yn: int,
    maxiter: int,
    horizon: float = 2.0,
    *,
    xp: Any = lazyarr,
) -> tuple[Any, Any]:
    """Return the last value of each point and the step in which it was reached.

    No argument is an array, so ``xp`` is the namespace, and the arrays are on its default device.
    """
    x = xp.linspace(xmin, xmax, xn, dtype=xp.float64)
    y = xp.linspace(ymin, ymax, yn, dtype=xp.float64)
    c = x + y[:, None] * 1j
    steps = xp.zeros(c.shape, dtype=xp.int64)
    z = xp.zeros(c.shape, dtype=xp.complex128)
    for n in range(maxiter):
        inside = xp.abs(z) < horizon
        steps[inside] = n
        z[inside] = z[inside] ** 2 + c[inside]
    steps[steps == maxiter - 1] = 0
    return z, steps


def rewritten(
    xmin: float,
    xmax: float,
    ymin: float,
    ymax: float,
    xn: int,
    yn: int,
    maxiter: int,
    horizon: float = 2.0,
    *,
    xp: Any = lazyarr,
) -> tuple[Any, Any]:
    """Return the same; points that have escaped keep their value by ``where``."""
    x = xp.linspace(xmin, xmax, xn, dtype=xp.float64)
    y = xp.linspace(ymin, ymax, yn, dtype=xp.float64)
    c = x + y[:, None] * 1j
    steps = xp.zeros(c.shape, dtype=xp.int64)
    z = xp.zeros(c.shape, dtype=xp.complex128)
    for n in range(maxiter):
        inside = xp.abs(z) < horizon
        steps = xp.where(inside, n, steps)
        z = xp.where(inside, z * z + c, z)
    return z, xp.where(steps == maxiter - 1, 0, steps)
