"""The text of a ``KernelError``: which kernel and thread did what, to which argument.

Owns ``describe``. Imports nothing of lazyarr; the error comes as the machine's record.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_NULL_PAGE = 1 << 16
_FAR = 1 << 32

(
    _ACCESS,
    _MISALIGNED,
    _DIVIDE,
    _BOUNDS,
    _DEADLOCK,
    _STACK,
    _TRAP,
    _MASK,
    _ASSERT,
    _FAULT,
) = range(1, 11)
_KINDS = {
    1: "__syncthreads",
    2: "__syncthreads_count",
    3: "__syncthreads_and",
    4: "__syncthreads_or",
    8: "__syncwarp",
    9: "a shuffle",
    10: "a warp vote",
    11: "__match_any_sync",
}


class Span(NamedTuple):
    """Memory that a kernel may touch, and how messages call it."""

    ptr: int
    nbytes: int
    name: str
    mode: str


def describe(kernel: str, error: Any, spans: Sequence[Span]) -> str:
    """Return the message for an error record of the machine."""
    thread, block = tuple(error.thread), tuple(error.block)
    start = f"kernel '{kernel}', thread {thread} of block {block}"
    line = f" (line {error.line})" if error.line else ""
    text = error.text.decode("utf-8", "replace") if error.text else ""
    text = re.sub(r"\b(struct|class|union) ", "", text).replace("short int", "short")
    text = re.sub(r"(?<=\w)\[", " [", text)
    if error.code == _ACCESS:
        return f"{start}{line}: {_access(error, spans)}"
    if error.code == _MISALIGNED:
        if error.address < _NULL_PAGE:
            return f"{start}{line}: access through a null pointer ({error.address:#x}) of {text}"
        where = _nearest(error.address, spans)
        place = f"{_place(error.address, where)}, " if where else ""
        return (
            f"{start}{line}: misaligned access: {text} needs addresses that are multiples of "
            f"{error.a}; {place}address {error.address:#x}"
        )
    if error.code == _DIVIDE:
        return f"{start}{line}: division of {text} by zero, or its result does not fit"
    if error.code == _FAULT:
        return (
            f"{start}: invalid memory at {error.address:#x} (too deep a recursion, or a call "
            "through a bad pointer)"
        )
    if error.code == _BOUNDS:
        index = error.a - (1 << 64) if error.a >> 63 else error.a
        return f"{start}{line}: index {index} out of bounds for {text}"
    if error.code == _STACK:
        return f"{start}: stack overflow; the simulator gives each thread 256 KiB"
    if error.code == _MASK:
        kind = _KINDS.get(error.kinds[0], "a warp collective")
        return f"{start}: calls {kind} with a mask {error.a:#x} that leaves out its own lane"
    if error.code == _DEADLOCK:
        return f"{start}: {_deadlock(error)}"
    if error.code == _ASSERT:
        return f"{start}{line}: assertion failed: {text}"
    return f"{start}: __trap() was called"


def _deadlock(error: Any) -> str:
    first = _KINDS.get(error.kinds[0], "a warp reduction")
    second = _KINDS.get(error.kinds[1], "a warp reduction")
    if error.kinds[0] < 8 and error.kinds[1] == 0:
        return f"deadlock: it waits at {first} for threads that never come"
    if error.kinds[0] < 8 and error.kinds[1] < 8:
        return f"barriers do not match: others wait at {first}, it came to {second}"
    mask = f" (mask {error.a:#x})" if error.kinds[0] >= 8 else ""
    if error.kinds[1] == 0:
        return f"deadlock: it waits at {first}{mask} for lanes that never come"
    other = f" (mask {error.b:#x})" if error.kinds[1] >= 8 else ""
    return (
        f"deadlock: it waits at {first}{mask}, while thread {tuple(error.other)} waits at "
        f"{second}{other}"
    )


def _access(error: Any, spans: Sequence[Span]) -> str:
    address, size = error.address, error.size
    did = "write" if error.write else "read"
    if error.write:
        for span in spans:
            if span.mode == "r" and span.ptr <= address < span.ptr + span.nbytes:
                return (
                    f"write of {size} bytes to {span.name}, which is read only (mode 'r'), "
                    f"at byte offset {address - span.ptr}"
                )
    if address < _NULL_PAGE:
        return f"{did} of {size} bytes through a null pointer (address {address:#x})"
    where = _nearest(address, spans)
    if where is None:
        return f"{did} of {size} bytes at {address:#x}, which is no memory of this launch"
    return f"{did} of {size} bytes out of bounds: {_place(address, where)}"


def _nearest(address: int, spans: Sequence[Span]) -> Span | None:
    """Return the span closest to ``address``, unless all are far."""

    def distance(span: Span) -> int:
        return max(span.ptr - address, address - (span.ptr + span.nbytes), 0)

    near = min(spans, key=distance, default=None)
    return near if near is not None and distance(near) < _FAR else None


def _place(address: int, span: Span) -> str:
    return f"byte offset {address - span.ptr} of {span.name}, which has {span.nbytes} bytes"
