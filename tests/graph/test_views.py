"""Views against NumPy's strides, and overlap against the sets of elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazyarr.graph import views
from lazyarr.graph.views import Box, View
from tests.property.support import keys

SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple)


def numbers(shape: tuple[int, ...]) -> Any:
    """Return an array that holds its own element numbers."""
    return np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.int64).reshape(shape)


def elements(view: View) -> Any:
    """Return the element numbers that a view selects."""
    result = np.full(view.shape, view.offset, np.int64)
    for d, (n, s) in enumerate(zip(view.shape, view.strides, strict=True)):
        line = [1] * len(view.shape)
        line[d] = n
        result += (np.arange(n) * s).reshape(line)
    return result


@st.composite
def indexed(draw: Any, shapes: Any = SHAPES) -> tuple[View, Any, tuple[int, ...]]:
    """Draw a view of views and NumPy's array of the same elements."""
    shape = draw(shapes)
    view, array = views.contiguous(shape), numbers(shape)
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["key", "key", "permute", "flip"]))
        if kind == "key":
            key = keys(draw, array.shape)
            view, array = views.basic_index(view, key), np.asarray(array[key])
        elif kind == "permute":
            axes = draw(st.permutations(range(array.ndim)))
            view, array = views.permute(view, axes), array.transpose(axes)
        else:
            axes = [d for d in range(array.ndim) if draw(st.booleans())]
            view, array = views.flip(view, axes), np.asarray(np.flip(array, axes))
    return view, array, shape


@given(drawn=indexed())
def test_views_select_numpys_elements(drawn: Any) -> None:
    view, array, _ = drawn
    assert view.shape == array.shape
    np.testing.assert_array_equal(elements(view), array)


@given(drawn=indexed())
def test_the_extent_bounds_the_elements(drawn: Any) -> None:
    view, array, _ = drawn
    low, high = views.extent(view)
    if array.size:
        assert (low, high) == (array.min(), array.max() + 1)
    else:
        assert low == high


@given(drawn=indexed(), data=st.data())
def test_reshape_keeps_the_elements_or_asks_for_a_copy(drawn: Any, data: Any) -> None:
    view, array, _ = drawn
    factors = [d for d in range(1, 7) if array.size % d == 0]
    first = data.draw(st.sampled_from(factors))
    rest = array.size // first
    shapes = [(array.size,), (first, rest), (rest, 1, first), (1, rest, first)]
    shape = data.draw(st.sampled_from(shapes))
    result = views.reshape(view, shape)
    if result is not None:
        assert result.shape == shape
        np.testing.assert_array_equal(elements(result), array.reshape(shape))
    if array.size:
        shares = np.shares_memory(array.reshape(shape), array)
        assert (result is not None) == shares


@given(drawn=indexed())
def test_is_full_and_is_contiguous(drawn: Any) -> None:
    view, array, shape = drawn
    size = int(np.prod(shape, dtype=np.int64))
    in_order = np.array_equal(array.reshape(-1), np.arange(size))
    if size:
        assert views.is_full(view, size) == in_order
    if array.size:
        flat = array.reshape(-1)
        assert views.is_contiguous(view.shape, view.strides) == bool(np.all(np.diff(flat) == 1))


@given(drawn=indexed(), data=st.data())
def test_broadcasting(drawn: Any, data: Any) -> None:
    view, array, _ = drawn
    target = [data.draw(st.integers(0, 4)) if n == 1 else n for n in array.shape]
    target = [*data.draw(st.lists(st.integers(0, 3), max_size=2)), *target]
    result = views.broadcast(view, tuple(target))
    np.testing.assert_array_equal(elements(result), np.broadcast_to(array, target))


@given(data=st.data(), shape=st.sampled_from([(12,), (4, 6), (3, 4, 5), (6, 1, 4)]))
def test_disjoint_is_never_wrong(data: Any, shape: tuple[int, ...]) -> None:
    a, _, _ = data.draw(indexed(st.just(shape)))
    b, _, _ = data.draw(indexed(st.just(shape)))
    common = np.intersect1d(elements(a), elements(b))
    if views.disjoint(a, b):
        assert common.size == 0
    if views.same_elements(a, b):
        np.testing.assert_array_equal(elements(a), elements(b))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((slice(0, 2),), (slice(2, 4),)),
        ((slice(None, None, 2),), (slice(1, None, 2),)),
        ((slice(None), slice(0, 3)), (slice(None), slice(3, 6))),
        ((slice(1, 3), slice(0, 2)), (slice(1, 3), slice(2, 4))),
        ((slice(None), 0), (slice(None), 5)),
    ],
)
def test_disjoint_finds_the_usual_cases(first: Any, second: Any) -> None:
    view = views.contiguous((4, 6))
    assert views.disjoint(views.basic_index(view, first), views.basic_index(view, second))
    assert views.disjoint(views.basic_index(view, second), views.basic_index(view, first))


@given(drawn=indexed())
def test_a_box_has_the_views_elements(drawn: Any) -> None:
    view, array, shape = drawn
    distinct = np.unique(array).size == array.size
    if array.size == 0 or not distinct:
        return
    box = views.as_box(view, shape)
    if box is None:
        return
    np.testing.assert_array_equal(_box_elements(box, view, shape), array)


def _box_elements(box: Box, view: View, shape: tuple[int, ...]) -> Any:
    """Return the element numbers of a box, along the view's axes."""
    parts = tuple(
        slice(f, f + s * n, s) for f, s, n in zip(box.first, box.step, box.length, strict=True)
    )
    inside = numbers(shape)[parts]
    inside = np.flip(inside, [d for d, back in enumerate(box.flipped) if back])
    order = [d for _, d in sorted((a, d) for d, a in enumerate(box.axes) if a >= 0)]
    rest = [d for d in range(len(shape)) if box.axes[d] < 0]
    return inside.transpose([*order, *rest]).reshape(view.shape)


def test_slices_steps_and_permutations_are_boxes() -> None:
    view = views.contiguous((4, 6, 5))
    for key in ((slice(1, 3),), (..., slice(None, None, -2)), (2, slice(1, -1)), (..., 3)):
        assert views.as_box(views.basic_index(view, key), (4, 6, 5)) is not None
    assert views.as_box(views.permute(view, (2, 0, 1)), (4, 6, 5)) is not None
    diagonal = View(0, (4,), (6 * 5 + 5,))
    assert views.as_box(diagonal, (4, 6, 5)) is None


@pytest.mark.parametrize("shape", [(2**40, 2**40), (3, 2**61), (0, 2**40, 2**40)])
def test_shapes_beyond_the_address_space(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError):
        views.check_shape(shape)


@pytest.mark.parametrize("key", [4, -5, (0, 0, 0), (..., ...), (0, 6)])
def test_bad_keys(key: Any) -> None:
    with pytest.raises(IndexError):
        views.basic_index(views.contiguous((4, 6)), key)


def test_a_step_of_zero() -> None:
    with pytest.raises(ValueError):
        views.basic_index(views.contiguous((4, 6)), slice(None, None, 0))


def test_no_elements_take_any_shape_from_any_strides() -> None:
    for view in (View(3, (0, 3), (7, 2)), View(0, (4, 0, 2), (1, 5, 9))):
        flat = views.reshape(view, (0,))
        assert flat is not None
        assert (flat.offset, flat.shape, flat.strides) == (view.offset, (0,), (1,))
        found = views.reshape(view, (2, 0, 5))
        assert found is not None and found.shape == (2, 0, 5)
