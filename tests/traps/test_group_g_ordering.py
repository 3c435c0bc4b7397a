"""Field cases of groups E and G: sorting, searching and sets."""

from __future__ import annotations

import numpy as np

import lazyarr as xp

from .common import eq


def test_62_sorting_and_sets_of_nothing(device: str) -> None:
    z = xp.asarray([], dtype=xp.float64)
    eq(xp.sort(z), z)
    eq(xp.unique_values(z), z)
    eq(xp.searchsorted(z, xp.asarray([1.0])), [0])
    assert xp.argsort(z).shape == (0,)
    u = xp.unique_all(z)
    assert (u.values.shape, u.indices.shape, u.inverse_indices.shape) == ((0,), (0,), (0,))


def test_82_nan_in_argsort(device: str) -> None:
    x = xp.asarray([3.0, np.nan, 1.0, np.nan, 2.0])
    eq(xp.argsort(x, stable=True), [2, 4, 0, 1, 3])
    eq(xp.argsort(xp.asarray([np.nan] * 40), stable=True), np.arange(40))


def test_83_stability(device: str) -> None:
    eq(xp.argsort(xp.asarray([1000] * 6 + [0, 1000]), stable=True), [6, 0, 1, 2, 3, 4, 5, 7])
    n = 100_000
    k = xp.arange(n) % 7
    eq(xp.argsort(k, stable=True), np.argsort(np.arange(n) % 7, kind="stable"))
    eq(xp.argsort(xp.asarray([1, 0, 1, 0]), descending=True, stable=True), [0, 2, 1, 3])
    bytes_ = np.asarray([0, 255, 3], np.uint8)
    eq(xp.sort(xp.asarray(bytes_), descending=True), np.asarray([255, 3, 0], np.uint8))
    low = np.asarray([-128, 127, 0], np.int8)
    eq(xp.sort(xp.asarray(low), descending=True), np.asarray([127, 0, -128], np.int8))


def test_85_the_shape_of_inverse_indices(device: str) -> None:
    x = xp.asarray([[3, 1], [3, 2]])
    u = xp.unique_inverse(x)
    assert u.inverse_indices.shape == x.shape
    eq(xp.reshape(xp.take(u.values, xp.reshape(u.inverse_indices, (-1,))), x.shape), x)


def test_86_searchsorted_puts_nan_where_sort_does(device: str) -> None:
    s = xp.asarray([-0.4, -0.3, -0.2], dtype=xp.float32)
    eq(xp.searchsorted(s, xp.asarray([0.1, np.nan], dtype=xp.float32)), [3, 3])
    e = xp.asarray([0.0, 1.0, 1.0, 2.0])
    eq(xp.searchsorted(e, xp.asarray([1.0]), side="left"), [1])
    eq(xp.searchsorted(e, xp.asarray([1.0]), side="right"), [3])


def test_86_arange_does_not_accumulate_rounding(device: str) -> None:
    eq(xp.arange(-1.0, 1.0, 0.1), -1.0 + np.arange(20) * 0.1)
    eq(xp.arange(0, 3, 0.3, dtype=xp.float32), (np.arange(10) * 0.3).astype(np.float32))
