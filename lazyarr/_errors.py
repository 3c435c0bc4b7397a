"""Public exception types that are not the runtime's own."""

from __future__ import annotations

from .runtime.base import CompileError, DeviceUnavailableError, KernelError

__all__ = ["CompileError", "DeviceUnavailableError", "KernelError", "TransferGuardError"]


class TransferGuardError(RuntimeError):
    """A copy between host and device that ``transfer_guard("error")`` forbids."""
