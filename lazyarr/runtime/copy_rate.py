"""How fast a device copies its own memory: the ceiling that kernels are compared with.

Imports ``runtime.base`` alone.
"""

from __future__ import annotations

from lazyarr.runtime.base import Backend

_LARGEST = 1 << 28
_SMALLEST = 1 << 20
_COPIES = 5


def measured_copy_rate(backend: Backend) -> float | None:
    """Return the bytes a second that a copy within the device moves, reads and writes counted.

    The best of a few copies of 256 MiB, or of less so that half of the free memory stays free;
    None if there is none for the smallest. Waits for the device, and gives the blocks that its
    pools hold back to the system.
    """
    with backend.batch():
        info = backend.memory_info()
        free = info.free if info.limit is None else min(info.free, info.limit - info.used)
        size = _size(free)
        if size is None:
            return None
        try:
            seconds = _fastest(backend, size)
        except MemoryError:  # somebody else took it
            return None
    with backend.batch():  # where the blocks of the measurement are given back
        backend.free_cached()
    return 2 * size / seconds if seconds > 0 else None


def _size(free: int) -> int | None:
    """Return the bytes to copy, for which the device needs twice as many."""
    size = _LARGEST
    while 4 * size > free and size >= _SMALLEST:
        size //= 2
    return size if size >= _SMALLEST else None


def _fastest(backend: Backend, size: int) -> float:
    """Return the seconds of the fastest copy of ``size`` bytes; the first one is not timed."""
    blocks = []
    try:
        for _ in range(2):
            blocks.append(backend.allocate(size))
        source, target = (block.ptr for block in blocks)
        backend.fill_zero(source, size)
        backend.copy_on_device(target, source, size)
        marks = [backend.record()]
        for _ in range(_COPIES):
            backend.copy_on_device(target, source, size)
            marks.append(backend.record())
        marks[-1].synchronize()
    finally:
        for block in blocks:
            backend.release(block)
    times = [b.milliseconds_since(a) for a, b in zip(marks, marks[1:], strict=False)]
    return min(times) / 1e3
