"""A device that does nothing, so that what is left of an operation is lazyarr's own work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from lazyarr._devices import parse_device
from lazyarr.runtime import select
from lazyarr.runtime.base import MemoryInfo
from lazyarr.runtime.budget import Budget

NAME = "sim:9"


class Memory:
    """An allocation with nothing behind its address."""

    __slots__ = ("nbytes", "ptr", "used_on")

    def __init__(self, ptr: int, nbytes: int) -> None:
        self.ptr = ptr
        self.nbytes = nbytes
        self.used_on = 0


class Module:
    """What compiling gives: functions are their names."""

    cached = True

    def function(self, name: str) -> str:
        return name


class Null:
    """A backend that does nothing but count launches."""

    kind = "sim"
    ordinal = 9
    target = "null"
    checked = False
    many_streams = False
    many_threads = False
    memory_total = 1 << 34
    stream_handle = 0

    def __init__(self) -> None:
        self.budget = Budget(NAME, self.memory_total)
        self._next = 1 << 20
        self._here = nullcontext()
        self.launched = 0

    def batch(self) -> AbstractContextManager[None]:
        return self._here

    def allocate(self, nbytes: int) -> Memory:
        self._next += (nbytes + 511) & -512
        return Memory(self._next, nbytes)

    def release(self, memory: Memory) -> None:
        pass

    def host_buffer(self, nbytes: int) -> Any:
        return np.empty(nbytes, np.uint8)

    def copy_to_device(self, destination: int, source: Any) -> None:
        pass

    def fill_zero(self, destination: int, nbytes: int) -> None:
        pass

    def compile(self, source: str, options: Any = ()) -> Module:
        return Module()

    def launch(self, function: Any, grid: Any, block: Any, *rest: Any) -> None:
        self.launched += 1

    def memory_info(self) -> MemoryInfo:
        return MemoryInfo(0, 0, 0, 1 << 34, 1 << 34)


@contextmanager
def null_device() -> Iterator[Null]:
    """Have the device ``NAME`` do nothing inside a ``with`` block."""
    device = parse_device(NAME)
    made: Any = Null()
    select._backends[device] = made
    try:
        yield made
    finally:
        del select._backends[device]
        device.runtime = None
