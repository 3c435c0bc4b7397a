"""Flow in a cavity under a moving lid: Navier-Stokes by finite differences."""

from benchmarks.npbench.kernels.flow import copy_of, divergence, moved, pressure

_IN = slice(1, -1)
_UP, _DOWN = slice(2, None), slice(None, -2)


def _build_up_b(b, rho, dt, u, v, dx, dy):
    b[1:-1, 1:-1] = divergence(
        rho,
        dt,
        dx,
        dy,
        *((u[k], v[k]) for k in ((_IN, _UP), (_IN, _DOWN), (_UP, _IN), (_DOWN, _IN))),
    )


def _pressure_poisson(nit, p, dx, dy, b):
    for _ in range(nit):
        pn = copy_of(p)
        p[1:-1, 1:-1] = pressure(
            dx, dy, pn[1:-1, 2:], pn[1:-1, 0:-2], pn[2:, 1:-1], pn[0:-2, 1:-1], b[1:-1, 1:-1]
        )
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0


def cavity_flow(nx, ny, nt, nit, u, v, dt, dx, dy, p, rho, nu):
    xp = u.__array_namespace__()
    b = xp.zeros((ny, nx), dtype=u.dtype)
    for _ in range(nt):
        un, vn = copy_of(u), copy_of(v)
        _build_up_b(b, rho, dt, u, v, dx, dy)
        _pressure_poisson(nit, p, dx, dy, b)
        slopes = (
            dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2]),
            dt / (2 * rho * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1]),
        )
        for x, old, slope in zip((u, v), (un, vn), slopes, strict=True):
            x[1:-1, 1:-1] = moved(
                old[1:-1, 1:-1], un[1:-1, 1:-1], vn[1:-1, 1:-1], dt, dx, dy, nu,
                old[1:-1, 2:], old[1:-1, 0:-2], old[2:, 1:-1], old[0:-2, 1:-1], slope,
            )  # fmt: skip
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0
