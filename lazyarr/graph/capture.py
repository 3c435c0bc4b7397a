"""Reading a pending graph: an ordered list of its nodes, and the plan key.

One walk, without recursion, gives every value a slot and collects what a plan does not depend on:
storages, scalars, offsets. Two graphs with equal keys run the same plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .node import ConstSpec, GatherSpec, IndexSpec, ScatterSpec, Value
from .views import Shape


class Tape:
    """The captured graph.

    ``order`` holds every value, edges first; ``slots[v]`` is its position. ``operands`` numbers the
    distinct (slot, strides, offset) reads; ``offsets`` lists their offsets.
    """

    __slots__ = ("key", "offsets", "operands", "order", "scalar_of", "scalars", "slots")

    def __init__(self) -> None:
        self.order: list[Value] = []
        self.slots: dict[Value, int] = {}
        self.operands: dict[tuple[int, Shape, int], int] = {}
        self.offsets: list[int] = []
        self.scalars: list[Any] = []
        self.scalar_of: dict[int, int] = {}
        self.key: list[Any] = []

    def operand(self, slot: int, strides: Shape, offset: int) -> int:
        """Return the number of a strided read, equal reads sharing one."""
        place = (slot, strides, offset)
        found = self.operands.get(place)
        if found is None:
            found = self.operands[place] = len(self.offsets)
            self.offsets.append(offset)
        return found


def capture(targets: Sequence[Value]) -> Tape:
    """Walk what ``targets`` need, edges first."""
    tape = Tape()
    slots = tape.slots
    order = tape.order
    key = tape.key
    stack = list(reversed(targets))
    while stack:
        v = stack[-1]
        if v in slots:
            stack.pop()
            continue
        if v.real is not None:
            stack.pop()
            slots[v] = len(order)
            order.append(v)
            key.append(v.spec.out_dtype)
            key.append(v.real.ptr & 15)
            continue
        ready = True
        for a in v.args:
            if a not in slots:
                stack.append(a)
                ready = False
        if not ready:
            continue
        stack.pop()
        slots[v] = len(order)
        order.append(v)
        spec = v.spec
        key.append(spec)
        key.append(v.shape)
        for a in v.args:
            key.append(slots[a])
        if v.reads is not None:
            _strided_reads(tape, v)
        if v.extra is not None:
            kind = type(spec)
            if kind is ConstSpec:
                tape.scalar_of[slots[v]] = len(tape.scalars)
                tape.scalars.append(v.extra)
            elif kind is IndexSpec or kind is GatherSpec or kind is ScatterSpec:
                tape.scalar_of[slots[v]] = len(tape.scalars)
                tape.scalars.extend(v.extra)
            else:
                key.append(v.extra)
        if v.inlined:
            key.append("inlined")
    return tape


def _strided_reads(tape: Tape, v: Value) -> None:
    key = tape.key
    key.append(v.reads)
    assert v.reads is not None and v.offsets is not None
    for a, strides, offset in zip(v.args, v.reads, v.offsets, strict=True):
        if strides is not None:
            key.append(tape.operand(tape.slots[a], strides, offset))
            key.append(offset * a.spec.out_dtype.itemsize & 15)
