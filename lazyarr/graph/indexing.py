"""Keys of indexing: what kind they are."""

from __future__ import annotations

from typing import Any


def has_ellipsis(key: Any) -> bool:
    """Whether a basic key asks for a view even where it selects one element."""
    if type(key) is tuple:
        return any(k is Ellipsis for k in key) or not key
    return key is Ellipsis
