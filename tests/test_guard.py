"""The transfer guard: its verdict table, and that it never depends on caches (field case 4)."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import pytest

import lazyarr as xp


def on_device() -> xp.Array:
    x = xp.asarray(np.arange(4.0)) + 1
    xp.evaluate(x)
    return x


def mirrored() -> xp.Array:
    x = on_device()
    np.asarray(x)
    return x


def on_host() -> xp.Array:
    return xp.asarray(np.arange(4.0))


def host_mirrored() -> xp.Array:
    x = on_host()
    xp.evaluate(x + 1)
    return x


IMPLICIT_READS: dict[str, Callable[[xp.Array], object]] = {
    "asarray": np.asarray,
    "float": lambda x: float(x[0]),
    "int": lambda x: int(x[1]),
    "bool": lambda x: bool(x[2]),
    "part": lambda x: np.asarray(x[1:3]),
    "strided": lambda x: np.asarray(x[::2]),
}
EXPLICIT_READS: dict[str, Callable[[xp.Array], object]] = {
    "get": lambda x: x.get(),
    "host": lambda x: x.host("r").__enter__(),
    "cpu": lambda x: x.to_device("cpu"),
    "prefetch": lambda x: xp.prefetch(x, to="host"),
}
EXPLICIT_UPLOADS: dict[str, Callable[[xp.Array], object]] = {
    "prefetch": xp.prefetch,
    "to_device": lambda x: x.to_device(x.device),
    "asarray": lambda x: xp.asarray(x, device=x.device),
}


@pytest.mark.parametrize("make", [on_device, mirrored])
@pytest.mark.parametrize("read", IMPLICIT_READS.values(), ids=IMPLICIT_READS)
def test_implicit_host_reads_are_refused_cached_or_not(
    kernel_device: str, make: Callable[[], xp.Array], read: Callable[[xp.Array], object]
) -> None:
    x = make()
    xp.stats(reset=True)
    with xp.transfer_guard("error"):
        with pytest.raises(xp.TransferGuardError, match="device to host"):
            read(x)
        with pytest.raises(xp.TransferGuardError):
            read(x)
    assert xp.stats().d2h == 0
    read(x)


@pytest.mark.parametrize("make", [on_device, mirrored])
@pytest.mark.parametrize("read", EXPLICIT_READS.values(), ids=EXPLICIT_READS)
def test_explicit_host_reads_are_allowed(
    kernel_device: str, make: Callable[[], xp.Array], read: Callable[[xp.Array], object]
) -> None:
    x = make()
    with xp.transfer_guard("error"):
        read(x)
        read(x)


def test_implicit_uploads_are_refused(kernel_device: str) -> None:
    x = on_host()
    xp.stats(reset=True)
    with xp.transfer_guard("error"):
        y = x + 1  # builds only
        with pytest.raises(xp.TransferGuardError, match="host to device"):
            xp.evaluate(y)
    assert xp.stats().h2d == 0
    np.testing.assert_array_equal(y.get(), np.arange(4.0) + 1)  # nothing was changed


def test_a_valid_device_copy_may_be_read(kernel_device: str) -> None:
    x = host_mirrored()
    with xp.transfer_guard("error"):
        xp.evaluate(x * 2)
        np.asarray(x)  # the host is authoritative


@pytest.mark.parametrize("upload", EXPLICIT_UPLOADS.values(), ids=EXPLICIT_UPLOADS)
def test_explicit_uploads_are_allowed(
    kernel_device: str, upload: Callable[[xp.Array], object]
) -> None:
    x = on_host()
    with xp.transfer_guard("error"):
        upload(x)
        assert x.location == "device"
        xp.evaluate(x + 1)


def test_arrays_that_stay_on_the_host_are_free(device: str) -> None:
    with xp.transfer_guard("error"):
        x = xp.asarray(np.arange(4.0))
        assert x.location == "host"
        assert x.shape == (4,)
        assert x.dtype == xp.float64
        assert np.asarray(x)[2] == 2.0
        assert float(x[1]) == 1.0


def test_scalars_and_shapes_are_no_copies(kernel_device: str) -> None:
    x = on_device()
    with xp.transfer_guard("error"):
        y = (x * 2.5 + np.float64(1))[1:3]
        xp.evaluate(y, xp.reshape(x, (2, 2)), x[0])
        x[1] = 7
        xp.evaluate(x)


def test_the_cpu_has_nothing_to_guard() -> None:
    with xp.default_device("cpu"), xp.transfer_guard("error"):
        x = on_device()
        assert float(x[0]) == 1.0
        np.asarray(x)


def test_one_direction(kernel_device: str) -> None:
    x = on_device()
    with xp.transfer_guard(d2h="error"):
        xp.evaluate(on_host() + 1)
        with pytest.raises(xp.TransferGuardError):
            float(x[0])
    with xp.transfer_guard(h2d="error"):
        float(x[0])
        with pytest.raises(xp.TransferGuardError):
            xp.evaluate(on_host() + 1)


def test_guards_nest(kernel_device: str) -> None:
    x = on_device()
    with xp.transfer_guard("error"):
        with xp.transfer_guard("allow"):
            float(x[0])
        with xp.transfer_guard(d2h="allow"):
            float(x[0])
        with pytest.raises(xp.TransferGuardError):
            float(x[0])
    float(x[0])


def test_log(kernel_device: str, caplog: pytest.LogCaptureFixture) -> None:
    x = on_device()
    with xp.transfer_guard("log"), caplog.at_level(logging.WARNING, "lazyarr.transfer"):
        float(x[0])
    assert len(caplog.records) == 1
    assert "8 bytes" in caplog.text
    assert "test_guard.py" in caplog.text


def test_the_message_names_the_remedy(kernel_device: str) -> None:
    x = on_device()
    with xp.transfer_guard("error"), pytest.raises(xp.TransferGuardError) as caught:
        np.asarray(x)
    text = str(caught.value)
    assert "32 bytes" in text
    assert "x.get()" in text


def test_unknown_levels(device: str) -> None:
    with pytest.raises(ValueError, match="loud"):
        xp.transfer_guard("loud")
    with pytest.raises(ValueError, match="loud"):
        xp.transfer_guard(d2h="loud")


def test_repr_under_a_guard_shows_no_values(kernel_device: str) -> None:
    x = on_device()
    with xp.transfer_guard("error"):
        text = repr(x)
    assert "float64" in text
    assert "(4,)" in text
