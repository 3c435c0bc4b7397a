"""Finalizers that come after those of the user.

The garbage collector calls every ``__del__`` in a dead cycle before it takes anything apart, in no
useful order: a user's finalizer may use an array whose own finalizer ran before. So finalizers here
give nothing away while somebody still refers to their object. Imports nothing of lazyarr.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


class DeathCount:
    """How many references an object has in its ``__del__``.

    An object that just died has as many as the first one that was looked at. More: it is in a dead
    cycle, and may be used again, by other finalizers.
    """

    __slots__ = ("alone",)

    def __init__(self) -> None:
        self.alone = 0

    def is_referenced(self, count: int) -> bool:
        """Whether this many references show that somebody refers to the object."""
        if not self.alone:
            self.alone = count
        return count > self.alone


_count = DeathCount()


class Last:
    """Calls a function when nobody refers to it any more: an attribute of what must outlive it."""

    __slots__ = ("_act", "_arguments", "_next")

    def __init__(self, act: Callable[..., object], *arguments: Any) -> None:
        self._act = act
        self._arguments = arguments

    def __del__(self) -> None:
        if _count.is_referenced(sys.getrefcount(self)):
            self._next = Last(self._act, *self._arguments)  # which dies with this object
        else:
            self._act(*self._arguments)


Last(int)  # the first death, which sets the count
