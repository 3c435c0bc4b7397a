"""Simulated device memory: allocations apart from host memory, with gaps and poison.

Owns ``Pool`` and ``Block``. Imports ``base``. Nothing outside ``runtime/sim`` gets a NumPy array
that views this memory.
"""

from __future__ import annotations

import bisect
import ctypes
import os
from collections import deque

import numpy as np
import numpy.typing as npt

from ..base import MemoryInfo
from ..locks import Rank, make_lock

ALIGNMENT = 256
GAP = 256  # bytes before and after each allocation that belong to nobody
POISON = 0xCB
_QUARANTINE_BYTES = 16 << 20
_QUARANTINE_BLOCK = 1 << 20  # larger blocks go back to the system at once


class Block:
    """One allocation. ``view`` is for this package alone: callers get ``ptr`` and ``nbytes``."""

    __slots__ = ("_whole", "nbytes", "ptr", "used_on", "view")

    def __init__(self, nbytes: int) -> None:
        self._whole = np.empty(nbytes + 2 * GAP + ALIGNMENT, np.uint8)
        # `.ctypes.data` would import a module, which cannot be done while the interpreter ends.
        start: int = self._whole.__array_interface__["data"][0]
        self.ptr = -(-(start + GAP) // ALIGNMENT) * ALIGNMENT
        self.nbytes = nbytes
        self.used_on = 0
        self.view = self._whole[self.ptr - start : self.ptr - start + nbytes]
        ctypes.memset(start, POISON, self._whole.nbytes)

    @property
    def cost(self) -> int:
        """The bytes that keeping the block costs, gaps and bookkeeping included."""
        return int(self._whole.nbytes) + 512

    def poison(self) -> None:
        """Overwrite the contents."""
        ctypes.memset(self.ptr, POISON, self.nbytes)


def _total_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class Pool:
    """The live allocations of one simulated device."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._lock = make_lock(Rank.POOL)
        self._bases: list[int] = []  # sorted
        self._blocks: dict[int, Block] = {}
        self._released: deque[Block] = deque()
        self._quarantine: deque[Block] = deque()
        self._quarantined = 0
        self.used = 0
        self._peak = 0

    def allocate(self, nbytes: int) -> Block:
        """Return a poisoned block of ``nbytes`` (at least 1)."""
        if nbytes <= 0:
            raise ValueError(f"cannot allocate {nbytes} bytes")
        self.drain()
        block = Block(nbytes)
        with self._lock:
            bisect.insort(self._bases, block.ptr)
            self._blocks[block.ptr] = block
            self.used += nbytes
            self._peak = max(self._peak, self.used)
        return block

    def release(self, block: Block) -> None:
        """Queue a block to be freed by the next ``drain``; safe in a finalizer."""
        self._released.append(block)

    def drain(self) -> None:
        """Free what was released. Small blocks stay poisoned for a while, so a late use shows."""
        while self._released:
            try:
                block = self._released.popleft()
            except IndexError:  # another thread took it
                return
            with self._lock:
                if self._blocks.get(block.ptr) is not block:
                    raise ValueError(f"memory at {block.ptr:#x} is not allocated on {self._device}")
                del self._blocks[block.ptr]
                del self._bases[bisect.bisect_left(self._bases, block.ptr)]
                self.used -= block.nbytes
                if block.nbytes <= _QUARANTINE_BLOCK:
                    block.poison()
                    self._quarantine.append(block)
                    self._quarantined += block.cost
                while self._quarantined > _QUARANTINE_BYTES:
                    self._quarantined -= self._quarantine.popleft().cost

    def free_cached(self) -> None:
        """Let go of the quarantined blocks."""
        self.drain()
        with self._lock:
            self._quarantine.clear()
            self._quarantined = 0

    def info(self) -> MemoryInfo:
        """Return the figures of ``Backend.memory_info``."""
        self.drain()
        total = _total_memory()
        with self._lock:
            pooled = self.used + sum(block.nbytes for block in self._quarantine)
        return MemoryInfo(self.used, self._peak, pooled, max(0, total - pooled), total)

    def find(self, ptr: int) -> Block | None:
        """Return the live block that holds address ``ptr``, or None."""
        with self._lock:
            index = bisect.bisect_right(self._bases, ptr) - 1
            if index < 0:
                return None
            block = self._blocks[self._bases[index]]
        return block if ptr < block.ptr + block.nbytes else None

    def bytes_at(self, ptr: int, nbytes: int, what: str) -> npt.NDArray[np.uint8]:
        """Return the bytes as an array, or raise ``ValueError`` if they are not all allocated."""
        block = self.find(ptr)
        if block is None or ptr + nbytes > block.ptr + block.nbytes or nbytes < 0:
            raise ValueError(
                f"{what}: the {nbytes} bytes at {ptr:#x} are not memory of {self._device}"
                + (f" (they run past an allocation of {block.nbytes} bytes)" if block else "")
            )
        start = ptr - block.ptr
        return block.view[start : start + nbytes]
