"""Matrix products, against cuBLAS called directly."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lazyarr as xp
from benchmarks.cases.case import FLOATS, Case, moved, random
from benchmarks.ceilings import address

# A matrix of n elements each; 2^26 is 8192 x 8192.
_SIZES = (1 << 20, 1 << 24, 1 << 26)
_AHEAD = {"cublas": 0.98}


def plain(m: Any, a: Any, b: Any) -> Any:
    return a @ b


def transposed(m: Any, a: Any, b: Any) -> Any:
    return a.T @ b


def sliced(m: Any, a: Any, b: Any) -> Any:
    return a[:, :-8] @ b[:-8, :]


def _pair(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    side = math.isqrt(n)
    return tuple(random((side, side), dtype, 2 * seed + k) for k in (0, 1))


def _batch(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    count = n // (128 * 128)
    return tuple(random((count, 128, 128), dtype, 2 * seed + k) for k in (0, 1))


def _direct(kind: str) -> Callable[..., Callable[[], None]]:
    """Return what makes the call of cuBLAS for one pair of matrices.

    cuBLAS's matrices are column by column: out^T = b^T @ a^T.
    """

    def make(library: Any, letter: str, handle: int, one: int, a: Any, b: Any) -> Any:
        side, itemsize = a.shape[-1], a.dtype.itemsize
        inner = side - 8 if kind == "sliced" else side
        out = xp.empty_like(a)
        head = (handle, 0, int(kind == "transposed"), side, a.shape[-2], inner, one)
        first, second, third = address(b), address(a), address(out)
        zero = one + itemsize
        kept = (a, b, out)
        if a.ndim == 3:
            step = side * side
            function = getattr(library, f"{letter}gemm_strided_batched")
            tail = (first, side, step, second, side, step, zero, third, side, step, a.shape[0])
        else:
            function = getattr(library, f"{letter}gemm")
            tail = (first, side, second, side, zero, third, side)

        def call(kept: Any = kept) -> None:
            function(*head, *tail)

        return call

    return make


def _case(name: str, make: Any, run: Any, kind: str, dtypes: tuple[str, ...] = FLOATS) -> Case:
    return Case(name, make, run, moved, ahead=_AHEAD, special={"cublas": _direct(kind)},
                dtypes=dtypes, sizes=_SIZES, tolerance=1e-3, launches=0)  # fmt: skip


CASES = (
    _case("matmul", _pair, plain, "plain"),
    _case("matmul of a.T", _pair, transposed, "transposed", ("float32",)),
    _case("matmul of slices", _pair, sliced, "sliced", ("float32",)),
    _case("batched matmul, 128 x 128", _batch, plain, "plain"),
)
