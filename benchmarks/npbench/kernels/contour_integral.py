"""A contour integral over inverses of matrices, as an eigenvalue solver needs it."""


def contour_integral(NR, NM, slab_per_bc, Ham, int_pts, Y):
    xp = Ham.__array_namespace__()
    P0, P1 = (xp.zeros((NR, NM), dtype=xp.complex128) for _ in range(2))
    for k in range(int_pts.shape[0]):
        z = int_pts[k]
        Tz = xp.zeros((NR, NR), dtype=xp.complex128)
        for n in range(slab_per_bc + 1):
            Tz += z ** (slab_per_bc / 2 - n) * Ham[n]
        X = xp.linalg.inv(Tz) if NR == NM else xp.linalg.solve(Tz, Y)
        if xp.abs(z) < 1.0:  # which side of the circle the point is on
            X = -X
        P0 += X
        P1 += z * X
    return P0, P1
