"""``SimBackend``: the ``Backend`` protocol on the CPU.

Imports ``base``, ``cache`` and this package. Everything is done when a call returns, so streams
and events are trivial.
"""

from __future__ import annotations

import contextlib
import platform
import time
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import host_library
from ..base import (
    Access,
    Dim3,
    HostBytes,
    KernelError,
    LibraryCall,
    MatmulCall,
    MemoryInfo,
    Operand,
)
from ..budget import Budget
from ..cache import open_cache
from ..locks import Rank, make_lock
from . import compiler as compiler_module
from .library import SimFunction, SimModule
from .memory import Block, Pool


class SimEvent:
    """The time at which it was recorded; all earlier work was done by then."""

    def __init__(self) -> None:
        self._seconds = time.perf_counter()

    def synchronize(self) -> None:
        """Return at once."""

    def done(self) -> bool:
        """Whether it lies in the past: always."""
        return True

    def milliseconds_since(self, earlier: SimEvent) -> float:
        """Return the milliseconds between the two events."""
        return (self._seconds - earlier._seconds) * 1e3


class _Ahead(SimEvent):
    """The end of a copy that is made when somebody waits for it, or after the next launch.

    So who does not wait reads poison, and what is written too early is overwritten.
    """

    def __init__(self, pool: Pool, destination: int, source: HostBytes) -> None:
        super().__init__()
        self._waiting: tuple[Pool, int, HostBytes] | None = (pool, destination, source)

    def synchronize(self) -> None:
        """Make the copy."""
        if self._waiting is not None:
            pool, destination, source = self._waiting
            self._waiting = None
            pool.bytes_at(destination, source.nbytes, "copy to the device")[:] = source

    def done(self) -> bool:
        """Whether the copy was made."""
        return self._waiting is None


class _Batch:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def __enter__(self) -> None:
        self._pool.drain()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None


class SimBackend:
    """One simulated device.

    Parameters
    ----------
    ordinal
        Its number. Devices share nothing: each has its own memory.

    Raises
    ------
    DeviceUnavailableError
        If there is no C++ compiler.
    """

    kind = "sim"
    checked = True
    many_streams = False
    ahead_stream = 0
    many_threads = False
    memory_total = 1 << 34
    stream_handle = 0

    def __init__(self, ordinal: int = 0) -> None:
        self.ordinal = ordinal
        self.target = f"sim-{platform.machine()}"
        self._compiler = compiler_module.find_compiler()
        self._cache = open_cache()
        self._pool = Pool(f"sim:{ordinal}")
        self.budget = Budget(f"sim:{ordinal}" if ordinal else "sim", self.memory_total)
        self._batch = _Batch(self._pool)
        self._ahead: list[weakref.ref[_Ahead]] = []
        self._lock = make_lock(Rank.COMPILE)
        # Weak: a module that nobody uses is unloaded.
        self._modules: weakref.WeakValueDictionary[bytes, SimModule] = weakref.WeakValueDictionary()

    def batch(self) -> _Batch:
        """Drain releases; there is no context to make current."""
        return self._batch

    def allocate(self, nbytes: int) -> Block:
        """Return poisoned memory, aligned to 256 bytes, with a gap on both sides.

        Raises
        ------
        OutOfMemoryError
            If the limit, or the host, does not allow it whatever is spilled.
        """
        pool = self._pool
        budget = self.budget
        if budget.limit is not None and pool.used + nbytes > budget.limit:
            budget.keep_to_limit(nbytes, lambda: pool.used, pool.drain)
        try:
            return pool.allocate(nbytes)
        except MemoryError as error:
            raise budget.error(nbytes, str(error)) from error

    def set_limit(self, limit: int | None) -> None:
        """Bound the bytes of live allocations."""
        self.budget.limit = limit

    def release(self, memory: Any) -> None:
        """Queue the memory to be freed. Safe in a finalizer, in any thread."""
        self._pool.release(memory)

    def host_buffer(self, nbytes: int) -> HostBytes:
        """Return ordinary host memory."""
        return np.empty(nbytes, np.uint8)

    def copy_to_device(self, destination: int, source: HostBytes) -> None:
        """Copy host bytes to a device address; done at return."""
        if source.nbytes:
            self._pool.bytes_at(destination, source.nbytes, "copy to the device")[:] = source

    def upload_ahead(self, destination: int, source: HostBytes) -> tuple[SimEvent, SimEvent]:
        """Prepare a copy to a device address; ``wait`` makes it."""
        end = _Ahead(self._pool, destination, source)
        self._ahead.append(weakref.ref(end))  # memory that is not needed any more drops it
        return SimEvent(), end

    def _finish_ahead(self) -> None:
        while self._ahead:
            end = self._ahead.pop()()
            if end is not None:
                end.synchronize()

    def wait(self, event: SimEvent) -> None:
        """Wait for an event."""
        event.synchronize()

    def copy_to_host(self, destination: HostBytes, source: int) -> None:
        """Copy device bytes to the host."""
        if destination.nbytes:
            destination[:] = self._pool.bytes_at(source, destination.nbytes, "copy to the host")

    def copy_on_device(self, destination: int, source: int, nbytes: int) -> None:
        """Copy within the device; the two sides may overlap."""
        if nbytes:
            data = self._pool.bytes_at(source, nbytes, "source of a copy on the device")
            self._pool.bytes_at(destination, nbytes, "target of a copy on the device")[:] = data

    def fill_zero(self, destination: int, nbytes: int) -> None:
        """Set bytes to zero."""
        if nbytes:
            self._pool.bytes_at(destination, nbytes, "fill with zeros")[:] = 0

    def compile(self, source: str, options: Sequence[str] = ()) -> SimModule:
        """Compile CUDA C, or take it from memory or the disk cache.

        A module that is still in use is returned again, unless it has ``__device__`` or
        ``__constant__`` variables: those belong to one load.

        Raises
        ------
        CompileError
            With the compiler's message, the line number and the line.
        """
        key = compiler_module.cache_key(self._compiler, source, options)
        with self._lock:
            module = self._modules.get(key)
            if module is not None:
                return module
            start = time.perf_counter()
            module = None
            binary = self._cache.get(key)
            if binary is not None:
                # A cache may come from a system whose libraries this one lacks.
                with contextlib.suppress(OSError):
                    module = SimModule(binary, True, time.perf_counter() - start)
            if module is None:
                machine = self._machine()
                binary = compiler_module.build(self._compiler, source, options, machine)
                self._cache.put(key, binary)
                module = SimModule(binary, False, time.perf_counter() - start)
            if not module.stateful:
                self._modules[key] = module
            return module

    def on_disk(self, source: str, options: Sequence[str] = ()) -> bool:
        """Whether the disk cache has the binary."""
        key = compiler_module.cache_key(self._compiler, source, options)
        return self._cache.get(key) is not None

    def _machine(self) -> bytes:
        key = compiler_module.machine_key(self._compiler)
        machine = self._cache.get(key)
        if machine is None:
            machine = compiler_module.build_machine(self._compiler)
            self._cache.put(key, machine)
        return machine

    def launch(
        self,
        function: SimFunction,
        grid: Dim3,
        block: Dim3,
        arguments: bytes,
        shared: int = 0,
        accesses: Sequence[Access] | None = None,
    ) -> None:
        """Run one launch to its end, every access checked against ``accesses``.

        Raises
        ------
        KernelError
            If the kernel did what a GPU would not allow, or the launch itself is not possible. The
            offending access is not performed, and the device stays usable.
        """
        if accesses is None:
            raise TypeError("the sim device needs the accesses of a launch")
        for access in accesses:
            if access.nbytes:
                self._check_access(function, access)
        function.module.launch(function, grid, block, arguments, shared, accesses)
        self._finish_ahead()

    def _check_access(self, function: SimFunction, access: Access) -> None:
        try:
            self._pool.bytes_at(access.ptr, access.nbytes, f"argument '{access.name}'")
        except ValueError as error:
            raise KernelError(f"kernel '{function.name}': {error}") from None

    def record(self) -> SimEvent:
        """Return an event of now."""
        return SimEvent()

    def wait_for_stream(self, handle: int) -> None:
        """Do nothing: there is one stream."""

    def synchronize(self) -> None:
        """Finish uploads that run ahead: nothing else is ever pending."""
        self._finish_ahead()

    def memory_info(self) -> MemoryInfo:
        """Return what is allocated; ``pooled`` includes freed blocks kept to show late uses."""
        budget = self.budget
        info = self._pool.info()
        return info._replace(
            limit=budget.limit, spilled=budget.bytes_spilled, returned=budget.bytes_returned
        )

    def copy_rate(self) -> None:
        """Return None: kernels that are checked access by access have no ceiling."""

    def free_cached(self) -> None:
        """Give the freed blocks back to the system."""
        self._pool.free_cached()

    def matmul(self, call: MatmulCall) -> None:
        """Compute the batched product with NumPy on the simulated memory."""
        if 0 in (call.batch, call.m, call.n):
            return
        out_strides = (call.m * call.n, call.n, 1)
        out = self._matrices(call.dtype, call.out, (call.batch, call.m, call.n), out_strides, "out")
        if call.k == 0:
            out[...] = 0
            return
        a = self._matrices(call.dtype, call.a, (call.batch, call.m, call.k), call.a_strides, "a")
        b = self._matrices(call.dtype, call.b, (call.batch, call.k, call.n), call.b_strides, "b")
        np.matmul(a, b, out=out)

    def _matrices(
        self,
        dtype: np.dtype[Any],
        ptr: int,
        shape: tuple[int, int, int],
        strides: tuple[int, int, int],
        name: str,
    ) -> npt.NDArray[Any]:
        last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        data = self._pool.bytes_at(ptr, (last + 1) * dtype.itemsize, f"matmul operand '{name}'")
        steps = tuple(s * dtype.itemsize for s in strides)
        return np.ndarray(shape, dtype, data.data, 0, steps)

    def has_library(self, name: str) -> bool:
        """Whether the table of NumPy functions has the name."""
        return name in host_library.FUNCTIONS

    def library(self, call: LibraryCall) -> None:
        """Run the function with NumPy on the simulated memory."""
        inputs = [self._operand(call.name, x) for x in call.inputs]
        for x in inputs:
            x.flags.writeable = False
        outputs = [self._operand(call.name, x) for x in call.outputs]
        host_library.run(call.name, inputs, outputs, call.options)

    def _operand(self, name: str, operand: Operand) -> npt.NDArray[Any]:
        data = self._pool.bytes_at(operand.ptr, operand.nbytes, f"operand of {name!r}")
        return data.view(operand.dtype).reshape(operand.shape)
