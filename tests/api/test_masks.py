"""Boolean masks: what they pick at the borders of words, warps and tiles, and what that costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr import _dtypes as dt
from lazyarr.codegen import runs
from tests.property.support import check, values

RNG = np.random.default_rng(8)
BORDERS = (32, 1024, runs.PART, runs.TILE)
SIZES = sorted({1, 3 * runs.TILE + 5, *(b + d for b in BORDERS for d in (-1, 0, 1))})


def masks(size: int) -> dict[str, Any]:
    """Masks of several densities, and those that only one end or one tile fills."""
    found = {f"random {part}": RNG.random(size) < part for part in (0.001, 0.5, 0.97)}
    ends = np.zeros((3, size), bool)
    ends[0, 0] = ends[1, -1] = True
    ends[2, : runs.TILE] = True
    return found | {"first": ends[0], "last": ends[1], "tile": ends[2], "all": np.ones(size, bool)}


@pytest.mark.parametrize("size", SIZES)
def test_every_border(device: str, size: int) -> None:
    data = values("float32", size, seed=size)
    x = xp.asarray(data)
    for name, mask in masks(size).items():
        picked = x[xp.asarray(mask)]
        assert picked.dtype == xp.float32, name
        np.testing.assert_array_equal(np.asarray(picked), data[mask], err_msg=name)
        check(xp.nonzero(xp.asarray(mask))[0], np.flatnonzero(mask))
    nothing = xp.zeros(size, dtype=xp.bool)
    assert x[nothing].shape == xp.nonzero(nothing)[0].shape == (0,)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float32", "int64", "complex128"])
def test_every_width_and_alignment(device: str, dtype: str) -> None:
    # The chunks of narrow elements begin inside a word of the result, and end inside one.
    size = runs.TILE + 4099
    data = values(dtype, size, seed=1) if dtype != "complex128" else np.arange(size) * (1 - 2j)
    mask = RNG.random(size) < 0.6
    x, m = xp.asarray(data), xp.asarray(mask)
    check(x[m], data[mask])
    for first, start in ((1, 0), (0, 1), (3, 3), (2, 17)):
        length = size - 20
        ours = x[first : first + length][m[start : start + length]]
        check(ours, data[first : first + length][mask[start : start + length]])
    check(xp.nonzero(x)[0], np.flatnonzero(data))
    check(xp.nonzero(x[5:])[0], np.flatnonzero(data[5:]))


def test_bytes_of_every_value(device: str) -> None:
    data = np.tile(np.arange(-128, 128, dtype=np.int8), 64)
    for n in (data, data[:5000], data.view(np.uint8)):
        check(xp.nonzero(xp.asarray(n))[0], np.flatnonzero(n))


def test_special_values_and_both_zeros(device: str) -> None:
    for dtype in ("float32", "float64", "complex64"):
        data = np.asarray([0.0, -0.0, 1.0, np.nan, -np.inf, 0.0], dtype)
        if dtype == "complex64":
            data[5] = complex(0.0, np.nan)
        check(xp.nonzero(xp.asarray(data))[0], np.flatnonzero(data))


def test_masks_of_several_axes(device: str) -> None:
    data = values("float64", 6 * 70 * 90, seed=2).reshape(6, 70, 90)
    mask = RNG.random(data.shape) < 0.3
    x, m = xp.asarray(data), xp.asarray(mask)
    check(x[m], data[mask])
    check(x[mask], data[mask])
    check(x[(m,)], data[mask])
    check(x.mT[m.mT], data.swapaxes(1, 2)[mask.swapaxes(1, 2)])
    check(x[::2, :, 1:][m[::2, :, 1:]], data[::2, :, 1:][mask[::2, :, 1:]])
    check(x[m[:, :, 0]], data[mask[:, :, 0]])
    check(x[:, m[0]], data[:, mask[0]])
    check(x[m[:, :, 0], 3], data[mask[:, :, 0], 3])
    for got, want in zip(xp.nonzero(m), np.nonzero(mask), strict=True):
        check(got, want)


def test_pending_arrays(device: str) -> None:
    data = values("float32", 5000, seed=3, special=False)
    x = xp.asarray(data)
    y = x * 2
    picked = y[y > 1]
    y[0] = 7.0
    x[...] = 0.0
    check(picked, (data * 2)[data * 2 > 1])
    check(xp.ones(40)[xp.asarray(np.arange(40) % 3 == 0)], np.ones(14))


@pytest.mark.parametrize(
    ("expression", "launches"),
    [
        ("x[m]", 2),  # flags and their sums; the elements
        ("x[1:][m[1:]]", 2),  # views without gaps are read where they lie
        ("x[x > 0]", 3),  # the mask
        ("(x + 1)[m]", 3),  # the elements
        ("x[none]", 1),
        ("xp.nonzero(m)[0]", 2),
        ("xp.nonzero(x)[0]", 2),
    ],
)
def test_launches_and_copies(kernel_device: str, expression: str, launches: int) -> None:
    x = xp.asarray(values("float32", 40_000, seed=4))
    m = xp.asarray(RNG.random(40_000) < 0.5)
    none = xp.asarray(np.zeros(40_000, bool))
    xp.evaluate(x + 0, m & True, none & True)
    with xp.transfer_guard("error"):
        xp.stats(reset=True)
        xp.evaluate(eval(expression, {"x": x, "m": m, "none": none, "xp": xp}))
        counts = xp.stats()
    assert (counts.launches, counts.control, counts.library_calls) == (launches, 1, 0)
    assert (counts.h2d, counts.d2h) == (0, 0)


def test_a_number_of_results_that_is_new_needs_no_plan(kernel_device: str) -> None:
    x = xp.asarray(np.arange(100.0))
    state = x._cell.value.device.runtime
    for k in range(1, 4):
        picked = x[xp.asarray(np.arange(100) < 7 * k)]
        if k == 1:
            before = len(state.plans)
        assert len(state.plans) == before
        check(picked, np.arange(7.0 * k))


@pytest.mark.parametrize("size", [1, 64 * 32 * 300 + 7])
def test_more_tiles_than_are_added_up_in_a_round(kernel_device: str, size: int) -> None:
    threads = 64
    text = runs.flags_key(dt.bool_, False).text
    text = text.replace(f"#define LZ_THREADS {runs.FLAG_THREADS}", f"#define LZ_THREADS {threads}")
    function = xp.SourceModule(text, no_extern_c=True).get_function("lz_run_flags")
    tile = 32 * threads
    tiles = -(-size // tile)
    mask = np.zeros(tiles * tile, bool)
    mask[:size] = RNG.random(size) < 0.5
    bits = np.packbits(mask, bitorder="little").view(np.int64)
    found = xp.empty(2 * (bits.size + tiles + 1), dtype=xp.uint32)
    tickets = xp.zeros(1, dtype=xp.uint32)
    given = xp.asarray(mask[:size])
    for _ in range(2):  # the ticket is zero again
        function(
            xp.Out(found), xp.InOut(tickets), xp.In(given), np.int64(size),
            grid=(tiles,), block=(threads,),
        )  # fmt: skip
        sums = np.cumsum([0, *np.count_nonzero(mask.reshape(tiles, tile), axis=1)])
        np.testing.assert_array_equal(np.asarray(found).view(np.int64), [*bits, *sums])


def test_a_trace_shows_both_kernels_and_the_count(kernel_device: str) -> None:
    data = np.arange(3000, dtype=np.float32)
    x, m = xp.asarray(data), xp.asarray(data % 3 == 0)
    xp.evaluate(x + 0, m & True)
    with xp.trace() as t:
        picked = x[m]
    found = [(e.kind, e.name) for e in t.events if e.kind in ("kernel", "control", "copy")]
    assert found == [("kernel", "runs flags"), ("control", "d2h"), ("kernel", "runs values")]
    kernels = [e.nbytes for e in t.events if e.kind == "kernel"]
    assert kernels[1] >= 3000 * 4 + 1000 * 4
    check(picked, data[::3])


def test_arrays_that_only_the_host_holds(device: str) -> None:
    data = np.arange(50.0)
    with xp.transfer_guard("allow"):
        check(xp.asarray(data)[np.arange(50) % 2 == 0], data[::2])
        check(xp.asarray(data)[data > 100], data[:0])


def test_rows_by_a_mask(device: str) -> None:
    data = values("float32", 2000 * 3, seed=5).reshape(2000, 3)
    mask = RNG.random(2000) < 0.4
    x, m = xp.asarray(data), xp.asarray(mask)
    check(x[m], data[mask])
    check(x[m, 1:], data[mask, 1:])
    x[m] = 0.0
    want = data.copy()
    want[mask] = 0.0
    check(x, want)
    rows = values("float32", int(mask.sum()) * 3, seed=6).reshape(-1, 3)
    x[m] = xp.asarray(rows)
    want[mask] = rows
    check(x, want)


def test_an_index_out_of_range_behind_a_mask_or_its_elements(kernel_device: str) -> None:
    data = np.arange(40.0)
    x, m = xp.asarray(data), xp.asarray(data % 2 == 0)
    good = xp.asarray(np.arange(40)) + 0
    bad = good + 1
    check(x[m[good]], data[::2])
    check(x[good][m], data[::2])
    for _ in range(2):
        with pytest.raises(IndexError, match="index 40 is out of bounds"):
            x[m[bad]]
        with pytest.raises(IndexError, match="index 40 is out of bounds"):
            np.asarray(x[bad][m])
    check(x[m], data[::2])
