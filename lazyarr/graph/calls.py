"""Steps that are no generated kernel: library calls and hand-written kernels.

A call node reads its operands from memory. Each kind is one class: it makes itself from the node
when a plan is made, and runs from slots.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .. import ledger
from ..codegen.launch import Fresh, Pointer, Run, work_details
from ..runtime import host_library
from ..runtime.base import Backend, LibraryCall, MatmulCall, Operand
from ..storage.storage import Storage
from . import interpret
from .capture import Tape
from .node import Value


def operand_pointer(tape: Tape, v: Value, k: int, name: str) -> Pointer:
    """Return the pointer to operand k of a call node."""
    a = v.args[k]
    slot = tape.slots[a]
    if v.reads is None or v.reads[k] is None:
        return Pointer(slot, -1, a.dtype.itemsize, 0, "r", name)
    assert v.offsets is not None
    number = tape.operand(slot, v.reads[k], v.offsets[k])  # type: ignore[arg-type]
    return Pointer(slot, number, a.dtype.itemsize, 0, "r", name)


def address(run: Run, p: Pointer) -> int:
    storage = run.storages[p.slot]
    assert storage is not None
    moved = run.offsets[p.operand] if p.operand >= 0 else 0
    return storage.ptr + (moved + p.shift) * p.itemsize


class MatmulStep:
    """A batched matrix product: ``extra`` is (batch, m, n, k, a strides, b strides)."""

    __slots__ = ("call", "dtype", "fresh", "name", "nbytes", "pointers")

    def __init__(self, tape: Tape, v: Value) -> None:
        self.name = "matmul"
        self.dtype = v.dtype
        self.call = v.extra
        self.fresh = Fresh(tape.slots[v], v.nbytes)
        self.pointers = (
            operand_pointer(tape, v, 0, "a"),
            operand_pointer(tape, v, 1, "b"),
            Pointer(self.fresh.slot, -1, v.dtype.itemsize, 0, "w", "out"),
        )
        batch, m, n, k = self.call[:4]
        self.nbytes = batch * (m * k + k * n + m * n) * v.dtype.itemsize

    def run(self, run: Run) -> None:
        started = time.perf_counter()
        run.storages[self.fresh.slot] = out = Storage(run.backend, self.fresh.nbytes)
        batch, m, n, k, a_strides, b_strides = self.call
        if out.nbytes and k == 0:
            run.backend.fill_zero(out.ptr, out.nbytes)
        elif out.nbytes:
            a, b, _ = self.pointers
            before = run.backend.record() if ledger.sinks else None
            run.backend.matmul(
                MatmulCall(
                    self.dtype, batch, m, n, k,
                    address(run, a), a_strides, address(run, b), b_strides, out.ptr,
                )
            )  # fmt: skip
            ledger.counters.library_calls += 1
            if before is not None:
                clock = ledger.Clock(run.backend, before, run.backend.record())
                event = library_event(self.name, clock, run.cause, self.nbytes, out.nbytes)
                ledger.emit(event, started)


def library_event(
    name: str, clock: ledger.Clock, cause: str, nbytes: int, written: int
) -> ledger.Event:
    """Return the event of one library call; where the library keeps its binaries is its own."""
    details = work_details(clock, (name,), nbytes, written)
    return ledger.Event("library", name, nbytes, cause, details=details, clock=clock)


def run_library(backend: Backend, call: LibraryCall, cause: str) -> None:
    """Queue a library call, count it, and tell the traces."""
    started = time.perf_counter()
    before = backend.record() if ledger.sinks else None
    backend.library(call)
    ledger.counters.library_calls += 1
    if before is not None:
        nbytes = sum(x.nbytes for x in (*call.inputs, *call.outputs))
        written = sum(x.nbytes for x in call.outputs)
        clock = ledger.Clock(backend, before, backend.record())
        ledger.emit(library_event(call.name, clock, cause, nbytes, written), started)


class LibraryStep:
    """A function of ``base.LibraryCall`` with one input, in order, and one output.

    ``extra`` is (input shape, options).
    """

    __slots__ = ("fresh", "name", "options", "output", "pointers", "source")

    def __init__(self, tape: Tape, v: Value) -> None:
        self.name = v.spec.name
        shape, self.options = v.extra
        self.source = Operand(0, shape, v.args[0].dtype)
        self.output = Operand(0, v.shape, v.dtype)
        self.fresh = Fresh(tape.slots[v], v.nbytes)
        self.pointers = (
            operand_pointer(tape, v, 0, "in"),
            Pointer(self.fresh.slot, -1, v.dtype.itemsize, 0, "w", "out"),
        )

    @property
    def nbytes(self) -> int:
        return self.source.nbytes + self.output.nbytes

    def run(self, run: Run) -> None:
        run.storages[self.fresh.slot] = out = Storage(run.backend, self.fresh.nbytes)
        source = self.source._replace(ptr=address(run, self.pointers[0]))
        output = self.output._replace(ptr=out.ptr)
        call = LibraryCall(self.name, (source,), (output,), self.options)
        run_library(run.backend, call, run.cause)


STEPS: dict[str, Any] = {"fft": LibraryStep, "matmul": MatmulStep}


def make_step(tape: Tape, v: Value) -> Any:
    """Return the step of a call node."""
    return STEPS[v.spec.name](tape, v)


def _matmul_on_host(v: Value) -> Any:
    batch, m, n, k, a_strides, b_strides = v.extra
    a = interpret.strided_operand(v, 0, (batch, m, k), a_strides)
    b = interpret.strided_operand(v, 1, (batch, k, n), b_strides)
    with np.errstate(all="ignore"):
        return np.matmul(a, b)


def _library_on_host(v: Value) -> Any:
    shape, options = v.extra
    out = np.empty(v.shape, v.dtype)
    host_library.run(v.spec.name, [interpret.operand(v, 0, shape)], [out], options)
    return out


interpret.CALLS["fft"] = _library_on_host
interpret.CALLS["matmul"] = _matmul_on_host
