"""Matrix products by cuBLAS, through ``nvmath.bindings``.

Owns the mapping of row-major operands onto cuBLAS's column-major ones, and one handle for each
stream. Imports ``runtime.base``; ``nvmath`` at the first product only.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from lazyarr.runtime.base import DeviceUnavailableError, MatmulCall

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_INT32_MAX = 2**31 - 1
# cuBLAS reads the factors through host pointers.
_FACTORS = {np.dtype(name): np.array([1, 0], name) for name in _LETTERS}
_FACTOR_POINTERS = {
    dtype: (pair.ctypes.data, pair[1:].ctypes.data) for dtype, pair in _FACTORS.items()
}


def layout(rows: int, columns: int, row_stride: int, column_stride: int) -> tuple[bool, int] | None:
    """Return (transposed, leading dimension) of a matrix that cuBLAS takes as it lies, or None.

    Strides are in elements. ``transposed`` is False for rows that lie one after another. The stride
    of an axis of length 1 does not matter. None (overlapping, reversed or doubly strided): copy it.
    """
    if columns == 1 or column_stride == 1:
        leading = columns if rows == 1 else row_stride
        if leading >= columns:
            return False, leading
    if rows == 1 or row_stride == 1:
        leading = rows if columns == 1 else column_stride
        if leading >= rows:
            return True, leading
    return None


@functools.cache
def _cublas() -> Any:
    try:
        from nvmath.bindings import cublas
    except ImportError as error:
        raise DeviceUnavailableError(
            f"matrix products on a GPU need cuBLAS through nvmath-python ({error}): "
            "pip install 'lazyarr[cuda13]'"
        ) from error
    return cublas


@functools.cache
def _routine(dtype: np.dtype[Any], batched: bool, wide: bool) -> Any:
    """Return the product for a dtype; ``wide`` takes sizes above 32 bits."""
    name = f"{_LETTERS[dtype.name]}gemm{'_strided_batched' * batched}{'_64' * wide}"
    return getattr(_cublas(), name)


class Blas:
    """cuBLAS for one device. Call it with the device's context current."""

    def __init__(self) -> None:
        self._handles: dict[int, int] = {}

    def handle(self, stream: int) -> int:
        """Return the handle of a stream, made the first time."""
        handle = self._handles.get(stream)
        if handle is None:
            cublas = _cublas()
            handle = cublas.create()
            cublas.set_stream(handle, stream)
            # float32 products are float32 throughout: no TF32, whatever the library's default.
            cublas.set_math_mode(handle, cublas.Math.DEFAULT_MATH)
            self._handles[stream] = handle
        return handle

    def matmul(self, call: MatmulCall, stream: int) -> None:
        """Queue ``out[b] = a[b] @ b[b]``. Raises ``ValueError`` for operands to be copied first."""
        m, n, k = call.m, call.n, call.k
        a = layout(m, k, call.a_strides[1], call.a_strides[2])
        b = layout(k, n, call.b_strides[1], call.b_strides[2])
        if a is None or b is None:
            raise ValueError(f"cuBLAS cannot take these operands as they lie: {call}")
        one, zero = _FACTOR_POINTERS[call.dtype]
        batch = call.batch
        wide = max(m, n, k, a[1], b[1], batch) > _INT32_MAX
        function = _routine(call.dtype, batch > 1, wide)
        # Row-major memory is the transpose in column-major terms: out^T = b^T @ a^T.
        head = (self.handle(stream), int(b[0]), int(a[0]), n, m, k, one)
        if batch == 1:
            function(*head, call.b, b[1], call.a, a[1], zero, call.out, n)
            return
        first = (call.b, b[1], call.b_strides[0])
        second = (call.a, a[1], call.a_strides[0])
        function(*head, *first, *second, zero, call.out, n, m * n, batch)
