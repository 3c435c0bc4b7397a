"""Two pictures of a result: bandwidth by operation, and time by size.

``python -m benchmarks.pictures FILE.json`` draws them beside the file. Needs matplotlib.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

_SHOWN = ("lazyarr", "cupy", "torch", "jax")
_COLOURS = {"lazyarr": "#0b5d8a", "cupy": "#e0913a", "torch": "#b04a4a", "jax": "#6a9a5b"}


def draw(path: Path) -> None:
    """Draw both pictures of the result in ``path``."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "lazyarr", "font.size": 9})
    result = json.loads(path.read_text())
    _bandwidth(result, path.with_name(path.stem + "-bandwidth.svg"))
    _sizes(result, path.with_name(path.stem + "-sizes.svg"))


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def _bandwidth(result: dict[str, Any], path: Path) -> None:
    from matplotlib.figure import Figure

    rows = [
        row for row in result["rows"] if row["dtype"] == "float32" and row["elements"] == 1 << 28
    ]
    figure = Figure(figsize=(8, 0.28 * len(rows) + 1))
    axes = figure.subplots()
    for place, row in enumerate(rows):
        for name in _SHOWN:
            if name in row["times"]:
                time = row["times"][name]
                seconds = (time["wall"] if time["device"] is None else time["device"]) / 1e3
                rate = row["traffic"] / seconds / 1e9
                marker = "o" if name == "lazyarr" else "|"
                axes.plot(rate, place, marker, color=_COLOURS[name], markersize=7)
    copy = result["ceilings"].get("float32 2^28")
    if copy:
        axes.axvline(copy, color="black", linewidth=0.8)
    for name in _SHOWN:
        axes.plot([], [], "o" if name == "lazyarr" else "|", color=_COLOURS[name], label=name)
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel("GB/s of the least traffic, float32, 2^28 elements; line: device copy")
    axes.legend(loc="lower right")
    axes.grid(axis="x", alpha=0.3)
    _save(figure, path)


def _sizes(result: dict[str, Any], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6))
    for axes, (name, points) in zip(figure.subplots(1, 2), result["sizes"].items(), strict=True):
        for library in _SHOWN:
            found = [(p["elements"], p["times"][library]) for p in points if library in p["times"]]
            if found and library != "lazyarr":
                ours = {p["elements"]: p["times"]["lazyarr"] for p in points}
                axes.loglog(
                    [n for n, _ in found],
                    [time / ours[n] for n, time in found],
                    "o-",
                    base=2,
                    markersize=3,
                    color=_COLOURS[library],
                    label=library,
                )
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_title(name)
        axes.set_xlabel("float32 elements")
        axes.set_ylabel("wall time of a peer over ours")
        axes.grid(alpha=0.3)
        axes.legend()
    figure.tight_layout()
    _save(figure, path)


if __name__ == "__main__":
    for given in sys.argv[1:]:
        draw(Path(given))
