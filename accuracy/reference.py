"""Exact values, and errors in units in the last place.

An exact value comes from mpmath and is kept as a long double (64 bits of precision and more
exponents than float64 has): rounding it costs under 0.0005 ulp of float64.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt

from accuracy.functions import FUNCTIONS, Function

NDArray = npt.NDArray[Any]
Wide = np.longdouble

_SPARE_BITS = 130
_POINTS_AT_ONCE = 500


def exact_values(
    function: Function, inputs: Sequence[NDArray], workers: Executor | None = None
) -> tuple[NDArray, NDArray]:
    """Return the real and imaginary parts of the exact results; NaN where there is none.

    ``workers``: processes that share the points.
    """
    if workers is None:
        return _exact_part(function.name, list(inputs))
    pieces = -(-len(inputs[0]) // _POINTS_AT_ONCE)
    columns = [np.array_split(x, pieces) for x in inputs]
    names = [function.name] * pieces
    parts = list(workers.map(_exact_part, names, [list(p) for p in zip(*columns, strict=True)]))
    return np.concatenate([re for re, _ in parts]), np.concatenate([im for _, im in parts])


def _exact_part(name: str, inputs: list[NDArray]) -> tuple[NDArray, NDArray]:
    function = next(f for f in FUNCTIONS if f.name == name)
    re, im = np.full(len(inputs[0]), np.nan, Wide), np.zeros(len(inputs[0]), Wide)
    complex_ = inputs[0].dtype.kind == "c"
    wide = np.complex128 if complex_ else np.float64
    columns = [x.astype(wide).tolist() for x in inputs]
    for n, row in enumerate(zip(*columns, strict=True)):
        with mp.workprec(_precision(row)):
            numbers = [mp.mpc(v) if complex_ else mp.mpf(v) for v in row]
            try:
                result = function.exact(*numbers)
            except (ValueError, ZeroDivisionError):
                continue
            if isinstance(result, mp.mpc) and not complex_ and result.imag != 0:
                continue  # outside the domain: a special case
            re[n] = _to_wide(mp.mpf(result.real))
            im[n] = _to_wide(mp.mpf(result.imag))
    return re, im


def _precision(row: Sequence[complex]) -> int:
    """Return the bits to work in: more, where parts of different size may cancel."""
    sizes = [mp.mag(part) for v in row for part in (v.real, v.imag) if part != 0]
    return _SPARE_BITS + 3 * (max([0, *sizes]) - min([0, *sizes]))


def _to_wide(x: Any) -> Any:
    if not mp.isfinite(x):
        return Wide(np.inf if x > 0 else -np.inf) if mp.isinf(x) else Wide(np.nan)
    with mp.workprec(64):
        sign, mantissa, exponent, _ = (+x)._mpf_
    mantissa = int(mantissa)
    value = Wide(mantissa >> 32) * Wide(2**32) + Wide(mantissa & (2**32 - 1))
    value = np.ldexp(value, min(max(int(exponent), -16000), 16000))
    return -value if sign else value


@functools.cache
def _limits(dtype: Any) -> tuple[int, int, int]:
    """Return the stored bits of the mantissa, and the smallest and largest exponent."""
    info = np.finfo(dtype)
    return int(info.nmant), int(info.minexp), int(info.maxexp)


def spacing(size: NDArray, dtype: Any) -> NDArray:
    """Return one unit in the last place of a real dtype at each size."""
    bits, lowest, highest = _limits(dtype)
    exponent = np.frexp(size)[1] - 1
    exponent = np.where(size == 0, lowest, exponent)
    return np.ldexp(Wide(1), np.clip(exponent, lowest, highest - 1) - bits)


@np.errstate(all="ignore")
def ulp_error(got: NDArray, re: NDArray, im: NDArray, scale: NDArray | None = None) -> NDArray:
    """Return the distance between results and exact values, in ulp of the exact norm.

    Infinity counts as one step after the largest number. A wrong NaN is infinitely wrong. Complex
    results whose norm overflows are left out: what their parts are is a special case.
    ``scale``: sizes to count in instead, where these are larger.
    """
    part = got.real.dtype
    top = np.ldexp(Wide(1), _limits(part)[2])

    def difference(a: NDArray, exact: NDArray) -> NDArray:
        wide = np.clip(a.astype(Wide), -top, top)
        return np.abs(wide - np.clip(exact, -top, top))

    error = np.hypot(difference(got.real, re), difference(got.imag, im))
    size = np.hypot(np.clip(re, -top, top), np.clip(im, -top, top))
    if scale is not None:
        size = np.maximum(size, scale)
    result = (error / spacing(size, part)).astype(np.float64)
    left_out = np.isnan(re) | np.isnan(im)
    if got.dtype.kind == "c":
        left_out |= size >= top
    return np.where(left_out, 0, np.where(np.isnan(result), np.inf, result))
