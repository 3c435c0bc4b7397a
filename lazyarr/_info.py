"""The inspection namespace of the standard: what this library can do."""

from __future__ import annotations

from typing import Any

from . import _dtypes as dt
from ._devices import Device, parse_device
from ._dtypes import DType
from .runtime import select

MAX_DIMENSIONS = 64  # NumPy's, which reads go through


class Info:
    """What the namespace supports; every method reads metadata only and forces nothing."""

    def capabilities(self) -> dict[str, Any]:
        """Return which optional parts of the standard work, and the limit on axes."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": MAX_DIMENSIONS,
        }

    def default_device(self) -> Device:
        """Return the device of new arrays."""
        return select.default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """Return the dtypes of new arrays by kind; they are the same on every device."""
        if device is not None:
            parse_device(device)
        return {
            "real floating": dt.default_real,
            "complex floating": dt.default_complex,
            "integral": dt.default_int,
            "indexing": dt.int64,
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the dtypes by name: all of them, or those of one kind or several.

        Raises
        ------
        ValueError
            For an unknown kind or device.
        """
        if device is not None:
            parse_device(device)
        if kind is None:
            return {dtype.name: dtype for dtype in dt.ALL}
        kinds = kind if isinstance(kind, tuple) else (kind,)
        return {dtype.name: dtype for dtype in dt.ALL if dt.isdtype(dtype, kinds)}

    def devices(self) -> tuple[Device, ...]:
        """Return the devices of this machine: GPUs, ``cpu``, and ``sim`` where it is enabled."""
        return select.devices()


def __array_namespace_info__() -> Info:
    """Return the object that tells what the namespace supports."""
    return Info()
