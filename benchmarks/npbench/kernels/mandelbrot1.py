"""Mandelbrot set: points that diverged are masked."""


def mandelbrot(xmin, xmax, ymin, ymax, xn, yn, maxiter, horizon=2.0, *, xp):
    X = xp.linspace(xmin, xmax, xn, dtype=xp.float64)
    Y = xp.linspace(ymin, ymax, yn, dtype=xp.float64)
    C = X + Y[:, None] * 1j
    steps = xp.zeros(C.shape, dtype=xp.int64)
    Z = xp.zeros(C.shape, dtype=xp.complex128)
    for n in range(maxiter):
        inside = xp.abs(Z) < horizon
        steps[inside] = n
        Z[inside] = Z[inside] ** 2 + C[inside]
    last = steps == maxiter - 1
    steps[last] = 0
    return Z, steps


def rewritten(xmin, xmax, ymin, ymax, xn, yn, maxiter, horizon=2.0, *, xp):
    """All points, without selecting them: no count is read."""
    X = xp.linspace(xmin, xmax, xn, dtype=xp.float64)
    Y = xp.linspace(ymin, ymax, yn, dtype=xp.float64)
    C = X + Y[:, None] * 1j
    steps = xp.zeros(C.shape, dtype=xp.int64)
    Z = xp.zeros(C.shape, dtype=xp.complex128)
    for n in range(maxiter):
        inside = xp.abs(Z) < horizon
        steps = xp.where(inside, n, steps)
        Z = xp.where(inside, Z**2 + C, Z)
    last = steps == maxiter - 1
    steps = xp.where(last, 0, steps)
    return Z, steps
