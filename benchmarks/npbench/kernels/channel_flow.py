"""Flow in a channel, periodic along it: Navier-Stokes until the flow is steady."""

from benchmarks.npbench.kernels.flow import copy_of, divergence, moved, pressure

# Columns with their eastern and western neighbours: inside, and the two ends that meet.
_COLUMNS = (
    (slice(1, -1), slice(2, None), slice(None, -2)),
    (-1, 0, -2),
    (0, 1, -1),
)


def _build_up_b(rho, dt, dx, dy, u, v):
    b = u.__array_namespace__().zeros_like(u)
    for at, east, west in _COLUMNS:
        b[1:-1, at] = divergence(
            rho, dt, dx, dy,
            (u[1:-1, east], v[1:-1, east]), (u[1:-1, west], v[1:-1, west]),
            (u[2:, at], v[2:, at]), (u[0:-2, at], v[0:-2, at]),
        )  # fmt: skip
    return b


def _pressure_poisson_periodic(nit, p, dx, dy, b):
    for _ in range(nit):
        pn = copy_of(p)
        for at, east, west in _COLUMNS:
            p[1:-1, at] = pressure(
                dx, dy, pn[1:-1, east], pn[1:-1, west], pn[2:, at], pn[0:-2, at], b[1:-1, at]
            )
        p[-1, :] = p[-2, :]
        p[0, :] = p[1, :]


def channel_flow(nit, u, v, dt, dx, dy, p, rho, nu, F):
    xp = u.__array_namespace__()
    udiff = 1
    stepcount = 0
    while udiff > 0.001:  # the one value that decides whether to go on
        un, vn = copy_of(u), copy_of(v)
        b = _build_up_b(rho, dt, dx, dy, u, v)
        _pressure_poisson_periodic(nit, p, dx, dy, b)
        for at, east, west in _COLUMNS:
            slope = dt / (2 * rho * dx) * (p[1:-1, east] - p[1:-1, west])
            u[1:-1, at] = (
                moved(
                    un[1:-1, at], un[1:-1, at], vn[1:-1, at], dt, dx, dy, nu,
                    un[1:-1, east], un[1:-1, west], un[2:, at], un[0:-2, at], slope,
                )
                + F * dt
            )  # fmt: skip
        for at, east, west in _COLUMNS:
            slope = dt / (2 * rho * dy) * (p[2:, at] - p[0:-2, at])
            v[1:-1, at] = moved(
                vn[1:-1, at], un[1:-1, at], vn[1:-1, at], dt, dx, dy, nu,
                vn[1:-1, east], vn[1:-1, west], vn[2:, at], vn[0:-2, at], slope,
            )  # fmt: skip
        u[0, :] = 0
        u[-1, :] = 0
        v[0, :] = 0
        v[-1, :] = 0
        udiff = (xp.sum(u) - xp.sum(un)) / xp.sum(u)
        stepcount += 1
    return stepcount
