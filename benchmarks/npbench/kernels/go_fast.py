"""A matrix plus the sum of the hyperbolic tangents of its diagonal."""


def go_fast(a):
    xp = a.__array_namespace__()
    trace = 0.0
    for i in range(a.shape[0]):
        trace = trace + xp.tanh(a[i, i])
    return a + trace


def rewritten(a):
    """The diagonal as one array."""
    xp = a.__array_namespace__()
    return a + xp.sum(xp.tanh(xp.linalg.diagonal(a)))
