"""Keys of every kind against NumPy: integers, slices, None, '...', index arrays, masks, mixed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import lazyarr as xp

PARTS = ("integer", "slice", "slice", "array", "array", "mask", "newaxis", "ellipsis")


@st.composite
def index_arrays(draw: st.DrawFn, size: int, shape: tuple[int, ...]) -> Any:
    """An array of indices into an axis, of a shape that broadcasts to ``shape``."""
    ours = tuple(1 if draw(st.booleans()) and n != 0 else n for n in shape)
    ours = ours[draw(st.integers(0, len(ours))) :] if 0 not in ours else ours
    count = math.prod(ours)
    if size == 0:
        ours, count = (0,), 0
    of = st.integers(-size, max(size - 1, 0))
    picks = draw(st.lists(of, min_size=count, max_size=count))
    dtype = draw(st.sampled_from(["int64", "int32", "int8"]))
    return np.asarray(picks, dtype).reshape(ours)


@st.composite
def masks(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    count = math.prod(shape)
    picks = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    return np.asarray(picks, bool).reshape(shape)


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A key for an array of a shape; its parts may not fit together."""
    common = draw(st.sampled_from([(), (1,), (2,), (3,), (2, 3), (0,)]))
    key: list[Any] = []
    axis = 0
    dots = False
    while axis < len(shape) and draw(st.integers(0, 5)):
        part = draw(st.sampled_from(PARTS))
        size = shape[axis]
        if part == "newaxis":
            key.append(None)
            continue
        if part == "ellipsis":
            if not dots:
                key.append(Ellipsis)
                dots = True
                axis = draw(st.integers(axis, len(shape)))
            continue
        if part == "integer" and size:
            key.append(draw(st.integers(-size, size - 1)))
        elif part == "array":
            key.append(draw(index_arrays(size, common)))
        elif part == "mask":
            rank = draw(st.integers(1, len(shape) - axis))
            key.append(draw(masks(shape[axis : axis + rank])))
            axis += rank - 1
        else:
            key.append(draw(st.slices(size)))
        axis += 1
    if not key or draw(st.integers(0, 9)) == 0:
        key.append(np.asarray(draw(st.booleans())))
    return tuple(key)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, tuple[Any, ...]]:
    shape = tuple(draw(st.lists(st.integers(0, 4) | st.integers(2, 4), max_size=4)))
    return np.arange(1, math.prod(shape) + 1).reshape(shape), draw(keys(shape))


def on_device(key: tuple[Any, ...], computed: bool) -> tuple[Any, ...]:
    """The key with arrays of lazyarr; the host knows the indices unless they were computed."""

    def converted(part: Any) -> Any:
        if not isinstance(part, np.ndarray):
            return part
        x = xp.asarray(part)
        if not computed:
            return x
        return xp.logical_not(xp.logical_not(x)) if x.dtype == xp.bool else x + 0

    return tuple(converted(part) for part in key)


def outcome(function: Any) -> Any:
    """What a function returns, or the kind of its error."""
    try:
        return function()
    except (IndexError, ValueError) as error:
        return IndexError if isinstance(error, IndexError) else ValueError


def same(got: Any, want: Any, key: Any) -> None:
    if isinstance(want, type):
        # NumPy raises IndexError for index arrays that do not broadcast; shapes are ValueErrors.
        assert isinstance(got, type), (key, got)
        return
    assert not isinstance(got, type), (key, got)
    assert got.shape == want.shape, (key, got.shape, want.shape)
    np.testing.assert_array_equal(np.asarray(got), want)


@given(case=cases(), computed=st.booleans(), moved=st.booleans())
def test_get(device: str, case: tuple[Any, Any], computed: bool, moved: bool) -> None:
    source, key = case
    x = xp.asarray(source)
    if moved and source.ndim > 1:  # a view that is not in order
        x = xp.permute_dims(xp.asarray(np.ascontiguousarray(source.T)), range(source.ndim)[::-1])
    ours = on_device(key, computed)
    same(outcome(lambda: x[ours] + 0), outcome(lambda: source[key]), key)


@given(case=cases(), computed=st.booleans(), whole=st.booleans(), data=st.data())
def test_set(device: str, case: Any, computed: bool, whole: bool, data: st.DataObject) -> None:
    source, key = case
    places = outcome(lambda: source[key])
    if isinstance(places, type):
        value: Any = 0
    elif np.unique(places).size != places.size or not whole:
        value = 0  # which of several values stays is not defined
    else:
        shape = places.shape[data.draw(st.integers(0, places.ndim)) :]
        value = -np.arange(1, math.prod(shape) + 1).reshape(shape)
    want = source.copy()

    def write(target: Any, key: Any, value: Any) -> Any:
        target[key] = value
        return target

    x = xp.asarray(source)
    before = x * 2
    ours = on_device(key, computed)
    value_here = xp.asarray(value) if isinstance(value, np.ndarray) else value
    got = outcome(lambda: write(x, ours, value_here))
    want = outcome(lambda: write(want, key, value))
    same(got, want, key)
    if isinstance(got, type):
        np.testing.assert_array_equal(np.asarray(x), source)
    np.testing.assert_array_equal(np.asarray(before), source * 2)
