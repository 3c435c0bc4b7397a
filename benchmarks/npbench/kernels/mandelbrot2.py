"""The Mandelbrot set: the points that have escaped leave the arrays after each step."""

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
    itermax: int,
    horizon: float = 2.0,
    *,
    xp: Any = lazyarr,
) -> tuple[Any, Any]:
    """Return the value with which each point escaped and the step after which it had; else 0.

    No argument is an array, so ``xp`` is the namespace, and the arrays are on its default device.
    """
    xi, yi = xp.meshgrid(xp.arange(xn), xp.arange(yn), indexing="ij")
    x = xp.linspace(xmin, xmax, xn, dtype=xp.float64)[xi]
    y = xp.linspace(ymin, ymax, yn, dtype=xp.float64)[yi]
    c = x + y * 1j
    steps = xp.zeros(c.shape, dtype=xp.int64)
    escaped = xp.zeros(c.shape, dtype=xp.complex128)
    xi = xp.reshape(xi, (xn * yn,))
    yi = xp.reshape(yi, (xn * yn,))
    c = xp.reshape(c, (xn * yn,))
    z = xp.zeros(c.shape, dtype=xp.complex128)
    for i in range(itermax):
        if not z.shape[0]:
            break
        z *= z
        z += c
        out = xp.abs(z) > horizon
        steps[xi[out], yi[out]] = i + 1
        escaped[xi[out], yi[out]] = z[out]
        out = xp.logical_not(out)
        z = z[out]
        xi, yi = xi[out], yi[out]
        c = c[out]
    return escaped.T, steps.T


def rewritten(
    xmin: float,
    xmax: float,
    ymin: float,
    ymax: float,
    xn: int,
    yn: int,
    itermax: int,
    horizon: float = 2.0,
    *,
    xp: Any = lazyarr,
) -> tuple[Any, Any]:
    """Return the same; every point makes every step, and ``where`` keeps the first escape."""
    x = xp.linspace(xmin, xmax, xn, dtype=xp.float64)
    y = xp.linspace(ymin, ymax, yn, dtype=xp.float64)
    c = x[:, None] + y * 1j
    steps = xp.zeros(c.shape, dtype=xp.int64)
    z = xp.zeros(c.shape, dtype=xp.complex128)
    for i in range(itermax):
        inside = steps == 0
        z = xp.where(inside, z * z + c, z)
        steps = xp.where(inside & (xp.abs(z) > horizon), i + 1, steps)
    return xp.where(steps == 0, 0, z).T, steps.T
