"""Measure the accuracy of element-wise functions on one device and update ``docs/accuracy.md``."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from accuracy import exhaustive, report
from accuracy.measure import Measured, jobs, measure
from lazyarr.runtime import select

DOCS = Path(__file__).resolve().parent.parent / "docs"


def main(arguments: list[str] | None = None) -> int:
    """Return 0 if no function is further off than it may be, 1 if one is."""
    args = _parse(arguments)
    start = time.monotonic()
    rows: list[Measured] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.n, mp_context=context) as pool:
        for function, dtype in jobs(args.k):
            if args.exhaustive and exhaustive.is_exhaustive(function, dtype):
                row = exhaustive.measure_all(function, args.device)
            else:
                workers = pool if args.n > 1 else None
                row = measure(function, dtype, args.device, args.points, args.seed, workers)
            rows.append(row)
            note = "" if row.holds else f"  OVER {row.allowed}"
            print(
                f"{row.function:14}{row.dtype:12}{row.max_ulp:8.3f}  at {row.where}{note}",
                flush=True,
            )
    if args.out is not None or args.k is None:
        seconds = time.monotonic() - start
        data = report.result(args.device, _hardware(args.device), args.points, seconds, rows)
        print(f"written: {report.write(data, args.out or DOCS)}")
    return 0 if all(row.holds for row in rows) else 1


def _hardware(device: str) -> str:
    for name, available, detail in select.survey():
        if available and name.split(":")[0] == device.split(":")[0]:
            return str(detail)
    return "unknown"


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m accuracy", description=__doc__)
    parser.add_argument("--device", required=True, help="cpu, sim, cuda, cuda:1, ...")
    parser.add_argument(
        "--points", type=int, default=2000, metavar="N", help="points a function and dtype"
    )
    parser.add_argument(
        "--exhaustive", action="store_true", help="float32 functions of one operand: every float32"
    )
    parser.add_argument(
        "--out", type=Path, help="folder for the page and the JSON (default: docs, without -k)"
    )
    parser.add_argument("-k", metavar="NAME", help="only functions whose name contains this")
    parser.add_argument(
        "-n", type=int, default=1, metavar="WORKERS", help="processes for the exact values"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random points")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
