"""The status page, ``conformance.md``, written from the JSON results beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ORDER = ("cuda", "sim", "cpu")  # the order of the sections; others follow by name
COLUMNS = ("passed", "failed", "errors", "skipped")

INTRODUCTION = """\
# Conformance

Results of the official suite, array-api-tests, one section a device. This page is generated: run
`python -m conformance --device cpu` (or `sim`, `cuda`). The results as data, with the name and
the first error line of every test that failed, are in `conformance/<device>.json`.
"""


def write(result: dict[str, Any], out: Path) -> Path:
    """Write one device's result and the page of all devices; return the page's path."""
    folder = out / "conformance"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{result['device'].replace(':', '_')}.json"
    target.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    results = [json.loads(p.read_text(encoding="utf-8")) for p in sorted(folder.glob("*.json"))]
    page = out / "conformance.md"
    page.write_text(render(results), encoding="utf-8")
    return page


def render(results: list[dict[str, Any]]) -> str:
    """Return the page as Markdown."""
    results = sorted(results, key=lambda r: (_rank(r["device"]), r["device"]))
    return "\n".join([INTRODUCTION, *(_section(result) for result in results)])


def _rank(device: str) -> int:
    kind = device.split(":")[0]
    return ORDER.index(kind) if kind in ORDER else len(ORDER)


def _section(result: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    lines = [
        f"## {result['device']}",
        "",
        f"- Date: {result['date']}; wall time {result['seconds']:.0f} s",
        f"- Hardware: {result['hardware']}",
        f"- Versions: {versions}",
        f"- Suite: array-api-tests `{result['suite_commit'][:12]}`, array-api "
        f"`{result['spec_commit'][:12]}`, standard {result['standard']}, at most "
        f"{result['max_examples']} examples a test",
    ]
    if result["keyword"]:
        lines.append(f"- Only tests that match `-k '{result['keyword']}'`")
    lines += ["", *table(result), ""]
    return "\n".join(lines)


def table(result: dict[str, Any]) -> list[str]:
    """Return the rows of a Markdown table: a chapter each, and the total."""
    totals = result["totals"]
    columns = [*COLUMNS, *(key for key in ("xfailed", "xpassed") if totals[key])]
    rows = [
        f"| chapter | {' | '.join(columns)} |",
        f"|---|{'---:|' * len(columns)}",
    ]
    for name, counts in [*result["chapters"].items(), ("**total**", totals)]:
        rows.append(f"| {name} | {' | '.join(str(counts[key]) for key in columns)} |")
    return rows
