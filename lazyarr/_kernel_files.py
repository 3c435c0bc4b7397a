"""Finds the CUDA C files that are package data.

Owns their location: `lazyarr/kernels/` in an installed package, `kernels/` beside the package in a
checkout. Imports nothing of lazyarr.
"""

from __future__ import annotations

import functools
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@functools.cache
def kernel_text(name: str) -> str:
    """The text of the kernel file `name` (for example ``"lazyarr.cuh"``), read once a process."""
    for folder in (_PACKAGE / "kernels", _PACKAGE.parent / "kernels"):
        path = folder / name
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError(f"kernel file {name!r} is missing from the installation of lazyarr")
