"""Index spaces of kernels: collapsed axes, vector widths, index widths.

Pure functions from shapes and strides to the access modes that kernel keys name. They decide how
fast a kernel reads, never what it computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .views import Shape, c_strides

NARROW_LIMIT = 2**31 - 2**17
VECTOR_BYTES = 16
_LEAST_VECTOR = 4  # elements: shorter vectors that fill no 16 bytes are no gain


class Access(NamedTuple):
    """One operand over a space: strides in elements, item size, misalignment in bytes.

    ``moved``: computed indices move each element, so that neither vectors nor order help.
    """

    strides: Shape
    itemsize: int
    misaligned: int
    moved: bool = False


def is_scalar(strides: Shape, shape: Shape) -> bool:
    """Whether the strides read one element everywhere."""
    return all(s == 0 or n == 1 for s, n in zip(strides, shape, strict=True))


def collapse(shape: Shape, strides: Sequence[Shape]) -> tuple[Shape, list[Shape]]:
    """Merge neighbouring axes that every operand walks as one; drop axes of length 1."""
    axes = [d for d, n in enumerate(shape) if n != 1]
    sizes: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for d in axes:
        fits = bool(sizes) and all(
            m[-1] == s[d] * shape[d] for m, s in zip(merged, strides, strict=True)
        )
        if fits:
            sizes[-1] *= shape[d]
            for m, s in zip(merged, strides, strict=True):
                m[-1] = s[d]
        else:
            sizes.append(shape[d])
            for m, s in zip(merged, strides, strict=True):
                m.append(s[d])
    return tuple(sizes), [tuple(m) for m in merged]


def reach(shape: Shape, strides: Shape) -> int:
    """Return how far from its first element an access goes, in elements."""
    return sum(abs(s) * (n - 1) for n, s in zip(shape, strides, strict=True))


def needs_wide(count: int, shape: Shape, strides: Sequence[Shape]) -> bool:
    """Whether 32-bit indices cannot hold every index and every offset."""
    return count >= NARROW_LIMIT or any(reach(shape, s) >= NARROW_LIMIT for s in strides)


def vector_fits(shape: Shape, access: Access, width: int) -> bool:
    """Whether vectors of ``width`` elements along the last axis are aligned everywhere."""
    if access.misaligned % min(VECTOR_BYTES, width * access.itemsize):
        return False
    return all(s % width == 0 for s, n in zip(access.strides[:-1], shape, strict=False) if n > 1)


def widest(itemsizes: Sequence[int]) -> int:
    """Return how many elements the largest item leaves room for in 16 bytes."""
    return max(1, VECTOR_BYTES // max(itemsizes, default=VECTOR_BYTES))


class MapPlan(NamedTuple):
    """How a map kernel walks its space."""

    shape: Shape
    modes: list[str]  # one an access
    strides: list[Shape]  # collapsed, one an access
    vector: int
    wide: bool


def plan_map(shape: Shape, accesses: Sequence[Access]) -> MapPlan:
    """Choose collapsed axes, modes and vector width for accesses over a space (outputs first)."""
    scalar = [is_scalar(a.strides, shape) for a in accesses]
    walking = [a.strides for a, s in zip(accesses, scalar, strict=True) if not s]
    sizes, collapsed = collapse(shape, walking)
    if not sizes:
        sizes, collapsed = (1,), [(1,)] * len(collapsed)
    strides: list[Shape] = []
    rest = iter(collapsed)
    strides = [(0,) * len(sizes) if s else next(rest) for s in scalar]
    count = 1
    for n in sizes:
        count *= n
    wide = needs_wide(count, sizes, strides)
    flat = [st == c_strides(sizes) for st in strides]
    flat = [f and not a.moved for f, a in zip(flat, accesses, strict=True)]
    moved = [a._replace(strides=st) for st, a in zip(strides, accesses, strict=True)]
    vector = _map_vector(sizes, moved, scalar, flat)
    modes = []
    for access, one, in_order in zip(moved, scalar, flat, strict=True):
        if one:
            modes.append("scalar")
        elif in_order and (vector == 1 or vector_fits(sizes, access, vector)):
            modes.append("flat")
        elif access.moved:
            modes.append("each")
        elif vector > 1 and access.strides[-1] == 1 and vector_fits(sizes, access, vector):
            modes.append("run")
        elif access.strides[-1] == 0:
            modes.append("repeat")
        else:
            modes.append("each")
    return MapPlan(sizes, modes, strides, vector, wide)


def _map_vector(
    sizes: Shape, accesses: Sequence[Access], scalar: Sequence[bool], flat: Sequence[bool]
) -> int:
    """Return the vector width: 16 bytes of the widest item, if most of the traffic can use it.

    1 where a run of neighbours is not aligned: threads a block apart read those better.
    """
    output = accesses[0]
    if output.moved:
        return 1
    walking = [a for a, s in zip(accesses, scalar, strict=True) if not s]
    widest_item = max((a.itemsize for a in walking), default=VECTOR_BYTES)
    width = max(1, VECTOR_BYTES // widest_item)
    all_flat = all(f or s for f, s in zip(flat, scalar, strict=True))
    if len(sizes) == 1 and all_flat:
        return width if all(vector_fits(sizes, a, width) for a in walking) else 1
    runs = [a for a in walking if not a.moved and a.strides[-1] == 1]
    if output not in runs or 2 * len(runs) < len(walking):
        return 1
    least = min(_LEAST_VECTOR, width)
    while width >= least:
        if sizes[-1] % width == 0 and all(vector_fits(sizes, a, width) for a in runs):
            return width
        width //= 2
    return 1


def is_trailing(shape: Shape, axes: Shape) -> bool:
    """Whether ``axes`` are the last ones of a shape, axes of length 1 apart."""
    moving = [d for d, n in enumerate(shape) if n != 1]
    chosen = [d for d in axes if shape[d] != 1]
    return not chosen or moving[-len(chosen) :] == sorted(chosen)


class ReducePlan(NamedTuple):
    """How a reduction walks its space."""

    kept: Shape
    reduced: Shape
    modes: list[str]
    kept_strides: list[Shape]
    reduced_strides: list[Shape]
    schedule: str
    vector: int
    wide: bool
    ragged: bool


def plan_reduce(
    shape: Shape,
    axes: Shape,
    accesses: Sequence[Access],
    lanes: int,
    by_rows: bool = False,
    widest_vector: int = 8,
) -> ReducePlan:
    """Choose collapsed axes, schedule and vector width for a reduction over ``axes``.

    ``by_rows`` asks for the row schedule.
    """
    keep = [d for d in range(len(shape)) if d not in axes]
    scalar = [is_scalar(a.strides, shape) for a in accesses]
    walking = [a.strides for a, s in zip(accesses, scalar, strict=True) if not s]
    kept, kept_strides = _side(shape, keep, walking)
    reduced, reduced_strides = _side(shape, list(axes), walking)
    if not reduced:
        reduced, reduced_strides = (1,), [(0,)] * len(walking)
    full_shape = kept + reduced
    full = [k + r for k, r in zip(kept_strides, reduced_strides, strict=True)]
    count = 1
    for n in full_shape:
        count *= n
    wide = needs_wide(count, full_shape, full)
    items = [a for a, s in zip(accesses, scalar, strict=True) if not s]
    moved = [a._replace(strides=st) for st, a in zip(full, items, strict=True)]
    schedule = "row" if by_rows else _schedule(kept, moved)
    vector = 1
    if schedule == "row":
        vector = _reduce_vector(full_shape, len(reduced), moved, min(lanes, widest_vector))
    result: list[list[Shape]] = [[], []]
    modes = []
    rest = iter(zip(moved, kept_strides, reduced_strides, strict=True))
    for one in scalar:
        if one:
            modes.append("scalar")
            result[0].append(())
            result[1].append(())
            continue
        access, k, r = next(rest)
        runs = vector > 1 and access.strides[-1] == 1 and not access.moved
        modes.append("run" if runs else "each")
        result[0].append(k)
        result[1].append(r)
    ragged = len(reduced) == 1 and reduced[0] % vector != 0
    return ReducePlan(kept, reduced, modes, result[0], result[1], schedule, vector, wide, ragged)


def _side(shape: Shape, axes: list[int], strides: Sequence[Shape]) -> tuple[Shape, list[Shape]]:
    return collapse(tuple(shape[d] for d in axes), [tuple(s[d] for d in axes) for s in strides])


def prefers_columns(shape: Shape, axes: Shape, accesses: Sequence[Access]) -> bool:
    """Whether more bytes lie in order along the kept axes than along the reduced ones."""
    plan = plan_reduce(shape, axes, accesses, 1)
    return plan.schedule == "column"


def _schedule(kept: Shape, accesses: Sequence[Access]) -> str:
    """Return ``column`` if more bytes lie in order along the kept axes than along the reduced."""
    if not kept:
        return "row"
    row = sum(a.itemsize for a in accesses if a.strides[-1] == 1)
    column = sum(a.itemsize for a in accesses if a.strides[len(kept) - 1] == 1)
    return "column" if column > row else "row"


def _reduce_vector(shape: Shape, reduced: int, accesses: Sequence[Access], most: int) -> int:
    runs = [a for a in accesses if a.strides[-1] == 1 and not a.moved]
    if not runs:
        return 1
    width = min(widest([a.itemsize for a in runs]), most)
    while width > 1:
        ends = reduced == 1 or shape[-1] % width == 0
        if ends and all(vector_fits(shape, a, width) for a in runs):
            return width
        width //= 2
    return 1
