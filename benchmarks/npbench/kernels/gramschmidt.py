"""QR decomposition by the modified Gram-Schmidt process, column by column."""


def kernel(A):
    xp = A.__array_namespace__()
    Q = xp.zeros_like(A)
    R = xp.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        norm = A[:, k] @ A[:, k]
        R[k, k] = xp.sqrt(norm)
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = Q[:, k] @ A[:, j]
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


def rewritten(A):
    """All later columns at once."""
    xp = A.__array_namespace__()
    Q = xp.zeros_like(A)
    R = xp.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        R[k, k] = xp.sqrt(A[:, k] @ A[:, k])
        Q[:, k] = A[:, k] / R[k, k]
        R[k, k + 1 :] = Q[:, k] @ A[:, k + 1 :]
        A[:, k + 1 :] -= Q[:, k, None] * R[None, k, k + 1 :]
    return Q, R
