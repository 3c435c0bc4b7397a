"""Calls that sort and search: their nodes, steps and host forms.

A call's ``extra`` begins with the dtype of what it reads, which its spec does not imply:

===============  ======================================  ==========================================
call             operands                                ``extra`` after the dtype
===============  ======================================  ==========================================
sort, argsort    rows along the last axis                descending
searchsorted     sorted, elements                        length of the first, right
isin             sorted, elements                        length of the first, invert
===============  ======================================  ==========================================

All operands are read in order.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .. import _dtypes as dt
from ..codegen import sorting as kernels
from ..codegen.emit import BLOCK
from ..codegen.key import DType, TextKey
from ..codegen.launch import Fresh, KernelStep, Pointer, ceil_div
from . import calls, interpret
from .calls import operand_pointer
from .capture import Tape
from .kernels import EmptyStep
from .launches import Launch, MultiStep, Scratch
from .node import Value, call_spec
from .views import Shape

Step = KernelStep | MultiStep | EmptyStep

NARROW_COUNTS = 1 << 30  # lengths below this are counted in 32 bits, two of which are flags
NARROW_INDICES = 1 << 31  # and below this, indices are carried in 32 bits
_COUNTING_PARTS: Final = 1024  # of all rows together
_MOST_IN_A_PART: Final = 1 << 30


def _call(name: str, out: DType, args: tuple[Value, ...], extra: Any, shape: Shape) -> Value:
    return Value(call_spec(name, out), args, None, None, extra, shape, args[0].device)


def sort_call(rows: Value, shape: Shape, descending: bool) -> Value:
    """Return the node of the elements in order along the last axis."""
    return _call("sort", rows.dtype, (rows,), (rows.dtype, descending), shape)


def argsort_call(rows: Value, shape: Shape, descending: bool) -> Value:
    """Return the node of the indices that sort along the last axis."""
    return _call("argsort", dt.int64, (rows,), (rows.dtype, descending), shape)


def searchsorted_call(ordered: Value, length: int, x: Value, shape: Shape, right: bool) -> Value:
    """Return the node of the places of x's elements among ``length`` sorted ones."""
    extra = (ordered.dtype, length, right)
    return _call("searchsorted", dt.int64, (ordered, x), extra, shape)


def isin_call(ordered: Value, length: int, x: Value, shape: Shape, invert: bool) -> Value:
    """Return the node that says which of x's elements are among ``length`` sorted ones."""
    return _call("isin", dt.bool_, (ordered, x), (ordered.dtype, length, invert), shape)


def _output(tape: Tape, v: Value) -> tuple[Fresh, Pointer]:
    slot = tape.slots[v]
    return Fresh(slot, v.nbytes), Pointer(slot, -1, v.dtype.itemsize, 0, "w", "out")


def _single(
    tape: Tape, v: Value, key: TextKey, codes: str, tail: list[int], grid: int, block: int
) -> KernelStep:
    """Return the step of one launch over the operands of a call."""
    fresh, out = _output(tape, v)
    pointers = [out, *[operand_pointer(tape, v, k, f"in {k}") for k in range(len(v.args))]]
    nbytes = v.nbytes + sum(a.nbytes for a in v.args)
    return KernelStep(
        key, pointers, [], codes, tail, (grid, 1, 1), (block, 1, 1), [fresh], nbytes, outputs=1
    )


def sort_step(tape: Tape, v: Value) -> Step:
    """Sort rows: by a warp, by a block, or (long ones) by passes over all of them."""
    dtype, descending = v.extra
    pairs = v.spec.name == "argsort"
    n = v.shape[-1]
    rows = math.prod(v.shape[:-1])
    if n == 0 or rows == 0:
        return EmptyStep([Fresh(tape.slots[v], 0)])
    flip = kernels.flip_of(dtype, descending)
    if n > kernels.BLOCK_LIMIT:
        return _radix_step(tape, v, pairs, dtype, rows, n, flip)
    if n <= kernels.WARP_LIMIT:
        key = kernels.warp_sort_key(dtype, pairs, n)
        grid = ceil_div(rows, kernels.BLOCK_THREADS // 32)
    else:
        key = kernels.block_sort_key(dtype, pairs, n)
        grid = rows
    return _single(tape, v, key, "qqQ", [rows, n, flip], grid, kernels.BLOCK_THREADS)


def _radix_step(
    tape: Tape, v: Value, pairs: bool, dtype: DType, rows: int, n: int, flip: int
) -> MultiStep:
    carried = kernels.Carried(4 if n < NARROW_COUNTS else 8, 4 if n < NARROW_INDICES else 8)
    count_key, plan_key, pass_key = kernels.radix_sort_keys(dtype, pairs, carried)
    fresh, out = _output(tape, v)
    source = operand_pointer(tape, v, 0, "in")
    width = dtype.itemsize
    block = kernels.pass_of(width, carried, pairs)
    tiles = ceil_div(n, block.threads * block.items)
    part = max(ceil_div(n, max(1, _COUNTING_PARTS // rows)), kernels.BLOCK_LIMIT)
    part = min(part, _MOST_IN_A_PART)
    parts = ceil_div(n, part)
    table = kernels.RADIX * carried.counts
    elements = rows * n
    # Tickets, starts and the first state begin as zeros and share a storage.
    starts = 4 * kernels.RADIX
    first_state = starts + rows * width * table
    state_bytes = rows * tiles * table
    zeros, spare, plan, a, b, a_index = range(6)
    scratch = [first_state + state_bytes, state_bytes if width > 1 else table, rows * width]
    scratch += [elements * width]
    if pairs:
        scratch += [elements * width, elements * carried.indices]
    else:
        b = a_index = a
    states = (Scratch(zeros, first_state), Scratch(spare))
    launches = [
        Launch(
            count_key, [Scratch(zeros, starts), source], "qqqQ",
            [n, part, parts, flip], rows * parts, kernels.RADIX,
        ),
        Launch(plan_key, [Scratch(zeros, starts), Scratch(plan)], "q", [n], rows, kernels.RADIX),
    ]  # fmt: skip
    for p in range(width):
        pointers: list[Pointer | Scratch] = [
            out, Scratch(a), Scratch(b), Scratch(a_index), Scratch(zeros), states[p % 2],
            states[1 - p % 2], Scratch(zeros, starts), Scratch(plan), source,
        ]  # fmt: skip
        numbers = [n, tiles, flip, p]
        launch = Launch(pass_key, pointers, "qqQi", numbers, rows * tiles, block.threads)
        launches.append(launch)
    moved = elements * width * (1 + 2 * width)
    kept = elements * width * (width - 1)
    if pairs:
        moved += elements * (2 * carried.indices * (width - 1) + 8)
        kept = elements * (width * width + carried.indices * (width - 1))
    name = "argsort" if pairs else "sort"
    return MultiStep(name, [fresh], launches, moved, scratch, zeroed=1, carried=kept)


def search_step(tape: Tape, v: Value) -> Step:
    """Look elements up in a sorted array."""
    dtype, length, flag = v.extra
    if v.size == 0:
        return EmptyStep([Fresh(tape.slots[v], 0)])
    key = kernels.search_key(v.spec.name, dtype)
    return _single(tape, v, key, "qqi", [length, v.size, int(flag)], ceil_div(v.size, BLOCK), BLOCK)


calls.STEPS.update({"sort": sort_step, "argsort": sort_step})
calls.STEPS.update({"searchsorted": search_step, "isin": search_step})


# The same on the host.

HostArray = npt.NDArray[Any]


def _order_keys(x: HostArray, descending: bool) -> HostArray:
    """Return unsigned integers that order as the elements do; the kernels' rule."""
    dtype: DType = x.dtype
    flip = kernels.flip_of(dtype, descending)
    floating = dtype.kind == "f"
    word = np.dtype(f"u{dtype.itemsize}")
    bits: HostArray = np.ascontiguousarray(x).view(word)
    ones = ~word.type(0)
    if floating:
        sign = word.type(1 << 8 * dtype.itemsize - 1)
        bits = np.where(x == 0, word.type(0), bits)
        bits = bits ^ np.where(bits & sign, ones, sign)
    keys: HostArray = bits ^ word.type(flip)
    return np.where(np.isnan(x), ones, keys) if floating else keys


def _argsort_on_host(v: Value) -> HostArray:
    keys = _order_keys(interpret.operand(v, 0, v.shape), v.extra[1])
    return np.argsort(keys, axis=-1, kind="stable")


def _sort_on_host(v: Value) -> HostArray:
    x = interpret.operand(v, 0, v.shape)
    return np.take_along_axis(x, _argsort_on_host(v), axis=-1)


def _searched(v: Value) -> tuple[HostArray, HostArray]:
    return interpret.operand(v, 0, (v.extra[1],)), interpret.operand(v, 1, v.shape)


def _searchsorted_on_host(v: Value) -> HostArray:
    given, x = _searched(v)
    return np.asarray(np.searchsorted(given, x, side="right" if v.extra[2] else "left"))


def _isin_on_host(v: Value) -> HostArray:
    given, x = _searched(v)
    return np.isin(x, given, invert=v.extra[2])


interpret.CALLS.update({"sort": _sort_on_host, "argsort": _argsort_on_host})
interpret.CALLS.update({"searchsorted": _searchsorted_on_host, "isin": _isin_on_host})
