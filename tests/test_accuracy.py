"""The accuracy of element-wise functions, at few points; ``python -m accuracy`` takes many."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr.api import elementwise
from lazyarr.graph.optable import OPS

pytest.importorskip("mpmath", reason="needs mpmath (extra 'test')")

from accuracy import exhaustive, measure, reference, report
from accuracy.__main__ import main
from accuracy.functions import FUNCTIONS, Function

BY_NAME = {function.name: function for function in FUNCTIONS}
# Results that are an operand, a part of one, or its neighbour.
SELECTED = {"clip", "imag", "nextafter", "positive", "real"}
POINTS = 150


def test_no_function_is_left_out() -> None:
    floating = {
        name
        for name in elementwise.__all__
        if OPS[name].row.out != "bool" and set("fc") & set("".join(OPS[name].row.c))
    }
    assert floating - SELECTED == set(BY_NAME)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_errors_are_small(device: str, function: Function) -> None:
    for each, dtype in measure.jobs():
        if each is not function:
            continue
        found = measure.measure(function, dtype, device, POINTS)
        assert found.points > POINTS // 2
        assert found.holds, found
        if found.allowed is None:  # complex powers: the error grows with |x2 log(x1)| <= 16
            assert found.max_ulp <= 48, found


def test_errors_are_counted_in_last_places() -> None:
    one = np.asarray([1.0, 2.0**-1074, 1.0, 1.0, np.finfo(np.float64).max])
    got = np.asarray([np.nextafter(1.0, 2.0), 2 * 2.0**-1074, np.nan, -np.inf, np.inf])
    zero = np.zeros(5, np.longdouble)
    error = reference.ulp_error(got, one.astype(np.longdouble), zero)
    assert error[:2].tolist() == [1.0, 1.0]
    assert np.isinf(error[2]) and error[3] > 1e300
    assert error[4] == 1.0
    both = np.asarray([complex(1 + 2.0**-23, 1 - 2.0**-23)], np.complex64)
    assert reference.ulp_error(both, one[:1], one[:1])[0] == pytest.approx(2**0.5)


def test_exact_values_are_exact() -> None:
    third = [np.asarray([1.0]), np.asarray([3.0])]
    re, _ = reference.exact_values(BY_NAME["divide"], third)
    assert re[0] == np.longdouble(1) / np.longdouble(3)
    cancels = [np.asarray([0.5e-300 + 1e-150j])]
    re, im = reference.exact_values(BY_NAME["log1p"], cancels)
    assert float(im[0]) == 1e-150 and abs(float(re[0])) < 2e-300
    outside, _ = reference.exact_values(BY_NAME["log"], [np.asarray([-1.0])])
    assert np.isnan(outside[0])


def test_the_blocks_are_all_finite_numbers(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    seen = 0
    for mantissa, scale in exhaustive.blocks():
        columns = np.asarray([0, 1, 12345, exhaustive.MANTISSAS - 1])
        m, s = np.asarray(mantissa)[columns], np.asarray(scale).reshape(-1, 1)
        bits = (m * s).view(np.uint32)
        assert ((bits & 0x7FFFFF) == columns).all()
        binades = np.unique(bits >> 23)
        assert len(binades) == len(s)
        seen += len(binades)
    assert seen == 2 * 255


@pytest.mark.parametrize("name", ["sin", "log", "expm1", "tanh"])
def test_errors_on_the_device_are_those_of_the_reference(device: str, name: str) -> None:
    x = np.random.default_rng(0).standard_normal(64) * 10.0 ** np.linspace(-44, 38, 64)
    x = np.concatenate([x, [1.0, 2.0, 0.5, 1e-45, 3.4e38, 88.8]]).astype(np.float32)
    function = getattr(xp, name)
    got = np.asarray(exhaustive.errors(function, xp.asarray(x)))
    result = np.asarray(function(xp.asarray(x)))
    want = reference.ulp_error(result, *reference.exact_values(BY_NAME[name], [x]))
    np.testing.assert_allclose(got, want, atol=1e-6)
    wrong = xp.where(xp.asarray(x) == 1.0, xp.nan, function(xp.asarray(x)))
    spoilt = exhaustive.errors(
        lambda a: wrong if a.dtype == xp.float32 else function(a), xp.asarray(x)
    )
    assert np.isinf(np.asarray(spoilt)).sum() == (x == 1.0).sum()


def test_the_command_fails_where_a_limit_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--device", "cpu", "--points", "50", "-k", "log1p", "--out", str(tmp_path)]
    assert main(command) == 0
    data = json.loads((tmp_path / "accuracy" / "cpu.json").read_text())
    assert [row["dtype"] for row in data["results"]] == list(measure.DTYPES)
    plain: Any = measure.evaluate
    monkeypatch.setattr(measure, "evaluate", lambda f, inputs: plain(f, inputs) * 1.5)
    assert main(command) == 1
    page = (tmp_path / "accuracy.md").read_text()
    assert "**" in page and "| log1p | float32 |" in page
    assert "OVER" in capsys.readouterr().out


def test_the_page_keeps_the_other_devices(tmp_path: Path) -> None:
    row = measure.Measured("exp", "float32", 0.75, ["1.0"], 10, 2.0)
    report.write(report.result("cpu", "a machine", 10, 1.0, [row]), tmp_path)
    report.write(report.result("cuda", "a GPU", 10, 1.0, [row._replace(max_ulp=2.5)]), tmp_path)
    page = (tmp_path / "accuracy.md").read_text()
    assert "| cuda | cpu |" in page
    assert "| exp | float32 | **2.50** (over 2.0) | 0.75 | 1.0 |" in page
