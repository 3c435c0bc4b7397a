"""The rows of sorting, sets, ``linalg`` and ``fft``; and the whole table.

Where results are not unique (eigenvectors, the order of a set), they are checked by what defines
them, with NumPy's result for shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .drawing import Call, Choose, Operand, axis_of, call, numpy_view, operand
from .function_rows import STRICT, Row, array_of, dtype_of, mapped, shape_of, tame
from .function_table import LINEAR_ALGEBRA
from .function_table import TABLE as CORE
from .outcomes import RTOL, close, equal, same, total
from .support import Shape

# Sorting and searching.


def _without_nan(o: Operand) -> Operand:
    return mapped(o, np.nan_to_num) if o.base.dtype.kind == "f" else o


def _sort(choose: Choose) -> Call:
    x = array_of(choose, "iuf", 1)
    descending = choose.one_of([None, True])
    if descending:  # where NaN goes then is each library's choice
        x = _without_nan(x)
    axis = axis_of(choose, numpy_view(x).ndim)
    return call(x, axis=axis, descending=descending, stable=choose.one_of([None, True]))


def argsort(x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return the stable order; descending, equal elements keep theirs."""
    if not descending:
        return np.argsort(x, axis=axis, stable=True)
    backwards = np.argsort(np.flip(x, axis=axis), axis=axis, stable=True)
    return np.flip(x.shape[axis] - 1 - backwards, axis=axis)


def sort(x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    found = np.sort(x, axis=axis, stable=True)
    return np.flip(found, axis=axis) if descending else found


def _searchsorted(choose: Choose) -> Call:
    dtype = dtype_of(choose, "fiu")
    x = operand(choose, (choose.one_of([7, 0, 1, 40]),), dtype)
    data = numpy_view(x)
    v = operand(choose, shape_of(choose), dtype)
    side = choose.one_of([None, "right"])
    if choose.one_of([False, True]):
        sorter = np.argsort(data, stable=True)
        return call(x, v, side=side, sorter=Operand(sorter))
    return call(Operand(np.sort(data)), v, side=side)


SORTING: dict[str, Row] = {
    "argsort": Row(_sort, argsort),
    "sort": Row(_sort, sort, equal),
    "searchsorted": Row(_searchsorted),
}


# Sets: the order of their elements is each library's choice.


def _set(choose: Choose) -> Call:
    x = array_of(choose, "iufb")
    return call(mapped(x, lambda n: np.where(n > 9, n, np.round(n))))


def _sorted(values: Any) -> Any:
    return np.sort(values, stable=True)


def _values(got: Any, want: Any, _: Call) -> None:
    np.testing.assert_array_equal(_sorted(got), _sorted(want))


def _counts(got: Any, want: Any, _: Call) -> None:
    for a, b in zip(_by_value(got), _by_value(want), strict=True):
        np.testing.assert_array_equal(a, b)


def _by_value(pair: Any) -> tuple[Any, Any]:
    order = np.argsort(pair[0], stable=True)
    return pair[0][order], pair[1][order]


def _inverse(got: Any, _: Any, arguments: Call) -> None:
    x = numpy_view(arguments.args[0])
    assert got[1].shape == x.shape
    np.testing.assert_array_equal(got[0][got[1]], x)


def _all(got: Any, want: Any, arguments: Call) -> None:
    values, indices, inverse, counts = got
    x = numpy_view(arguments.args[0])
    np.testing.assert_array_equal(values, x.reshape(-1)[indices])
    _inverse((values, inverse), want, arguments)
    _counts((values, counts), (want[0], want[3]), arguments)
    order = np.argsort(values, stable=True)
    firsts = np.argsort(want[0], stable=True)
    number = ~np.isnan(values[order]) if values.dtype.kind == "f" else np.ones(len(order), bool)
    np.testing.assert_array_equal(indices[order][number], want[1][firsts][number])


def _isin(choose: Choose) -> Call:
    dtype = dtype_of(choose, "iuf")
    x, y = (operand(choose, shape_of(choose), dtype) for _ in range(2))
    return call(x, y, invert=choose.one_of([None, True]))


SETS: dict[str, Row] = {
    "isin": Row(_isin, strict=False),  # which takes integers only
    "unique_all": Row(_set, None, _all, "at the call", 1),
    "unique_counts": Row(_set, None, _counts, "at the call", 1),
    "unique_inverse": Row(_set, None, _inverse, "at the call", 1),
    "unique_values": Row(_set, None, _values, "at the call", 1),
}


# linalg.

BATCHES: list[Shape] = [(), (2,), (0,), (2, 3)]


def _matrix(choose: Choose, rows: int, columns: int, batch: Shape, kinds: str = "fc") -> Operand:
    dtype = dtype_of(choose, kinds)
    return tame(operand(choose, (*batch, rows, columns), dtype, special=False))


def _regular(o: Operand, hermitian: bool = False) -> Operand:
    """Return a plain operand whose matrices are diagonally dominant, positive if Hermitian."""
    a = numpy_view(o)
    if hermitian:
        a = a + np.conj(np.swapaxes(a, -1, -2))
    n = a.shape[-1]
    return Operand(
        np.ascontiguousarray(a + (6 * n) * np.eye(n)).astype(a.dtype), "plain", o.pending
    )


def _square(hermitian: bool = False) -> Callable[[Choose], Call]:
    def draw(choose: Choose) -> Call:
        n = choose.one_of([3, 1, 5])
        return call(_regular(_matrix(choose, n, n, choose.one_of(BATCHES)), hermitian))

    return draw


def _cholesky(choose: Choose) -> Call:
    return Call(_square(True)(choose).args, {"upper": choose.one_of([False, True])})


def _rectangular(choose: Choose) -> Call:
    rows, columns = choose.one_of([(4, 3), (3, 4), (3, 3), (1, 2)])
    return call(_matrix(choose, rows, columns, choose.one_of(BATCHES)))


def _solve(choose: Choose) -> Call:
    (a,) = _square()(choose).args
    n = a.base.shape[-1]
    dtype = str(a.base.dtype)
    if choose.one_of([False, True]):
        return call(a, tame(operand(choose, (n,), dtype, special=False)))
    shape = (*a.base.shape[:-2], n, choose.one_of([2, 1]))
    return call(a, tame(operand(choose, shape, dtype, special=False)))


def _matrix_power(choose: Choose) -> Call:
    return Call((*_square()(choose).args, choose.one_of([3, 0, 1, -2])), {})


def _matrix_norm(choose: Choose) -> Call:
    order = choose.one_of(["fro", None, 1, -1, 2, -2, float("inf"), "nuc"])
    a = _rectangular(choose).args[0]
    return call(a, ord=order, keepdims=choose.one_of([None, True]))


def matrix_norm(x: Any, ord: Any = "fro", keepdims: bool = False) -> Any:
    return np.linalg.norm(x, ord=ord, axis=(-2, -1), keepdims=keepdims)


def _vector_norm(choose: Choose) -> Call:
    x = array_of(choose, "fc", 1, special=False, empty=False)
    ndim = numpy_view(x).ndim
    return call(
        tame(x),
        axis=choose.one_of([-1, None, *range(ndim), tuple(range(ndim))]),
        ord=choose.one_of([None, 1, float("inf"), -float("inf"), 0, 3]),
        keepdims=choose.one_of([None, True]),
    )


def _cross(choose: Choose) -> Call:
    dtype = dtype_of(choose, "fic")
    shape = choose.one_of([(3,), (2, 3), (0, 3), (2, 1, 3)])
    return call(*[tame(operand(choose, shape, dtype, special=False)) for _ in range(2)])


def _outer(choose: Choose) -> Call:
    dtype = dtype_of(choose, "fiuc")
    lengths = [choose.one_of([3, 0, 1, 5]) for _ in range(2)]
    return call(*[tame(operand(choose, (n,), dtype, special=False)) for n in lengths])


def _diagonal(choose: Choose) -> Call:
    x = array_of(choose, "fiubc", 2)
    return call(x, offset=choose.one_of([None, 1, -1, -9]))


def _trace(choose: Choose) -> Call:
    x = tame(array_of(choose, "fiuc", 2, special=False))
    return call(x, offset=choose.one_of([None, 1, -1]))


def trace(x: Any, offset: int = 0) -> Any:
    return np.sum(np.linalg.diagonal(x, offset=offset), axis=-1)


def near(got: Any, want: Any, factor: float = 50.0) -> None:
    """Equal within rounding of well-conditioned problems, relative to the largest element."""
    size = float(np.max(np.abs(want), initial=1.0))
    rtol = factor * RTOL[str(want.dtype)]
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * size)


def _near(got: Any, want: Any, _: Call) -> None:
    for a, b in zip(*((r,) if not isinstance(r, tuple) else r for r in (got, want)), strict=True):
        near(a, np.asarray(b))


def _argument(arguments: Call) -> Any:
    return numpy_view(arguments.args[0])


def _eigh(got: Any, want: Any, arguments: Call) -> None:
    a = _argument(arguments)
    near(got[0], want[0])
    near(a @ got[1], got[1] * got[0][..., None, :])
    _orthonormal(got[1])


def _eig(got: Any, want: Any, arguments: Call) -> None:
    a = _argument(arguments)
    values, vectors = got
    near(a.astype(vectors.dtype) @ vectors, vectors * values[..., None, :])
    _eigvals(values, want[0], arguments)


def _eigvals(got: Any, want: Any, _: Call) -> None:
    """In any order: the sums of their powers are the same."""
    for power in (1, 2, 3):
        near(np.sum(got**power, axis=-1), np.sum(np.asarray(want) ** power, axis=-1))


def _adjoint(a: Any) -> Any:
    return np.conj(np.swapaxes(a, -1, -2))


def _orthonormal(q: Any) -> None:
    product = _adjoint(q) @ q
    near(product, np.broadcast_to(np.eye(q.shape[-1]), product.shape).astype(q.dtype))


def _qr(got: Any, _: Any, arguments: Call) -> None:
    q, r = got
    near(q @ r, _argument(arguments))
    _orthonormal(q)
    np.testing.assert_array_equal(np.tril(r, -1), np.zeros_like(r))


def _svd(got: Any, want: Any, arguments: Call) -> None:
    u, s, vh = got
    near(s, want[1])
    k = s.shape[-1]
    near((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], _argument(arguments))


def _solved(got: Any, _: Any, arguments: Call) -> None:
    a, b = (numpy_view(o) for o in arguments.args)
    if b.ndim == 1:
        near(a @ got[..., None], np.broadcast_to(b[:, None], (*a.shape[:-1], 1)))
    else:
        near(a @ got, b)


def _qr_call(choose: Choose) -> Call:
    return Call(_rectangular(choose).args, {"mode": choose.one_of(["reduced", "complete"])})


def _svd_call(choose: Choose) -> Call:
    return Call(_rectangular(choose).args, {"full_matrices": choose.one_of([True, False])})


LINALG: dict[str, Row] = {
    "linalg.cholesky": Row(_cholesky, None, _near, "at the call", 1),
    "linalg.cross": Row(_cross, None, total),
    "linalg.det": Row(_square(), None, _near, "at the call"),
    "linalg.diagonal": Row(_diagonal, None, same, "view"),
    "linalg.eig": Row(_square(), STRICT, _eig, "at the call", 2),
    "linalg.eigvals": Row(_square(), STRICT, _eigvals, "at the call", 2),
    "linalg.eigh": Row(_square(True), None, _eigh, "at the call", 2),
    "linalg.eigvalsh": Row(_square(True), None, _near, "at the call", 2),
    "linalg.inv": Row(_square(), None, _near, "at the call", 1),
    "linalg.matmul": LINEAR_ALGEBRA["matmul"],
    "linalg.matrix_norm": Row(_matrix_norm, matrix_norm, _near),
    "linalg.matrix_power": Row(_matrix_power, None, _near),
    "linalg.matrix_rank": Row(_rectangular, None, same, "at the call", 2),
    "linalg.matrix_transpose": LINEAR_ALGEBRA["matrix_transpose"],
    "linalg.outer": Row(_outer, None, close),
    "linalg.pinv": Row(_rectangular, None, _near, "at the call", 2),
    "linalg.qr": Row(_qr_call, None, _qr, "at the call"),
    "linalg.slogdet": Row(_square(), None, _near, "at the call"),
    "linalg.solve": Row(_solve, None, _solved, "at the call", 1),
    "linalg.svd": Row(_svd_call, None, _svd, "at the call", 2),
    "linalg.svdvals": Row(_rectangular, None, _near, "at the call", 2),
    "linalg.tensordot": LINEAR_ALGEBRA["tensordot"],
    "linalg.trace": Row(_trace, trace, total),
    "linalg.vecdot": LINEAR_ALGEBRA["vecdot"],
    "linalg.vector_norm": Row(_vector_norm, None, _near),
}


# fft.


def _one_axis(kinds: str, half: bool = False) -> Callable[[Choose], Call]:
    def draw(choose: Choose) -> Call:
        x = tame(array_of(choose, kinds, 1, special=False, empty=False))
        shape = numpy_view(x).shape
        axis = axis_of(choose, len(shape))
        least = 2 if half and shape[axis] == 1 else None  # n would be 0
        return call(
            x,
            n=choose.one_of([least, least or 3, 8]),
            axis=axis,
            norm=choose.one_of([None, "ortho", "forward"]),
        )

    return draw


def _axes(kinds: str, half: bool = False) -> Callable[[Choose], Call]:
    def draw(choose: Choose) -> Call:
        x = tame(array_of(choose, kinds, 1, special=False, empty=False))
        shape = numpy_view(x).shape
        axes = choose.one_of([None, (-1,), tuple(range(len(shape)))])
        least = half and shape[-1] == 1
        count = len(shape) if axes is None else len(axes)
        sizes = choose.one_of([(4,) * count if least else None, (4,) * count])
        if sizes is not None and axes is None:
            axes = tuple(range(len(shape)))
        return call(x, s=sizes, axes=axes, norm=choose.one_of([None, "ortho", "backward"]))

    return draw


def _frequencies(choose: Choose) -> Call:
    return call(choose.one_of([8, 1, 5]), d=choose.one_of([None, 0.5]))


def _shift(choose: Choose) -> Call:
    x = array_of(choose, "fc", 1)
    return call(x, axes=choose.one_of([None, 0, -1, (0,)]))


FFT: dict[str, Row] = {
    "fft.fft": Row(_one_axis("c"), None, total),
    "fft.fftfreq": Row(_frequencies, None, close),
    "fft.fftn": Row(_axes("c"), None, total),
    "fft.fftshift": Row(_shift, None, same, "at the call"),
    "fft.hfft": Row(_one_axis("c", True), None, total),
    "fft.ifft": Row(_one_axis("c"), None, total),
    "fft.ifftn": Row(_axes("c"), None, total),
    "fft.ifftshift": Row(_shift, None, same, "at the call"),
    "fft.ihfft": Row(_one_axis("f"), None, total),
    "fft.irfft": Row(_one_axis("c", True), None, total),
    "fft.irfftn": Row(_axes("c", True), None, total),
    "fft.rfft": Row(_one_axis("f"), None, total),
    "fft.rfftfreq": Row(_frequencies, None, close),
    "fft.rfftn": Row(_axes("f"), None, total),
}

TABLE: dict[str, Row] = {**CORE, **SORTING, **SETS, **LINALG, **FFT}
