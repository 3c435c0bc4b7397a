"""How much memory a device may hand out, and what happens when that is not enough.

Owns ``Budget``, one a backend. Imports ``runtime.base`` and the configuration. Arrays belong to
higher layers: these lend a ``Relief``, which can move them to the host.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from lazyarr import _config
from lazyarr.runtime.base import OutOfMemoryError


class Relief(Protocol):
    """Who knows the arrays of a device."""

    lock: AbstractContextManager[Any]  # the device's: nothing is evaluated while it is held

    def spill(self, nbytes: int, *, partly: bool) -> int:
        """Move arrays that nobody uses now to the host, the least recently used ones first.

        Returns the bytes that are free now: at least ``nbytes``, or 0 if that is not possible;
        ``partly``: as much as is possible.
        """
        ...

    def report(self) -> str:
        """Say what holds the memory, and what could not be spilled."""
        ...


class Budget:
    """The limit of one device, who can keep it within that, and what was moved for it."""

    __slots__ = ("_memory", "bytes_returned", "bytes_spilled", "device", "limit", "relief")

    def __init__(self, device: str, memory: int) -> None:
        self.device = device
        self._memory = memory
        self.limit = _config.config.memory_limit
        self.relief: Relief | None = None
        self.bytes_spilled = 0
        self.bytes_returned = 0

    @property
    def total(self) -> int:
        """The bytes that arrays can have: the device's, or the limit if that is less."""
        return self._memory if self.limit is None else max(1, min(self.limit, self._memory))

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """What to hold while room is made."""
        return nullcontext() if self.relief is None else self.relief.lock

    def keep_to_limit(
        self, nbytes: int, used: Callable[[], int], drain: Callable[[], None]
    ) -> None:
        """Make room for an allocation that the limit does not allow now.

        ``drain`` gives back what was released, and ``used`` says how much arrays have.

        Raises
        ------
        OutOfMemoryError
            If that cannot be done; then nothing was moved.
        """
        limit = self.limit
        if limit is None:
            return
        with self.lock:
            drain()
            collected = False
            while (short := used() + nbytes - limit) > 0:
                # Every turn frees something, or is one of the last two.
                if nbytes <= limit and self.spill(short, partly=False):
                    drain()
                elif not collected and nbytes <= limit:
                    gc.collect()  # arrays in cycles
                    drain()
                    collected = True
                else:
                    raise self.error(
                        nbytes, f"its limit is {limit} bytes, of which arrays have {used()}"
                    )

    def spill(self, nbytes: int, *, partly: bool) -> int:
        """Have arrays moved to the host; see ``Relief.spill``."""
        return 0 if self.relief is None else self.relief.spill(nbytes, partly=partly)

    def error(self, nbytes: int, state: str) -> OutOfMemoryError:
        """Return the exception for a request that cannot be met."""
        lines = [f"{self.device} cannot allocate {nbytes} bytes: {state}."]
        if self.relief is not None:
            lines.append(self.relief.report())
        return OutOfMemoryError("\n".join(lines))
