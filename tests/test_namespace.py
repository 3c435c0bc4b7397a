"""The namespace: names, inspection, what steers evaluation and devices, the text of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr import _info


def test_all_lists_what_is_there() -> None:
    assert len(set(xp.__all__)) == len(xp.__all__)
    missing = [name for name in xp.__all__ if not hasattr(xp, name)]
    assert not missing
    assert xp.__array_api_version__ == "2025.12"
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (np.e, np.pi, np.inf, None)
    assert np.isnan(xp.nan)


@pytest.mark.parametrize("name", xp.__all__)
def test_functions_are_documented(name: str) -> None:
    value = getattr(xp, name)
    if callable(value):
        assert value.__doc__


def test_info(device: str) -> None:
    info = xp.__array_namespace_info__()
    assert str(info.default_device()) == device
    assert info.default_dtypes()["indexing"] == xp.int64
    assert info.dtypes()["bool"] == xp.bool
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert set(info.dtypes(kind=("bool", "complex floating"), device=device)) == {
        "bool",
        "complex64",
        "complex128",
    }
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="text")
    with pytest.raises(ValueError, match="device"):
        info.default_dtypes(device="tpu")
    for each in info.devices():
        assert xp.zeros(2, device=each).device is each


def test_the_largest_number_of_axes(device: str) -> None:
    limit = xp.__array_namespace_info__().capabilities()["max dimensions"]
    assert limit == _info.MAX_DIMENSIONS
    x = xp.ones((1,) * (limit - 2) + (2, 3))
    np.testing.assert_array_equal(np.asarray(x + xp.flip(x)), np.full(x.shape, 2.0))
    assert float(xp.sum(x)) == 6.0


def test_evaluate_runs_once_and_copies_nothing(kernel_device: str) -> None:
    x = xp.asarray(np.arange(10.0))
    a, b = x + 1, x * 2
    xp.stats(reset=True)
    xp.evaluate(a, b)
    counts = xp.stats()
    assert (counts.launches, counts.d2h) == (1, 0)  # siblings share a kernel
    xp.evaluate(a, b)
    xp.evaluate()
    assert xp.stats().launches == 1
    xp.synchronize()
    xp.synchronize(kernel_device)
    with pytest.raises(TypeError, match="evaluate"):
        xp.evaluate(np.ones(3))  # type: ignore[arg-type]


def test_prefetch_is_explicit(kernel_device: str) -> None:
    x = xp.asarray(np.arange(10.0))
    assert x.location == "host"
    with xp.transfer_guard("error"):
        xp.prefetch(x)
        xp.evaluate(x + 1)
    assert x.location == "device"
    assert xp.stats().h2d == 1


def test_default_devices(kernel_device: str) -> None:
    assert str(xp.ones(1).device) == kernel_device
    with xp.default_device("cpu") as inner:
        assert xp.ones(1).device is inner
    assert str(xp.arange(3).device) == kernel_device
    assert str(xp.zeros_like(xp.ones(2, device="cpu")).device) == "cpu"
    with pytest.raises(ValueError, match="unknown device"):
        xp.default_device("tpu")


def test_the_default_of_the_process() -> None:
    xp.set_default_device("cpu")
    assert str(xp.ones(1).device) == "cpu"
    xp.set_default_device(None)


def test_memory_info(kernel_device: str) -> None:
    x = xp.ones(1 << 16)
    xp.evaluate(x)
    info = xp.memory_info()
    assert x.nbytes <= info.used <= info.total
    with pytest.raises(ValueError, match="cpu"):
        xp.memory_info("cpu")


def test_streams_need_a_device_with_streams() -> None:
    for name in ("cpu", "sim"):
        with pytest.raises(ValueError, match="streams"):
            xp.stream(None, device=name)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: xp.asarray([1, 2]), "Array([1, 2], dtype=int64, device='{}')"),
        (lambda: xp.asarray(1.5) + 1, "Array(2.5, dtype=float64, device='{}')"),
        (
            lambda: xp.ones((0, 2), dtype=xp.int8),
            "Array([], shape=(0, 2), dtype=int8, device='{}')",
        ),
    ],
)
def test_repr(device: str, make: Any, text: str) -> None:
    assert repr(make()) == text.format(device)


def test_repr_of_a_large_array_reads_its_edges(kernel_device: str) -> None:
    source = np.arange(400 * 500.0).reshape(400, 500)
    x = xp.asarray(source) + 0
    want = np.array2string(source, separator=", ", prefix="Array(", threshold=0)
    xp.stats(reset=True)
    assert repr(x) == f"Array({want}, dtype=float64, device='{kernel_device}')"
    assert xp.stats().bytes_d2h < 1000


def test_repr_under_a_guard_shows_no_values(kernel_device: str) -> None:
    x = xp.asarray(np.ones((2, 3))) + 1
    with xp.transfer_guard("error"):
        text = repr(x)
    assert "shape=(2, 3)" in text and kernel_device in text and "2." not in text
    assert xp.stats().launches == 0
