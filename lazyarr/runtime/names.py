"""The names of the kernels in CUDA C source.

Owns ``kernel_names`` alone, for error messages that list what exists. Imports nothing of lazyarr.
"""

from __future__ import annotations

import re

_COMMENT_OR_STRING = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_CALLED = re.compile(r"([A-Za-z_]\w*)\s*\(|[{;]")
_ATTRIBUTES = frozenset(
    {"__launch_bounds__", "__cluster_dims__", "__block_size__", "__maxnreg__", "__attribute__"}
)


def _after_parentheses(text: str, start: int) -> int:
    """Return the position after the parenthesis that closes the one just before ``start``."""
    depth = 1
    for position in range(start, len(text)):
        if text[position] == "(":
            depth += 1
        elif text[position] == ")":
            depth -= 1
            if depth == 0:
                return position + 1
    return len(text)


def kernel_names(source: str) -> tuple[str, ...]:
    """Return the names of the ``__global__`` functions, in order. Macros are not expanded."""
    text = _COMMENT_OR_STRING.sub(" ", source)
    names: dict[str, None] = {}
    for start in re.finditer(r"\b__global__\b", text):
        position = start.end()
        while found := _CALLED.search(text, position):
            name = found.group(1)
            if name in _ATTRIBUTES:
                position = _after_parentheses(text, found.end())
                continue
            if name:
                names[name] = None
            break
    return tuple(names)
