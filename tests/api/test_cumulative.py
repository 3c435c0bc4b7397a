"""Cumulative functions: every kernel form, on both sides of each border, and what they launch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazyarr as xp
from tests.property.support import check, same_bits

RNG = np.random.default_rng(7)
TILE = 8192  # elements of a row that a block takes, of four bytes
GROUP = 32  # tiles
ROWS = 256  # of a tile of 32 columns; half as many where there is no other tile

# (outer, n, inner) at the borders between kernels, between tiles, and between groups of tiles.
BORDERS = [
    (1, 1, 1), (7, 1, 5), (300, 3, 1), (40, 64, 1), (40, 65, 1), (9, 129, 1), (9, 513, 1),
    (5, 1025, 1), (3, 4097, 1), (2, TILE, 1), (2, TILE + 1, 1), (1, GROUP * TILE, 1),
    (1, GROUP * TILE + 1, 1), (2, 2 * GROUP * TILE + 5, 1),
    (90, 20, 3), (2, 512, 8), (2, 513, 8), (2, 600, 31), (1, 2049, 2), (2, 70_000, 2),
    (3, 16, 40), (3, 17, 40), (2, ROWS // 2, 70), (2, ROWS // 2 + 1, 70), (2, ROWS, 70),
    (2, ROWS + 1, 70), (1, GROUP * ROWS, 33),
    (1, 2 * GROUP * ROWS + 1, 33), (2, 40, 66_000),
]  # fmt: skip


def whole_numbers(*shape: int, dtype: str = "float32") -> Any:
    """Return small integers, whose sums are exact in any order."""
    return RNG.integers(-4, 5, shape).astype(dtype)


def laid(a: Any, begin: int) -> xp.Array:
    """Return an array whose elements begin somewhere in its memory."""
    flat = np.concatenate([np.zeros(begin, a.dtype), a.reshape(-1)])
    return xp.reshape(xp.asarray(flat)[begin:], a.shape)


@pytest.mark.sanitize
@pytest.mark.parametrize("shape", BORDERS, ids=lambda s: "x".join(map(str, s)))
def test_at_the_borders(kernel_device: str, shape: tuple[int, int, int]) -> None:
    a = whole_numbers(*shape)
    want = np.cumsum(a, axis=1, dtype=np.float32)
    for begin in (0, 1):
        x = laid(a, begin)
        xp.evaluate(x)
        xp.stats(reset=True)
        total = xp.cumulative_sum(x, axis=1)
        xp.evaluate(total)
        counts = xp.stats()
        assert (counts.launches, counts.d2h) == (1, 0)
        check(total, want)


@pytest.mark.parametrize("shape", BORDERS[::4], ids=lambda s: "x".join(map(str, s)))
def test_with_an_initial_value(device: str, shape: tuple[int, int, int]) -> None:
    a = whole_numbers(*shape)
    x = xp.asarray(a)
    xp.stats(reset=True)
    total = xp.cumulative_sum(x, axis=1, include_initial=True)
    assert total.shape == (shape[0], shape[1] + 1, shape[2])
    xp.evaluate(total)
    if device != "cpu":
        assert xp.stats().launches == 1
    check(total, np.insert(np.cumsum(a, axis=1, dtype=np.float32), 0, 0, axis=1))


DTYPES = [  # of elements, and of the sums: all widths of both
    ("int8", None), ("uint32", None), ("float64", None), ("complex64", None), ("complex128", None),
    ("int8", "int8"), ("uint16", "uint16"), ("int64", "int16"),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "result"), DTYPES)
def test_dtypes(device: str, dtype: str, result: str | None) -> None:
    for shape, axis in (((3, 9001), 1), ((6, 11), 1), ((700, 37), 0)):
        a = RNG.integers(0, 100, shape).astype(dtype)
        if a.dtype.kind == "c":
            a.imag = RNG.integers(-50, 50, shape)
        out = None if result is None else getattr(xp, result)
        total = xp.cumulative_sum(xp.asarray(a), axis=axis, dtype=out)
        with np.errstate(all="ignore"):
            check(total, np.cumsum(a.astype(total.dtype), axis=axis, dtype=total.dtype))


@given(data=st.data())
def test_integers_exactly(device: str, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 40), min_size=1, max_size=3)))
    longer = data.draw(st.sampled_from([1, 1, 30, 150]))
    axis = data.draw(st.integers(0, len(shape) - 1))
    shape = (*shape[:axis], shape[axis] * longer, *shape[axis + 1 :])
    order = data.draw(st.permutations(range(len(shape))))
    a = RNG.integers(-1000, 1000, shape, dtype=np.int64).transpose(order)
    x = xp.permute_dims(xp.asarray(a.transpose(np.argsort(order))), tuple(order))
    if data.draw(st.booleans()):
        a, x = np.flip(a, -1), xp.flip(x, axis=-1)
    if data.draw(st.booleans()) and a.shape[0] > 1:
        a, x = a[1:], x[1:]
    initial = data.draw(st.booleans())
    for axis in range(a.ndim):
        want = np.cumsum(a, axis=axis)
        if initial:
            want = np.insert(want, 0, 0, axis=axis)
        check(xp.cumulative_sum(x, axis=axis, include_initial=initial), want)


@pytest.mark.parametrize(
    ("shape", "axis"), [((300_000,), 0), ((3, 9001), 1), ((5000, 40), 0), ((3000, 2), 0)]
)
def test_floats_are_near_and_bits_are_the_same(
    kernel_device: str, shape: tuple[int, ...], axis: int
) -> None:
    a = RNG.uniform(-1, 1, shape).astype(np.float32)
    x = xp.asarray(a)
    first = np.asarray(xp.cumulative_sum(x, axis=axis))
    turned = xp.permute_dims(xp.asarray(np.ascontiguousarray(a.T)), tuple(range(a.ndim))[::-1])
    for other in (x, laid(a, 1), laid(a, 3), turned, xp.flip(xp.asarray(np.flip(a)))):
        assert same_bits(np.asarray(xp.cumulative_sum(other, axis=axis)), first)
    longer = np.asarray(xp.cumulative_sum(x, axis=axis, include_initial=True))
    assert same_bits(np.delete(longer, 0, axis=axis), first)
    column = np.moveaxis(a, axis, 0).reshape(shape[axis], -1)[:, -1].astype(np.float64)
    got = np.moveaxis(first, axis, 0).reshape(shape[axis], -1)[:, -1]
    most = 20 * float(np.finfo(np.float32).eps) * float(np.abs(np.cumsum(column)).max())
    for k in (0, 1, 100, shape[axis] // 2, shape[axis] - 1):
        # a few roundings, not one for each element
        assert abs(float(got[k]) - math.fsum(column[: k + 1])) <= most


def test_nothing_meets_an_identity(device: str) -> None:
    # (1 + 0j) * (inf + 0j) would be (inf + nan j), and -0 + 0 would be +0.
    z = np.asarray([complex(np.inf, 0.0), 1.0])
    first = np.asarray(xp.cumulative_prod(xp.asarray(z)))[0]
    assert first == complex(np.inf, 0.0)
    for n in (3, 100, 20_000):
        zeros = np.full(n, -0.0, np.float32)
        assert np.signbit(np.asarray(xp.cumulative_sum(xp.asarray(zeros)))).all()
    matrix = np.full((200, 40), -0.0, np.float32)
    assert np.signbit(np.asarray(xp.cumulative_sum(xp.asarray(matrix), axis=0))).all()


def test_nothing_to_scan(device: str) -> None:
    for shape, axis in (((0,), 0), ((3, 0), 1), ((3, 0), 0), ((0, 4, 2), 1), ((2, 0, 3), 1)):
        x = xp.zeros(shape, dtype=xp.float32)
        check(xp.cumulative_sum(x, axis=axis), np.zeros(shape, np.float32))
        longer = tuple(s + (d == axis) for d, s in enumerate(shape))
        total = xp.cumulative_prod(x, axis=axis, include_initial=True)
        check(total, np.ones(longer, np.float32))


def test_a_pending_operand_is_computed_first(kernel_device: str) -> None:
    a = whole_numbers(30, 40)
    x = xp.asarray(a)
    xp.evaluate(x)
    xp.stats(reset=True)
    total = xp.cumulative_sum(x * 2 + 1, axis=0)
    xp.evaluate(total)
    assert xp.stats().launches == 2
    check(total, np.cumsum(a * 2 + np.float32(1), axis=0))


def test_other_layouts_are_copied_once(kernel_device: str) -> None:
    a = whole_numbers(90, 70)
    x = xp.asarray(a)
    for view, want in ((x.T, a.T), (x[:, ::2], a[:, ::2]), (xp.flip(x), np.flip(a))):
        for axis in (0, 1):
            xp.stats(reset=True)
            total = xp.cumulative_sum(view, axis=axis)
            xp.evaluate(total)
            assert xp.stats().launches == 2
            check(total, np.cumsum(want, axis=axis))


def test_an_earlier_write_counts_and_a_later_one_does_not(device: str) -> None:
    a = whole_numbers(300, 50)
    x = xp.asarray(a, copy=True)
    x[3] = 2.0
    a[3] = 2
    total = xp.cumulative_sum(x[1:], axis=0)
    x[5] = 100.0
    check(total, np.cumsum(a[1:], axis=0))
