"""The sorting kernels of every width, as GPUs compile them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr import _dtypes as dt
from lazyarr.codegen import runs, sorting
from lazyarr.runtime import nvrtc
from tests.runtime.test_nvrtc import needs_nvrtc

NARROW, WIDE = sorting.Carried(4, 4), sorting.Carried(8, 8)


@needs_nvrtc
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("dtype", [dt.uint8, dt.int16, dt.int32, dt.float32, dt.int64, dt.float64])
def test_nvrtc_takes_every_kind(dtype: np.dtype[Any], pairs: bool) -> None:
    for length in (20, 128):
        assert nvrtc.compile_cubin(sorting.warp_sort_key(dtype, pairs, length).text, "sm_90")
    for length in (200, sorting.BLOCK_LIMIT):
        assert nvrtc.compile_cubin(sorting.block_sort_key(dtype, pairs, length).text, "sm_90")
    for carried in (NARROW, WIDE) if dtype.itemsize > 2 else (NARROW,):
        keys = sorting.radix_sort_keys(dtype, pairs, carried)
        assert len({key.text for key in keys}) == 1
        assert nvrtc.compile_cubin(keys[0].text, "sm_90")


@needs_nvrtc
def test_nvrtc_takes_flags_and_what_is_written_for_them() -> None:
    for dtype in (dt.bool_, dt.int8, dt.float32, dt.complex128):
        for heads in (False, True):
            assert nvrtc.compile_cubin(runs.flags_key(dtype, heads).text, "sm_90")
    for width in (1, 2, 4, 8, 16):
        assert nvrtc.compile_cubin(runs.emit_key("values", width).text, "sm_90")
    for mode in ("positions", "inverse"):
        assert nvrtc.compile_cubin(runs.emit_key(mode, 8).text, "sm_90")


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_100"])
def test_nvrtc_takes_the_widest_for_other_architectures(arch: str) -> None:
    assert nvrtc.compile_cubin(sorting.radix_sort_keys(dt.float64, True, WIDE)[2].text, arch)
    assert nvrtc.compile_cubin(sorting.block_sort_key(dt.float64, True, 4096).text, arch)
    assert nvrtc.compile_cubin(runs.flags_key(dt.complex128, True).text, arch)
    assert nvrtc.compile_cubin(runs.emit_key("starts", 8).text, arch)
    assert nvrtc.compile_cubin(sorting.search_key("isin", dt.complex128).text, arch)


LOOK_BACK = """
extern "C" __global__ void look_back(LZ_COUNT* out, LZ_COUNT* state, long long tile) {
  out[threadIdx.x] = lz_look_back(state, tile, 10 + threadIdx.x);
}
"""


@pytest.mark.parametrize(("carried", "dtype"), [(NARROW, "uint32"), (WIDE, "uint64")])
def test_a_tile_adds_up_those_before_it_that_are_not_summed(
    kernel_device: str, carried: sorting.Carried, dtype: str
) -> None:
    # The simulator runs blocks one after another: there, each tile's predecessor is summed.
    text = sorting.radix_sort_keys(dt.uint32, False, carried)[2].text
    function = xp.SourceModule(text + LOOK_BACK, no_extern_c=True).get_function("look_back")
    bits = 8 * carried.counts - 2
    own, summed, largest = 1 << bits, 2 << bits, (1 << bits) - 1
    words = np.zeros((5, 256), dtype)
    words[:4] = np.asarray([99, summed | 1000, own | 7, own | 5], dtype)[:, None]
    words[1, 3] = summed | (largest - 100)
    words[3, 4] = summed | 6
    state = xp.asarray(words)
    out = xp.zeros(256, dtype=state.dtype)
    function(xp.Out(out), xp.InOut(state), np.int64(4), grid=(1,), block=(256,))
    want = np.full(256, 1012, dtype)
    want[3:5] = largest - 88, 6
    np.testing.assert_array_equal(np.asarray(out), want)
    words[4] = want + np.arange(10, 266).astype(dtype) | np.asarray(summed, dtype)
    np.testing.assert_array_equal(np.asarray(state), words)
    first = xp.asarray(np.zeros((1, 256), dtype))
    function(xp.Out(out), xp.InOut(first), np.int64(0), grid=(1,), block=(256,))
    np.testing.assert_array_equal(np.asarray(out), np.zeros(256, dtype))
    np.testing.assert_array_equal(np.asarray(first)[0] & largest, np.arange(10, 266))


def test_order_parameters() -> None:
    assert sorting.flip_of(dt.uint8, False) == 0
    assert sorting.flip_of(dt.bool_, True) == 0xFF
    assert sorting.flip_of(dt.int16, False) == 0x8000
    assert sorting.flip_of(dt.int16, True) == 0x7FFF
    assert sorting.flip_of(dt.float64, True) == 2**64 - 1
