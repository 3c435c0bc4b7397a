"""The functions of ``base.LibraryCall`` by NumPy: for ``cpu`` and ``sim``.

Owns the table ``FUNCTIONS``. A function gets input and output arrays and the call's options, fills
the outputs, and leaves the inputs alone. Imports nothing of lazyarr.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Arrays = Sequence[Array]


def run(name: str, inputs: Arrays, outputs: Arrays, options: tuple[Any, ...]) -> None:
    """Fill the outputs of a library call. Emits no warning; failures show in ``info`` alone."""
    with np.errstate(all="ignore"):
        FUNCTIONS[name](inputs, outputs, *options)


def _each(function: Callable[[Arrays, Arrays], None], inputs: Arrays, outputs: Arrays) -> None:
    """Run a function that raises for a whole stack if one matrix fails; the last output is info.

    The results of matrices that fail are NaN.
    """
    *results, info = outputs
    info[...] = 0
    try:
        function(inputs, results)
    except np.linalg.LinAlgError:
        for n in range(len(info)):
            one = slice(n, n + 1)
            try:
                function([x[one] for x in inputs], [x[one] for x in results])
            except np.linalg.LinAlgError:
                info[n] = 1
                for x in results:
                    x[n] = np.nan


def _cholesky(inputs: Arrays, outputs: Arrays, upper: bool) -> None:
    def factorise(given: Arrays, results: Arrays) -> None:
        results[0][...] = np.linalg.cholesky(given[0], upper=upper)

    _each(factorise, inputs, outputs)


def _solve(inputs: Arrays, outputs: Arrays, transposed: bool) -> None:
    def solve(given: Arrays, results: Arrays) -> None:
        a, r = given
        results[0][...] = np.linalg.solve(a.mT if transposed else a, r.mT).mT

    _each(solve, inputs, outputs)


def _slogdet(inputs: Arrays, outputs: Arrays) -> None:
    sign, size = outputs
    sign[...], size[...] = np.linalg.slogdet(inputs[0])


def _qr(inputs: Arrays, outputs: Arrays) -> None:
    q_columns, factors = outputs
    a = inputs[0].mT
    complete = q_columns.shape[1] > min(a.shape[1:])
    q, r = np.linalg.qr(a, mode="complete" if complete else "reduced")
    q_columns[...] = q.mT
    factors[...] = 0
    factors.mT[:, : r.shape[1]] = r


def _eigh(inputs: Arrays, outputs: Arrays) -> None:
    def decompose(given: Arrays, results: Arrays) -> None:
        if len(results) == 1:
            results[0][...] = np.linalg.eigvalsh(given[0])
            return
        values, vectors = np.linalg.eigh(given[0])
        results[0][...] = values
        results[1][...] = np.conj(vectors.mT)

    _each(decompose, inputs, outputs)


def _eig(inputs: Arrays, outputs: Arrays) -> None:
    def decompose(given: Arrays, results: Arrays) -> None:
        if len(results) == 1:
            results[0][...] = np.linalg.eigvals(given[0])
            return
        values, vectors = np.linalg.eig(given[0].mT)
        results[0][...] = values
        rows = vectors.mT
        if given[0].dtype.kind == "c":
            results[1][...] = rows
        else:  # the second of a pair is the conjugate of the first
            second = values.imag < 0
            results[1][...] = np.where(second[..., np.newaxis], -rows.imag, rows.real)

    _each(decompose, inputs, outputs)


def _svd(inputs: Arrays, outputs: Arrays) -> None:
    def decompose(given: Arrays, results: Arrays) -> None:
        if len(results) == 1:
            results[0][...] = np.linalg.svd(given[0], compute_uv=False)
            return
        full = results[2].shape[1] > results[1].shape[1]
        for to, x in zip(results, np.linalg.svd(given[0], full_matrices=full), strict=True):
            to[...] = x

    _each(decompose, inputs, outputs)


def _svd_jacobi(inputs: Arrays, outputs: Arrays) -> None:
    def decompose(given: Arrays, results: Arrays) -> None:
        if len(results) == 1:
            results[0][...] = np.linalg.svd(given[0], compute_uv=False)
            return
        u, values, vh = np.linalg.svd(given[0])
        results[0][...] = vh
        results[1][...] = values
        results[2][...] = np.conj(u.mT)

    _each(decompose, inputs, outputs)


def _fft(inputs: Arrays, outputs: Arrays, kind: str, inverse: bool, rank: int) -> None:
    (x,), (y,) = inputs, outputs
    axes = tuple(range(-rank, 0))
    if kind == "r2c":
        y[...] = np.fft.rfftn(x, axes=axes)
    elif kind == "c2r":
        y[...] = np.fft.irfftn(x, s=y.shape[-rank:], axes=axes, norm="forward")
    elif inverse:
        y[...] = np.fft.ifftn(x, axes=axes, norm="forward")
    else:
        y[...] = np.fft.fftn(x, axes=axes)


FUNCTIONS: dict[str, Callable[..., None]] = {
    "cholesky": _cholesky,
    "slogdet": _slogdet,
    "solve": _solve,
    "qr": _qr,
    "eigh": _eigh,
    "eig": _eig,
    "svd": _svd,
    "svd_jacobi": _svd_jacobi,
    "fft": _fft,
}
