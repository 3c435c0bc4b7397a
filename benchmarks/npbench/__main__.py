"""Run npbench's programs in lazyarr and CuPy: ``python -m benchmarks.npbench --npbench CHECKOUT``.

Results are checked against npbench's NumPy versions, or CuPy's where those take too long. Without
CuPy, or on ``--device sim`` and ``cpu``, only our times are taken. ``--out DIR`` writes table and
JSON, anew after each program.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks import report as machine
from benchmarks.npbench import compare, report
from benchmarks.npbench.checkout import NAMES, Benchmark


def _frameworks(benchmark: Benchmark, device: str) -> list[compare.Framework]:
    found = [compare.ours(benchmark, device, name) for name in (benchmark.function, "rewritten")]
    chosen = [framework for framework in found if framework is not None]
    if device.startswith("cuda"):
        with contextlib.suppress(ImportError, FileNotFoundError):
            chosen.append(compare.cupys(benchmark))
    return chosen


def _environment(arguments: argparse.Namespace) -> dict[str, Any]:
    revision = subprocess.run(
        ["git", "-C", str(arguments.npbench), "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
    ).stdout.strip()
    return {**machine.environment(arguments.commit), "npbench": revision or "unknown"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--npbench", type=Path, required=True, help="a checkout of npbench")
    parser.add_argument("--preset", nargs="+", default=["S"], choices=["S", "M", "L"])
    parser.add_argument("--filter", nargs="*", default=list(NAMES), help="these programs only")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--budget", type=float, default=5.0, help="s for a program in a framework")
    parser.add_argument("--numpy-seconds", type=float, default=20.0, help="the longest NumPy run")
    parser.add_argument("--seconds", type=float, default=1e9, help="start nothing after so many")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--commit", default="unknown", help="the commit that is measured")
    arguments = parser.parse_args()
    environment = _environment(arguments)
    started = time.perf_counter()
    rows: list[compare.Row] = []
    numpy_seconds: dict[str, float] = {}
    for preset in arguments.preset:
        for name in arguments.filter:
            if time.perf_counter() - started > arguments.seconds:
                print("out of time at", preset, name)
                break
            benchmark = Benchmark(arguments.npbench, name)
            # From one preset to the next NumPy's time rises about tenfold.
            expected = 10 * numpy_seconds.get(name, 0.0)
            row = compare.measure(
                benchmark,
                preset,
                _frameworks(benchmark, arguments.device),
                arguments.budget,
                with_numpy=expected < arguments.numpy_seconds,
                warm=name in numpy_seconds,
            )
            numpy_seconds[name] = row.seconds.get("numpy", expected)
            rows.append(row)
            print(report.line(row), flush=True)
            if arguments.out is not None:
                report.write(environment, rows, arguments.out)
    print(*report.summary(rows), sep="\n")
    if any("lazyarr" in row.errors or "rewritten" in row.errors for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
