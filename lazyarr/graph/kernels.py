"""From a group of roots to a kernel step: bodies, operands, parameters.

Owns ``Region``, the body of one kernel in the making, and the three kinds of generated steps. The
order of packed values is the signature's, which ``codegen.emit`` and ``codegen.reduce`` write.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from .._dtypes import int64
from ..codegen.emit import BLOCK, is_flat, magic
from ..codegen.handwritten import transpose_key, transpose_tile
from ..codegen.key import (
    Apply,
    BoxKey,
    DType,
    Gather,
    Index,
    Instruction,
    Load,
    MapKey,
    Operand,
    Output,
    Param,
    ReduceKey,
)
from ..codegen.launch import Fresh, KernelStep, Pointer, Run, ceil_div
from ..codegen.order import combination_order
from ..codegen.reduce import block_shape, row_groups
from ..storage.storage import Storage
from .capture import Tape
from .geometry import (
    VECTOR_BYTES,
    Access,
    collapse,
    is_scalar,
    is_trailing,
    needs_wide,
    plan_map,
    plan_reduce,
)
from .node import ConstSpec, GatherSpec, IndexSpec, ScatterSpec, Value, is_seen_through
from .views import Shape, c_strides

_FILLED = 0.9  # of the threads that share rows
_TILE = 32  # the shortest line that is worth a tile
_SECTOR = 32  # bytes that memory moves at least
_MOST_BLOCKS = 2**31 - 1
_MOST_TILED = 2**40  # the tiles of more elements have no 32-bit number


class Target(NamedTuple):
    """Where a root is stored instead of a fresh storage: a leaf's elements, through a view."""

    slot: int
    strides: Shape
    operand: int
    misaligned: int


class Source(NamedTuple):
    """An array operand of a region: a slot, read in order (None) or by strides."""

    slot: int
    strides: Shape | None
    operand: int
    dtype: DType
    misaligned: int
    gathered: bool = False


class Region:
    """The body of one kernel: instructions over operands and scalars, each value once."""

    def __init__(self, tape: Tape, stored: dict[Value, str], own: set[Value]) -> None:
        self.tape = tape
        self.stored = stored
        self.own = own
        self.body: list[Instruction] = []
        self.operands: list[Source] = []
        self.scalars: list[tuple[int, DType]] = []
        self.computed: set[Value] = set()
        self.roots: list[int] = []
        self.places: dict[Value, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self._done: dict[Any, int] = {}

    def add_root(self, v: Value) -> None:
        if type(v.spec) is not ScatterSpec:
            self.roots.append(self._value(v))
            return
        self.computed.add(v)
        found = tuple(
            self._value(v.args[k]) if self._is_node(v, k) else self._edge(v, k)
            for k in range(len(v.args))
        )
        self.roots.append(found[0])
        self.places[v] = (found[1:], self._places(v))

    def _places(self, v: Value) -> tuple[int, ...]:
        """Return the parameters that hold a stride and a size for each computed index."""
        first = self.tape.scalar_of[self.tape.slots[v]]
        return tuple(self._scalar(first + j, int64) for j in range(len(v.extra)))

    def add_operand(self, v: Value, k: int) -> None:
        """Add what ``v`` reads as operand k, computed in place where that is possible."""
        a = v.args[k]
        if self._inline(a):
            self.roots.append(self._value(a))
        else:
            self.roots.append(self._edge(v, k))

    def _inline(self, a: Value) -> bool:
        return a.real is None and (a not in self.stored or a in self.own)

    def _value(self, root: Value) -> int:
        """Return the instruction of a value, after those of all it needs."""
        stack = [root]
        while stack:
            v = stack[-1]
            if v in self._done:
                stack.pop()
                continue
            missing = [
                a for k, a in enumerate(v.args) if self._is_node(v, k) and a not in self._done
            ]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            self._done[v] = self._emit(v)
        return self._done[root]

    def _is_node(self, v: Value, k: int) -> bool:
        a = v.args[k]
        if k == 0 and type(v.spec) is GatherSpec:
            return False
        if type(a.spec) is ConstSpec or not self._inline(a):
            return False
        return not is_seen_through(v, k)

    def _emit(self, v: Value) -> int:
        self.computed.add(v)
        kind = type(v.spec)
        if kind is ConstSpec:
            return self._const(v)
        if kind is IndexSpec:
            first = self.tape.scalar_of[self.tape.slots[v]] if v.extra else 0
            names = tuple(self._scalar(first + j, dtype) for j, dtype in enumerate(v.spec.scalars))
            return self._add(Index(v.spec.c, v.spec.out_dtype, names))
        if kind is GatherSpec:
            return self._gather(v)
        return self._add(Apply(v.spec, self._args(v, 0)))

    def _args(self, v: Value, first: int) -> tuple[int, ...]:
        return tuple(
            self._done[v.args[k]] if self._is_node(v, k) else self._edge(v, k)
            for k in range(first, len(v.args))
        )

    def _gather(self, v: Value) -> int:
        indices = self._args(v, 1)
        self.operands.append(self._source(v, 0)._replace(gathered=True))
        source = len(self.operands) - 1
        spec = v.spec
        return self._add(Gather(source, indices, self._places(v), spec.axes, spec.checked))

    def _edge(self, v: Value, k: int) -> int:
        """Return the instruction that reads operand k of v from a parameter or from memory."""
        a = v.args[k]
        if type(a.spec) is ConstSpec and a.real is None:
            return self._const(a)
        source = self._source(v, k)
        place = (source.slot, source.operand)
        found = self._done.get(place)
        if found is None:
            self.operands.append(source)
            found = self._done[place] = self._add(Load(len(self.operands) - 1))
        return found

    def _source(self, v: Value, k: int) -> Source:
        a = v.args[k]
        if a not in self.stored and is_seen_through(v, k):
            return self._source_through(v, k)
        slot = self.tape.slots[a]
        strides = v.reads[k] if v.reads is not None else None
        number = -1
        misaligned = a.real.ptr & 15 if a.real is not None else 0
        if strides is not None:
            assert v.offsets is not None
            number = self.tape.operand(slot, strides, v.offsets[k])
            misaligned += v.offsets[k] * a.spec.out_dtype.itemsize
        return Source(slot, strides, number, a.spec.out_dtype, misaligned & 15)

    def _source_through(self, v: Value, k: int) -> Source:
        """Return the elements of a real value that operand k of v would only copy."""
        copy = v.args[k]
        real = copy.args[0]
        assert v.reads is not None and real.real is not None
        reader, n = (v, k) if copy.reads is None else (copy, 0)  # who says where they begin
        assert reader.reads is not None and reader.offsets is not None
        strides, offset = reader.reads[n], reader.offsets[n]
        assert strides is not None
        number = self.tape.operand(self.tape.slots[reader.args[n]], strides, offset)
        misaligned = real.real.ptr + offset * real.dtype.itemsize & 15
        return Source(self.tape.slots[real], v.reads[k], number, real.dtype, misaligned)

    def _const(self, v: Value) -> int:
        number = self.tape.scalar_of[self.tape.slots[v]]
        place = ("scalar", number)
        found = self._done.get(place)
        if found is None:
            index = self._scalar(number, v.spec.out_dtype)
            found = self._done[place] = self._add(Param(index))
        return found

    def _scalar(self, number: int, dtype: DType) -> int:
        self.scalars.append((number, dtype))
        return len(self.scalars) - 1

    def _add(self, instruction: Instruction) -> int:
        self.body.append(instruction)
        return len(self.body) - 1


def divisors(sizes: Sequence[int], wide: bool) -> tuple[str, list[int]]:
    """Return struct codes and values of the divisors of all axes but the first."""
    if wide:
        return "Q" * len(sizes[1:]), list(sizes[1:])
    return "III" * len(sizes[1:]), [n for size in sizes[1:] for n in magic(size)]


def in_order(strides: Shape | None, shape: Shape) -> Shape:
    """Return strides, by default those of reading in order."""
    return c_strides(shape) if strides is None else strides


def _access(source: Source, shape: Shape) -> Access:
    strides = in_order(source.strides, shape)
    return Access(strides, source.dtype.itemsize, source.misaligned, source.gathered)


def source_pointer(k: int, source: Source) -> Pointer:
    """Return the argument that reads a source."""
    return Pointer(source.slot, source.operand, source.dtype.itemsize, 0, "r", f"input {k}")


def map_step(
    tape: Tape, region: Region, roots: list[Value], stores: dict[int, Target]
) -> KernelStep | EmptyStep:
    """Return the step of an element-wise kernel."""
    shape = roots[0].shape
    count = math.prod(shape)
    outputs = [stores.get(tape.slots[v]) for v in roots]
    if count == 0:
        return _empty_step(tape, roots, stores)
    accesses = [
        Access(
            in_order(t.strides if t else None, shape),
            v.dtype.itemsize,
            t.misaligned if t else 0,
            v in region.places,
        )
        for v, t in zip(roots, outputs, strict=True)
    ]
    accesses += [_access(s, shape) for s in region.operands]
    if len(roots) == 1 and outputs[0] is None and len(region.operands) == 1 and is_copy(region):
        step = transpose_step(tape, roots[0], region.operands[0], accesses)
        if step is not None:
            return step
    plan = plan_map(shape, accesses)
    modes = [
        "flat" if m == "scalar" and k < len(roots) and roots[k] not in region.places else m
        for k, m in enumerate(plan.modes)
    ]
    key = MapKey(
        tuple(region.body),
        tuple(
            Operand(s.dtype, m) for s, m in zip(region.operands, modes[len(roots) :], strict=True)
        ),
        tuple(
            Output(n, v.dtype, m, *region.places.get(v, ((), ())))
            for n, v, m in zip(region.roots, roots, modes[: len(roots)], strict=True)
        ),
        tuple(d for _, d in region.scalars),
        len(plan.shape),
        plan.wide,
        plan.vector,
    )
    # The last element is read again, which a store in place may have changed: not an index.
    stored = len(stores) > 0
    moved = any(isinstance(i, Gather) and (stored or i.checked) for i in key.body)
    itemsize = max(a.itemsize for a in accesses)
    whole = plan.vector > 1 or (is_flat(key) and itemsize == VECTOR_BYTES)
    rows = spread = 0
    if not (whole or moved or region.places):
        rows, spread = share(plan.shape, itemsize, plan.wide)
    key = key._replace(rows=rows, spread=spread)
    codes, tail, blocks = _walk(
        plan.shape, plan.vector, plan.wide, is_flat(key) and not rows, rows, spread
    )
    for mode, strides in zip(modes, plan.strides, strict=True):
        if mode in ("run", "repeat", "each"):
            codes += ("q" if plan.wide else "i") * len(strides)
            tail += strides
    pointers = [
        Pointer(t.slot, t.operand, v.dtype.itemsize, 0, "rw", f"output {k}")
        if t
        else Pointer(tape.slots[v], -1, v.dtype.itemsize, 0, "w", f"output {k}")
        for k, (v, t) in enumerate(zip(roots, outputs, strict=True))
    ]
    pointers += [source_pointer(k, s) for k, s in enumerate(region.operands)]
    fresh = [
        Fresh(tape.slots[v], v.nbytes) for v, t in zip(roots, outputs, strict=True) if t is None
    ]
    return KernelStep(
        key,
        pointers,
        region.scalars,
        codes,
        tail,
        (blocks, 1, 1),
        (BLOCK, 1, 1),
        fresh,
        traffic(shape, accesses),
        outputs=len(roots),
        stored=traffic(shape, [a for a, t in zip(accesses, outputs, strict=False) if t]),
    )


def share(shape: Shape, itemsize: int, wide: bool) -> tuple[int, int]:
    """Return how many elements a thread takes: along the last axis, or else of the whole space.

    Rows need no division, and are taken where stretches of them are well filled.
    """
    most = 8 if itemsize <= 2 else 2 if itemsize == VECTOR_BYTES else 4
    width = shape[-1]
    if len(shape) == 1:
        return most, 0
    rows = math.prod(shape[:-1])
    for elements in range(most, most // 2, -1):
        stretches = ceil_div(width, BLOCK * elements)
        if rows * stretches >= _MOST_BLOCKS:
            break
        if width >= _FILLED * stretches * BLOCK * elements:
            return elements, 0
    few = min(most, width // BLOCK)
    if wide and few and rows * ceil_div(width, BLOCK * few) < _MOST_BLOCKS:
        return few, 0  # 64-bit divisions cost more than idle threads
    return 0, most


def _walk(
    shape: Shape, vector: int, wide: bool, flat: bool, rows: int, spread: int
) -> tuple[str, list[int], int]:
    """Return codes and values of an element-wise kernel's extents, and its number of blocks."""
    index, unsigned = ("q", "Q") if wide else ("i", "I")
    count = math.prod(shape)
    if rows:
        segments = ceil_div(shape[-1], BLOCK * rows)
        if len(shape) == 1:
            return index, [count], segments
        more, values = divisors(shape[:-1], wide)
        return (
            index + unsigned + more,
            [shape[-1], segments, *values],
            count // shape[-1] * segments,
        )
    threads = ceil_div(count, vector)
    axes = list(shape)
    axes[-1] //= vector if not flat else 1
    more, values = divisors(axes, wide)
    blocks = ceil_div(threads, BLOCK * max(spread, 1))
    return index + more, [count if flat else threads, *values], blocks


def is_copy(region: Region) -> bool:
    """Whether a body only passes its operand on."""
    last = region.body[-1]
    return len(region.body) <= 2 and (
        isinstance(last, Load)
        or (isinstance(last, Apply) and last.spec.c == "({0})" and isinstance(region.body[0], Load))
    )


def transpose_step(
    tape: Tape, root: Value, source: Source, accesses: Sequence[Access]
) -> KernelStep | None:
    """Return the tiled copy, if the source runs fastest along another axis than the result."""
    sizes, (out, into) = collapse(root.shape, [a.strides for a in accesses])
    if len(sizes) < 2 or abs(into[-1]) <= 1 or 1 not in into[:-1]:
        return None
    r = into.index(1)
    if sizes[r] < _TILE or sizes[-1] < _TILE or math.prod(sizes) >= _MOST_TILED:
        return None
    size = root.dtype.itemsize
    rest = [d for d in range(len(sizes) - 1) if d != r]
    jumps = [into[-1], out[r], *[s for d in rest for s in (into[d], out[d])]]
    aligned = not source.misaligned and all(s * size % _SECTOR == 0 for s in jumps)
    tile = transpose_tile(size, sizes[r], sizes[-1], aligned)
    row_tiles, column_tiles = ceil_div(sizes[r], tile.rows), ceil_div(sizes[-1], tile.columns)
    tail = [sizes[r], sizes[-1], into[-1], out[r], row_tiles, column_tiles]
    tail += [*[into[d] for d in rest], 0, *[out[d] for d in rest], 0]
    count = (len(rest) + 2) // 2 * 2
    tail += [*[sizes[d] for d in rest], *[1] * (count - len(rest))]
    codes = "qqqqII" + "q" * (2 * len(rest) + 2) + "I" * count
    slot = tape.slots[root]
    return KernelStep(
        transpose_key(size, len(rest), tile),
        [Pointer(slot, -1, size, 0, "w", "out"), source_pointer(0, source)],
        [],
        codes,
        tail,
        (row_tiles * column_tiles * math.prod(sizes[d] for d in rest), 1, 1),
        (tile.threads, 1, 1),
        [Fresh(slot, root.nbytes)],
        2 * root.nbytes,
        outputs=1,
    )


class EmptyStep:
    """Nothing to compute: storages of no bytes."""

    __slots__ = ("fresh", "name", "nbytes", "pointers")

    def __init__(self, fresh: Sequence[Fresh]) -> None:
        self.fresh = tuple(fresh)
        self.pointers: tuple[Pointer, ...] = ()
        self.name = "empty"
        self.nbytes = 0

    def run(self, run: Run) -> None:
        for slot, nbytes in self.fresh:
            run.storages[slot] = Storage(run.backend, nbytes)


def _empty_step(tape: Tape, roots: list[Value], stores: dict[int, Target]) -> EmptyStep:
    slots = [tape.slots[v] for v in roots]
    return EmptyStep([Fresh(n, 0) for n in slots if n not in stores])


def traffic(shape: Shape, accesses: Sequence[Access]) -> int:
    """Return the bytes that the accesses move at least, each element once."""
    total = 0
    for a in accesses:
        count = math.prod(n for n, s in zip(shape, a.strides, strict=True) if s != 0)
        total += count * a.itemsize
    return total


def reduce_step(tape: Tape, region: Region, roots: list[Value]) -> KernelStep | EmptyStep:
    """Return the step of reductions over the same axes of one space."""
    shape, axes = roots[0].extra[0], roots[0].extra[1]
    elements = math.prod(shape[d] for d in axes)
    results = math.prod(n for d, n in enumerate(shape) if d not in axes)
    if results == 0:
        return _empty_step(tape, roots, {})
    order = combination_order(results, elements, is_trailing(shape, axes))
    accesses = [_access(s, shape) for s in region.operands]
    plan = plan_reduce(shape, axes, accesses, order.lanes)
    split = order.chunks > 1
    key = ReduceKey(
        tuple(region.body),
        tuple(Operand(s.dtype, m) for s, m in zip(region.operands, plan.modes, strict=True)),
        tuple((v.spec, n) for v, n in zip(roots, region.roots, strict=True)),
        tuple(d for _, d in region.scalars),
        len(plan.kept),
        len(plan.reduced),
        plan.schedule,
        order.lanes,
        split,
        plan.wide,
        plan.vector,
        plan.ragged,
    )
    codes, tail = _reduce_tail(key, plan, results, elements, order, is_leading(shape, axes))
    grid, tickets = _reduce_grid(key, results, order.chunks)
    pointers = [
        Pointer(tape.slots[v], -1, v.dtype.itemsize, 0, "w", f"output {k}")
        for k, v in enumerate(roots)
    ]
    pointers += [source_pointer(k, s) for k, s in enumerate(region.operands)]
    scratch = [v.spec.acc_bytes * results * order.chunks for v in roots] if split else []
    return KernelStep(
        key,
        pointers,
        region.scalars,
        codes,
        tail,
        grid,
        (*block_shape(key), 1),
        [Fresh(tape.slots[v], v.nbytes) for v in roots],
        traffic(shape, accesses) + sum(v.nbytes for v in roots),
        outputs=len(roots),
        scratch=scratch,
        tickets=tickets if split else 0,
    )


def is_leading(shape: Shape, axes: Shape) -> bool:
    """Whether the reduced axes come first (and the kept ones run faster)."""
    moving = [d for d, n in enumerate(shape) if n != 1]
    chosen = [d for d in axes if shape[d] != 1]
    return moving[: len(chosen)] == chosen and len(chosen) < len(moving)


def _reduce_tail(
    key: ReduceKey, plan: Any, results: int, elements: int, order: Any, leading: bool
) -> tuple[str, list[int]]:
    """Return struct codes and values after the scalars."""
    index = "q" if key.wide else "i"
    length = min(order.length, elements) if not key.wide else order.length
    codes = index * 4 + "q"
    tail = [results, elements, max(length, 1), order.chunks, elements]
    for sizes in (plan.kept, plan.reduced):
        more, values = divisors(sizes, key.wide)
        codes += more
        tail += values
    for mode, kept, reduced in zip(
        plan.modes, plan.kept_strides, plan.reduced_strides, strict=True
    ):
        if mode != "scalar":
            codes += index * (len(kept) + len(reduced))
            tail += [*kept, *reduced]
    if any(isinstance(i, Index) for i in key.body):
        codes += index * 2
        tail += [1, results] if leading else [elements, 1]
    return codes, tail


def _reduce_grid(key: ReduceKey, results: int, chunks: int) -> tuple[tuple[int, int, int], int]:
    """Return the grid and the number of tickets."""
    if key.schedule == "row":
        groups = row_groups(key)
        if key.split:
            return (results * ceil_div(chunks, groups), 1, 1), results
        return (ceil_div(results, groups), 1, 1), 0
    columns = ceil_div(results, block_shape(key)[0])
    return (columns, chunks, 1), columns


def box_step(tape: Tape, stored: dict[Value, str], region: Region, root: Value) -> KernelStep:
    """Return the step of ``root``: a box of an array replaced, the rest copied."""
    box = root.extra[0]
    shape = root.shape
    old = root.args[1]
    outside = Region(tape, stored, set())
    outside.scalars = region.scalars  # one list of parameters for both bodies
    outside.add_operand(root, 1)
    strides = [_box_strides(in_order(s.strides, root.extra[1]), box) for s in region.operands]
    linear = _box_strides(c_strides(root.extra[1]), box)
    sizes, first, step, count, merged = _collapse_box(
        shape, box, [s for s, _ in strides] + [linear[0]]
    )
    scalar = [
        is_scalar(s, root.extra[1]) if s else False for s in (o.strides for o in region.operands)
    ]
    wide = needs_wide(math.prod(sizes), sizes, [*merged, c_strides(sizes)])
    scalars = tuple(d for _, d in region.scalars)
    ndim = len(sizes)
    rows, spread = share(sizes, root.dtype.itemsize, wide)
    inside_key = MapKey(
        tuple(region.body),
        tuple(
            Operand(s.dtype, "scalar" if one else "each")
            for s, one in zip(region.operands, scalar, strict=True)
        ),
        (Output(region.roots[0], root.dtype, "flat"),),
        scalars,
        ndim,
        wide,
        1,
        rows,
        spread,
    )
    outside_key = MapKey(
        tuple(outside.body),
        tuple(Operand(s.dtype, "flat") for s in outside.operands),
        (Output(outside.roots[0], root.dtype, "flat"),),
        scalars,
        ndim,
        wide,
        1,
    )
    whole = tuple(
        f == 0 and s == 1 and c == n for f, s, c, n in zip(first, step, count, sizes, strict=True)
    )
    key = BoxKey(inside_key, outside_key, tuple(s != 1 for s in step), whole)
    index = "q" if wide else "i"
    unsigned = "Q" if wide else "I"
    codes, tail, blocks = _walk(sizes, 1, wide, False, rows, spread)
    for f, s, c in zip(first, step, count, strict=True):
        codes += index + unsigned * 2
        tail += [f, (c - 1) * s + 1, s]
    for one, st in zip(scalar, merged[:-1], strict=True):
        if not one:
            codes += index * ndim
            tail += st
    codes += index * (1 + ndim)
    tail += [linear[1], *merged[-1]]
    pointers = [Pointer(tape.slots[root], -1, root.dtype.itemsize, 0, "w", "output 0")]
    pointers += [
        Pointer(s.slot, s.operand, s.dtype.itemsize, shift, "r", f"input {k}")
        for k, (s, (_, shift)) in enumerate(zip(region.operands, strides, strict=True))
    ]
    pointers += [source_pointer(k, s) for k, s in enumerate(outside.operands)]
    return KernelStep(
        key,
        pointers,
        region.scalars,
        codes,
        tail,
        (blocks, 1, 1),
        (BLOCK, 1, 1),
        [Fresh(tape.slots[root], root.nbytes)],
        root.nbytes + old.nbytes,
        outputs=1,
    )


def _box_strides(strides: Shape, box: Any) -> tuple[Shape, int]:
    """Return strides over the box's axes, and the first element where an axis runs backwards."""
    result = []
    shift = 0
    for axis, back, count in zip(box.axes, box.flipped, box.length, strict=True):
        s = strides[axis] if axis >= 0 else 0
        if back:
            shift += (count - 1) * s
            s = -s
        result.append(s)
    return tuple(result), shift


def _collapse_box(
    shape: Shape, box: Any, strides: list[Shape]
) -> tuple[Shape, list[int], list[int], list[int], list[Shape]]:
    """Merge an axis that the box spans into the one before it, where every operand allows it."""
    sizes: list[int] = []
    first: list[int] = []
    step: list[int] = []
    count: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        whole = box.first[d] == 0 and box.step[d] == 1 and box.length[d] == n
        fits = whole and bool(sizes) and step[-1] == 1
        if fits and all(m[-1] == s[d] * n for m, s in zip(merged, strides, strict=True)):
            sizes[-1] *= n
            first[-1] *= n
            count[-1] *= n
            for m, s in zip(merged, strides, strict=True):
                m[-1] = s[d]
            continue
        sizes.append(n)
        first.append(box.first[d])
        step.append(box.step[d])
        count.append(box.length[d])
        for m, s in zip(merged, strides, strict=True):
            m.append(s[d])
    if not sizes:
        return (1,), [0], [1], [1], [(0,) for _ in strides]
    return tuple(sizes), first, step, count, [tuple(m) for m in merged]
