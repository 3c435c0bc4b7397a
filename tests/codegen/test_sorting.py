"""The sorting kernels of every width, as GPUs compile them."""

from __future__ import annotations

import pytest

from lazyarr import _dtypes as dt
from lazyarr.codegen import sorting
from lazyarr.runtime import nvrtc
from tests.runtime.test_nvrtc import needs_nvrtc

NARROW, WIDE = sorting.Carried(4, 4), sorting.Carried(8, 8)


@needs_nvrtc
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_nvrtc_takes_every_width(width: int, pairs: bool) -> None:
    for length in (20, 128):
        assert nvrtc.compile_cubin(sorting.warp_sort_key(width, pairs, length).text, "sm_90")
    for length in (200, sorting.BLOCK_LIMIT):
        assert nvrtc.compile_cubin(sorting.block_sort_key(width, pairs, length).text, "sm_90")
    for carried in (NARROW, WIDE) if width > 2 else (NARROW,):
        keys = sorting.radix_sort_keys(width, pairs, carried)
        assert len({key.text for key in keys}) == 1
        assert nvrtc.compile_cubin(keys[0].text, "sm_90")


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_100"])
def test_nvrtc_takes_the_widest_for_other_architectures(arch: str) -> None:
    assert nvrtc.compile_cubin(sorting.radix_sort_keys(8, True, WIDE)[2].text, arch)
    assert nvrtc.compile_cubin(sorting.block_sort_key(8, True, 4096).text, arch)
    assert nvrtc.compile_cubin(sorting.run_key("starts", dt.complex128, True).text, arch)
    assert nvrtc.compile_cubin(sorting.search_key("isin", dt.complex128).text, arch)


def test_order_parameters() -> None:
    assert sorting.order_of(dt.uint8, False) == (0, 0)
    assert sorting.order_of(dt.bool_, True) == (0xFF, 0)
    assert sorting.order_of(dt.int16, False) == (0x8000, 0)
    assert sorting.order_of(dt.int16, True) == (0x7FFF, 0)
    assert sorting.order_of(dt.float64, True) == (2**64 - 1, 1)
