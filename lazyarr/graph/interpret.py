"""Runs nodes with NumPy: the ``cpu`` device.

Each node is computed at once, by the op table's NumPy function, into host memory. The same nodes
and the same rules of program order as on a kernel device, without kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .._dtypes import DType
from ..runtime.locks import Rank, make_lock
from ..storage.checks import out_of_range
from ..storage.storage import Storage, from_host
from .node import BoxSpec, CallSpec, ConstSpec, GatherSpec, IndexSpec, Value
from .numpy_ops import cast_to
from .optable import ReduceSpec
from .views import Shape, View, c_strides

Array = npt.NDArray[Any]

# Of writes, of reads of host buffers, and of constants that become real: all other values are real
# before a second thread can see them. Computing needs no lock.
lock: Final = make_lock(Rank.DEVICE)


def host_view(storage: Storage, dtype: DType, view: View) -> Array:
    """Return a NumPy view of a storage's host buffer."""
    assert storage.host is not None
    if 0 in view.shape:  # its offset may lie outside the buffer
        return np.empty(view.shape, dtype)
    return np.ndarray(
        view.shape,
        dtype,
        buffer=storage.host,
        offset=view.offset * dtype.itemsize,
        strides=tuple(s * dtype.itemsize for s in view.strides),
    )


def operand(v: Value, k: int, shape: Shape) -> Array:
    """Return what node ``v`` reads as operand k, as a NumPy array of ``shape``."""
    a = v.args[k]
    scalar = a.extra  # before it is asked for: another thread may make a constant real
    if a.real is None:
        return np.broadcast_to(np.asarray(scalar, a.dtype), shape)
    strides = v.reads[k] if v.reads is not None else None
    if strides is None:
        return host_view(a.real, a.dtype, View(0, shape, c_strides(shape)))
    assert v.offsets is not None
    return host_view(a.real, a.dtype, View(v.offsets[k], shape, strides))


def strided_operand(v: Value, k: int, shape: Shape, strides: Shape) -> Array:
    """Return operand k of a call node, walked by the call's own strides."""
    a = v.args[k]
    assert a.real is not None
    offset = v.offsets[k] if v.offsets is not None else 0
    return host_view(a.real, a.dtype, View(offset, shape, strides))


def force(values: Sequence[Value]) -> None:
    """Make values real, edges first."""
    stack = list(values)
    while stack:
        v = stack[-1]
        if v.real is not None:
            stack.pop()
            continue
        missing = [
            a
            for a in v.args
            if a.real is None and (type(a.spec) is not ConstSpec or type(v.spec) is CallSpec)
        ]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if type(v.spec) is ConstSpec:
            with lock:
                if v.real is None:
                    _make_real(v)
        else:
            _make_real(v)


def _make_real(v: Value) -> None:
    result = np.ascontiguousarray(_compute(v), v.dtype).reshape(v.shape)
    if result.base is not None or not result.flags.owndata:
        result = result.copy()
    v.make_real(from_host(None, result.reshape(-1).view(np.uint8)))


def _compute(v: Value) -> Array:
    spec = v.spec
    kind = type(spec)
    if kind is ConstSpec:
        return np.full(v.shape, v.extra, v.dtype)
    if kind is IndexSpec:
        size = int(np.prod(v.shape, dtype=np.int64))
        return spec.numpy(np.arange(size), *v.extra)  # type: ignore[no-any-return]
    if kind is ReduceSpec:
        shape, axes = v.extra[0], v.extra[1]
        return spec.numpy(operand(v, 0, shape), axes, False)  # type: ignore[no-any-return]
    if kind is BoxSpec:
        return _box(v)
    if kind is GatherSpec:
        return _gather(v)
    if kind is CallSpec:
        return CALLS[spec.name](v)
    arrays = [cast_to(operand(v, k, v.shape), dtype) for k, dtype in enumerate(spec.compute)]
    return spec.numpy(*arrays)  # type: ignore[no-any-return]


def places(v: Value, view: View) -> tuple[Array, Array]:
    """Return where a gather or scatter goes, in elements, and which indices are in range."""
    at = np.full(v.shape, view.offset, np.int64)
    for d, s in enumerate(view.strides):
        along = [1] * len(v.shape)
        along[d] = -1
        at += (np.arange(v.shape[d]) * s).reshape(along)
    good = np.ones(v.shape, bool)
    for n in range(len(v.args) - 1):
        stride, size = v.extra[2 * n : 2 * n + 2]
        given = operand(v, n + 1, v.shape)
        if given.dtype == np.uint64:  # too large for int64: out of range there too
            given = np.minimum(given, np.uint64(2**63 - 1))
        index = given.astype(np.int64)
        wrapped = np.where(index < 0, index + size, index)
        inside = (wrapped >= 0) & (wrapped < size)
        if type(v.spec) is GatherSpec and not inside.all():
            raise out_of_range(int(index[~inside][0]), v.spec.axes[n], size)
        good &= inside
        at += np.where(inside, wrapped, 0) * stride
    return at, good


def _gather(v: Value) -> Array:
    source = v.args[0]
    assert source.real is not None and source.real.host is not None
    strides = v.reads[0] if v.reads is not None else None
    offset = v.offsets[0] if v.offsets is not None else 0
    at, _ = places(v, View(offset, v.shape, strides or c_strides(v.shape)))
    return source.real.host.view(source.dtype)[at]


def _box(v: Value) -> Array:
    box, inner = v.extra
    result = operand(v, 1, v.shape).copy()
    inside = operand(v, 0, inner)
    keys = []
    for first, step, count, back in zip(box.first, box.step, box.length, box.flipped, strict=True):
        stop = first + step * count
        keys.append(slice(first, stop, step))
        if back:
            keys[-1] = slice(first + step * (count - 1), first - 1 if first else None, -step)
    target = result[tuple(keys)]
    moved = [a for a in box.axes if a >= 0]
    squeezed = inside.reshape([n for a, n in enumerate(inner) if a in moved])
    order = [sorted(moved).index(a) for a in moved]
    target[...] = squeezed.transpose(order).reshape(target.shape)
    return result


CALLS: dict[str, Callable[[Value], Array]] = {}
