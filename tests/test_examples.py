"""Every example, small, on every device; each checks its own result against NumPy."""

from __future__ import annotations

import importlib
import re

import pytest

EXAMPLES = {
    "heat": ["--size", "20", "--steps", "4"],
    "nbody": ["--size", "16", "--steps", "3"],
    "pca_digits": ["--components", "3", "--steps", "20"],
}
COUNTS = re.compile(r"(\d+) launches, \d+ compiles, to the device (\d+) copies .* the host (\d+) ")


def run(name: str, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Run an example; return the lines it printed, by what stands before their colon."""
    status = importlib.import_module(name).main(arguments)
    printed = capsys.readouterr().out
    assert status == 0, printed
    return dict(line.partition(": ")[::2] for line in printed.splitlines() if ": " in line)


def counts(line: str) -> tuple[int, int, int]:
    found = COUNTS.search(line)
    assert found is not None, line
    launches, uploads, downloads = map(int, found.groups())
    return launches, uploads, downloads


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, device: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(name, [*EXAMPLES[name], "--device", device], capsys)


def test_heat_launches_one_kernel_a_statement(
    kernel_device: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run("heat", ["--size", "20", "--steps", "6", "--device", kernel_device], capsys)
    assert counts(lines["5 more steps"]) == (10, 0, 0)
    assert counts(lines["reading the result"])[1:] == (0, 1)


def test_user_kernel_copies_nothing(kernel_device: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--size", "1000", "--steps", "7", "--device", kernel_device]
    lines = run("user_kernel", arguments, capsys)
    assert counts(lines["7 launches"]) == (7, 0, 0)
    assert counts(lines["roughness, by array functions"])[1:] == (0, 1)
