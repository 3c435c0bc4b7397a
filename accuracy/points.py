"""Where functions are measured: ordinary numbers, all exponents, and what is hard for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from accuracy.functions import Function

NDArray = npt.NDArray[Any]

_LARGEST_POWER = 16.0  # of complex numbers: |w log z|; the error grows with it


def points(function: Function, dtype: Any, count: int, seed: int = 0) -> list[NDArray]:
    """Return about `count` inputs of a dtype for each operand; none has a part that is zero."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng([seed, sum(map(ord, function.name)), dtype.itemsize])
    with np.errstate(all="ignore"):
        if function.name == "pow":
            inputs = _powers(dtype, count, rng)
        else:
            inputs = [_one(function, dtype, count, rng) for _ in range(function.arity)]
            if function.arity == 2:
                inputs = _together(inputs, rng)
        good = np.logical_and.reduce([_usable(x) for x in inputs])
    return [np.ascontiguousarray(x[good]) for x in inputs]


def _usable(x: NDArray) -> NDArray:
    if x.dtype.kind == "c":
        return _usable(x.real) & _usable(x.imag)
    return np.isfinite(x) & (x != 0)


def _one(function: Function, dtype: Any, count: int, rng: Any) -> NDArray:
    """Return inputs for one operand: half of them ordinary, a quarter hard, a quarter anything."""
    if dtype.kind == "f":
        parts = _real(function, dtype, count, rng)
    else:
        part = np.dtype(f"f{dtype.itemsize // 2}")
        pairs = [_real(function, part, count, rng) for _ in range(2)]
        parts = pairs[0] + 1j * rng.permutation(pairs[1])
        near = _near(function.near, dtype, count // 4, rng)
        parts = np.concatenate([parts[: len(parts) - len(near)], near])
    return rng.permutation(parts).astype(dtype)


def _real(function: Function, dtype: Any, count: int, rng: Any) -> NDArray:
    info = np.finfo(dtype)
    top = float(np.log(info.max))
    ordinary = rng.standard_normal(count // 2) * 10.0 ** rng.uniform(-3, 2, count // 2)
    bits = rng.integers(0, 2 ** (8 * dtype.itemsize), count // 4, np.uint64)
    anything = bits.astype(f"u{dtype.itemsize}").view(dtype).astype(np.float64)
    if function.exponential:
        anything = rng.uniform(-1.1 * top, 1.1 * top, count // 4)
    real = tuple(c.real for c in function.near if complex(c).imag == 0)
    edges = [info.smallest_subnormal, 3 * info.smallest_subnormal, info.tiny, info.eps, info.max]
    edges += [np.sqrt(info.max), np.sqrt(info.tiny), 1.0, top, -float(np.log(info.tiny))]
    edges = [float(e) for e in edges]
    near = _near(real, dtype, count // 4, rng).real
    return np.concatenate([ordinary, anything, near, edges, [-e for e in edges]])


def _near(centres: tuple[complex, ...], dtype: Any, count: int, rng: Any) -> NDArray:
    """Return numbers at all distances from the centres, down to the last place."""
    if not centres:
        return np.empty(0, np.complex128)
    eps = float(np.finfo(dtype).eps)
    where = np.asarray(centres, np.complex128)[rng.integers(0, len(centres), count)]
    size = np.maximum(np.abs(where), 1) * eps ** rng.uniform(0, 1.1, count)
    off = rng.standard_normal(count) + 1j * rng.standard_normal(count)
    return where + off * size


def _together(inputs: list[NDArray], rng: Any) -> list[NDArray]:
    """Bring half of the pairs to the same size, where a second operand matters."""
    x, y = inputs
    half = len(x) // 2
    near = np.abs(x[:half]) * rng.uniform(-4, 4, half)
    y = y.copy()
    y[:half] = near * (1 if y.dtype.kind == "f" else np.exp(1j * rng.uniform(-3, 3, half)))
    return [x, y]


def _powers(dtype: Any, count: int, rng: Any) -> list[NDArray]:
    """Return bases and exponents whose power is in range."""
    if dtype.kind == "f":
        limit = 0.98 * float(np.log(np.finfo(dtype).max))
        base = np.exp(rng.uniform(-1, 1, count) * limit ** rng.uniform(-1, 1, count))
        base = base.astype(dtype)
        exponent = rng.uniform(-limit, limit, count) / np.log(base.astype(np.float64))
        return [base, exponent.astype(dtype)]
    base = rng.standard_normal(count) + 1j * rng.standard_normal(count)
    base = (base * 10.0 ** rng.uniform(-2, 2, count)).astype(dtype)
    wide = np.log(base.astype(np.complex128))
    turn = np.exp(1j * rng.uniform(-np.pi, np.pi, count))
    exponent = rng.uniform(0, _LARGEST_POWER, count) * turn / np.abs(wide)
    return [base, exponent.astype(dtype)]
