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
        Z = Z * Z
        Z = Z + C
        gone = xp.abs(Z) > horizon
        at = Xi[gone], Yi[gone]
        N_[at] = i + 1
        Z_[at] = Z[gone]
        left = xp.logical_not(gone)
        Z = Z[left]
        Xi, Yi = Xi[left], Yi[left]
        C = C[left]
    return Z_.T, N_.T
