"""Every environment variable that lazyarr reads, in one place.

Owns ``Config`` and the process's ``config``, read once at import. Imports nothing of lazyarr. Other
modules read ``_config.config.name`` at the time of use, so that a test can replace ``config``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

_FALSE = frozenset({"", "0", "false", "no", "off"})
_TRUE = frozenset({"1", "true", "yes", "on"})
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

DEFAULT_CACHE_SIZE = 1 << 30


@dataclass(frozen=True)
class Config:
    """The settings taken from the environment. A field without a value given holds its default."""

    device: str | None = None  # LAZYARR_DEVICE: the default device
    compiler: Literal["nvrtc", "nvcc"] = "nvrtc"  # LAZYARR_COMPILER
    cache: bool = True  # LAZYARR_CACHE=0: keep no binary on disk
    cache_dir: str | None = None  # LAZYARR_CACHE_DIR; None: there is no home to put it in
    cache_size: int = DEFAULT_CACHE_SIZE  # LAZYARR_CACHE_SIZE, in bytes
    eager: bool = False  # LAZYARR_EAGER: evaluate every operation at once
    cxx: str | None = None  # LAZYARR_CXX: the C++ compiler of the simulator
    debug: bool = False  # LAZYARR_DEBUG: a line on stderr for every kernel
    sim: bool = False  # LAZYARR_SIM: list the simulator in devices()
    pinned_budget: int | None = None  # LAZYARR_PINNED_BUDGET, in bytes; None: by the RAM
    memory_limit: int | None = None  # LAZYARR_MEMORY_LIMIT: device memory for arrays, in bytes
    cuda_home: str | None = None  # CUDA_HOME or CUDA_PATH: where a CUDA toolkit is


def _flag(environ: Mapping[str, str], name: str, default: bool) -> bool:
    text = environ.get(name)
    if text is None:
        return default
    word = text.strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(f"{name}={text!r}: expected 0 or 1")


def _size(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "").strip()
    if not text:
        return None
    digits = text.upper().removesuffix("B").removesuffix("I")
    factor = _UNITS.get(digits[-1:], 1)
    if factor > 1:
        digits = digits[:-1]
    try:
        count = int(digits)
    except ValueError:
        count = -1
    if count < 0:
        raise ValueError(f"{name}={text!r}: expected a number of bytes, such as 1073741824 or 1G")
    return count * factor


def _compiler(environ: Mapping[str, str]) -> Literal["nvrtc", "nvcc"]:
    text = environ.get("LAZYARR_COMPILER", "").strip().lower()
    if text in ("", "nvrtc"):
        return "nvrtc"
    if text == "nvcc":
        return "nvcc"
    raise ValueError(f"LAZYARR_COMPILER={text!r}: expected 'nvrtc' or 'nvcc'")


def _cache_dir(environ: Mapping[str, str]) -> str | None:
    given = environ.get("LAZYARR_CACHE_DIR")
    if given:
        return os.path.abspath(os.path.expanduser(given))
    base = environ.get("XDG_CACHE_HOME")
    # The XDG rules: a relative path there is to be ignored.
    if not base or not os.path.isabs(base):
        home = environ.get("HOME") or os.path.expanduser("~")
        if not os.path.isabs(home):
            return None
        base = os.path.join(home, ".cache")
    return os.path.join(base, "lazyarr")


def read_config(environ: Mapping[str, str]) -> Config:
    """Return the settings in ``environ``. Raises ``ValueError`` naming a variable set wrongly."""
    size = _size(environ, "LAZYARR_CACHE_SIZE")
    return Config(
        device=environ.get("LAZYARR_DEVICE", "").strip() or None,
        compiler=_compiler(environ),
        cache=_flag(environ, "LAZYARR_CACHE", True),
        cache_dir=_cache_dir(environ),
        cache_size=DEFAULT_CACHE_SIZE if size is None else size,
        eager=_flag(environ, "LAZYARR_EAGER", False),
        cxx=environ.get("LAZYARR_CXX", "").strip() or None,
        debug=_flag(environ, "LAZYARR_DEBUG", False),
        sim=_flag(environ, "LAZYARR_SIM", False),
        pinned_budget=_size(environ, "LAZYARR_PINNED_BUDGET"),
        memory_limit=_size(environ, "LAZYARR_MEMORY_LIMIT"),
        cuda_home=environ.get("CUDA_HOME") or environ.get("CUDA_PATH") or None,
    )


config = read_config(os.environ)
# The one setting that every operation looks at, where compiled code finds it fast.
EAGER: list[bool] = [config.eager]
