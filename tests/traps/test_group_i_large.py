"""Field cases of group I: more than 2^31 elements, or a long way from the first to the last."""

from __future__ import annotations

import numpy as np
import pytest

import lazyarr as xp

from .common import eq


@pytest.mark.cuda
@pytest.mark.slow
def test_94_beyond_32_bits() -> None:
    n = 2**31 + 1
    with xp.default_device("cuda"):
        z = xp.zeros(n, dtype=xp.int8)
        joined = xp.concat([z, z[:3]])
        assert int(xp.max(joined)) == 0
        assert joined.shape == (n + 3,)
        del joined, z
        c = xp.cumulative_sum(xp.ones(n, dtype=xp.int8), dtype=xp.int64)
        assert int(c[-1]) == n
        del c
        a = xp.arange(2**29 + 1, dtype=xp.int32)
        assert int(a[-1]) == 2**29
        xp.evaluate(a)
        assert int(a[-1]) == 2**29
        assert int(xp.flip(a)[0]) == 2**29
        b = xp.ones(n, dtype=xp.int8)
        xp.evaluate(b)
        assert int(xp.sum(b + b)) == 2 * n
        eq((b + b)[-2:], np.asarray([2, 2], np.int8))


@pytest.mark.cuda
@pytest.mark.slow
def test_94_sorting_beyond_32_bits() -> None:
    n = 2**31 + 77
    edges = np.arange(101)
    counts = n // 100 + (edges[:-1] < n % 100)
    with xp.default_device("cuda"):
        x = xp.astype(xp.arange(n) % 100, xp.int8)
        ordered = xp.sort(x)
        starts = xp.searchsorted(ordered, xp.asarray(edges, dtype=xp.int8))
        eq(starts, np.concatenate(([0], np.cumsum(counts))))
        found = xp.unique_counts(x)
        eq(found.values, edges[:-1].astype(np.int8))
        eq(found.counts, counts)
        del ordered, found
        order = xp.argsort(xp.astype(x, xp.int16), descending=True)
        eq(order[:3], [99, 199, 299])
        last = (n - 1) // 100 * 100
        eq(order[-2:], [last - 100, last])


@pytest.mark.cuda
@pytest.mark.slow
def test_95_the_index_width_follows_the_extent() -> None:
    with xp.default_device("cuda"):
        z = xp.ones(2**28 + 1, dtype=xp.complex64)
        assert float(xp.sum(xp.real(z), dtype=xp.float64)) == 2**28 + 1
        del z
        b = xp.ones((2, 2**31 + 64), dtype=xp.int8)
        xp.evaluate(b)
        assert int(xp.sum(b[:, :: 2**30])) == 6
        b[:, :: 2**30] = 3
        assert int(xp.sum(b[:, :: 2**30])) == 18
        eq(b[1, 2**31 - 1 : 2**31 + 2], np.asarray([1, 3, 1], np.int8))


@pytest.mark.slow
def test_95_a_long_way_with_few_elements(kernel_device: str) -> None:
    b = xp.asarray(np.ones((2, 2**30 + 64), np.int8))
    assert int(xp.sum(b[:, :: 2**29])) == 6
    b[:, :: 2**29] = 3
    assert int(xp.sum(b[:, :: 2**29])) == 18
    eq(b[1, 2**30 - 1 : 2**30 + 2], np.asarray([1, 3, 1], np.int8))


def test_97_a_product_of_extents_beyond_64_bits(device: str) -> None:
    with pytest.raises((ValueError, MemoryError)):
        xp.ones((2, 2, 5, 5581, 8681, 49477, 384773))
    with pytest.raises((ValueError, MemoryError)):
        xp.broadcast_to(xp.ones(1), (2**40, 2**40))


@pytest.mark.cuda
@pytest.mark.slow
def test_98_a_scalar_into_a_large_array() -> None:
    with xp.default_device("cuda"):
        a = xp.zeros(2**33 + 5, dtype=xp.int8)
        a[...] = 1
        a[2**33 :] = 7
        a[1] = 5
        assert int(xp.sum(a)) == 2**33 - 1 + 5 + 5 * 7
        eq(a[-2:], np.asarray([7, 7], np.int8))


def test_100_no_axes_is_no_alias(device: str) -> None:
    x = xp.asarray([1, 2], dtype=xp.int64)
    y = xp.sum(x, axis=(), dtype=x.dtype)
    y[0] = 9
    eq(x, [1, 2])
    eq(y, [9, 2])
    for name in ("sum", "prod", "max", "min"):
        z = getattr(xp, name)(x, axis=())
        z[...] = 0
        eq(x, [1, 2])
