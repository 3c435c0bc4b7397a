"""The rows of manipulation and indexing functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .drawing import (
    OTHER,
    Call,
    Choose,
    Operand,
    axes_of,
    axis_of,
    call,
    operand,
    part_of,
)
from .function_rows import Row, array_of, dtype_of, laid_shape, mapped, shape_of
from .outcomes import metadata, same
from .support import Shape


def _broadcast_arrays(choose: Choose) -> Call:
    shape = shape_of(choose)
    parts = [operand(choose, part_of(choose, shape), dtype_of(choose, "biufc")) for _ in range(2)]
    return call(operand(choose, shape, "float32"), *parts)


def _broadcast_shapes(choose: Choose) -> Call:
    shape = shape_of(choose)
    return call(shape, part_of(choose, shape), part_of(choose, shape))


def _broadcast_to(choose: Choose) -> Call:
    shape = shape_of(choose)
    return call(operand(choose, part_of(choose, shape), dtype_of(choose, "biufc")), shape)


def _parts(choose: Choose, shape: Shape, axis: int | None) -> list[Operand]:
    """Return arrays of one shape apart from an axis, of dtypes that promote."""
    dtype = dtype_of(choose, "biufc")
    result = []
    for _ in range(choose.one_of([2, 1, 3])):
        own = list(shape)
        if axis is not None:
            own[axis] = choose.one_of([own[axis], 0, 1, 2])
        result.append(operand(choose, tuple(own), choose.one_of([dtype, OTHER.get(dtype, dtype)])))
    return result


def _concat(choose: Choose) -> Call:
    shape = shape_of(choose, 1)
    axis = axis_of(choose, len(shape))
    if choose.one_of([False, False, True]):
        return Call((_parts(choose, shape, axis),), {"axis": None})
    return call(_parts(choose, shape, axis), axis=axis)


def _stack(choose: Choose) -> Call:
    shape = shape_of(choose)
    return call(_parts(choose, shape, None), axis=axis_of(choose, len(shape) + 1))


def _expand_dims(choose: Choose) -> Call:
    x = array_of(choose, "biufc")
    return call(x, axis=axis_of(choose, len(laid_shape(x)) + 1))


def _flip(choose: Choose) -> Call:
    x = array_of(choose, "biufc")
    return call(x, axis=axes_of(choose, len(laid_shape(x))))


def _moveaxis(choose: Choose) -> Call:
    x = array_of(choose, "biufc", 1)
    ndim = len(laid_shape(x))
    if ndim > 1 and choose.one_of([True, False]):
        return call(x, (0, 1), choose.one_of([(1, 0), (-1, 0), (-1, -2)]))
    return call(x, axis_of(choose, ndim), axis_of(choose, ndim))


def _permute_dims(choose: Choose) -> Call:
    x = array_of(choose, "biufc")
    axes = list(range(len(laid_shape(x))))
    turned = axes[1:] + axes[:1]
    return call(x, choose.one_of([tuple(turned), tuple(axes[::-1]), tuple(axes)]))


def _repeat(choose: Choose) -> Call:
    x = array_of(choose, "biufc", 1)
    shape = laid_shape(x)
    axis = choose.one_of([0, None, *range(-len(shape), len(shape))])
    length = int(np.prod(shape)) if axis is None else shape[axis]
    repeats: Any = choose.one_of(["array", 2, 0, 1, 3])
    if repeats == "array":
        counts = operand(choose, (choose.one_of([length, 1]),), choose.one_of(["int64", "uint8"]))
        repeats = mapped(counts, lambda n: n % 4)
    return call(x, repeats, axis=axis)


def _reshape(choose: Choose) -> Call:
    x = array_of(choose, "biufc")
    shape = laid_shape(x)
    size = int(np.prod(shape))
    options = [(-1,), (1, size, 1), (size,), *([(2, -1)] if size % 2 == 0 and size else [])]
    target = choose.one_of([o for o in options if size or -1 not in o])
    return call(x, target, copy=choose.one_of([None, True]))


SHIFTS = [2, -1, 0, 7, -9, 25]


def _roll(choose: Choose) -> Call:
    x = array_of(choose, "biufc", 1)
    ndim = len(laid_shape(x))
    if choose.one_of([False, True]):
        return call(x, (choose.one_of(SHIFTS), 2), axis=(axis_of(choose, ndim), 0))
    return call(x, choose.one_of(SHIFTS), axis=choose.one_of([0, None, -1]))


def _squeeze(choose: Choose) -> Call:
    shape = choose.one_of([(1, 3), (3, 1), (1,), (1, 0, 1)])
    ones = [d for d, n in enumerate(shape) if n == 1]
    axis = choose.one_of([ones[0], ones[-1] - len(shape), tuple(ones)])
    return call(operand(choose, shape, dtype_of(choose, "biufc")), axis)


def _tile(choose: Choose) -> Call:
    return call(array_of(choose, "biufc"), choose.one_of([(2, 1), (), (3,), (0, 2), (2, 1, 1, 2)]))


def _unstack(choose: Choose) -> Call:
    x = array_of(choose, "biufc", 1)
    return call(x, axis=axis_of(choose, len(laid_shape(x))))


def _indices(choose: Choose, shape: Shape, size: int) -> Operand:
    if size == 0:
        shape = tuple(0 for _ in shape)
    o = operand(choose, shape, choose.one_of(["int64", "int8", "int32"]))
    return mapped(o, lambda n: n % (2 * size) - size) if size else o


def _take(choose: Choose) -> Call:
    x = array_of(choose, "biufc", 1)
    shape = laid_shape(x)
    axis = axis_of(choose, len(shape))
    indices = _indices(choose, (choose.one_of([4, 0, 1]),), shape[axis])
    if len(shape) == 1 and choose.one_of([True, False]):
        return call(x, indices)
    return call(x, indices, axis=axis)


def _take_along_axis(choose: Choose) -> Call:
    x = array_of(choose, "biufc", 1)
    shape = laid_shape(x)
    axis = axis_of(choose, len(shape))
    own = [choose.one_of([n, n, 1]) if n else n for n in shape]
    own[axis] = choose.one_of([4, 0, 1]) if shape[axis] else 0
    o = operand(choose, tuple(own), choose.one_of(["int64", "int8", "int32"]))
    size = shape[axis]
    return call(x, mapped(o, lambda n: n % (2 * size) - size) if size else o, axis=axis)


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    return tuple(np.broadcast_arrays(*arrays))


_CHECKED = "indices on the device: the error flag is read with the result"

MANIPULATION: dict[str, Row] = {
    "broadcast_arrays": Row(_broadcast_arrays, broadcast_arrays, same, "view"),
    "broadcast_shapes": Row(_broadcast_shapes, None, metadata, "metadata"),
    "broadcast_to": Row(_broadcast_to, None, same, "view"),
    "concat": Row(_concat, None, same, "at the call"),
    "expand_dims": Row(_expand_dims, None, same, "view"),
    "flip": Row(_flip, None, same, "view"),
    "moveaxis": Row(_moveaxis, None, same, "view"),
    "permute_dims": Row(_permute_dims, None, same, "view"),
    "repeat": Row(_repeat, None, same, "at the call", 1, note="by an int: lazy, and reads nothing"),
    "reshape": Row(_reshape, None, same, "view", note="a lazy copy where the strides do not fit"),
    "roll": Row(_roll, None, same, "at the call"),
    "squeeze": Row(_squeeze, None, same, "view"),
    "stack": Row(_stack, None, same, "at the call"),
    "take": Row(_take, None, same, "lazy", note=_CHECKED),
    "take_along_axis": Row(_take_along_axis, None, same, "lazy", note=_CHECKED),
    "tile": Row(_tile),
    "unstack": Row(_unstack, None, same, "view"),
}
