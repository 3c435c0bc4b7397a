"""Data type functions that take arrays; the dtypes themselves are in tests/test_dtypes.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr._dtypes import ALL
from lazyarr.graph.numpy_ops import cast_to


@pytest.mark.parametrize("source", ALL, ids=str)
def test_astype(device: str, source: Any) -> None:
    given = np.array([[0, 1, 7], [100, 2, 5]]).astype(source)
    x = xp.asarray(given)
    targets = [t for t in ALL if source.kind != "c" or t.kind in "bc"]
    got = [xp.astype(x, t) for t in targets]
    xp.evaluate(*got)  # one kernel, where there are kernels
    for result, target in zip(got, targets, strict=True):
        assert result.dtype == target
        np.testing.assert_array_equal(np.asarray(result), cast_to(given, target), str(target))
    np.testing.assert_array_equal(np.asarray(xp.astype(x.T, xp.complex64)), given.T)


def test_complex_to_real_raises(device: str) -> None:
    for target in (xp.float64, xp.int8):
        with pytest.raises(TypeError, match="part"):
            xp.astype(xp.asarray([1j]), target)


def test_float_to_integer_saturates(device: str) -> None:
    x = xp.asarray([np.nan, 1e10, -1e10, 2.9, -2.9])
    got = xp.astype(x, xp.int16)
    np.testing.assert_array_equal(np.asarray(got), [0, 2**15 - 1, -(2**15), 2, -2])


def test_copies(device: str) -> None:
    x = xp.asarray([1.0, 2.0])
    assert xp.astype(x, xp.float64, copy=False) is x
    y = xp.astype(x, xp.float64)
    y[0] = 5.0
    assert float(x[0]) == 1.0
    assert xp.astype(x, xp.float32, copy=False) is not x
    z = xp.astype(x, xp.float32, device="cpu")
    assert str(z.device) == "cpu" and z.dtype == xp.float32
    assert xp.astype(x, xp.float64, copy=False, device=device) is x


def test_errors(device: str) -> None:
    with pytest.raises(TypeError, match="float16"):
        xp.astype(xp.ones(2), np.float16)
    with pytest.raises(TypeError, match="asarray"):
        xp.astype(np.ones(2), xp.float32)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown device"):
        xp.astype(xp.ones(2), xp.float32, device="tpu")


def test_functions_of_dtypes_take_arrays(device: str) -> None:
    x = xp.ones(2, dtype=xp.int8)
    assert xp.can_cast(x, xp.int64) and not xp.can_cast(x, xp.uint8)
    assert xp.result_type(x, xp.uint8) == xp.int16
    assert xp.result_type(x, 3) == xp.int8
    assert xp.iinfo(x).max == 127
    assert xp.finfo(xp.ones(2, dtype=xp.complex64)).bits == 32
    assert xp.isdtype(x.dtype, "integral")
