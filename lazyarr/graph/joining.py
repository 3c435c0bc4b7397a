"""Joins: arrays that are put together from pieces along one axis.

A call ``join`` has one operand a piece, and ``extra`` is (rows, a (length, stride) a piece): the
result is seen as rows, each of which takes ``length`` neighbours of every piece in turn; a piece's
rows are ``stride`` elements apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ..codegen.emit import BLOCK, magic
from ..codegen.handwritten import LINE, join_items, join_key
from ..codegen.key import TextKey
from ..codegen.launch import Fresh, KernelStep, Pointer, ceil_div
from . import calls, geometry, interpret, views
from .calls import operand_pointer
from .capture import Tape
from .geometry import VECTOR_BYTES
from .interpret import Array
from .launches import Launch, MultiStep
from .node import Value, call_spec
from .views import Shape, View

_MOST_PIECES: Final = 16
_LONGEST_SHORT: Final = 1 << 30  # units in a row that 32-bit divisions find
_FILLED: Final = 0.9  # of the threads that take stretches of rows


def join_call(pieces: Sequence[tuple[Value, View]], axis: int, shape: Shape) -> Value | None:
    """Return the node of real values of one dtype, seen through views, joined along an axis.

    None if one kernel cannot do it: a value is pending, or a view has no rows of neighbours.
    """
    rows = math.prod(shape[:axis])
    seen: list[View] = []
    for value, view in pieces:
        length = math.prod(view.shape[axis:])
        row_view = None if value.real is None else views.reshape(view, (rows, length))
        if row_view is None or (length > 1 and row_view.strides[1] != 1):
            return None
        seen.append(row_view)
    first = pieces[0][0]
    return Value(
        call_spec("join", first.dtype),
        tuple(value for value, _ in pieces),
        tuple((v.strides[0], 1) for v in seen),
        tuple(v.offset for v in seen),
        (rows, tuple((v.shape[1], v.strides[0]) for v in seen)),
        shape,
        first.device,
    )


class _Group(NamedTuple):
    """One launch: what it passes, in the order of the kernel's parameters."""

    key: TextKey
    pointers: list[Pointer]
    codes: str
    numbers: list[int]
    blocks: int


def join_step(tape: Tape, v: Value) -> KernelStep | MultiStep:
    """Return one launch for every 16 pieces."""
    lengths = [length for length, _ in v.extra[1]]
    groups = []
    for k in range(0, len(v.args), _MOST_PIECES):
        groups.append(_group(tape, v, range(k, min(k + _MOST_PIECES, len(v.args))), sum(lengths)))
    fresh = [Fresh(tape.slots[v], v.nbytes)]
    if len(groups) > 1:
        launches = [Launch(g.key, g.pointers, g.codes, g.numbers, g.blocks, BLOCK) for g in groups]
        return MultiStep("join", fresh, launches, 2 * v.nbytes)
    (g,) = groups
    return KernelStep(
        g.key, g.pointers, [], g.codes, g.numbers, (g.blocks, 1, 1), (BLOCK, 1, 1), fresh,
        2 * v.nbytes, outputs=1,
    )  # fmt: skip


def _group(tape: Tape, v: Value, chosen: range, out_stride: int) -> _Group:
    """Return the launch of some neighbouring pieces: columns of the result."""
    rows, pieces = v.extra
    begin = sum(length for length, _ in pieces[: chosen.start])
    firsts = [0]
    for k in chosen:
        firsts.append(firsts[-1] + pieces[k][0])
    strides = [pieces[k][1] for k in chosen]
    if rows == 1:
        strides, out_stride = [0] * len(chosen), 0
    itemsize = v.dtype.itemsize
    unit = _unit(v, chosen, [*firsts, *strides, out_stride, begin])

    def units(elements: int) -> int:
        return elements * itemsize // unit

    # Few kernels serve all numbers of pieces: those that are not there begin where the row ends.
    padding = max(2, 1 << (len(chosen) - 1).bit_length()) - len(chosen)
    pointers = [operand_pointer(tape, v, k, f"piece {k}") for k in chosen]
    pointers += pointers[-1:] * padding
    out = Pointer(tape.slots[v], -1, itemsize, begin, "w", "out")
    numbers = [*map(units, strides), *[0] * padding]
    numbers += [units(n) for n in firsts[:-1] + firsts[-1:] * padding]
    width, out_stride = units(firsts[-1]), units(out_stride)
    stretch = BLOCK * join_items(unit)
    line = LINE // unit
    aligned = units(begin) % line == 0 == out_stride % line
    stretches = ceil_div(width + (0 if aligned else line - 1), stretch)
    long = width >= _FILLED * stretches * stretch or width > _LONGEST_SHORT
    key = join_key(unit, len(pointers), long, rows * width >= geometry.NARROW_LIMIT)
    codes = "q" * (len(numbers) + 2)
    if long:
        numbers += [width, out_stride, stretches, units(begin) % line]
        return _Group(key, [out, *pointers], codes + "II", numbers, rows * stretches)
    numbers += [rows * width, out_stride, *magic(width)]
    blocks = ceil_div(rows * width, stretch)
    return _Group(key, [out, *pointers], codes + "III", numbers, blocks)


def _unit(v: Value, chosen: range, counts: Sequence[int]) -> int:
    """Return the bytes of the largest unit in which pieces can be moved."""
    itemsize = v.dtype.itemsize
    places = [n * itemsize for n in counts]
    assert v.offsets is not None
    for k in chosen:
        storage = v.args[k].real
        start = storage.ptr if storage is not None else 0
        places.append((start + v.offsets[k] * itemsize) % VECTOR_BYTES)
    return math.gcd(VECTOR_BYTES, *places)


def _join_on_host(v: Value) -> Array:
    rows, pieces = v.extra
    parts = [
        interpret.strided_operand(v, k, (rows, length), (stride, 1))
        for k, (length, stride) in enumerate(pieces)
    ]
    return np.concatenate(parts, axis=1).reshape(v.shape)


calls.STEPS["join"] = join_step
interpret.CALLS["join"] = _join_on_host
