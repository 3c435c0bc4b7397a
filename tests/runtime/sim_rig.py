"""Runs a kernel on the simulator from NumPy arrays: shared by the simulator's tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lazyarr.runtime.base import Access
from lazyarr.runtime.cache import DiskCache
from lazyarr.runtime.sim import SimBackend


class In(NamedTuple):
    array: np.ndarray[Any, Any]


class Out(NamedTuple):
    array: np.ndarray[Any, Any]


class Raw(NamedTuple):
    """A pointer passed as it is, or the bytes of a struct with its alignment."""

    data: bytes
    alignment: int = 8


def pointer(address: int) -> Raw:
    return Raw(np.uint64(address).tobytes())


def pack(items: Sequence[Raw]) -> bytes:
    block = b""
    for item in items:
        block += b"\0" * (-len(block) % item.alignment)
        block += item.data
    return block


def make_backend(ordinal: int = 0) -> SimBackend:
    backend = SimBackend(ordinal)
    backend._cache = DiskCache(None, 1 << 30)
    return backend


class Rig:
    def __init__(self) -> None:
        self.backend = make_backend()

    def upload(self, array: np.ndarray[Any, Any]) -> Any:
        memory = self.backend.allocate(max(array.nbytes, 1))
        self.backend.copy_to_device(memory.ptr, array.reshape(-1).view(np.uint8))
        return memory

    def download(self, memory: Any, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        result = np.empty_like(like)
        self.backend.copy_to_host(result.reshape(-1).view(np.uint8), memory.ptr)
        return result

    def run(
        self,
        source: str,
        name: str,
        grid: int | tuple[int, int, int],
        block: int | tuple[int, int, int],
        *,
        shared: int = 0,
        options: Sequence[str] = (),
        **arguments: Any,
    ) -> Any:
        """Launch once. Return the arrays that are not ``In``, in order (one: itself)."""
        function = self.backend.compile(source, options).function(name)
        items, accesses, results = [], [], []
        for key, value in arguments.items():
            if isinstance(value, Raw):
                items.append(value)
            elif isinstance(value, np.generic):
                items.append(Raw(value.tobytes(), value.dtype.itemsize))
            else:
                mode = {In: "r", Out: "w"}.get(type(value), "rw")
                array = value if isinstance(value, np.ndarray) else value.array
                memory = self.upload(array)
                items.append(pointer(memory.ptr))
                accesses.append(Access(memory.ptr, array.nbytes, mode, key))
                if mode != "r":
                    results.append((memory, array))
        grid = grid if isinstance(grid, tuple) else (grid, 1, 1)
        block = block if isinstance(block, tuple) else (block, 1, 1)
        self.backend.launch(function, grid, block, pack(items), shared, accesses)
        outputs = [self.download(memory, array) for memory, array in results]
        return outputs[0] if len(outputs) == 1 else outputs
