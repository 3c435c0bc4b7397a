"""Reading a pending graph: an ordered list of its nodes, and the plan key.

One walk, without recursion, gives every value a slot and collects what a plan does not depend on:
storages, scalars, offsets. Two graphs with equal keys run the same plan.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

from .node import ConstSpec, GatherSpec, IndexSpec, ScatterSpec, Value
from .views import Shape

_marks: Final = itertools.count(1)
_NO_SLOTS: Final[dict[Value, int]] = {}
_NO_SCALARS: Final[dict[int, int]] = {}
_WITH_SCALARS: Final = (ConstSpec, IndexSpec, GatherSpec, ScatterSpec)


class Tape:
    """The captured graph.

    ``order`` holds every value, edges first, and ``value.slot`` is its position (``slots`` says so
    after ``number``). ``operands`` numbers the distinct (slot, strides, offset) reads; ``offsets``
    lists their offsets.
    """

    __slots__ = ("key", "offsets", "operands", "order", "scalar_of", "scalars", "slots")

    def __init__(self) -> None:
        self.order: list[Value] = []
        self.key: list[Any] = []
        self.offsets: list[int] = []
        self.scalars: list[Any] = []
        self.operands: dict[tuple[int, Shape, int], int] | None = None
        self.slots: dict[Value, int] = _NO_SLOTS
        self.scalar_of: dict[int, int] = _NO_SCALARS

    def number(self) -> None:
        """Fill in ``slots`` and ``scalar_of``, which only the making of a plan needs."""
        self.slots = {v: n for n, v in enumerate(self.order)}
        self.scalar_of = {}
        count = 0
        for n, v in enumerate(self.order):
            if v.real is None and v.extra is not None and type(v.spec) in _WITH_SCALARS:
                self.scalar_of[n] = count
                count += 1 if type(v.spec) is ConstSpec else len(v.extra)

    def forget(self) -> None:
        """Let go of the values that ``number`` holds on to."""
        self.slots = _NO_SLOTS

    def operand(self, slot: int, strides: Shape, offset: int) -> int:
        """Return the number of a strided read, equal reads sharing one."""
        place = (slot, strides, offset)
        operands = self.operands
        if operands is None:
            operands = self.operands = {}
        found = operands.get(place)
        if found is None:
            found = operands[place] = len(self.offsets)
            self.offsets.append(offset)
        return found


def capture(targets: Sequence[Value]) -> Tape:
    """Walk what ``targets`` need, edges first. One walk a device at a time: marks are on values.

    An operand's dtype is not in the key: the specs of its readers imply it.
    """
    tape = Tape()
    order = tape.order
    key = tape.key
    mark = next(_marks)
    stack = list(targets)
    stack.reverse()
    while stack:
        v = stack[-1]
        if v.mark == mark:
            stack.pop()
            continue
        real = v.real
        if real is not None:
            stack.pop()
            v.mark = mark
            v.slot = len(order)
            order.append(v)
            key.append(real.ptr & 15)
            continue
        ready = True
        for a in v.args:
            if a.mark != mark:
                stack.append(a)
                ready = False
        if not ready:
            continue
        stack.pop()
        v.mark = mark
        v.slot = len(order)
        order.append(v)
        _node_key(tape, v)
    return tape


def _node_key(tape: Tape, v: Value) -> None:
    key = tape.key
    spec = v.spec
    key.append(spec)
    key.append(v.shape)
    for a in v.args:
        key.append(a.slot)
    if v.reads is not None:
        _strided_reads(tape, v)
    if v.extra is not None:
        kind = type(spec)
        if kind is ConstSpec:
            tape.scalars.append(v.extra)
        elif kind is IndexSpec or kind is GatherSpec or kind is ScatterSpec:
            tape.scalars.extend(v.extra)
            for a in v.args:  # the specs of gathers and scatters do not imply them
                key.append(a.spec.out_dtype)
        else:
            key.append(v.extra)
    if v.inlined:
        key.append("inlined")


def _strided_reads(tape: Tape, v: Value) -> None:
    key = tape.key
    reads = v.reads
    offsets = v.offsets
    assert reads is not None and offsets is not None
    key.append(reads)
    for k, a in enumerate(v.args):
        strides = reads[k]
        if strides is not None:
            key.append(tape.operand(a.slot, strides, offsets[k]))
            key.append(offsets[k] * a.spec.out_dtype.itemsize & 15)
