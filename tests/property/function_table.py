"""One row a function of the standard: how its arguments are drawn, and what its results must be.

The rows serve the differential tests (``test_every_function``), the proof that nothing runs on the
host (``tests/test_no_host_path.py``) and the page ``docs/array-api.md``. Manipulation is in
``function_table_shapes``; sorting, sets, ``linalg`` and ``fft`` are in ``function_table_more``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .drawing import OTHER, Call, Choose, DType, Operand, axes_of, axis_of, call, operand, part_of
from .function_rows import (
    STRICT,
    Row,
    array_of,
    dtype_of,
    laid_shape,
    mapped,
    shape_of,
    tame,
)
from .function_table_shapes import MANIPULATION
from .outcomes import close, equal, info, metadata, same, shapes, total

# Element-wise functions.

MATHS = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log",
    "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh",
]  # fmt: skip

SCALARS = {"b": [True, False], "i": [1, 3, -2], "u": [1, 3], "f": [2.5, 1, -0.5], "c": [2j, 1.5]}


def _unary(kinds: str, special: str = "biuf") -> Callable[[Choose], Call]:
    def draw(choose: Choose) -> Call:
        dtype = dtype_of(choose, kinds)
        hard = np.dtype(dtype).kind in special
        x = operand(choose, shape_of(choose), dtype, special=hard)
        return call(tame(x, 9.0) if dtype.startswith("complex") else x)

    return draw


def _second(name: str, o: Operand) -> Operand:
    """Return the second operand as far as its values have one meaning for all libraries."""
    dtype = o.base.dtype
    if "shift" in name:
        return mapped(o, lambda x: x % (8 * dtype.itemsize))
    if name == "pow" and dtype.kind in "iu":
        return mapped(o, lambda x: x % 7)
    return tame(o) if dtype.kind == "c" else o


def _binary(name: str, kinds: str) -> Callable[[Choose], Call]:
    def draw(choose: Choose) -> Call:
        dtype = dtype_of(choose, kinds)
        kind = np.dtype(dtype).kind
        shape = shape_of(choose)
        hard = kind != "c"
        x = operand(choose, shape, dtype, special=hard)
        x = x if hard else tame(x)
        form = choose.one_of(["arrays", "arrays", "mixed", "scalar"])
        if form == "scalar" and "shift" not in name:
            scalar = abs(choose.one_of(SCALARS[kind])) if name == "pow" else None
            return call(x, choose.one_of(SCALARS[kind]) if scalar is None else scalar)
        other = OTHER.get(dtype, dtype) if form == "mixed" else dtype
        y = _second(name, operand(choose, part_of(choose, shape), other, special=hard))
        if "shift" in name and other != dtype:
            y = mapped(y, lambda n: n % (8 * np.dtype(dtype).itemsize))
        return call(x, y)

    return draw


def floor_divide(a: Any, b: Any) -> Any:
    """Return NumPy's quotient, for infinities and zeros as the standard lists it."""
    if np.result_type(a, b).kind != "f":
        return np.floor_divide(a, b)
    quotient = np.divide(a, b)
    plain = np.isinf(a) | np.isinf(b) | (np.asarray(b) == 0)
    return np.where(plain, quotient, np.floor_divide(a, b))


def _conj(x: Any) -> Any:
    return np.conj(x) if x.dtype.kind == "c" else x


# name: kinds, comparison, reference
UNARY: dict[str, tuple[str, Any, Any]] = {
    "abs": ("iufc", close, None),
    "bitwise_invert": ("biu", same, None),
    "ceil": ("iuf", same, None),
    "conj": ("iufc", same, _conj),
    "floor": ("iuf", same, None),
    "imag": ("c", same, None),
    "isfinite": ("iufc", same, None),
    "isinf": ("iufc", same, None),
    "isnan": ("iufc", same, None),
    "logical_not": ("b", same, None),
    "negative": ("iufc", same, None),
    "positive": ("iufc", same, None),
    "real": ("fc", same, np.real),
    "reciprocal": ("fc", close, None),
    "round": ("iufc", same, None),
    "sign": ("iufc", close, None),
    "signbit": ("f", same, None),
    "square": ("iufc", close, None),
    "trunc": ("iuf", same, None),
    **dict.fromkeys(MATHS, ("fc", close, None)),
}
BINARY: dict[str, tuple[str, Any, Any]] = {
    "add": ("iufc", same, None),
    "atan2": ("f", close, None),
    "bitwise_and": ("biu", same, None),
    "bitwise_left_shift": ("iu", same, None),
    "bitwise_or": ("biu", same, None),
    "bitwise_right_shift": ("iu", same, None),
    "bitwise_xor": ("biu", same, None),
    "copysign": ("f", same, None),
    "divide": ("fc", close, None),
    "equal": ("biufc", same, None),
    "floor_divide": ("iuf", same, floor_divide),
    "greater": ("iuf", same, None),
    "greater_equal": ("iuf", same, None),
    "hypot": ("f", close, None),
    "less": ("iuf", same, None),
    "less_equal": ("iuf", same, None),
    "logaddexp": ("f", close, None),
    "logical_and": ("b", same, None),
    "logical_or": ("b", same, None),
    "logical_xor": ("b", same, None),
    "maximum": ("iuf", equal, None),
    "minimum": ("iuf", equal, None),
    "multiply": ("iufc", close, None),
    "nextafter": ("f", same, None),
    "not_equal": ("biufc", same, None),
    "pow": ("iufc", close, None),
    "remainder": ("iuf", same, None),
    "subtract": ("iufc", same, None),
}


def _clip(choose: Choose) -> Call:
    dtype = dtype_of(choose, "iuf")
    shape = shape_of(choose)
    x = operand(choose, shape, dtype)
    bounds: list[Any] = []
    for _ in range(2):
        form = choose.one_of(["array", "scalar", "none"])
        if form == "array":
            bounds.append(operand(choose, part_of(choose, shape), dtype))
        else:
            bounds.append(
                choose.one_of(SCALARS[np.dtype(dtype).kind]) if form == "scalar" else None
            )
    return call(x, *bounds)


def clip(x: Any, low: Any = None, high: Any = None) -> Any:
    """Return ``maximum(minimum(x, high), low)`` of those bounds that are given."""
    x = x if high is None else np.minimum(x, high)
    return x if low is None else np.maximum(x, low)


def _where(choose: Choose) -> Call:
    dtype = dtype_of(choose, "biufc")
    shape = shape_of(choose)
    test = operand(choose, part_of(choose, shape), "bool")
    x = operand(choose, shape, dtype)
    y: Any = operand(choose, part_of(choose, shape), dtype)
    if choose.one_of([False, False, True]):
        y = choose.one_of(SCALARS[np.dtype(dtype).kind])
    return call(test, x, y) if choose.one_of([True, False]) else call(test, y, x)


ELEMENTWISE: dict[str, Row] = {
    **{n: Row(_unary(k), f, c) for n, (k, c, f) in UNARY.items()},
    **{n: Row(_binary(n, k), f, c) for n, (k, c, f) in BINARY.items()},
    "clip": Row(_clip, clip, equal, strict=False),  # it refuses min > max
}


# Creation.


def _dtype_or_none(choose: Choose, names: Sequence[str] = ("float32", "int16", "bool")) -> Any:
    name = choose.one_of([None, *names])
    return None if name is None else DType(name)


def _filled(choose: Choose) -> Call:
    return call(shape_of(choose), dtype=_dtype_or_none(choose))


def _full(choose: Choose) -> Call:
    value, dtypes = choose.one_of(
        [(2.5, ["float32", "complex64"]), (5, ["int8", "uint64", "float64"]), (True, ["bool"])]
    )
    return call(shape_of(choose), value, dtype=_dtype_or_none(choose, dtypes))


def _like(choose: Choose) -> Call:
    return call(array_of(choose, "biufc"), dtype=_dtype_or_none(choose))


def _full_like(choose: Choose) -> Call:
    x = array_of(choose, "biufc")
    return call(x, choose.one_of(SCALARS[x.base.dtype.kind]))


def _arange(choose: Choose) -> Call:
    args = choose.one_of(
        [
            (5,),
            (2, 9),
            (9, 2, -3),
            (0.5, 3.0, 0.25),
            (3, 3),
            (0, -3),
            (-4, 100, 7),
            (0.0, -1.0, -0.5),
        ]
    )
    names = ["float32", "float64"]
    if all(type(a) is int for a in args):
        names += ["int8", "int64"]
    return call(*args, dtype=_dtype_or_none(choose, names))


def _linspace(choose: Choose) -> Call:
    start, stop = choose.one_of([(0, 1), (3.0, -2.0), (1e-3, 1e5), (1 + 2j, -3j), (5, 5)])
    names = ["complex64"] if isinstance(start, complex) else ["float32", "float64"]
    return call(
        start,
        stop,
        choose.one_of([5, 1, 0, 2, 33]),
        dtype=_dtype_or_none(choose, names),
        endpoint=choose.one_of([None, False]),
    )


def _eye(choose: Choose) -> Call:
    rows = choose.one_of([3, 0, 1, 5])
    columns = choose.one_of([(), (4,), (1,)])
    return call(rows, *columns, k=choose.one_of([None, 1, -2, 9]), dtype=_dtype_or_none(choose))


def _triangle(choose: Choose) -> Call:
    return call(array_of(choose, "biufc", 2), k=choose.one_of([None, 1, -1, 5, -5]))


def _meshgrid(choose: Choose) -> Call:
    dtype = dtype_of(choose, "iufc")
    count = choose.one_of([2, 1, 3])
    arrays = [operand(choose, (choose.one_of([3, 1, 0, 4]),), dtype) for _ in range(count)]
    return call(*arrays, indexing=choose.one_of([None, "ij"]))


def _asarray(choose: Choose) -> Call:
    x = array_of(choose, "biufc")
    if choose.one_of([False, True]):
        kind = x.base.dtype.kind
        wide = {"b": "bool", "i": "int64", "f": "float64", "c": "complex128"}.get(kind)
        if wide is None or x.base.size == 0:
            return call(3, dtype=_dtype_or_none(choose, ["float32", "uint8"]))
        return call(x.base.astype(wide).tolist())
    return call(x, copy=choose.one_of([None, True]))


def _from_dlpack(choose: Choose) -> Call:
    return call(array_of(choose, "biufc", layout=False))


CREATION: dict[str, Row] = {
    "arange": Row(_arange, None, close),
    "asarray": Row(_asarray, note="of device arrays; what comes from the host is uploaded later"),
    "empty": Row(_filled, None, shapes),
    "empty_like": Row(_like, None, shapes),
    "eye": Row(_eye, lambda n, m=None, **kw: np.eye(n, m, **kw)),
    "from_dlpack": Row(_from_dlpack, None, same, "view", note="of another library: shared memory"),
    "full": Row(_full),
    "full_like": Row(_full_like),
    "linspace": Row(_linspace, None, close),
    "meshgrid": Row(_meshgrid),
    "ones": Row(_filled),
    "ones_like": Row(_like),
    "tril": Row(_triangle),
    "triu": Row(_triangle),
    "zeros": Row(_filled),
    "zeros_like": Row(_like),
}


# Dtypes.


def _astype(choose: Choose) -> Call:
    source = dtype_of(choose, "fiubc")
    kinds = "bc" if source.startswith("complex") else "biufc"
    target = dtype_of(choose, kinds)
    x = operand(choose, shape_of(choose), source, special=np.dtype(target).kind not in "iu")
    if x.base.dtype.kind == "f" and np.dtype(target).kind in "iu":
        x = mapped(x, lambda n: np.clip(n, 0, 100))  # beyond the dtype, each library has its way
    return call(x, DType(target), copy=choose.one_of([None, False]))


def _two_dtypes(choose: Choose) -> Call:
    return call(DType(dtype_of(choose, "fiubc")), DType(dtype_of(choose, "fiubc")))


def _finfo(choose: Choose) -> Call:
    dtype = dtype_of(choose, "fc")
    return call(choose.one_of([DType(dtype), operand(choose, (2,), dtype)]))


def _iinfo(choose: Choose) -> Call:
    dtype = dtype_of(choose, "iu")
    return call(choose.one_of([DType(dtype), operand(choose, (2,), dtype)]))


KINDS = ["numeric", "bool", "signed integer", "unsigned integer", "integral", "real floating"]


def _isdtype(choose: Choose) -> Call:
    kind = choose.one_of([*KINDS, "complex floating", ("bool", "integral"), DType("int8")])
    return call(DType(dtype_of(choose, "fiubc")), kind)


def _result_type(choose: Choose) -> Call:
    dtype = dtype_of(choose, "fiubc")
    scalar = choose.one_of(SCALARS[np.dtype(dtype).kind])
    other = DType(OTHER.get(dtype, dtype))
    return call(operand(choose, (), dtype), other, *choose.one_of([(), (scalar,)]))


DATA_TYPES: dict[str, Row] = {
    "astype": Row(  # array_api_strict has no complex to bool
        _astype, lambda x, dtype, copy=True: x.astype(dtype), strict=False
    ),
    "can_cast": Row(_two_dtypes, STRICT, metadata, "metadata"),
    "finfo": Row(_finfo, STRICT, info, "metadata"),
    "iinfo": Row(_iinfo, STRICT, info, "metadata"),
    "isdtype": Row(_isdtype, STRICT, metadata, "metadata"),
    "result_type": Row(_result_type, STRICT, metadata, "metadata"),
}


# Statistics, searching, utilities.


def _reduction(kinds: str, *, special: str = "biuf", empty: bool = True) -> Any:
    def draw(choose: Choose) -> Call:
        dtype = dtype_of(choose, kinds)
        shape = shape_of(choose, empty=empty)
        x = operand(choose, shape, dtype, special=np.dtype(dtype).kind in special)
        return call(x, axis=axes_of(choose, len(shape)), keepdims=choose.one_of([None, True]))

    return draw


def _summed(choose: Choose) -> Call:
    x = array_of(choose, "iufc", special=False)
    dtypes = {"f": ["float64"], "c": ["complex128"]}.get(x.base.dtype.kind, [str(x.base.dtype)])
    return call(
        tame(x),
        axis=axes_of(choose, len(laid_shape(x))),
        dtype=_dtype_or_none(choose, dtypes),
        keepdims=choose.one_of([None, True]),
    )


def _variance(choose: Choose) -> Call:
    x = array_of(choose, "f", special=False)
    return call(
        x,
        axis=axes_of(choose, len(laid_shape(x))),
        correction=choose.one_of([None, 1, 0.5, 3, 50]),
        keepdims=choose.one_of([None, True]),
    )


def _freedom(x: Any, axis: Any, correction: float) -> float:
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return float(np.prod([x.shape[d] for d in axes])) - correction


def var(x: Any, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """Return NumPy's variance, NaN where the standard says so."""
    found = np.asarray(np.var(x, axis=axis, ddof=correction, keepdims=keepdims))
    positive = _freedom(x, axis, correction) > 0
    return found if positive else np.full_like(found, np.nan)


def std(x: Any, **kwargs: Any) -> Any:
    return np.sqrt(var(x, **kwargs))


def _cumulative(choose: Choose) -> Call:
    x = tame(array_of(choose, "iufc", 1, special=False))
    shape = laid_shape(x)
    axis = None if len(shape) == 1 and choose.one_of([True, False]) else axis_of(choose, len(shape))
    dtypes = {"f": ["float64"], "c": ["complex128"]}.get(x.base.dtype.kind, [str(x.base.dtype)])
    return call(
        x,
        axis=axis,
        dtype=_dtype_or_none(choose, dtypes),
        include_initial=choose.one_of([None, True]),
    )


def _arg(choose: Choose) -> Call:
    x = array_of(choose, "iuf", empty=False)
    ndim = len(laid_shape(x))
    axis = choose.one_of([0, None, *range(-ndim, ndim)]) if ndim else None
    return call(x, axis=axis, keepdims=choose.one_of([None, True]))


def _diff(choose: Choose) -> Call:
    x = array_of(choose, "iufc", 1)
    shape = laid_shape(x)
    axis = axis_of(choose, len(shape))
    ends: list[Any] = []
    for _ in range(2):
        own = list(shape)
        own[axis] = choose.one_of([1, 2])
        end = operand(choose, tuple(own), str(x.base.dtype))
        ends.append(choose.one_of([None, end]))
    return call(x, axis=axis, n=choose.one_of([None, 2, 0]), prepend=ends[0], append=ends[1])


def diff(x: Any, **kwargs: Any) -> Any:
    """Return NumPy's differences; n=0 joins the ends too (NumPy returns x alone)."""
    if kwargs.get("n") == 0:
        ends = (kwargs.get("prepend"), x, kwargs.get("append"))
        return np.concat([e for e in ends if e is not None], axis=kwargs["axis"])
    return np.diff(x, **kwargs)


STATISTICAL: dict[str, Row] = {
    "cumulative_prod": Row(_cumulative, None, close),
    "cumulative_sum": Row(_cumulative, None, total),
    "max": Row(_reduction("iuf", empty=False), None, equal),
    "mean": Row(_reduction("fc", special=""), None, total),
    "min": Row(_reduction("iuf", empty=False), None, equal),
    "prod": Row(_summed, None, close),
    "std": Row(_variance, std, total),
    "sum": Row(_summed, None, total),
    "var": Row(_variance, var, total),
    "argmax": Row(_arg),
    "argmin": Row(_arg),
    "count_nonzero": Row(_reduction("biufc")),
    "nonzero": Row(lambda choose: call(array_of(choose, "biufc", 1)), None, same, "at the call", 1),
    "where": Row(_where),
    "all": Row(_reduction("biufc")),
    "any": Row(_reduction("biufc")),
    "diff": Row(  # with n=0 array_api_strict forgets the ends
        _diff, diff, equal, strict=False, note="at the call where something is joined to x"
    ),
}


# Linear algebra outside the extension.

FACTORS = [((3, 4), (4, 2)), ((4,), (4, 2)), ((3, 4), (4,)), ((4,), (4,)), ((0, 2), (2, 3))]
FACTORS += [((2, 3, 4), (4, 2)), ((2, 1, 3, 0), (3, 0, 2)), ((1, 3, 4), (5, 4, 1))]


def _matmul(choose: Choose) -> Call:
    dtype = dtype_of(choose, "fiuc")
    shapes = choose.one_of(FACTORS)
    return call(*[tame(operand(choose, s, dtype, special=False)) for s in shapes])


def _matrix_transpose(choose: Choose) -> Call:
    return call(array_of(choose, "biufc", 2))


def _tensordot(choose: Choose) -> Call:
    dtype = dtype_of(choose, "fiuc")
    a, b, axes = choose.one_of(
        [
            ((2, 3, 4), (3, 4, 5), 2),
            ((2, 3), (4,), 0),
            ((2, 3, 4), (4, 2), ((0, 2), (1, 0))),
            ((3, 0), (0, 2), 1),
        ]
    )
    x, y = (tame(operand(choose, s, dtype, special=False)) for s in (a, b))
    return call(x, y, axes=axes)


def _vecdot(choose: Choose) -> Call:
    dtype = dtype_of(choose, "fiuc")
    a, b = choose.one_of([((3, 4), (3, 4)), ((4,), (2, 4)), ((2, 0), (2, 0)), ((3, 1, 4), (2, 4))])
    return call(*[tame(operand(choose, s, dtype, special=False)) for s in (a, b)])


LINEAR_ALGEBRA: dict[str, Row] = {
    "matmul": Row(_matmul, None, total),
    "matrix_transpose": Row(_matrix_transpose, None, same, "view"),
    "tensordot": Row(_tensordot, None, total),
    "vecdot": Row(_vecdot, None, total),
}

TABLE: dict[str, Row] = {
    **CREATION,
    **DATA_TYPES,
    **ELEMENTWISE,
    **MANIPULATION,
    **STATISTICAL,
    **LINEAR_ALGEBRA,
}
