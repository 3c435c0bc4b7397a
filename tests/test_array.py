"""The array object: conversions to Python, and what NumPy and Python ask of an object."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import lazyarr as xp


def test_conversions_to_python(device: str) -> None:
    three = xp.asarray(3, device=device)
    assert (int(three), float(three), complex(three), bool(three)) == (3, 3.0, 3 + 0j, True)
    assert complex(xp.asarray(1 + 2j, device=device)) == 1 + 2j
    assert f"{float(three):.1f}" == "3.0"


def test_an_integer_array_is_an_index(device: str) -> None:
    three = xp.asarray(3, device=device)
    assert operator.index(three) == three.__index__() == 3
    assert "abcdef"[three] == "d"
    assert list(range(6))[three:] == [3, 4, 5]
    assert np.arange(6)[three] == 3
    assert xp.arange(6, device=device)[three:].shape == (3,)
    for wrong in (xp.asarray(3.0, device=device), xp.asarray(True, device=device)):
        with pytest.raises(TypeError):
            operator.index(wrong)


@pytest.mark.parametrize("convert", [bool, int, float, complex])
def test_only_single_elements_convert(device: str, convert: Any) -> None:
    for shape in ((2,), (0,)):
        with pytest.raises(ValueError, match="one element"):
            convert(xp.zeros(shape, device=device))
    with pytest.raises(TypeError):
        convert(xp.zeros((1,), device=device))


def test_arrays_are_unhashable_and_iterable(device: str) -> None:
    x = xp.asarray([1, 2, 3], device=device)
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    assert [int(v) for v in x] == [1, 2, 3]
    assert len(x) == 3
    with pytest.raises(TypeError):
        iter(x[0])


def test_the_class_is_documented() -> None:
    assert xp.Array.__doc__ is not None
    assert "location" in xp.Array.__doc__


def test_a_variable_handed_to_a_method_keeps_its_value(device: str) -> None:
    x = xp.asarray(np.zeros(8))
    y = xp.asarray(np.arange(3.0)) + 1
    x.__setitem__(slice(0, 3), y)
    x.__iadd__(z := xp.ones(8) * 2)
    list(map(x.__setitem__, [slice(5, 8)], [y]))
    np.testing.assert_array_equal(np.asarray(y), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(np.asarray(z), np.full(8, 2.0))
    np.testing.assert_array_equal(np.asarray(x), [3.0, 4.0, 5.0, 2.0, 2.0, 1.0, 2.0, 3.0])
