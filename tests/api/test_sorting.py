"""``sort`` and ``argsort``: every kernel, dtype and direction, and what runs on the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazyarr as xp
from lazyarr.codegen import sorting as kernels
from lazyarr.graph import evaluate, sorting
from lazyarr.runtime.select import default_device
from tests.property.support import DTYPES, check, special_values, values

PASS = kernels.pass_of(4, kernels.Carried(4, 4), False)
PASS_TILE = PASS.threads * PASS.items
ENDS = [0, 1, 2, 31, 32, 33, 64, 65, 128, 129, 256, 257, 512, 1025, 2049, 4096, 4097]
ENDS += [PASS_TILE, PASS_TILE + 1, 20_011]


def order_of(n: Any, descending: bool) -> Any:
    """The stable order along the last axis, NaN last, by NumPy's ascending stable sort alone."""
    if not descending:
        return np.argsort(n, axis=-1, kind="stable")
    order = n.shape[-1] - 1 - np.argsort(n[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    nans = np.take_along_axis(n != n, order, -1)  # first here, and to come last
    return np.take_along_axis(order, np.argsort(nans, axis=-1, kind="stable"), -1)


def check_sorted(n: Any, axis: int = -1, *, descending: bool = False, x: Any = None) -> None:
    """Check both functions; equal elements that differ in bits show whether a sort is stable."""
    x = xp.asarray(n) if x is None else x
    order = np.moveaxis(order_of(np.moveaxis(n, axis, -1), descending), -1, axis)
    check(xp.argsort(x, axis=axis, descending=descending), order.astype(np.int64))
    want = np.take_along_axis(n, order, axis)
    check(xp.sort(x, axis=axis, descending=descending), want)


@pytest.mark.parametrize("length", ENDS)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64"])
def test_lengths_at_which_the_kernel_changes(device: str, length: int, dtype: str) -> None:
    for descending in (False, True):
        check_sorted(values(dtype, length, seed=length), descending=descending)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_dtypes(device: str, dtype: str, descending: bool) -> None:
    for length in (100, 1000, 5000):
        check_sorted(np.resize(values(dtype, 300, seed=3), length), descending=descending)


@given(data=st.data())
def test_short_rows_of_special_values(device: str, data: Any) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = data.draw(st.sampled_from([(7,), (1, 5), (3, 9), (9, 3), (2, 0), (0, 2), (2, 3, 40)]))
    size = int(np.prod(shape))
    drawn = data.draw(st.lists(st.sampled_from(special_values(dtype)), min_size=8, max_size=40))
    n = np.resize(np.asarray(drawn, dtype), size).reshape(shape)
    axis = data.draw(st.integers(-n.ndim, n.ndim - 1))
    check_sorted(n, axis, descending=data.draw(st.booleans()))


@pytest.mark.parametrize("shape", [(3, 5000), (5000, 3), (2, 300, 3), (40, 17, 2)])
def test_axes_and_views(device: str, shape: tuple[int, ...]) -> None:
    n = values("float32", int(np.prod(shape)), seed=1).reshape(shape)
    x = xp.asarray(n)
    for axis in range(n.ndim):
        check_sorted(n, axis, descending=axis == 1)
    check_sorted(n[::-1, 1:], 0, x=xp.flip(x, axis=0)[:, 1:, ...])
    swapped = tuple(reversed(range(n.ndim)))
    check_sorted(n.transpose(swapped), x=xp.permute_dims(x, swapped))
    check_sorted(-n, x=-x)
    wide = np.broadcast_to(n[..., :1], shape)
    check_sorted(wide, x=xp.broadcast_to(x[..., :1], shape))


@pytest.mark.parametrize("descending", [False, True])
def test_rows_that_need_different_passes(device: str, descending: bool) -> None:
    rng = np.random.default_rng(3)
    length = 9000
    rows = [
        np.full(length, 77),
        rng.integers(0, 200, length),
        rng.integers(0, 256, length) << 16,
        rng.integers(-(2**31), 2**31, length),
        rng.integers(0, 3, length) * (1 << 24) + rng.integers(0, 2, length) * 256,
        np.arange(length),
        np.arange(length)[::-1],
    ]
    check_sorted(np.asarray(rows, np.int32), descending=descending)
    check_sorted(np.asarray(rows, np.int64) << 20, descending=descending)


def test_many_tiles(device: str) -> None:
    n = values("float32", 100_003, seed=9, special=False)
    n[::11] = np.nan
    n[1::7] = -0.0
    n[3::5] = 0.0
    check_sorted(n)
    check_sorted(np.arange(100_000) % 7, descending=True)


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch, kernel_device: str) -> Iterator[None]:
    """Make radix sorts count and carry 64-bit numbers, as for rows beyond 2**31."""
    monkeypatch.setattr(sorting, "NARROW_COUNTS", 0)
    monkeypatch.setattr(sorting, "NARROW_INDICES", 0)
    evaluate.runtime(default_device()).plans.clear()
    yield
    evaluate.runtime(default_device()).plans.clear()


@pytest.mark.parametrize("dtype", ["uint8", "float32", "int64"])
def test_rows_as_if_beyond_32_bits(wide: None, dtype: str) -> None:
    n = np.resize(values(dtype, 3000, seed=4), (2, 9001))
    check_sorted(n)
    check_sorted(n, descending=True)
    keys = evaluate.runtime(default_device()).kernels
    texts = [key.text for key in keys if getattr(key, "function", "") == "lz_sort_pass"]
    assert any("LZ_COUNT unsigned long long" in text for text in texts)
    assert any("LZ_INDEX unsigned long long" in text for text in texts)


def test_results_are_lazy_and_own_their_memory(kernel_device: str) -> None:
    n = values("float32", 500, seed=2)
    x = xp.asarray(n)
    xp.stats(reset=True)
    ordered = xp.sort(x)
    order = xp.argsort(x)
    assert xp.stats().launches == 0
    x[...] = 0.0  # after the call: the results are of the values before
    check(ordered, np.sort(n, kind="stable"))
    check(order, np.argsort(n, kind="stable"))
    x[1:] = xp.sort(xp.asarray(n))[1:]
    ordered[0] = 5.0
    check(x, np.concatenate(([np.float32(0)], np.sort(n, kind="stable")[1:])))


@pytest.mark.parametrize(
    ("shape", "axis", "dtype", "launches"),
    [
        ((100,), -1, "float64", 1),
        ((4096,), -1, "float64", 1),
        ((50, 60), -1, "int8", 1),
        ((50, 60), 0, "int8", 3),  # there and back
        ((5000,), -1, "int8", 3),  # counts, plan, a pass a byte
        ((5000,), -1, "float32", 6),
        ((3, 5000), -1, "float64", 10),
    ],
)
def test_launches_and_copies(
    kernel_device: str, shape: tuple[int, ...], axis: int, dtype: str, launches: int
) -> None:
    x = xp.asarray(values(dtype, int(np.prod(shape)), seed=1).reshape(shape))
    xp.evaluate(x + x)
    with xp.transfer_guard("error"):
        for function in (xp.sort, xp.argsort):
            xp.stats(reset=True)
            xp.evaluate(function(x, axis=axis))
            counts = xp.stats()
            assert (counts.launches, counts.library_calls) == (launches, 0)
            assert (counts.h2d, counts.d2h, counts.control) == (0, 0, 0)


@pytest.mark.parametrize("length", [100, 1000, 5000])
def test_dtypes_of_a_width_and_directions_share_kernels(kernel_device: str, length: int) -> None:
    def run(dtype: str, descending: bool) -> None:
        x = xp.asarray(values(dtype, length, seed=1))
        xp.evaluate(xp.sort(x, descending=descending))

    run("int32", False)
    run("float32", False)  # its keys are compiled in
    state = evaluate.runtime(default_device())
    before = set(state.kernels)
    for dtype in ("int32", "uint32", "float32"):
        run(dtype, True)
        run(dtype, False)
    assert set(state.kernels) == before


def test_a_sort_fuses_with_nothing_and_feeds_what_follows(kernel_device: str) -> None:
    n = values("float32", 300, seed=5, special=False)
    x = xp.asarray(n)
    xp.evaluate(x + 0)
    xp.stats(reset=True)
    result = xp.sort(x * 2) + 1  # one kernel before it, one behind it
    check(result, np.sort(n * 2) + np.float32(1))
    assert xp.stats().launches == 3
    text = xp.explain(xp.sort(xp.concat([x] * 30)))
    assert "sort" in text and "library" not in text


@pytest.mark.parametrize("function", [xp.sort, xp.argsort])
def test_bad_arguments(device: str, function: Any) -> None:
    x = xp.asarray([3.0, 1.0])
    with pytest.raises(TypeError, match="complex numbers have no order"):
        function(xp.asarray([1j]))
    with pytest.raises(IndexError):
        function(x, axis=1)
    with pytest.raises(IndexError):
        function(xp.asarray(1.0))
    with pytest.raises(TypeError, match="needs a lazyarr array"):
        function(np.ones(3))
    with pytest.raises(TypeError):
        function(x, axis=0.5)
