"""Indexing with arrays: ``take``, ``take_along_axis``, ``nonzero``, and keys that hold arrays.

Owns the rules of keys; elements are picked by ``GatherSpec`` nodes and written by ``ScatterSpec``
nodes. Indices that the host knows are checked at the call. Others are checked by the kernel that
uses them (a gather), or before anything is written (a scatter).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _dtypes as dt
from .. import ledger
from .._array import (
    Array,
    as_operand,
    assign,
    assigned,
    check_assigned,
    copy_of,
    elementwise,
    view_of,
    wrap,
)
from ..graph import evaluate, interpret, share, views
from ..graph.node import Value, gather_spec, scatter_spec
from ..graph.optable import OPS
from ..graph.read import read_host
from ..graph.views import Shape, View
from ..graph.write import check_writable, own_storage, right_side
from ..storage.checks import out_of_range
from ..storage.storage import HOST
from ._common import check_array
from ._runs import positions_of_nonzero, select
from .creation import empty, zeros
from .statistical import max as largest
from .statistical import min as smallest

__all__ = ["nonzero", "take", "take_along_axis"]

# Out of range for every size, also counted from the end: nothing is written there.
NOWHERE = -(2**63)


class Plan(NamedTuple):
    """A key with arrays, resolved: the result's shape and how each element's place is found.

    ``strides`` walk the source along the result's axes (0 along the indices' own axes);
    ``index_axes`` says where those lie in the result.
    """

    shape: Shape
    offset: int
    strides: Shape
    indices: list[Array]
    steps: list[int]
    sizes: list[int]
    axes: list[int]
    index_shape: Shape
    index_axis: int
    in_range: list[bool]  # which indices cannot be out of range, so that nothing checks them


class _Picks(NamedTuple):
    """Indices that a mask stands for: in range; ``on_new_axis`` of length 1, made for them."""

    indices: Array
    on_new_axis: bool = False


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Return the elements at ``indices`` along an axis.

    Parameters
    ----------
    x : Array
        Any dtype; at least 1-d.
    indices : Array
        Integers; negative ones count from the end. 1-d by the standard, any rank here.
    axis : int, optional
        May be left out for a 1-d ``x`` only.

    Returns
    -------
    Array
        ``x`` with the axis replaced by the indices' axes. Nothing is forced unless the indices
        are device data (they are checked by the kernel).

    Raises
    ------
    IndexError
        If an index is out of range: at the call where the host knows the indices, else when the
        result is evaluated.
    TypeError
        If the indices are no integers.
    ValueError
        If ``axis`` is missing and ``x`` is not 1-d.
    """
    check_array(x, "take")
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take needs axis= for an array of {x.ndim} axes")
        axis = 0
    axis = views.normalize_axis(axis, x.ndim)
    return _gather(x, _along(x, _integers(indices, x, "take"), axis, in_range=False))


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return elements picked along one axis by an array of indices of the same rank.

    Shapes broadcast, apart from the axis. Errors and evaluation are those of `take`.
    """
    check_array(x, "take_along_axis")
    indices = _integers(indices, x, "take_along_axis")
    if indices.ndim != x.ndim:
        raise ValueError(f"indices have {indices.ndim} axes and x has {x.ndim}")
    axis = views.normalize_axis(axis, x.ndim)
    ours = list(x.shape)
    theirs = list(indices.shape)
    length = theirs[axis]
    ours[axis] = theirs[axis] = 1
    shape = list(views.broadcast_shapes(tuple(ours), tuple(theirs)))
    shape[axis] = length
    target = tuple(shape)
    view = x.view
    strides = list(views.broadcast_strides(view.shape, view.strides, target))
    strides[axis] = 0
    plan = Plan(
        target,
        view.offset,
        tuple(strides),
        [indices],
        [view.strides[axis]],
        [x.shape[axis]],
        [axis],
        target,
        0,
        [False],
    )
    return _gather(x, plan)


def pick(x: Array, indices: Array, axis: int) -> Array:
    """Return the elements along an axis at 1-d indices that are in range: nothing checks them."""
    return _gather(x, _along(x, indices, axis, in_range=True))


def _along(x: Array, indices: Array, axis: int, *, in_range: bool) -> Plan:
    """Return the plan of a key of one index array: that of `_resolve`, without its generality."""
    view = x.view
    shape = view.shape[:axis] + indices.shape + view.shape[axis + 1 :]
    strides = view.strides[:axis] + (0,) * indices.ndim + view.strides[axis + 1 :]
    return Plan(
        views.check_shape(shape),
        view.offset,
        strides,
        [indices],
        [view.strides[axis]],
        [view.shape[axis]],
        [axis],
        indices.shape,
        axis,
        [in_range],
    )


def _integers(indices: Any, x: Array, function: str) -> Array:
    """Return an array of integers on x's device; TypeError for another dtype."""
    dtype = getattr(indices, "dtype", dt.int64)
    if dtype.kind in "biu":
        result = as_index(indices, x)
        dtype = result.dtype
    if dtype.kind not in "iu":
        raise TypeError(f"{function}: indices must be integers, not {dtype}")
    return result


def as_index(indices: Any, x: Array) -> Array:
    """Return an array of integers or booleans on x's device."""
    if isinstance(indices, (list, tuple)):
        indices = np.asarray(indices, np.int64 if len(indices) == 0 else None)
    if isinstance(indices, np.generic):
        indices = np.asarray(indices)
    if not isinstance(indices, (Array, np.ndarray)):
        raise IndexError(
            "an index is an integer, a slice, '...', None or an array of integers or booleans, "
            f"not {type(indices).__name__}"
        )
    result = as_operand(indices, x.device)
    if result.device is not x.device:
        raise ValueError(
            f"the index array is on {result.device} and the indexed array on {x.device}; "
            f"move one with to_device({str(x.device)!r})"
        )
    if result.dtype.kind not in "iub":
        raise IndexError(f"index arrays hold integers or booleans, not {result.dtype}")
    return result


def get_advanced(x: Array, key: Any) -> Array:
    """Return ``x[key]`` for a key that holds arrays: a copy, as NumPy's rules arrange it."""
    mask = _mask_of(x, key)
    if mask is not None:
        return select(x, mask)
    return _gather(x, _resolve(x, key))


def _mask_of(x: Array, key: Any) -> Array | None:
    """Return the mask, if the key is one of all of x's axes."""
    if type(key) is tuple and len(key) == 1:
        key = key[0]
    if isinstance(key, (Array, np.ndarray)) and key.ndim and key.dtype == dt.bool_:
        return as_index(key, x) if key.shape == x.shape else None
    return None


def set_advanced(x: Array, key: Any, value: Any) -> None:
    """Write ``x[key] = value`` for a key that holds arrays."""
    if x._frozen:
        raise ValueError("a broadcast array is read-only; copy it with xp.asarray(x, copy=True)")
    storage = x._cell.value.real
    if storage is not None:
        check_writable(storage)
    mask = _whole_mask(x, key)
    if mask is not None and mask.size and _is_scalar(value):
        target = broadcast_mask(mask, x)
        chosen = elementwise(OPS["where"], target, _cast_scalar(x, value), x)
        assign(x, x.view, chosen, temporary=True)
        return
    if storage is None or not storage.host_open or storage.backend is None:
        _scatter(x, _resolve(x, key), value)
        return
    changed = copy_of(x)  # whoever has x open on the host looks there
    _scatter(changed, _resolve(changed, key), value)
    assign(x, x.view, changed, temporary=False)


def _is_scalar(value: Any) -> bool:
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return True
    return type(value) is Array and value.ndim == 0


def _cast_scalar(x: Array, value: Any) -> Any:
    """Return a scalar as a 0-d array of x's dtype, checked like any other assigned value."""
    holder = view_of(x, View(0, (), ()))

    cell = empty((), dtype=holder.dtype, device=x.device)
    cell[...] = value
    return cell


def _whole_mask(x: Array, key: Any) -> Array | None:
    """Return the mask, if the key is one boolean array over x's leading axes."""
    if type(key) is tuple and len(key) == 1:
        key = key[0]
    if type(key) is tuple or isinstance(key, (bool, np.bool_)):
        return None
    if not hasattr(key, "dtype") and not isinstance(key, list):
        return None
    mask = as_index(key, x)
    if mask.dtype != dt.bool_ or mask.ndim == 0:
        return None
    _check_mask(mask, x.shape)
    return mask


def broadcast_mask(mask: Array, x: Array) -> Array:
    """Return a mask over leading axes as a mask over all of x's axes."""
    view = mask.view
    missing = x.ndim - mask.ndim
    return view_of(
        mask, View(view.offset, view.shape + (1,) * missing, view.strides + (0,) * missing)
    )


def _check_mask(mask: Array, shape: Shape, axis: int = 0) -> None:
    """The standard: each axis of a mask is as long as the one that it picks from, or empty."""
    theirs = shape[axis : axis + mask.ndim]
    if mask.ndim != len(theirs) or any(
        n not in (m, 0) for n, m in zip(mask.shape, theirs, strict=True)
    ):
        raise IndexError(
            f"a boolean index of shape {mask.shape} does not match the axes "
            f"{shape[axis : axis + mask.ndim]} that it picks from"
        )


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return the indices of the nonzero elements, one int64 array an axis.

    Forces ``x`` and reads one count (a control read): the result's shape depends on the data.

    Raises
    ------
    ValueError
        If ``x`` is 0-d.
    """
    check_array(x, "nonzero")
    if x.ndim == 0:
        raise ValueError("nonzero needs an array of at least one axis")
    flat = positions_of_nonzero(x, "nonzero")
    result: list[Array] = []
    rest = flat
    for n in reversed(x.shape[1:]):
        result.append(rest % n if n else rest)
        rest = rest // n if n else rest
    return (rest, *reversed(result))


def store_at(target: Array, values: Array, places: Array) -> None:
    """Write ``values[i]`` to ``target[places[i]]``; places out of range are skipped."""
    node = Value(
        scatter_spec(target.dtype),
        (values._cell.value, places._cell.value),
        None,
        None,
        (1, target.size),
        values.shape,
        target.device,
    )
    with share.device_lock(target.device):
        own_storage(target._cell, "scatter")
        evaluate.store(node, target._cell.value, View(0, values.shape, (0,) * values.ndim))


def _resolve(x: Array, key: Any) -> Plan:
    """Sort a key into basic parts, which become a view, and index arrays."""
    parts = _expand(x, key)
    basic: list[Any] = []
    arrays: list[tuple[int, Array]] = []  # (axis of the view after the basic parts, indices)
    positions: list[int] = []
    in_range: list[bool] = []
    axis = 0
    for position, part in enumerate(parts):
        if isinstance(part, (Array, _Picks)):
            picks = part if isinstance(part, _Picks) else None
            arrays.append((axis, part.indices if isinstance(part, _Picks) else part))
            in_range.append(picks is not None)
            positions.append(position)
            basic.append(None if picks is not None and picks.on_new_axis else slice(None))
            axis += 1
        elif isinstance(part, (int, np.integer)):
            basic.append(part)
            positions.append(position)  # an integer between arrays acts as an index array
        elif part is not Ellipsis:
            basic.append(part)
            axis += 1
    adjacent = positions == list(range(positions[0], positions[-1] + 1)) if positions else True
    view = views.basic_index(x.view, tuple(basic))
    index_shape = views.broadcast_shapes(*[a.shape for _, a in arrays])
    used = [a for a, _ in arrays]
    kept = [d for d in range(len(view.shape)) if d not in used]
    before = _axes_before(parts, positions) if adjacent else 0
    shape = [view.shape[d] for d in kept]
    strides = [view.strides[d] for d in kept]
    shape[before:before] = index_shape
    strides[before:before] = [0] * len(index_shape)
    return Plan(
        views.check_shape(tuple(shape)),
        view.offset,
        tuple(strides),
        [a for _, a in arrays],
        [view.strides[d] for d in used],
        [view.shape[d] for d in used],
        used,
        index_shape,
        before,
        in_range,
    )


def _axes_before(parts: Sequence[Any], positions: Sequence[int]) -> int:
    """Return how many axes of the result come before the first index."""
    if not positions:
        return 0
    return sum(
        not isinstance(p, (int, np.integer)) and p is not Ellipsis for p in parts[: positions[0]]
    )


def _expand(x: Array, key: Any) -> list[Any]:
    """Return the key's parts, one an axis or newaxis, masks as indices.

    An ellipsis that stands for no axis stays: index arrays on both sides of it are apart.
    """
    parts = list(key) if type(key) is tuple else [key]
    converted: list[Any] = []
    for part in parts:
        basic = part is None or part is Ellipsis or isinstance(part, (slice, int, np.integer))
        if isinstance(part, _Picks) or (basic and not isinstance(part, (bool, np.bool_))):
            converted.append(part)
        else:
            converted.append(as_index(np.asarray(part) if isinstance(part, bool) else part, x))
    used = sum(_axes_of(p) for p in converted)
    if used > x.ndim:
        raise IndexError(f"too many indices: the array is {x.ndim}-dimensional, {used} were given")
    dots = [i for i, p in enumerate(converted) if p is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can have only one ellipsis ('...')")
    at = dots[0] if dots else len(converted)
    missing: list[Any] = [slice(None)] * (x.ndim - used)
    converted[at : at + len(dots)] = missing if missing or not dots else [Ellipsis]
    result: list[Any] = []
    axis = 0
    for part in converted:
        if isinstance(part, Array) and part.dtype == dt.bool_:
            _check_mask(part, x.shape, axis)
            if part.ndim == 0:
                result += _zero_dimensional_mask(part, x)
            else:
                result += [_Picks(indices) for indices in nonzero(part)]
        else:
            result.append(part)
        axis += _axes_of(part)
    return result


def _axes_of(part: Any) -> int:
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, Array) and part.dtype == dt.bool_:
        return part.ndim
    return 1


def _zero_dimensional_mask(mask: Array, x: Array) -> list[Any]:
    """``x[True]`` is x with a new axis of length 1, ``x[False]`` one of length 0."""
    count = 1 if control_scalar(mask, "mask") else 0
    return [_Picks(zeros((count,), dtype=dt.int64, device=x.device), on_new_axis=True)]


def _index_reads(plan: Plan, index: Array) -> tuple[Shape, int]:
    """Return strides and offset that read an index array over the result's axes."""
    view = index.view
    strides = views.broadcast_strides(view.shape, view.strides, plan.index_shape)
    full = [0] * len(plan.shape)
    full[plan.index_axis : plan.index_axis + len(plan.index_shape)] = strides
    return tuple(full), view.offset


def _known_on_host(plan: Plan) -> bool:
    """Check the indices that the host knows; return whether all others are in range."""
    known = True
    for index, size, axis, good in _index_bounds(plan):
        if good:
            continue
        storage = index._cell.value.real
        if storage is None or storage.location is not HOST:
            known = False
            continue
        data = read_host(index._cell.value, index.dtype, index.view, "index check", explicit=True)
        if data.size and not (int(data.min()) >= -size and int(data.max()) < size):
            bad = data[(data < -size) | (data >= size)].flat[0]
            raise out_of_range(bad, axis, size)
    return known


def _index_bounds(plan: Plan) -> Any:
    """Return an iterator over indices, sizes, axes, and whether nothing can be out of range."""
    return zip(plan.indices, plan.sizes, plan.axes, plan.in_range, strict=True)


def _node_parts(plan: Plan, first: Value, strides: Shape, offset: int) -> tuple[Any, Any, Any]:
    reads = [_index_reads(plan, i) for i in plan.indices]
    args = (first, *[i._cell.value for i in plan.indices])
    return args, (strides, *[r for r, _ in reads]), (offset, *[o for _, o in reads])


def _extra(plan: Plan) -> tuple[int, ...]:
    return tuple(n for pair in zip(plan.steps, plan.sizes, strict=True) for n in pair)


def _gather(x: Array, plan: Plan) -> Array:
    known = _known_on_host(plan)
    if math.prod(plan.shape) == 0:
        return empty(plan.shape, dtype=x.dtype, device=x.device)
    if 0 in plan.sizes:
        raise IndexError(f"cannot pick elements from an axis of size 0 (shape {x.shape})")
    args, reads, offsets = _node_parts(plan, x._cell.value, plan.strides, plan.offset)
    spec = gather_spec(x.dtype, tuple(plan.axes), not known)
    extra = _extra(plan) if known else (*_extra(plan), ledger.site())
    return wrap(Value(spec, args, reads, offsets, extra, plan.shape, x.device))


def _scatter(x: Array, plan: Plan, value: Any) -> None:
    known = _known_on_host(plan)
    value = assigned(x, value)
    check_assigned(x, value)
    if views.broadcast_shapes(value.shape, plan.shape) != plan.shape:
        raise ValueError(f"cannot write an array of shape {value.shape} to shape {plan.shape}")
    if math.prod(plan.shape) == 0:
        return
    right = right_side(x.dtype, plan.shape, value._cell.value, value.view)
    args, reads, offsets = _node_parts(plan, right, plan.strides, plan.offset)
    node = Value(
        scatter_spec(x.dtype), args, (None, *reads[1:]), offsets, _extra(plan), plan.shape, x.device
    )
    del args
    evaluate.force([right, *[i._cell.value for i in plan.indices]], "indexed write")
    if not known:
        _check_on_device(plan)
    view = View(plan.offset, plan.shape, plan.strides)
    if x.device.kind == "cpu":
        _scatter_on_host(x, node, view)
        return
    with share.device_lock(x.device):
        own_storage(x._cell, "indexed write")
        evaluate.store(node, x._cell.value, view)


def _check_on_device(plan: Plan) -> None:
    """Raise IndexError before anything is written, by a reduction over device-computed indices."""
    checked = [bounds for bounds in _index_bounds(plan) if not bounds[3] and bounds[0].size]
    ends = [(smallest(index), largest(index)) for index, _, _, _ in checked]
    evaluate.force([end._cell.value for pair in ends for end in pair], "index check")
    for pair, (_, size, axis, _) in zip(ends, checked, strict=True):
        for end in pair:
            number = int(control_scalar(end, "index check"))
            if not -size <= number < size:
                raise out_of_range(number, axis, size)


def control_scalar(x: Array, cause: str) -> Any:
    """Return the one element of an array, read as a value that steers the library.

    What the host knows is not copied; otherwise this forces the array and is a control read.
    """
    value = x._cell.value
    offset = x.view.offset
    with share.device_lock(x.device):
        storage = evaluate.real_storage(value, cause)
        if storage.location is HOST:
            return read_host(value, x.dtype, View(offset, (), ()), cause, explicit=True).item()
        data = storage.control_read(offset * x.itemsize, x.itemsize, cause)
    return data.view(x.dtype)[0].item()


def _scatter_on_host(x: Array, node: Value, view: View) -> None:
    at, good = interpret.places(node, view)
    values = interpret.operand(node, 0, node.shape)
    with interpret.lock:
        storage = own_storage(x._cell, "indexed write")
        target = storage.host_write("indexed write", whole=False).view(x.dtype)
        target[at[good]] = values[good]
