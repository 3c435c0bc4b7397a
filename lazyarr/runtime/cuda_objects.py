"""What a CUDA backend hands out: memory, events, modules, kernels, page-locked memory.

Owns their lifetimes. Imports ``runtime.base`` and its neighbours; PyCUDA's driver module comes in
as an argument, ``drv``.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import numpy as np

from lazyarr import _config
from lazyarr.runtime.base import HostBytes, KernelError
from lazyarr.runtime.cuda_driver import Driver, Launcher
from lazyarr.runtime.cuda_process import leak
from lazyarr.runtime.finalizers import DeathCount, Last
from lazyarr.runtime.names import kernel_names
from lazyarr.runtime.staging import CHUNK, CHUNKS


class HostPool:
    """Page-locked memory for copies, within a budget; one for all devices.

    A part of the budget is kept for the chunks through which pageable memory is copied.
    """

    def __init__(self, drv: Any) -> None:
        self._error: type[Exception] = drv.Error
        given = _config.config.pinned_budget
        if given is None:
            memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
            given = min(memory // 4, 4 << 30)
        self._whole = given
        staging = CHUNKS * CHUNK
        self._budget = given - staging if given >= 8 * staging else given
        portable = drv.PageLockedAllocator(drv.host_alloc_flags.PORTABLE)
        self.pool = drv.PageLockedMemoryPool(portable)
        # Arrays on it may outlive CUDA; then nothing may free them.
        leak(self.pool)

    def allocate(self, nbytes: int) -> HostBytes | None:
        """Return page-locked memory, or None: the budget or the system has no more."""
        return self._allocate(nbytes, self._budget)

    def chunks(self) -> list[HostBytes]:
        """Return chunks to copy pageable memory through; none if there is no memory for them."""
        found = [self._allocate(CHUNK, self._whole) for _ in range(CHUNKS)]
        return [chunk for chunk in found if chunk is not None]

    def _allocate(self, nbytes: int, budget: int) -> HostBytes | None:
        pool = self.pool
        shape = (nbytes,)
        try:
            if pool.managed_bytes + nbytes <= budget:
                return self._new(shape)
            if not pool.held_blocks:
                return None
            # A block held by the pool may fit, which the pool cannot be asked.
            buffer = self._new(shape)
            if pool.managed_bytes <= budget:
                return buffer
            del buffer
            pool.free_held()
            return self._new(shape) if pool.managed_bytes + nbytes <= budget else None
        except self._error:
            return None

    def _new(self, shape: tuple[int]) -> HostBytes:
        buffer: HostBytes = self.pool.allocate(shape, np.uint8)
        return buffer


class CudaMemory:
    """One allocation; ``handle`` is PyCUDA's, and dropping it gives the block back to its pool."""

    __slots__ = ("handle", "home", "nbytes", "ptr", "size", "used_on")

    def __init__(self, ptr: int, nbytes: int, size: int, handle: Any, home: Any) -> None:
        self.ptr = ptr
        self.nbytes = nbytes  # what was asked for
        self.size = size  # what was allocated
        self.handle = handle
        self.home = home  # the stream whose pool it belongs to
        self.used_on: int = home.handle


class CudaEvent:
    """A point in a stream. Its driver handle is used again once it is collected."""

    __slots__ = ("_driver", "_idle", "_last", "handle")

    def __init__(self, driver: Driver, idle: list[int], handle: int) -> None:
        self._driver = driver
        self._idle = idle
        self.handle = handle
        self._last: Any = None

    def synchronize(self) -> None:
        """Wait until the device has reached this point."""
        self._driver.synchronize_event(self.handle)

    def done(self) -> bool:
        """Whether the device has reached this point."""
        return self._driver.event_done(self.handle)

    def milliseconds_since(self, earlier: CudaEvent) -> float:
        """Return the device's time between two events that were reached."""
        return self._driver.milliseconds(earlier.handle, self.handle)

    def __del__(self) -> None:
        if _event_deaths.is_referenced(sys.getrefcount(self)):
            self._last = Last(self._idle.append, self.handle)
        else:
            self._idle.append(self.handle)


_event_deaths: Final = DeathCount()


class CudaFunction:
    """A kernel: ``start`` is PyCUDA's raw launch."""

    __slots__ = ("_launcher", "_module", "_raw", "name", "shared_limit", "start", "symbol")

    def __init__(self, module: CudaModule, name: str, symbol: str, raw: Any) -> None:
        limit = module.drv.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
        self.name = name
        self.symbol = symbol
        self.start = raw._launch_kernel
        self.shared_limit: int = raw.get_attribute(limit)
        self._raw = raw
        self._module = module
        self._launcher: Launcher | None = None

    def allow_shared(self, nbytes: int) -> None:
        """Let launches use this much dynamic shared memory: CUDA wants to be told above 48 KiB."""
        drv = self._module.drv
        limit = drv.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
        try:
            self._raw.set_attribute(limit, nbytes)
        except drv.Error as error:
            raise KernelError(
                f"kernel {self.name!r} cannot have {nbytes} bytes of shared memory: {error}"
            ) from error
        if self._launcher is not None:
            self._launcher.allow_shared(nbytes)
        self.shared_limit = nbytes

    def launcher(self) -> Launcher:
        """Return the same kernel for streams that are not PyCUDA's."""
        if self._launcher is None:
            module = self._module
            self._launcher = module.driver.launcher(module.handle(), self.symbol, self.name)
            self._launcher.allow_shared(self.shared_limit)
        return self._launcher


class CudaModule:
    """A loaded binary.

    PyCUDA unloads it when the last reference to ``raw`` goes, and needs its context for that:
    wherever the module dies, ``give_back`` gets ``raw``, and drops it where the context is current.
    """

    def __init__(
        self,
        drv: Any,
        driver: Driver,
        source: str,
        binary: bytes,
        raw: Any,
        give_back: Callable[[Any], None],
    ) -> None:
        self.drv = drv
        self.driver = driver
        self.names = kernel_names(source)
        self.cached = False
        self.build_seconds = 0.0
        self.counted = False
        self._binary = binary
        self._raw = raw
        self._functions: dict[str, CudaFunction] = {}
        self._handle = 0
        self._last = Last(give_back, raw)

    def function(self, name: str) -> CudaFunction:
        """Return the kernel, or raise ``KeyError`` whose text lists the names that exist."""
        found = self._functions.get(name)
        if found is None:
            for symbol in (name, *self._mangled(name)):
                with suppress(self.drv.LogicError):
                    raw = self._raw.get_function(symbol)
                    found = self._functions[name] = CudaFunction(self, name, symbol, raw)
                    return found
            names = ", ".join(map(repr, self.names)) or "none"
            raise KeyError(f"the source has no kernel {name!r}; its kernels: {names}")
        return found

    def _mangled(self, name: str) -> tuple[str, ...]:
        """Return the C++ symbol of a kernel declared without extern "C", if there is just one."""
        pattern = rf"\b_Z{len(name)}{re.escape(name)}\w*".encode()
        symbols = set(re.findall(pattern, self._binary))
        return (symbols.pop().decode(),) if len(symbols) == 1 else ()

    def handle(self) -> int:
        """Return the driver's handle of the same binary, loaded a second time when first needed."""
        if not self._handle:
            self._handle = self.driver.load(self._binary)
        return self._handle


def stream_handle(stream: Any) -> int:
    """Return the handle of a stream of any library."""
    if stream is None:
        return 0
    if isinstance(stream, int):
        handle = stream
    elif hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        handle = int((protocol() if callable(protocol) else protocol)[1])
    else:
        for name in ("cuda_stream", "ptr", "handle"):  # torch, CuPy, PyCUDA
            if hasattr(stream, name):
                handle = int(getattr(stream, name))
                break
        else:
            raise TypeError(f"not a CUDA stream: {stream!r}")
    return 0 if handle == 1 else handle  # 1: the runtime's name for the null stream
