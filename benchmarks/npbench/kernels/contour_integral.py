"""A contour integral over inverses of matrices, as an eigenvalue solver needs it."""


def contour_integral(NR, NM, slab_per_bc, Ham, int_pts, Y):
    xp = Ham.__array_namespace__()
    P0, P1 = (xp.zeros((NR, NM), dtype=xp.complex128, device=Ham.device) for _ in range(2))
    for k in range(int_pts.shape[0]):
        z = int_pts[k]
        Tz = xp.zeros((NR, NR), dtype=xp.complex128, device=Ham.device)
        for n in range(slab_per_bc + 1):
            Tz += z ** (slab_per_bc / 2 - n) * Ham[n, :, :]
        X = xp.linalg.inv(Tz) if NR == NM else xp.linalg.solve(Tz, Y)
        if xp.abs(z) < 1.0:  # which side of the circle the point is on
            X = -X
        P0 += X
        P1 += z * X
    return P0, P1


def rewritten(NR, NM, slab_per_bc, Ham, int_pts, Y):
    """All points as one stack of matrices, without reading on which side of the circle they are."""
    xp = Ham.__array_namespace__()
    z = int_pts[:, None, None]
    Tz = 0.0
    for n in range(slab_per_bc + 1):
        Tz = Tz + z ** (slab_per_bc / 2 - n) * Ham[n, :, :]
    X = xp.linalg.inv(Tz) if NR == NM else xp.linalg.solve(Tz, Y)
    X = xp.where(xp.abs(z) < 1.0, -X, X)
    return xp.sum(X, axis=0), xp.sum(z * X, axis=0)
