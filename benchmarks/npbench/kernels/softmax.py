"""Softmax along the last of four axes."""

from __future__ import annotations

from typing import Any


def softmax(x: Any) -> Any:
    """Return exp(x) by its sum along the last axis, shifted by the largest element."""
    xp = x.__array_namespace__()
    largest = xp.max(x, axis=-1, keepdims=True)
    powers = xp.exp(x - largest)
    total = xp.sum(powers, axis=-1, keepdims=True)
    return powers / total
