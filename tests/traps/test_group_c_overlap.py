"""Field cases of group C: assignments whose source and target overlap."""

from __future__ import annotations

import numpy as np
import pytest

import lazyarr as xp

from .common import eq


@pytest.mark.parametrize("n", [10, 100_000])
def test_43_shifting_an_array_into_itself(device: str, n: int) -> None:
    a = xp.arange(n)
    a[1:] = a[:-1]
    eq(a, np.concatenate([[0], np.arange(n - 1)]))
    b = xp.arange(n)
    b[:-1] = b[1:]
    eq(b, np.concatenate([np.arange(1, n), [n - 1]]))
    c = xp.arange(n)
    c[::2] = c[1::2]
    eq(c[::2], np.arange(n)[1::2])
    eq(c[1::2], np.arange(n)[1::2])


def test_43_rows_and_columns(device: str) -> None:
    m = xp.reshape(xp.arange(9), (3, 3))
    m[0, 0:2] = m[0, 1:3]
    m[:, 0] = m[:, 2]
    eq(m, [[2, 2, 2], [5, 4, 5], [8, 7, 8]])


@pytest.mark.parametrize("n", [10, 3000])
def test_43_a_small_part_of_a_large_array(device: str, n: int) -> None:
    w = np.arange(100_000)
    a = xp.asarray(w)
    xp.evaluate(a + 0)
    a[5 : 5 + n] = a[0:n]
    w[5 : 5 + n] = w[0:n].copy()
    eq(a, w)
    a[20 : 20 + n] = a[25 : 25 + n] + a[15 : 15 + n]
    w[20 : 20 + n] = w[25 : 25 + n] + w[15 : 15 + n]
    eq(a, w)


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_44_adding_its_own_transpose(device: str, n: int) -> None:
    x = xp.reshape(xp.arange(n * n), (n, n))
    x += x.T
    w = np.arange(n * n).reshape(n, n)
    eq(x, w + w.T)
    if n == 100:
        assert int(xp.sum(x)) == 99990000


def test_46_normalising_by_its_own_last_column(device: str) -> None:
    c = xp.broadcast_to(xp.astype(xp.arange(101), xp.float64)[None, :], (50, 101)) + 0
    c /= c[:, 100:]
    assert float(xp.max(c)) == 1.0
    assert float(c[49, 50]) == 0.5


def test_46_subtracting_its_own_first_element_row_and_column(device: str) -> None:
    w = np.arange(1.0, 61.0).reshape(6, 10)
    a = xp.asarray(w)
    a -= a[0]
    eq(a, w - w[0])
    b = xp.asarray(w)
    b -= b[:, :1]
    eq(b, w - w[:, :1])
    c = xp.asarray(w)
    c /= c[0, 0]
    c -= c[-1, -1]
    eq(c, w / w[0, 0] - w[-1, -1])
    d = xp.asarray(w)
    d[1:] /= d[0] + d[:1]
    w[1:] /= 2 * w[0]
    eq(d, w)


@pytest.mark.parametrize("n", [8, 10_000, 20_000, 1_000_000])
def test_47_shifted_in_place_arithmetic(device: str, n: int) -> None:
    d = xp.ones(n)
    d[1:] += d[:-1]
    d[1:] *= 0.5
    assert bool(xp.all(d == 1.0))


def test_47_a_difference_in_place(device: str) -> None:
    a = xp.arange(20)
    a[1:] -= a[:-1]
    eq(a, [0] + [1] * 19)


def test_47_a_stencil_in_place(device: str) -> None:
    w = np.random.default_rng(0).random((40, 50))
    u = xp.asarray(w)
    for _ in range(5):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        w[1:-1, 1:-1] = 0.25 * (w[:-2, 1:-1] + w[2:, 1:-1] + w[1:-1, :-2] + w[1:-1, 2:])
    eq(u, w)


def test_47_a_reduction_of_the_target_as_source(device: str) -> None:
    w = np.arange(12).reshape(3, 4)
    a = xp.asarray(w)
    a[1] = xp.sum(a, axis=0)
    w[1] = w.sum(0)
    eq(a, w)
    a[:, 1:3] += xp.max(a, axis=1, keepdims=True)
    w[:, 1:3] += w.max(1, keepdims=True)
    eq(a, w)


def test_49_the_index_array_is_a_view_of_the_target(device: str) -> None:
    a = xp.arange(10)
    a[2:][a[:-2]] = 3
    eq(a, [0, 1, 3, 3, 3, 3, 3, 3, 3, 3])


def test_49_the_values_are_a_view_of_the_target(device: str) -> None:
    a = xp.arange(10)
    a[xp.asarray([9, 8, 7])] = a[:3]
    eq(a, [0, 1, 2, 3, 4, 5, 6, 2, 1, 0])
    b = xp.arange(6)
    index = b[::-1] * 1
    b[index] = b
    eq(b, [5, 4, 3, 2, 1, 0])


def test_50_the_mask_is_computed_from_the_target(device: str) -> None:
    a = xp.arange(10)
    m = a > 5
    a[m] = 0
    eq(a, [0, 1, 2, 3, 4, 5, 0, 0, 0, 0])
    eq(m, np.arange(10) > 5)  # fixed when it was written, not when it is used
    b = xp.arange(10)
    m = b > 5
    b[m] = 100
    b[m] = b[m] + 1
    eq(b, [0, 1, 2, 3, 4, 5, 101, 101, 101, 101])


def test_50_a_mask_that_is_a_view_of_the_target(device: str) -> None:
    a = xp.asarray([True, False, True, False, True])
    a[1:][a[:-1]] = False
    eq(a, [True, False, True, False, True])
    b = xp.asarray([True, True, False, True])
    b[b] = False
    eq(b, [False] * 4)


@pytest.mark.parametrize("rows", [slice(None), slice(1, None), slice(3, 4)])
def test_a_held_chain_is_written_over_what_it_reads(device: str, rows: slice) -> None:
    n = np.arange(24).reshape(4, 6)
    a = xp.asarray(n)
    part = a[rows, 0]
    held = part * 3 + 1  # reads the old values through an operation that nobody holds
    part[...] = held
    eq(held, n[rows, 0] * 3 + 1)
    eq(part, n[rows, 0] * 3 + 1)
    b = xp.asarray(n)
    held = xp.sqrt(xp.astype(b[rows] * 2 + 1, xp.float64)) + 0.5
    b[rows] += xp.astype(held, xp.int64)
    eq(held, np.sqrt((n[rows] * 2 + 1).astype(float)) + 0.5)


def test_a_picked_part_of_the_array_is_written_to_it(device: str) -> None:
    n = np.arange(1000.0)
    a = xp.asarray(n)
    reverse = np.arange(100)[::-1].copy()
    index = xp.asarray(reverse) + 0  # computed, so that the kernel picks
    a[50:150] = a[index] * 2 + 1
    want = n.copy()
    want[50:150] = n[reverse] * 2 + 1
    eq(a, want)
    for part in (slice(2, 102), slice(900, 1000)):
        b = xp.asarray(n)
        b[part] = b[index]
        want = n.copy()
        want[part] = n[reverse]
        eq(b, want)


def test_the_array_under_another_shape_is_written_backwards(device: str) -> None:
    n = np.arange(24.0).reshape(4, 6)
    a = xp.asarray(n)
    xp.evaluate(a + 0)
    flat = xp.flip(xp.reshape(a, (24,)))
    flat[...] = xp.reshape(a * 2, (24,))
    eq(a, (n * 2).reshape(24)[::-1].reshape(4, 6))
    b = xp.asarray(n)
    b[1:, ...] = xp.reshape(xp.reshape(b * 2, (24,))[6:] + 0, (3, 6))
    eq(b, np.concatenate([n[:1], n[1:] * 2]))
    c = xp.asarray(n)
    xp.reshape(c, (24,))[6:] = xp.reshape(xp.reshape(c, (2, 12))[:, ::2] + xp.zeros((2, 6)), (12,))[
        xp.asarray([0, 11] * 9)
    ]
    want = n.copy().reshape(24)
    want[6:] = n.reshape(2, 12)[:, ::2].reshape(12)[[0, 11] * 9]
    eq(c, want.reshape(4, 6))
