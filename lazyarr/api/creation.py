"""Creation functions.

Fills and sequences are functions of the index: they cost no memory until something forces them,
and are computed inside the kernel that reads them.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from .. import _dtypes as dt
from .._array import Array, copy_of, elementwise, view_of, wrap
from .._dtypes import DType
from .._promotion import result_type, scalar_dtype, scalar_value
from ..graph import views
from ..graph.node import IndexSpec, Value
from ..graph.numpy_ops import cast_to
from ..graph.optable import OPS, cast_spec
from ..interchange import import_dlpack
from ._common import (
    check_array,
    check_arrays,
    check_int,
    check_shape,
    fill_dtype,
    fill_scalar,
    filled,
    known_device,
    like_device,
)
from .conversion import asarray

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

_FAR = 2**62  # beyond every diagonal


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an array that is one value everywhere.

    Parameters
    ----------
    shape : int or tuple of int
    fill_value : scalar
        A Python or NumPy scalar.
    dtype : dtype, optional
        By default the one of the scalar: bool, int64, float64 or complex128.
    device : device, optional
        By default the default device.

    Returns
    -------
    Array
        Lazy: it takes no memory until something forces it, and nothing is copied.

    Raises
    ------
    TypeError
        If the value's kind does not fit the dtype.
    OverflowError
        If an integer does not fit the dtype.
    ValueError
        For a negative extent.
    """
    extents = check_shape(shape)
    target = fill_dtype(fill_value) if dtype is None else dt.as_dtype(dtype)
    return filled(extents, fill_scalar(fill_value, target), target, known_device(device))


def _filled(shape: Any, value: Any, dtype: Any, device: Any) -> Array:
    target = dt.default_real if dtype is None else dt.as_dtype(dtype)
    scalar = scalar_value(value, target)
    return filled(check_shape(shape), scalar, target, known_device(device))


def _filled_like(x: Array, function: str, value: Any, dtype: Any, device: Any) -> Array:
    check_array(x, function)
    target = x.dtype if dtype is None else dt.as_dtype(dtype)
    return filled(x.shape, scalar_value(value, target), target, like_device(device, x))


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an array of zeros (float64 by default). Lazy; see `full`."""
    return _filled(shape, 0, dtype, device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an array of ones (float64 by default). Lazy; see `full`."""
    return _filled(shape, 1, dtype, device)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an array (float64 by default) whose values are for the caller to write.

    Lazy; see `full`. The values are zeros, which nobody should rely on.
    """
    return _filled(shape, 0, dtype, device)


def full_like(x: Array, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an array like x that is one value everywhere. Lazy; reads only x's metadata.

    Shape, dtype and device are those of x unless given. Errors as in `full`.
    """
    check_array(x, "full_like")
    target = x.dtype if dtype is None else dt.as_dtype(dtype)
    return filled(x.shape, fill_scalar(fill_value, target), target, like_device(device, x))


def zeros_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Return zeros of x's shape, dtype and device, unless given. Lazy; reads only metadata."""
    return _filled_like(x, "zeros_like", 0, dtype, device)


def ones_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Return ones of x's shape, dtype and device, unless given. Lazy; reads only metadata."""
    return _filled_like(x, "ones_like", 1, dtype, device)


def empty_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an array like x whose values are for the caller to write. Lazy; see `empty`."""
    return _filled_like(x, "empty_like", 0, dtype, device)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Return an array over the memory of another library's array, through DLPack.

    Parameters
    ----------
    x : object
        With ``__dlpack__`` and ``__dlpack_device__``.
    device : device, optional
        Where the result is to be; another device than x's means a copy.
    copy : bool, optional
        None copies only if it must, False raises ValueError then, True always copies.

    Returns
    -------
    Array
        Without a copy both libraries see one memory: it is shared (see ``docs/location.md``). It
        is read-only where x says so, or elements of x share memory.

    Raises
    ------
    AttributeError
        If x has no ``__dlpack__`` or no ``__dlpack_device__``.
    BufferError
        For dtypes and devices that lazyarr does not have, and tensors that cannot be.
    ValueError
        For ``copy=False`` where a copy is needed.
    """
    return import_dlpack(x, device=device, copy=copy)


def index_array(
    spec: IndexSpec, scalars: tuple[Any, ...], shape: views.Shape, device: Any
) -> Array:
    return wrap(Value(spec, (), None, None, scalars, shape, known_device(device)))


def _c_cast(source: DType, target: DType, expression: str) -> str:
    template: str = cast_spec(source, target).c
    return template.replace("{0}", f"({expression})")


@cache
def _arange_of_ints(dtype: DType) -> IndexSpec:
    wraps = "(unsigned long long)"
    expression = f"((long long)({wraps}{{0}} + {wraps}{{i}} * {wraps}{{1}}))"

    def compute(i: Any, start: int, step: int) -> Any:
        with np.errstate(over="ignore"):
            return (np.int64(start) + i * np.int64(step)).astype(dtype)

    c = _c_cast(dt.int64, dtype, expression)
    return IndexSpec("arange_of_ints", dtype, (dt.int64, dt.int64), c, compute)


@cache
def _arange_of_floats(dtype: DType) -> IndexSpec:
    def compute(i: Any, start: float, step: float) -> Any:
        with np.errstate(all="ignore"):
            return cast_to(start + i * step, dtype)

    c = _c_cast(dt.float64, dtype, "{0} + (double){i} * {1}")
    return IndexSpec("arange_of_floats", dtype, (dt.float64, dt.float64), c, compute)


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Array:
    """Return evenly spaced numbers: ``start + i * step``, up to and without stop.

    Parameters
    ----------
    start, stop, step : int or float
        With one number only, that is the stop and the start is 0.
    dtype : dtype, optional
        By default int64 for ints only, or else float64.
    device : device, optional
        By default the default device.

    Returns
    -------
    Array
        One-dimensional. Elements are computed in int64 or float64 and converted. Lazy: it takes
        no memory until something forces it.

    Raises
    ------
    ValueError
        If the step is 0, or a bound is not finite.
    """
    if stop is None:
        start, stop = 0, start
    first, last, by = (_real_number(v, "arange") for v in (start, stop, step))
    if by == 0:
        raise ValueError("arange: step must not be 0")
    whole = isinstance(first, int) and isinstance(last, int) and isinstance(by, int)
    target = dt.as_dtype(dtype) if dtype is not None else dt.default_int if whole else dt.float64
    if target.kind == "b":
        raise TypeError("arange has no bool result; give an integer or floating-point dtype")
    where = known_device(device)
    # // is exact for ints
    steps = -(-(last - first) // by) if whole else (last - first) / by
    if not math.isfinite(steps):
        raise ValueError(f"arange({start}, {stop}, {step}) has no finite length")
    count = max(0, math.ceil(steps))
    shape = check_shape((count,))
    if whole and target.kind in "iu":
        for value in (first, first + (count - 1) * by) if count else ():
            scalar_dtype(value, target)  # raises if it does not fit
        scalars = (_wrapped(int(first)), _wrapped(int(by)))
        return index_array(_arange_of_ints(target), scalars, shape, where)
    return index_array(_arange_of_floats(target), (float(first), float(by)), shape, where)


def _wrapped(value: int) -> int:
    """Return an int as the int64 of the same 64 bits."""
    return (value + 2**63) % 2**64 - 2**63


def _real_number(value: Any, function: str) -> int | float:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        return value
    raise TypeError(f"{function} takes Python numbers, not {type(value).__name__}")


def _spaced(i: Any, scalars: tuple[Any, ...]) -> Any:
    """NumPy's formula of linspace: the last element is the stop itself."""
    start, step, delta, parts, stop, last = scalars
    y = i * step if step != 0 else i / parts * delta
    return np.where(i == last, stop, y + start)


def _c_spaced(part: str) -> str:
    start, step, delta, stop = (f"{{{k}}}{part}" for k in (0, 1, 2, 4))
    scaled = f"({step} != 0 ? (double){{i}} * {step} : (double){{i}} / {{3}} * {delta})"
    return f"({{i}} == {{5}} ? {stop} : {scaled} + {start})"


@cache
def _linspace_real(dtype: DType) -> IndexSpec:
    def compute(i: Any, *scalars: Any) -> Any:
        with np.errstate(all="ignore"):
            y = _spaced(i, scalars)
            return cast_to(np.floor(y) if dtype.kind in "iu" else y, dtype)

    c = _c_spaced("")
    if dtype.kind in "iu":
        c = f"floor({c})"
    doubles = (dt.float64,) * 5
    c = _c_cast(dt.float64, dtype, c)
    return IndexSpec("linspace", dtype, (*doubles, dt.int64), c, compute)


@cache
def _linspace_complex(dtype: DType) -> IndexSpec:
    def compute(i: Any, start: Any, step: Any, delta: Any, parts: Any, stop: Any, last: Any) -> Any:
        out = np.empty(i.shape, dt.complex128)
        with np.errstate(all="ignore"):
            for name in ("real", "imag"):
                a, b, c, d = (getattr(v, name) for v in (start, step, delta, stop))
                setattr(out, name, _spaced(i, (a, b, c, parts, d, last)))
            return cast_to(out, dtype)

    part = dt.c_type(dt.real_of(dtype))
    c = f"lz_complex(({part}){_c_spaced('.re')}, ({part}){_c_spaced('.im')})"
    kinds = (dt.complex128,) * 3 + (dt.float64, dt.complex128, dt.int64)
    return IndexSpec("linspace", dtype, kinds, c, compute)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Array:
    """Return ``num`` evenly spaced numbers from start to stop.

    Parameters
    ----------
    start, stop : int, float or complex
    num : int
        How many.
    dtype : dtype, optional
        By default float64, or complex128 if a bound is complex. Integers are rounded down.
    device : device, optional
        By default the default device.
    endpoint : bool
        Whether stop is the last of them; it is then exact.

    Returns
    -------
    Array
        One-dimensional. Elements are computed in double precision and converted. Lazy: it takes
        no memory until something forces it.

    Raises
    ------
    ValueError
        If num is negative.
    TypeError
        For complex bounds and a real dtype.
    """
    bounds = [v.item() if isinstance(v, np.generic) else v for v in (start, stop)]
    for v in bounds:
        if not isinstance(v, (int, float, complex)):
            raise TypeError(f"linspace takes Python numbers, not {type(v).__name__}")
    count = check_int(num, "num")
    if count < 0:
        raise ValueError(f"linspace: num must not be negative, and is {count}")
    is_complex = any(isinstance(v, complex) for v in bounds)
    default = dt.default_complex if is_complex else dt.default_real
    target = default if dtype is None else dt.as_dtype(dtype)
    if target.kind == "b" or (is_complex and target.kind != "c"):
        raise TypeError(f"linspace({start}, {stop}) cannot be of dtype {target}")
    parts = count - 1 if endpoint else count
    last = count - 1 if endpoint and count > 1 else -1
    kind = complex if target.kind == "c" else float
    first, end = (kind(v) for v in bounds)
    delta = end - first
    step = delta / parts if parts > 0 else delta
    spec = _linspace_complex(target) if kind is complex else _linspace_real(target)
    scalars = (first, step, delta, float(max(parts, 1)), end, last)
    return index_array(spec, scalars, check_shape((count,)), known_device(device))


@cache
def _eye(dtype: DType) -> IndexSpec:
    def compute(i: Any, columns: int, k: int) -> Any:
        return (i % columns - i // columns == k).astype(dtype)

    c = _c_cast(dt.bool_, dtype, "{i} % {0} - {i} / {0} == {1}")
    return IndexSpec("eye", dtype, (dt.int64, dt.int64), c, compute)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
) -> Array:
    """Return a matrix with ones on the k-th diagonal and zeros elsewhere.

    Parameters
    ----------
    n_rows, n_cols : int
        By default as many columns as rows.
    k : int
        Above the main diagonal if positive, below if negative.
    dtype : dtype, optional
        By default float64.
    device : device, optional
        By default the default device.

    Returns
    -------
    Array
        Lazy: it takes no memory until something forces it.

    Raises
    ------
    ValueError
        For a negative extent.
    """
    rows = check_int(n_rows, "n_rows")
    columns = rows if n_cols is None else check_int(n_cols, "n_cols")
    target = dt.default_real if dtype is None else dt.as_dtype(dtype)
    shape = check_shape((rows, columns))
    scalars = (max(columns, 1), _diagonal(k))
    return index_array(_eye(target), scalars, shape, known_device(device))


def _diagonal(k: Any) -> int:
    return max(-_FAR, min(check_int(k, "k"), _FAR))


def _triangle_mask(i: Any, columns: int, rows: int, k: int) -> Any:
    return i % columns - i // columns % rows <= k


_TRIANGLE = IndexSpec(
    "triangle",
    dt.bool_,
    (dt.int64, dt.int64, dt.int64),
    "({i} % {0} - {i} / {0} % {1} <= {2})",
    _triangle_mask,
)


def _triangle(x: Array, function: str, k: int, keep_lower: bool) -> Array:
    check_array(x, function)
    if x.ndim < 2:
        raise ValueError(f"{function} needs at least 2 axes, not {x.ndim}")
    rows, columns = (max(n, 1) for n in x.shape[-2:])
    mask = index_array(_TRIANGLE, (columns, rows, k), x.shape, x.device)
    zero = filled((), scalar_value(0, x.dtype), x.dtype, x.device)
    return elementwise(OPS["where"], mask, *((x, zero) if keep_lower else (zero, x)))


def tril(x: Array, /, *, k: int = 0) -> Array:
    """Return a copy of matrices with zeros above the k-th diagonal.

    Parameters
    ----------
    x : Array
        With at least two axes; the last two are the matrices'.
    k : int
        Above the main diagonal if positive, below if negative.

    Returns
    -------
    Array
        Of x's shape and dtype. Lazy.

    Raises
    ------
    ValueError
        If x has fewer than two axes.
    """
    return _triangle(x, "tril", _diagonal(k), True)


def triu(x: Array, /, *, k: int = 0) -> Array:
    """Return a copy of matrices with zeros below the k-th diagonal. Lazy; see `tril`."""
    return _triangle(x, "triu", _diagonal(k) - 1, False)


def meshgrid(*arrays: Array, indexing: str = "xy") -> tuple[Array, ...]:
    """Return coordinate arrays of a grid.

    Parameters
    ----------
    *arrays : Array
        One-dimensional, of one dtype and device.
    indexing : {"xy", "ij"}
        "xy" exchanges the first two axes of the results.

    Returns
    -------
    tuple of Array
        One for each input; copies, made lazily.

    Raises
    ------
    ValueError
        For arrays of more axes, or another indexing.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}")
    given = check_arrays(arrays, "meshgrid")
    if given:
        result_type(*given)  # raises where there is no common dtype
    for x in given:
        if x.ndim > 1:
            raise ValueError(f"meshgrid takes one-dimensional arrays, not shape {x.shape}")
    order = list(range(len(given)))
    if indexing == "xy" and len(given) > 1:
        order[:2] = [1, 0]
    shape = check_shape([given[n].size for n in order])
    result = []
    for n, x in enumerate(given):
        strides = [0] * len(given)
        strides[order.index(n)] = x.view.strides[0] if x.ndim else 0
        view = views.View(x.view.offset, shape, tuple(strides))
        result.append(copy_of(view_of(x, view)))
    return tuple(result)
