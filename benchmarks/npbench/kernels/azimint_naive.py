"""Azimuthal integration: means of the values in rings."""


def azimint_naive(data, radius, npt):
    xp = data.__array_namespace__()
    rmax = xp.max(radius)
    res = xp.zeros(npt, dtype=xp.float64, device=data.device)
    for i in range(npt):
        r1 = rmax * i / npt
        r2 = rmax * (i + 1) / npt
        mask = xp.logical_and(r1 <= radius, radius < r2)
        values = data[mask]
        res[i] = xp.mean(values)
    return res


def rewritten(data, radius, npt):
    """Sums over all values, without selecting them: no count is read."""
    xp = data.__array_namespace__()
    rmax = xp.max(radius)
    res = xp.zeros(npt, dtype=xp.float64, device=data.device)
    for i in range(npt):
        r1 = rmax * i / npt
        r2 = rmax * (i + 1) / npt
        mask = xp.logical_and(r1 <= radius, radius < r2)
        res[i] = xp.sum(xp.where(mask, data, 0.0)) / xp.sum(xp.astype(mask, xp.float64))
    return res
