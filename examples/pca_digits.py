"""Principal components of scikit-learn's handwritten digits, by subspace iteration.

Only matrix products, element-wise functions, reductions and slices: the covariance matrix and the
basis stay on the device from the upload of the digits to the download of the result.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import check, counted, on, parse
from sklearn.datasets import load_digits

import lazyarr as xp

EXTRA = 4  # dimensions beyond those asked for: they make the wanted ones converge sooner


def covariance(x: Any) -> Any:
    centred = x - xp.mean(x, axis=0)
    return xp.matmul(centred.T, centred) / (x.shape[0] - 1)


def orthonormalise(y: Any) -> None:
    """Make y's columns orthonormal in place (modified Gram-Schmidt)."""
    for j in range(y.shape[1]):
        y[:, j : j + 1] /= xp.sqrt(xp.sum(y[:, j] * y[:, j]))
        q = y[:, j : j + 1]
        if j + 1 < y.shape[1]:
            y[:, j + 1 :] -= q * xp.sum(q * y[:, j + 1 :], axis=0)


def components(c: Any, start: np.ndarray, steps: int) -> tuple[Any, Any]:
    """Return the variances along the principal axes of c, and the axes as columns."""
    c2 = xp.matmul(c, c)
    c4 = xp.matmul(c2, c2)  # four times fewer steps
    y = xp.asarray(start)
    orthonormalise(y)
    for _ in range(steps):
        y = xp.matmul(c4, y)
        orthonormalise(y)
    return xp.sum(y * xp.matmul(c, y), axis=0), y


def main(arguments: Sequence[str] | None = None) -> int:
    args = parse(__doc__, arguments, components=5, steps=30)
    digits = load_digits().data
    rng = np.random.default_rng(4)
    start = rng.normal(size=(digits.shape[1], args.components + EXTRA))
    with on(args.device):
        x = xp.asarray(digits)
        print(f"{x.shape[0]} digits of {x.shape[1]} pixels on {x.device}")
        with counted("covariance"):
            c = covariance(x)
            total = xp.sum(c * xp.eye(c.shape[0]))
            xp.evaluate(c, total)
        with counted(f"{args.steps} iterations"):
            variances, axes = components(c, start, args.steps)
            xp.evaluate(variances, axes)
        with counted("reading the result"):
            explained = np.asarray(variances / total)[: args.components]
    for number, share in enumerate(explained, 1):
        print(f"component {number}: {100 * share:5.2f} % of the variance")
    eigenvalues = np.linalg.eigvalsh(np.cov(digits, rowvar=False))[::-1]
    want = (eigenvalues / eigenvalues.sum())[: args.components]
    return check("explained variance", explained, want, rtol=1e-6)


if __name__ == "__main__":
    sys.exit(main())
