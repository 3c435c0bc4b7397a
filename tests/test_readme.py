"""The README's first example prints what the README says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"


def test_first_example(kernel_device: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, output = re.findall(r"```(?:python|text)\n(.*?)```", README.read_text(), re.DOTALL)[:2]
    exec(compile(code, str(README), "exec"), {})
    assert capsys.readouterr().out == output
