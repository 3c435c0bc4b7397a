"""Nothing of the namespace runs on the host: each function, on data that is on the device.

Every function is called once, and its result evaluated, where no copy between host and device is
allowed. What steers the library by a few bytes (a count that is a shape, an error flag) is counted
apart, and must be what the table of functions says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lazyarr as xp

from .property.drawing import Fixed, realise
from .property.function_rows import find
from .property.function_table_more import TABLE
from .standard import FUNCTIONS


def arrays_in(part: Any) -> Iterator[xp.Array]:
    """Yield the arrays of an argument or a result."""
    if isinstance(part, xp.Array):
        yield part
    elif isinstance(part, (list, tuple)):
        for p in part:
            yield from arrays_in(p)
    elif isinstance(part, dict):
        yield from arrays_in(list(part.values()))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_on_device_data(kernel_device: str, name: str) -> None:
    function = find(xp, name)
    row = TABLE[name]
    arguments = row.draw(Fixed())
    args, kwargs = realise(xp, arguments.args), realise(xp, arguments.kwargs)
    for x in arrays_in([args, kwargs]):
        xp.prefetch(x)
    xp.stats(reset=True)
    with xp.transfer_guard("error"):
        result = function(*args, **kwargs)
        at_call = xp.stats()
        xp.evaluate(*arrays_in(result))
    counts = xp.stats()
    assert (counts.h2d, counts.d2h) == (0, 0)
    assert all(x.location == "device" for x in arrays_in(result))
    assert counts.control == row.control
    ran = at_call.launches + at_call.library_calls + at_call.control > 0
    assert ran == (row.runs == "at the call")
    if row.runs == "metadata":
        assert not list(arrays_in(result))
    if row.runs == "view":
        assert counts.launches == 0


def _write(key: Callable[[xp.Array], Any], value: Any) -> Callable[[xp.Array], None]:
    def run(x: xp.Array) -> None:
        x[key(x)] = value(x) if callable(value) else value

    return run


def _update(x: xp.Array) -> None:
    x[1:] += x[:-1]


INDICES = np.array([2, 0, -1])
# What indexing reads: nothing for basic keys; a count for a mask; the
# smallest and the largest index before a write.
EXPRESSIONS: dict[str, tuple[int, Callable[[xp.Array], Any]]] = {
    "an element": (0, lambda x: x[1, 2]),
    "slices": (0, lambda x: x[1:, ::-1] * 2),
    "a row": (0, lambda x: list(x)),
    "a comparison": (0, lambda x: xp.where(x > 1, x, -x)),
    "in place": (0, _update),
    "a slice written": (0, _write(lambda x: slice(1, None), lambda x: x[:-1])),
    "a mask": (1, lambda x: x[x > 1]),
    "a mask of rows": (1, lambda x: x[x[:, 0] > 1]),
    "a scalar by a mask": (0, _write(lambda x: x > 1, 5.0)),
    "values by a mask": (2, _write(lambda x: x > 1, lambda x: x[x > 1] * 2)),
    "a mask of no axes": (1, lambda x: x[xp.sum(x) > 0]),
    "indices": (0, lambda x: x[xp.arange(3)]),
    "indices of two axes": (0, lambda x: x[xp.arange(3), xp.arange(3)]),
    "a write by indices": (2, _write(lambda x: xp.arange(3) + 0, 7.0)),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expression_on_device_data(kernel_device: str, name: str) -> None:
    control, run = EXPRESSIONS[name]
    x = xp.asarray(np.arange(12.0).reshape(3, 4))
    xp.prefetch(x)
    xp.stats(reset=True)
    with xp.transfer_guard("error"):
        result = run(x)
        xp.evaluate(x, *arrays_in(result))
    counts = xp.stats()
    assert (counts.h2d, counts.d2h) == (0, 0)
    assert counts.control == control
