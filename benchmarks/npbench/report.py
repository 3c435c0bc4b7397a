"""The table of npbench's programs, as text while it runs and as files."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.npbench.compare import Row

_FRAMEWORKS = ("lazyarr", "rewritten", "cupy", "numpy")


def line(row: Row) -> str:
    """Return a row as printed while the program runs."""
    times = " ".join(f"{k} {row.seconds[k] * 1e3:.2f}" for k in _FRAMEWORKS if k in row.seconds)
    ratio = "" if row.ratio is None else f"x{row.ratio:.2f}"
    counts = " ".join(
        f"{k} {row.counts[k]}"
        for k in ("launches", "library_calls", "control", "h2d", "d2h")
        if row.counts.get(k)
    )
    errors = "".join(f"  {name}: {text}" for name, text in row.errors.items())
    return f"{row.name:<16} {row.preset} {ratio:>8} | ms {times} | {counts} | {row.checked}{errors}"


def geometric_mean(rows: Sequence[Row]) -> float | None:
    """Return the mean of CuPy's times over ours, of the rows that have both."""
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if not ratios:
        return None
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def summary(rows: Sequence[Row]) -> list[str]:
    """Return a line a preset: how many, the geometric mean, those slower than CuPy."""
    lines = []
    for preset in dict.fromkeys(row.preset for row in rows):
        chosen = [row for row in rows if row.preset == preset]
        mean = geometric_mean(chosen)
        slower = [row.name for row in chosen if row.ratio is not None and row.ratio < 1]
        failed = [row.name for row in chosen if "lazyarr" in row.errors]
        text = "no CuPy" if mean is None else f"geometric mean {mean:.2f} times CuPy's speed"
        lines.append(
            f"{preset}: {len(chosen)} programs, {text}; slower than CuPy: "
            f"{', '.join(slower) or 'none'}; failed: {', '.join(failed) or 'none'}"
        )
    return lines


def markdown(environment: dict[str, Any], rows: Sequence[Row]) -> str:
    """Return the table."""
    versions = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    out = [
        f"# npbench, {environment['date']}",
        "",
        f"GPU: {environment['gpu']}. Commit {environment['commit']}. npbench "
        f"{environment['npbench']}. {versions}.",
        "",
        "Wall time in ms from the call to the last result, inputs on the device; medians. *Times "
        "faster*: CuPy's version over ours, statement for statement. *Rewritten*: where another "
        "form of the algorithm is worth showing. Launches, library calls, small reads that steer "
        "and copies between host and device are those of one run. *Checked* against npbench's "
        "NumPy version, or CuPy's where NumPy's takes too long.",
        "",
        *(f"- {text}" for text in summary(rows)),
        "",
        "| program | preset | lazyarr | CuPy | times faster | rewritten | NumPy | launches "
        "| library | reads | copies | checked | errors |",
        "|---" * 13 + "|",
    ]
    for row in rows:
        cells = [
            f"{row.seconds[k] * 1e3:.2f}" if k in row.seconds else ""
            for k in ("lazyarr", "cupy", "rewritten", "numpy")
        ]
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        counts = row.counts
        copies = counts.get("h2d", 0) + counts.get("d2h", 0)
        errors = "; ".join(f"{name}: {text}" for name, text in row.errors.items())
        out.append(
            f"| {row.name} | {row.preset} | {cells[0]} | {cells[1]} | {ratio} | {cells[2]} "
            f"| {cells[3]} | {counts.get('launches', '')} | {counts.get('library_calls', '')} "
            f"| {counts.get('control', '')} | {copies} | {row.checked} | {errors} |"
        )
    return "\n".join(out) + "\n"


def write(environment: dict[str, Any], rows: Sequence[Row], folder: Path) -> None:
    """Write table and JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{environment['date']}-npbench.json"
    path.write_text(json.dumps({**environment, "rows": [row.data() for row in rows]}) + "\n")
    path.with_suffix(".md").write_text(markdown(environment, rows))
