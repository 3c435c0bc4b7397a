"""The Backend protocol: all that the layers above know of a kernel device.

Owns the protocol and the small records that cross it. Imports nothing of lazyarr. The two
implementations are ``pycuda_backend`` (a GPU) and ``sim`` (CUDA C on the CPU); ``select`` picks
one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

HostBytes = npt.NDArray[np.uint8]
Dim3 = tuple[int, ...]  # one to three extents; those left out are 1
ANY_STREAM = -1  # of memory that was used on streams nobody told us


class DeviceUnavailableError(RuntimeError):
    """A device was asked for that this process cannot use; the text says what is missing."""


class CompileError(RuntimeError):
    """CUDA C that the compiler refused; the text shows the compiler's log and the source line."""


class KernelError(RuntimeError):
    """A kernel that failed while it ran (the text names the kernel, and the argument if known)."""


class DeviceLostError(KernelError):
    """A kernel failed in a way after which CUDA refuses all work of the process on that device.

    Every later call that needs the device raises the same. Data that the host has can be read.
    """


class OutOfMemoryError(MemoryError):
    """A device has no memory for a request, whatever is moved to the host.

    The text names the request, the largest arrays on the device, and why they stay there.
    """


class Memory(Protocol):
    """One allocation of device memory. It is given back with ``Backend.release``."""

    ptr: int
    nbytes: int
    used_on: int  # the stream that used it last, as a handle, or ANY_STREAM


class Access(NamedTuple):
    """The bytes one pointer argument of a launch may touch, and how: ``r``, ``w`` or ``rw``."""

    ptr: int
    nbytes: int
    mode: str
    name: str


class Function(Protocol):
    """A ``__global__`` function of a loaded module."""

    name: str


class Module(Protocol):
    """Compiled and loaded CUDA C."""

    names: tuple[str, ...]
    cached: bool  # the binary came from the disk cache, not from the compiler
    build_seconds: float
    counted: bool  # somebody has reported the build

    def function(self, name: str) -> Function:
        """Return the function, or raise ``KeyError`` whose text lists the names that exist."""
        ...


class MemoryInfo(NamedTuple):
    """Device memory in bytes: ``used`` by live allocations, ``peak`` of it, ``pooled`` in all.

    ``limit`` is what arrays may use (None: all there is); ``spilled`` and ``returned`` count what
    was copied to the host for want of memory, and back.
    """

    used: int
    peak: int
    pooled: int
    free: int
    total: int
    limit: int | None = None
    spilled: int = 0
    returned: int = 0


class Event(Protocol):
    """A point in a stream."""

    def synchronize(self) -> None: ...

    def done(self) -> bool:
        """Whether the device has reached this point. Does not wait."""
        ...

    def milliseconds_since(self, earlier: Any) -> float: ...


class Backend(Protocol):
    """One kernel device.

    Every method may be called from any thread, inside ``with backend.batch():`` (except ``batch``,
    ``release`` and ``host_buffer`` themselves). All work goes to the calling context's current
    stream.
    """

    kind: str  # "cuda" or "sim"
    ordinal: int
    target: str  # what a binary is for: "sm_90", "sim-x86_64"; part of every kernel key
    checked: bool  # launches must come with their ``Access`` records
    many_streams: bool  # a stream other than the null stream was ever used
    many_threads: bool  # more than one thread used the device, and work on it may be waited for
    memory_total: int  # bytes of device memory
    ahead_stream: int  # the stream of ``upload_ahead``, once there was one
    budget: Any  # a ``budget.Budget``: the limit, and who makes room

    @property
    def stream_handle(self) -> int:
        """The current stream as an integer; 0 is the null stream."""
        ...

    def batch(self) -> AbstractContextManager[None]:
        """Make the device current for the calling thread, in balance, and drain releases."""
        ...

    def allocate(self, nbytes: int) -> Memory:
        """Return at least ``nbytes`` (> 0) of uninitialised memory, aligned to 256 bytes.

        Where there is none within the budget, idle blocks are given back and arrays are spilled.
        Raises ``OutOfMemoryError``.
        """
        ...

    def set_limit(self, limit: int | None) -> None:
        """Bound the bytes that live allocations may have; None: by the device's memory alone."""
        ...

    def release(self, memory: Memory) -> None:
        """Queue the memory to be freed. Safe in a finalizer, in any thread: it only appends."""
        ...

    def host_buffer(self, nbytes: int) -> HostBytes:
        """Return host memory to copy through: page-locked and pooled within the budget."""
        ...

    def copy_to_device(self, destination: int, source: HostBytes) -> None:
        """Copy host bytes to a device address. Asynchronous only if ``source`` is page-locked."""
        ...

    def upload_ahead(self, destination: int, source: HostBytes) -> tuple[Event, Event] | None:
        """Start a copy to the device that comes after the work of the current stream so far.

        What the stream is given later does not wait for it: ``wait`` for the second event before
        the bytes are used. The first is where the copy starts. None if this cannot be done:
        nothing was copied then.
        """
        ...

    def wait(self, event: Any) -> None:
        """Make the current stream wait for an event of any stream."""
        ...

    def copy_to_host(self, destination: HostBytes, source: int) -> None:
        """Copy device bytes to the host and wait until they are there."""
        ...

    def copy_on_device(self, destination: int, source: int, nbytes: int) -> None: ...

    def fill_zero(self, destination: int, nbytes: int) -> None: ...

    def compile(self, source: str, options: Sequence[str] = ()) -> Module:
        """Compile (or take from the disk cache) and load CUDA C. Raises ``CompileError``."""
        ...

    def on_disk(self, source: str, options: Sequence[str] = ()) -> bool:
        """Whether ``compile`` would find the binary in the disk cache. Compiles nothing."""
        ...

    def launch(
        self,
        function: Any,
        grid: Dim3,
        block: Dim3,
        arguments: bytes,
        shared: int = 0,
        accesses: Sequence[Access] | None = None,
    ) -> None:
        """Queue one launch. ``arguments`` is the parameter block, packed with C alignment."""
        ...

    def record(self) -> Event:
        """Record an event in the current stream."""
        ...

    def wait_for_stream(self, handle: int) -> None:
        """Order the current stream after all that another stream was given so far."""
        ...

    def synchronize(self) -> None: ...

    def memory_info(self) -> MemoryInfo: ...

    def copy_rate(self) -> float | None:
        """Return the bytes a second that a copy within the device moves, reads and writes counted.

        Measured at the first call, which waits for the device. None: the device has no such
        ceiling, or no memory to measure it in.
        """
        ...

    def free_cached(self) -> None:
        """Give cached blocks back to the system."""
        ...

    def matmul(self, call: MatmulCall) -> None:
        """Batched matrix product by the device's library (cuBLAS; NumPy on ``sim``)."""
        ...

    def has_library(self, name: str) -> bool:
        """Whether ``library`` knows a function; ``LibraryCall`` lists the names."""
        ...

    def library(self, call: LibraryCall) -> None:
        """Queue a function of the device's libraries (cuSOLVER, cuFFT; NumPy on ``sim``).

        Asynchronous where the library is. It writes the outputs and nothing else; work space is the
        backend's business.
        """
        ...


class MatmulCall(NamedTuple):
    """``out[b] = a[b] @ b[b]`` for ``batch`` matrices that lie at fixed strides (in elements).

    ``a`` is m x k, ``b`` k x n, ``out`` m x n, ``out`` C-contiguous. In each operand one of the two
    matrix strides is 1; a batch stride of 0 repeats one matrix. Pointers include view offsets.
    """

    dtype: np.dtype[Any]
    batch: int
    m: int
    n: int
    k: int
    a: int
    a_strides: tuple[int, int, int]  # batch, row, column
    b: int
    b_strides: tuple[int, int, int]
    out: int


class Operand(NamedTuple):
    """An array of a library call: C-contiguous at a device address."""

    ptr: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


class LibraryCall(NamedTuple):
    """A function on stacks of matrices, or a Fourier transform. No operand is empty.

    Matrices have shape (batch, rows, columns). Outputs in brackets may be left out:

    =========== =============== ========================================= ======================
    name        inputs          outputs                                   options
    =========== =============== ========================================= ======================
    cholesky    a               factor, info                              upper
    slogdet     a               sign, size                                none
    solve       a, r            x, info                                   transposed
    qr          aT              qT, factorsT                              none
    eigh        a               values, [rows,] info                      none
    eig         a               values, [rows,] info                      none
    svd         a               [u,] values, [vh,] info                   none
    svd_jacobi  a               [vh,] values, [rows,] info                none
    fft         x               y                                         kind, inverse, rank
    =========== =============== ========================================= ======================

    - ``info``: int32, one a matrix; not 0 where the function failed.
    - ``cholesky`` reads one triangle and leaves the other one of ``factor`` undefined.
    - ``slogdet``: ``size`` is the logarithm of the determinant's absolute value, in float64.
    - ``solve``: rows of ``r`` are right sides, rows of ``x`` solutions: ``a[b] @ x[b].T = r[b].T``;
      transposed: ``a[b].T`` instead.
    - ``qr``: ``aT`` holds the columns of a, one after another, ``qT`` those of Q, as many as it has
      rows; ``factorsT`` holds R's columns, with undefined elements below R's diagonal.
    - ``eigh`` reads the lower triangle; ``rows`` are the conjugated eigenvectors, values ascend.
    - ``eig`` takes the transpose of the matrix if ``rows``, the eigenvectors, are asked for. They
      are as LAPACK's geev packs them: of a real matrix, a conjugate pair of values has the real
      part in the first row and the imaginary part in the second.
    - ``svd``: matrices with no more rows than columns; values descend. ``vh`` is square, or has as
      many rows as there are values.
    - ``svd_jacobi``: the same for many small matrices; ``vh`` is square, and ``rows`` are the
      conjugated left vectors, ``u = conj(rows).T``.
    - ``fft`` is not normalised; it runs along the last ``rank`` (1 to 3) axes. ``kind`` is "c2c",
      "r2c" (forward) or "c2r" (inverse), the latter two with halved last axes.
    """

    name: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    options: tuple[Any, ...]
