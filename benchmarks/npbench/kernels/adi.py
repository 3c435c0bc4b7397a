"""Diffusion by alternating directions: a tridiagonal system for every line, swept twice."""


def kernel(TSTEPS, N, u):
    xp = u.__array_namespace__()
    v, p, q = (xp.empty(u.shape, dtype=u.dtype) for _ in range(3))
    step, time = 1.0 / N, 1.0 / TSTEPS
    mul1 = 2.0 * time / (step * step)
    mul2 = 1.0 * time / (step * step)
    a = c = -mul1 / 2.0
    b = 1.0 + mul2
    d = f = -mul2 / 2.0
    e = 1.0 + mul2
    inner = slice(1, N - 1)
    for _ in range(TSTEPS):
        v[0, inner] = 1.0
        p[inner, 0] = 0.0
        q[inner, 0] = v[0, inner]
        for j in range(1, N - 1):
            p[inner, j] = -c / (a * p[inner, j - 1] + b)
            q[inner, j] = (
                -d * u[j, 0 : N - 2]
                + (1.0 + 2.0 * d) * u[j, inner]
                - f * u[j, 2:N]
                - a * q[inner, j - 1]
            ) / (a * p[inner, j - 1] + b)
        v[N - 1, inner] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, inner] = p[inner, j] * v[j + 1, inner] + q[inner, j]

        u[inner, 0] = 1.0
        p[inner, 0] = 0.0
        q[inner, 0] = u[inner, 0]
        for j in range(1, N - 1):
            p[inner, j] = -f / (d * p[inner, j - 1] + e)
            q[inner, j] = (
                -a * v[0 : N - 2, j]
                + (1.0 + 2.0 * a) * v[inner, j]
                - c * v[2:N, j]
                - d * q[inner, j - 1]
            ) / (d * p[inner, j - 1] + e)
        u[inner, N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            u[inner, j] = p[inner, j] * u[inner, j + 1] + q[inner, j]
    return u
