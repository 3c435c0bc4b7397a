"""Views: where the elements of an array lie in its storage.

Owns the ``View`` record and everything that makes one view from another: basic indexing,
broadcasting, permutation, reshape, overlap. Counts in elements, not in bytes, and touches no data.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

Shape = tuple[int, ...]
MAX_ELEMENTS = 2**62


class View:
    """Element ``i`` lies at ``offset + sum(i[d] * strides[d])`` of the storage. Not changed."""

    __slots__ = ("offset", "shape", "strides")

    def __init__(self, offset: int, shape: Shape, strides: Shape) -> None:
        self.offset = offset
        self.shape = shape
        self.strides = strides


def size_of(shape: Shape) -> int:
    """Return the number of elements."""
    size = 1
    for n in shape:
        size *= n
    return size


@lru_cache(maxsize=4096)
def c_strides(shape: Shape) -> Shape:
    """Return the strides of a C-contiguous array of this shape."""
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * max(shape[d + 1], 1)
    return tuple(strides)


def contiguous(shape: Shape) -> View:
    return View(0, shape, c_strides(shape))


def is_contiguous(shape: Shape, strides: Shape) -> bool:
    """Whether the elements lie in C order without gaps (strides of axes of length 1 are free)."""
    expected = 1
    for d in range(len(shape) - 1, -1, -1):
        n = shape[d]
        if n == 0:
            return True
        if n != 1:
            if strides[d] != expected:
                return False
            expected *= n
    return True


def check_shape(shape: Any) -> Shape:
    """Return a shape as a tuple of ints; raise if it has a negative or too large extent."""
    if isinstance(shape, (int, np.integer)):
        shape = (shape,)
    result = tuple(operator.index(n) for n in shape)
    if any(n < 0 for n in result):
        raise ValueError(f"negative dimensions are not allowed: shape {result}")
    if math.prod(n for n in result if n) > MAX_ELEMENTS:
        raise ValueError(f"shape {result} has more elements than can be addressed")
    return result


def normalize_axis(axis: int, ndim: int) -> int:
    """Return the axis counted from the front; raise ``IndexError`` like NumPy's AxisError."""
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis + ndim if axis < 0 else axis


def normalize_axes(axis: int | Sequence[int] | None, ndim: int) -> Shape:
    """Return distinct axes counted from the front, ascending; ``None`` means all of them."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, (int, np.integer)):
        return (normalize_axis(int(axis), ndim),)
    axes = tuple(normalize_axis(a, ndim) for a in axis)
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in {tuple(axis)}")
    return tuple(sorted(axes))


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the common shape; raise ``ValueError`` naming the shapes that do not fit."""
    if shapes:
        first = shapes[0]
        for other in shapes:
            if other != first:
                break
        else:
            return first
    ndim = max((len(s) for s in shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for d, n in enumerate(shape, ndim - len(shape)):
            if n == 1 or n == result[d]:
                continue
            if result[d] != 1:
                text = " ".join(str(s) for s in shapes)
                raise ValueError(f"operands could not be broadcast together with shapes {text}")
            result[d] = n
    return check_shape(result)


def broadcast_strides(shape: Shape, strides: Shape, target: Shape) -> Shape:
    """Return the strides that read ``shape`` as ``target``: 0 along stretched axes."""
    if shape == target:
        return strides
    lead = len(target) - len(shape)
    return (0,) * lead + tuple(
        0 if n == 1 and t != 1 else s for n, s, t in zip(shape, strides, target[lead:], strict=True)
    )


def broadcast(view: View, target: Shape) -> View:
    if broadcast_shapes(view.shape, target) != target:
        raise ValueError(f"shape {view.shape} cannot be broadcast to {target}")
    return View(view.offset, target, broadcast_strides(view.shape, view.strides, target))


def permute(view: View, axes: Sequence[int]) -> View:
    return View(
        view.offset,
        tuple(view.shape[a] for a in axes),
        tuple(view.strides[a] for a in axes),
    )


def flip(view: View, axes: Sequence[int]) -> View:
    offset = view.offset
    strides = list(view.strides)
    for a in axes:
        if view.shape[a]:
            offset += (view.shape[a] - 1) * strides[a]
        strides[a] = -strides[a]
    return View(offset, view.shape, tuple(strides))


def reshape(view: View, shape: Shape) -> View | None:
    """Return the same elements, in order, under another shape; None if that needs a copy."""
    if 0 in view.shape or is_contiguous(view.shape, view.strides):
        return View(view.offset, shape, c_strides(shape))
    old = [(n, s) for n, s in zip(view.shape, view.strides, strict=True) if n != 1]
    strides: list[int] = []
    i = 0
    j = 0
    while i < len(old) or j < len(shape):
        # One group: the fewest old axes and new axes with the same number of elements.
        old_size, new_size, i0, j0 = 1, 1, i, j
        if i < len(old):
            old_size, i = old[i][0], i + 1
        if j < len(shape):
            new_size, j = shape[j], j + 1
        while old_size != new_size:
            if old_size < new_size:
                old_size, i = old_size * old[i][0], i + 1
            else:
                new_size, j = new_size * shape[j], j + 1
        group = old[i0:i]
        for (_, outer), (n, inner) in zip(group, group[1:], strict=False):
            if outer != inner * n:
                return None
        step = group[-1][1] if group else 1
        tail: list[int] = []
        for n in reversed(shape[j0:j]):
            tail.append(step)
            step *= n
        strides.extend(reversed(tail))
    return View(view.offset, shape, tuple(strides))


def resolve_shape(shape: Sequence[int] | int, size: int) -> Shape:
    """Return a reshape target with its one ``-1`` filled in; raise if the sizes do not fit."""
    sizes: list[Any] = [shape] if isinstance(shape, (int, np.integer)) else list(shape)
    target: Shape = tuple([operator.index(n) for n in sizes])
    unknown = [d for d, n in enumerate(target) if n == -1]
    if len(unknown) > 1 or any(n < -1 for n in target):
        raise ValueError(f"cannot reshape to {target}: at most one -1, and no other negative")
    if unknown:
        known = math.prod(n for n in target if n != -1)
        if known == 0 or size % known:
            raise ValueError(f"cannot reshape an array of size {size} into shape {target}")
        target = tuple(size // known if n == -1 else n for n in target)
    if math.prod(target) != size:
        raise ValueError(f"cannot reshape an array of size {size} into shape {target}")
    return target


def is_basic_key(key: Any) -> bool:
    """Whether every part of the key is an integer, slice, ellipsis or newaxis."""
    parts = key if type(key) is tuple else (key,)
    for k in parts:
        if type(k) is slice or type(k) is int:
            continue
        if k is None or isinstance(k, (slice, EllipsisType)):
            continue
        if isinstance(k, (bool, np.bool_)):
            return False
        if isinstance(k, (int, np.integer)):
            continue
        if hasattr(k, "__index__") and not hasattr(k, "shape"):
            continue
        return False
    return True


def expand_key(key: Any, ndim: int) -> list[Any]:
    """Return the key's parts with the ellipsis (or the missing tail) spelled out."""
    parts: list[Any] = list(key) if type(key) is tuple else [key]
    dots = -1
    used = 0
    for i, part in enumerate(parts):
        if part is Ellipsis:
            if dots >= 0:
                raise IndexError("an index can have only one ellipsis ('...')")
            dots = i
        elif part is not None:
            used += 1
    if used > ndim:
        raise IndexError(f"too many indices: the array is {ndim}-dimensional, {used} were given")
    if dots >= 0:
        parts[dots : dots + 1] = [slice(None)] * (ndim - used)
    elif used < ndim:
        parts.extend([slice(None)] * (ndim - used))
    return parts


def bounds(part: slice, n: int) -> tuple[int, int, int]:
    """Return ``part.indices(n)``, by the shorter way for plain slices of step 1."""
    first, last = part.start, part.stop
    if part.step is None:
        start, stop = 0, n
        if type(first) is int:
            start = max(first + n, 0) if first < 0 else min(first, n)
        elif first is not None:
            return part.indices(n)
        if type(last) is int:
            stop = max(last + n, 0) if last < 0 else min(last, n)
        elif last is not None:
            return part.indices(n)
        return start, stop, 1
    return part.indices(n)


def basic_index(view: View, key: Any) -> View:
    """Return the view that a basic key (integers, slices, ellipsis, newaxis) selects."""
    offset = view.offset
    old_shape = view.shape
    old_strides = view.strides
    shape: list[int] = []
    strides: list[int] = []
    axis = 0
    for part in expand_key(key, len(old_shape)):
        if part is None:
            shape.append(1)
            strides.append(0)
            continue
        n = old_shape[axis]
        s = old_strides[axis]
        if isinstance(part, slice):
            start, stop, step = bounds(part, n)
            if step > 0:
                length = (stop - start + step - 1) // step
            else:
                length = (start - stop - step - 1) // -step
            if length > 0:
                offset += start * s
            else:
                length = 0
            shape.append(length)
            strides.append(s * step if length > 1 else s)  # a step can be huge
        else:
            index: int = operator.index(part)
            if not -n <= index < n:
                raise IndexError(f"index {index} is out of bounds for axis {axis} with size {n}")
            offset += (index + n if index < 0 else index) * s
        axis += 1
    return View(offset, tuple(shape), tuple(strides))


def extent(view: View) -> tuple[int, int]:
    """Return the lowest element offset and one past the highest; (0, 0) for an empty view."""
    low = high = view.offset
    for d in range(len(view.shape)):
        n, s = view.shape[d], view.strides[d]
        if n == 0:
            return 0, 0
        if s < 0:
            low += (n - 1) * s
        else:
            high += (n - 1) * s
    return low, high + 1


def may_overlap_itself(view: View) -> bool:
    """Whether two elements may lie at one place; sure only where each axis steps over the inner."""
    reach = 0
    for step, n in sorted((abs(s), n) for s, n in zip(view.strides, view.shape, strict=True)):
        if n > 1:
            if step <= reach:
                return True
            reach += (n - 1) * step
    return False


def is_full(view: View, size: int) -> bool:
    """Whether the view is the storage's elements, all of them, in order."""
    return (
        view.offset == 0 and size_of(view.shape) == size and is_contiguous(view.shape, view.strides)
    )


def same_elements(a: View, b: View) -> bool:
    """Whether element i of both views is the same element, for every i."""
    if a.offset != b.offset or a.shape != b.shape:
        return False
    for d in range(len(a.shape)):
        if a.shape[d] != 1 and a.strides[d] != b.strides[d]:
            return False
    return True


def is_stretched(view: View) -> bool:
    """Whether several indices lead to one element."""
    for d in range(len(view.shape)):
        if view.strides[d] == 0 and view.shape[d] > 1:
            return True
    return False


def disjoint(a: View, b: View) -> bool:
    """Whether the views provably share no element of their common storage.

    Decides by extents, by the strides' common divisor, and, for views of equal strides in which no
    axis reaches into the next, axis by axis. Otherwise it says no.
    """
    low_a, high_a = extent(a)
    low_b, high_b = extent(b)
    if high_a <= low_b or high_b <= low_a:
        return True
    gap = b.offset - a.offset
    divisor = 0
    for view in (a, b):
        for n, s in zip(view.shape, view.strides, strict=True):
            if n > 1:
                divisor = math.gcd(divisor, s)
    if divisor and gap % divisor:
        return True
    if a.strides != b.strides or any(s <= 0 for s in a.strides):
        return False
    return _apart(gap, a, b)


def _apart(gap: int, a: View, b: View) -> bool:
    """Whether no coordinates of two views with equal strides differ by ``gap`` elements."""
    axes = sorted(range(len(a.strides)), key=lambda d: -a.strides[d])
    below = [0] * (len(axes) + 1)
    for k in range(len(axes) - 1, -1, -1):
        d = axes[k]
        below[k] = below[k + 1] + (max(a.shape[d], b.shape[d]) - 1) * a.strides[d]
        if k + 1 < len(axes) and below[k + 1] >= a.strides[d]:
            return False
    rests = [gap]
    for k, d in enumerate(axes):
        s = a.strides[d]
        following = []
        for rest in rests:
            near = rest // s
            for steps in (near, near + 1):
                fits = -(b.shape[d] - 1) <= steps <= a.shape[d] - 1
                if fits and abs(rest - steps * s) <= below[k + 1]:
                    following.append(rest - steps * s)
        rests = following
    return 0 not in rests


class Box(NamedTuple):
    """A view as a box of a C-contiguous shape: per axis of that shape, first, step > 0, length.

    ``axes[d]`` is the view's axis that runs along d (-1: none), ``flipped[d]`` whether backwards.
    """

    first: Shape
    step: Shape
    length: Shape
    axes: Shape
    flipped: tuple[bool, ...]


def as_box(view: View, shape: Shape) -> Box | None:
    """Return a (non-empty) view of a C-contiguous array of ``shape`` as a box, if it is one."""
    strides = c_strides(shape)
    first: list[int] = []
    rest = view.offset
    for n, s in zip(shape, strides, strict=True):
        first.append(rest // s if n > 1 else 0)
        rest -= first[-1] * s
    if rest:
        return None
    step, count = [1] * len(shape), [1] * len(shape)
    axes, flipped = [-1] * len(shape), [False] * len(shape)
    for axis, (n, s) in enumerate(zip(view.shape, view.strides, strict=True)):
        if n == 1:
            continue
        for d, size in enumerate(shape):
            if size == 1 or s % strides[d] or axes[d] != -1 or s == 0:
                continue
            k = s // strides[d]
            if 0 <= first[d] + k * (n - 1) < size:
                step[d], count[d], axes[d], flipped[d] = abs(k), n, axis, k < 0
                break
        else:
            return None
    for d, back in enumerate(flipped):
        if back:
            first[d] -= step[d] * (count[d] - 1)
    return Box(tuple(first), tuple(step), tuple(count), tuple(axes), tuple(flipped))
