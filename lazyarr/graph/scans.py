"""Scans: their node, the choice between the kernels, and the host's form.

A scan reads (outer, n, inner) in order and runs along the middle axis. The choice depends on the
shape, the axis and the dtypes alone, and so does the order in which elements combine.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..codegen import scans as kernels
from ..codegen.key import TextKey
from ..codegen.launch import Fresh, KernelStep, Pointer, ceil_div
from . import calls, interpret
from .calls import operand_pointer
from .capture import Tape
from .kernels import EmptyStep
from .launches import Launch, MultiStep, Scratch
from .node import Value, call_spec
from .numpy_ops import cast_to
from .optable import ReduceSpec
from .views import Shape, View, c_strides

Step = KernelStep | MultiStep | EmptyStep

_SHORT_ROW_BYTES: Final = 256  # of rows that one thread scans in shared memory
_SHORT_COLUMN: Final = 512  # the same for a few columns side by side
_MANY_COLUMNS: Final = 1 << 17  # as many threads keep a device busy, each walking down one
_UFUNCS: Final = {"sum": np.add, "prod": np.multiply, "max": np.maximum}
INITIAL: Final = kernels.INITIAL


class Extent(NamedTuple):
    """What a scan runs over: ``n`` elements for each of ``outer`` times ``inner`` chains."""

    outer: int
    n: int
    inner: int


def scan_call(source: Value, view: View, spec: ReduceSpec, axis: int, initial: bool) -> Value:
    """Return the node of an inclusive scan along an axis of a contiguous view.

    ``initial``: the axis is one longer and begins with the reduction's initial value.
    """
    shape = view.shape
    longer = (*shape[:axis], shape[axis] + int(initial), *shape[axis + 1 :])
    first = view.offset == 0 and source.size == math.prod(shape)
    return Value(
        call_spec("scan", spec.out_dtype),
        (source,),
        None if first else (c_strides(shape),),
        None if first else (view.offset,),
        (spec, axis, initial),
        longer,
        source.device,
    )


def scan_step(tape: Tape, v: Value) -> Step:
    """Choose the kernel of a scan."""
    spec, axis, initial = v.extra
    shape = _source_shape(v)
    outer, n, inner = over = Extent(
        math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    )
    if v.size == 0:
        return EmptyStep([Fresh(tape.slots[v], 0)])
    if _is_small(spec, over):
        together = kernels.span(spec) // (n * inner)
        key = kernels.small_key(spec, initial)
        return _single(tape, v, key, "qiii", [outer, n, inner, together], ceil_div(outer, together))
    if inner == 1:
        return _rows_step(tape, v, spec, initial, over)
    return _columns_step(tape, v, spec, initial, over)


def _source_shape(v: Value) -> Shape:
    """Return the shape that a scan reads."""
    _, axis, initial = v.extra
    return (*v.shape[:axis], v.shape[axis] - int(initial), *v.shape[axis + 1 :])


def _is_small(spec: ReduceSpec, over: Extent) -> bool:
    """Whether a thread scans a chain in shared memory."""
    if over.inner == 1:
        return over.n * kernels.widest(spec) <= _SHORT_ROW_BYTES
    few = over.inner < kernels.NEIGHBOURS and over.n <= _SHORT_COLUMN
    return few and over.n * over.inner <= kernels.span(spec)


def _rows_step(tape: Tape, v: Value, spec: ReduceSpec, initial: bool, over: Extent) -> Step:
    rows, n = over.outer, over.n
    tiles = ceil_div(n, kernels.tile(spec))
    if tiles == 1:
        warps, _ = kernels.row_shape(spec, n)
        grid = ceil_div(rows, kernels.WARPS // warps)
        return _single(tape, v, kernels.rows_key(spec, initial, n), "qq", [rows, n], grid)
    key = kernels.long_rows_key(spec, initial)
    return _look_back(tape, v, key, [rows, n, tiles], rows, tiles, rows * tiles)


def _columns_step(tape: Tape, v: Value, spec: ReduceSpec, initial: bool, over: Extent) -> Step:
    n, inner = over.n, over.inner
    columns = over.outer * inner
    staged = inner < kernels.NEIGHBOURS
    width = inner if staged else kernels.NEIGHBOURS
    rows = kernels.thread_rows(spec, n, width)
    if not staged and (columns >= _MANY_COLUMNS or n <= rows):
        key = kernels.walk_key(spec, initial)
        return _single(tape, v, key, "qqq", [columns, n, inner], ceil_div(columns, kernels.THREADS))
    tiles = ceil_div(n, kernels.THREADS // width * rows)
    beside = ceil_div(columns, width)
    key = kernels.columns_key(spec, initial, rows, staged, tiles > 1)
    if tiles == 1:
        return _single(tape, v, key, "qqq", [columns, n, inner], beside)
    numbers = [columns, n, inner, beside, tiles]
    return _look_back(tape, v, key, numbers, columns, tiles, beside * tiles)


def _single(
    tape: Tape, v: Value, key: TextKey, codes: str, tail: list[int], grid: int
) -> KernelStep:
    """Return the step of a kernel whose blocks do not wait for each other."""
    fresh, pointers, nbytes = _operands(tape, v)
    threads = kernels.SMALL_THREADS if key.function == "lz_scan_small" else kernels.THREADS
    return KernelStep(
        key, pointers, [], codes, tail, (grid, 1, 1), (threads, 1, 1), [fresh], nbytes, outputs=1
    )


def _look_back(
    tape: Tape, v: Value, key: TextKey, numbers: list[int], chains: int, tiles: int, grid: int
) -> MultiStep:
    """Return the step of a kernel whose tiles learn from those before them."""
    fresh, (out, source), nbytes = _operands(tape, v)
    slots = chains * (tiles + 2 * ((tiles - 1) // kernels.GROUP))
    words = kernels.HEADER_WORDS + slots * kernels.slot_words(v.extra[0])
    arguments: list[Pointer | Scratch] = [out, Scratch(0), source]
    launch = Launch(key, arguments, "q" * len(numbers), numbers, grid, kernels.THREADS)
    return MultiStep("scan", [fresh], [launch], nbytes, [8 * words], zeroed=1)


def _operands(tape: Tape, v: Value) -> tuple[Fresh, tuple[Pointer, Pointer], int]:
    """Return the result's storage, the pointers to result and source, and the bytes moved."""
    slot = tape.slots[v]
    out = Pointer(slot, -1, v.dtype.itemsize, 0, "w", "out")
    read = math.prod(_source_shape(v)) * v.args[0].dtype.itemsize
    return Fresh(slot, v.nbytes), (out, operand_pointer(tape, v, 0, "in")), v.nbytes + read


def _scan_on_host(v: Value) -> npt.NDArray[Any]:
    spec, axis, initial = v.extra
    x = cast_to(interpret.operand(v, 0, _source_shape(v)), v.dtype)
    result = np.empty(v.shape, v.dtype)
    along = np.moveaxis(result, axis, 0)
    if initial:
        along[0] = INITIAL[spec.op.name]
    with np.errstate(all="ignore"):
        _UFUNCS[spec.op.name].accumulate(
            np.moveaxis(x, axis, 0), axis=0, dtype=v.dtype, out=along[int(initial) :]
        )
    return result


calls.STEPS["scan"] = scan_step
interpret.CALLS["scan"] = _scan_on_host
