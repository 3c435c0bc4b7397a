"""The page ``accuracy.md``, written from the JSON results beside it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accuracy.measure import Measured

ORDER = ("cuda", "sim", "cpu")

INTRODUCTION = """\
# Accuracy

The largest error of each element-wise function, in units in the last place (ulp) of the exact
result; for complex dtypes the distance in the plane, in ulp of the norm. This page is generated:
run `python -m accuracy --device cpu` (or `sim`, `cuda`). The results as data, with the point at
which each largest error was found, are in `accuracy/<device>.json`.

Points are a random sample with many near what is hard for each function (zeros, branch points,
overflow, subnormal numbers); an asterisk means every float32 there is. 0.5 is a correctly rounded
result. `logaddexp` counts in ulp of the largest of result and operands; complex `pow` is measured
for |x2 log(x1)| up to 16 and has no limit, since its error grows with that product. `sim` computes
with glibc's functions, `cpu` with NumPy's.
"""


def result(
    device: str, hardware: str, points: int, seconds: float, rows: Sequence[Measured]
) -> dict[str, Any]:
    """Return the results of one device, ready for JSON."""
    return {
        "device": device,
        "hardware": hardware,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "points": points,
        "seconds": round(seconds, 1),
        "results": [{**row._asdict(), "holds": row.holds} for row in rows],
    }


def write(data: dict[str, Any], out: Path) -> Path:
    """Write one device's results and the page of all devices; return the page's path."""
    folder = out / "accuracy"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{data['device'].replace(':', '_')}.json"
    target.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    every = [json.loads(p.read_text(encoding="utf-8")) for p in sorted(folder.glob("*.json"))]
    page = out / "accuracy.md"
    page.write_text(render(every), encoding="utf-8")
    return page


def render(every: list[dict[str, Any]]) -> str:
    """Return the page as Markdown."""
    every = sorted(every, key=lambda data: (_rank(data["device"]), data["device"]))
    lines = [INTRODUCTION]
    for data in every:
        lines.append(
            f"- `{data['device']}`: {data['date']}, {data['hardware']}, about "
            f"{data['points']} points a function"
        )
    names = [data["device"] for data in every]
    lines += ["", f"| function | dtype | {' | '.join(names)} | worst at |"]
    lines.append(f"|---|---|{'---:|' * len(names)}---|")
    cells = {
        (row["function"], row["dtype"], data["device"]): row
        for data in every
        for row in data["results"]
    }
    rows = dict.fromkeys((function, dtype) for function, dtype, _ in cells)
    lines += [_line(*row, [cells.get((*row, name)) for name in names]) for row in rows]
    return "\n".join(lines) + "\n"


def _line(function: str, dtype: str, found: list[dict[str, Any] | None]) -> str:
    worst = max((cell for cell in found if cell), key=lambda cell: float(cell["max_ulp"]))
    shown = " | ".join(_cell(cell) for cell in found)
    return f"| {function} | {dtype} | {shown} | {', '.join(worst['where'])} |"


def _cell(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    text = f"{cell['max_ulp']:.2f}{'*' if cell['exhaustive'] else ''}"
    return text if cell["holds"] else f"**{text}** (over {cell['allowed']})"


def _rank(device: str) -> int:
    kind = device.split(":")[0]
    return ORDER.index(kind) if kind in ORDER else len(ORDER)
