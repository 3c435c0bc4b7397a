"""The benchmarks' rows at a small size: right results, the kernels that they state, no copies."""

from __future__ import annotations

import pytest

from benchmarks import compare
from benchmarks.cases import ALL
from benchmarks.cases.case import Case

SMALL = 1 << 15


@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
def test_a_row_is_right_and_launches_what_it_states(case: Case, kernel_device: str) -> None:
    dtype = case.dtypes[0]
    inputs = case.inputs(SMALL, dtype, 3)
    compare.check(case, inputs, (), SMALL)
    assert case.traffic(inputs) > 0


def test_names_are_apart() -> None:
    assert len({case.name for case in ALL}) == len(ALL)
