"""Cutting a captured graph into kernels: a ``Plan``.

The algorithm, over the nodes with edges first:

1. A value is *stored* if it was asked for, if a consumer cannot compute it in place (it reads other
   elements than its own, or it is a library call), if it is a reduction, a box or a call itself, if
   an earlier force inlined it already, or if more than two kernels would compute it.
2. level(n) is the maximum over its operands of level, plus one for stored ones that are not in the
   same kernel. Stored element-wise values of one shape and level share a kernel, so do reductions
   of one shape, axes and level: independent siblings merge and no cycle can form.
3. Each kernel's body is the closure of its roots over operands that are not stored.
4. Kernels over the rows of one space that follow from each other are joined (``passes``).

Every cut is noted with its reason, for ``explain``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..codegen.launch import Run, run_watched, upload
from . import calls
from .capture import Tape
from .kernels import Region, Target, box_step, map_step, reduce_step
from .node import (
    BoxSpec,
    CallSpec,
    ConstSpec,
    GatherSpec,
    IndexSpec,
    ScatterSpec,
    Value,
    is_seen_through,
)
from .optable import ReduceSpec, Spec
from .passes import Group, PassRegion, is_large, join_groups, pass_step
from .views import Shape

_MAX_RECOMPUTE = 2
_POINTWISE_READERS: Final = (Spec, GatherSpec, ScatterSpec)


class Plan:
    """The steps that evaluate a captured graph, by slots."""

    __slots__ = ("leaves", "reasons", "simple", "steps")

    def __init__(self) -> None:
        # (step, slots that become real, slots computed inside it, slots nobody needs any more)
        self.steps: list[tuple[Any, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = []
        self.leaves: tuple[int, ...] = ()
        self.simple = -1  # the one result of the one step of a plan that computes nothing else
        self.reasons: dict[int, str] = {}

    def run(self, run: Run, order: list[Value | None]) -> None:
        """Run the steps. Results become real, and slots are let go, as soon as they can be."""
        storages = run.storages
        slots = run.device.slots
        upload(run.backend, storages, self.leaves, run.cause)
        if self.simple >= 0:
            if slots.watch:
                run_watched(self.steps[0][0], run)
            else:
                self.steps[0][0].run(run)
            order[self.simple].make_real(storages[self.simple])  # type: ignore[union-attr, arg-type]
            return
        for step, results, marks, drops in self.steps:
            if slots.watch:
                run_watched(step, run)
            else:
                step.run(run)
            for n in results:
                order[n].make_real(storages[n])  # type: ignore[union-attr, arg-type]
            for n in marks:
                order[n].inlined = True  # type: ignore[union-attr]
            for n in drops:
                storages[n] = None
                order[n] = None


def is_pointwise(v: Value) -> bool:
    """Whether a value can be computed inside another kernel, element by element."""
    return type(v.spec) in (Spec, IndexSpec, GatherSpec)


class Planner:
    """Makes one plan; see the module's docstring for the algorithm."""

    def __init__(self, tape: Tape, targets: Sequence[Value], stores: dict[int, Target]) -> None:
        self.tape = tape
        self.slots = tape.slots
        self.targets = targets
        self.stores = stores
        self.stored: dict[Value, str] = {}
        self.level: dict[Value, int] = {}
        self.pending = [v for v in tape.order if v.real is None]

    def plan(self) -> Plan:
        self._choose_stored()
        while True:
            self._levels()
            groups = [Group(k, roots, self._region(k, roots)) for k, roots in self._groups()]
            before = dict(self.stored)
            joined = self._joined_groups(groups)
            again = self._too_often(joined)
            if not again:
                return self._assemble(joined)
            self.stored = before
            for v in again:
                self.stored[v] = f"more than {_MAX_RECOMPUTE} kernels would compute it"

    def _store(self, v: Value, reason: str) -> None:
        if v.real is None:
            self.stored.setdefault(v, reason)

    def _choose_stored(self) -> None:
        for v in self.targets:
            self._store(v, "asked for")
        for v in self.pending:
            if v.inlined:
                self._store(v, "an earlier evaluation computed it already")
            if type(v.spec) in (ReduceSpec, BoxSpec, CallSpec):
                self._store(v, "its consumers need all of it")
            self._cut_edges(v)

    def _cut_edges(self, v: Value) -> None:
        kind = type(v.spec)
        for k, a in enumerate(v.args):
            if a.real is not None:
                continue
            if kind is CallSpec:
                self._store(a, f"{v.spec.name} reads it from memory")
            elif kind is GatherSpec and k == 0:
                self._store(a, "its elements are picked by computed indices")
            elif type(a.spec) is ConstSpec:
                continue
            elif v.reads is not None and v.reads[k] is not None:
                if self.slots[a] in self.tape.held or not is_seen_through(v, k):
                    self._store(a, "it is read through a view")
            elif kind is BoxSpec:
                if k == 1 or a.shape != v.extra[1]:
                    self._store(a, "the rest of a written array is read from memory")
            elif a.shape != self._space(v) and not self._is_linear(a):
                self._store(a, "it is read under another shape")
        if kind is ReduceSpec and not _blocked(v):
            self._store_index_producers(v)

    def _is_linear(self, a: Value) -> bool:
        """Whether everything that computes ``a`` is read in order, so that its shape is free."""
        if not is_pointwise(a):
            return False
        stack = [a]
        seen = {a}
        while stack:
            v = stack.pop()
            if v.reads is not None:
                return False
            for b in v.args:
                if is_pointwise(b) and b.real is None and b not in seen and b not in self.stored:
                    seen.add(b)
                    stack.append(b)
        return True

    def _store_index_producers(self, v: Value) -> None:
        """Index functions under a reduction whose axes are no leading or trailing block."""
        stack = list(v.args)
        seen = set(stack)
        while stack:
            a = stack.pop()
            if type(a.spec) is IndexSpec:
                self._store(a, "a reduction over inner axes cannot count its elements")
            elif type(a.spec) is Spec and a.real is None:
                new = [b for b in a.args if b not in seen]
                seen.update(new)
                stack.extend(new)

    @staticmethod
    def _space(v: Value) -> Shape:
        """Return the shape in which a node reads its operands."""
        return v.extra[0] if type(v.spec) is ReduceSpec else v.shape

    def _joined(self, v: Value, a: Value) -> bool:
        """Whether a stored operand can still be computed in its consumer's kernel."""
        return is_pointwise(a) and a.shape == v.shape and type(v.spec) in _POINTWISE_READERS

    def _levels(self) -> None:
        self.level.clear()
        for v in self.pending:
            level = 0
            for k, a in enumerate(v.args):
                if a.real is not None or type(a.spec) is ConstSpec and a not in self.stored:
                    continue
                strided = v.reads is not None and v.reads[k] is not None
                picked = k == 0 and type(v.spec) is GatherSpec
                cut = a in self.stored and (strided or picked or not self._joined(v, a))
                level = max(level, self.level[a] + (1 if cut else 0))
            self.level[v] = level

    def _groups(self) -> list[tuple[str, list[Value]]]:
        """Return the kernels as (kind, roots), in an order that respects levels."""
        found: dict[Any, list[Value]] = {}
        for v in self.pending:
            if v not in self.stored:
                continue
            kind = type(v.spec)
            level = self.level[v]
            place: tuple[Any, ...]
            if kind is ReduceSpec:
                place = (level, "reduce", v.extra[0], v.extra[1])
            elif kind in (BoxSpec, CallSpec):
                place = (level, "box" if kind is BoxSpec else "call", self.slots[v])
            elif self.slots[v] in self.stores:
                place = (level, "map", v.shape, "store", self.slots[v])
            else:
                place = (level, "map", v.shape)
            found.setdefault(place, []).append(v)
        ordered = sorted(found.items(), key=lambda item: item[0][0])
        return [(place[1], roots) for place, roots in ordered]

    def _region(self, kind: str, roots: list[Value]) -> Region:
        region = Region(self.tape, self.stored, set(roots) if kind == "map" else set())
        for v in roots:
            if kind == "map":
                region.add_root(v)
            elif kind in ("reduce", "box"):
                region.add_operand(v, 0)
        return region

    def _joined_groups(self, groups: list[Group]) -> list[Group]:
        return join_groups(self.tape, self.stored, self.targets, list(self.stores), groups)

    def _too_often(self, groups: list[Group]) -> list[Value]:
        """Return values that too many kernels compute."""
        count: dict[Value, int] = {}
        for group in groups:
            for v in group.region.computed:
                if v not in self.stored and type(v.spec) in (Spec, GatherSpec):
                    count[v] = count.get(v, 0) + 1
        return [v for v, n in count.items() if n > _MAX_RECOMPUTE]

    def _assemble(self, groups: list[Group]) -> Plan:
        made: list[tuple[Any, list[Value], set[Value]]] = []
        step: Any
        for kind, roots, region in [part for group in groups for part in self._split_large(group)]:
            if kind == "map":
                step = map_step(self.tape, region, roots, self.stores)
            elif kind == "reduce":
                step = reduce_step(self.tape, region, roots)
            elif kind == "passes":
                assert isinstance(region, PassRegion)
                step = pass_step(self.tape, region, roots)
            elif kind == "box":
                step = box_step(self.tape, self.stored, region, roots[0])
            else:
                step = calls.make_step(self.tape, roots[0])
            made.append((step, roots, region.computed))
        return self._finish(made)

    def _split_large(self, group: Group) -> list[Group]:
        """Return a group of maps or reductions, or halves of it that have fewer parameters."""
        kind, roots, region = group
        if kind not in ("map", "reduce") or len(roots) == 1 or not is_large(region, len(roots)):
            return [group]
        result = []
        middle = len(roots) // 2
        for part in (roots[:middle], roots[middle:]):
            result += self._split_large(Group(kind, part, self._region(kind, part)))
        return result

    def _finish(self, made: list[tuple[Any, list[Value], set[Value]]]) -> Plan:
        """Note after each step what became real, and what no later step touches."""
        slots = self.slots
        plan = Plan()
        plan.leaves = tuple(n for v, n in slots.items() if v.real is not None)
        plan.reasons = {slots[v]: reason for v, reason in self.stored.items()}
        last: dict[int, int] = {}
        for k, (step, roots, computed) in enumerate(made):
            touched = {p.slot for p in step.pointers} | {slots[v] for v in (*roots, *computed)}
            last.update(dict.fromkeys(touched, k))
        for k, (step, roots, computed) in enumerate(made):
            results = tuple(slots[v] for v in roots if slots[v] not in self.stores)
            inside = [
                v for v in computed if v not in self.stored and type(v.spec) in (Spec, ReduceSpec)
            ]
            marks = tuple(slots[v] for v in inside)
            drops = tuple(n for n, when in last.items() if when == k)
            plan.steps.append((step, results, marks, drops))
        if len(plan.steps) == 1 and len(plan.steps[0][1]) == 1 and not plan.steps[0][2]:
            plan.simple = plan.steps[0][1][0]
        return plan


def _blocked(v: Value) -> bool:
    """Whether a reduction's axes are the first or the last axes of its space."""
    shape, axes = v.extra[0], v.extra[1]
    moving = [d for d, n in enumerate(shape) if n != 1]
    chosen = [d for d in axes if shape[d] != 1]
    return moving[: len(chosen)] == chosen or moving[len(moving) - len(chosen) :] == chosen


def make_plan(tape: Tape, targets: Sequence[Value], stores: dict[int, Target]) -> Plan:
    """Return the plan that evaluates ``targets``; ``stores`` redirects roots into storages."""
    return Planner(tape, targets, stores).plan()
