"""``docs/array-api.md`` says what is so: its tables are generated, its examples run."""

from __future__ import annotations

import builtins
import re
from typing import Any

import numpy as np
import pytest

import lazyarr as xp

from .array_api_page import PAGE, parts, render

EXAMPLE = re.compile(r"^(\S.*?) +# (.+)$", re.MULTILINE)
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
EXAMPLES = [found for block in BLOCKS for found in EXAMPLE.findall(block)]


def test_the_tables_are_those_of_the_namespace() -> None:
    inside = parts(PAGE.read_text(encoding="utf-8"))[1]
    assert inside == render(), "run: python -m tests.array_api_page"


def test_every_line_of_code_has_a_result() -> None:
    assert len(EXAMPLES) == sum(len(block.splitlines()) for block in BLOCKS)


def _plain(value: Any) -> Any:
    """Return a result as Python data: nested lists, numbers, dtypes by name."""
    if isinstance(value, xp.Array):
        return np.asarray(value).tolist()
    return Name(value) if isinstance(value, np.dtype) else value


class Name:
    """A dtype, shown as its name."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __repr__(self) -> str:
        return str(self.dtype)


@pytest.mark.parametrize(("code", "result"), EXAMPLES, ids=[code for code, _ in EXAMPLES])
def test_example(device: str, code: str, result: str) -> None:
    names: dict[str, Any] = {"xp": xp}
    if result.endswith("Error"):
        with pytest.raises(getattr(builtins, result)):
            _plain(eval(code, names))
        return
    assert repr(_plain(eval(code, names))) == result
