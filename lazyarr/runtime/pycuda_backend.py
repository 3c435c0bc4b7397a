"""CUDA through PyCUDA: contexts, memory, modules, launches, copies. No other file imports it.

Owns ``CudaBackend``. Imports the rest of ``runtime``; ``pycuda`` only when a device is looked for.
Importing this module makes no CUDA call.

What PyCUDA asks of its user, and how it is met here:

* Its stack of contexts is per thread, and the process aborts if a thread ends with one pushed.
  A context is pushed by ``_Batch`` alone, in balance.
* A context object belongs to the thread that made it; elsewhere its clean-up does nothing. A
  short-lived thread makes ours, so that ``detach`` is no more than "stay quiet" everywhere.
* The last block a pool gives back makes it look for a current context, and throws in a destructor
  if there is none. Every pool keeps one block for good, so no finalizer gets there.
"""

from __future__ import annotations

import gc
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final

import numpy as np

from lazyarr.runtime import cuda_process, nvrtc, staging
from lazyarr.runtime.base import (
    ANY_STREAM,
    Access,
    CompileError,
    DeviceLostError,
    DeviceUnavailableError,
    Dim3,
    HostBytes,
    KernelError,
    LibraryCall,
    MatmulCall,
    Memory,
    MemoryInfo,
)
from lazyarr.runtime.budget import Budget
from lazyarr.runtime.cache import open_cache
from lazyarr.runtime.copy_rate import measured_copy_rate
from lazyarr.runtime.cuda_driver import Driver, Faults, is_kernel_failure
from lazyarr.runtime.cuda_fft import Fft
from lazyarr.runtime.cuda_libraries import Blas
from lazyarr.runtime.cuda_objects import (
    CudaEvent,
    CudaFunction,
    CudaMemory,
    CudaModule,
    HostPool,
    stream_handle,
)
from lazyarr.runtime.cuda_solver import Solver
from lazyarr.runtime.staging import STAGED_FROM

# An event costs as much as a small upload, so uploads share one, up to so many and so large.
_SHARED_EVENT: Final = 16
_SHARED_BYTES: Final = 1 << 16
_SMALLEST: Final = 256
# Small blocks are kept ready, by size: PyCUDA's pool takes a microsecond to give one.
_KEPT_BYTES: Final = 1 << 18
_KEPT_BLOCKS: Final = 16
# Waiting for the device is put off until so many blocks, or this part of the memory, need it.
_AWAY_BLOCKS: Final = 256
_AWAY_SHARE: Final = 64
_FREE: Final = -2  # as ``used_on``: of memory that was given back
_BINDINGS: Final = frozenset({"nvmath", "cuda"})  # packages whose exceptions may hide a lost device

_drv: Any = None  # pycuda.driver, once CUDA is initialised
_host_pool: HostPool | None = None


def _load() -> Any:
    """Import PyCUDA's driver module and initialise CUDA."""
    global _drv
    if _drv is None:
        import pycuda.driver

        if open_cache().is_empty():
            nvrtc.load_ahead()  # while the driver starts, and makes a context
        cuda_process.process.started = True
        pycuda.driver.init()
        _drv = pycuda.driver
    return _drv


def available() -> list[int] | str:
    """Return the ordinals of the GPUs, or what is missing. Leaves no context current."""
    try:
        with cuda_process.busy():
            count = _load().Device.count()
    except ImportError as error:
        if "libcuda" in str(error):
            return f"the NVIDIA driver was not found ({error})"
        return f"PyCUDA cannot be imported ({error}): pip install 'lazyarr[cuda13]'"
    except DeviceUnavailableError as error:
        return str(error)
    except _pycuda_error() as error:
        return f"the CUDA driver found no usable GPU ({error})"
    return list(range(count)) if count else "the CUDA driver found no GPU"


def _pycuda_error() -> type[Exception]:
    import pycuda.driver

    error: type[Exception] = pycuda.driver.Error
    return error


def _page_locked_pool() -> HostPool:
    """Return the pool of page-locked memory, making it at the first call, in a batch."""
    global _host_pool
    if _host_pool is None:
        _host_pool = HostPool(_drv)
    return _host_pool


def _is_page_locked(array: Any) -> bool:
    """Whether an array lies in memory that ``host_buffer`` gave."""
    while type(array) is np.ndarray:
        array = array.base
    return isinstance(array, _drv.PooledHostAllocation)


class _Stream:
    """A stream as launches and allocations need it. ``pycuda``: the argument PyCUDA takes."""

    __slots__ = ("allocate", "blocks", "foreign", "handle", "pycuda")

    def __init__(
        self,
        handle: int,
        pycuda: Any,
        foreign: bool,
        pool: Any,
        blocks: dict[int, list[CudaMemory]],
    ) -> None:
        self.handle = handle
        self.pycuda = pycuda
        self.foreign = foreign
        self.allocate = pool.allocate
        self.blocks = blocks


class _Batch:
    """Makes one backend's context current in one thread, as often as it is entered.

    Where a kernel has ruined the context, entering raises, with the explanation; and what PyCUDA
    and the libraries raise for it inside becomes that explanation on the way out.
    """

    __slots__ = (
        "_backend",
        "_depth",
        "_faults",
        "_outer",
        "_pop",
        "_process",
        "_push",
        "_released",
        "_here",
    )

    def __init__(self, backend: CudaBackend) -> None:
        self._backend = backend
        self._faults = backend.driver.faults
        self._push = backend.context.push
        self._pop = backend.context.pop
        self._released = backend.released
        self._process = cuda_process.process
        self._here = cuda_process.this_thread()
        self._depth = 0
        # Batches of other devices may lie between two of ours: each entry remembers both.
        self._outer: list[tuple[cuda_process.Batch, int]] = []

    def __enter__(self) -> None:
        thread = self._here
        outer = thread.batch
        if outer is self:
            self._depth += 1
        else:
            # Set before `closed` is looked at: the exit handler does the two in reverse.
            thread.batch = self
            try:
                if self._process.closed:
                    self._process.refuse()
                if self._faults.lost:
                    self._faults.refuse()
                self._push()
            except BaseException:
                thread.batch = outer
                raise
            if outer is not None:
                self._outer.append((outer, self._depth))
            self._depth = 1
        if self._released:
            try:
                self._backend.drain()
            except BaseException:
                self.__exit__(None, None, None)
                raise

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._depth -= 1
        if not self._depth:
            lost = None if error is None else self._backend.lost_by(error)
            try:
                self._pop()
            finally:
                if self._outer:
                    self._here.batch, self._depth = self._outer.pop()
                else:
                    self._here.batch = None
            if lost is not None:
                raise lost

    def unwind(self) -> None:
        """Leave the batch at whatever depth it was entered."""
        self._depth = 1
        self.__exit__(None, None, None)


class CudaBackend:
    """One GPU on its primary context, which torch, CuPy and JAX use too. See ``base.Backend``."""

    kind = "cuda"
    checked = False

    def __init__(self, ordinal: int = 0) -> None:
        found = available()
        if isinstance(found, str):
            raise DeviceUnavailableError(f"device cuda:{ordinal} is not available: {found}")
        if ordinal not in found:
            raise DeviceUnavailableError(
                f"device cuda:{ordinal} is not available: the GPUs here are "
                + ", ".join(f"cuda:{n}" for n in found)
            )
        self.ordinal = ordinal
        self.released: deque[Any] = deque()
        self._idle_events: list[int] = []
        faults = Faults(f"cuda:{ordinal}")
        self.driver = Driver(faults)
        self.launched = faults.launched
        self._in_flight: deque[tuple[CudaEvent, list[HostBytes]]] = deque()
        self._unrecorded: list[HostBytes] = []
        self._unrecorded_bytes = 0
        self._copies = threading.RLock()  # over the three above, and the count of live streams
        self._modules: dict[tuple[str, tuple[str, ...]], CudaModule] = {}
        self._pools: dict[int, Any] = {}
        self._blocks: dict[int, dict[int, list[CudaMemory]]] = {}
        self._live: dict[int, int] = {}  # streams inside a ``use_stream`` block, by handle
        self.many_streams = False
        self.ahead_stream = 0
        self.many_threads = False
        self._entered = False
        self._blas = Blas()
        self._used = 0
        self._peak = 0
        self._away: list[CudaMemory] = []  # released, but others may still use them
        self._away_bytes = 0
        self._away_lock = threading.RLock()
        self._copy_rate: float | None = None
        self._measuring = threading.RLock()
        device = _drv.Device(ordinal)
        major, minor = device.compute_capability()
        self.target = f"sm_{major}{minor}"
        self.memory_total: int = device.total_memory()
        self.budget = Budget(f"cuda:{ordinal}" if ordinal else "cuda", self.memory_total)
        self._bound = 0  # of ``_used``: above, the peak grows or the limit is reached
        with cuda_process.busy():
            self.context = _retain(device)
            self._batches = threading.local()
            self._error: type[Exception] = _drv.Error
            cuda_process.register(self)
            with self.batch():
                null = self._make_stream(0, None, False)
                self._event()  # one that dies alone: what the others are compared with
        self._stream: ContextVar[_Stream] = ContextVar(f"lazyarr_cuda{ordinal}", default=null)
        self._solver = Solver(self, self._blas)
        self._fft = Fft(self)

    def __repr__(self) -> str:
        return f"CudaBackend({self.ordinal})"

    # Contexts and streams.

    def batch(self) -> _Batch:
        """Make the device current for the calling thread. Nested batches cost a count only."""
        batch: _Batch | None = getattr(self._batches, "batch", None)
        if batch is None:
            self.many_threads = self._entered
            self._entered = True
            batch = self._batches.batch = _Batch(self)
        return batch

    @property
    def stream_handle(self) -> int:
        """The current stream as an integer; 0 is the null stream."""
        return self._stream.get().handle

    @contextmanager
    def use_stream(self, stream: Any) -> Iterator[None]:
        """Send the work of this context (thread, task) to another stream of this device.

        Takes a PyCUDA, torch or CuPy stream, an object with ``__cuda_stream__``, a handle, or None
        for the null stream. The caller keeps the stream alive until its work is done.
        """
        handle = stream_handle(stream)
        own = stream if isinstance(stream, _drv.Stream) else None
        outer = self._stream.get()
        self.many_streams = True
        with self.batch():
            chosen = self._make_stream(handle, own, own is None and handle != 0)
            for before in {0, outer.handle} - {handle}:
                self._order(handle, before)
        with self._copies:
            self._live[handle] = self._live.get(handle, 0) + 1
        token = self._stream.set(chosen)
        try:
            yield
        finally:
            self._stream.reset(token)
            with self._copies:
                self._live[handle] -= 1
            with self.batch():
                for after in {0, outer.handle} - {handle}:
                    self._order(after, handle)

    def _make_stream(self, handle: int, own: Any, foreign: bool) -> _Stream:
        blocks = self._blocks.setdefault(handle, {})
        return _Stream(handle, own, foreign, self._pool(handle), blocks)

    def _order(self, later: int, earlier: int) -> None:
        """Make one stream wait for all that another was given so far."""
        event = self._event()
        self.driver.record_event(event.handle, earlier)
        self.driver.wait_event(later, event.handle)

    def wait_for_stream(self, handle: int) -> None:
        """Order the current stream after all that another stream was given so far.

        A stream whose ``with`` block has ended may be gone; it was joined to the null stream then.
        """
        current = self._stream.get().handle
        earlier = handle if self._live.get(handle) else 0
        if earlier != current:
            self._order(current, earlier)

    def record(self) -> CudaEvent:
        """Record an event in the current stream."""
        event = self._event()
        self.driver.record_event(event.handle, self._stream.get().handle)
        return event

    def _event(self) -> CudaEvent:
        try:
            handle = self._idle_events.pop()
        except IndexError:
            handle = self.driver.create_event()
        return CudaEvent(self.driver, self._idle_events, handle)

    def wait(self, event: CudaEvent) -> None:
        """Make the current stream wait for an event of any stream, without waiting here."""
        self.driver.wait_event(self._stream.get().handle, event.handle)

    def synchronize(self) -> None:
        """Wait for all work on the device. Raises ``KernelError`` if a kernel failed."""
        self._wait(self.driver.synchronize)

    # Memory.

    def _pool(self, handle: int) -> Any:
        """Return the pool of a stream: a block comes back to where it was last used."""
        pool = self._pools.get(handle)
        if pool is None:
            pool = _drv.DeviceMemoryPool()
            cuda_process.leak(pool)  # its destructor would free into a context that is gone
            _keep_a_block(pool)
            self._pools[handle] = pool
        return pool

    def allocate(self, nbytes: int) -> CudaMemory:
        """Return at least ``nbytes`` from the current stream's pool.

        Raises ``OutOfMemoryError`` once queued releases, pools, arrays that can be spilled and
        Python's garbage gave nothing more.
        """
        stream = self._stream.get()
        used = self._used = self._used + nbytes
        if used > self._bound:
            self._pass_bound(nbytes)
        size = (nbytes + _SMALLEST - 1) & -_SMALLEST
        blocks = stream.blocks.get(size)
        if blocks:
            try:
                memory = blocks.pop()
            except IndexError:  # another thread took it
                self._used -= nbytes
                return self.allocate(nbytes)
            memory.nbytes = nbytes
            memory.used_on = stream.handle
            return memory
        try:
            handle = stream.allocate(size)
        except self._error as error:
            self._used -= nbytes  # what the error's text says is in use
            handle = self._allocate_again(stream, size, error)
            self._used += nbytes
        if self.budget.limit is not None and self._pooled() > self.budget.limit:
            self._free_idle()
        return CudaMemory(int(handle), nbytes, size, handle, stream)

    def _pass_bound(self, nbytes: int) -> None:
        """Note a new peak; make room if the limit is passed. ``_used`` has ``nbytes`` already."""
        limit = self.budget.limit
        if limit is not None and self._used > limit:
            self._used -= nbytes
            self.budget.keep_to_limit(nbytes, lambda: self._used, self.drain)
            self._used += nbytes
        self._set_peak(max(self._peak, self._used))

    def _set_peak(self, peak: int) -> None:
        limit = self.budget.limit
        self._peak = peak
        self._bound = peak if limit is None else min(peak, limit)

    def set_limit(self, limit: int | None) -> None:
        """Bound the bytes that live allocations may have, and what pools keep beyond these."""
        self.budget.limit = limit
        self._set_peak(self._peak)
        if limit is not None and self._pooled() > limit:
            self._free_idle()

    def _allocate_again(self, stream: _Stream, size: int, error: Exception) -> Any:
        """Return a block for which the device had no memory, after giving back what can be."""
        if not isinstance(error, _drv.MemoryError):
            raise self._failure(error, f"allocating {size} bytes") from error
        with self.budget.lock:
            try:
                return self._allocate_spilling(stream, size)
            except _drv.MemoryError:
                info = self.memory_info()
                state = (
                    f"{info.free} of {info.total} bytes are free, {info.used} are in use by arrays "
                    f"(at most {info.peak} so far)"
                )
                raise self.budget.error(size, state) from error
            finally:
                for pool in self._pools.values():
                    with suppress(_drv.Error):
                        _keep_a_block(pool)

    def _allocate_spilling(self, stream: _Stream, size: int) -> Any:
        """Give back idle blocks, then arrays, then Python's garbage, until there is a block."""
        collected = False
        while True:
            self.drain()
            self._free_idle()
            try:
                return stream.allocate(size)
            except _drv.MemoryError:
                # Every turn spills something, or is the last one.
                if collected:
                    raise
                if not self.budget.spill(size, partly=True):
                    gc.collect()
                    collected = True

    def release(self, memory: Memory) -> None:
        """Give the memory back. Safe in any finalizer: it only appends.

        A small block that only its own stream used is ready at once: the stream keeps the order.
        """
        assert isinstance(memory, CudaMemory)
        home = memory.home
        if memory.used_on == home.handle:
            blocks = home.blocks.get(memory.size)
            if blocks is not None and len(blocks) < _KEPT_BLOCKS:
                memory.used_on = _FREE
                self._used -= memory.nbytes
                blocks.append(memory)
                return
        self.released.append(memory)

    def drain(self) -> None:
        """Give back what was released. Called with the context current."""
        released = self.released
        while released:
            try:
                item = released.popleft()
            except IndexError:  # another thread drains too
                return
            if not isinstance(item, CudaMemory):  # a module, which goes here
                continue
            memory = item
            last = memory.used_on
            if last == _FREE:  # released twice
                continue
            memory.used_on = _FREE
            self._used -= memory.nbytes
            home = memory.home
            if last == ANY_STREAM:
                self._put_away(memory)
                continue
            if last != home.handle:
                used_on = last if self._live.get(last) else 0
                if used_on != home.handle:
                    self._order(home.handle, used_on)
            _give_back(memory)

    def _put_away(self, memory: CudaMemory) -> None:
        """Keep memory that may be in use on streams we do not know, until the device was idle."""
        with self._away_lock:
            self._away.append(memory)
            self._away_bytes += memory.size
        if len(self._away) >= _AWAY_BLOCKS or self._away_bytes >= self.memory_total // _AWAY_SHARE:
            self._reclaim()

    def _reclaim(self) -> None:
        """Wait for the device, and give back what was put away."""
        with self._away_lock:
            taken, self._away = self._away, []
            self._away_bytes = 0
        if taken:
            self.driver.synchronize()
        for memory in taken:
            _give_back(memory)

    def memory_info(self) -> MemoryInfo:
        """Return how much memory is in use, pooled and free."""
        free, total = _drv.mem_get_info()
        budget = self.budget
        return MemoryInfo(
            self._used,
            self._peak,
            self._pooled(),
            free,
            total,
            budget.limit,
            budget.bytes_spilled,
            budget.bytes_returned,
        )

    def _pooled(self) -> int:
        pooled: int = sum([pool.managed_bytes for pool in self._pools.values()])
        return pooled

    def copy_rate(self) -> float | None:
        """Return the bytes a second that a copy on the device moves; measured at the first call."""
        with self._measuring:
            if self._copy_rate is None:
                peak = self._peak
                self._copy_rate = measured_copy_rate(self)
                self._set_peak(max(peak, self._used))  # of the program, not of the measurement
            return self._copy_rate

    def free_cached(self) -> None:
        """Give the blocks that pools hold back to the system: the device's and page-locked ones."""
        self._free_idle()
        if _host_pool is not None:
            _host_pool.pool.free_held()

    def _free_idle(self) -> None:
        """Give the blocks of device memory that pools hold back to the system."""
        self._reclaim()
        for blocks in self._blocks.values():
            blocks.clear()
        for pool in self._pools.values():
            pool.free_held()
            with suppress(_drv.Error):
                _keep_a_block(pool)

    def host_buffer(self, nbytes: int) -> HostBytes:
        """Return host memory: page-locked within the budget, else pageable.

        It goes back to the pool when the array and its last view are gone.
        """
        if nbytes and not cuda_process.process.closed:
            with self.batch():
                buffer = _page_locked_pool().allocate(nbytes)
            if buffer is not None:
                return buffer
        return np.empty(nbytes, np.uint8)

    # Copies.

    def copy_to_device(self, destination: int, source: HostBytes) -> None:
        """Queue a copy to the device.

        From page-locked memory it is asynchronous: ``source`` is kept alive, but it must not be
        written before the device has done the copy (``record``, then ``Event.synchronize``).
        Pageable memory may be written as soon as this returns.
        """
        nbytes = source.nbytes
        if not nbytes:
            return
        stream = self._stream.get()
        locked = _is_page_locked(source)
        if not locked and nbytes >= STAGED_FROM and (chunks := _page_locked_pool().chunks()):
            staging.upload(self, chunks, destination, source)
            for chunk in chunks:
                self._keep(chunk, stream)
            return
        if stream.foreign:
            self.driver.copy_in(destination, source.ctypes.data, nbytes, stream.handle)
        else:
            try:
                _drv.memcpy_htod_async(destination, source, stream.pycuda)
            except self._error as error:
                raise self._failure(error, f"copying {nbytes} bytes to the device") from error
        if locked:
            self._keep(source, stream)

    def upload_ahead(
        self, destination: int, source: HostBytes
    ) -> tuple[CudaEvent, CudaEvent] | None:
        """Start a copy on a stream of its own, after the current stream's work so far.

        None for pageable memory, from which copies do not run beside anything.
        """
        if not source.nbytes or not _is_page_locked(source):
            return None
        if not self.ahead_stream:
            handle = self.driver.create_stream()
            self._live[handle] = 1
            self.ahead_stream = handle
        stream = self.ahead_stream
        self._order(stream, self._stream.get().handle)
        before, after = self._event(), self._event()
        self.driver.record_event(before.handle, stream)
        self.driver.copy_in(destination, source.ctypes.data, source.nbytes, stream)
        self.driver.record_event(after.handle, stream)
        with self._copies:
            self._in_flight.append((after, [source]))
        return before, after

    def send(self, destination: int, chunk: HostBytes) -> CudaEvent:
        """Queue a copy from page-locked memory, which the caller keeps; see ``staging.Port``."""
        handle = self._stream.get().handle
        self.driver.copy_in(destination, chunk.ctypes.data, chunk.nbytes, handle)
        return self.record()

    def fetch(self, chunk: HostBytes, source: int) -> CudaEvent:
        """Queue a copy to page-locked memory."""
        handle = self._stream.get().handle
        self.driver.copy_out(chunk.ctypes.data, source, chunk.nbytes, handle)
        return self.record()

    def _keep(self, source: HostBytes, stream: _Stream) -> None:
        """Hold a source until its copy is done; small ones on the null stream share an event."""
        with self._copies:
            self._let_go()
            if stream.handle:
                self._in_flight.append((self.record(), [source]))
                return
            self._unrecorded.append(source)
            self._unrecorded_bytes += source.nbytes
            full = len(self._unrecorded) >= _SHARED_EVENT
            if full or self._unrecorded_bytes >= _SHARED_BYTES:
                self._in_flight.append((self.record(), self._take_unrecorded()))

    def copy_to_host(self, destination: HostBytes, source: int) -> None:
        """Copy device bytes to the host and wait until they are there.

        Raises ``KernelError`` if a kernel failed that was queued before.
        """
        nbytes = destination.nbytes
        if not nbytes:
            return
        stream = self._stream.get()
        staged = nbytes >= STAGED_FROM and not _is_page_locked(destination)
        if staged and (chunks := _page_locked_pool().chunks()):
            staging.download(self, chunks, destination, source)
        elif stream.foreign:
            self.driver.copy_out(destination.ctypes.data, source, nbytes, stream.handle)
        else:
            try:
                _drv.memcpy_dtoh_async(destination, source, stream.pycuda)
            except self._error as error:
                raise self._failure(error, f"copying {nbytes} bytes to the host") from error
        if stream.handle:
            self.driver.synchronize_stream(stream.handle)
        else:
            self._wait(lambda: self.driver.synchronize_stream(0))

    def _wait(self, synchronize: Callable[[], None]) -> None:
        """Wait for the null stream at least, and drop the sources that this shows to be done."""
        with self._copies:
            done = self._take_unrecorded()  # before: another thread may add some meanwhile
        synchronize()
        done.clear()
        if not self.many_streams:
            self.launched.clear()  # all went well
        if self._in_flight:
            with self._copies:
                self._let_go()

    def _take_unrecorded(self) -> list[HostBytes]:
        """Return the sources that share the next event, and start anew. Called with the lock."""
        taken = self._unrecorded
        self._unrecorded = []
        self._unrecorded_bytes = 0
        return taken

    def _let_go(self) -> None:
        """Drop the sources of copies that are done. Called with the lock."""
        waiting = self._in_flight
        while waiting and waiting[0][0].done():
            waiting.popleft()

    def copy_on_device(self, destination: int, source: int, nbytes: int) -> None:
        """Queue a copy between two places of this device that do not overlap."""
        if nbytes:
            self.driver.copy_within(destination, source, nbytes, self._stream.get().handle)

    def fill_zero(self, destination: int, nbytes: int) -> None:
        """Queue setting bytes to zero."""
        if nbytes:
            self.driver.fill(destination, 0, nbytes, self._stream.get().handle)

    # Kernels.

    def compile(self, source: str, options: Sequence[str] = ()) -> CudaModule:
        """Compile, or take from a cache, and load. Raises ``CompileError``."""
        key = (source, tuple(options))
        module = self._modules.get(key)
        if module is None:
            module = self._modules[key] = self._build(*key)
        return module

    def _build(self, source: str, options: tuple[str, ...]) -> CudaModule:
        started = time.perf_counter()
        cache = open_cache() if nvrtc.is_cacheable(source, options) else None
        key = self._cache_key(source, options)
        binary = cache.get(key) if cache else None
        module = None
        if binary is not None:
            # A driver may refuse what another driver's compiler left in a shared cache.
            with suppress(CompileError):
                module = self._loaded(source, binary)
                module.cached = True
        if module is None:
            binary = nvrtc.compile_cubin(source, self.target, options)
            module = self._loaded(source, binary)
            if cache:
                cache.put(key, binary)
        module.build_seconds = time.perf_counter() - started
        return module

    def _cache_key(self, source: str, options: tuple[str, ...]) -> bytes:
        parts = ("cuda", nvrtc.FORMAT_VERSION, self.target, nvrtc.compiler_identity(), options)
        return f"{parts!r}\n{source}".encode()

    def on_disk(self, source: str, options: Sequence[str] = ()) -> bool:
        """Whether the disk cache has the binary."""
        given = tuple(options)
        if not nvrtc.is_cacheable(source, given):
            return False
        return open_cache().get(self._cache_key(source, given)) is not None

    def _loaded(self, source: str, binary: bytes) -> CudaModule:
        try:
            raw = _drv.module_from_buffer(binary)
        except self._error as error:
            if is_kernel_failure(error):
                raise self._failure(error, "loading a module") from error
            raise CompileError(f"the driver cannot load the binary: {error}") from error
        return CudaModule(_drv, self.driver, source, binary, raw, self.released.append)

    def launch(
        self,
        function: CudaFunction,
        grid: Dim3,
        block: Dim3,
        arguments: bytes,
        shared: int = 0,
        accesses: Sequence[Access] | None = None,
    ) -> None:
        """Queue one launch on the current stream. ``accesses`` is not looked at."""
        stream = self._stream.get()
        if shared > function.shared_limit:
            function.allow_shared(shared)
        if stream.foreign:
            function.launcher().launch(grid, block, arguments, shared, stream.handle)
        else:
            try:
                function.start(grid, block, arguments, shared, stream.pycuda)
            except self._error as error:
                what = f"launching {function.name!r}, grid {grid}, block {block}, shared {shared}"
                raise self._failure(error, what) from error
        self.driver.faults.last_kernel = function.name

    def _failure(self, error: Exception, what: str) -> KernelError:
        """Return our exception for one of PyCUDA's."""
        return self.driver.faults.error_for(f"{what}: {error}", is_kernel_failure(error))

    def lost_by(self, error: object) -> KernelError | None:
        """Return the explanation if an exception of a library comes from a kernel that failed."""
        if isinstance(error, self._error):
            found = is_kernel_failure(error)
            return self._failure(error, "a call of CUDA") if found else None
        if type(error).__module__.partition(".")[0] in _BINDINGS:
            try:
                self.driver.synchronize()
            except DeviceLostError as lost:
                return lost
        return None

    def matmul(self, call: MatmulCall) -> None:
        """Queue a batched matrix product by cuBLAS: float32, float64, complex64, complex128."""
        size = call.batch * call.m * call.n
        if not size:
            return
        if call.k:
            self._blas.matmul(call, self._stream.get().handle)
        else:
            self.fill_zero(call.out, size * call.dtype.itemsize)

    def has_library(self, name: str) -> bool:
        """Whether cuFFT, or the cuSOLVER that is loaded, has the function."""
        return name == "fft" or self._solver.has(name)

    def library(self, call: LibraryCall) -> None:
        """Queue a function of cuSOLVER, cuBLAS or cuFFT on the current stream."""
        if call.name == "fft":
            self._fft.run(call)
        else:
            self._solver.run(call)

    # The end.

    def close(self) -> None:
        """Wait for the device, then make PyCUDA's objects die silently. For the exit handler."""
        with suppress(self._error, KernelError):
            self.context.push()
            try:
                self.driver.synchronize()
            finally:
                self.context.pop()
        self.abandon()

    def abandon(self) -> None:
        """Mark the context as gone, with no call to CUDA: destructors then do nothing."""
        with suppress(self._error):
            self.context.detach()


def _retain(device: Any) -> Any:
    """Return the device's primary context, made by a thread that ends (see the module's text)."""
    made: list[Any] = []

    def work() -> None:
        try:
            made.append(device.retain_primary_context())
        except _drv.Error as error:
            made.append(error)

    thread = threading.Thread(target=work, name="lazyarr-context")
    thread.start()
    thread.join()
    if isinstance(made[0], Exception):
        raise DeviceUnavailableError(f"the GPU's context cannot be used: {made[0]}") from made[0]
    return made[0]


def _give_back(memory: CudaMemory) -> None:
    """Keep a small block ready, and leave another to its pool."""
    home = memory.home
    if memory.size <= _KEPT_BYTES:
        blocks = home.blocks.setdefault(memory.size, [])
        if len(blocks) < _KEPT_BLOCKS:
            blocks.append(memory)
            return
    memory.handle = None


def _keep_a_block(pool: Any) -> None:
    """Leave one byte in the pool that no allocation takes: they ask for ``_SMALLEST`` or more."""
    pool.allocate(1).free()
