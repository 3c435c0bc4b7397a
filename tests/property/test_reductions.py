"""Reductions: their order depends on shape, axes and dtype alone.

Against the order itself, written for NumPy, to the bit; across layouts and producers to the bit;
against NumPy within rounding.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazyarr as xp

from .support import DTYPES, Shape, array_of, check, ordered_sum, values

# (shape, axes): M results of K elements each, around every border of the order.
CASES: list[tuple[Shape, Shape]] = [
    *(((m, k), (1,)) for m, k in itertools.product([1, 3, 33], [1, 2, 31, 32, 33, 1023, 1024])),
    *(((k, m), (0,)) for m, k in itertools.product([1, 3, 33], [1, 2, 31, 32, 33, 1023, 1024])),
    ((5, 4096), (1,)),
    ((4097, 5), (0,)),
    ((2, 8191), (1,)),
    ((70000,), (0,)),
    ((1, 70000), (1,)),
    ((70000, 1), (0,)),
    ((3, 30000), (1,)),
    ((30000, 3), (0,)),
    ((5000, 7), (1,)),
    ((7, 5000), (0,)),
    ((512, 8193), (1,)),
    ((40000, 5), (0,)),
    ((3, 5000, 2), (1,)),
    ((5000, 3, 2), (1, 2)),
    ((40, 50, 60), (0, 1, 2)),
    ((40, 50, 6), (0, 1)),
    ((6, 50, 40), (1, 2)),
    ((6, 50, 40), (0, 2)),
    ((6, 50, 40), (1,)),
    ((4, 3, 5, 7), (0, 2)),
    ((4, 3, 5, 7), (1, 3)),
    ((4, 1, 5, 1), (1, 3)),
    ((1, 1), (0, 1)),
    ((), ()),
    ((6, 5), ()),
]


def _layouts(n: Any) -> dict[str, Callable[[], Any]]:
    """Ways to hand the same values to lazyarr."""

    def strided() -> Any:
        wide = np.zeros((*n.shape[:-1], 2 * n.shape[-1] + 3), n.dtype)
        wide[..., 1:-2:2] = n
        return xp.asarray(wide)[..., 1:-2:2]

    def fortran() -> Any:
        back = tuple(reversed(range(n.ndim)))
        return xp.permute_dims(xp.asarray(np.ascontiguousarray(n.transpose(back))), back)

    def flipped() -> Any:
        return xp.flip(xp.asarray(np.flip(n)))

    def rows_flipped() -> Any:
        return xp.flip(xp.asarray(np.flip(n, axis=0)), axis=0)

    def shifted() -> Any:  # not on a border of 16 bytes
        flat = xp.asarray(np.concatenate([n.reshape(-1)[:1], n.reshape(-1)]))
        return xp.reshape(flat[1:], n.shape)

    def produced() -> Any:
        return xp.asarray(n * 2) * 0.5

    def fused_with_a_strided_producer() -> Any:
        return (fortran() + strided()) * 0.5

    found: dict[str, Callable[[], Any]] = {"in order": lambda: xp.asarray(n), "produced": produced}
    if n.ndim:
        found |= {"strided": strided, "flipped": flipped, "rows flipped": rows_flipped}
        found |= {"shifted": shifted}
    if n.ndim > 1:
        found |= {"fortran": fortran, "fused strided": fused_with_a_strided_producer}
    return found


@pytest.mark.parametrize(("shape", "axes"), CASES, ids=lambda v: "x".join(map(str, v)) or "0")
def test_sums_do_not_depend_on_the_layout(kernel_device: str, shape: Shape, axes: Shape) -> None:
    n = values("float32", int(np.prod(shape)), 1, special=False).reshape(shape)
    want = ordered_sum(n, axes)
    for name, make in _layouts(n).items():
        check(xp.sum(make(), axis=axes), want, name)
    exact = np.sum(n.astype(np.float64), axis=axes)
    bound = 1e-5 * np.sum(np.abs(n.astype(np.float64)), axis=axes) + 1e-30
    assert np.all(np.abs(want - exact) <= bound)


@pytest.mark.parametrize("dtype", ["float64", "complex64", "complex128"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((9000,), (0,)), ((33, 40), (0,)), ((33, 40), (1,)), ((5, 6, 7), (0, 2)), ((2, 5000), (1,))],
)
def test_sums_of_other_dtypes(kernel_device: str, dtype: str, shape: Shape, axes: Shape) -> None:
    size = int(np.prod(shape))
    n = values("float64", size, 2, special=False).astype(dtype).reshape(shape)
    if n.dtype.kind == "c":
        n.imag = values("float32", size, 3, special=False).reshape(shape)
        real, imag = ordered_sum(n.real, axes), ordered_sum(n.imag, axes)
        want = np.empty(real.shape, dtype)
        want.real, want.imag = real, imag
    else:
        want = ordered_sum(n, axes)
    for name, make in _layouts(n).items():
        check(xp.sum(make(), axis=axes), want, name)


def test_a_broadcast_input(kernel_device: str) -> None:
    row = values("float32", 300, 4, special=False)
    for axes in ((0,), (1,), (0, 1)):
        want = ordered_sum(np.broadcast_to(row, (40, 300)).copy(), axes)
        check(xp.sum(xp.broadcast_to(xp.asarray(row), (40, 300)), axis=axes), want, f"rows {axes}")
        added = xp.zeros((40, 1)) + xp.astype(xp.asarray(row), xp.float64)
        want = ordered_sum(np.broadcast_to(row.astype(np.float64), (40, 300)).copy(), axes)
        check(xp.sum(added, axis=axes), want, f"added rows {axes}")
    column = row[:40, None]
    want = ordered_sum(np.broadcast_to(column, (40, 70)).copy(), (1,))
    check(xp.sum(xp.broadcast_to(xp.asarray(column), (40, 70)), axis=1), want)
    want = ordered_sum(np.full((5, 6), np.float32(0.1)), (0,))
    check(xp.sum(xp.broadcast_to(xp.asarray(np.float32(0.1)), (5, 6)), axis=0), want)


def test_a_sum_of_an_index_function(kernel_device: str) -> None:
    x = xp.arange(5000, dtype=xp.float32)
    n = np.arange(5000, dtype=np.float32)
    check(xp.sum(x * 0.1), ordered_sum(n * np.float32(0.1), (0,)))
    grid = xp.reshape(x, (50, 100))
    for axis in (0, 1):
        want = ordered_sum(n.reshape(50, 100) * np.float32(0.1), (axis,))
        check(xp.sum(grid * 0.1, axis=axis), want)
    cube = xp.reshape(x, (10, 20, 25)) + 0
    for axes in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2)):
        check(xp.sum(cube, axis=axes), ordered_sum(n.reshape(10, 20, 25), axes), str(axes))


def test_sums_of_special_values(kernel_device: str) -> None:
    check(xp.sum(xp.asarray([-0.0, -0.0])), -0.0)
    check(xp.sum(xp.asarray([-0.0, 0.0])), 0.0)
    check(xp.sum(xp.zeros(0)), 0.0)
    check(xp.sum(xp.zeros((3, 0)), axis=1), np.zeros(3))
    check(xp.sum(xp.asarray([np.inf, -np.inf, 1.0])), np.nan)
    check(xp.sum(xp.asarray([np.inf, 1.0])), np.inf)
    tiny = np.full(1000, 5e-324)
    check(xp.sum(xp.asarray(tiny)), tiny.sum())


@settings(max_examples=max(8, settings().max_examples // 3))
@given(data=st.data())
def test_integer_and_boolean_reductions_are_exact(device: str, data: Any) -> None:
    ndim = data.draw(st.integers(1, 3))
    shape = tuple(data.draw(st.sampled_from([1, 2, 5, 33])) for _ in range(ndim))
    dtype = data.draw(st.sampled_from([d for d in DTYPES if "float" not in d]))
    n = array_of(data.draw, shape, dtype)
    axes = tuple(d for d in range(ndim) if data.draw(st.booleans()))
    keep = data.draw(st.booleans())
    x = xp.asarray(n)
    if data.draw(st.booleans()):
        x, n = xp.flip(x), np.flip(n)
    with np.errstate(all="ignore"):
        for name in ("any", "all"):
            got = getattr(xp, name)(x, axis=axes, keepdims=keep)
            check(got, getattr(np, name)(n, axis=axes, keepdims=keep), name)
        want = np.asarray(np.count_nonzero(n, axis=axes, keepdims=keep), np.int64)
        check(xp.count_nonzero(x, axis=axes, keepdims=keep), want)
        if dtype == "bool":
            return
        for name in ("sum", "prod", "min", "max"):
            got = getattr(xp, name)(x, axis=axes, keepdims=keep)
            check(got, getattr(np, name)(n, axis=axes, keepdims=keep), name)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "uint64"])
@pytest.mark.parametrize("shape", [(1,), (40,), (1500,), (9000,), (3, 700), (700, 3), (20, 30)])
def test_argmax_and_argmin_take_the_first(device: str, dtype: str, shape: Shape) -> None:
    n = (values("float64", int(np.prod(shape)), 5, special=False) % 5).astype(dtype).reshape(shape)
    x = xp.asarray(n)
    for axis in (None, *range(-1, len(shape))):
        check(xp.argmax(x, axis=axis), np.argmax(n, axis=axis))
        check(xp.argmin(x, axis=axis), np.argmin(n, axis=axis))
    check(xp.argmax(xp.flip(x)), np.argmax(np.flip(n)))
    got = xp.argmax(x, axis=0, keepdims=True)
    check(got, np.argmax(n, axis=0, keepdims=True))
    equal = xp.asarray(np.full(shape, 3, dtype))
    check(xp.argmax(equal), np.int64(0))
    check(xp.argmin(equal * 1), np.int64(0))


@pytest.mark.parametrize("size", [5, 100, 1500, 9000])
def test_argmax_and_argmin_take_the_first_nan(device: str, size: int) -> None:
    n = values("float32", size, 6, special=False)
    for places in ([size // 2], [size - 1], [size // 3, size // 2], [0, size - 1]):
        m = n.copy()
        m[places] = np.nan
        check(xp.argmax(xp.asarray(m)), np.int64(places[0]))
        check(xp.argmin(xp.asarray(m)), np.int64(places[0]))
        check(xp.max(xp.asarray(m)), np.float32(np.nan))
    worst = np.full(size, -np.inf, np.float32)
    check(xp.argmax(xp.asarray(worst)), np.int64(0))
    check(xp.argmin(xp.asarray(-worst)), np.int64(0))
    check(xp.max(xp.asarray(worst)), np.float32(-np.inf))


def test_the_zero_that_is_largest(device: str) -> None:
    check(xp.max(xp.asarray([-0.0, 0.0, -0.0])), 0.0)
    check(xp.min(xp.asarray([0.0, -0.0, 0.0])), -0.0)
    check(xp.max(xp.asarray([-0.0, -0.0])), -0.0)
    check(xp.max(xp.asarray([[0.0, -0.0], [-0.0, -1.0]]), axis=1), [0.0, -0.0])


def test_nothing_to_compare(device: str) -> None:
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError):
            getattr(xp, name)(xp.zeros((0, 3)), axis=0)
    check(xp.max(xp.zeros((0, 3)), axis=1), np.zeros(0))
    check(xp.prod(xp.zeros(0)), 1.0)
    check(xp.all(xp.zeros((2, 0)), axis=1), [True, True])
    check(xp.mean(xp.zeros(0)), np.nan)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_var_std_and_mean_are_near_numpys(device: str, axis: int | None) -> None:
    n = values("float64", 60 * 70, 7, special=False).reshape(60, 70)
    x = xp.asarray(n)
    for name in ("mean", "var", "std"):
        got = np.asarray(getattr(xp, name)(x, axis=axis))
        np.testing.assert_allclose(got, getattr(np, name)(n, axis=axis), rtol=1e-12, atol=1e-12)
    got = np.asarray(xp.var(x, axis=axis, correction=1, keepdims=True))
    np.testing.assert_allclose(got, np.var(n, axis=axis, ddof=1, keepdims=True), rtol=1e-12)


def test_several_reductions_of_one_producer_equal_each_alone(kernel_device: str) -> None:
    n = values("float32", 40 * 700, 8, special=False).reshape(40, 700)
    for axis in (0, 1, None):
        a = xp.asarray(n)
        d = a * 2 + 1
        together = [xp.sum(d, axis=axis), xp.max(d, axis=axis), xp.mean(d * d, axis=axis)]
        xp.evaluate(*together)
        alone = [xp.sum(a * 2 + 1, axis=axis), xp.max(a * 2 + 1, axis=axis)]
        square = (a * 2 + 1) * (a * 2 + 1)
        for x, y in zip(together, [*alone, xp.mean(square, axis=axis)], strict=True):
            xp.evaluate(y)
            check(x, np.asarray(y))
