"""The generated part of ``docs/array-api.md``: ``python -m tests.array_api_page`` writes it."""

from __future__ import annotations

from pathlib import Path

import lazyarr as xp

from .property.function_rows import find
from .property.function_table_more import TABLE
from .standard import NAMES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "array-api.md"
START, END = "<!-- generated: functions -->\n", "<!-- end of generated -->\n"
TITLES = {"fft": "fft (extension)", "linalg": "linalg (extension)"}


def render() -> str:
    """Return the tables of functions, chapter by chapter: what is in the namespace."""
    lines = []
    for chapter, names in NAMES.items():
        rows = [name for name in names if name in TABLE and find(xp, name) is not None]
        if not rows:
            continue
        title = TITLES.get(chapter, chapter.replace("_", " ").capitalize())
        lines += ["", f"### {title}", "", "| name | runs | reads | |", "|---|---|---|---|"]
        by_kind: dict[tuple[str, int, str], list[str]] = {}
        for name in rows:
            row = TABLE[name]
            by_kind.setdefault((row.runs, row.control, row.note), []).append(f"`{name}`")
        for (runs, control, note), same in by_kind.items():
            lines.append(f"| {', '.join(same)} | {runs} | {control or ''} | {note} |")
    return "\n".join(lines[1:]) + "\n"


def parts(text: str) -> tuple[str, str, str]:
    """Return a page's text before, in, and after the generated part."""
    before, _, rest = text.partition(START)
    inside, _, after = rest.partition(END)
    return before, inside, after


def main() -> None:
    before, _, after = parts(PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(f"{before}{START}{render()}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
