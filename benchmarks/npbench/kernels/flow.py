"""What the two flow problems share."""


def copy_of(x):
    """Return a copy, in the namespace of x."""
    return x.__array_namespace__().asarray(x, copy=True)


def divergence(rho, dt, dx, dy, east, west, north, south):
    """Return the right side of the pressure equation from (u, v) at four neighbours."""
    (ue, ve), (uw, vw), (un, vn), (us, vs) = east, west, north, south
    return rho * (
        1 / dt * ((ue - uw) / (2 * dx) + (vn - vs) / (2 * dy))
        - ((ue - uw) / (2 * dx)) ** 2
        - 2 * ((un - us) / (2 * dy) * (ve - vw) / (2 * dx))
        - ((vn - vs) / (2 * dy)) ** 2
    )


def pressure(dx, dy, east, west, north, south, source):
    scale = 2 * (dx**2 + dy**2)
    return (
        (east + west) * dy**2 + (north + south) * dx**2
    ) / scale - dx**2 * dy**2 / scale * source


def moved(x, un, vn, dt, dx, dy, nu, east, west, north, south, slope):
    """Return a velocity after a step of time; ``slope`` is the pressure's."""
    return (
        x
        - un * dt / dx * (x - west)
        - vn * dt / dy * (x - south)
        - slope
        + nu * (dt / dx**2 * (east - 2 * x + west) + dt / dy**2 * (north - 2 * x + south))
    )
