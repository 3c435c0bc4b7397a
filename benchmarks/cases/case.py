"""What a row is, and the random data that rows are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import lazyarr as xp

Function = Callable[..., Any]  # of a namespace and arrays
FLOATS = ("float32", "float64")
NUMBERS = ("float32", "float64", "int32")
SIZES = (1 << 20, 1 << 24, 1 << 28)


def random(shape: int | tuple[int, ...], dtype: str, seed: int) -> Any:
    """Return random numbers on the default device.

    Floats are uniform in [0, 1), integers in all their range. Each element's number is mixed by
    ``lowbias32`` (C. Wellons, Prospecting for hash functions, 2018), so that nothing is uploaded.
    """
    count = math.prod(shape) if isinstance(shape, tuple) else shape
    x = xp.astype(xp.arange(count, dtype=xp.int64), xp.uint32)
    x = x + xp.asarray((seed * 0x9E3779B9) % 2**32, dtype=xp.uint32)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = (x ^ (x >> shift)) * xp.asarray(factor, dtype=xp.uint32)
    x = x ^ (x >> 16)
    if dtype == "int32":
        result = xp.astype(x, xp.int32)
    elif dtype == "bool":
        result = x < 2**31
    else:
        result = xp.astype(x >> 8, getattr(xp, dtype)) * 2.0**-24
    result = xp.reshape(result, shape)
    xp.evaluate(result)
    return result


@dataclass(frozen=True)
class Case:
    """One program, and what it is held to.

    ``inputs(n, dtype, seed)`` makes its arrays, of about ``n`` elements in all shapes it is given;
    ``run(m, *inputs)`` is the program in the namespace ``m``. ``traffic(inputs)`` are the bytes
    that it has to read and write at least. ``share`` is the bar against the ceiling at 2^28
    elements, ``ahead`` the bars against peers: their time over ours. ``plain`` are C expressions
    for a hand-written kernel of the same mix, which then is the ceiling. ``special`` has other
    programs for libraries that cannot run ``run``. ``writes``: it stores into its first input.
    """

    name: str
    inputs: Callable[[int, str, int], tuple[Any, ...]]
    run: Function
    traffic: Callable[[tuple[Any, ...]], int]
    share: float | None = None
    ahead: Mapping[str, float] = field(default_factory=dict)
    plain: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = FLOATS
    sizes: tuple[int, ...] = SIZES
    special: Mapping[str, Function | None] = field(default_factory=dict)
    writes: bool = False
    tolerance: float = 1e-5
    launches: int | None = 1


def flat(count: int) -> Callable[[int, str, int], tuple[Any, ...]]:
    """Return a maker of ``count`` one-dimensional inputs."""

    def make(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
        return tuple(random(n, dtype, seed * 16 + k) for k in range(count))

    return make


def shaped(*shape: int) -> Callable[[int, str, int], tuple[Any, ...]]:
    """Return a maker of one input of ``shape``, where -1 stands for what is left of n elements."""
    rest = -math.prod(shape)

    def make(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
        left = max(1, n // rest)
        return (random(tuple(left if s == -1 else s for s in shape), dtype, seed),)

    return make


def square(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    """Make one square matrix."""
    side = math.isqrt(n)
    return (random((side, side), dtype, seed),)


def tall(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    """Make one matrix of 256 columns and a number of rows that is no power of two."""
    return (random((n // 256 - 3, 256), dtype, seed),)


def wide(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    """Make one matrix of 250 rows."""
    return (random((250, n // 250), dtype, seed),)


def cube(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    """Make one array of three axes, none a power of two."""
    side = round(n ** (1 / 3))
    return (random((side - 1, side, n // (side * side)), dtype, seed),)


def read(inputs: tuple[Any, ...]) -> int:
    """Every input once."""
    return sum(x.nbytes for x in inputs)


def moved(inputs: tuple[Any, ...]) -> int:
    """Every input once, and as much written as the first holds."""
    return read(inputs) + int(inputs[0].nbytes)


def copied(inputs: tuple[Any, ...]) -> int:
    """Every input read and written once."""
    return 2 * read(inputs)
