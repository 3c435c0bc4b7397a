"""Durbin's recursion for Toeplitz systems."""


def kernel(r):
    xp = r.__array_namespace__()
    y = xp.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta = beta * (1.0 - alpha * alpha)
        alpha = -(r[k] + xp.flip(r[:k]) @ y[:k]) / beta
        y[:k] += alpha * xp.flip(y[:k])
        y[k] = alpha
    return y
