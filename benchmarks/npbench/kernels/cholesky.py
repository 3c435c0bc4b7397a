"""Cholesky decomposition, element by element; the upper triangle stays as it is."""


def kernel(A):
    xp = A.__array_namespace__()
    A[0, 0] = xp.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[j, :j]
            A[i, j] /= A[j, j]
        A[i, i] -= A[i, :i] @ A[i, :i]
        A[i, i] = xp.sqrt(A[i, i])


def rewritten(A):
    """By columns: a column is complete when those before it were subtracted by one product."""
    xp = A.__array_namespace__()
    for j in range(A.shape[0]):
        A[j:, j] -= A[j:, :j] @ A[j, :j]
        A[j, j] = xp.sqrt(A[j, j])
        A[j + 1 :, j] /= A[j, j]
