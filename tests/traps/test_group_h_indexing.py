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


def test_an_indexed_write_inside_an_open_host_block(device: str) -> None:
    a = xp.arange(5.0)
    with a.host("rw") as h:
        h[1] = 7
        a[[0, 3]] = xp.asarray([50.0, 9.0])
        assert h.tolist() == [50, 7, 2, 9, 4]
        a[a > 40] = -1
        i = xp.asarray([0, 1])
        a[i] = a[i[::-1]]
        assert h.tolist() == [7, -1, 2, 9, 4]
        h[4] = 5
    eq(a, [7.0, -1.0, 2.0, 9.0, 5.0])


def test_an_indexed_write_to_shared_host_memory(device: str) -> None:
    h = np.arange(4.0)
    a = xp.asarray(h, copy=False)
    a[[0, 2]] = xp.asarray([5.0, 6.0])
    assert h.tolist() == [5, 1, 6, 3]
    h.flags.writeable = False
    b = xp.asarray(h, copy=False)
    with pytest.raises(ValueError, match="read-only memory"):
        b[[0]] = 1
    assert h[0] == 5


def test_an_indexed_write_takes_values_that_any_write_takes(device: str) -> None:
    a = xp.arange(5)
    with pytest.raises(TypeError, match="cannot write float64"):
        a[[0]] = xp.asarray([1.5])
    with pytest.raises(TypeError, match="cannot write bool"):
        a[[0]] = xp.asarray([True])
    with pytest.raises(TypeError, match="cannot write complex128"):
        xp.arange(5.0)[[0]] = xp.asarray([1j])
    other = xp.asarray([1], device="cpu" if a.device != xp.zeros(1, device="cpu").device else "sim")
    with pytest.raises(ValueError, match="different devices"):
        a[[0]] = other
    eq(a, np.arange(5))


@pytest.mark.parametrize("key", ["x", 1.5, {}, range(2)])
def test_a_key_of_a_wrong_type(device: str, key: object) -> None:
    a = xp.arange(4)
    with pytest.raises(IndexError, match="an index is an integer, a slice"):
        a[key]
    with pytest.raises(IndexError, match="an index is an integer, a slice"):
        a[key] = 1


def test_a_huge_step_picks_one_element(device: str) -> None:
    n = np.arange(12.0).reshape(3, 4)
    a = xp.asarray(n)
    eq(a[:: 2**62] + 1, n[:1] + 1)
    eq(a[:, :: -(2**62)] + 1, n[:, 3:] + 1)
    eq(a[-(10**30) : 10**30 : 10**25], n[:1])
    a[:: 2**62] = 5
    eq(a, [[5.0] * 4, *n[1:].tolist()])
