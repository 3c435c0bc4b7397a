"""Kernels ready to launch: compiled once a key, packed and launched from a plan.

A ``KernelStep`` belongs to a plan and knows slots, not values: ``Run`` says which storage, scalar
and offset each slot holds this time. Packing follows C's alignment (``struct``'s native mode),
which is that of kernel parameters.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from .. import _dtypes as dt
from .. import ledger
from .._config import EAGER
from .._devices import Device
from ..ledger import counters
from ..runtime.base import Access, Backend, Dim3
from ..storage.checks import SLOT_BYTES, Check, ErrorSlots
from ..storage.storage import DEVICE, Storage, uses
from .emit import NAME, emit_box, emit_map
from .key import Apply, BoxKey, DType, KernelKey, MapKey, PassesKey, TextKey, is_checked
from .passes import emit_passes
from .reduce import emit_reduce
from .rows import emit_box_rows, emit_rows, emit_spread

# Where the binary of a launch comes from.
MEMORY: Final = "memory"
DISK_CACHE: Final = "disk cache"
COMPILER: Final = "compiler"


class Run:
    """One execution of a plan: what its slots hold."""

    __slots__ = ("backend", "cause", "device", "offsets", "scalars", "storages")

    def __init__(
        self,
        device: DeviceState,
        storages: list[Storage | None],
        scalars: Sequence[Any],
        offsets: Sequence[int],
        cause: str,
    ) -> None:
        self.device = device
        self.backend = device.backend
        self.storages = storages
        self.scalars = scalars
        self.offsets = offsets
        self.cause = cause


class DeviceState:
    """What launches need of a device: its backend, its compiled kernels, its tickets."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.checked: bool = backend.checked
        self.kernels: dict[KernelKey, Kernel] = {}
        self.slots = ErrorSlots(backend)
        self._tickets: dict[int, Storage] = {}

    def kernel(self, key: KernelKey) -> Kernel:
        """Return the compiled kernel of a key, compiling it the first time."""
        found = self.kernels.get(key)
        if found is None:
            source = source_of(key)
            function = key.function if isinstance(key, TextKey) else NAME
            found = Kernel(self.backend, source, describe(key), function)
            self.kernels[key] = found
        return found

    def tickets(self, count: int) -> Storage:
        """Return at least ``count`` counters, zero between launches of the current stream."""
        stream = self.backend.stream_handle
        found = self._tickets.get(stream)
        if found is None or found.nbytes < 4 * count:
            found = Storage(self.backend, max(4 * count, 4096))
            self.backend.fill_zero(found.ptr, found.nbytes)
            self._tickets[stream] = found
        return found


def _checked(key: KernelKey) -> bool:
    """Whether a kernel records indices that are out of range."""
    if isinstance(key, TextKey):
        return False
    return is_checked(key.inside.body if isinstance(key, BoxKey) else key.body)


def source_of(key: KernelKey) -> str:
    """Return the CUDA C of a kernel key."""
    if isinstance(key, MapKey):
        return emit_rows(key) if key.rows else emit_spread(key) if key.spread else emit_map(key)
    if isinstance(key, BoxKey):
        return emit_box_rows(key) if key.inside.rows else emit_box(key)
    if isinstance(key, PassesKey):
        return emit_passes(key)
    if isinstance(key, TextKey):
        return key.text
    return emit_reduce(key)


def operations_of(key: KernelKey) -> list[str]:
    """Return the names of the operations that a kernel fuses."""
    if isinstance(key, TextKey):
        return [key.name]
    if isinstance(key, BoxKey):
        return operations_of(key.inside) + operations_of(key.outside)
    names = [i.spec.op.name for i in key.body if isinstance(i, Apply)]
    if not isinstance(key, MapKey):
        names += [spec.op.name for spec, _ in key.reductions]
    return names


def describe(key: KernelKey) -> str:
    """Return a short name for traces: the first operations that a kernel fuses."""
    if isinstance(key, BoxKey):
        return f"box({describe(key.inside)})"
    names = operations_of(key)
    if len(names) > 8:
        names = [*names[:7], f"{len(names) - 7} more"]
    return "+".join(names) or "copy"


class Kernel:
    """A compiled kernel: the loaded function and where it came from.

    ``origin`` is for the next launch that is traced: where this kernel's binary came from if a
    trace saw it loaded, and "memory" for every later launch.
    """

    __slots__ = ("cached", "function", "name", "origin", "seconds", "source")

    def __init__(self, backend: Backend, source: str, name: str, function: str) -> None:
        started = time.perf_counter()
        self.name = name
        self.source = source
        module = backend.compile(source)
        self.function = module.function(function)
        self.cached = module.cached
        self.seconds = time.perf_counter() - started
        self.origin = MEMORY
        if not module.cached:
            ledger.counters.compiles += 1
        if ledger.sinks:
            self.origin = DISK_CACHE if self.cached else COMPILER
            ledger.emit(ledger.Event("compile", name, len(source), self.origin), started)

    def take_origin(self) -> str:
        """Return where the binary of a launch comes from; ask once a launch."""
        origin = self.origin
        self.origin = MEMORY
        return origin


def work_details(
    clock: ledger.Clock, operations: Sequence[str], nbytes: int, written: int
) -> dict[str, Any]:
    """Return what the events of launches and of library calls say in common."""
    return {
        "device": str(Device(clock.backend.kind, clock.backend.ordinal)),
        "operations": tuple(operations),
        "read": nbytes - written,
        "written": written,
    }


def kernel_event(
    name: str,
    clock: ledger.Clock,
    cause: str,
    *,
    operations: Sequence[str],
    nbytes: int,
    written: int,
    grid: Dim3,
    block: Dim3,
    binary: str,
) -> ledger.Event:
    """Return the event of one launch."""
    details = work_details(clock, operations, nbytes, written)
    details |= {"grid": grid, "block": block, "binary": binary}
    return ledger.Event("kernel", name, nbytes, cause, details=details, clock=clock)


class Pointer(NamedTuple):
    """A pointer argument: a slot's storage, moved by an operand's offset and a fixed one."""

    slot: int
    operand: int  # index into Run.offsets, or -1
    itemsize: int
    shift: int  # in elements
    mode: str  # "r", "w", "rw"
    name: str


class Fresh(NamedTuple):
    """A storage that a step makes for a slot."""

    slot: int
    nbytes: int


def scalar_codes(dtypes: Sequence[DType]) -> str:
    return "".join(dt.struct_code(d) for d in dtypes)


def _trimmed(extents: Dim3) -> Dim3:
    """Return extents without ones at the end: each that PyCUDA converts costs 0.1 us."""
    while len(extents) > 1 and extents[-1] == 1:
        extents = extents[:-1]
    return extents


def _packed_tail(head: str, codes: str, values: Sequence[int]) -> bytes:
    """Return the constant end of a parameter block, with the padding that precedes it."""
    start = struct.calcsize(head)
    return struct.pack(f"@{start}x0{codes[0]}{codes}", *values)[start:]


class KernelStep:
    """One launch of a generated kernel."""

    __slots__ = (
        "block",
        "checked",
        "grid",
        "kernel",
        "key",
        "made",
        "moved",
        "moves",
        "name",
        "nbytes",
        "pack",
        "plain",
        "pointers",
        "scalars",
        "scratch",
        "sizes",
        "slots",
        "tail",
        "tickets",
        "written",
    )

    def __init__(
        self,
        key: KernelKey,
        pointers: Sequence[Pointer],
        scalars: Sequence[tuple[int, DType]],
        tail_codes: str,
        tail: Sequence[int],
        grid: Dim3,
        block: Dim3,
        fresh: Sequence[Fresh],
        nbytes: int,
        *,
        outputs: int,
        scratch: Sequence[int] = (),
        tickets: int = 0,
        stored: int = 0,  # bytes written into storages that exist already
    ) -> None:
        self.key = key
        self.name = describe(key)
        self.pointers = tuple(pointers)
        self.slots: list[int] = [p.slot for p in pointers]
        # Which pointers are moved from their storage's start, and how.
        self.moves: list[tuple[int, int, int, int]] = [
            (k, p.operand, p.itemsize, p.shift)
            for k, p in enumerate(pointers)
            if p.operand >= 0 or p.shift
        ]
        self.scalars = tuple(n for n, _ in scalars)
        self.grid = _trimmed(grid)
        self.block = _trimmed(block)
        self.made: list[int] = [f.slot for f in fresh]
        self.sizes: list[int] = [f.nbytes for f in fresh]
        self.nbytes = nbytes
        self.written = sum(self.sizes) + stored
        self.scratch = tuple(scratch)
        self.tickets = tickets
        self.kernel: Kernel | None = None
        # Outputs, then scratch and tickets, then operands: the order of the signature.
        self.checked = _checked(key)
        extra = len(self.scratch) + (1 if tickets else 0) + (1 if self.checked else 0)
        self.moved = outputs
        head = "@" + "P" * (len(self.pointers) + extra) + scalar_codes([d for _, d in scalars])
        self.pack = struct.Struct(head).pack
        self.tail = _packed_tail(head, tail_codes, tail)
        # One new output, and pointers to the starts of storages: the arguments are no more.
        self.plain = not (self.moves or self.scalars or extra) and len(self.made) == 1

    def run_plain(
        self, device: DeviceState, storages: list[Storage | None], nbytes: int = -1
    ) -> Storage:
        """Do what ``run`` does, for a plain step and without a trace; return the output.

        ``nbytes`` is the output's size, where that is known only now.
        """
        backend = device.backend
        size = nbytes if nbytes >= 0 else self.sizes[0]
        made = storages[self.made[0]] = Storage(backend, size)
        values: list[Any] = []
        for slot in self.slots:
            storage = storages[slot]
            assert storage is not None
            values.append(storage.ptr)
        kernel = self.kernel
        if kernel is None:
            kernel = self.kernel = device.kernel(self.key)
        accesses = self._accesses(storages, None, None) if device.checked else None
        backend.launch(
            kernel.function, self.grid, self.block, self.pack(*values) + self.tail, 0, accesses
        )
        counters.launches += 1
        return made

    def run(self, run: Run) -> None:
        """Allocate the outputs, pack and launch."""
        backend = run.backend
        storages = run.storages
        for k, slot in enumerate(self.made):
            storages[slot] = Storage(backend, self.sizes[k])
        values: list[Any] = []
        for slot in self.slots:
            storage = storages[slot]
            assert storage is not None
            values.append(storage.ptr)
        for k, operand, itemsize, shift in self.moves:
            values[k] += ((run.offsets[operand] if operand >= 0 else 0) + shift) * itemsize
        check = run.device.slots.new() if self.checked else None
        helped = bool(self.scratch) or self.tickets > 0 or self.checked
        held = self._scratch(run, values, check) if helped else None
        for n in self.scalars:
            value = run.scalars[n]
            if type(value) is complex:
                values += (value.real, value.imag)
            else:
                values.append(value)
        kernel = self.kernel
        if kernel is None:
            kernel = self.kernel = run.device.kernel(self.key)
        accesses = self._accesses(storages, held, check) if run.device.checked else None
        if counters.sinks:
            self._traced(run, kernel, values, accesses)
        else:
            backend.launch(
                kernel.function, self.grid, self.block, self.pack(*values) + self.tail, 0, accesses
            )
        counters.launches += 1
        if check is not None:
            for slot in self.made:
                storages[slot].add_checks([check])  # type: ignore[union-attr]
            if EAGER[0]:
                check.verify()

    def _traced(
        self, run: Run, kernel: Kernel, values: list[Any], accesses: list[Access] | None
    ) -> None:
        started = time.perf_counter()
        before = run.backend.record()
        run.backend.launch(
            kernel.function, self.grid, self.block, self.pack(*values) + self.tail, 0, accesses
        )
        event = kernel_event(
            self.name,
            ledger.Clock(run.backend, before, run.backend.record()),
            run.cause,
            operations=operations_of(self.key),
            nbytes=self.nbytes,
            written=self.written,
            grid=self.grid,
            block=self.block,
            binary=kernel.take_origin(),
        )
        ledger.emit(event, started)

    def _scratch(self, run: Run, values: list[Any], check: Check | None) -> list[Storage]:
        """Insert the pointers of partial results, tickets and error slot after the outputs."""
        made = [Storage(run.backend, n) for n in self.scratch]
        if self.tickets:
            made.append(run.device.tickets(self.tickets))
        pointers = [s.ptr for s in made]
        if check is not None:
            pointers.append(check.ptr)
        values[self.moved : self.moved] = pointers
        return made

    def _accesses(
        self,
        storages: Sequence[Storage | None],
        scratch: list[Storage] | None,
        check: Check | None,
    ) -> list[Access]:
        result = []
        for p in self.pointers:
            storage = storages[p.slot]
            assert storage is not None
            result.append(Access(storage.ptr, storage.nbytes, p.mode, p.name))
        for s in scratch or ():
            result.append(Access(s.ptr, s.nbytes, "rw", "scratch"))
        if check is not None:
            result.append(Access(check.ptr, SLOT_BYTES, "rw", "error slot"))
        return result


def run_watched(step: Any, run: Run) -> None:
    """Run a step whose operands may depend on indices that nobody has looked at yet.

    New results depend on them too. A store in place waits for the outcome first.
    """
    storages = run.storages
    found: list[Any] = []
    made: list[int] = []
    in_place = False
    for p in step.pointers:
        storage = storages[p.slot]
        if storage is None:
            made.append(p.slot)
            continue
        in_place = in_place or p.mode != "r"
        if storage.checks is not None:
            found += [check for check in storage.checks if check not in found]
    if in_place:
        for check in found:
            check.verify()
        found = []
    step.run(run)
    if found:
        for slot in made:
            storages[slot].add_checks(found)  # type: ignore[union-attr]


def upload(
    backend: Backend, storages: list[Storage | None], slots: tuple[int, ...], cause: str
) -> None:
    """Make the device copies of a plan's leaves valid; the only copies that a plan can cause."""
    many_streams: bool = backend.many_streams
    noted = uses.on
    if noted:
        uses.now += 1
    for slot in slots:
        storage = storages[slot]
        assert storage is not None
        if noted:
            storage.used = uses.now
        if storage.location is not DEVICE:
            storage.device_read(cause)
        if many_streams:
            storage.join_stream()


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)
