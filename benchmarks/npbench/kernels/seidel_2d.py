"""Gauss-Seidel relaxation of nine points: each row by its elements, one after another."""


def kernel(TSTEPS, N, A):
    for _ in range(TSTEPS - 1):
        for i in range(1, N - 1):
            above, row, below = A[i - 1, :], A[i, :], A[i + 1, :]
            A[i, 1:-1] += (
                above[:-2]
                + above[1:-1]
                + above[2:]
                + row[2:]
                + below[:-2]
                + below[1:-1]
                + below[2:]
            )
            for j in range(1, N - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0
