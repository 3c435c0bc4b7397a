"""Stars under gravity: all pairs, leapfrog steps, and the energy of each step."""


def _separations(pos):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    return x.T - x, y.T - y, z.T - z


def _acceleration(xp, pos, mass, G, softening):
    dx, dy, dz = _separations(pos)
    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    return xp.concat((ax, ay, az), axis=1)


def _energy(xp, pos, vel, mass, G):
    kinetic = 0.5 * xp.sum(mass * vel**2)
    dx, dy, dz = _separations(pos)
    inv_r = xp.sqrt(dx**2 + dy**2 + dz**2)
    inv_r[inv_r > 0] = 1.0 / inv_r[inv_r > 0]
    potential = G * xp.sum(xp.triu(-(mass * mass.T) * inv_r, k=1))
    return kinetic, potential


def nbody(mass, pos, vel, N, Nt, dt, G, softening):
    xp = pos.__array_namespace__()
    vel -= xp.mean(mass * vel, axis=0) / xp.mean(mass)
    acc = _acceleration(xp, pos, mass, G, softening)
    KE, PE = (xp.empty(Nt + 1, dtype=xp.float64) for _ in range(2))
    KE[0], PE[0] = _energy(xp, pos, vel, mass, G)
    for i in range(Nt):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = _acceleration(xp, pos, mass, G, softening)
        vel += acc * dt / 2.0
        KE[i + 1], PE[i + 1] = _energy(xp, pos, vel, mass, G)
    return KE, PE
