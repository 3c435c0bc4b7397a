"""Reading a pending graph: an ordered list of its nodes, and the plan key.

One walk, without recursion, gives every value a slot and collects what a plan does not depend on:
storages, scalars, offsets. Two graphs with equal keys run the same plan.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .._devices import CPU
from .node import (
    ConstSpec,
    GatherSpec,
    IndexSpec,
    ScatterSpec,
    Value,
    const,
    is_seen_through,
)
from .views import Shape

_marks: Final = itertools.count(1)
_NO_SLOTS: Final[dict[Value, int]] = {}
_NO_SCALARS: Final[dict[int, int]] = {}
_WITH_SCALARS: Final = (ConstSpec, IndexSpec, GatherSpec, ScatterSpec)


class Tape:
    """The captured graph.

    ``order`` holds every value, edges first, and ``value.slot`` is its position (``slots`` says so
    after ``number``). ``operands`` numbers the distinct (slot, strides, offset) reads; ``offsets``
    lists their offsets. ``elements`` counts the reads of each pending element of a real value that
    is spread; those in ``held`` are read from outside the graph too.
    """

    __slots__ = (
        "elements",
        "held",
        "key",
        "offsets",
        "operands",
        "order",
        "scalar_of",
        "scalars",
        "slots",
    )

    def __init__(self) -> None:
        self.order: list[Value] = []
        self.key: list[Any] = []
        self.offsets: list[int] = []
        self.scalars: list[Any] = []
        self.operands: dict[tuple[int, Shape, int], int] | None = None
        self.slots: dict[Value, int] = _NO_SLOTS
        self.scalar_of: dict[int, int] = _NO_SCALARS
        self.elements: dict[int, int] | None = None
        self.held: list[int] = []

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
    _walk(tape, targets)
    if tape.elements is not None:
        _note_held(tape, tape.elements)
    return tape


def _walk(tape: Tape, targets: Sequence[Value]) -> None:
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


def _note_held(tape: Tape, elements: dict[int, int]) -> None:
    """Find the elements that somebody keeps: they are computed, or the next write would copy."""
    order = tape.order
    for slot, reads in elements.items():
        if _references(order, slot) > _LISTED + reads:
            tape.held.append(slot)
            tape.key.append(slot)
    tape.key.append("elements")


def _references(order: list[Value], slot: int) -> int:
    return sys.getrefcount(order[slot])


# The count for a value that only a list holds, by the function that is used later.
_LISTED: Final = _references([const(0, np.dtype("bool"), (), CPU)], 0)


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
            if a.real is None and a.reads is not None and is_seen_through(v, k):
                elements = tape.elements
                if elements is None:
                    elements = tape.elements = {}
                elements[a.slot] = elements.get(a.slot, 0) + 1
