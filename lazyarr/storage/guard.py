"""The transfer guard: allow, log or forbid reads across the bus.

Owns the verdict. It is asked at every access to the side that is not authoritative, never at a
copy, so that its answer does not depend on what happens to be cached.

==================================================  =========  ========
access                                              implicit   explicit
==================================================  =========  ========
host read while the device is authoritative         guarded    allowed
device read without a valid device copy             guarded    allowed
control reads (counts, error flags)                 never guarded
==================================================  =========  ========
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from .. import ledger
from .._errors import TransferGuardError

LEVELS = ("allow", "log", "error")
_levels: ContextVar[tuple[str, str]] = ContextVar("lazyarr_transfer_guard", default=("allow",) * 2)
_log = logging.getLogger("lazyarr.transfer")
_SIDES = {"h2d": 0, "d2h": 1}
_WORDS = {"h2d": "host to device", "d2h": "device to host"}


@contextmanager
def _scoped(levels: tuple[str, str]) -> Iterator[None]:
    token = _levels.set(levels)
    try:
        yield
    finally:
        _levels.reset(token)


def transfer_guard(
    level: str | None = None, *, h2d: str | None = None, d2h: str | None = None
) -> AbstractContextManager[None]:
    """Guard implicit copies between host and device inside a ``with`` block.

    Parameters
    ----------
    level : {"allow", "log", "error"}, optional
        The level of both directions.
    h2d, d2h : {"allow", "log", "error"}, optional
        The level of one direction; it goes before ``level``. A direction that is not named keeps
        the level it has.

    Returns
    -------
    context manager
        Levels nest and belong to the current thread or task. "log" writes to the logger
        ``lazyarr.transfer``; "error" raises `TransferGuardError` before anything is copied.

    Raises
    ------
    ValueError
        For an unknown level.

    Notes
    -----
    Explicit requests (``asarray(device=)``, ``to_device``, ``prefetch``, ``get``, ``host``) are
    always allowed. The verdict never depends on whether a copy is cached.
    """
    now = _levels.get()
    chosen = (h2d or level or now[0], d2h or level or now[1])
    for value in chosen:
        if value not in LEVELS:
            raise ValueError(f"unknown transfer guard level {value!r}; levels are {LEVELS}")
    return _scoped(chosen)


def active() -> bool:
    """Whether any direction is guarded now."""
    return _levels.get() != ("allow", "allow")


def check(direction: str, nbytes: int, cause: str) -> None:
    """Judge one implicit access; raise or log if its direction is guarded."""
    level = _levels.get()[_SIDES[direction]]
    if level == "allow":
        return
    text = f"implicit {_WORDS[direction]} read of {nbytes} bytes ({cause})"
    if level == "error":
        raise TransferGuardError(
            f'{text} under transfer_guard("error"); ask for it explicitly: x.get(), x.host(), '
            "xp.prefetch(x) or x.to_device(device)"
        )
    _log.warning("%s at %s", text, ledger.user_line())
