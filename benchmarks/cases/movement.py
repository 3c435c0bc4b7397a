"""Copies in another order: transposes, joins, shifts, strided slices and stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.cases.case import (
    NUMBERS,
    Case,
    copied,
    cube,
    flat,
    random,
    square,
    tall,
    wide,
)

_AHEAD = {"cupy": 1.0, "torch": 1.0}


def permuted(*axes: int) -> Callable[..., Any]:
    def run(m: Any, x: Any) -> Any:
        return m.asarray(m.permute_dims(x, axes), copy=True)

    return run


def _torch_permuted(*axes: int) -> Callable[..., Any]:
    return lambda m, x: x.permute(axes).contiguous()


def _cupy_permuted(*axes: int) -> Callable[..., Any]:
    def run(m: Any, x: Any) -> Any:
        import cupy

        return cupy.ascontiguousarray(x.transpose(axes))

    return run


def _permutation(name: str, make: Any, axes: tuple[int, ...], dtypes: Any = ("float32",)) -> Case:
    # JAX keeps a transposed layout inside a program: its copy would not be the same work.
    special = {"torch": _torch_permuted(*axes), "cupy": _cupy_permuted(*axes), "jax": None}
    return Case(name, make, permuted(*axes), copied, 0.82, _AHEAD, dtypes=dtypes, special=special)


def concat(m: Any, a: Any, b: Any, c: Any) -> Any:
    return m.concat((a, b, c))


def concat_columns(m: Any, a: Any, b: Any) -> Any:
    return m.concat((a, b), axis=1)


def stack_last(m: Any, a: Any, b: Any) -> Any:
    return m.stack((a, b), axis=-1)


def roll(m: Any, x: Any) -> Any:
    return m.roll(x, 12345)


def roll_columns(m: Any, x: Any) -> Any:
    return m.roll(x, 77, axis=1)


def every_second(m: Any, x: Any) -> Any:
    return m.asarray(x[::2], copy=True)


def window(m: Any, x: Any) -> Any:
    return m.asarray(x[3:-4, 5:-2], copy=True)


def flipped(m: Any, x: Any) -> Any:
    return m.flip(x) + 0


def set_second(m: Any, x: Any, y: Any) -> Any:
    x[::2] = y


def set_window(m: Any, x: Any, y: Any) -> Any:
    x[3:-4, 5:-2] = y


def _torch_copied(key: Any) -> Callable[..., Any]:
    return lambda m, x: x[key].clone()


def _two(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    side = int(n**0.5)
    return random((side, side + 3), dtype, 2 * seed), random((side, side - 5), dtype, 2 * seed + 1)


def _half(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    return random(n, dtype, 2 * seed), random(n // 2, dtype, 2 * seed + 1)


def _window(n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    side = int(n**0.5)
    return random((side, side), dtype, 2 * seed), random((side - 7, side - 7), dtype, 2 * seed + 1)


def _inner(inputs: tuple[Any, ...]) -> int:
    rows, columns = inputs[0].shape
    return int(2 * (rows - 7) * (columns - 7) * inputs[0].dtype.itemsize)


def _strided(inputs: tuple[Any, ...]) -> int:
    # Memory is read by sectors of 32 bytes: every second element costs as much as all of them.
    return int(inputs[0].nbytes + inputs[0].nbytes // 2)


def _strided_set(inputs: tuple[Any, ...]) -> int:
    # A sector that is stored in part is read first.
    return int(2 * inputs[0].nbytes + inputs[1].nbytes)


def _written(inputs: tuple[Any, ...]) -> int:
    return 2 * int(inputs[1].nbytes)


CASES = (
    _permutation("transposed copy, square", square, (1, 0), NUMBERS),
    _permutation("transposed copy, tall", tall, (1, 0)),
    _permutation("transposed copy, wide", wide, (1, 0)),
    _permutation("3-D copy, axes (2, 1, 0)", cube, (2, 1, 0), ("float32", "float64")),
    _permutation("3-D copy, axes (0, 2, 1)", cube, (0, 2, 1)),
    _permutation("3-D copy, axes (1, 0, 2)", cube, (1, 0, 2)),
    _permutation("3-D copy, axes (1, 2, 0)", cube, (1, 2, 0)),
    Case("concat of 3", flat(3), concat, copied, 0.92, _AHEAD, dtypes=NUMBERS),
    Case("concat along axis 1", _two, concat_columns, copied, 0.92, _AHEAD, dtypes=("float32",)),
    Case("stack of 2, axis 0", flat(2), lambda m, a, b: m.stack((a, b)), copied, 0.92, _AHEAD),
    Case("stack of 2, last axis", flat(2), stack_last, copied, 0.92, _AHEAD, dtypes=("float32",)),
    Case("roll", flat(1), roll, copied, 0.92, _AHEAD),
    Case("roll along axis 1", square, roll_columns, copied, 0.92, _AHEAD, dtypes=("float32",)),
    Case("flip", flat(1), flipped, copied, 0.92, _AHEAD, dtypes=("float32",)),
    Case("x[::2]", flat(1), every_second, _strided, 0.92, _AHEAD,
         special={"torch": _torch_copied(slice(None, None, 2)), "jax": None}),
    Case("x[3:-4, 5:-2]", square, window, _inner, 0.92, _AHEAD, dtypes=("float32",),
         special={"torch": _torch_copied((slice(3, -4), slice(5, -2))), "jax": None}),
    Case("x[::2] = y", _half, set_second, _strided_set, 0.92, _AHEAD, writes=True,
         special={"jax": None}),
    Case("x[3:-4, 5:-2] = y", _window, set_window, _written, 0.92, _AHEAD, writes=True,
         dtypes=("float32",), special={"jax": None}),
)  # fmt: skip
