"""The conformance runner's page, and what it says without a usable checkout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance import report
from conformance.__main__ import main

COUNTS = {"passed": 3, "failed": 1, "errors": 0, "skipped": 2, "xfailed": 0, "xpassed": 0}


def result(device: str) -> dict[str, Any]:
    return {
        "device": device,
        "date": "2026-01-31",
        "seconds": 12.3,
        "hardware": "a machine",
        "versions": {"python": "3.11.7"},
        "suite_commit": "0123456789abcdef",
        "spec_commit": "fedcba9876543210",
        "standard": "2025.12",
        "max_examples": 100,
        "keyword": None,
        "totals": COUNTS,
        "chapters": {"creation_functions": COUNTS},
        "failed": [{"id": "a.py::test_b", "outcome": "failed", "message": "no"}],
    }


def test_the_page_keeps_the_other_devices(tmp_path: Path) -> None:
    report.write(result("cpu"), tmp_path)
    page = report.write(result("cuda"), tmp_path).read_text()
    assert page.index("## cuda") < page.index("## cpu")
    assert page.count("| **total** | 3 | 1 | 0 | 2 |") == 2
    assert json.loads((tmp_path / "conformance" / "cpu.json").read_text())["failed"]


def test_no_checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--device", "cpu", "--suite", str(tmp_path)]) == 2
    assert "is not a checkout of" in capsys.readouterr().err
