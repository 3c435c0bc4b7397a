"""Every function of the standard against NumPy and array_api_strict, on arrays of all kinds.

The table of functions says how calls are drawn: dtypes, shapes with 0 and 1, views of every sort,
special values. array_api_strict decides shapes and dtypes of results, NumPy the values.
"""

from __future__ import annotations

import warnings
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazyarr as xp
from tests.standard import FUNCTIONS, NAMES

from .drawing import SHAPES, Call, Drawn, realise
from .function_rows import STRICT, Row, find
from .function_table_more import TABLE
from .outcomes import alike, as_numpy
from .support import DTYPES, array_of, check, keys

# A share for each of some 200 functions: on sim and cuda, compiling kernels takes the time.
few = settings(max_examples=max(4, settings().max_examples // 6))


def test_every_name_of_the_standard_has_a_row() -> None:
    assert set(FUNCTIONS) == set(TABLE)


def test_no_name_of_the_standard_is_missing() -> None:
    names = [name for names in NAMES.values() for name in names if name != "newaxis"]
    assert [name for name in names if find(xp, name) is None] == []
    assert xp.newaxis is None


def apply(ns: Any, name: str, arguments: Call) -> Any:
    function = find(ns, name)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        args, kwargs = realise(ns, arguments.args), realise(ns, arguments.kwargs)
        return function(*args, **kwargs)


def reference(row: Row, name: str, arguments: Call) -> Any:
    if row.reference is STRICT:
        return apply(strict, name, arguments)
    function = row.reference or find(np, name)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        args, kwargs = realise(np, arguments.args), realise(np, arguments.kwargs)
        return as_numpy(function(*args, **kwargs))


@pytest.mark.parametrize("name", FUNCTIONS)
@few
@given(data=st.data())
def test_function(device: str, name: str, data: Any) -> None:
    row = TABLE[name]
    arguments = row.draw(Drawn(data.draw))
    want = reference(row, name, arguments)
    got = apply(xp, name, arguments)
    if row.runs == "metadata":
        row.compare(got, want, arguments)
        return
    got = as_numpy(got)
    if row.strict:
        alike(got, as_numpy(apply(strict, name, arguments)))
    alike(got, as_numpy(want))
    row.compare(got, want, arguments)


@given(data=st.data())
def test_basic_indexing(device: str, data: Any) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    n = array_of(data.draw, data.draw(st.sampled_from(SHAPES)), dtype)
    key = keys(data.draw, n.shape)
    x = xp.asarray(n)
    check(x[key], n[key])
    value = np.ones((), dtype)
    x[key] = value[()] if data.draw(st.booleans()) else xp.asarray(value)
    n[key] = value
    check(x, n)
