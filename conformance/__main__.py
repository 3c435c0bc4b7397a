"""Run the official array-api-tests on one device and update ``docs/conformance.md``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance import report
from conformance.run import ROOT, Options, run
from conformance.suite import SuiteError, find

SHOWN = 20  # failures printed; the JSON has them all


def main(arguments: list[str] | None = None) -> int:
    """Return 0 if the suite ran to its end, however many of its tests failed."""
    args = _parse(arguments)
    out = args.out
    if out is None and args.k is None and args.module == "lazyarr":
        out = ROOT / "docs"
    options = Options(args.device, args.module, args.max_examples, args.k, args.n, args.derandomize)
    try:
        suite = find(args.suite)
        for deviation in suite.deviations():
            print(f"note: {deviation}", file=sys.stderr)
        result = run(suite, options)
    except SuiteError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    print("\n".join(report.table(result)))
    for item in result["failed"][:SHOWN]:
        print(f"{item['outcome']}: {item['id']}: {item['message']}")
    if len(result["failed"]) > SHOWN:
        print(f"and {len(result['failed']) - SHOWN} more")
    if out is not None:
        print(f"written: {report.write(result, out)}")
    return 0 if result["pytest_status"] in (0, 1) else 1


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument("--device", required=True, help="cpu, sim, cuda, cuda:1, ...")
    parser.add_argument(
        "--suite", type=Path, help="a checkout of array-api-tests (default: cloned and cached)"
    )
    parser.add_argument("--max-examples", type=int, default=100, metavar="N")
    parser.add_argument(
        "--out", type=Path, help="folder for the page and the JSON (default: docs, without -k)"
    )
    parser.add_argument("-k", metavar="EXPR", help="run only the tests that match")
    parser.add_argument("-n", type=int, default=1, metavar="WORKERS", help="processes")
    parser.add_argument("--derandomize", action="store_true", help="the same examples each time")
    parser.add_argument("--module", default="lazyarr", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
