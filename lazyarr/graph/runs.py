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
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .. import _dtypes as dt
from .._devices import CPU, Device
from ..codegen import runs as kernels
from ..codegen.key import TextKey
from ..codegen.launch import Fresh, KernelStep, Pointer, Run, ceil_div, upload
from ..storage import transfer
from ..storage.storage import Storage
from . import calls, evaluate, interpret
from .calls import operand_pointer
from .capture import Tape
from .kernels import EmptyStep
from .launches import Launch
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
    at = storage.ptr + storage.nbytes - 8
    data = transfer.control_read(storage.backend, at, 8, f"count of {cause}")
    return int(data.view(np.int64)[0])


def find_values(flags: Value, elements: Value, offset: int, size: int, cause: str) -> Value | None:
    """Return the flagged ones of elements from an offset on, computed at the call; None for none.

    Forces the elements with the flags: what they share is computed once.
    """
    with _section(flags):
        evaluate.force([flags, elements], cause)
        count = count_of(flags, cause)
        if not count:
            return None
        return _computed(values_call(flags, elements, offset, size, count), cause)


def find_positions(flags: Value, size: int, cause: str) -> Value | None:
    """Return where flagged elements are, computed at the call; None for none."""
    with _section(flags):
        evaluate.force([flags], cause)
        count = count_of(flags, cause)
        if not count:
            return None
        return _computed(emit_call("positions", flags, size, (), count), cause)


@contextmanager
def _section(v: Value) -> Iterator[None]:
    """Hold the device's lock, and make it current once, for several steps."""
    if v.device is CPU:
        yield
    else:
        state = evaluate.runtime(v.device)
        with state.lock, state.backend.batch():
            yield


@functools.lru_cache(maxsize=512)
def _launch(device: Device, spec: CallSpec, widths: tuple[int, ...], size: int) -> Launch:
    """Return the launch of an emit node on a device, for any number of results."""
    pointers = [Pointer(len(widths), -1, spec.out_dtype.itemsize, 0, "w", "out")]
    for k, width in enumerate(widths):
        pointers.append(Pointer(k, k, width, 0, "r", f"in {k}"))
    key = kernels.emit_key(spec.name.removeprefix("runs_"), spec.out_dtype.itemsize)
    numbers = [size, _tiles(size)]
    grid = ceil_div(size, kernels.PART)
    return Launch(key, pointers, "qq", numbers, grid, kernels.EMIT_THREADS)


def _computed(v: Value, cause: str) -> Value:
    """Compute a node of flagged elements, whose operands are real; return it.

    No plan is made: the number of results would be in its key, and may never come again.
    """
    if v.device is CPU:
        interpret.force([v])
        return v
    state = evaluate.runtime(v.device)
    storages = [a.real for a in v.args]
    launch = _launch(v.device, v.spec, tuple(a.dtype.itemsize for a in v.args), v.extra)
    launch.kernel = state.kernel(launch.key)
    upload(state.backend, storages, tuple(range(len(storages))), cause)
    out = Storage(state.backend, v.nbytes)
    run = Run(state, [*storages, out], (), v.offsets or (0,) * len(v.args), cause)
    launch.run(run, (), v.nbytes + sum(a.nbytes for a in v.args))
    v.make_real(out)
    return v


def _step(
    tape: Tape, v: Value, key: TextKey, sizes: list[int], grid: int, block: int, tickets: int = 0
) -> KernelStep:
    slot = tape.slots[v]
    pointers = [Pointer(slot, -1, v.dtype.itemsize, 0, "w", "out")]
    pointers += [operand_pointer(tape, v, k, f"in {k}") for k in range(len(v.args))]
    nbytes = v.nbytes + sum(a.nbytes for a in v.args)
    return KernelStep(
        key, pointers, [], "q" * len(sizes), sizes, (grid, 1, 1), (block, 1, 1),
        [Fresh(slot, v.nbytes)], nbytes, outputs=1, tickets=tickets,
    )  # fmt: skip


def flags_step(tape: Tape, v: Value) -> KernelStep:
    """Flag elements, count them tile by tile, and add up the counts: one launch."""
    dtype, size, heads = v.extra
    key = kernels.flags_key(dtype, heads)
    return _step(tape, v, key, [size], _tiles(size), kernels.FLAG_THREADS, tickets=1)


def emit_step(tape: Tape, v: Value) -> KernelStep | EmptyStep:
    """Write what belongs to flagged elements, in order."""
    size = v.extra
    if v.size == 0:
        return EmptyStep([Fresh(tape.slots[v], 0)])
    key = kernels.emit_key(v.spec.name.removeprefix("runs_"), v.dtype.itemsize)
    grid = ceil_div(size, kernels.PART)
    return _step(tape, v, key, [size, _tiles(size)], grid, kernels.EMIT_THREADS)


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
