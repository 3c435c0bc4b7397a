"""Finds the devices of this machine and makes the backend of each, once.

The only module that knows which backends there are; nothing below it is imported before a device is
asked for.
"""

from __future__ import annotations

from typing import NamedTuple

from .._config import config
from .._devices import CPU, Device, current_override, parse_device
from . import cuda_process
from .base import Backend, DeviceUnavailableError
from .locks import Rank, make_lock

_lock = make_lock(Rank.BACKEND)
_backends: dict[Device, Backend] = {}


class Survey(NamedTuple):
    """One line of ``survey``: a device, whether it can be used, and what it is or what it lacks."""

    name: str
    available: bool
    detail: str


def backend_for(device: Device) -> Backend:
    """Return the backend of a kernel device, making it at the first call.

    Raises
    ------
    DeviceUnavailableError
        If this process cannot use the device; the text says what is missing.
    """
    found = _backends.get(device)
    if found is not None:
        return found
    with _lock:
        found = _backends.get(device)
        # A finalizer may make it too, while this thread does: the first one counts.
        return _backends.setdefault(device, _make(device)) if found is None else found


def _make(device: Device) -> Backend:
    if device.kind == "cuda":
        from .pycuda_backend import CudaBackend

        return CudaBackend(device.ordinal)
    if device.kind == "sim":
        from .sim import SimBackend

        return SimBackend(device.ordinal)
    raise DeviceUnavailableError(f"device {device} runs no kernels; use 'cuda' or 'sim'")


def made_backends() -> list[Backend]:
    """Return the backends that exist already."""
    return list(_backends.values())


def gpus() -> list[Device]:
    """Return the CUDA devices that this process can use."""
    from .pycuda_backend import available

    found = available()
    return [] if isinstance(found, str) else [Device("cuda", n) for n in found]


def devices() -> tuple[Device, ...]:
    """Return the usable devices: GPUs first, then ``cpu``, then ``sim`` where it is enabled."""
    sim = (Device("sim"),) if config.sim or default_device().kind == "sim" else ()
    return (*gpus(), CPU, *sim)


_fallback: list[Device] = []


def default_device() -> Device:
    """Return the device of new arrays: the override, ``LAZYARR_DEVICE``, the first GPU, ``cpu``."""
    override = current_override()
    if override is not None:
        return override
    if not _fallback:
        if config.device:
            _fallback.append(parse_device(config.device))
        else:
            if cuda_process.process.started and cuda_process.process.closed:
                cuda_process.process.refuse()  # there may be GPUs, and nobody can ask now
            found = gpus()
            _fallback.append(found[0] if found else CPU)
    return _fallback[0]


def survey() -> list[Survey]:
    """Return one line a kind of device: what is there, or why it is not and what to install."""
    from .pycuda_backend import available
    from .sim.compiler import describe_compiler

    found = available()
    lines = []
    if isinstance(found, str):
        lines.append(Survey("cuda", False, found))
    else:
        for ordinal in found:
            device = Device("cuda", ordinal)
            lines.append(Survey(str(device), True, f"GPU, {backend_for(device).target}"))
    lines.append(Survey("cpu", True, "NumPy"))
    try:
        lines.append(Survey("sim", True, f"CUDA C on the CPU, by {describe_compiler()}"))
    except DeviceUnavailableError as error:
        lines.append(Survey("sim", False, str(error)))
    return lines
