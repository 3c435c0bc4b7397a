"""``concat``, ``stack`` and ``roll``: one kernel where the pieces allow it, and right elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import lazyarr as xp
from lazyarr.codegen.handwritten import item_type
from lazyarr.graph import evaluate
from lazyarr.graph.joining import join_call
from tests.property.support import values

DTYPES = ["int8", "int16", "float32", "float64", "complex128"]  # one of each size
LENGTHS = [0, 1, 2, 3, 5, 8, 31, 64, 255, 1023, 1025, 2048, 5000]


def data(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    return values(dtype, int(np.prod(shape)), seed, special=False).reshape(shape)


def same(got: xp.Array, want: Any) -> None:
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(np.asarray(got), want)


def real(array: Any) -> xp.Array:
    """Return a copy whose value is computed."""
    x = xp.asarray(array)
    xp.evaluate(x)
    return x


def launches(function: Any) -> tuple[Any, int]:
    before = xp.stats().launches
    result = function()
    xp.evaluate(result)
    return result, xp.stats().launches - before


PIECES = st.lists(st.tuples(st.sampled_from(LENGTHS), st.integers(0, 3)), min_size=2, max_size=4)


@given(st.sampled_from(DTYPES), PIECES)
@example("float32", [(4096, 0), (1024, 0)])
@example("float32", [(4097, 1), (1023, 0), (5000, 3)])
@example("int8", [(1, 3), (2047, 0)])
@example("complex128", [(1024, 1), (1, 0)])
def test_views_that_start_anywhere(device: str, dtype: str, pieces: list[tuple[int, int]]) -> None:
    parts = [data(n + at, dtype=dtype, seed=k) for k, (n, at) in enumerate(pieces)]
    arrays = [real(p) for p in parts]
    got = xp.concat([x[at:] for x, (_, at) in zip(arrays, pieces, strict=True)])
    same(got, np.concatenate([p[at:] for p, (_, at) in zip(parts, pieces, strict=True)]))


@given(
    st.sampled_from(["int8", "float32", "float64"]),
    st.integers(1, 7),
    st.lists(st.sampled_from([0, 1, 2, 3, 8, 40, 1000, 1025]), min_size=2, max_size=3),
    st.integers(0, 3),
    st.booleans(),
)
@example("float32", 3, [1000, 1025], 0, False)
@example("float32", 5, [1, 1], 0, False)
def test_rows_of_views(
    device: str, dtype: str, rows: int, widths: list[int], margin: int, backwards: bool
) -> None:
    parts = [data(rows, w + margin, dtype=dtype, seed=k) for k, w in enumerate(widths)]
    arrays = [real(p) for p in parts]
    key = np.s_[::-1, margin:] if backwards else np.s_[:, margin:]
    same(
        xp.concat([x[key] for x in arrays], axis=1),
        np.concatenate([p[key] for p in parts], axis=1),
    )


@given(st.sampled_from([(1,), (7,), (2050,), (3, 5), (5, 3, 2), (3, 1100)]), st.data())
def test_roll_and_stack(device: str, shape: tuple[int, ...], draw: Any) -> None:
    axis = draw.draw(st.integers(-len(shape), len(shape) - 1))
    shift = draw.draw(st.integers(-5000, 5000))
    a, b = data(*shape), data(*shape, seed=1)
    x, y = real(a), real(b)
    same(xp.roll(x, shift, axis=axis), np.roll(a, shift, axis))
    same(xp.roll(x, shift), np.roll(a, shift))
    same(xp.stack([x, y], axis=axis), np.stack([a, b], axis))


def test_one_launch(kernel_device: str) -> None:
    a, b = data(6, 1100), data(6, 300)
    x, y = real(a), real(b)
    for function in (
        lambda m, x, y: m.concat([x, y], axis=1),
        lambda m, x, y: m.concat([x, y], axis=None),
        lambda m, x, y: m.concat([x[::2, 3:], y[::2], x[1::2, :-5]], axis=1),
        lambda m, x, y: m.concat([x[2:3], x, x[:0], x[-1:]]),
        lambda m, x, y: m.stack([x, x], axis=-1),
        lambda m, x, y: m.stack([y, y, y]),
        lambda m, x, y: m.roll(x, 12345),
        lambda m, x, y: m.roll(x, -77, axis=1),
        lambda m, x, y: m.roll(x, 2, axis=0),
    ):
        got, count = launches(lambda f=function: f(xp, x, y))
        same(got, function(np, a, b))
        assert count == 1


def test_groups_of_pieces(device: str) -> None:
    parts = [data(5, 1 + k % 3, seed=k) for k in range(37)]
    arrays = [real(p) for p in parts]
    got, count = launches(lambda: xp.concat(arrays, axis=1))
    same(got, np.concatenate(parts, axis=1))
    assert count == (0 if device == "cpu" else 3)  # of up to 16
    same(xp.concat(arrays, axis=None), np.concatenate(parts, axis=None))


def test_other_pieces_take_a_kernel_each(kernel_device: str) -> None:
    a, b = data(6, 40), data(6, 40, seed=1)
    x, y = real(a), real(b)
    cases: list[tuple[Any, Any]] = [
        (lambda: xp.concat([x + 1, y * 2]), np.concatenate([a + np.float32(1), b * 2])),
        (lambda: xp.concat([x[:, ::-1], y], axis=1), np.concatenate([a[:, ::-1], b], axis=1)),
        (lambda: xp.concat([x.T, y.T], axis=1), np.concatenate([a.T, b.T], axis=1)),
        (lambda: xp.stack([x[:, ::2], y[:, ::2]]), np.stack([a[:, ::2], b[:, ::2]])),
        (
            lambda: xp.concat([x, xp.astype(y, xp.float64)]),
            np.concatenate([a, b.astype("float64")]),
        ),
    ]
    for function, want in cases:
        got, count = launches(function)
        same(got, want)
        assert count == 2


def test_what_is_pending_is_computed_once_for_a_roll(kernel_device: str) -> None:
    a = data(500)
    x = real(a)
    got, count = launches(lambda: xp.roll(x * 2, 3))
    same(got, np.roll(a * 2, 3))
    assert count == 2


def test_the_result_is_apart_from_its_pieces(device: str) -> None:
    a = data(700)
    x = real(a)
    y = xp.concat([x, x])
    x[0] = 5.0
    y[1] = 7.0
    want = np.concatenate([a, a])
    want[1] = 7
    same(y, want)
    assert float(x[1]) == a[1]


def unit_of(arrays: list[xp.Array], axis: int, shape: tuple[int, ...]) -> int:
    """Return the bytes of the units in which the simulator would move pieces."""
    call = join_call([(x._cell.value, x.view) for x in arrays], axis, shape)
    assert call is not None
    _, plan, _ = evaluate.plan_for([call])
    text = plan.steps[0][0].key.text
    return next(size for size in (1, 2, 4, 8, 16) if text.startswith(item_type(size)))


def test_units_are_as_large_as_every_piece_allows() -> None:
    with xp.default_device("sim"):
        x, y, z = real(data(3, 96)), real(data(3, 96, dtype="int8")), real(data(1026))
        pairs: list[tuple[list[xp.Array], int, int]] = [
            ([x, x], 1, 16),
            ([x[:, 4:], x], 1, 16),
            ([x[:, 2:], x], 1, 8),
            ([x[:, 1:], x], 1, 4),
            ([x, x[:, 1:]], 1, 4),
            ([x, x[:, :-1]], 1, 4),  # the result's rows
            ([y[:, 16:], y], 1, 16),
            ([y[:, 6:], y], 1, 2),
            ([y[:, 3:], y], 1, 1),
            ([z[2:], z[:4]], 0, 8),
            ([z[4:1024], z[:8]], 0, 16),
            ([z[1:5], z], 0, 4),
            ([z[:4], z[1:5]], 0, 4),
        ]
        for arrays, axis, want in pairs:
            lengths = [a.shape[axis] for a in arrays]
            shape = (*arrays[0].shape[:axis], sum(lengths))
            assert unit_of(arrays, axis, shape) == want
