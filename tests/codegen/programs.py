"""Small programs that between them use every template of the code generator.

Each gives the arrays to evaluate and what they must hold. ``test_emit`` checks that no template is
left out, compiles their kernels for GPUs, and runs them again with 64-bit indices;
compute-sanitizer runs them on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lazyarr as xp
from lazyarr.codegen.key import BoxKey, Gather, Index, KernelKey, MapKey, PassesKey, ReduceKey
from lazyarr.graph.optable import OPS
from tests.property.support import ordered_sum, values

Result = list[tuple[Any, Any]]
PROGRAMS: dict[str, Callable[[], Result]] = {}


def program(function: Callable[[], Result]) -> Callable[[], Result]:
    PROGRAMS[function.__name__] = function
    return function


def data(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    return values(dtype, int(np.prod(shape)), seed, special=False).reshape(shape)


@program
def flat_vectors_and_their_end() -> Result:
    a, b = data(1027, seed=1), data(1027, seed=2)
    x, y = xp.asarray(a), xp.asarray(b)
    want = np.sqrt(a * a) + b * 2 - np.float32(0.5)
    return [(xp.sqrt(x * x) + y * 2 - 0.5, want), (x - y, a - b)]


@program
def flat_with_mixed_widths() -> Result:
    a, b = data(515, dtype="int8", seed=1), data(515, dtype="float64", seed=2)
    x, y = xp.asarray(a), xp.asarray(b)
    return [(xp.astype(x, xp.float64) + y, a + b), (xp.where(x > 0, y, -y), np.where(a > 0, b, -b))]


@program
def flat_and_misaligned() -> Result:
    a = data(700)
    return [(xp.asarray(a)[1:] + 1, a[1:] + np.float32(1))]


@program
def complex_numbers() -> Result:
    a = data(130, dtype="float64").astype("complex128")
    a.imag = data(130, seed=3)
    x = xp.asarray(a)
    return [(x + x * 2, a + a * 2), (xp.real(x), a.real), (x == x, a == a)]


COMPLEX_FUNCTIONS = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atanh": np.arctanh, "cos": np.cos, "cosh": np.cosh, "exp": np.exp,
    "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "log2": np.log2, "log10": np.log10,
    "sin": np.sin, "sinh": np.sinh, "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip


def _near(x: xp.Array, want: Any) -> tuple[Any, Any]:
    """Return whether all elements are close, computed on the device: libraries round apart."""
    off = xp.abs(x - xp.asarray(want)) <= float(np.finfo(want.dtype).eps) * 64 * abs(want).max()
    return xp.all(off), np.bool_(True)


@program
def complex_functions() -> Result:
    result: Result = []
    for dtype in ("complex64", "complex128"):
        a = (data(90, dtype="float64") * 0.25 % 3 - 1.25).astype(dtype)
        a.imag = data(90, dtype="float64", seed=5) * 0.25 % 2 - 0.75
        x = xp.asarray(a)
        result += [_near(getattr(xp, name)(x), f(a)) for name, f in COMPLEX_FUNCTIONS.items()]
        result += [_near(xp.pow(x, 1.5 - 0.5j), np.power(a, a.dtype.type(1.5 - 0.5j)))]
        result += [_near(xp.abs(x), np.abs(a)), _near(xp.pow(x, x), np.power(a, a))]
    return result


@program
def complex_arithmetic() -> Result:
    result: Result = []
    for dtype, many in (("complex64", 600), ("complex128", 300)):
        a = data(4, many, dtype="float64", seed=1).astype(dtype)
        a.imag = data(4, many, dtype="float64", seed=2)
        row, x = a[0], xp.asarray(a)
        r = xp.asarray(row)
        for name, arrays, operands in (
            ("divide", (x, r), (a, row)),
            ("multiply", (x[::2], r), (a[::2], row)),
            ("sqrt", (x,), (a,)),
            ("sign", (xp.flip(x, axis=1),), (np.flip(a, 1),)),
            ("reciprocal", (r,), (row,)),
            ("square", (r,), (row,)),
        ):
            spec = OPS[name].resolve(*[o.dtype for o in operands])
            result.append((getattr(xp, name)(*arrays), spec.numpy(*operands)))
        total = OPS["divide"].resolve(x.dtype, x.dtype).numpy(a, row)
        result.append((xp.sum(x / r, axis=1), ordered_sum(total, (1,))))
        result.append((xp.sum(x / r, axis=0), ordered_sum(total, (0,))))
        x[1:3, 5:-5] = xp.sqrt(x[1:3, 5:-5])
        a[1:3, 5:-5] = OPS["sqrt"].resolve(x.dtype).numpy(a[1:3, 5:-5])
        result.append((x, a))
    return result


@program
def strided_vectors() -> Result:
    a, row = data(24, 40, seed=1), data(40, seed=2)
    x, r = xp.asarray(a), xp.asarray(row)
    return [
        (x[:, :32] + r[8:], a[:, :32] + row[8:]),
        (x * x[:, :1], a * a[:, :1]),
        (x + xp.flip(x, axis=1), a + np.flip(a, 1)),
    ]


@program
def strided_scalars() -> Result:
    a = data(13, 17)
    x = xp.asarray(a)
    return [
        (x[:12, :12].T + xp.flip(x[:12, :12]), a[:12, :12].T + np.flip(a[:12, :12])),
        (x[::2, ::3] * x[1::2, 1:2][0], a[::2, ::3] * a[1, 1]),
    ]


@program
def strided_in_four_dimensions() -> Result:
    a = data(3, 4, 5, 6)
    x = xp.asarray(a)
    turned = xp.permute_dims(x[..., :5], (0, 1, 3, 2)) + x[..., :5]
    return [
        (turned, a[..., :5].transpose(0, 1, 3, 2) + a[..., :5]),
        (xp.permute_dims(x, (2, 0, 3, 1)) * 2, a.transpose(2, 0, 3, 1) * 2),
    ]


@program
def long_rows() -> Result:
    result: Result = []
    for width in (257, 600, 1101):
        a, row, column = data(5, width, seed=1), data(width, seed=2), data(5, 1, seed=3)
        x, r, c = xp.asarray(a), xp.asarray(row), xp.asarray(column)
        result += [
            (x[:, ::-1] * r + c, a[:, ::-1] * row + column),
            (x[::2, 1:] + xp.flip(x[::2, :-1]), a[::2, 1:] + np.flip(a[::2, :-1])),
        ]
        xp.evaluate(x * 1)
        x[1:4, 1:] *= 2.0
        a[1:4, 1:] *= 2
        result.append((x, a))
    b = data(3, 2, 300)
    y = xp.asarray(b)
    return [*result, (y + y[:, ::-1, ::-1] + y[:, :1], b + b[:, ::-1, ::-1] + b[:, :1])]


@program
def boxes_in_long_rows() -> Result:
    result: Result = []
    for key in (np.s_[1:4], np.s_[:, 3:-1], np.s_[1:-1, 1:-1], np.s_[::2, ::-3], np.s_[:, 1::2]):
        a = data(6, 523)
        x = xp.asarray(a)
        old = x * 2
        want = a * 2
        x[key] = x[key] + 1
        a[key] += 1
        result += [(x, a), (old, want)]
    return result


@program
def functions_of_the_index() -> Result:
    x = xp.reshape(xp.arange(35, dtype=xp.float32), (5, 7)) + xp.eye(5, 7, dtype=xp.float32)
    a = np.arange(35, dtype=np.float32).reshape(5, 7) + np.eye(5, 7, dtype=np.float32)
    return [(x, a), (xp.tril(xp.asarray(a)), np.tril(a)), (xp.sum(x, axis=0), ordered_sum(a, (0,)))]


@program
def boxes() -> Result:
    result: Result = []
    for key in (np.s_[2:9], np.s_[:, 3:8], np.s_[1:-1, 1:-1], np.s_[::2, ::-3], np.s_[:, ::2]):
        a = data(12, 16)
        x = xp.asarray(a)
        old = x * 2  # a reader: the write renames
        want = a * 2
        x[key] = x[key] + 1
        a[key] += 1
        result += [(x, a), (old, want)]
    return result


@program
def overlapping_writes() -> Result:
    a = data(300)
    x = xp.asarray(a)
    x[1:] = x[:-1] * 2
    a[1:] = a[:-1].copy() * 2
    x[...] = xp.flip(x)
    a[...] = a[::-1].copy()
    return [(x, a)]


@program
def stores_through_views() -> Result:
    a = data(16, 64)
    x = xp.asarray(a)
    xp.evaluate(x * 1)
    for key in (np.s_[3], np.s_[4:6, 8:24], np.s_[:, 5], np.s_[1::7, ::9], np.s_[-1, ::-5]):
        x[key] *= 3.0
        a[key] *= 3
    x[0, ...] = x[1, ...] + xp.arange(64, dtype=xp.float32)
    a[0] = a[1] + np.arange(64, dtype=np.float32)
    return [(x, a)]


def _sums(shapes: list[tuple[tuple[int, ...], tuple[int, ...]]], dtype: str = "float32") -> Result:
    result: Result = []
    for shape, axes in shapes:
        a = data(*shape, dtype=dtype)
        result.append((xp.sum(xp.asarray(a) * 2, axis=axes), ordered_sum(a * 2, axes)))
    return result


@program
def row_sums() -> Result:
    return _sums([((70, 9), (1,)), ((9, 100), (1,)), ((5, 1030), (1,)), ((2, 9001), (1,)),
                  ((9001,), (0,)), ((6, 7, 64), (1, 2))])  # fmt: skip


@program
def column_sums() -> Result:
    return _sums([((9, 70), (0,)), ((100, 40), (0,)), ((1030, 5), (0,)), ((9001, 3), (0,)),
                  ((4, 40, 6), (1,))])  # fmt: skip


@program
def other_reductions() -> Result:
    a = data(30, 50, dtype="float64")
    i = data(2100, dtype="int16")
    x, y = xp.asarray(a), xp.asarray(i)
    return [
        (xp.max(x, axis=1), a.max(1)),
        (xp.argmax(x, axis=0), a.argmax(0)),
        (xp.argmin(x), np.int64(a.argmin())),
        (xp.any(x > 3.0, axis=1), (a > 3.0).any(1)),
        (xp.count_nonzero(x > 0.0), np.int64(np.count_nonzero(a > 0.0))),
        (xp.sum(y), np.sum(i)),
        (xp.prod(y[:5]), np.prod(i[:5])),
        (xp.min(y), i.min()),
    ]


@program
def reductions_of_long_rows() -> Result:
    b = (data(513, 8200, dtype="int16") % 8).astype("float32")  # sums are exact in any order
    columns = xp.permute_dims(xp.asarray(np.ascontiguousarray(b.T)), (1, 0))
    a, c = b[:512], data(514, 8200, dtype="int8")
    x = xp.asarray(a)
    below = a - a.max(1, keepdims=True)
    y = x - xp.max(x, axis=1, keepdims=True)
    return [
        (xp.sum(xp.asarray(c), axis=1), c.sum(1)),
        (xp.sum(columns, axis=1), b.sum(1)),
        (xp.max(y * xp.sum(y, axis=1, keepdims=True), axis=1),
         (below * below.sum(1, keepdims=True)).max(1)),
    ]  # fmt: skip


@program
def variances() -> Result:
    result: Result = []
    for shape, axis in (((5, 1030), 1), ((9001,), 0), ((100, 40), 0), ((9001, 3), 0)):
        a = data(*shape, dtype="float64")
        result.append(_near(xp.var(xp.asarray(a), axis=axis), a.var(axis)))
    b = data(3, 1101)
    x = xp.asarray(b)
    spread = xp.sqrt(xp.var(x, axis=1, keepdims=True))
    wanted = (b - b.mean(1, keepdims=True)) / b.std(1, keepdims=True)
    result.append(_near((x - xp.mean(x, axis=1, keepdims=True)) / spread, wanted))
    return result


def _sums_of_columns_in_order() -> Result:
    """Return sums over the axis that is in order and the first, and over the other."""
    result: Result = []
    for a, axis in ((data(3, 1500), 0), (data(1500, 40), 1), (data(9001, 3), 1)):
        result.append((xp.sum(xp.asarray(a).T, axis=axis), ordered_sum(a.T, (axis,))))
    return result


@program
def reductions_of_strided_inputs() -> Result:
    a = data(40, 60)
    x = xp.asarray(a)
    part = a[::2, 1::3]
    return [
        (xp.sum(x[::2, 1::3], axis=1), ordered_sum(part, (1,))),
        *_sums_of_columns_in_order(),
        (xp.sum(x[::2, 1::3].T, axis=1), ordered_sum(part.T, (1,))),
        (xp.sum(x[:, :48], axis=0), ordered_sum(a[:, :48], (0,))),
        (xp.sum(xp.flip(x)), ordered_sum(np.flip(a), (0, 1))),
        (xp.sum(x + x[0, ...], axis=1), ordered_sum(a + a[0], (1,))),
    ]


def _scanned(a: Any, axis: int, initial: bool = False, begin: int = 0) -> tuple[Any, Any]:
    """Return a cumulative sum; the data begin ``begin`` elements into the memory."""
    whole = xp.asarray(np.concatenate([np.zeros(begin, a.dtype), a.reshape(-1)]))
    x = xp.reshape(whole[begin:], a.shape)
    want = np.cumsum(a, axis=axis, dtype=np.int64)
    if initial:
        want = np.insert(want, 0, 0, axis=axis)
    return xp.cumulative_sum(x, axis=axis, include_initial=initial), want


@program
def scans() -> Result:
    short, long = data(20, 30, dtype="int32"), data(5, 3000, dtype="int32")
    kept = data(130, 40, dtype="int32")
    return [
        _scanned(short, 1), _scanned(short, 0), _scanned(long, 1), _scanned(kept, 0),
        _scanned(long, 0), _scanned(data(3, 700, 2, dtype="int32"), 1),
        (xp.cumulative_prod(xp.asarray(short[0])), np.cumprod(short[0], dtype=np.int64)),
        (xp.repeat(xp.asarray(long[0]), xp.arange(3000) % 3), np.repeat(long[0], COUNTS)),
    ]  # fmt: skip


COUNTS = np.arange(3000) % 3


@program
def scans_of_several_tiles() -> Result:
    row, columns = data(2, 70_000, dtype="int32"), data(2, 5000, 40, dtype="int32")
    few = data(3, 70_000, 2, dtype="int32")
    return [
        _scanned(row[0], 0), _scanned(row, 1, begin=1), _scanned(columns, 1), _scanned(few, 1),
        _scanned(row, 1, True), _scanned(columns, 1, True), _scanned(few, 1, True),
    ]  # fmt: skip


@program
def joins() -> Result:
    a, b = data(5, 1030, seed=1), data(5, 900, seed=2)
    x, y = xp.asarray(a), xp.asarray(b)
    c = data(5, 9, dtype="int8")
    z = xp.asarray(c)
    xp.evaluate(x, y, z)
    return [
        (xp.concat([x, y], axis=1), np.concatenate([a, b], 1)),  # within and across stretches
        (xp.concat([x[:, 3:], y, x], axis=None), np.concatenate([a[:, 3:], b, a], None)),
        (xp.concat([x, y[:, :2]], axis=1), np.concatenate([a, b[:, :2]], 1)),  # shorter rows
        (xp.stack([y, y], axis=-1), np.stack([b, b], -1)),
        (xp.roll(x, 3), np.roll(a, 3)),
        (xp.concat([z] * 18, axis=1), np.concatenate([c] * 18, 1)),
        (xp.concat([z[:, 1:]] * 5, axis=1), np.concatenate([c[:, 1:]] * 5, 1)),
    ]


@program
def misaligned_neighbours() -> Result:
    a, b = data(2600, seed=1), data(2600, seed=2)
    x, y = xp.asarray(a), xp.asarray(b)
    result: Result = [
        (x[1:2501] + y[:2500], a[1:2501] + b[:2500]),
        (x[2:1026] * 2 - y[::2][:1024], a[2:1026] * 2 - b[::2][:1024]),
    ]
    for shape in ((9, 17, 5), (3, 5, 645)):
        c = data(*shape)
        z = xp.asarray(c)
        turned = xp.permute_dims(z, (1, 0, 2)) + z[:1, :1]
        result.append((turned, c.transpose(1, 0, 2) + c[:1, :1]))
        z[1:, ::2, 1:] *= 2.0
        c[1:, ::2, 1:] *= 2
        result.append((z, c))
    x[1:] -= y[1:]
    a[1:] -= b[1:]
    return [*result, (x, a)]


@program
def transposes() -> Result:
    result: Result = []
    for dtype in ("int8", "int16", "float32", "float64", "complex128"):
        for shape in ((70, 45), (130, 67)):  # small and large tiles, with edges
            a = data(*shape, dtype="int16").astype(dtype)
            result.append((xp.asarray(xp.asarray(a).T, copy=True), np.ascontiguousarray(a.T)))
    b = data(3, 33, 40)
    result.append((xp.asarray(xp.asarray(b).mT, copy=True), b.transpose(0, 2, 1)))
    return result


@program
def passes() -> Result:
    # of small integers, so that sums are exact in any order
    result: Result = []
    for shape in (
        (9, 7),
        (5, 96),
        (3, 1101),
        (2, 4096),
    ):  # 4, 32, 256 lanes; short and long vectors
        a = (data(*shape, dtype="int16") % 8).astype("float32")
        x = xp.asarray(a)
        below = x - xp.max(x, axis=1, keepdims=True)
        total = xp.sum(below, axis=1, keepdims=True)
        lower = a - a.max(1, keepdims=True)
        want = lower.sum(1, keepdims=True)
        result += [(below * total, lower * want), (xp.sum(below * 2, axis=1), want[:, 0] * 2)]
    b = (data(4, 7, 300, dtype="int16") % 8).astype("float32")
    y = xp.asarray(b)[..., 1::2]  # of strides that no vector reads
    c = b[..., 1::2]
    total = xp.sum(y, axis=(0, 2), keepdims=True)
    result.append(
        ((y - total) * xp.asarray(b[:1, :1, 1::2]), (c - c.sum((0, 2), keepdims=True)) * c[:1, :1])
    )
    return result


@program
def gathers() -> Result:
    a = data(30, 20)
    rows = np.asarray([3, -1, 0, 7, 7])
    columns = np.asarray([1, 2, 3, -4, 5])
    x, r, c = xp.asarray(a), xp.asarray(rows), xp.asarray(columns)
    moving = xp.astype(xp.arange(5), xp.int64) * 2
    return [
        (xp.take(x, r, axis=0) + 1, a[rows] + np.float32(1)),
        (x[:, c], a[:, columns]),
        (x[r, c], a[rows, columns]),
        (x[moving], a[np.arange(5) * 2]),
        (x[xp.astype(moving, xp.uint64)], a[np.arange(5) * 2]),
        (xp.sum(x[moving], axis=0), ordered_sum(a[np.arange(5) * 2], (0,))),
        (x[x > 0.0], a[a > 0]),
        (
            xp.take_along_axis(x, xp.reshape(r, (5, 1)), axis=0),
            np.take_along_axis(a, rows[:, None], 0),
        ),
    ]


@program
def scatters() -> Result:
    a = data(30, 20)
    rows = np.asarray([3, -1, 0, 7])
    x, r = xp.asarray(a), xp.asarray(rows)
    x[r] = 5.0
    a[rows] = 5
    x[r, r] = xp.asarray([1, 2, 3, 4], dtype=xp.float32)
    a[rows, rows] = [1, 2, 3, 4]
    x[x < 0.0] = 0.0
    a[a < 0] = 0
    x[x > 100.0] *= 0.5
    a[a > 100] *= 0.5
    x[:, xp.astype(xp.arange(3), xp.int64) * 4] = x[:, :3] + 1
    a[:, np.arange(3) * 4] = a[:, :3] + 1
    return [(x, a)]


@program
def sorts() -> Result:
    result: Result = []
    for n in (data(40, 90), data(5, 700), data(2, 15_000), data(3, 5000, dtype="int64")):
        x = xp.asarray(n)
        order = np.argsort(n, axis=1, kind="stable")
        result += [(xp.sort(x), np.sort(n, axis=1)), (xp.argsort(x), order.astype(np.int64))]
    return result


@program
def runs_and_searches() -> Result:
    a, b = data(9000, dtype="int16") % 50, data(100, dtype="int16", seed=1) % 70
    x, y = xp.asarray(a), xp.asarray(b)
    found = xp.unique_all(x)
    flat, first, inverse, counts = np.unique(a, True, True, True)
    edges = np.searchsorted(flat, b).astype(np.int64)
    return [
        (found.values, flat), (found.indices, first), (found.inverse_indices, inverse),
        (found.counts, counts), (xp.searchsorted(found.values, y), edges),
        (xp.isin(y, x), np.isin(b, a)), (xp.nonzero(x)[0], np.flatnonzero(a)),
    ]  # fmt: skip


@program
def masks() -> Result:
    mask = data(20_000, dtype="int8", seed=3) % 3 != 0
    m = xp.asarray(mask)
    result: Result = [(xp.nonzero(m[3:])[0], np.flatnonzero(mask[3:]))]
    for dtype in ("int8", "uint16", "float32", "int64"):
        a = data(20_000, dtype=dtype)
        x = xp.asarray(a)
        result += [(x[m], a[mask]), (x[1:][m[:-1]], a[1:][mask[:-1]])]
    c = data(20_000).astype("complex128")
    return [*result, (xp.asarray(c)[m], c[mask])]


def templates_of(key: KernelKey) -> set[str]:
    """Return the templates that a kernel uses."""
    if isinstance(key, MapKey):
        found = {f"output {o.mode}" for o in key.outputs}
        found |= {f"input {o.mode}" for o in key.operands}
        flat = key.ndim == 1 and all(o.mode in ("flat", "scalar") for o in key.operands)
        form = "flat" if flat and all(o.mode == "flat" for o in key.outputs) else "strided"
        kind = "vector" if key.vector > 1 else "scalar"
        kind = "rows" if key.rows else "spread" if key.spread else kind
        found.add(f"map {form} {kind}")
        found |= {"scatter"} if any(o.indices for o in key.outputs) else set()
        found |= {"gather"} if any(isinstance(i, Gather) for i in key.body) else set()
        found |= {"index"} if any(isinstance(i, Index) for i in key.body) else set()
        return found | ({"several outputs"} if len(key.outputs) > 1 else set())
    if isinstance(key, BoxKey):
        found = {"box stepped" if any(key.stepped) else "box"}
        found.add("box rows" if key.inside.rows else "box spread")
        return found | ({"box whole axis"} if any(key.whole) else set())
    if isinstance(key, ReduceKey):
        split = " split" if key.split else ""
        found = {f"{key.schedule} {key.lanes}{split}"}
        found |= {f"{key.schedule} gathers" for spec, _ in key.reductions if spec.lane}
        found |= {f"row vector{' ragged' if key.ragged else ''}"} if key.vector > 1 else set()
        return found | ({"several reductions"} if len(key.reductions) > 1 else set())
    if isinstance(key, PassesKey):
        found = {f"passes {key.lanes}"}
        found |= {"passes gathers" for spec, _ in key.reductions if spec.lane}
        found |= {f"passes input {o.mode}" for o in key.operands}
        return found | {f"passes output {o.mode}" for o in key.outputs}
    return {getattr(key, "function", type(key).__name__)}


TEMPLATES = {
    "map flat vector", "map flat scalar",
    "map flat rows", "map strided vector", "map strided scalar", "map strided rows",
    "map strided spread",
    "input flat", "input scalar", "input run", "input repeat", "input each",
    "output flat", "output run", "output each", "several outputs", "index", "gather", "scatter",
    "box", "box stepped", "box whole axis", "box rows", "box spread",
    "row 4", "row 32", "row 64 split", "row 256", "row 256 split", "row 1024",
    "row vector", "row vector ragged", "row gathers",
    "column 4", "column 32", "column 64 split", "column 256", "column 256 split", "column 1024",
    "column gathers",
    "passes 4", "passes 32", "passes 256", "passes 1024", "passes gathers",
    "passes input run", "passes input each",
    "passes output run", "passes output each", "passes output row",
    "lz_scan_small", "lz_scan_rows", "lz_scan_long", "lz_scan_walk", "lz_scan_columns",
    "lz_scan_long_columns", "lz_transpose",
    "lz_join_long", "lz_join_short",
    "lz_sort_warp", "lz_sort_block", "lz_sort_count", "lz_sort_plan", "lz_sort_pass",
    "lz_run_flags", "lz_run_values", "lz_run_positions", "lz_run_inverse",
    "lz_searchsorted", "lz_isin",
}  # fmt: skip
