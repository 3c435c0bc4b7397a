"""Mandelbrot set: points that diverged are dropped."""


def mandelbrot(xmin, xmax, ymin, ymax, xn, yn, itermax, horizon=2.0, *, xp):
    Xi, Yi = xp.meshgrid(xp.arange(xn), xp.arange(yn), indexing="ij")
    X = xp.linspace(xmin, xmax, xn, dtype=xp.float64)[Xi]
    Y = xp.linspace(ymin, ymax, yn, dtype=xp.float64)[Yi]
    C = X + Y * 1j
    N_ = xp.zeros(C.shape, dtype=xp.int64)
    Z_ = xp.zeros(C.shape, dtype=xp.complex128)
    Xi, Yi, C = (xp.reshape(x, (xn * yn,)) for x in (Xi, Yi, C))

    Z = xp.zeros(C.shape, dtype=xp.complex128)
    for i in range(itermax):
        if Z.shape[0] == 0:
            break
        Z *= Z
        Z += C
        gone = xp.abs(Z) > horizon
        N_[Xi[gone], Yi[gone]] = i + 1
        Z_[Xi[gone], Yi[gone]] = Z[gone]
        left = xp.logical_not(gone)
        Z = Z[left]
        Xi, Yi = Xi[left], Yi[left]
        C = C[left]
    return Z_.T, N_.T


def rewritten(xmin, xmax, ymin, ymax, xn, yn, itermax, horizon=2.0, *, xp):
    """All points in every step, without selecting them: no count is read."""
    X = xp.linspace(xmin, xmax, xn, dtype=xp.float64)
    Y = xp.linspace(ymin, ymax, yn, dtype=xp.float64)
    C = X[:, None] + Y * 1j
    steps = xp.zeros(C.shape, dtype=xp.int64)
    Z = xp.zeros(C.shape, dtype=xp.complex128)
    for i in range(itermax):
        inside = steps == 0
        Z = xp.where(inside, Z * Z + C, Z)
        gone = xp.logical_and(inside, xp.abs(Z) > horizon)
        steps = xp.where(gone, i + 1, steps)
    return xp.where(steps == 0, 0, Z).T, steps.T
