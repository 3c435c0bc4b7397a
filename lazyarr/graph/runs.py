"""Calls that find flagged elements, and those that write what belongs to them.

===============  ======================================  ==========================================
call             operands                                ``extra``
===============  ======================================  ==========================================
runs_flags       elements                                their dtype, their number, heads
runs_values      flags, elements                         their number
runs_positions   flags                                   their number
runs_starts      flags                                   their number
runs_inverse     flags, picks                            their number
===============  ======================================  ==========================================

Flagged are the heads of runs of equal neighbours, or (``heads`` False) what is not zero. The value
of ``runs_flags`` is int64: a bit an element, for whole tiles; the number of flagged elements before
each tile; their total. Elements that are flagged may lie at an offset, without gaps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .. import _dtypes as dt
from .._devices import CPU, Device
from ..codegen import runs as kernels
from ..codegen.launch import Fresh, KernelStep, Pointer, Run, ceil_div, upload
from ..ledger import counters
from ..storage.storage import Storage
from . import calls, evaluate, interpret
from .calls import operand_pointer
from .capture import Tape
from .kernels import EmptyStep
from .node import CallSpec, Value, call_spec
from .views import Shape

_TILE_WORDS: Final = kernels.TILE // 64
_IN_A_ROW: Final[Shape] = (1,)


def _tiles(size: int) -> int:
    return max(1, ceil_div(size, kernels.TILE))


def flags_call(elements: Value, offset: int, size: int, heads: bool) -> Value:
    """Return the node of the flags of ``size`` elements from an offset on, and of their counts."""
    tiles = _tiles(size)
    return Value(
        call_spec("runs_flags", dt.int64),
        (elements,),
        (_IN_A_ROW,),
        (offset,),
        (elements.dtype, size, heads),
        (tiles * _TILE_WORDS + tiles + 1,),
        elements.device,
    )


def values_call(flags: Value, elements: Value, offset: int, size: int, count: int) -> Value:
    """Return the node of the flagged ones, ``count``, of ``size`` elements from an offset on."""
    return Value(
        call_spec("runs_values", elements.dtype),
        (flags, elements),
        (None, _IN_A_ROW),
        (0, offset),
        size,
        (count,),
        flags.device,
    )


def emit_call(what: str, flags: Value, size: int, others: tuple[Value, ...], count: int) -> Value:
    """Return the node of ``positions``, ``starts`` or the ``inverse``: ``count`` integers."""
    spec = call_spec(f"runs_{what}", dt.int64)
    return Value(spec, (flags, *others), None, None, size, (count,), flags.device)


def count_of(flags: Value, cause: str) -> int:
    """Return the number of flagged elements, by a control read of real flags."""
    storage = flags.real
    assert storage is not None
    if storage.backend is None:
        assert storage.host is not None
        return int(storage.host.view(np.int64)[-1])
    data = storage.control_read(storage.nbytes - 8, 8, f"count of {cause}")
    return int(data.view(np.int64).item())


def find_values(flags: Value, elements: Value, offset: int, size: int, cause: str) -> Value | None:
    """Return the flagged ones of elements from an offset on, computed at the call; None for none.

    Forces the elements with the flags: what they share is computed once.
    """

    def found(count: int) -> Value:
        return values_call(flags, elements, offset, size, count)

    return _at_the_call([flags, elements], found, cause)


def find_positions(flags: Value, size: int, cause: str) -> Value | None:
    """Return where flagged elements are, computed at the call; None for none."""

    def found(count: int) -> Value:
        return emit_call("positions", flags, size, (), count)

    return _at_the_call([flags], found, cause)


def _at_the_call(operands: list[Value], found: Callable[[int], Value], cause: str) -> Value | None:
    """Compute flags, the first of some operands, and the node of a count; None if that is 0."""
    device = operands[0].device
    if device is CPU:
        interpret.force(operands)
        count = count_of(operands[0], cause)
        if count:
            v = found(count)
            interpret.force([v])
            return v
        return None
    state = evaluate.runtime(device)
    with state.lock, state.backend.batch():
        evaluate.force(operands, cause)
        count = count_of(operands[0], cause)
        if count:
            v = found(count)
            v.make_real(_computed(state, v, cause))
            return v
        return None


def _computed(state: evaluate.DeviceRuntime, v: Value, cause: str) -> Storage:
    """Return the result of an emit node, whose operands are real.

    No plan is made: the number of results would be in its key, and may never come again.
    """
    offsets = v.offsets or (0,) * len(v.args)
    operands = [a.real for a in v.args]
    upload(state.backend, operands, tuple(range(len(operands))), cause)
    storages = [*operands, None]
    if any(offsets) or counters.sinks:
        places = [k if n else -1 for k, n in enumerate(offsets)]
        step = _direct_step(v.spec, places, v.extra, v.nbytes)
        step.run(Run(state, storages, (), offsets, cause))
    else:
        step = _plain_step(v.device, v.spec, len(offsets), v.extra)
        step.kernel = state.kernel(step.key)
        step.run_plain(state, storages, v.nbytes)
    made = storages[-1]
    assert made is not None
    if state.slots.watch:
        for operand in operands:
            if operand is not None and operand.checks is not None:
                made.add_checks(operand.checks)
    return made


def _direct_step(spec: CallSpec, places: list[int], size: int, nbytes: int) -> KernelStep:
    """Return the step of an emit node whose operands have the first slots, and its result the next.

    ``places`` are the numbers of the operands' offsets, or -1.
    """
    width = spec.out_dtype.itemsize
    pointers = [Pointer(len(places), -1, width, 0, "w", "out")]
    for k, place in enumerate(places):
        pointers.append(Pointer(k, place, width, 0, "r", f"in {k}"))
    return _emit(spec, pointers, size, Fresh(len(places), nbytes))


@functools.lru_cache(maxsize=512)
def _plain_step(device: Device, spec: CallSpec, operands: int, size: int) -> KernelStep:
    """Return a device's step for operands without offsets and any number of results."""
    return _direct_step(spec, [-1] * operands, size, 0)


def _emit(spec: CallSpec, pointers: list[Pointer], size: int, fresh: Fresh) -> KernelStep:
    width = spec.out_dtype.itemsize
    key = kernels.emit_key(spec.name.removeprefix("runs_"), width)
    nbytes = fresh.nbytes + size * width
    grid = (ceil_div(size, kernels.PART), 1, 1)
    block = (kernels.EMIT_THREADS, 1, 1)
    numbers = [size, _tiles(size)]
    return KernelStep(key, pointers, [], "qq", numbers, grid, block, [fresh], nbytes, outputs=1)


def _pointers(tape: Tape, v: Value) -> list[Pointer]:
    out = Pointer(tape.slots[v], -1, v.dtype.itemsize, 0, "w", "out")
    return [out, *[operand_pointer(tape, v, k, f"in {k}") for k in range(len(v.args))]]


def flags_step(tape: Tape, v: Value) -> KernelStep:
    """Flag elements, count them tile by tile, and add up the counts: one launch."""
    dtype, size, heads = v.extra
    fresh = Fresh(tape.slots[v], v.nbytes)
    grid = (_tiles(size), 1, 1)
    block = (kernels.FLAG_THREADS, 1, 1)
    nbytes = size * dtype.itemsize + v.nbytes
    return KernelStep(
        kernels.flags_key(dtype, heads), _pointers(tape, v), [], "q", [size], grid, block, [fresh],
        nbytes, outputs=1, tickets=1,
    )  # fmt: skip


def emit_step(tape: Tape, v: Value) -> KernelStep | EmptyStep:
    """Write what belongs to flagged elements, in order."""
    if v.size == 0:
        return EmptyStep([Fresh(tape.slots[v], 0)])
    return _emit(v.spec, _pointers(tape, v), v.extra, Fresh(tape.slots[v], v.nbytes))


# The same on the host.

HostArray = npt.NDArray[Any]


def _flags_on_host(v: Value) -> HostArray:
    _, size, heads = v.extra
    x = interpret.operand(v, 0, (size,))
    tiles = _tiles(size)
    flags = np.zeros(tiles * kernels.TILE, bool)
    if heads:
        flags[:1] = size > 0
        np.not_equal(x[1:], x[:-1], out=flags[1:size])
    else:
        np.not_equal(x, 0, out=flags[:size])
    counts = np.count_nonzero(flags.reshape(tiles, kernels.TILE), axis=1)
    bits = np.packbits(flags, bitorder="little").view(np.int64)
    return np.concatenate((bits, [0], np.cumsum(counts)))


def _flagged(v: Value) -> HostArray:
    runs = interpret.operand(v, 0, v.args[0].shape)
    bits = runs[: _tiles(v.extra) * _TILE_WORDS].view(np.uint8)
    return np.unpackbits(bits, count=v.extra, bitorder="little").view(bool)


def _values_on_host(v: Value) -> HostArray:
    return interpret.operand(v, 1, (v.extra,))[_flagged(v)]


def _positions_on_host(v: Value) -> HostArray:
    return np.flatnonzero(_flagged(v))


def _starts_on_host(v: Value) -> HostArray:
    return np.append(np.flatnonzero(_flagged(v)), v.extra)


def _inverse_on_host(v: Value) -> HostArray:
    result = np.empty(v.extra, dt.int64)
    result[interpret.operand(v, 1, (v.extra,))] = np.cumsum(_flagged(v)) - 1
    return result


calls.STEPS["runs_flags"] = flags_step
calls.STEPS.update(
    dict.fromkeys(("runs_values", "runs_positions", "runs_starts", "runs_inverse"), emit_step)
)
interpret.CALLS["runs_flags"] = _flags_on_host
interpret.CALLS["runs_values"] = _values_on_host
interpret.CALLS["runs_positions"] = _positions_on_host
interpret.CALLS["runs_starts"] = _starts_on_host
interpret.CALLS["runs_inverse"] = _inverse_on_host
