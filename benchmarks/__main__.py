"""Measure every row on one GPU, beside the libraries that are installed: ``python -m benchmarks``.

Each row is checked in the same run: against NumPy at 2^20 elements, against CuPy on the GPU above.
``--out DIR`` writes the table, JSON and two pictures. ``--filter`` takes parts of names of rows, or
``programs``, ``sizes`` for what is not a row.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lazyarr as xp
from benchmarks import compare, programs, report
from benchmarks.cases import ALL
from benchmarks.cases.case import Case, random
from benchmarks.peers import libraries as installed


def _chosen(words: Sequence[str] | None, name: str) -> bool:
    return not words or any(word in name for word in words)


class _Rates:
    """The copy's rate for each dtype and size, measured when first asked for."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int], float] = {}

    def __call__(self, dtype: str, n: int) -> float:
        key = dtype, n
        if key not in self.found:
            self.found[key] = compare.copy_rate(n, dtype, lambda n, d, s: (random(n, d, s),))
        return self.found[key]


def _run(case: Case, dtype: str, n: int, libraries: Sequence[Any], rates: _Rates) -> Any:
    return compare.measure(case, dtype, n, libraries, rates(dtype, n))


def main() -> None:
    with xp.default_device("cuda"):
        _main()


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filter", nargs="*", help="only rows whose name contains one of these")
    parser.add_argument("--peers", nargs="*", help="only these of cupy, torch, jax, cublas")
    parser.add_argument("--dtypes", nargs="*", help="only these dtypes")
    parser.add_argument("--sizes", nargs="*", type=int, help="only these exponents of two")
    parser.add_argument("--seconds", type=float, default=1e9, help="start no row after so many")
    parser.add_argument("--out", type=Path, help="folder for the table, the JSON and the pictures")
    parser.add_argument("--commit", default="unknown", help="the commit that is measured")
    arguments = parser.parse_args()
    started = time.perf_counter()
    libraries = installed(arguments.peers)
    rates = _Rates()
    result: dict[str, Any] = {**report.environment(arguments.commit), "sizes": {}, "failed": []}
    figures = []
    for name, make in (
        ("host", lambda: programs.host_times(libraries)),
        ("jacobi", lambda: programs.jacobi(libraries)),
        ("transfers", programs.transfers),
        ("launches", programs.user_launches),
        ("processes", programs.processes),
    ):
        if _chosen(arguments.filter, f"programs {name}"):
            try:
                made = make()
            except Exception as error:  # noqa: BLE001 - the other rows go on
                result["failed"].append(f"{name}: {type(error).__name__}: {error}")
                print("FAILED", result["failed"][-1][:300], flush=True)
                continue
            figures += made
            print(*made, sep="\n", flush=True)
    records = []
    for case in ALL:
        for dtype in case.dtypes:
            for n in case.sizes:
                if (
                    not _chosen(arguments.filter, case.name)
                    or (arguments.dtypes and dtype not in arguments.dtypes)
                    or (arguments.sizes and n.bit_length() - 1 not in arguments.sizes)
                    or time.perf_counter() - started > arguments.seconds
                ):
                    continue
                try:
                    record = _run(case, dtype, n, libraries, rates)
                except Exception as error:  # noqa: BLE001 - the other rows go on
                    what = f"{case.name}, {dtype}, {n}: {type(error).__name__}: {error}"
                    result["failed"].append(what)
                    print("FAILED", what[:300].replace("\n", " "), flush=True)
                    continue
                records.append(record)
                print(report.line(record), flush=True)
    if _chosen(arguments.filter, "sizes"):
        result["sizes"] = programs.by_size(libraries)
    result["ceilings"] = {
        f"{dtype} 2^{n.bit_length() - 1}": rate / 1e6 for (dtype, n), rate in rates.found.items()
    }
    result["rows"] = [record.data() for record in records]
    result["programs"] = [figure.data() for figure in figures]
    print(report.summary(records))
    print(*(figure for figure in figures if not figure.holds), sep="\n")
    print(f"{time.perf_counter() - started:.0f} s, {len(result['failed'])} failed")
    if arguments.out is None:
        return
    path = report.write(result, arguments.out)
    try:
        from benchmarks import pictures

        pictures.draw(path)
    except ImportError as error:
        print(f"no pictures: {error}")
    if result["failed"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
