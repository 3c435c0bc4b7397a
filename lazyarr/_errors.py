"""Public exception types that are not the runtime's own."""

from __future__ import annotations

import numpy as np

from .runtime.base import (
    CompileError,
    DeviceLostError,
    DeviceUnavailableError,
    KernelError,
    OutOfMemoryError,
)

__all__ = [
    "CompileError",
    "DeviceLostError",
    "DeviceUnavailableError",
    "KernelError",
    "LinAlgError",
    "OutOfMemoryError",
    "TransferGuardError",
]


class LinAlgError(np.linalg.LinAlgError):
    """A matrix that a function of ``xp.linalg`` cannot take: its shape, or its values.

    Also a ``numpy.linalg.LinAlgError`` and a ``ValueError``.
    """


class TransferGuardError(RuntimeError):
    """A copy between host and device that ``transfer_guard("error")`` forbids."""
