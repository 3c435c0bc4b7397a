"""Field cases of group E: zero-dimensional and empty arrays."""

from __future__ import annotations

import numpy as np
import pytest

import lazyarr as xp

from .common import eq


def test_61_an_empty_axis(device: str) -> None:
    a = xp.zeros((2, 0), dtype=xp.float32)
    i = xp.asarray([0, 1, 0])
    eq(xp.take(a, i, axis=0), np.zeros((3, 0), np.float32))
    eq(a + a, np.zeros((2, 0)))
    eq(xp.take(xp.arange(3), xp.asarray([], dtype=xp.int64)), np.zeros(0, int))
    eq(xp.matmul(xp.zeros((3, 0)), xp.zeros((0, 2))), np.zeros((3, 2)))
    eq(xp.concat([xp.zeros(0), xp.ones(2)]), [1.0, 1.0])


def test_61_writes_and_reductions_of_nothing(device: str) -> None:
    a = xp.zeros((3, 0))
    a += 1
    a[1:] = 5.0
    a[:, :] = xp.zeros((1, 0))
    eq(a, np.zeros((3, 0)))
    eq(xp.sum(a, axis=1), np.zeros(3))
    eq(xp.sum(a, axis=0), np.zeros(0))
    b = xp.arange(4)
    b[2:2] = 9
    b[xp.asarray([], dtype=xp.int64)] = 9
    b[b > 99] = 9
    eq(b, np.arange(4))
    eq(xp.flip(xp.roll(xp.permute_dims(a, (1, 0)), 1)), np.zeros((0, 3)))


def test_62_set_sort_and_cumulative_functions_of_nothing(device: str) -> None:
    z = xp.asarray([], dtype=xp.float64)
    eq(xp.sort(z), np.zeros(0))
    assert xp.argsort(z).shape == (0,)
    eq(xp.unique_values(z), np.zeros(0))
    assert [x.shape for x in xp.unique_all(z)] == [(0,)] * 4
    eq(xp.searchsorted(z, xp.asarray([1.0])), [0])
    eq(xp.isin(xp.asarray([1.0]), z), [False])
    eq(xp.cumulative_sum(z), np.zeros(0))
    eq(xp.cumulative_sum(z, include_initial=True), [0.0])
    assert xp.nonzero(z)[0].shape == (0,)


def test_64_indexing_a_0d_array(device: str) -> None:
    s = xp.asarray(7)
    assert s[()].shape == ()
    assert int(s[...]) == 7
    for key in (0, slice(0, 1)):
        with pytest.raises(IndexError):
            s[key]
    with pytest.raises(IndexError):
        xp.arange(10)[0, 0]
    eq(s[xp.asarray(True)], [7])
    eq(s[xp.asarray(False)], np.zeros(0, int))
    s[...] = 8
    s[()] += 1
    assert int(s) == 9
    with pytest.raises(IndexError):
        s[0] = 1
