"""Arrays that do not fit, and transfers: ``python -m benchmarks.spill --device cuda|sim``.

Runs programs over arrays of ``--ratio`` times a memory limit, and the same without the limit; every
result is checked against NumPy. Then times transfers. Prints two tables in Markdown.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import lazyarr as xp

Data = Any
Program = Callable[[list[xp.Array]], None]
GIB = float(1 << 30)


class Row(NamedTuple):
    """One program: its figures with the limit and without it."""

    name: str
    total: int
    plain: float
    limited: float
    spilled: int
    returned: int


def read(arrays: list[xp.Array]) -> None:
    """Read every array: what was spilled once is never copied to the host again."""
    for x in arrays:
        xp.evaluate(xp.sum(x))


def update(arrays: list[xp.Array]) -> None:
    """Write every array in place: each has to go and come back."""
    for x in arrays:
        x[...] = x * 0.5 + 1.0
        xp.evaluate(x)


def chain(arrays: list[xp.Array]) -> None:
    """Make every array from itself and its neighbour."""
    for k in range(1, len(arrays)):
        arrays[k] = arrays[k] * 0.5 + arrays[k - 1] * 0.25
        xp.evaluate(arrays[k])


def update_numpy(data: list[Data]) -> None:
    for k, d in enumerate(data):
        data[k] = d * np.float32(0.5) + np.float32(1.0)


def chain_numpy(data: list[Data]) -> None:
    for k in range(1, len(data)):
        data[k] = data[k] * np.float32(0.5) + data[k - 1] * np.float32(0.25)


PROGRAMS: list[tuple[Program, Callable[[list[Data]], None] | None]] = [
    (read, None),
    (update, update_numpy),
    (chain, chain_numpy),
]


def make(count: int, elements: int) -> tuple[list[xp.Array], list[Data]]:
    """Return arrays that live on the device, and a sample of each that NumPy can follow."""
    arrays, samples = [], []
    for k in range(count):
        x = xp.astype(xp.arange(elements, dtype=xp.int32) % 251 + k, xp.float32)
        xp.evaluate(x)
        arrays.append(x)
        samples.append(((np.arange(_sampled(elements)) % 251) + k).astype(np.float32))
    return arrays, samples


def _sampled(elements: int) -> int:
    return min(elements, 1 << 12)


def timed(program: Program, reference: Any, count: int, elements: int, passes: int) -> float:
    """Return the seconds of a pass, and check what is left."""
    arrays, samples = make(count, elements)
    program(arrays)  # compiles
    xp.synchronize()
    started = time.perf_counter()
    for _ in range(passes):
        program(arrays)
    xp.synchronize()
    seconds = (time.perf_counter() - started) / passes
    for _ in range(passes + 1):
        if reference is not None:
            reference(samples)
    for x, w in zip(arrays, samples, strict=True):
        np.testing.assert_array_equal(x[: w.size].get(), w)
    return seconds


def measure(limit: int, ratio: float, count: int, passes: int) -> list[Row]:
    """Run every program with and without the limit."""
    elements = int(limit * ratio / count / 4)
    rows = []
    for program, reference in PROGRAMS:
        plain = timed(program, reference, count, elements, passes)
        before = xp.memory_info()
        xp.set_memory_limit(before.used + limit)
        xp.stats(reset=True)
        try:
            limited = timed(program, reference, count, elements, passes)
            stats = xp.stats()
        finally:
            xp.set_memory_limit(None)
        rows.append(
            Row(
                program.__name__,
                count * elements * 4,
                plain,
                limited,
                stats.bytes_spilled,
                stats.bytes_returned,
            )
        )
    return rows


def _size(nbytes: float) -> str:
    return f"{nbytes / GIB:.3g} GiB" if nbytes >= 1 << 28 else f"{nbytes / (1 << 20):.3g} MiB"


def print_rows(rows: list[Row], limit: int, passes: int) -> None:
    print(f"Limit {_size(limit)}; seconds a pass, {passes} passes after one that compiles.\n")
    print("| program | arrays | no limit | limit | times | spilled | returned | moved a second |")
    print("|---|---|---|---|---|---|---|---|")
    for r in rows:
        moved = (r.spilled + r.returned) / (passes + 1)
        print(
            f"| {r.name} | {_size(r.total)} | {r.plain:.4f} s | {r.limited:.4f} s | "
            f"{r.limited / r.plain:.1f} | {_size(r.spilled)} | {_size(r.returned)} | "
            f"{moved / r.limited / 1e9:.3g} GB/s |"
        )


# Transfers.


def _seconds(call: Callable[[], Any]) -> float:
    xp.synchronize()
    started = time.perf_counter()
    call()
    xp.synchronize()
    return time.perf_counter() - started


def transfers(nbytes: int, large: int) -> list[tuple[str, int, float]]:
    """Time downloads and uploads: name, bytes, seconds of the second call (of the large: the only).

    ``large`` is meant to be more than the budget of page-locked memory.
    """
    side = int((nbytes / 4) ** 0.5)
    h = np.ones((side, side), np.float32)
    layouts = {
        "contiguous": h,
        "transposed": h.T,
        "every second row": h[::2],
        "every second column": h[:, ::2],
        "rows backwards": h[::-1],
    }
    rows = []
    for name, v in layouts.items():
        for _ in range(2):
            seconds = _seconds(lambda v=v: xp.prefetch(xp.asarray(v)))  # type: ignore[misc]
        rows.append((f"asarray and upload, {name}", v.nbytes, seconds))
    for _ in range(2):
        x = xp.ones(nbytes // 4, dtype=xp.float32)
        xp.evaluate(x)
        seconds = _seconds(lambda x=x: np.asarray(x))  # type: ignore[misc]
    rows.append(("download, np.asarray", nbytes, seconds))
    y = xp.ones(large // 4, dtype=xp.float32)
    xp.evaluate(y)
    rows.append(("large download", large, _seconds(lambda: np.asarray(y))))
    z = xp.asarray(np.asarray(y))
    rows.append(("large upload", large, _seconds(lambda: xp.prefetch(z))))
    assert float(xp.sum(z[-5:])) == 5.0
    return rows


def print_transfers(rows: list[tuple[str, int, float]]) -> None:
    print("\n| transfer | bytes | seconds | rate |\n|---|---|---|---|")
    for name, nbytes, seconds in rows:
        print(f"| {name} | {_size(nbytes)} | {seconds:.4f} s | {nbytes / seconds / 1e9:.3g} GB/s |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spill")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--limit", type=int, help="bytes; 4 GiB on a GPU, 4 MiB on sim")
    parser.add_argument("--ratio", type=float, default=1.5, help="of all arrays to the limit")
    parser.add_argument("--arrays", type=int, default=24)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--large", type=int, help="bytes of the large transfers")
    given = parser.parse_args()
    small = xp.Device(given.device.partition(":")[0]).kind != "cuda"
    limit = given.limit or (4 << 20 if small else 4 << 30)
    large = given.large or (4 << 20 if small else 8 << 30)
    with xp.default_device(given.device):
        rows = measure(limit, given.ratio, given.arrays, given.passes)
        print_rows(rows, limit, given.passes)
        print_transfers(transfers(1 << 22 if small else 1 << 30, large))


if __name__ == "__main__":
    main()
