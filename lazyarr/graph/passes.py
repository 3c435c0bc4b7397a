"""Joining reductions of one row space, and what lies between and after them, into one kernel.

Owns which groups of a plan join (softmax, layer norm, variance), and the step of the kernel. A
group is what ``fuse`` would make one kernel of; joined, its values need not be stored unless
somebody outside reads them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..codegen.key import Load, Operand, Output, PassesKey, Reduced
from ..codegen.launch import Fresh, KernelStep, Pointer, ceil_div
from ..codegen.order import combination_order
from ..codegen.passes import Held, rows_per_block, uses_index
from ..codegen.reduce import row_block
from .capture import Tape
from .geometry import Access, ReducePlan, is_trailing, plan_reduce, prefers_columns
from .kernels import Region, divisors, in_order, is_leading, source_pointer, traffic
from .node import ConstSpec, IndexSpec, Value
from .optable import ReduceSpec, Spec
from .views import Shape, c_strides

_MOST_OPERANDS = 48
_MOST_PARAMETERS = 128  # outputs and scalars
_MOST_INSTRUCTIONS = 400


class Group(NamedTuple):
    """The roots that one kernel computes: of kind map, reduce, box, call or passes."""

    kind: str
    roots: list[Value]
    region: Region

    def computed(self) -> set[Value]:
        return self.region.computed.union(self.roots)


class Space:
    """Rows: the elements along ``axes`` of ``shape``, for every place along the other axes."""

    __slots__ = ("axes", "elements", "keep", "kept", "order", "results", "shape", "thin")

    def __init__(self, shape: Shape, axes: Shape) -> None:
        self.shape = shape
        self.axes = axes
        self.keep = [d for d in range(len(shape)) if d not in axes]
        self.kept: Shape = tuple(shape[d] for d in self.keep)
        self.thin: Shape = tuple(1 if d in axes else n for d, n in enumerate(shape))
        self.elements = math.prod(shape[d] for d in axes)
        self.results = math.prod(self.kept)
        trailing = is_trailing(shape, axes)
        self.order = combination_order(self.results, self.elements, trailing)

    def joins(self) -> bool:
        """Whether a row is reduced by one group of threads, so that it can go on with it."""
        return self.results > 0 and self.elements > 1 and self.order.chunks == 1

    def holds_rows(self, v: Value) -> bool:
        """Whether a value has one element a row."""
        if type(v.spec) is ReduceSpec:
            return bool(v.extra == (self.shape, self.axes))
        return v.shape in (self.kept, self.thin)

    def row_strides(self, shape: Shape, strides: Shape) -> Shape:
        """Return strides over a shape of one element a row as strides over the whole space."""
        result = [0] * len(self.shape)
        if shape == self.thin:
            for d in self.keep:
                result[d] = strides[d]
        else:
            for d, s in zip(self.keep, strides, strict=True):
                result[d] = s
        return tuple(result)

    def spreads(self, strides: Shape) -> bool:
        """Whether strides over the space read one element a row, in order."""
        wanted = self.row_strides(self.kept, c_strides(self.kept))
        return _same_walk(self.shape, strides, wanted)


def _same_walk(shape: Shape, first: Shape, second: Shape) -> bool:
    return all(n == 1 or s == t for n, s, t in zip(shape, first, second, strict=True))


def _fits(v: Value, space: Space, inside: set[Value]) -> bool:
    """Whether a kernel over the rows can compute ``v``; ``inside``: what it computes besides."""
    kind = type(v.spec)
    reduces = kind is ReduceSpec
    whole = v.shape == space.shape and not reduces
    if not whole and not space.holds_rows(v):
        return False
    if kind is IndexSpec:
        return whole and _is_blocked(space)
    if kind is not Spec and not reduces:
        return False
    for k, a in enumerate(v.args):
        if a not in inside:
            continue
        strides = v.reads[k] if v.reads is not None else None
        offset = v.offsets[k] if v.offsets is not None else 0
        if a.shape == space.shape and type(a.spec) is not ReduceSpec:
            if strides is not None or not (whole or reduces):
                return False
        elif not space.holds_rows(a) or offset:
            return False
        elif whole or reduces:
            if strides is None or not space.spreads(strides):
                return False
        elif strides is not None and not _same_walk(v.shape, strides, c_strides(v.shape)):
            return False
    return True


def _is_blocked(space: Space) -> bool:
    """Whether a linear index is a sum of a row's part and an element's part."""
    moving = [d for d, n in enumerate(space.shape) if n != 1]
    chosen = [d for d in space.axes if space.shape[d] != 1]
    return moving[: len(chosen)] == chosen or moving[len(moving) - len(chosen) :] == chosen


def join_groups(
    tape: Tape,
    stored: dict[Value, str],
    wanted: Sequence[Value],
    stores: Sequence[int],
    groups: list[Group],
) -> list[Group]:
    """Return the groups with those joined that can be, in an order in which they can run.

    ``wanted`` must stay stored, ``stores`` are the slots of roots that go elsewhere. Values that no
    other group reads leave ``stored``.
    """
    needs = _needs(groups, stored)
    joined: dict[int, Group] = {}
    member: dict[int, int] = {}
    for first, group in enumerate(groups):
        if group.kind != "reduce" or first in member:
            continue
        space = Space(*group.roots[0].extra)
        if not space.joins():
            continue
        chosen = _choose(groups, needs, first, space, member, tape, stores)
        # Two joined kernels may each need a result of the other, though no single group does.
        while len(chosen) > 1 and not _runnable(needs, {**member, **dict.fromkeys(chosen, first)}):
            chosen.pop()
        if len(chosen) < 2:
            continue
        outputs = _outputs(groups, chosen, stored, wanted)
        region = PassRegion(tape, stored, space)
        for n in chosen:
            region.own.update(groups[n].roots)
        for v in outputs:
            region.add_root(v)
        if is_large(region, len(outputs)) or not region.prefers_rows():
            continue
        for n in chosen:
            member[n] = first
            for v in groups[n].roots:
                if v not in outputs:
                    del stored[v]
        joined[first] = Group("passes", outputs, region)
    if not joined:
        return groups
    return _in_order_of_need(groups, needs, joined, member)


def is_large(region: Region, outputs: int) -> bool:
    """Whether a kernel would have too many parameters or too much code."""
    return (
        len(region.operands) > _MOST_OPERANDS
        or outputs + len(region.scalars) > _MOST_PARAMETERS
        or len(region.body) > _MOST_INSTRUCTIONS
    )


def _needs(groups: list[Group], stored: dict[Value, str]) -> list[set[int]]:
    """Return, for each group, the groups whose results it reads."""
    maker = {v: n for n, group in enumerate(groups) for v in group.roots}
    result = []
    for n, group in enumerate(groups):
        found = set()
        for v in group.computed():
            for a in v.args:
                if a.real is None and a in stored and maker.get(a, n) != n:
                    found.add(maker[a])
        result.append(found)
    return result


def _choose(
    groups: list[Group],
    needs: list[set[int]],
    first: int,
    space: Space,
    member: dict[int, int],
    tape: Tape,
    stores: Sequence[int],
) -> list[int]:
    """Return the groups that can share a kernel with the first, which they follow from.

    Nothing outside may lie between two of them: what a group reads from outside must not depend on
    the kernel.
    """
    chosen: list[int] = []
    after: set[int] = set()
    inside: set[Value] = set()
    for n in range(first, len(groups)):
        group = groups[n]
        if n != first and not needs[n] & after:
            continue
        outside = needs[n] - set(chosen)
        together = inside | group.computed()
        if (
            (n == first or needs[n] & set(chosen))
            and n not in member
            and not outside & after
            and group.kind in ("map", "reduce")
            and not any(tape.slots[v] in stores for v in group.roots)
            and all(_fits(v, space, together) for v in group.computed())
        ):
            chosen.append(n)
            inside = together
        after.add(n)
    return chosen


def _outputs(
    groups: list[Group], chosen: list[int], stored: dict[Value, str], wanted: Sequence[Value]
) -> list[Value]:
    """Return the roots that somebody else needs, or that were computed once already."""
    read = set(wanted)
    for n, group in enumerate(groups):
        if n not in chosen:
            for v in group.computed():
                read.update(v.args)
    return [v for n in chosen for v in groups[n].roots if v in read or v.inlined]


def _sorted_names(needs: list[set[int]], member: dict[int, int]) -> list[int] | None:
    """Return the kernels, each after those whose results it reads; None if they need each other.

    ``member`` says which kernel a group has joined, named by its first group.
    """
    names = sorted({member.get(n, n) for n in range(len(needs))})
    waiting: dict[int, set[int]] = {name: set() for name in names}
    for n, found in enumerate(needs):
        name = member.get(n, n)
        waiting[name].update(member.get(k, k) for k in found)
        waiting[name].discard(name)
    result: list[int] = []
    done: set[int] = set()
    while len(result) < len(names):
        ready = [n for n in names if n not in done and waiting[n] <= done]
        if not ready:
            return None
        result.append(ready[0])
        done.add(ready[0])
    return result


def _runnable(needs: list[set[int]], member: dict[int, int]) -> bool:
    return _sorted_names(needs, member) is not None


def _in_order_of_need(
    groups: list[Group],
    needs: list[set[int]],
    joined: dict[int, Group],
    member: dict[int, int],
) -> list[Group]:
    """Return the groups, joined ones as one, each after those whose results it reads."""
    names = _sorted_names(needs, member)
    assert names is not None
    return [joined.get(n) or groups[n] for n in names]


class PassRegion(Region):
    """The body of a kernel over rows; ``spaces`` holds each operand's strides over the space."""

    def __init__(self, tape: Tape, stored: dict[Value, str], space: Space) -> None:
        super().__init__(tape, stored, set())
        self.space = space
        self.spaces: list[Shape] = []
        self.reductions: list[tuple[ReduceSpec, int]] = []

    def _emit(self, v: Value) -> int:
        if type(v.spec) is not ReduceSpec:
            return super()._emit(v)
        self.computed.add(v)
        (source,) = self._args(v, 0)
        self.reductions.append((v.spec, source))
        return self._add(Reduced(len(self.reductions) - 1, v.spec.out_dtype))

    def _edge(self, v: Value, k: int) -> int:
        """As for every region, but one place in memory may be read by elements and by rows."""
        a = v.args[k]
        if type(a.spec) is ConstSpec and a.real is None:
            return self._const(a)
        source = self._source(v, k)
        space = self.space
        if v.shape == space.shape or type(v.spec) is ReduceSpec:
            strides = in_order(source.strides, space.shape)
        else:
            strides = space.row_strides(v.shape, in_order(source.strides, v.shape))
        place = (source.slot, source.operand, strides)
        found = self._done.get(place)
        if found is None:
            self.operands.append(source)
            self.spaces.append(strides)
            found = self._done[place] = self._add(Load(len(self.operands) - 1))
        return found

    def accesses(self, outputs: Sequence[Value]) -> list[Access]:
        """Return the accesses over the space, outputs first."""
        space = self.space
        spread = space.row_strides(space.kept, c_strides(space.kept))
        result = [
            Access(spread if space.holds_rows(v) else c_strides(space.shape), v.dtype.itemsize, 0)
            for v in outputs
        ]
        for source, strides in zip(self.operands, self.spaces, strict=True):
            result.append(Access(strides, source.dtype.itemsize, source.misaligned))
        return result

    def prefers_rows(self) -> bool:
        """Whether most of the bytes that are read lie in order along the rows."""
        whole = [a for a in self.accesses([]) if not self.is_row(a.strides)]
        return not prefers_columns(self.space.shape, self.space.axes, whole)

    def is_row(self, strides: Shape) -> bool:
        """Whether strides over the space do not move along a row."""
        space = self.space
        return all(strides[d] == 0 or space.shape[d] == 1 for d in space.axes)


# Bytes of a row that a thread may hold, in vectors or else one element at a time, and how much
# unrolled code that may become. Longer rows are read again, from the caches while they hold them.
_HELD_BYTES = 256
_HELD_BYTES_SCALAR = 128
_MOST_UNROLLED = 4000


def _rounds(elements: int, lanes: int) -> int:
    """Return how many rounds a group of threads needs for a row, or a few more: keys are few."""
    needed = ceil_div(elements, lanes)
    step = max(1, 1 << max(needed.bit_length() - 3, 0))
    return ceil_div(needed, step) * step


def _planned(
    region: PassRegion, roots: list[Value], accesses: list[Access], widest_vector: int
) -> tuple[PassesKey, ReducePlan, list[str]]:
    """Return the key of a kernel that holds nothing, its plan and the accesses' modes."""
    space = region.space
    plan = plan_reduce(
        space.shape,
        space.axes,
        accesses,
        space.order.lanes,
        by_rows=True,
        widest_vector=widest_vector,
    )
    modes = [
        "row" if mode != "scalar" and region.is_row(a.strides) else mode
        for mode, a in zip(plan.modes, accesses, strict=True)
    ]
    modes[: len(roots)] = [
        "row" if space.holds_rows(v) else m for v, m in zip(roots, modes, strict=False)
    ]
    inputs = modes[len(roots) :]
    key = PassesKey(
        tuple(region.body),
        tuple(Operand(s.dtype, m) for s, m in zip(region.operands, inputs, strict=True)),
        tuple(region.reductions),
        tuple(
            Output(n, v.dtype, m)
            for n, v, m in zip(region.roots, roots, modes[: len(roots)], strict=True)
        ),
        tuple(d for _, d in region.scalars),
        len(plan.kept),
        len(plan.reduced),
        space.order.lanes,
        plan.wide,
        plan.vector,
        plan.ragged,
    )
    return key, plan, modes


def _schedule(
    region: PassRegion, roots: list[Value], accesses: list[Access]
) -> tuple[PassesKey, ReducePlan, list[str]]:
    """Return key, plan and modes, with the widest vectors with which the threads hold a row."""
    space = region.space
    rounds = _rounds(space.elements, space.order.lanes)
    for width in (8, 4, 2, 1):
        key, plan, modes = _planned(region, roots, accesses, width)
        held = Held(key).width
        most = _HELD_BYTES if key.vector > 1 else _HELD_BYTES_SCALAR
        unrolled = rounds * key.vector * len(key.body)
        fits = 0 < held * rounds * key.vector <= most and unrolled <= _MOST_UNROLLED
        if fits and not key.ragged:
            return key._replace(held=rounds), plan, modes
    return _planned(region, roots, accesses, 8)


def pass_step(tape: Tape, region: PassRegion, roots: list[Value]) -> KernelStep:
    """Return the step of a kernel of several passes."""
    space = region.space
    accesses = region.accesses(roots)
    key, plan, modes = _schedule(region, roots, accesses)
    index = "q" if plan.wide else "i"
    codes = index * 2 + "q"
    tail = [space.results, space.elements, space.elements]
    for sizes in (plan.kept, plan.reduced):
        more, values = divisors(sizes, plan.wide)
        codes += more
        tail += values
    for n, mode in enumerate(modes):
        if mode == "scalar" or (mode == "row" and n < len(roots)):
            continue
        moves = [*plan.kept_strides[n]]
        if mode != "row":
            moves += plan.reduced_strides[n]
        codes += index * len(moves)
        tail += moves
    if uses_index(key):
        codes += index * 2
        first = is_leading(space.shape, space.axes)
        tail += [1, space.results] if first else [space.elements, 1]
    pointers = [
        Pointer(tape.slots[v], -1, v.dtype.itemsize, 0, "w", f"output {k}")
        for k, v in enumerate(roots)
    ]
    pointers += [source_pointer(k, s) for k, s in enumerate(region.operands)]
    return KernelStep(
        key,
        pointers,
        region.scalars,
        codes,
        tail,
        (ceil_div(space.results, rows_per_block(key)), 1, 1),
        (row_block(key), 1, 1),
        [Fresh(tape.slots[v], v.nbytes) for v in roots],
        traffic(space.shape, accesses),
        outputs=len(roots),
    )
