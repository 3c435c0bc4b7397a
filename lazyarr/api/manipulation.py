"""Manipulation functions.

Most give views: nothing is copied, and a write to the view is a write to the array. ``concat``,
``stack`` and ``roll`` run at the call, in one kernel if they can; ``tile`` is a lazy copy.
``repeat`` is in ``repetition``.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array import Array, assign, copy_of, frozen_view, view_of, wrap
from .._dtypes import DType
from .._promotion import result_type
from ..graph import evaluate, views
from ..graph.joining import join_call
from ..graph.views import Shape, View
from ._common import check_array, check_arrays, check_int, check_shape, uninitialised

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]

Ints = int | Sequence[int]


def _ints(values: Any, name: str) -> tuple[int, ...]:
    """Return an int or a sequence of ints as a tuple."""
    if isinstance(values, (int, np.integer)):
        return (int(values),)
    try:
        return tuple(check_int(v, name) for v in values)
    except TypeError:
        raise TypeError(f"{name} must be an int or a tuple of ints, not {values!r}") from None


def _distinct_axes(values: Any, ndim: int, name: str) -> tuple[int, ...]:
    axes = tuple(views.normalize_axis(a, ndim) for a in _ints(values, name))
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name} {values} names an axis twice")
    return axes


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which shapes broadcast together; ValueError if they do not fit."""
    return views.broadcast_shapes(*[check_shape(s) for s in shapes])


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """Return a read-only view of x with another shape, elements repeated without being copied.

    Raises
    ------
    ValueError
        If x does not broadcast to the shape.
    """
    check_array(x, "broadcast_to")
    return frozen_view(x, views.broadcast(x.view, check_shape(shape)))


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Return read-only views of arrays with their common shape; ValueError if they do not fit."""
    given = [check_array(x, "broadcast_arrays") for x in arrays]
    shape = views.broadcast_shapes(*[x.shape for x in given])
    return tuple(frozen_view(x, views.broadcast(x.view, shape)) for x in given)


def expand_dims(x: Array, /, axis: Ints) -> Array:
    """Return a view of x with new axes of length 1 at positions of the result.

    Raises
    ------
    IndexError
        If a position lies outside the result's axes.
    """
    check_array(x, "expand_dims")
    ndim = x.ndim + len(_ints(axis, "axis"))
    axes = _distinct_axes(axis, ndim, "axis")
    view = x.view
    old = iter(zip(view.shape, view.strides, strict=True))
    pairs = [(1, 0) if d in axes else next(old) for d in range(ndim)]
    shape = tuple(n for n, _ in pairs)
    return view_of(x, View(view.offset, shape, tuple(s for _, s in pairs)))


def squeeze(x: Array, /, axis: Ints) -> Array:
    """Return a view of x without axes of length 1; ValueError if an axis is longer."""
    check_array(x, "squeeze")
    axes = _distinct_axes(axis, x.ndim, "axis")
    for d in axes:
        if x.shape[d] != 1:
            raise ValueError(f"cannot squeeze axis {d} of shape {x.shape}: its length is not 1")
    view = x.view
    kept = [d for d in range(x.ndim) if d not in axes]
    return view_of(x, views.permute(view, kept))


def flip(x: Array, /, *, axis: Ints | None = None) -> Array:
    """Return a view of x with the elements along axes (None: all) in reverse order."""
    check_array(x, "flip")
    axes = range(x.ndim) if axis is None else _distinct_axes(axis, x.ndim, "axis")
    return view_of(x, views.flip(x.view, axes))


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """Return a view of x with its axes in another order; ValueError if it is no permutation."""
    check_array(x, "permute_dims")
    order = _distinct_axes(axes, x.ndim, "axes")
    if len(order) != x.ndim:
        raise ValueError(f"axes {axes} are no permutation of the {x.ndim} axes of x")
    return view_of(x, views.permute(x.view, order))


def moveaxis(x: Array, source: Ints, destination: Ints, /) -> Array:
    """Return a view of x with axes moved to other positions, the others in their order.

    Raises
    ------
    ValueError
        If source and destination differ in length, or one names an axis twice.
    """
    check_array(x, "moveaxis")
    first = _distinct_axes(source, x.ndim, "source")
    last = _distinct_axes(destination, x.ndim, "destination")
    if len(first) != len(last):
        raise ValueError(
            f"moveaxis: source {source} and destination {destination} differ in length"
        )
    order = [d for d in range(x.ndim) if d not in first]
    for to, d in sorted(zip(last, first, strict=True)):
        order.insert(to, d)
    return view_of(x, views.permute(x.view, order))


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """Return the elements of x, in row-major order, under another shape.

    Parameters
    ----------
    x : Array
    shape : tuple of int
        Of as many elements; one extent may be -1.
    copy : bool, optional
        None gives a view where the strides allow it, or else a lazy copy. True always copies.

    Returns
    -------
    Array
        A view of x, or a copy.

    Raises
    ------
    ValueError
        If the shape does not fit the size, or for ``copy=False`` where a copy is needed.
    """
    check_array(x, "reshape")
    target = views.resolve_shape(shape, x.size)
    if not copy:
        view = views.reshape(x.view, target)
        if view is not None:
            return view_of(x, view)
        if copy is False:
            raise ValueError(f"copy=False: x has strides that do not allow the shape {target}")
    return view_of(copy_of(x), views.contiguous(target))


def _flat(x: Array) -> Array:
    return reshape(x, (x.size,))


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the slices of x along an axis, without the axis, as views.

    Raises
    ------
    ValueError
        If x has no axes.
    """
    check_array(x, "unstack")
    if x.ndim == 0:
        raise ValueError("unstack needs at least 1 axis")
    d = views.normalize_axis(axis, x.ndim)
    moved = moveaxis(x, d, 0)
    return tuple(moved[n, ...] for n in range(moved.shape[0]))


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """Join arrays along an existing axis.

    Parameters
    ----------
    arrays : sequence of Array
        Of one shape apart from the axis.
    axis : int, optional
        None joins the flattened arrays.

    Returns
    -------
    Array
        A new array of the promoted dtype. Runs at the call: one kernel for up to 16 arrays that
        are computed already, are of the result's dtype and have their elements side by side from
        the axis on; else one kernel an array, which computes what is pending in its place.

    Raises
    ------
    ValueError
        For no arrays, shapes that do not fit, or arrays on different devices.
    TypeError
        For dtypes without a common one.
    """
    given = check_arrays(arrays, "concat")
    if not given:
        raise ValueError("concat needs at least one array")
    dtype = result_type(*given)
    if axis is None:
        given = [_flat(x) for x in given]
        axis = 0
    first = given[0]
    d = views.normalize_axis(axis, first.ndim)
    for x in given[1:]:
        if x.shape[:d] != first.shape[:d] or x.shape[d + 1 :] != first.shape[d + 1 :]:
            shapes = ", ".join(str(y.shape) for y in given)
            raise ValueError(f"concat: shapes {shapes} differ in more than axis {d}")
    parts = [x for x in given if x.size]
    if len(parts) == 1 and len(given) == 1:
        return copy_of(parts[0], dtype)
    length = sum(x.shape[d] for x in given)
    shape = views.check_shape((*first.shape[:d], length, *first.shape[d + 1 :]))
    joined = _joined(parts, d, shape, dtype)
    if joined is not None:
        return joined
    result = uninitialised(shape, dtype, first.device)
    start = 0
    for x in parts:
        stop = start + x.shape[d]
        _put(result, (slice(None),) * d + (slice(start, stop),), x)
        start = stop
    return result


def _joined(parts: Sequence[Array], axis: int, shape: Shape, dtype: DType) -> Array | None:
    """Return arrays (none of them empty) joined by one kernel, or None if that cannot be."""
    if len(parts) < 2 or any(x.dtype != dtype for x in parts):
        return None
    value = join_call([(x._cell.value, x.view) for x in parts], axis, shape)
    if value is None:
        return None
    evaluate.force([value], "concat")
    return wrap(value)


def _put(target: Array, key: tuple[slice, ...], x: Array) -> None:
    assign(target, views.basic_index(target.view, key), x, temporary=False)


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Join arrays of one shape along a new axis.

    Parameters
    ----------
    arrays : sequence of Array
    axis : int
        The position of the new axis in the result.

    Returns
    -------
    Array
        A new array of the promoted dtype. Runs at the call: one kernel for up to 16 arrays that
        are computed already, are of the result's dtype and have their elements side by side from
        the axis on; else one kernel an array, which computes what is pending in its place.

    Raises
    ------
    ValueError
        For no arrays, different shapes, or arrays on different devices.
    TypeError
        For dtypes without a common one.
    """
    given = check_arrays(arrays, "stack")
    if not given:
        raise ValueError("stack needs at least one array")
    for x in given[1:]:
        if x.shape != given[0].shape:
            raise ValueError(f"stack: shapes {given[0].shape} and {x.shape} differ")
    d = views.normalize_axis(axis, given[0].ndim + 1)
    return concat([expand_dims(x, d) for x in given], axis=d)


def roll(x: Array, /, shift: Ints, *, axis: Ints | None = None) -> Array:
    """Shift elements along axes; those that leave at the end come in at the start.

    Parameters
    ----------
    x : Array
    shift : int or tuple of int
    axis : int or tuple of int, optional
        None rolls the flattened elements. One shift serves all axes, and one axis takes the sum
        of its shifts.

    Returns
    -------
    Array
        A new array of x's shape. Runs at the call: one kernel along one axis of elements that lie
        side by side from it on, else a kernel for each part that moves as one.

    Raises
    ------
    ValueError
        If shift and axis differ in length.
    """
    check_array(x, "roll")
    shifts = _ints(shift, "shift")
    if axis is None:
        return reshape(_rolled(_flat(x), {0: sum(shifts)}), x.shape)
    axes = [views.normalize_axis(a, x.ndim) for a in _ints(axis, "axis")]
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    if len(shifts) != len(axes):
        raise ValueError(f"roll: shift {shift} and axis {axis} differ in length")
    total: dict[int, int] = {}
    for d, n in zip(axes, shifts, strict=True):
        total[d] = total.get(d, 0) + n
    return _rolled(x, total)


def _rolled(x: Array, shifts: dict[int, int]) -> Array:
    moves = {d: n % x.shape[d] for d, n in shifts.items() if x.shape[d]}
    if x.size == 0 or not any(moves.values()):
        return copy_of(x)
    moving = [d for d, n in moves.items() if n]
    if len(moving) == 1:
        joined = _rolled_axis(x, moving[0], moves[moving[0]])
        if joined is not None:
            return joined
    result = uninitialised(x.shape, x.dtype, x.device)
    whole = [(slice(None), slice(None))]
    pieces = []
    for d, n in enumerate(x.shape):
        k = moves.get(d, 0)
        cut = [(slice(0, n - k), slice(k, n)), (slice(n - k, n), slice(0, k))]
        pieces.append(cut if k else whole)
    for chosen in itertools.product(*pieces):
        source = views.basic_index(x.view, tuple(s for s, _ in chosen))
        _put(result, tuple(t for _, t in chosen), view_of(x, source))
    return result


def _rolled_axis(x: Array, d: int, shift: int) -> Array | None:
    """Return x rolled along one axis by one kernel, or None if that cannot be."""
    evaluate.force([x._cell.value], "roll")  # it is read through views, and stored for that anyway
    middle = x.shape[d] - shift
    lead = (slice(None),) * d
    cuts = (slice(middle, None), slice(0, middle))
    parts = [view_of(x, views.basic_index(x.view, (*lead, cut))) for cut in cuts]
    return _joined(parts, d, x.shape, x.dtype)


def tile(x: Array, repetitions: tuple[int, ...], /) -> Array:
    """Repeat a whole array along its axes.

    Parameters
    ----------
    x : Array
    repetitions : tuple of int
        One an axis, counted from the last; missing ones are 1, further ones add axes in front.

    Returns
    -------
    Array
        A new array, made lazily.

    Raises
    ------
    ValueError
        For a negative number.
    """
    check_array(x, "tile")
    counts = check_shape(_ints(repetitions, "repetitions"))
    ndim = max(x.ndim, len(counts))
    counts = (1,) * (ndim - len(counts)) + counts
    view = x.view
    lead = ndim - x.ndim
    sizes = (1,) * lead + view.shape
    strides = (0,) * lead + view.strides
    both = View(
        view.offset,
        tuple(n for pair in zip(counts, sizes, strict=True) for n in pair),
        tuple(s for stride in strides for s in (0, stride)),
    )
    shape = views.check_shape([r * n for r, n in zip(counts, sizes, strict=True)])
    return reshape(copy_of(view_of(x, both)), shape)
