"""Indexing with arrays, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from tests.property.support import eager

RNG = np.random.default_rng(5)
SOURCE = RNG.random((4, 5, 6))
PICKS = np.array([2, 0, -1])  # of each axis three different elements
TABLE = np.array([[0, 1], [2, 3]])
MASK = SOURCE > 0.5


def on(device: str, part: Any) -> Any:
    """Return a key with its NumPy arrays as arrays of the device."""
    if isinstance(part, tuple):
        return tuple(on(device, p) for p in part)
    return xp.asarray(part, device=device) if isinstance(part, np.ndarray) else part


def check(got: Any, want: Any) -> None:
    assert got.shape == np.shape(want)
    np.testing.assert_array_equal(np.asarray(got), want)


ALL = slice(None)
KEYS = [
    (PICKS,),
    (ALL, PICKS),
    (PICKS, slice(1, 3)),
    (PICKS, ALL, PICKS),
    (ALL, PICKS, PICKS),
    (0, PICKS),
    (PICKS, None, 0),
    (PICKS, Ellipsis, 0),
    (None, PICKS),
    (Ellipsis, PICKS),
    (slice(1, None), PICKS, slice(None, None, -1)),
    (ALL, TABLE),
    (TABLE[:, :1], TABLE[:1]),
    (MASK,),
    (MASK[:, :, 0],),
    (ALL, MASK[0]),
    (MASK[:, 0, 0],),
    (MASK[:, :, 0], 2),
    (np.zeros((0,), np.int64),),
    (np.array(True),),
    (np.array(False),),
]


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_get(device: str, key: Any) -> None:
    x = xp.asarray(SOURCE, device=device)
    check(x[on(device, key)], SOURCE[key])
    check((x.mT + 1)[on(device, key[:1])] if key[0] is PICKS else x, _swapped(key))


def _swapped(key: Any) -> Any:
    return (np.swapaxes(SOURCE, 1, 2) + 1)[key[:1]] if key[0] is PICKS else SOURCE


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_set(device: str, key: Any) -> None:
    places = np.arange(SOURCE.size).reshape(SOURCE.shape)[key]
    assert len(np.unique(places)) == places.size, "which of several values stays is not defined"
    values = RNG.random(SOURCE[key].shape)
    for value in (7.0, values):
        x = xp.asarray(SOURCE, device=device)
        want = SOURCE.copy()
        x[on(device, key)] = on(device, value)
        want[key] = value
        check(x, want)


def test_write_through_a_view(device: str) -> None:
    base = xp.asarray(SOURCE, device=device)
    want = SOURCE.copy()
    base[1:, ::2][on(device, np.array([2, 0]))] = 3.0
    want[1:, ::2][np.array([2, 0])] = 3.0
    check(base, want)


def test_readers_before_an_indexed_write_keep_the_old_values(device: str) -> None:
    x = xp.asarray(np.arange(6.0), device=device)
    before = x + 1
    x[on(device, np.array([0, 5]))] = -1.0
    check(before, np.arange(6.0) + 1)
    check(x, [-1, 1, 2, 3, 4, -1])


def test_nonzero(device: str) -> None:
    for got, want in zip(
        xp.nonzero(xp.asarray(MASK, device=device)), np.nonzero(MASK), strict=True
    ):
        check(got, want)
        assert got.dtype == xp.int64
    big = RNG.integers(0, 2, 70_000)
    check(xp.nonzero(xp.asarray(big, device=device))[0], np.flatnonzero(big))
    with pytest.raises(ValueError, match="at least one axis"):
        xp.nonzero(xp.asarray(1, device=device))


def test_take(device: str) -> None:
    x = xp.asarray(SOURCE, device=device)
    check(xp.take(x, on(device, PICKS), axis=1), SOURCE[:, PICKS])
    along = np.argsort(SOURCE, axis=1)
    check(
        xp.take_along_axis(x, on(device, along), axis=1), np.take_along_axis(SOURCE, along, axis=1)
    )
    check(xp.take_along_axis(x[0, 0], on(device, np.array([-1])), axis=0), SOURCE[0, 0, -1:])
    with pytest.raises(ValueError, match="axis="):
        xp.take(x, on(device, PICKS))
    for other in (np.array([0.0]), np.array([True])):
        with pytest.raises(TypeError, match="must be integers"):
            xp.take(x[0, 0], on(device, other))
        with pytest.raises(TypeError, match="must be integers"):
            xp.take_along_axis(x[0, 0], on(device, other))


def test_an_index_known_to_the_host_raises_at_the_call(device: str) -> None:
    x = xp.asarray(SOURCE, device=device)
    bad = xp.asarray(np.array([1, 99]), device=device)
    with pytest.raises(IndexError, match="index 99 is out of bounds for axis 0 with size 4"):
        x[bad]
    with pytest.raises(IndexError, match="index 99 is out of bounds for axis 1 with size 5"):
        x[:, bad] = 0.0
    check(x, SOURCE)


def test_a_computed_index_raises_whenever_it_is_read(device: str) -> None:
    x = xp.asarray(SOURCE, device=device)
    index = xp.asarray(np.array([0, 1, 2]), device=device) * 100
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 4"):
        np.asarray(x[index])
    if device != "cpu":
        picked = x[index]
        for _ in range(2):
            with pytest.raises(IndexError, match="index [12]00 is out of bounds"):
                np.asarray(picked)
    with pytest.raises(IndexError, match="00 is out of bounds for axis 0 with size 4"):
        x[index] = 0.0
    check(x, SOURCE)
    check(x + 1, SOURCE + 1)


def test_a_write_of_picked_values_that_fails_changes_nothing(device: str) -> None:
    x = xp.asarray(SOURCE, device=device)
    table = xp.asarray(np.arange(6.0), device=device)
    bad = xp.asarray(np.array([0, 1, 99]), device=device) + 0
    with pytest.raises(IndexError, match="99 is out of bounds"):
        x[0, 0, 1:4] = table[bad]
    with pytest.raises(IndexError, match="99 is out of bounds"):
        x[0, :3, 0] = table[bad] * 2
    check(x, SOURCE)


def picked(bad: bool) -> tuple[xp.Array, xp.Array]:
    """Return a table and an evaluated pick from it by indices that only the device knows."""
    table = xp.asarray(np.arange(6.0))
    index = xp.asarray(np.array([0, 2, 4])) + (2 if bad else 0)
    result = table[index]
    xp.evaluate(result)
    return table, result


def test_indices_on_the_device_are_looked_at_with_the_result(kernel_device: str) -> None:
    table, first = picked(bad=False)
    xp.stats(reset=True)
    second = xp.take(table, xp.asarray(np.array([1, 3])) + 1)
    both = first[1:] * 2 + second
    xp.evaluate(both, second)
    assert xp.stats().control == 0
    np.testing.assert_array_equal(np.asarray(both), [6.0, 12.0])
    assert xp.stats().control == 1
    np.testing.assert_array_equal(np.asarray(first), [0.0, 2.0, 4.0])
    assert xp.stats().control == 1


def test_what_depends_on_a_bad_index_raises_and_nothing_else(kernel_device: str) -> None:
    table, result = picked(bad=True)
    total = xp.sum(result)
    xp.evaluate(total, result + table[:3])
    mine = table + 1
    np.testing.assert_array_equal(np.asarray(mine), np.arange(1.0, 7.0))
    later = total * 2  # built when the outcome is known
    into, mostly = xp.zeros(16), xp.zeros(4)
    xp.evaluate(into)
    mostly[:3] = result
    kernel = xp.SourceModule("__global__ void f(double* x) { x[0] = 1; }").get_function("f")
    readers: list[Callable[[], object]] = [
        lambda: np.asarray(result),
        lambda: result.get(),
        lambda: result[1:].get(),
        lambda: float(total),
        lambda: np.asarray(later),
        lambda: np.asarray(xp.sort(result)),
        lambda: np.asarray(result @ result),
        lambda: xp.nonzero(result),
        lambda: result[result > 0],
        lambda: np.asarray(result[table[:3] >= 0]),
        lambda: xp.linalg.det(xp.reshape(result, (3, 1, 1))),
        lambda: into.__setitem__(slice(0, 3), result),
        lambda: np.asarray(mostly),
        lambda: xp.asarray(result, device="cpu"),
        lambda: xp.prefetch(result, to="host"),
        lambda: result.__dlpack__(),
        lambda: kernel(xp.InOut(result), block=1),
        lambda: np.asarray(xp.concat([table, result])),
    ]
    for read in (*readers, *readers):
        with pytest.raises(IndexError, match="index 6 is out of bounds for axis 0 with size 6"):
            read()
    np.testing.assert_array_equal(np.asarray(into), np.zeros(16))
    kernel(xp.Out(result), block=1)  # all of it is new
    result[...] = 5.0
    np.testing.assert_array_equal(np.asarray(result), [5.0, 5.0, 5.0])


def test_more_checks_than_slots(kernel_device: str) -> None:
    table = xp.asarray(np.arange(6.0))
    index = xp.asarray(np.array([5])) + 0
    results = []
    for n in range(600):
        results.append(table[index + int(n == 300)])
        xp.evaluate(results[-1])
    for n, result in enumerate(results):
        if n == 300:
            with pytest.raises(IndexError, match="index 6"):
                float(result[0])
        else:
            assert float(result[0]) == 5.0


def test_eager_raises_at_the_line(kernel_device: str) -> None:
    table = xp.asarray(np.arange(6.0))
    index = xp.asarray(np.array([5])) + 1
    xp.evaluate(index)
    with eager(), pytest.raises(IndexError, match="index 6"):
        table[index]


def test_a_table_is_looked_up_in_place(device: str) -> None:
    data = RNG.integers(0, 1000, (8, 600))
    table = RNG.integers(5000, 9000, 1000)
    x = xp.asarray(data, device=device)
    x[1:, ...] = xp.asarray(table, device=device)[x[1:, ...] + 0]
    want = data.copy()
    want[1:] = table[data[1:]]
    check(x, want)


def test_masks_that_do_not_fit(device: str) -> None:
    x = xp.asarray(SOURCE, device=device)
    with pytest.raises(IndexError, match="does not match"):
        x[on(device, MASK[:2])]
    with pytest.raises(IndexError, match="too many indices"):
        x[on(device, MASK), 0]
    with pytest.raises(IndexError, match="integers or booleans"):
        x[x]


def test_an_empty_mask_picks_nothing(device: str) -> None:
    # The standard lets an axis of a mask be empty whatever it picks from.
    x = xp.asarray(SOURCE, device=device)
    for shape in ((0, 5), (4, 0), (0, 0), (0,)):
        mask = xp.zeros(shape, dtype=xp.bool, device=device)
        assert x[mask].shape == (0, *SOURCE.shape[len(shape) :])
        x[mask] = 1.0
    check(x, SOURCE)


def test_gathers_fuse_and_copy_nothing(device: str) -> None:
    if device == "cpu":
        return
    x = xp.asarray(SOURCE, device=device)
    index = xp.asarray(PICKS, device=device)
    xp.evaluate(x + 0, index + 0)
    xp.stats(reset=True)
    total = xp.sum(x[index] * 2 + 1)
    xp.evaluate(total)
    counts = xp.stats()
    assert (counts.launches, counts.h2d, counts.d2h) == (1, 0, 0)
    np.testing.assert_allclose(float(total), (SOURCE[PICKS] * 2 + 1).sum())


@pytest.mark.parametrize("length", [1, 5, 64, 65, 2048, 2049, 70_000])
def test_cumulative_sum(device: str, length: int) -> None:
    data = RNG.integers(-5, 5, length)
    check(xp.cumulative_sum(xp.asarray(data, device=device)), np.cumsum(data))


def test_cumulative_functions_along_axes(device: str) -> None:
    data = RNG.integers(1, 3, (3, 40, 5)).astype(np.int8)
    x = xp.asarray(data, device=device)
    for axis in (0, 1, -1):
        got = xp.cumulative_sum(xp.flip(x), axis=axis)
        assert got.dtype == xp.int64
        check(got, np.cumsum(np.flip(data), axis=axis))
    check(xp.cumulative_prod(x, axis=0), np.cumprod(data, axis=0, dtype=np.int64))
    start = xp.cumulative_sum(x, axis=1, include_initial=True)
    assert start.shape == (3, 41, 5)
    check(start[:, 0], np.zeros((3, 5)))
    empty = xp.asarray(np.zeros(0), device=device)
    check(xp.cumulative_sum(empty), np.zeros(0))
    check(xp.cumulative_sum(empty, include_initial=True), [0.0])
