"""Every float32 there is: unary functions against the device's own float64 functions.

The inputs are made on the device, a mantissa and a scale at a time, inside the kernel that
evaluates and compares: nothing but the largest error and its place is read. The float64 functions
are wrong by 1e-9 ulp of float32, and the worst point is measured again with mpmath.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import lazyarr as xp
from accuracy import reference
from accuracy.functions import Function, allowed
from accuracy.measure import Measured, evaluate

MANTISSAS = 1 << 23
BINADES = 32  # of one sign, in one kernel: 2**28 elements

_LARGEST = 2.0**128


def is_exhaustive(function: Function, dtype: str) -> bool:
    """Whether all inputs can be tried: float32 functions of one operand."""
    return function.arity == 1 and dtype == "float32" and "f" in function.kinds


def blocks(binades: int = BINADES) -> Iterator[tuple[Any, Any]]:
    """Yield (mantissas, scales): float32 arrays whose outer products are all finite numbers."""
    mantissa = xp.astype(xp.arange(MANTISSAS, dtype=xp.int32), xp.float32)
    normal = mantissa + float(MANTISSAS)
    for sign in (1.0, -1.0):
        yield mantissa, xp.asarray([[sign * 2.0**-149]], dtype=xp.float32)
        for first in range(1, 255, binades):
            exponents = np.arange(first, min(first + binades, 255))
            scale = (sign * 2.0 ** (exponents - 150.0)).astype(np.float32)
            yield normal, xp.asarray(scale[:, None])


def errors(function: Any, x: Any) -> Any:
    """Return the errors of a float32 function at x, in ulp of the float64 result."""
    got = function(x)
    exact = function(xp.astype(x, xp.float64))
    wide = xp.clip(xp.astype(got, xp.float64), -_LARGEST, _LARGEST)
    size = xp.clip(xp.abs(exact), 2.0**-126, 2.0**127)
    near = xp.astype(size, xp.float32)
    base = xp.astype(near, xp.float64)
    up = xp.astype(xp.nextafter(near, xp.asarray(np.float32(np.inf))), xp.float64) - base
    down = base - xp.astype(xp.nextafter(near, xp.asarray(np.float32(0))), xp.float64)
    unit = xp.where((size < base) & (near > 2.0**-126), down, up)
    error = xp.abs(wide - xp.clip(exact, -_LARGEST, _LARGEST)) / unit
    wrong = xp.isnan(got) != xp.isnan(exact)
    return xp.where(wrong, xp.inf, xp.where(xp.isnan(exact), 0.0, error))


def measure_all(function: Function, device: str) -> Measured:
    """Measure a function of one float32 at every finite input."""
    largest, where, count = -1.0, 0.0, 0
    with xp.default_device(device):
        for mantissa, scale in blocks():
            error = errors(getattr(xp, function.name), mantissa * scale)
            top, place = xp.max(error), xp.argmax(error)
            xp.evaluate(top, place)
            count += error.size
            if float(top) > largest:
                largest = float(top)
                row, column = divmod(int(place), MANTISSAS)
                where = float(np.asarray(mantissa[column] * scale[row, 0]))
        inputs = [np.asarray([where], np.float32)]
        got = evaluate(function, inputs)
    again = float(reference.ulp_error(got, *reference.exact_values(function, inputs))[0])
    limit = allowed(function, "float32", device)
    value = round(again if np.isfinite(largest) else largest, 3)
    return Measured(function.name, "float32", value, [repr(where)], count, limit, True)
