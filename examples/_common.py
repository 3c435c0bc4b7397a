"""What the examples share: their options, a timed and counted block, and the check."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

import lazyarr as xp


def parse(
    description: str | None, arguments: Sequence[str] | None, **integers: int
) -> argparse.Namespace:
    """Parse ``--device`` and the example's own integer options, given with their defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", help="cpu, sim, cuda, ... (default: the best there is)")
    for name, default in integers.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default: {default}")
    return parser.parse_args(arguments)


def on(device: str | None) -> AbstractContextManager[Any]:
    """Make the device the default inside a ``with`` block; None leaves the choice to lazyarr."""
    return nullcontext() if device is None else xp.default_device(device)


@contextmanager
def counted(title: str) -> Iterator[None]:
    """Print what the block did, as lazyarr counts it, and how long it took on the clock."""
    xp.synchronize()
    xp.stats(reset=True)
    start = time.perf_counter()
    yield
    xp.synchronize()
    seconds = time.perf_counter() - start
    s = xp.stats()
    print(
        f"{title}: {seconds * 1e3:.1f} ms, {s.launches} launches, {s.compiles} compiles, "
        f"to the device {s.h2d} copies ({s.bytes_h2d} bytes), "
        f"to the host {s.d2h} ({s.bytes_d2h} bytes)"
    )


def check(what: str, got: Any, want: Any, rtol: float = 0.0, atol: float = 0.0) -> int:
    """Compare with NumPy's result; return an exit status, 0 where they agree."""
    got, want = np.asarray(got), np.asarray(want)
    good = got.shape == want.shape and np.allclose(got, want, rtol=rtol, atol=atol)
    print(f"{what}: {'agrees with NumPy' if good else f'WRONG: {got} instead of {want}'}")
    return 0 if good else 1
