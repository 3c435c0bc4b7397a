"""Shared fixtures: the devices under test, and a clean slate after every test."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import lru_cache

import pytest
from hypothesis import HealthCheck, settings

_SHARED_SETTINGS = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.register_profile(
    "ci", parent=_SHARED_SETTINGS, max_examples=25, derandomize=True, print_blob=True
)
settings.register_profile("thorough", parent=_SHARED_SETTINGS, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device",
        default=None,
        help="devices under test, for example cpu,sim (default: cpu, sim, and cuda if found)",
    )
    parser.addoption("--slow", action="store_true", help="run the tests marked slow too")


@lru_cache
def cuda_detail() -> tuple[bool, str]:
    """Whether a GPU is usable here, and why not if it is not."""
    from lazyarr.runtime import select

    found = [(ok, detail) for name, ok, detail in select.survey() if name.startswith("cuda")]
    usable = any(ok for ok, _ in found)
    return usable, "; ".join(detail for ok, detail in found if ok == usable)


def device_names(config: pytest.Config) -> list[str]:
    """Return the devices of this run: those asked for, or all that this machine has."""
    asked = config.getoption("--device")
    if asked is not None:
        return [name.strip() for name in asked.split(",") if name.strip()]
    return ["cpu", "sim"] + (["cuda"] if cuda_detail()[0] else [])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = {"device", "kernel_device"} & set(metafunc.fixturenames)
    for fixture in sorted(names):
        devices = device_names(metafunc.config)
        if fixture == "kernel_device":
            devices = [name for name in devices if name != "cpu"]
        metafunc.parametrize(fixture, devices, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow") and not config.getoption("--slow"):
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))
        if item.get_closest_marker("cuda") and not cuda_detail()[0]:
            item.add_marker(pytest.mark.skip(reason=f"no GPU: {cuda_detail()[1]}"))


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test once on every device, each as the default device."""
    yield from _as_default(request.param)


@pytest.fixture
def kernel_device(request: pytest.FixtureRequest) -> Iterator[str]:
    """Like ``device``, for the devices that run kernels: all but ``cpu``."""
    yield from _as_default(request.param)


def _as_default(name: str) -> Iterator[str]:
    import lazyarr as xp

    with xp.default_device(name):
        yield name


@pytest.fixture(autouse=True)
def clean_slate() -> Iterator[None]:
    """Reset the counters and the process's default device after every test.

    Reaches for modules that are loaded already: tests that never import lazyarr pay nothing.
    """
    yield
    if "lazyarr.ledger" in sys.modules:
        sys.modules["lazyarr.ledger"].counters.reset()
    if "lazyarr._devices" in sys.modules:
        sys.modules["lazyarr._devices"].set_process_default(None)
