"""What the property tests share: exact comparison, special values, the order of a sum in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from hypothesis import strategies as st

import lazyarr as xp
from lazyarr import _config
from lazyarr.codegen.order import combination_order
from lazyarr.graph.geometry import is_trailing

Shape = tuple[int, ...]

FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = ("bool", *INTEGERS, *FLOATS)


def same_bits(a: Any, b: Any) -> bool:
    """Whether two NumPy arrays are equal: every NaN equals every NaN, the sign of zero counts."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "c":
        return same_bits(a.real, b.real) and same_bits(a.imag, b.imag)
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    number = ~np.isnan(a)
    return bool(
        np.array_equal(a, b, equal_nan=True)
        and np.array_equal(np.signbit(a[number]), np.signbit(b[number]))
    )


def check(x: Any, want: Any, what: str = "") -> None:
    """Assert that an array has these bits."""
    got = np.asarray(x)
    want = np.asarray(want)
    assert same_bits(got, want), f"{what}\n got {got!r}\nwant {want!r}"


def special_values(dtype: Any) -> list[Any]:
    """Values at which a dtype's operations are likely to differ."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return [v for v in (0, 1, 2, 3, 7, -1, -2, info.min, info.max) if info.min <= v <= info.max]
    info = np.finfo(dtype)
    plain = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -7.25, 0.1, 1e10, -1e-10]
    ends = [np.nan, np.inf, -np.inf, info.max, info.tiny, -info.tiny, info.smallest_subnormal]
    return [dtype.type(v) for v in plain + ends]


def values(dtype: Any, size: int, seed: int, *, special: bool = True) -> Any:
    """Return random values of a dtype, one in eight of them special."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        result = np.empty(size, dtype)
        result.real = values(result.real.dtype, size, 2 * seed, special=special)
        result.imag = values(result.real.dtype, size, 2 * seed + 1, special=special)
        return result
    if dtype.kind == "b":
        return rng.random(size) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        result = rng.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
    else:
        result = (rng.standard_normal(size) * 10.0 ** rng.integers(-3, 4, size)).astype(dtype)
    if special:
        few = rng.random(size) < 0.125
        result[few] = rng.choice(np.asarray(special_values(dtype), dtype), int(few.sum()))
    return result


def array_of(draw: Any, shape: Shape, dtype: Any, *, special: bool = True) -> Any:
    """Draw an array: its seed, not its elements, so that examples stay small."""
    size = int(np.prod(shape, dtype=np.int64))
    return values(dtype, size, draw(st.integers(0, 999)), special=special).reshape(shape)


def keys(draw: Any, shape: Shape) -> Any:
    """Draw a basic key for a shape: slices of any step, integers, newaxis, an ellipsis."""
    parts: list[Any] = []
    axes = draw(st.integers(0, len(shape)))
    for n in shape[:axes]:
        kind = draw(st.sampled_from("sssti" if n else "sst"))
        if kind == "i":
            parts.append(draw(st.integers(-n, n - 1)))
        elif kind == "t":
            parts.append(slice(None, None, draw(st.sampled_from([-1, 1, 2]))))
        else:
            start = draw(st.none() | st.integers(-n - 1, n + 1))
            stop = draw(st.none() | st.integers(-n - 1, n + 1))
            parts.append(slice(start, stop, draw(st.sampled_from([1, 1, 2, 3, -1, -2]))))
    extra = draw(st.sampled_from(["", "", "", "new", "dots", "dots"]))
    if extra == "new":
        parts.insert(draw(st.integers(0, len(parts))), None)
    elif extra == "dots":
        parts.append(Ellipsis)
    return tuple(parts)


def ordered_sum(array: Any, axes: Shape) -> Any:
    """Return the sum over axes in the order of ``lazyarr.codegen.order``, written for NumPy."""
    keep = [d for d in range(array.ndim) if d not in axes]
    kept_shape = tuple(array.shape[d] for d in keep)
    elements = int(np.prod([array.shape[d] for d in axes], dtype=np.int64))
    results = int(np.prod(kept_shape, dtype=np.int64))
    flat = np.ascontiguousarray(array.transpose([*keep, *axes])).reshape(results, elements)
    if elements == 0 or results == 0:
        return np.zeros(kept_shape, array.dtype)
    order = combination_order(results, elements, is_trailing(array.shape, axes))
    with np.errstate(all="ignore"):
        parts = [
            _lanes(part, order.lanes)
            for part in np.split(flat, [order.length * n for n in range(1, order.chunks)], axis=1)
        ]
        total = parts[0] if order.chunks == 1 else _lanes(np.stack(parts, 1), order.lanes)
    return total.reshape(kept_shape)


def _lanes(rows: Any, lanes: int) -> Any:
    """Combine each row's elements in lanes, then the lanes in halves."""
    count = rows.shape[1]
    acc = np.full((rows.shape[0], lanes), -0.0, rows.dtype)
    for first in range(0, count, lanes):
        part = rows[:, first : first + lanes]
        acc[:, : part.shape[1]] = acc[:, : part.shape[1]] + part
    while lanes > 1:
        lanes //= 2
        acc = acc[:, :lanes] + acc[:, lanes : 2 * lanes]
    return acc[:, 0]


@contextmanager
def eager(on: bool = True) -> Iterator[None]:
    """Run as under ``LAZYARR_EAGER=1``."""
    before = _config.EAGER[0]
    _config.EAGER[0] = on
    try:
        yield
    finally:
        _config.EAGER[0] = before


def namespace_function(name: str) -> Any:
    """Return a function of the namespace, None where it is not there."""
    return getattr(xp, name, None)
