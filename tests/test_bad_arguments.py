"""Wrong arguments raise at the call, as a TypeError, ValueError, IndexError or OverflowError.

Nothing is run, copied or changed by then. What is wrong comes from the table of functions: every
array of every call is replaced by what is no array of the device, every axis, shape, dtype and
device by a wrong one; every function gets arrays of every dtype.
"""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lazyarr as xp

from .property.drawing import Fixed, realise
from .property.function_rows import find
from .property.function_table_more import TABLE
from .property.support import DTYPES
from .standard import FUNCTIONS
from .test_no_host_path import arrays_in


class Odd:
    """Nothing that a library knows."""

    def __repr__(self) -> str:
        return "odd"


ODD = Odd()
REFUSALS = (TypeError, ValueError, IndexError, OverflowError)
ANYTHING = {"text": "abc", "nested list": [[1.0, 2.0], [3.0, 4.0]], "object": ODD}
TAKES_OTHERS = {  # what is no array of the device, and welcome
    "asarray": {"nested list"},
    "broadcast_arrays": {"device"},  # each on its own
}
WRONG = {
    "axis": (99, -99, 1.5, "0", (0, 99), 2**70),
    "axes": (99, -99, 1.5, "0", (0, 99), 2**70),
    "shape": (1.5, "3", (2, -3), (2**40, 2**40), (2**70,)),
    "dtype": ("float99", object, "datetime64[s]", 3.5),
    "device": ("tpu", 3, "cuda:x", "cuda:-1"),
}


class Prepared:
    """A good call of a function, ready to be spoiled."""

    def __init__(self, name: str) -> None:
        call = TABLE[name].draw(Fixed())
        self.function = find(xp, name)
        self.args = list(realise(xp, call.args))
        self.kwargs = dict(realise(xp, call.kwargs))
        xp.evaluate(*arrays_in([self.args, self.kwargs]))
        xp.stats(reset=True)

    def with_argument(self, k: int, value: Any) -> Callable[[], Any]:
        args = [*self.args[:k], value, *self.args[k + 1 :]]
        return lambda: self.function(*args, **self.kwargs)

    def with_parameter(self, parameter: str, value: Any) -> Callable[[], Any]:
        place = list(inspect.signature(self.function).parameters).index(parameter)
        if place < len(self.args):
            return self.with_argument(place, value)
        return lambda: self.function(*self.args, **{**self.kwargs, parameter: value})


def refused(call: Callable[[], Any], what: str, *more: type[Exception]) -> None:
    """Assert that a call raises what a wrong argument deserves, and does nothing else."""
    try:
        call()
    except (*REFUSALS, *more) as error:
        assert len(str(error)) > 10, f"{what}: {error!r}"
    else:
        pytest.fail(f"{what} was taken")
    assert not any(xp.stats()), f"{what}: something ran"


def spoiled(name: str, device: str) -> Iterator[tuple[Callable[[], Any], str]]:
    good = Prepared(name)
    arrays = [k for k, x in enumerate(good.args) if isinstance(x, xp.Array)]
    welcome = TAKES_OTHERS.get(name, set())
    elsewhere = "cpu" if device != "cpu" else "sim"
    for k in arrays:
        others = dict(ANYTHING)
        if len(arrays) > 1:
            others["device"] = xp.zeros(good.args[k].shape, dtype=good.args[k].dtype,
                                        device=elsewhere)  # fmt: skip
        for label, value in others.items():
            if label not in welcome:
                yield good.with_argument(k, value), f"argument {k}: {label}"
    for parameter in WRONG.keys() & inspect.signature(good.function).parameters.keys():
        for value in WRONG[parameter]:
            yield good.with_parameter(parameter, value), f"{parameter}={value!r}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_arguments_of_every_function(device: str, name: str) -> None:
    # The standard's word for what has no `__dlpack__`.
    more = (AttributeError,) if name == "from_dlpack" else ()
    for call, what in spoiled(name, device):
        refused(call, what, *more)


LAZY = [name for name in FUNCTIONS if TABLE[name].runs in ("lazy", "view")]


@pytest.mark.parametrize("name", LAZY)
def test_a_dtype_is_refused_at_the_call_or_never(kernel_device: str, name: str) -> None:
    good = Prepared(name)
    arrays = [k for k, x in enumerate(good.args) if isinstance(x, xp.Array)]
    for dtype in DTYPES if arrays else ():
        values = [np.ones(good.args[k].shape, dtype) for k in arrays]
        args = list(good.args)
        for k, value in zip(arrays, values, strict=True):
            args[k] = xp.asarray(value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                result = good.function(*args, **good.kwargs)
            except REFUSALS:
                continue
            # How it would be computed is settled: the plan is made here, and nothing raises.
            for x in arrays_in(result):
                if type(x) is xp.Array and x.size:
                    assert xp.explain(x)


@pytest.fixture
def x(device: str) -> xp.Array:
    made = xp.reshape(xp.asarray(np.arange(12, dtype=np.int8)), (3, 4))
    xp.evaluate(made)
    return made


KEYS = [
    3, -4, (0, 4), (0, 0, 0), 2**70, 1.0, "a", [0, 3], [[0], [-4]], [0.5], np.asarray([0, 99]),
    (slice(None), [4]), (Ellipsis, Ellipsis), np.ones((2, 4), bool), np.ones(5, bool),
    slice(0, 1, 0), slice(0.5, 1), ODD,
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_wrong_keys(x: xp.Array, key: Any) -> None:
    before = np.asarray(x).copy()
    xp.stats(reset=True)
    refused(lambda: x[key], "reading")
    refused(lambda: x.__setitem__(key, 1), "writing")
    np.testing.assert_array_equal(np.asarray(x), before)


VALUES = [
    128, -129, 2**70, 1.5, 1j, "a", None, [1, 2], np.ones(3, np.int8), np.ones((3, 4), np.int16),
    np.float32(1), ODD,
]  # fmt: skip


@pytest.mark.parametrize("key", [Ellipsis, 0, [0, 2], np.ones((3, 4), bool)], ids=repr)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_wrong_values(x: xp.Array, key: Any, value: Any) -> None:
    before = np.asarray(x).copy()
    try:
        x[key] = value
    except REFUSALS:
        np.testing.assert_array_equal(np.asarray(x), before)
    else:
        # NumPy's integers of another width convert, as in NumPy; all else must have raised.
        assert isinstance(value, np.ndarray), value
        assert value.dtype == np.int16


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "x + y": operator.add,
    "y + x": lambda x, y: y + x,
    "x += y": operator.iadd,
    "x * y": operator.mul,
    "x & y": operator.and_,
    "x < y": operator.lt,
}


@pytest.mark.parametrize("value", [128, -129, 2**70, 1.5 + 1j, "a", None])
@pytest.mark.parametrize("name", OPERATIONS)
def test_wrong_operands(x: xp.Array, name: str, value: Any) -> None:
    before = np.asarray(x).copy()
    xp.stats(reset=True)
    refused(lambda: OPERATIONS[name](x, value), name)
    np.testing.assert_array_equal(np.asarray(x), before)
