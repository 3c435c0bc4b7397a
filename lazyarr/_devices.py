"""Devices as values: parsing, comparing, the default.

Owns ``Device`` and the default-device rules. A device names hardware; ``runtime.select`` turns one
into a backend when something first runs on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

KINDS = ("cuda", "cpu", "sim")


class Device:
    """A device: its kind (``cuda``, ``cpu`` or ``sim``) and its number.

    Devices with the same kind and number are one object; they compare and hash as such. ``str``
    gives the name that every ``device=`` argument takes.
    """

    __slots__ = ("kind", "ordinal", "runtime")

    kind: str
    ordinal: int
    runtime: Any  # what graph.evaluate keeps for the device; None until something runs on it

    _known: dict[tuple[str, int], Device] = {}  # noqa: RUF012 - slots leave no ClassVar default

    def __new__(cls, kind: str, ordinal: int = 0) -> Device:
        known = cls._known.get((kind, ordinal))
        if known is not None:
            return known
        self = super().__new__(cls)
        self.kind = kind
        self.ordinal = ordinal
        self.runtime = None
        return cls._known.setdefault((kind, ordinal), self)

    def __str__(self) -> str:
        return self.kind if self.ordinal == 0 else f"{self.kind}:{self.ordinal}"

    def __repr__(self) -> str:
        return f"Device({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (self.kind, self.ordinal)


CPU = Device("cpu")


def parse_device(spec: Any) -> Device:
    """Return the device that ``spec`` (a ``Device`` or a name such as ``"cuda:1"``) names.

    Raises
    ------
    ValueError
        If it names no kind of device that lazyarr knows. Whether the device exists is found out
        when something first uses it.
    TypeError
        If it is neither a name nor a device.
    """
    if type(spec) is Device:
        return spec
    if not isinstance(spec, str):
        raise TypeError(f"device must be a name or a Device, not {type(spec).__name__}: {spec!r}")
    match = re.fullmatch(r"(cuda|cpu|sim)(?::(\d+))?", spec)
    if match is None or (match[1] == "cpu" and match[2] not in (None, "0")):
        raise ValueError(
            f"unknown device {spec!r}; devices are 'cpu', 'cuda', 'cuda:N', 'sim' and 'sim:N'"
        )
    return Device(match[1], int(match[2] or 0))


_override: ContextVar[Device | None] = ContextVar("lazyarr_default_device", default=None)
_process_default: list[Device | None] = [None]


def current_override() -> Device | None:
    """Return the default that ``default_device(...)`` set, if any."""
    return _override.get() or _process_default[0]


@contextmanager
def _scoped(device: Device) -> Iterator[Device]:
    token = _override.set(device)
    try:
        yield device
    finally:
        _override.reset(token)


def scoped_default(spec: Any) -> Any:
    """Return a context manager inside which new arrays are born on the device."""
    return _scoped(parse_device(spec))


def set_process_default(spec: Any) -> None:
    """Make a device the default for every thread; ``None`` goes back to the rule."""
    _process_default[0] = None if spec is None else parse_device(spec)
