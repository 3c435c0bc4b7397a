"""Every function of the namespace against array_api_strict and NumPy, on arrays of all kinds.

``array_api_strict`` decides what is allowed and of which dtype and shape a result is; NumPy, as the
op table has it, decides the values: to the bit but for library functions and float sums.
"""

from __future__ import annotations

import warnings
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import lazyarr as xp
from lazyarr.graph.optable import OPS

from .support import DTYPES, FLOATS, INTEGERS, Shape, array_of, check, keys

SHAPES = st.sampled_from(
    [(), (1,), (0,), (7,), (2, 3), (1, 4), (3, 1), (0, 2), (2, 3, 4), (5, 1, 2)]
)
COMPLEX = ("complex64", "complex128")
# Their last bits depend on the maths library.
INEXACT = {
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "exp", "expm1",
    "hypot", "log", "log10", "log1p", "log2", "logaddexp", "pow", "sin", "sinh", "tan", "tanh",
}  # fmt: skip
# Where lazyarr defines what NumPy or the standard leaves open; the op table's tests have these.
DEFINED = {"pow", "floor_divide", "remainder", "bitwise_left_shift", "bitwise_right_shift"}
# Of the many functions each gets a share: their kernels are what takes the time.
few = settings(max_examples=max(8, settings().max_examples // 3))
ELEMENTWISE = sorted(set(OPS) & set(dir(strict)) & set(dir(xp)) - {"clip", "where"})


def _close(got: Any, want: Any, what: str) -> None:
    got = np.asarray(got)
    assert (got.shape, got.dtype) == (want.shape, want.dtype), what
    rtol = {"float32": 3e-6, "complex64": 1e-5}.get(str(want.dtype), 1e-13)
    if want.dtype.kind in "fc":
        np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-300, err_msg=what)
    else:
        np.testing.assert_array_equal(got, want, err_msg=what)


@st.composite
def operands(draw: Any, name: str) -> list[Any]:
    """Draw NumPy arrays of one dtype that the function takes and that broadcast together."""
    row = OPS[name].row
    kinds = "".join(row.c)
    dtypes = [d for d in (*DTYPES, *COMPLEX) if np.dtype(d).kind in kinds]
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(SHAPES)
    result = []
    for k in range(row.arity):
        own = shape
        if k and shape:
            cut = draw(st.integers(0, len(shape)))
            own = tuple(1 if draw(st.integers(0, 3)) == 0 else n for n in shape[cut:])
        array = array_of(draw, own, "float64" if dtype in COMPLEX else dtype)
        if dtype in COMPLEX:
            array = array_of(draw, own, "float64", special=False).astype(dtype)
            array.imag = array_of(draw, own, "float32", special=False)
        result.append(array)
    return result


@pytest.mark.parametrize("name", ELEMENTWISE)
@few
@given(data=st.data())
def test_elementwise(device: str, name: str, data: Any) -> None:
    arrays = data.draw(operands(name))
    if "shift" in name or name == "pow" and arrays[0].dtype.kind in "iu":
        arrays[1] = np.abs(arrays[1] % 7).astype(arrays[1].dtype)
    xs = [xp.asarray(a) for a in arrays]
    if data.draw(st.booleans()):  # as views
        xs[0] = xp.flip(xs[0])
        arrays[0] = np.flip(arrays[0])
    with np.errstate(all="ignore"):
        expected = getattr(strict, name)(*[strict.asarray(a.copy()) for a in arrays])
        op = OPS[name]
        spec = op.resolve(*[a.dtype for a in arrays])
        want = np.asarray(spec.numpy(*np.broadcast_arrays(*arrays)), spec.out_dtype)
        got = getattr(xp, name)(*xs)
    assert got.shape == tuple(expected.shape)
    assert got.dtype == np.asarray(expected).dtype
    inexact = name in INEXACT or want.dtype.kind == "c" or arrays[0].dtype.kind == "c"
    (_close if inexact else check)(got, want, name)
    plain = name not in DEFINED and name not in INEXACT and arrays[0].dtype.kind != "c"
    if plain and name not in ("sign", "maximum", "minimum"):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))


@given(data=st.data())
def test_where_and_clip(device: str, data: Any) -> None:
    shape = data.draw(SHAPES)
    dtype = data.draw(st.sampled_from(DTYPES))
    n, m = array_of(data.draw, shape, dtype), array_of(data.draw, shape[-1:], dtype)
    test = array_of(data.draw, shape, "bool")
    x, y = xp.asarray(n), xp.asarray(m)
    check(xp.where(xp.asarray(test), x, y), np.where(test, n, m))
    if dtype == "bool":
        return
    with pytest.raises(TypeError):
        xp.where(x, x, y)
    m = np.nan_to_num(m)
    low, high = m, np.maximum(m, np.ones((), dtype))
    with np.errstate(all="ignore"):
        want = np.where(np.isnan(n), n, np.minimum(np.maximum(n, low), high))
    got = np.asarray(xp.clip(x, xp.asarray(low), xp.asarray(high)))
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    check(xp.clip(x), n)


@given(data=st.data())
def test_conversions(device: str, data: Any) -> None:
    source = data.draw(st.sampled_from(DTYPES))
    target = data.draw(st.sampled_from((*DTYPES, *COMPLEX)))
    n = array_of(data.draw, data.draw(SHAPES), source)
    if n.dtype.kind == "f" and np.dtype(target).kind in "iu":
        n = np.clip(np.nan_to_num(n), 0, 100)
    with np.errstate(all="ignore"):
        check(xp.astype(xp.asarray(n), getattr(xp, target)), n.astype(target))


@given(data=st.data())
def test_indexing(device: str, data: Any) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    n = array_of(data.draw, data.draw(SHAPES), dtype)
    key = keys(data.draw, n.shape)
    x = xp.asarray(n)
    check(x[key], n[key])
    value = np.ones((), dtype)
    x[key] = value[()] if data.draw(st.booleans()) else xp.asarray(value)
    n[key] = value
    check(x, n)


def _an_axis(a: Any, draw: Any) -> Any:
    return draw(st.sampled_from([None, *range(-a.ndim, a.ndim)]))


def _new_axis(a: Any, draw: Any) -> Any:
    return draw(st.integers(-a.ndim - 1, a.ndim))


def _reshape(ns: Any, a: Any, draw: Any) -> Any:
    return ns.reshape(a, (0,) if 0 in a.shape else draw(st.sampled_from([(-1,), (1, -1), (-1, 1)])))


MANIPULATION: dict[str, Any] = {
    "flip": lambda ns, a, draw: ns.flip(a, axis=_an_axis(a, draw)),
    "roll": lambda ns, a, draw: ns.roll(a, draw(st.integers(-9, 9)), axis=_an_axis(a, draw)),
    "expand_dims": lambda ns, a, draw: ns.expand_dims(a, axis=_new_axis(a, draw)),
    "reshape": _reshape,
    "permute_dims": lambda ns, a, draw: ns.permute_dims(
        a, tuple(draw(st.permutations(range(a.ndim))))
    ),
    "broadcast_to": lambda ns, a, draw: ns.broadcast_to(a, (draw(st.integers(0, 3)), *a.shape)),
    "stack": lambda ns, a, draw: ns.stack([a, a, a], axis=_new_axis(a, draw)),
    "concat": lambda ns, a, draw: ns.concat([a, a], axis=_an_axis(a, draw)),
    "tile": lambda ns, a, draw: ns.tile(a, tuple(draw(st.lists(st.integers(0, 3), max_size=3)))),
    "repeat": lambda ns, a, draw: ns.repeat(a, draw(st.integers(0, 3)), axis=_an_axis(a, draw)),
}


@pytest.mark.parametrize("name", sorted(MANIPULATION))
@few
@given(data=st.data())
def test_manipulation(device: str, name: str, data: Any) -> None:
    n = array_of(data.draw, data.draw(SHAPES), data.draw(st.sampled_from(DTYPES)))
    assume(n.ndim or name not in ("concat",))
    x = xp.asarray(n)
    y = strict.asarray(n)
    if n.ndim and data.draw(st.booleans()):
        x, y = x[::-1, ...], y[::-1, ...]
    drawn: list[Any] = []
    want = MANIPULATION[name](strict, y, lambda s: drawn.append(data.draw(s)) or drawn[-1])
    again = iter(drawn)
    got = MANIPULATION[name](xp, x, lambda s: next(again))
    check(got, np.asarray(want), name)


@pytest.mark.parametrize("name", ["squeeze", "unstack", "moveaxis"])
@given(data=st.data())
def test_manipulation_of_axes(device: str, name: str, data: Any) -> None:
    n = array_of(data.draw, data.draw(SHAPES), "float32")
    assume(n.ndim)
    x, y = xp.asarray(n), strict.asarray(n)
    axis = data.draw(st.integers(-n.ndim, n.ndim - 1))
    if name == "squeeze":
        if n.shape[axis] != 1:
            with pytest.raises(ValueError):
                xp.squeeze(x, axis)
            return
        check(xp.squeeze(x, axis), np.asarray(strict.squeeze(y, axis)))
    elif name == "moveaxis":
        to = data.draw(st.integers(-n.ndim, n.ndim - 1))
        check(xp.moveaxis(x, axis, to), np.asarray(strict.moveaxis(y, axis, to)))
    else:
        got, want = xp.unstack(x, axis=axis), strict.unstack(y, axis=axis)
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            check(a, np.asarray(b))


REDUCTIONS = ["sum", "prod", "max", "min", "any", "all", "mean", "count_nonzero"]


@pytest.mark.parametrize("name", REDUCTIONS)
@few
@given(data=st.data())
def test_reductions(device: str, name: str, data: Any) -> None:
    kinds: tuple[str, ...] = DTYPES
    if name in ("sum", "prod", "max", "min"):
        kinds = (*INTEGERS, *FLOATS)
    elif name == "mean":
        kinds = FLOATS
    n = array_of(data.draw, data.draw(SHAPES), data.draw(st.sampled_from(kinds)), special=False)
    if n.dtype.kind == "f" and name == "prod":
        n = np.clip(n, -2, 2)
    several = [tuple(range(n.ndim)), tuple(range(0, n.ndim, 2))]
    axis: Any = data.draw(st.sampled_from([None, *range(-n.ndim, n.ndim), *several]))
    keepdims = data.draw(st.booleans())
    assume(name not in ("max", "min") or n.size)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        want = np.asarray(getattr(strict, name)(strict.asarray(n), axis=axis, keepdims=keepdims))
    got = getattr(xp, name)(xp.asarray(n), axis=axis, keepdims=keepdims)
    if name in ("sum", "mean") and n.dtype.kind == "f":
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        scale = float(np.max(np.abs(n), initial=0)) * n.size + 1e-30
        eps = 1e-5 if n.dtype == np.float32 else 1e-13
        np.testing.assert_allclose(np.asarray(got), want, rtol=eps, atol=scale * eps)
    else:
        (_close if n.dtype.kind == "f" else check)(got, want, name)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@given(data=st.data())
def test_scans(device: str, name: str, data: Any) -> None:
    dtype = data.draw(st.sampled_from((*INTEGERS, *FLOATS)))
    n = array_of(data.draw, data.draw(SHAPES), dtype, special=False)
    assume(n.ndim)
    if n.dtype.kind == "f":
        n = np.clip(n, -2, 2)
    axis = data.draw(st.integers(-n.ndim, n.ndim - 1))
    initial = data.draw(st.booleans())
    want = np.asarray(getattr(strict, name)(strict.asarray(n), axis=axis, include_initial=initial))
    got = getattr(xp, name)(xp.asarray(n), axis=axis, include_initial=initial)
    if n.dtype.kind == "f":
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(np.asarray(got), want, rtol=2e-5, atol=1e-5)
    else:
        check(got, want, name)


@given(data=st.data())
def test_picking(device: str, data: Any) -> None:
    n = array_of(data.draw, data.draw(SHAPES), data.draw(st.sampled_from(DTYPES)))
    assume(n.ndim)
    axis = data.draw(st.integers(-n.ndim, n.ndim - 1))
    size = n.shape[axis]
    count = data.draw(st.integers(0, 4)) if size else 0
    places = [data.draw(st.integers(-size, size - 1)) for _ in range(count)]
    indices = np.asarray(places, data.draw(st.sampled_from(["int64", "int32", "int8"])))
    x = xp.asarray(n)
    i = xp.asarray(indices)
    check(xp.take(x, i, axis=axis), np.take(n, indices, axis=axis))
    for a, b in zip(xp.nonzero(x), np.nonzero(n), strict=True):
        check(a, b)
    check(xp.where(x == x, x, x), np.where(n == n, n, n))
    check(x[x == x[..., ::-1]], n[n == n[..., ::-1]])


CREATION: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("zeros", ((2, 3),), {}),
    ("ones", ((0, 2),), {}),
    ("full", ((2,), 5), {}),
    ("full", ((), 2.5), {}),
    ("eye", (4,), {}),
    ("eye", (3, 5), {"k": 1}),
    ("eye", (5, 3), {"k": -2}),
    ("eye", (2, 2), {"k": 9}),
    ("arange", (5,), {}),
    ("arange", (2, 9), {}),
    ("arange", (9, 2, -3), {}),
    ("arange", (0.5, 3.0, 0.25), {}),
    ("arange", (3, 3), {}),
    ("arange", (0, -3), {}),
    ("linspace", (0, 1, 5), {}),
    ("linspace", (0, 1, 1), {}),
    ("linspace", (3.0, -2.0, 7), {"endpoint": False}),
    ("linspace", (0, 1, 0), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), CREATION, ids=str)
@pytest.mark.parametrize("dtype", [None, "float32", "int16", "float64"])
def test_creation(device: str, name: str, args: Any, kwargs: Any, dtype: str | None) -> None:
    if dtype == "int16" and (name == "linspace" or any(type(a) is float for a in args)):
        return
    ours = {} if dtype is None else {"dtype": getattr(xp, dtype)}
    theirs = {} if dtype is None else {"dtype": getattr(strict, dtype)}
    want = np.asarray(getattr(strict, name)(*args, **kwargs, **theirs))
    got = getattr(xp, name)(*args, **kwargs, **ours)
    rounded = name in ("linspace", "arange") and want.dtype.kind == "f"
    (_close if rounded else check)(got, want, name)


@given(shape=SHAPES, dtype=st.sampled_from(DTYPES), k=st.integers(-3, 3))
def test_likes_and_triangles(device: str, shape: Shape, dtype: str, k: int) -> None:
    n = np.ones(shape, dtype)
    x = xp.asarray(n)
    check(xp.zeros_like(x), np.zeros_like(n))
    check(xp.ones_like(x), n)
    check(xp.full_like(x, 1), n) if dtype != "bool" else check(xp.full_like(x, True), n)
    assert xp.empty_like(x).shape == shape
    if len(shape) >= 2:
        check(xp.tril(x, k=k), np.tril(n, k))
        check(xp.triu(x, k=k), np.triu(n, k))


@given(data=st.data())
def test_matmul(device: str, data: Any) -> None:
    m, k, n = (data.draw(st.sampled_from([0, 1, 2, 5])) for _ in range(3))
    lead = data.draw(st.sampled_from([(), (2,), (1,), (3, 1)]))
    dtype = data.draw(st.sampled_from(("float32", "float64", "int32", "uint8")))
    a = array_of(data.draw, (*lead, m, k), dtype, special=False)
    b = array_of(data.draw, (k, n), dtype, special=False)
    got = xp.matmul(xp.asarray(a), xp.asarray(b))
    want = np.matmul(a, b)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    scale = float(np.max(np.abs(a), initial=0)) * float(np.max(np.abs(b), initial=0)) * 5 + 1e-30
    eps = 1e-5 if dtype == "float32" else 1e-13
    if want.dtype.kind == "f":
        np.testing.assert_allclose(np.asarray(got), want, rtol=eps, atol=scale * eps)
    else:
        check(got, want)
    check(xp.matrix_transpose(xp.asarray(a)), np.swapaxes(a, -1, -2))
