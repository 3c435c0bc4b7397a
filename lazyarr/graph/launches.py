"""Steps of several launches that share scratch memory."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from typing import NamedTuple

from .. import ledger
from ..codegen.key import TextKey
from ..codegen.launch import Fresh, Kernel, Pointer, Run, kernel_event, operations_of
from ..runtime.base import Access, Dim3
from ..storage.storage import Storage
from .calls import address


class Scratch(NamedTuple):
    """A pointer argument: memory that a step makes for its launches alone."""

    number: int
    shift: int = 0  # in bytes


class Launch:
    """One launch of a hand-written kernel: pointers first, then integers."""

    __slots__ = ("arguments", "block", "grid", "key", "kernel", "numbers", "pack")

    def __init__(
        self,
        key: TextKey,
        arguments: Sequence[Pointer | Scratch],
        codes: str,
        numbers: Sequence[int],
        grid: int,
        block: int,
    ) -> None:
        self.key = key
        self.arguments = tuple(arguments)
        self.numbers = tuple(numbers)
        self.grid: Dim3 = (grid,)
        self.block: Dim3 = (block,)
        self.pack = struct.Struct(f"@{'P' * len(arguments)}{codes}").pack
        self.kernel: Kernel | None = None

    def run(self, run: Run, scratch: Sequence[Storage], nbytes: int, written: int) -> None:
        backend = run.backend
        kernel = self.kernel
        if kernel is None:
            kernel = self.kernel = run.device.kernel(self.key)
        data = self.pack(
            *[
                scratch[a.number].ptr + a.shift if isinstance(a, Scratch) else address(run, a)
                for a in self.arguments
            ],
            *self.numbers,
        )
        accesses = self._accesses(run, scratch) if run.device.checked else None
        started = time.perf_counter()
        before = backend.record() if ledger.sinks else None
        backend.launch(kernel.function, self.grid, self.block, data, 0, accesses)
        ledger.counters.launches += 1
        if before is not None:
            event = kernel_event(
                self.key.name,
                ledger.Clock(backend, before, backend.record()),
                run.cause,
                operations=operations_of(self.key),
                nbytes=nbytes,
                written=written,
                grid=self.grid,
                block=self.block,
                binary=kernel.take_origin(),
            )
            ledger.emit(event, started)

    def _accesses(self, run: Run, scratch: Sequence[Storage]) -> list[Access]:
        result = []
        for a in self.arguments:
            if isinstance(a, Scratch):
                storage: Storage | None = scratch[a.number]
                mode, name = "rw", "scratch"
            else:
                storage = run.storages[a.slot]
                mode, name = a.mode, a.name
            assert storage is not None
            result.append(Access(storage.ptr, storage.nbytes, mode, name))
        return result


class MultiStep:
    """Launches in order. The first ``zeroed`` scratch storages start as zeros.

    Traces give every launch an equal part of the bytes that the step moves (``nbytes``) and writes
    (its results, and ``carried`` bytes of scratch).
    """

    __slots__ = (
        "fresh",
        "key",
        "launches",
        "name",
        "nbytes",
        "pointers",
        "scratch",
        "written",
        "zeroed",
    )

    def __init__(
        self,
        name: str,
        fresh: Sequence[Fresh],
        launches: Sequence[Launch],
        nbytes: int,
        scratch: Sequence[int] = (),
        zeroed: int = 0,
        carried: int = 0,
    ) -> None:
        self.name = name
        self.fresh = tuple(fresh)
        self.launches = tuple(launches)
        self.nbytes = nbytes
        self.written = sum(f.nbytes for f in self.fresh) + carried
        self.scratch = tuple(scratch)
        self.zeroed = zeroed
        self.key = launches[-1].key
        found = (a for launch in launches for a in launch.arguments if isinstance(a, Pointer))
        self.pointers: tuple[Pointer, ...] = tuple(dict.fromkeys(found))

    def run(self, run: Run) -> None:
        for f in self.fresh:
            run.storages[f.slot] = Storage(run.backend, f.nbytes)
        scratch = [Storage(run.backend, n) for n in self.scratch]
        for storage in scratch[: self.zeroed]:
            run.backend.fill_zero(storage.ptr, storage.nbytes)
        for launch in self.launches:
            parts = len(self.launches)
            launch.run(run, scratch, self.nbytes // parts, self.written // parts)
