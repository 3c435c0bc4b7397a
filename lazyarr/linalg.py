"""The ``linalg`` extension of the standard: ``xp.linalg``.

Decompositions and solvers run at the call, as library calls of the device; products, diagonals and
norms are lazy. Wherever a matrix can fail, it fails with ``LinAlgError`` at the call.
"""

from __future__ import annotations

from ._errors import LinAlgError
from .api.decompositions import (
    EighResult,
    EigResult,
    QRResult,
    SVDResult,
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from .api.linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from .api.products import cross, diagonal, matrix_norm, outer, trace, vector_norm
from .api.solvers import (
    SlogdetResult,
    det,
    inv,
    matrix_power,
    matrix_rank,
    pinv,
    slogdet,
    solve,
)

__all__ = [
    "EigResult",
    "EighResult",
    "LinAlgError",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
