"""Two rank-one updates of a matrix and two products with it."""


def kernel(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A += u1[:, None] * v1[None, :] + u2[:, None] * v2[None, :]
    x += beta * y @ A + z
    w += alpha * A @ x


def rewritten(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    """The products are scaled, not the matrix."""
    A += u1[:, None] * v1[None, :] + u2[:, None] * v2[None, :]
    x += beta * (y @ A) + z
    w += alpha * (A @ x)
