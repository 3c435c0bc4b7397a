"""Functions on stacks of matrices by cuSOLVER and cuBLAS, through ``nvmath.bindings``.

Owns ``Solver``: the mapping of ``base.LibraryCall`` onto column-major LAPACK, handles for each
stream, work space from the backend's pool. Imports ``runtime.base`` and its neighbours; ``nvmath``
at the first call only.

Row-major memory is the transpose in column-major terms. ``base.LibraryCall`` says what a function
takes and gives in such a way that nothing is transposed here: a Hermitian matrix is read as its
conjugate, systems are solved with the transposed factors, left and right singular vectors change
places.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from lazyarr._kernel_files import kernel_text
from lazyarr.runtime.base import (
    Access,
    Backend,
    DeviceUnavailableError,
    LibraryCall,
    Operand,
)
from lazyarr.runtime.cuda_libraries import Blas

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_ORTHOGONAL = {"s": "sorgqr", "d": "dorgqr", "c": "cungqr", "z": "zungqr"}
# Of the C headers: cudaDataType, cublasFillMode_t, cublasOperation_t, cusolverEigMode_t.
_TYPES = {"float32": 0, "float64": 1, "complex64": 4, "complex128": 5}
_LOWER, _UPPER = 0, 1
_N, _T = 0, 1
_NO_VECTORS, _VECTORS = 0, 1

_INT32_MAX = 2**31 - 1
# Batched factorisations give each matrix few threads: larger matrices go one by one.
_BATCHED_UP_TO = 512
# Batched Jacobi sweeps count work space in 32 bits.
_JACOBI_AT_ONCE = 1 << 16
# Xgeev and XsyevBatched came with CUDA 12.6 update 2.
_VERSION_OF_GEEV = 11701


@functools.cache
def _cusolver() -> Any:
    try:
        from nvmath.bindings import cusolverDn
    except ImportError as error:
        raise DeviceUnavailableError(
            f"linear algebra on a GPU needs cuSOLVER through nvmath-python ({error}): "
            "pip install 'lazyarr[cuda13]'"
        ) from error
    return cusolverDn


@functools.cache
def _version() -> int:
    _cusolver()
    from nvmath.bindings import cusolver

    return int(cusolver.get_version())


def _cublas() -> Any:
    from nvmath.bindings import cublas

    return cublas


def _has_geev() -> bool:
    return hasattr(_cusolver(), "xgeev") and _version() >= _VERSION_OF_GEEV


def _has_syev_batched() -> bool:
    return hasattr(_cusolver(), "xsyev_batched") and _version() >= _VERSION_OF_GEEV


def _is_batched(a: Operand) -> bool:
    """Whether a stack of square matrices goes to a batched factorisation."""
    return a.shape[0] > 1 and a.shape[1] < _BATCHED_UP_TO


def _matrix_bytes(a: Operand) -> int:
    return a.nbytes // a.shape[0]


def _real(dtype: np.dtype[Any]) -> int:
    """Return cudaDataType of the values that belong to matrices of a dtype."""
    return _TYPES[dtype.name] & 1


def determinant_source(dtype: np.dtype[Any]) -> str:
    """Return the CUDA C that makes determinants of LU factors of a dtype."""
    real = "float" if dtype.name in ("float32", "complex64") else "double"
    parts = 2 if dtype.kind == "c" else 1
    return f"#define LZ_R {real}\n#define LZ_PARTS {parts}\n{kernel_text('determinant.cuh')}"


class _Work:
    """Device memory for one call. It goes back to the pool, whose stream keeps the order."""

    def __init__(self, backend: Backend, stack: ExitStack) -> None:
        self._backend = backend
        self._stack = stack

    def take(self, nbytes: int) -> int:
        memory = self._backend.allocate(max(nbytes, 1))
        self._stack.callback(self._backend.release, memory)
        return memory.ptr

    def copy_of(self, a: Operand) -> int:
        """Return the address of a copy, for a function that overwrites its input."""
        ptr = self.take(a.nbytes)
        self._backend.copy_on_device(ptr, a.ptr, a.nbytes)
        return ptr


class Solver:
    """cuSOLVER for one device. Call it with the device's context current, in the device's lock."""

    def __init__(self, backend: Backend, blas: Blas) -> None:
        self._backend = backend
        self._blas = blas
        self._handles: dict[int, int] = {}
        self._params = 0
        self._jacobi = 0
        self._functions: dict[str, Callable[..., None]] = {
            "cholesky": self._cholesky,
            "slogdet": self._slogdet,
            "solve": self._solve,
            "qr": self._qr,
            "eigh": self._eigh,
            "eig": self._eig,
            "svd": self._svd,
            "svd_jacobi": self._svd_jacobi,
        }

    def has(self, name: str) -> bool:
        """Whether the libraries that are loaded have a function."""
        return name in self._functions and (name != "eig" or _has_geev())

    def run(self, call: LibraryCall) -> None:
        """Queue a call on the current stream."""
        with ExitStack() as stack:
            work = _Work(self._backend, stack)
            self._functions[call.name](work, call.inputs, call.outputs, *call.options)

    def _handle(self) -> int:
        stream = self._backend.stream_handle
        handle = self._handles.get(stream)
        if handle is None:
            library = _cusolver()
            handle = library.create()
            library.set_stream(handle, stream)
            self._handles[stream] = handle
        if not self._params:
            self._params = _cusolver().create_params()
        return handle

    def _pointers(self, work: _Work, first: int, step: int, count: int) -> int:
        """Return the address of an array of ``count`` addresses on the device."""
        out = work.take(8 * count)
        accesses = (Access(out, 8 * count, "w", "out"),)
        source = kernel_text("pointers.cuh")
        self._launch(
            source, "lz_pointers", -(-count // 256), 256, "QQq", (first, step, count), accesses
        )
        return out

    def _each(
        self,
        work: _Work,
        count: int,
        sizes: tuple[int, int],
        run: Callable[[int, tuple[int, int, int, int]], None],
    ) -> None:
        """Call ``run`` with each number and the work space that all of them share.

        ``sizes``: bytes on the device and on the host, as cuSOLVER's 64-bit functions want both.
        """
        on_device, on_host = sizes
        host = np.empty(max(on_host, 1), np.uint8)
        space = (work.take(on_device), on_device, host.ctypes.data, on_host)
        for n in range(count):
            run(n, space)

    # Factorisations of square matrices.

    def _cholesky(self, work: _Work, inputs: Any, outputs: Any, upper: bool) -> None:
        (a,), (factor, info) = inputs, outputs
        batch, n, _ = a.shape
        # The lower triangle of rows is the upper one of columns.
        uplo = _LOWER if upper else _UPPER
        library, handle, params = _cusolver(), self._handle(), self._params
        self._backend.copy_on_device(factor.ptr, a.ptr, a.nbytes)
        step = _matrix_bytes(a)
        if _is_batched(a):
            function = getattr(library, f"{_LETTERS[a.dtype.name]}potrf_batched")
            pointers = self._pointers(work, factor.ptr, step, batch)
            function(handle, uplo, n, pointers, n, info.ptr, batch)
            return
        kind = _TYPES[a.dtype.name]
        sizes = library.xpotrf_buffer_size(handle, params, uplo, n, kind, factor.ptr, n, kind)

        def run(k: int, space: tuple[int, int, int, int]) -> None:
            matrix = factor.ptr + k * step
            library.xpotrf(handle, params, uplo, n, kind, matrix, n, kind, *space, info.ptr + 4 * k)

        self._each(work, batch, sizes, run)

    def _slogdet(self, work: _Work, inputs: Any, outputs: Any) -> None:
        (a,), (sign, size) = inputs, outputs
        batch, n, _ = a.shape
        letter = _LETTERS[a.dtype.name]
        factors, step = work.copy_of(a), _matrix_bytes(a)
        pivots, info = work.take(4 * n * batch), work.take(4 * batch)
        if _is_batched(a):
            self._factorise_batch(work, letter, n, factors, step, pivots, info, batch)
        else:
            library, handle = _cusolver(), self._handle()
            count = getattr(library, f"{letter}getrf_buffer_size")(handle, n, n, factors, n)
            space = work.take(count * a.dtype.itemsize)
            function = getattr(library, f"{letter}getrf")
            for k in range(batch):
                exchanged = pivots + 4 * n * k
                function(handle, n, n, factors + k * step, n, space, exchanged, info + 4 * k)
        accesses = (
            Access(sign.ptr, sign.nbytes, "w", "sign"),
            Access(size.ptr, size.nbytes, "w", "size"),
            Access(factors, a.nbytes, "r", "factors"),
            Access(pivots, 4 * n * batch, "r", "pivots"),
        )
        source = determinant_source(a.dtype)
        self._launch(source, "lz_determinant", batch, 128, "q", (n,), accesses)

    def _launch(
        self,
        source: str,
        name: str,
        grid: int,
        block: int,
        codes: str,
        scalars: tuple[int, ...],
        accesses: tuple[Access, ...],
    ) -> None:
        """Queue one of the kernels of ``kernels/``: pointers first, then scalars."""
        function = self._backend.compile(source).function(name)
        pointers = [access.ptr for access in accesses]
        arguments = struct.pack(f"@{'P' * len(pointers)}{codes}", *pointers, *scalars)
        self._backend.launch(function, (grid,), (block,), arguments, 0, accesses)

    def _factorise_batch(
        self,
        work: _Work,
        letter: str,
        n: int,
        first: int,
        step: int,
        pivots: int,
        info: int,
        batch: int,
    ) -> int:
        """Factorise in place by cuBLAS and return the array of addresses."""
        pointers = self._pointers(work, first, step, batch)
        handle = self._blas.handle(self._backend.stream_handle)
        function = getattr(_cublas(), f"{letter}getrf_batched")
        function(handle, n, pointers, n, pivots, info, batch)
        return pointers

    def _solve(self, work: _Work, inputs: Any, outputs: Any, transposed: bool) -> None:
        (a, r), (x, info) = inputs, outputs
        batch, n, _ = a.shape
        k = r.shape[1]
        # What is factorised is the transpose of a.
        operation = _N if transposed else _T
        factors = work.copy_of(a)
        self._backend.copy_on_device(x.ptr, r.ptr, r.nbytes)
        step = _matrix_bytes(a)
        if _is_batched(a):
            letter = _LETTERS[a.dtype.name]
            pivots = work.take(4 * n * batch)
            pointers = self._factorise_batch(
                work, letter, n, factors, step, pivots, info.ptr, batch
            )
            right = self._pointers(work, x.ptr, _matrix_bytes(x), batch)
            on_host = np.zeros(1, np.int32)  # whether an argument was wrong, which raises anyway
            handle = self._blas.handle(self._backend.stream_handle)
            getattr(_cublas(), f"{letter}getrs_batched")(
                handle, operation, n, k, pointers, n, pivots, right, n, on_host.ctypes.data, batch
            )
            return
        self._solve_each(work, factors, a, x, info, operation)

    def _solve_each(
        self, work: _Work, factors: int, a: Operand, x: Operand, info: Operand, operation: int
    ) -> None:
        batch, n, _ = a.shape
        k = x.shape[1]
        kind = _TYPES[a.dtype.name]
        library, handle, params = _cusolver(), self._handle(), self._params
        pivots = work.take(8 * n)
        ignored = work.take(4)
        sizes = library.xgetrf_buffer_size(handle, params, n, n, kind, factors, n, kind)

        def run(m: int, space: tuple[int, int, int, int]) -> None:
            matrix = factors + m * _matrix_bytes(a)
            right = x.ptr + m * _matrix_bytes(x)
            library.xgetrf(
                handle, params, n, n, kind, matrix, n, pivots, kind, *space, info.ptr + 4 * m
            )
            library.xgetrs(
                handle, params, operation, n, k, kind, matrix, n, pivots, kind, right, n, ignored
            )

        self._each(work, batch, sizes, run)

    # Orthogonal factorisations.

    def _qr(self, work: _Work, inputs: Any, outputs: Any) -> None:
        (a,), (q, factors) = inputs, outputs
        batch, n, m = a.shape
        columns = q.shape[1]
        reflections = min(m, n)
        letter, kind = _LETTERS[a.dtype.name], _TYPES[a.dtype.name]
        library, handle, params = _cusolver(), self._handle(), self._params
        item = a.dtype.itemsize
        self._backend.copy_on_device(factors.ptr, a.ptr, a.nbytes)
        if columns > reflections:
            self._backend.fill_zero(q.ptr, q.nbytes)
        tau, ignored = work.take(reflections * item), work.take(4)
        name = _ORTHOGONAL[letter]
        size = getattr(library, f"{name}_buffer_size")(
            handle, m, columns, reflections, q.ptr, m, tau
        )
        own_space = work.take(size * item)
        make_q = getattr(library, name)
        sizes = library.xgeqrf_buffer_size(
            handle, params, m, n, kind, factors.ptr, m, kind, tau, kind
        )

        def run(k: int, space: tuple[int, int, int, int]) -> None:
            factor, target = factors.ptr + k * m * n * item, q.ptr + k * m * columns * item
            library.xgeqrf(handle, params, m, n, kind, factor, m, kind, tau, kind, *space, ignored)
            self._backend.copy_on_device(target, factor, m * min(n, columns) * item)
            make_q(handle, m, columns, reflections, target, m, tau, own_space, size, ignored)

        self._each(work, batch, sizes, run)

    # Eigenvalues.

    def _eigh(self, work: _Work, inputs: Any, outputs: Any) -> None:
        (a,) = inputs
        values, info = outputs[0], outputs[-1]
        batch, n, _ = a.shape
        job = _VECTORS if len(outputs) == 3 else _NO_VECTORS
        if job == _VECTORS:
            matrices = outputs[1].ptr
            self._backend.copy_on_device(matrices, a.ptr, a.nbytes)
        else:
            matrices = work.copy_of(a)
        if batch > 1 and _has_syev_batched():
            self._eigh_batch(work, a, matrices, values, info, job)
            return
        kind, real = _TYPES[a.dtype.name], _real(a.dtype)
        library, handle, params = _cusolver(), self._handle(), self._params
        sizes = library.xsyevd_buffer_size(
            handle, params, job, _UPPER, n, kind, matrices, n, real, values.ptr, kind
        )

        def run(k: int, space: tuple[int, int, int, int]) -> None:
            matrix = matrices + k * _matrix_bytes(a)
            w = values.ptr + k * _matrix_bytes(values)
            library.xsyevd(
                handle, params, job, _UPPER, n, kind, matrix, n, real, w, kind, *space,
                info.ptr + 4 * k,
            )  # fmt: skip

        self._each(work, batch, sizes, run)

    def _eigh_batch(
        self, work: _Work, a: Operand, matrices: int, values: Operand, info: Operand, job: int
    ) -> None:
        """Decompose stacks whose bytes 32 bits can count: more of them at once fail."""
        batch, n, _ = a.shape
        kind, real = _TYPES[a.dtype.name], _real(a.dtype)
        library, handle, params = _cusolver(), self._handle(), self._params
        most = max(1, _INT32_MAX // _matrix_bytes(a))
        for start in range(0, batch, most):
            count = min(most, batch - start)
            matrix = matrices + start * _matrix_bytes(a)
            w = values.ptr + start * _matrix_bytes(values)
            head = (handle, params, job, _UPPER, n, kind, matrix, n, real, w, kind)
            on_device, on_host = library.xsyev_batched_buffer_size(*head, count)
            host = np.empty(max(on_host, 1), np.uint8)
            library.xsyev_batched(
                *head,
                work.take(on_device),
                on_device,
                host.ctypes.data,
                on_host,
                info.ptr + 4 * start,
                count,
            )

    def _eig(self, work: _Work, inputs: Any, outputs: Any) -> None:
        (a,) = inputs
        values, info = outputs[0], outputs[-1]
        batch, n, _ = a.shape
        job = _VECTORS if len(outputs) == 3 else _NO_VECTORS
        rows = outputs[1].ptr if job == _VECTORS else 0
        kind, complex_kind = _TYPES[a.dtype.name], _TYPES[values.dtype.name]
        matrices = work.copy_of(a)
        library, handle, params = _cusolver(), self._handle(), self._params

        def head(k: int) -> tuple[int, ...]:
            matrix = matrices + k * _matrix_bytes(a)
            w = values.ptr + k * _matrix_bytes(values)
            right = rows + k * _matrix_bytes(a) if rows else 0
            left = (kind, 0, n)
            return (
                handle, params, _NO_VECTORS, job, n, kind, matrix, n, complex_kind, w, *left,
                kind, right, n, kind,
            )  # fmt: skip

        def run(k: int, space: tuple[int, int, int, int]) -> None:
            library.xgeev(*head(k), *space, info.ptr + 4 * k)

        self._each(work, batch, library.xgeev_buffer_size(*head(0)), run)

    # Singular values.

    def _svd(self, work: _Work, inputs: Any, outputs: Any) -> None:
        (a,) = inputs
        batch, m, n = a.shape
        vectors = len(outputs) == 4
        values, info = outputs[1 if vectors else 0], outputs[-1]
        # Columns hold the transpose, n x m: its left vectors are vh, its right ones u.
        left, right = (outputs[2], outputs[0]) if vectors else (None, None)
        if left is None:
            jobs = (ord("N"), ord("N"))
        else:
            jobs = (ord("A") if left.shape[1] == n else ord("S"), ord("A"))
        kind, real = _TYPES[a.dtype.name], _real(a.dtype)
        matrices = work.copy_of(a)
        library, handle, params = _cusolver(), self._handle(), self._params

        def head(k: int) -> tuple[int, ...]:
            matrix = matrices + k * _matrix_bytes(a)
            s = values.ptr + k * _matrix_bytes(values)
            u = left.ptr + k * _matrix_bytes(left) if left is not None else 0
            vh = right.ptr + k * _matrix_bytes(right) if right is not None else 0
            return (
                handle, params, *jobs, n, m, kind, matrix, n, real, s, kind, u, n, kind, vh, m,
                kind,
            )  # fmt: skip

        def run(k: int, space: tuple[int, int, int, int]) -> None:
            library.xgesvd(*head(k), *space, info.ptr + 4 * k)

        self._each(work, batch, library.xgesvd_buffer_size(*head(0)), run)

    def _svd_jacobi(self, work: _Work, inputs: Any, outputs: Any) -> None:
        (a,) = inputs
        batch, m, n = a.shape
        vectors = len(outputs) == 4
        values, info = outputs[1 if vectors else 0], outputs[-1]
        left, right = (outputs[0], outputs[2]) if vectors else (None, None)
        job = _VECTORS if vectors else _NO_VECTORS
        library, handle = _cusolver(), self._handle()
        if not self._jacobi:
            self._jacobi = library.create_gesvdj_info()
        name = f"{_LETTERS[a.dtype.name]}gesvdj_batched"
        matrices = work.copy_of(a)
        most = min(batch, _JACOBI_AT_ONCE)
        if not vectors:  # it writes to them even so
            u = work.take(most * n * n * a.dtype.itemsize)
            v = work.take(most * m * m * a.dtype.itemsize)
        for start in range(0, batch, most):
            count = min(most, batch - start)
            matrix = matrices + start * _matrix_bytes(a)
            s = values.ptr + start * _matrix_bytes(values)
            if left is not None and right is not None:
                u = left.ptr + start * _matrix_bytes(left)
                v = right.ptr + start * _matrix_bytes(right)
            head = (handle, job, n, m, matrix, n, s, u, n, v, m)
            size = getattr(library, f"{name}_buffer_size")(*head, self._jacobi, count)
            space = work.take(size * a.dtype.itemsize)
            getattr(library, name)(*head, space, size, info.ptr + 4 * start, self._jacobi, count)
