"""cuSOLVER, cuBLAS and cuFFT as ``nvmath.bindings`` has them, by LAPACK on simulated memory.

They take the arguments in the order of the real bindings, read and write column-major matrices at
addresses of a simulated device, overwrite what the real ones overwrite, and fill work space.
"""

from __future__ import annotations

import ctypes
import functools
from enum import IntEnum
from typing import Any

import numpy as np
import scipy.linalg.lapack as lapack

from lazyarr.runtime.sim import SimBackend

LETTERS = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
TYPES = {0: np.float32, 1: np.float64, 4: np.complex64, 5: np.complex128}
HANDLE, PARAMS, JACOBI = 11, 22, 33
UPPER = 1
ON_DEVICE, ON_HOST = 640, 48  # bytes of work space that the 64-bit functions want
ELEMENTS = 96  # elements of it that the older ones want


def routine(name: str, dtype: Any) -> Any:
    letter = next(k for k, v in LETTERS.items() if v == np.dtype(dtype).type)
    return getattr(lapack, letter + name)


class Memory:
    """Simulated device memory by address."""

    def __init__(self, backend: SimBackend) -> None:
        self.backend = backend

    def array(self, ptr: int, count: int, dtype: Any) -> Any:
        nbytes = count * np.dtype(dtype).itemsize
        return self.backend._pool.bytes_at(ptr, nbytes, "a library's operand").view(dtype)

    def matrix(self, ptr: int, rows: int, columns: int, ld: int, dtype: Any) -> Any:
        assert ld >= rows
        return self.array(ptr, ld * columns, dtype).reshape(columns, ld).T[:rows]

    def fill(self, ptr: int, nbytes: int) -> None:
        self.array(ptr, nbytes, np.uint8)[:] = 0xFF

    def set(self, ptr: int, value: int) -> None:
        self.array(ptr, 1, np.int32)[0] = value

    def pointers(self, ptr: int, count: int) -> list[int]:
        return [int(p) for p in self.array(ptr, count, np.uint64)]


def fill_host(ptr: int, nbytes: int) -> None:
    ctypes.memset(ptr, 0xFF, nbytes)


class Library:
    """Makes ``sname``, ``dname``, ``cname`` and ``zname`` of the methods called ``_name``."""

    TYPED: tuple[str, ...] = ()

    def __init__(self, backend: SimBackend) -> None:
        self.memory = Memory(backend)
        self.called: list[str] = []
        for name in self.TYPED:
            for letter, dtype in LETTERS.items():
                setattr(self, letter + name, functools.partial(self._typed, name, dtype))

    def _typed(self, name: str, dtype: Any, *arguments: Any) -> Any:
        self.called.append(name)
        return getattr(self, "_" + name)(dtype, *arguments)

    def create(self) -> int:
        return HANDLE

    def set_stream(self, handle: int, stream: int) -> None:
        assert handle == HANDLE


class Cublas(Library):
    TYPED = ("getrf_batched", "getrs_batched")

    class Math(IntEnum):
        DEFAULT_MATH = 0

    def set_math_mode(self, handle: int, mode: int) -> None:
        assert handle == HANDLE

    def _getrf_batched(
        self, dtype: Any, handle: int, n: int, a: int, lda: int, p: int, info: int, batch: int
    ) -> None:
        assert handle == HANDLE
        for k, ptr in enumerate(self.memory.pointers(a, batch)):
            matrix = self.memory.matrix(ptr, n, n, lda, dtype)
            matrix[...], pivots, status = routine("getrf", dtype)(matrix)
            self.memory.array(p + 4 * n * k, n, np.int32)[:] = pivots + 1
            self.memory.set(info + 4 * k, status)

    def _getrs_batched(
        self,
        dtype: Any,
        handle: int,
        trans: int,
        n: int,
        nrhs: int,
        a: int,
        lda: int,
        p: int,
        b: int,
        ldb: int,
        info: int,
        batch: int,
    ) -> None:
        left, right = (self.memory.pointers(x, batch) for x in (a, b))
        for k in range(batch):
            factors = self.memory.matrix(left[k], n, n, lda, dtype)
            sides = self.memory.matrix(right[k], n, nrhs, ldb, dtype)
            pivots = self.memory.array(p + 4 * n * k, n, np.int32) - 1
            sides[...], _ = routine("getrs", dtype)(factors, pivots, sides, trans=trans)
        ctypes.c_int32.from_address(info).value = 0


class CusolverDn(Library):
    TYPED = (
        "gesvdj_batched",
        "gesvdj_batched_buffer_size",
        "getrf",
        "getrf_buffer_size",
        "orgqr",
        "orgqr_buffer_size",
        "potrf_batched",
        "ungqr",
        "ungqr_buffer_size",
    )

    def create_params(self) -> int:
        return PARAMS

    def create_gesvdj_info(self) -> int:
        return JACOBI

    def _use(self, name: str, handle: int, params: int, space: tuple[int, ...] = ()) -> None:
        assert (handle, params) == (HANDLE, PARAMS)
        if space:
            self.called.append(name)
            device, on_device, host, on_host = space
            assert (on_device, on_host) == (ON_DEVICE, ON_HOST)
            self.memory.fill(device, on_device)
            fill_host(host, on_host)

    # Factorisations.

    def xpotrf_buffer_size(
        self, handle: int, params: int, uplo: int, n: int, kind: int, a: int, lda: int, compute: int
    ) -> tuple[int, int]:
        self._use("", handle, params)
        return ON_DEVICE, ON_HOST

    def xpotrf(
        self, handle: int, params: int, uplo: int, n: int, kind: int, a: int, lda: int,
        compute: int, device: int, on_device: int, host: int, on_host: int, info: int,
    ) -> None:  # fmt: skip
        self._use("xpotrf", handle, params, (device, on_device, host, on_host))
        assert compute == kind
        self._factor(TYPES[kind], uplo, n, a, lda, info)

    def _factor(self, dtype: Any, uplo: int, n: int, a: int, lda: int, info: int) -> None:
        matrix = self.memory.matrix(a, n, n, lda, dtype)
        factor, status = routine("potrf", dtype)(matrix, lower=uplo != UPPER, clean=0)
        inside = np.triu(np.ones((n, n), bool)) if uplo == UPPER else np.tril(np.ones((n, n), bool))
        matrix[...] = np.where(inside, factor, np.nan)  # the rest is undefined
        self.memory.set(info, status)

    def _potrf_batched(
        self, dtype: Any, handle: int, uplo: int, n: int, a: int, lda: int, info: int, batch: int
    ) -> None:
        for k, ptr in enumerate(self.memory.pointers(a, batch)):
            self._factor(dtype, uplo, n, ptr, lda, info + 4 * k)

    def _getrf_buffer_size(self, dtype: Any, handle: int, m: int, n: int, a: int, lda: int) -> int:
        return ELEMENTS

    def _getrf(
        self,
        dtype: Any,
        handle: int,
        m: int,
        n: int,
        a: int,
        lda: int,
        work: int,
        p: int,
        info: int,
    ) -> None:
        self.memory.fill(work, ELEMENTS * np.dtype(dtype).itemsize)
        matrix = self.memory.matrix(a, m, n, lda, dtype)
        matrix[...], pivots, status = routine("getrf", dtype)(matrix)
        self.memory.array(p, min(m, n), np.int32)[:] = pivots + 1
        self.memory.set(info, status)

    def xgetrf_buffer_size(
        self, handle: int, params: int, m: int, n: int, kind: int, a: int, lda: int, compute: int
    ) -> tuple[int, int]:
        self._use("", handle, params)
        return ON_DEVICE, ON_HOST

    def xgetrf(
        self, handle: int, params: int, m: int, n: int, kind: int, a: int, lda: int, p: int,
        compute: int, device: int, on_device: int, host: int, on_host: int, info: int,
    ) -> None:  # fmt: skip
        self._use("xgetrf", handle, params, (device, on_device, host, on_host))
        matrix = self.memory.matrix(a, m, n, lda, TYPES[kind])
        matrix[...], pivots, status = routine("getrf", TYPES[kind])(matrix)
        self.memory.array(p, min(m, n), np.int64)[:] = pivots + 1
        self.memory.set(info, status)

    def xgetrs(
        self, handle: int, params: int, trans: int, n: int, nrhs: int, kind: int, a: int, lda: int,
        p: int, kind_b: int, b: int, ldb: int, info: int,
    ) -> None:  # fmt: skip
        self._use("", handle, params)
        assert kind_b == kind
        sides = self.memory.matrix(b, n, nrhs, ldb, TYPES[kind])
        factors = self.memory.matrix(a, n, n, lda, TYPES[kind])
        pivots = self.memory.array(p, n, np.int64) - 1
        sides[...], _ = routine("getrs", TYPES[kind])(factors, pivots, sides, trans=trans)
        self.memory.set(info, 0)

    def xgeqrf_buffer_size(
        self, handle: int, params: int, m: int, n: int, kind: int, a: int, lda: int,
        kind_tau: int, tau: int, compute: int,
    ) -> tuple[int, int]:  # fmt: skip
        self._use("", handle, params)
        return ON_DEVICE, ON_HOST

    def xgeqrf(
        self, handle: int, params: int, m: int, n: int, kind: int, a: int, lda: int,
        kind_tau: int, tau: int, compute: int, device: int, on_device: int, host: int,
        on_host: int, info: int,
    ) -> None:  # fmt: skip
        self._use("xgeqrf", handle, params, (device, on_device, host, on_host))
        matrix = self.memory.matrix(a, m, n, lda, TYPES[kind])
        matrix[...], scale, _, status = routine("geqrf", TYPES[kind])(matrix)
        self.memory.array(tau, min(m, n), TYPES[kind_tau])[:] = scale
        self.memory.set(info, status)

    def _orgqr_buffer_size(
        self, dtype: Any, handle: int, m: int, n: int, k: int, a: int, lda: int, tau: int
    ) -> int:
        return ELEMENTS

    def _orgqr(
        self, dtype: Any, handle: int, m: int, n: int, k: int, a: int, lda: int, tau: int,
        work: int, lwork: int, info: int,
    ) -> None:  # fmt: skip
        assert lwork == ELEMENTS and m >= n >= k
        self.memory.fill(work, ELEMENTS * np.dtype(dtype).itemsize)
        matrix = self.memory.matrix(a, m, n, lda, dtype)
        name = "orgqr" if np.dtype(dtype).kind == "f" else "ungqr"
        scale = self.memory.array(tau, k, dtype)
        matrix[...], _, status = routine(name, dtype)(matrix, scale)
        self.memory.set(info, status)

    _ungqr_buffer_size = _orgqr_buffer_size
    _ungqr = _orgqr

    # Eigenvalues.

    def xsyevd_buffer_size(
        self, handle: int, params: int, job: int, uplo: int, n: int, kind: int, a: int, lda: int,
        kind_w: int, w: int, compute: int,
    ) -> tuple[int, int]:  # fmt: skip
        self._use("", handle, params)
        return ON_DEVICE, ON_HOST

    def xsyevd(
        self, handle: int, params: int, job: int, uplo: int, n: int, kind: int, a: int, lda: int,
        kind_w: int, w: int, compute: int, device: int, on_device: int, host: int, on_host: int,
        info: int,
    ) -> None:  # fmt: skip
        self._use("xsyevd", handle, params, (device, on_device, host, on_host))
        self._eigh(job, uplo, n, kind, a, lda, kind_w, w, info)

    def _eigh(
        self, job: int, uplo: int, n: int, kind: int, a: int, lda: int, kind_w: int, w: int,
        info: int,
    ) -> None:  # fmt: skip
        matrix = self.memory.matrix(a, n, n, lda, TYPES[kind])
        values, vectors = np.linalg.eigh(matrix, UPLO="U" if uplo == UPPER else "L")
        matrix[...] = vectors if job else np.nan
        self.memory.array(w, n, TYPES[kind_w])[:] = values
        self.memory.set(info, 0)

    def xsyev_batched_buffer_size(
        self, handle: int, params: int, job: int, uplo: int, n: int, kind: int, a: int, lda: int,
        kind_w: int, w: int, compute: int, batch: int,
    ) -> tuple[int, int]:  # fmt: skip
        self._use("", handle, params)
        return ON_DEVICE, ON_HOST

    def xsyev_batched(
        self, handle: int, params: int, job: int, uplo: int, n: int, kind: int, a: int, lda: int,
        kind_w: int, w: int, compute: int, device: int, on_device: int, host: int, on_host: int,
        info: int, batch: int,
    ) -> None:  # fmt: skip
        self._use("xsyev_batched", handle, params, (device, on_device, host, on_host))
        for k in range(batch):
            matrix = a + k * lda * n * np.dtype(TYPES[kind]).itemsize
            values = w + k * n * np.dtype(TYPES[kind_w]).itemsize
            self._eigh(job, uplo, n, kind, matrix, lda, kind_w, values, info + 4 * k)

    def xgeev_buffer_size(
        self, handle: int, params: int, jobvl: int, jobvr: int, n: int, kind: int, a: int,
        lda: int, kind_w: int, w: int, kind_vl: int, vl: int, ldvl: int, kind_vr: int, vr: int,
        ldvr: int, compute: int,
    ) -> tuple[int, int]:  # fmt: skip
        self._use("", handle, params)
        return ON_DEVICE, ON_HOST

    def xgeev(
        self, handle: int, params: int, jobvl: int, jobvr: int, n: int, kind: int, a: int,
        lda: int, kind_w: int, w: int, kind_vl: int, vl: int, ldvl: int, kind_vr: int, vr: int,
        ldvr: int, compute: int, device: int, on_device: int, host: int, on_host: int, info: int,
    ) -> None:  # fmt: skip
        self._use("xgeev", handle, params, (device, on_device, host, on_host))
        assert (jobvl, vl, kind_vl, kind_vr, compute) == (0, 0, kind, kind, kind)
        matrix = self.memory.matrix(a, n, n, lda, TYPES[kind])
        *values, _, vectors, status = routine("geev", TYPES[kind])(matrix, compute_vl=0)
        if len(values) == 2:
            values = [values[0] + 1j * values[1]]
        self.memory.array(w, n, TYPES[kind_w])[:] = values[0]
        matrix[...] = np.nan
        if jobvr:
            self.memory.matrix(vr, n, n, ldvr, TYPES[kind])[...] = vectors
        self.memory.set(info, status)

    # Singular values.

    def xgesvd_buffer_size(
        self, handle: int, params: int, jobu: int, jobvt: int, m: int, n: int, kind: int, a: int,
        lda: int, kind_s: int, s: int, kind_u: int, u: int, ldu: int, kind_vt: int, vt: int,
        ldvt: int, compute: int,
    ) -> tuple[int, int]:  # fmt: skip
        self._use("", handle, params)
        assert m >= n
        return ON_DEVICE, ON_HOST

    def xgesvd(
        self, handle: int, params: int, jobu: int, jobvt: int, m: int, n: int, kind: int, a: int,
        lda: int, kind_s: int, s: int, kind_u: int, u: int, ldu: int, kind_vt: int, vt: int,
        ldvt: int, compute: int, device: int, on_device: int, host: int, on_host: int, info: int,
    ) -> None:  # fmt: skip
        self._use("xgesvd", handle, params, (device, on_device, host, on_host))
        assert m >= n and (kind_u, kind_vt, compute) == (kind, kind, kind)
        matrix = self.memory.matrix(a, m, n, lda, TYPES[kind])
        left, values, right = np.linalg.svd(matrix)
        matrix[...] = np.nan
        self.memory.array(s, n, TYPES[kind_s])[:] = values
        columns = {"A": m, "S": n, "N": 0}[chr(jobu)]
        rows = {"A": n, "S": n, "N": 0}[chr(jobvt)]
        if columns:
            self.memory.matrix(u, m, columns, ldu, TYPES[kind])[...] = left[:, :columns]
        if rows:
            self.memory.matrix(vt, n, n, ldvt, TYPES[kind])[...] = right
        self.memory.set(info, 0)

    def _gesvdj_batched_buffer_size(
        self, dtype: Any, handle: int, job: int, m: int, n: int, a: int, lda: int, s: int, u: int,
        ldu: int, v: int, ldv: int, params: int, batch: int,
    ) -> int:  # fmt: skip
        assert params == JACOBI and m <= 32 and n <= 32
        return ELEMENTS

    def _gesvdj_batched(
        self, dtype: Any, handle: int, job: int, m: int, n: int, a: int, lda: int, s: int, u: int,
        ldu: int, v: int, ldv: int, work: int, lwork: int, info: int, params: int, batch: int,
    ) -> None:  # fmt: skip
        assert (handle, params, lwork) == (HANDLE, JACOBI, ELEMENTS)
        item = np.dtype(dtype).itemsize
        real = np.finfo(dtype).dtype
        self.memory.fill(work, ELEMENTS * item)
        for k in range(batch):
            matrix = self.memory.matrix(a + k * lda * n * item, m, n, lda, dtype)
            left, values, right = np.linalg.svd(matrix)
            matrix[...] = np.nan
            size = min(m, n)
            self.memory.array(s + k * size * real.itemsize, size, real)[:] = values
            if job:
                self.memory.matrix(u + k * ldu * m * item, m, m, ldu, dtype)[...] = left
                columns = np.conj(right.T)
                self.memory.matrix(v + k * ldv * n * item, n, n, ldv, dtype)[...] = columns
            self.memory.set(info + 4 * k, 0)


class Cufft(Library):
    """Plans are numbers; ``plans`` holds what they are for, ``destroyed`` those that ended."""

    class Type(IntEnum):
        R2C, C2R, C2C, D2Z, Z2D, Z2Z = 0x2A, 0x2C, 0x29, 0x6A, 0x6C, 0x69

    def __init__(self, backend: SimBackend) -> None:
        super().__init__(backend)
        self.plans: dict[int, dict[str, Any]] = {}
        self.destroyed: list[int] = []

    def create(self) -> int:
        plan = len(self.plans)
        self.plans[plan] = {}
        return plan

    def destroy(self, plan: int) -> None:
        self.destroyed.append(plan)

    def set_stream(self, plan: int, stream: int) -> None:
        self.plans[plan]["stream"] = stream

    def set_auto_allocation(self, plan: int, auto: int) -> None:
        assert auto == 0 and "n" not in self.plans[plan]

    def make_plan_many64(
        self, plan: int, rank: int, n: Any, inembed: Any, istride: int, idist: int, onembed: Any,
        ostride: int, odist: int, kind: int, batch: int,
    ) -> int:  # fmt: skip
        assert rank == len(n) == len(inembed) == len(onembed) <= 3 and istride == ostride == 1
        assert idist == np.prod(inembed) and odist == np.prod(onembed)
        half = (*n[:-1], n[-1] // 2 + 1)
        real_first = kind in (self.Type.R2C, self.Type.D2Z)
        real_last = kind in (self.Type.C2R, self.Type.Z2D)
        assert tuple(inembed) == (half if real_last else tuple(n))
        assert tuple(onembed) == (half if real_first else tuple(n))
        made = {"n": tuple(n), "in": tuple(inembed), "out": tuple(onembed), "batch": batch}
        self.plans[plan].update(made, kind=kind)
        return ON_DEVICE

    def set_work_area(self, plan: int, ptr: int) -> None:
        self.plans[plan]["work"] = ptr

    def _run(self, plan: int, x: int, y: int, given: Any, wanted: Any, inverse: bool) -> None:
        made = self.plans[plan]
        assert plan not in self.destroyed and "stream" in made
        self.memory.fill(made.pop("work"), ON_DEVICE)
        axes = tuple(range(-len(made["n"]), 0))
        source = self.memory.array(x, int(made["batch"] * np.prod(made["in"])), given)
        target = self.memory.array(y, int(made["batch"] * np.prod(made["out"])), wanted)
        source, target = (
            a.reshape(made["batch"], *made[k]) for a, k in ((source, "in"), (target, "out"))
        )
        if np.dtype(given).kind == "f":
            target[...] = np.fft.rfftn(source, axes=axes)
        elif np.dtype(wanted).kind == "f":
            target[...] = np.fft.irfftn(source, made["n"], axes, norm="forward")
            source[...] = np.nan  # as cuFFT's
        elif inverse:
            target[...] = np.fft.ifftn(source, axes=axes, norm="forward")
        else:
            target[...] = np.fft.fftn(source, axes=axes)

    def exec_c2c(self, plan: int, x: int, y: int, direction: int) -> None:
        assert self.plans[plan]["kind"] == self.Type.C2C
        self._run(plan, x, y, np.complex64, np.complex64, direction == 1)

    def exec_z2z(self, plan: int, x: int, y: int, direction: int) -> None:
        assert self.plans[plan]["kind"] == self.Type.Z2Z
        self._run(plan, x, y, np.complex128, np.complex128, direction == 1)

    def exec_r2c(self, plan: int, x: int, y: int) -> None:
        self._run(plan, x, y, np.float32, np.complex64, False)

    def exec_d2z(self, plan: int, x: int, y: int) -> None:
        self._run(plan, x, y, np.float64, np.complex128, False)

    def exec_c2r(self, plan: int, x: int, y: int) -> None:
        self._run(plan, x, y, np.complex64, np.float32, True)

    def exec_z2d(self, plan: int, x: int, y: int) -> None:
        self._run(plan, x, y, np.complex128, np.float64, True)
