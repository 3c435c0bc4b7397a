"""Whether a write comes from a statement: only then does a reference count tell a temporary.

``x[k] = y`` and ``x += y`` leave a reference to a variable ``y`` on the stack, which a call of
``x.__setitem__(k, y)`` hands over: there, a variable looks like a temporary.
"""

from __future__ import annotations

import dis
import sys
from types import CodeType

_STORES = frozenset({"STORE_SUBSCR", "STORE_SLICE"})
_MOST_KNOWN = 4096
# By id, with the code itself to keep the id its own: hashing code compares all of it.
_known: dict[int, tuple[CodeType, frozenset[int]]] = {}


def is_statement(file: str) -> bool:
    """Whether the innermost frame outside ``file`` stores to an item or updates in place."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == file and frame.f_back is not None:
        frame = frame.f_back
    code = frame.f_code
    found = _known.get(id(code))
    if found is None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        found = _known[id(code)] = code, _writes(code)
    return frame.f_lasti in found[1]


def _writes(code: CodeType) -> frozenset[int]:
    return frozenset(
        i.offset
        for i in dis.get_instructions(code)
        if i.opname in _STORES or (i.opname == "BINARY_OP" and i.argrepr.endswith("="))
    )
