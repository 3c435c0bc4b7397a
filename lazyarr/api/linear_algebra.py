"""Linear algebra functions of the standard's core.

Floating-point matrix products are library calls between the generated kernels; products of
integers are reductions with the multiplication fused in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _dtypes as dt
from .._array import Array, copy_of, elementwise, view_of, wrap
from .._dtypes import DType
from .._promotion import result_dtype, scalar_value
from ..graph import views
from ..graph.node import Value, call_spec
from ..graph.optable import OPS
from ..graph.views import Shape, View
from ._common import check_array, check_arrays, check_int, filled
from ._reduction import reduce
from .manipulation import expand_dims, moveaxis, permute_dims, reshape

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def numeric(x1: Array, x2: Array, function: str) -> DType:
    """Return the promoted dtype; TypeError for bool."""
    if "b" in (x1.dtype.kind, x2.dtype.kind):
        raise TypeError(f"{function} needs numeric dtypes, not {x1.dtype} and {x2.dtype}")
    return result_dtype(x1.dtype, x2.dtype)


def matmul(x1: Array, x2: Array, /) -> Array:
    """Return matrix products.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtypes. The last two axes are the matrices', the others broadcast. An array of
        one axis is a row on the left and a column on the right; that axis is dropped again.

    Returns
    -------
    Array
        Of the promoted dtype. Lazy: a library call, or one kernel for integers, which wrap.
        Operands whose strides the library cannot take are copied first.

    Raises
    ------
    ValueError
        For no axes, lengths or batches that do not fit, or arrays on different devices.
    TypeError
        For bool, or dtypes without a common one.
    """
    check_arrays((x1, x2), "matmul")
    dtype = numeric(x1, x2, "matmul")
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError("matmul needs arrays of at least 1 axis; use multiply for 0-d arrays")
    left = expand_dims(x1, 0) if x1.ndim == 1 else x1
    right = expand_dims(x2, 1) if x2.ndim == 1 else x2
    m, k = left.shape[-2:]
    if right.shape[-2] != k:
        raise ValueError(
            f"matmul: shapes {x1.shape} and {x2.shape} do not fit: {k} against "
            f"{right.shape[-2]} elements to sum over"
        )
    n = right.shape[-1]
    batch = views.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    tail = ((m,) if x1.ndim > 1 else ()) + ((n,) if x2.ndim > 1 else ())
    shape = views.check_shape((*batch, *tail))
    if math.prod(shape) == 0 or k == 0:
        return filled(shape, scalar_value(0, dtype), dtype, x1.device)
    if dtype.kind in "iu":
        return _integer_product(left, right, dtype, shape)
    a = _operand(left, dtype, batch)
    b = _operand(right, dtype, batch)
    extra = (math.prod(batch), m, n, k, a.view.strides, b.view.strides)
    value = Value(
        call_spec("matmul", dtype),
        (a._cell.value, b._cell.value),
        tuple(None if x._view is None else x._view.strides for x in (a, b)),
        (a.view.offset, b.view.offset),
        extra,
        shape,
        x1.device,
    )
    return wrap(value)


def _integer_product(left: Array, right: Array, dtype: DType, shape: Shape) -> Array:
    products = elementwise(
        OPS["multiply"],
        expand_dims(_converted(left, dtype), left.ndim),
        expand_dims(_converted(right, dtype), right.ndim - 2),
    )
    return reshape(reduce("sum", products, -2, False, dtype), shape)


def _converted(x: Array, dtype: DType) -> Array:
    return x if x.dtype == dtype else copy_of(x, dtype)


def _operand(x: Array, dtype: DType, batch: Shape) -> Array:
    """Return a stack of matrices with one batch stride, as the library takes them, in 3 axes."""
    x = _converted(x, dtype)
    found = _library_view(x.view, batch)
    if found is None:
        x = copy_of(x)  # contiguous, but batches are not broadcast yet
        found = _library_view(x.view, batch)
    if found is None:
        x = copy_of(view_of(x, views.broadcast(x.view, (*batch, *x.shape[-2:]))))
        found = _library_view(x.view, batch)
    assert found is not None
    return _as_is(x, found)


def _as_is(x: Array, view: View) -> Array:
    """Return x through exactly this view: also if it is all of x, its strides matter."""
    result = view_of(x, view)
    result._view = view
    return result


def _library_view(view: View, batch: Shape) -> View | None:
    rows, columns = view.shape[-2:]
    matrix = _matrix_strides(rows, columns, *view.strides[-2:])
    lead = views.broadcast_strides(view.shape[:-2], view.strides[:-2], batch)
    step = _batch_stride(batch, lead)
    if matrix is None or step is None:
        return None
    return View(view.offset, (math.prod(batch), rows, columns), (step, *matrix))


def _matrix_strides(rows: int, columns: int, down: int, across: int) -> tuple[int, int] | None:
    """Return row and column strides of which one is 1 and the other no overlap, if there are."""
    if columns == 1:
        across = 1
        down = down if rows > 1 else 1
    elif rows == 1:
        down = 1 if across != 1 else columns
    if across == 1 and down >= columns:
        return down, 1
    if down == 1 and across >= rows:
        return 1, across
    return None


def _batch_stride(batch: Shape, strides: Shape) -> int | None:
    """Return the one stride that walks all batch axes, if there is one."""
    step: int | None = None
    count = 1
    for n, s in zip(reversed(batch), reversed(strides), strict=True):
        if n == 1:
            continue
        if step is None:
            step = s
        elif s != step * count:
            return None
        count *= n
    if step is None:
        return 0
    return step if step >= 0 else None


def matrix_transpose(x: Array, /) -> Array:
    """Return a view of x with the last two axes exchanged; ValueError if there are fewer."""
    return check_array(x, "matrix_transpose").mT


def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """Return sums of products over axes of both arrays.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtypes.
    axes : int or pair of sequences of int
        How many axes, the last of x1 and the first of x2, in order; or which axes of each.

    Returns
    -------
    Array
        The other axes of x1, then those of x2; of the promoted dtype. Lazy, as `matmul`.

    Raises
    ------
    ValueError
        If the axes do not fit each other.
    TypeError
        For bool, or dtypes without a common one.
    """
    check_arrays((x1, x2), "tensordot")
    dtype = numeric(x1, x2, "tensordot")
    first, second = _contracted(x1, x2, axes)
    kept1 = [d for d in range(x1.ndim) if d not in first]
    kept2 = [d for d in range(x2.ndim) if d not in second]
    for a, b in zip(first, second, strict=True):
        if x1.shape[a] != x2.shape[b]:
            raise ValueError(
                f"tensordot: axis {a} of shape {x1.shape} and axis {b} of shape {x2.shape} "
                "differ in length"
            )
    shape1 = tuple(x1.shape[d] for d in kept1)
    shape2 = tuple(x2.shape[d] for d in kept2)
    k = math.prod(x1.shape[d] for d in first)
    left = permute_dims(_converted(x1, dtype), (*kept1, *first))
    right = permute_dims(_converted(x2, dtype), (*second, *kept2))
    product = matmul(reshape(left, (math.prod(shape1), k)), reshape(right, (k, math.prod(shape2))))
    return reshape(product, shape1 + shape2)


def _contracted(x1: Array, x2: Array, axes: Any) -> tuple[list[int], list[int]]:
    if hasattr(axes, "__index__"):
        n = check_int(axes, "axes")
        if not 0 <= n <= min(x1.ndim, x2.ndim):
            raise ValueError(f"tensordot: axes={n} of arrays with {x1.ndim} and {x2.ndim} axes")
        return list(range(x1.ndim - n, x1.ndim)), list(range(n))
    try:
        given = [
            [views.normalize_axis(a, x.ndim) for a in side]
            for side, x in zip(axes, (x1, x2), strict=True)
        ]
    except TypeError:
        raise TypeError(f"axes must be an int or two sequences of ints, not {axes!r}") from None
    first, second = given
    if len(first) != len(second) or any(len(set(side)) != len(side) for side in given):
        raise ValueError(f"tensordot: axes {axes} differ in length or name an axis twice")
    return first, second


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return sums of ``conj(x1) * x2`` over an axis, the other axes broadcast.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtypes, of the same length along the axis.
    axis : int
        Counted from the end (negative), because the arrays may differ in the number of axes.

    Returns
    -------
    Array
        Of the promoted dtype. Lazy: one reduction with the product fused in.

    Raises
    ------
    ValueError
        If the lengths or shapes do not fit, or for arrays on different devices.
    TypeError
        For bool, or dtypes without a common one.
    """
    check_arrays((x1, x2), "vecdot")
    dtype = numeric(x1, x2, "vecdot")
    d = check_int(axis, "axis")
    if d >= 0 and x1.ndim != x2.ndim:
        raise ValueError("vecdot: count the axis from the end where the arrays differ in ndim")
    left, right = (moveaxis(_converted(x, dtype), d, -1) for x in (x1, x2))
    if left.shape[-1] != right.shape[-1]:
        raise ValueError(f"vecdot: shapes {x1.shape} and {x2.shape} differ along axis {axis}")
    if dtype in dt.COMPLEX_FLOATING:
        left = elementwise(OPS["conj"], left)
    return reduce("sum", elementwise(OPS["multiply"], left, right), -1, False, dtype)
