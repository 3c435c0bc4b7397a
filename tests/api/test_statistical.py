"""Statistical, searching and utility functions against NumPy, on every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyarr as xp

AXES: list[Any] = [None, 0, 1, -1, (0, 2), (2, 0), (1,), (), (0, 1, 2)]


def data(dtype: Any, shape: tuple[int, ...] = (3, 4, 5)) -> Any:
    rng = np.random.default_rng(5)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0, 9, shape).astype(dtype)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.kind == "c" else x).astype(dtype)


def check(got: Any, want: Any, rtol: float = 0.0) -> None:
    want = np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(np.asarray(got), want, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
def test_reductions_over_axes(device: str, axis: Any, keepdims: bool) -> None:
    source = data(xp.float64)
    x = xp.asarray(source)
    options = {"axis": axis, "keepdims": keepdims}
    for name in ("sum", "prod", "mean", "var", "std"):
        check(getattr(xp, name)(x, **options), getattr(np, name)(source, **options), 1e-12)
    for name in ("max", "min"):
        check(getattr(xp, name)(x, **options), getattr(np, name)(source, **options))
    mask = data(xp.bool)
    for name in ("all", "any"):
        check(getattr(xp, name)(xp.asarray(mask), **options), getattr(np, name)(mask, **options))
    counts = np.count_nonzero(mask, axis=axis, keepdims=keepdims) if axis != () else mask * 1
    check(xp.count_nonzero(xp.asarray(mask), **options), np.asarray(counts, np.int64))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_arg_reductions(device: str, axis: Any, keepdims: bool) -> None:
    source = data(xp.int32)
    x = xp.asarray(source)
    for name in ("argmax", "argmin"):
        want = getattr(np, name)(source, axis=axis, keepdims=keepdims)
        check(getattr(xp, name)(x, axis=axis, keepdims=keepdims), want)
    nan = xp.asarray([1.0, np.nan, 3.0, np.nan])
    assert int(xp.argmax(nan)) == int(xp.argmin(nan)) == 1
    assert int(xp.argmax(xp.asarray(5))) == 0


@pytest.mark.parametrize(
    ("dtype", "want"),
    [
        (xp.int8, xp.int64),
        (xp.int64, xp.int64),
        (xp.uint16, xp.uint64),
        (xp.float32, xp.float32),
        (xp.complex64, xp.complex64),
    ],
    ids=str,
)
def test_dtypes_of_sums(device: str, dtype: Any, want: Any) -> None:
    source = data(dtype, (2, 3))
    x = xp.asarray(source)
    check(xp.sum(x), np.sum(source.astype(want)), 1e-6)
    check(xp.prod(x, axis=()), source.astype(want))
    if dtype.kind in "iu":
        check(xp.sum(x, dtype=dtype), np.sum(source, dtype=dtype))
        check(xp.sum(x, axis=0, dtype=xp.float32), np.sum(source, axis=0, dtype=np.float32))


def test_views_are_reduced_in_place(kernel_device: str) -> None:
    source = data(xp.float64)
    x = xp.asarray(source)
    for view, want in ((x.mT, source.swapaxes(1, 2)), (x[::2, 1:, ::-1], source[::2, 1:, ::-1])):
        xp.stats(reset=True)
        check(xp.max(view, axis=1), want.max(axis=1))
        assert xp.stats().launches == 1


def test_of_nothing(device: str) -> None:
    x = xp.zeros((0, 3))
    check(xp.sum(x, axis=0), np.zeros(3))
    check(xp.prod(x), np.float64(1))
    check(xp.any(x, axis=0, keepdims=True), np.zeros((1, 3), bool))
    check(xp.all(x), np.True_)
    check(xp.count_nonzero(x), np.int64(0))
    check(xp.mean(x, axis=0), np.full(3, np.nan))
    check(xp.var(x, axis=0), np.full(3, np.nan))
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError, match="no elements"):
            getattr(xp, name)(x, axis=0)
        assert getattr(xp, name)(x, axis=1).shape == (0,)
    check(xp.sum(xp.zeros((0, 3), dtype=xp.complex64)), np.complex64(0))


def test_reduction_errors(device: str) -> None:
    x = xp.ones((2, 3))
    with pytest.raises(IndexError):
        xp.sum(x, axis=2)
    with pytest.raises(ValueError, match="repeated"):
        xp.sum(x, axis=(0, -2))
    with pytest.raises(TypeError, match=r"axis .* 1\.5"):
        xp.sum(x, axis=1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="axis"):
        xp.argmax(x, axis=(0, 1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="mean"):
        xp.mean(xp.ones(3, dtype=xp.int32))
    with pytest.raises(TypeError, match="var"):
        xp.var(xp.ones(3, dtype=xp.complex64))
    with pytest.raises(TypeError, match="bool"):
        xp.sum(xp.ones(3, dtype=xp.bool))
    with pytest.raises(TypeError, match="argmax"):
        xp.argmax(xp.ones(3, dtype=xp.complex64))
    with pytest.raises(TypeError, match="asarray"):
        xp.sum(np.ones(3))  # type: ignore[arg-type]


@pytest.mark.parametrize("correction", [0, 1, 0.5, 4, 9])
def test_corrections(device: str, correction: float) -> None:
    source = data(xp.float32, (4, 6))
    x = xp.asarray(source)
    freedom = 4 - correction if correction < 4 else np.nan  # the standard's special case
    with np.errstate(all="ignore"):
        want = np.sum((source - source.mean(axis=0)) ** 2, axis=0) / np.float32(freedom)
    check(xp.var(x, axis=0, correction=correction), want, 1e-5)
    check(xp.std(x, axis=0, correction=correction), np.sqrt(want), 1e-5)


def test_a_reduction_fuses_its_producer(kernel_device: str) -> None:
    x = xp.asarray(data(xp.float64))
    xp.evaluate(x + 0)
    xp.stats(reset=True)
    xp.evaluate(xp.sum(xp.square(x - 1.0), axis=2))
    assert xp.stats().launches == 1
    y = xp.var(x)
    xp.stats(reset=True)
    float(y)
    counts = xp.stats()
    assert (counts.launches, counts.h2d, counts.bytes_d2h) == (1, 0, 8)


def test_where(device: str) -> None:
    source = data(xp.float32, (2, 3))
    x = xp.asarray(source)
    check(xp.where(x > 0, x, 0.0), np.where(source > 0, source, np.float32(0)))
    check(xp.where(x > 0, 1.0, x), np.where(source > 0, np.float32(1), source))
    condition = xp.asarray([True, False, True])
    y = xp.ones((2, 1), dtype=xp.float64)
    check(xp.where(condition, x, y), np.where([True, False, True], source, np.ones((2, 1))))
    with pytest.raises(TypeError, match="bool"):
        xp.where(x, x, x)
    with pytest.raises(TypeError, match="array"):
        xp.where(condition, 1, 2)
    with pytest.raises(ValueError, match="broadcast"):
        xp.where(condition, xp.ones(2), 0.0)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_diff(device: str, axis: int, n: int) -> None:
    source = data(xp.int32, (4, 5))
    check(xp.diff(xp.asarray(source), axis=axis, n=n), np.diff(source, axis=axis, n=n))


def test_diff_with_ends(device: str) -> None:
    source = data(xp.float64, (2, 3))
    x = xp.asarray(source)
    head, tail = np.zeros((2, 1)), np.ones((2, 2))
    got = xp.diff(x, prepend=xp.asarray(head), append=xp.asarray(tail))
    check(got, np.diff(source, prepend=head, append=tail))
    with pytest.raises(ValueError, match="negative"):
        xp.diff(x, n=-1)
    with pytest.raises(IndexError):
        xp.diff(xp.ones(()))
