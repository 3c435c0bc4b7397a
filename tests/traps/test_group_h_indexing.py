"""Field cases of group H: index arrays and masks."""

from __future__ import annotations

import numpy as np
import pytest

import lazyarr as xp

from .common import eq


def test_88_a_bad_index_leaves_the_session_usable(device: str) -> None:
    a = xp.arange(5)
    with pytest.raises(IndexError):
        np.asarray(a[xp.asarray([99])])
    eq(a + 1, [1, 2, 3, 4, 5])
    bad = xp.sum(xp.arange(3)) + 96  # only the device knows it
    with pytest.raises(IndexError):
        np.asarray(a[xp.reshape(bad, (1,))])
    eq(a + 1, [1, 2, 3, 4, 5])


def test_89_negative_indices(device: str) -> None:
    eq(xp.take_along_axis(xp.asarray([1, 2, 3]), xp.asarray([-1])), [3])
    x = xp.asarray([[1, 2], [3, 4]])
    eq(xp.take_along_axis(x, xp.asarray([[-1], [0]]), axis=1), [[2], [3]])


def test_91_shapes_in_mask_assignment(device: str) -> None:
    a = xp.astype(xp.arange(10), xp.float64)
    a[a > 5] = 0.0
    assert float(xp.sum(a)) == 15.0
    m = xp.asarray([False] * 10)
    a[m] = 7.0
    assert float(xp.sum(a)) == 15.0
    eq(a[m], np.zeros(0))
    y = xp.full((2, 1), xp.nan)
    y[xp.asarray([True, False])] = xp.asarray([[0.0]])
    eq(y, [[0.0], [np.nan]])
    b = xp.arange(4)
    with pytest.raises(ValueError):
        b[xp.asarray([True, False, True, False])] = xp.asarray([1, 2, 3])
    eq(b, [0, 1, 2, 3])
    with pytest.raises(IndexError):
        xp.arange(4)[xp.asarray([True, False])]


def test_92_a_mask_with_an_integer(device: str) -> None:
    d = xp.zeros((4, 4, 3))
    d[..., 0] = xp.reshape(xp.arange(16.0), (4, 4))
    m = d[..., 0] > 7
    d[m, 2] = 1.0
    assert float(xp.sum(d[..., 2])) == 8.0
