"""Covariance matrix of the columns of a table."""


def kernel(M, float_n, data):
    xp = data.__array_namespace__()
    mean = xp.mean(data, axis=0)
    data -= mean
    cov = xp.zeros((M, M), dtype=data.dtype, device=data.device)
    for i in range(M):
        row = data[:, i] @ data[:, i:M] / (float_n - 1.0)
        cov[i:M, i] = row
        cov[i, i:M] = row
    return cov


def rewritten(M, float_n, data):
    """All rows by one product."""
    xp = data.__array_namespace__()
    data -= xp.mean(data, axis=0)
    return data.T @ data / (float_n - 1.0)
