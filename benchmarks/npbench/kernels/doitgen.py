"""Multiresolution analysis: every row of a three-dimensional array times a matrix."""


def kernel(NR, NQ, NP, A, C4):
    xp = A.__array_namespace__()
    A[...] = xp.reshape(xp.reshape(A, (NR, NQ, 1, NP)) @ C4, (NR, NQ, NP))


def rewritten(NR, NQ, NP, A, C4):
    """The rows as one matrix."""
    xp = A.__array_namespace__()
    A[...] = xp.reshape(xp.reshape(A, (NR * NQ, NP)) @ C4, (NR, NQ, NP))
