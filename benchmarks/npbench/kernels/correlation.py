"""Correlation matrix of the columns of a table."""

import math


def kernel(M, float_n, data):
    xp = data.__array_namespace__()
    mean = xp.mean(data, axis=0)
    deviation = xp.std(data, axis=0)
    deviation[deviation <= 0.1] = 1.0
    data -= mean
    data /= math.sqrt(float_n) * deviation
    corr = xp.eye(M, dtype=data.dtype, device=data.device)
    for i in range(M - 1):
        row = data[:, i] @ data[:, i + 1 : M]
        corr[i + 1 : M, i] = row
        corr[i, i + 1 : M] = row
    return corr


def rewritten(M, float_n, data):
    """All rows by one product; the diagonal is 1 without it."""
    xp = data.__array_namespace__()
    mean = xp.mean(data, axis=0)
    deviation = xp.std(data, axis=0)
    deviation = xp.where(deviation <= 0.1, 1.0, deviation)
    data -= mean
    data /= math.sqrt(float_n) * deviation
    diagonal = xp.eye(M, dtype=xp.bool, device=data.device)
    return xp.where(diagonal, 1.0, data.T @ data)
