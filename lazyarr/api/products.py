"""Products, diagonals and norms of the ``linalg`` extension: array operations, all lazy."""

from __future__ import annotations

import math
from typing import Any

from .. import _dtypes as dt
from .._array import Array, copy_of, elementwise, view_of
from ..graph import views
from ..graph.node import IndexSpec
from ..graph.optable import OPS
from ..graph.views import Shape, View
from ._common import check_arrays, check_int
from ._matrices import floating, matrices
from ._reduction import Axis, normalized, reduce
from .creation import full, index_array
from .decompositions import svdvals
from .linear_algebra import numeric
from .manipulation import expand_dims
from .searching import where

__all__ = ["cross", "diagonal", "matrix_norm", "outer", "trace", "vector_norm"]


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return cross products of vectors of 3 elements.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtypes, with 3 elements along the axis; the other axes broadcast.
    axis : int
        Counted from the end (negative), because the arrays may differ in the number of axes.

    Returns
    -------
    Array
        Of the promoted dtype. Lazy: one kernel.

    Raises
    ------
    ValueError
        If there are not 3 elements along the axis, or the other axes do not fit, or for arrays on
        different devices.
    TypeError
        For bool, or dtypes without a common one.
    """
    check_arrays((x1, x2), "cross")
    numeric(x1, x2, "cross")
    d = check_int(axis, "axis")
    if d >= 0 and x1.ndim != x2.ndim:
        raise ValueError("cross: count the axis from the end where the arrays differ in ndim")
    d = views.normalize_axis(d, x1.ndim) - x1.ndim
    views.normalize_axis(d, x2.ndim)
    if x1.shape[d] != 3 or x2.shape[d] != 3:
        raise ValueError(f"cross: axis {axis} of {x1.shape} and {x2.shape} must have 3 elements")
    shape = views.broadcast_shapes(x1.shape, x2.shape)
    a = [_component(x1, d, k, shape) for k in range(3)]
    b = [_component(x2, d, k, shape) for k in range(3)]
    # Each element picks its own: one kernel, and nothing is stored in between.
    number = index_array(
        _COMPONENT, (math.prod(shape[d + 1 :] if d < -1 else ()),), shape, x1.device
    )
    rest = where(elementwise(OPS["equal"], number, 1), _minor(a, b, 2, 0), _minor(a, b, 0, 1))
    return where(elementwise(OPS["equal"], number, 0), _minor(a, b, 1, 2), rest)


def _which_component(i: Any, inner: int) -> Any:
    return i // inner % 3


_COMPONENT = IndexSpec("component", dt.int64, (dt.int64,), "({i} / {0} % 3)", _which_component)


def _component(x: Array, d: int, k: int, shape: Shape) -> Array:
    """Return element k along axis d (counted from the end), repeated to a shape."""
    key = (Ellipsis, slice(k, k + 1), *(slice(None),) * (-1 - d))
    return view_of(x, views.broadcast(views.basic_index(x.view, key), shape))


def _minor(a: list[Array], b: list[Array], i: int, j: int) -> Array:
    first = elementwise(OPS["multiply"], a[i], b[j])
    return elementwise(OPS["subtract"], first, elementwise(OPS["multiply"], a[j], b[i]))


def outer(x1: Array, x2: Array, /) -> Array:
    """Return all products of elements of two vectors.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtypes and one axis, of N and M elements.

    Returns
    -------
    Array
        (N, M), of the promoted dtype. Lazy.

    Raises
    ------
    ValueError
        For another number of axes, or arrays on different devices.
    TypeError
        For bool, or dtypes without a common one.
    """
    check_arrays((x1, x2), "outer")
    numeric(x1, x2, "outer")
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer needs arrays of 1 axis, not of shapes {x1.shape} and {x2.shape}")
    return elementwise(OPS["multiply"], expand_dims(x1, 1), x2)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return diagonals of matrices, as a view that writes through.

    Parameters
    ----------
    x : Array
        Matrices of any dtype, in the last two axes.
    offset : int
        Above the main diagonal if positive, below if negative.

    Returns
    -------
    Array
        The stack's axes, then one along the diagonal; without elements where none lies there.

    Raises
    ------
    LinAlgError
        For arrays with fewer than two axes.
    """
    x = matrices(x, "diagonal", any_dtype=True)
    k = check_int(offset, "offset")
    view = x.view
    *lead, m, n = view.shape
    *steps, down, across = view.strides
    length = max(0, min(m + min(k, 0), n - max(k, 0)))
    start = k * across if k > 0 else -k * down
    if length == 0:
        start = 0
    strides = (*steps, down + across)
    return view_of(x, View(view.offset + start, (*lead, length), strides))


def trace(x: Array, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Return sums along diagonals of matrices; integers wrap.

    Parameters
    ----------
    x : Array
        Matrices of a numeric dtype, in the last two axes.
    offset : int
        As in `diagonal`.
    dtype : dtype, optional
        As in ``xp.sum``: by default int64 for signed and uint64 for unsigned integers, or else x's.

    Returns
    -------
    Array
        Of the stack's shape. Lazy: one reduction.

    Raises
    ------
    LinAlgError
        For arrays with fewer than two axes.
    TypeError
        For bool, or a dtype that x cannot be converted to.
    """
    x = matrices(x, "trace", any_dtype=True)
    wanted = None if dtype is None else dt.as_dtype(dtype)
    return reduce("sum", diagonal(x, offset=offset), -1, False, wanted)


def vector_norm(
    x: Array, /, *, axis: Axis = None, keepdims: bool = False, ord: int | float = 2
) -> Array:
    """Return norms of vectors: ``sum(abs(x)**ord)**(1/ord)`` over axes.

    Parameters
    ----------
    x : Array
        Of a floating-point dtype.
    axis : int or tuple of int, optional
        None: all axes, as one vector.
    keepdims : bool
        Leave the reduced axes in the shape, with length 1.
    ord : int or float
        ``inf`` gives the largest, ``-inf`` the smallest absolute value, 0 the number of elements
        that are not 0.

    Returns
    -------
    Array
        Of x's real dtype. Lazy. Powers are scaled by the largest element (the smallest for a
        negative order), or summed in float64 where x has single precision: no sum overflows or
        vanishes unless the norm does. Of no elements it is 0, or infinite for a negative order.

    Raises
    ------
    TypeError
        For dtypes that are not floating-point ones, or an order that is no real number.
    """
    x = floating(x, "vector_norm")
    if isinstance(ord, bool) or not isinstance(ord, (int, float)):
        raise TypeError(f"vector_norm: ord must be a real number, not {ord!r}")
    axes = normalized(axis, x.ndim)
    real = dt.real_of(x.dtype)
    if any(x.shape[d] == 0 for d in axes):
        kept = [
            n if d not in axes else 1 for d, n in enumerate(x.shape) if keepdims or d not in axes
        ]
        value = math.inf if ord < 0 else 0.0
        return full(tuple(kept), value, dtype=real, device=x.device)
    if ord == 0:
        return copy_of(reduce("count_nonzero", x, axes, keepdims), real)
    if ord == 2 and real == dt.float32:
        squares = reduce("sum", _squares(x), axes, keepdims)
        return copy_of(elementwise(OPS["sqrt"], squares), real)
    size = elementwise(OPS["abs"], x)
    if math.isinf(ord):
        return reduce("max" if ord > 0 else "min", size, axes, keepdims)
    if ord == 1:
        return reduce("sum", size, axes, keepdims)
    return _scaled_norm(size, axes, keepdims, ord)


def _squares(x: Array) -> Array:
    """Return squared absolute values of single precision, in float64: none overflows."""
    if x.dtype not in dt.COMPLEX_FLOATING:
        return elementwise(OPS["square"], copy_of(x, dt.float64))
    parts = [copy_of(elementwise(OPS[name], x), dt.float64) for name in ("real", "imag")]
    first, second = (elementwise(OPS["square"], part) for part in parts)
    return elementwise(OPS["add"], first, second)


def _scaled_norm(size: Array, axes: tuple[int, ...], keepdims: bool, ord: float) -> Array:
    extreme = reduce("max" if ord > 0 else "min", size, axes, True)
    usable = elementwise(
        OPS["logical_and"],
        elementwise(OPS["isfinite"], extreme),
        elementwise(OPS["greater"], extreme, 0),
    )
    scale = where(usable, extreme, 1)
    ratio = elementwise(OPS["divide"], size, scale)
    if ord == 2:
        total = reduce("sum", elementwise(OPS["square"], ratio), axes, keepdims)
        root = elementwise(OPS["sqrt"], total)
    elif ord == -1:
        total = reduce("sum", elementwise(OPS["reciprocal"], ratio), axes, keepdims)
        root = elementwise(OPS["reciprocal"], total)
    else:
        total = reduce("sum", elementwise(OPS["pow"], ratio, float(ord)), axes, keepdims)
        root = elementwise(OPS["pow"], total, 1.0 / ord)
    if not keepdims:
        scale = _without(scale, axes)
    return elementwise(OPS["multiply"], root, scale)


def _without(x: Array, axes: tuple[int, ...]) -> Array:
    """Return x without axes of length 1."""
    kept = [d for d in range(x.ndim) if d not in axes]
    return view_of(x, views.permute(x.view, kept))


def matrix_norm(
    x: Array, /, *, keepdims: bool = False, ord: int | float | str | None = "fro"
) -> Array:
    """Return norms of matrices.

    Parameters
    ----------
    x : Array
        Matrices of a floating-point dtype, in the last two axes.
    keepdims : bool
        Leave the matrices' axes in the shape, with length 1.
    ord : {"fro", "nuc", 1, -1, 2, -2, inf, -inf}, optional
        "fro" or None: as the `vector_norm` of all elements; "nuc", 2, -2: the sum, the largest and
        the smallest of the singular values; 1, -1: the largest and the smallest column sum of
        absolute values; inf, -inf: of rows.

    Returns
    -------
    Array
        Of x's real dtype. Lazy; but "nuc", 2 and -2 force x for `svdvals`, whose errors they have.
        The norm of a matrix without elements is 0, but infinite for a negative order that finds
        no sum or value to choose from.

    Raises
    ------
    ValueError
        For another order.
    LinAlgError
        For arrays with fewer than two axes.
    TypeError
        For dtypes that are not floating-point ones.
    """
    x = matrices(x, "matrix_norm")
    if ord not in ("fro", None, "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise ValueError(
            f"matrix_norm: ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, not {ord!r}"
        )
    if ord == "fro" or ord is None:
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    lead = x.shape[:-2]
    if 0 in x.shape[-2:]:
        # the smallest of so many sums or values: sums of nothing are 0
        choices: dict[Any, int] = {-1: x.shape[-1], -math.inf: x.shape[-2], -2: 0}
        value = 0.0 if choices.get(ord, 1) else math.inf
        shape = (*lead, 1, 1) if keepdims else lead
        return full(shape, value, dtype=dt.real_of(x.dtype), device=x.device)
    if ord == "nuc":
        result = reduce("sum", svdvals(x), -1, False)
    elif ord in (2, -2):
        result = reduce("max" if ord == 2 else "min", svdvals(x), -1, False)
    else:
        sums = reduce("sum", elementwise(OPS["abs"], x), -2 if ord in (1, -1) else -1, False)
        result = reduce("max" if ord in (1, math.inf) else "min", sums, -1, False)
    return expand_dims(result, (-2, -1)) if keepdims else result
