"""``unique_*``, ``isin`` and ``searchsorted``, against plain Python and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazyarr as xp
from tests.property.support import DTYPES, check, special_values, values

ALL_DTYPES = (*DTYPES, "complex64", "complex128")


def elements(dtype: str, size: int, seed: int) -> Any:
    """Few distinct elements, the special ones among them; NaN in either part of complex ones."""
    rng = np.random.default_rng(seed)
    if not dtype.startswith("complex"):
        return rng.choice(np.asarray(special_values(dtype), dtype), size)
    parts = np.asarray([0.0, -0.0, 1.0, -2.0, np.nan, np.inf])
    result = rng.choice(parts, size).astype(dtype)
    result.imag = rng.choice(parts, size)
    return result


def check_unique(n: Any, x: Any = None) -> None:
    """Check the four functions against a dictionary of the elements."""
    x = xp.asarray(n) if x is None else x
    flat = n.reshape(-1)
    firsts: dict[Any, int] = {}
    counts: dict[int, int] = {}
    which = []
    for i, e in enumerate(flat.tolist()):
        first = firsts.setdefault(e, i) if e == e else i
        counts[first] = counts.get(first, 0) + 1
        which.append(first)
    found = xp.unique_all(x)
    indices = np.asarray(found.indices)
    assert sorted(indices.tolist()) == sorted(counts)
    check(found.values, flat[indices])
    check(found.counts, np.asarray([counts[i] for i in indices.tolist()], np.int64))
    place = {first: k for k, first in enumerate(indices.tolist())}
    inverse = np.asarray([place[first] for first in which], np.int64).reshape(n.shape)
    check(found.inverse_indices, inverse)
    if n.dtype.kind != "c":
        check(found.values, np.sort(flat[indices], kind="stable"))
    again = xp.unique_counts(x)
    check(again.values, flat[indices])
    check(again.counts, np.asarray(found.counts))
    check(xp.unique_values(x), flat[indices])
    other = xp.unique_inverse(x)
    check(other.values, flat[indices])
    check(other.inverse_indices, inverse)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("size", [1, 40, 5000])
def test_unique(device: str, dtype: str, size: int) -> None:
    check_unique(elements(dtype, size, seed=size))


def test_unique_of_distinct_and_of_equal_elements(device: str) -> None:
    for n in (np.random.default_rng(1).permutation(9000), np.full(9000, 7), np.arange(4097)):
        check_unique(n)


@given(data=st.data())
def test_unique_of_any_shape(device: str, data: Any) -> None:
    dtype = data.draw(st.sampled_from(ALL_DTYPES))
    shape = data.draw(st.sampled_from([(), (1,), (0,), (3, 0), (2, 3), (4, 5, 2), (33,)]))
    n = elements(dtype, int(np.prod(shape)), data.draw(st.integers(0, 99))).reshape(shape)
    check_unique(n)
    if n.ndim:
        check_unique(
            n[::-1].T, xp.permute_dims(xp.flip(xp.asarray(n), axis=0), range(n.ndim)[::-1])
        )


@pytest.mark.parametrize(
    ("name", "size", "launches"),
    [
        ("unique_values", 1000, 3),  # sort; flag; write
        ("unique_counts", 1000, 5),  # and the starts of runs, and their differences
        ("unique_inverse", 1000, 5),  # argsort, gather; flag; values, inverse
        ("unique_all", 1000, 7),  # and starts; indices and counts share a kernel
        ("unique_values", 9000, 8),  # the sort takes six
        ("unique_all", 9000, 12),
    ],
)
def test_launches_and_copies_of_unique(
    kernel_device: str, name: str, size: int, launches: int
) -> None:
    x = xp.asarray(values("float32", size, seed=1))
    xp.evaluate(x + x)
    with xp.transfer_guard("error"):
        xp.stats(reset=True)
        found = getattr(xp, name)(x)
        xp.evaluate(*(found if isinstance(found, tuple) else (found,)))
        counts = xp.stats()
    assert (counts.launches, counts.library_calls) == (launches, 0)
    assert (counts.h2d, counts.d2h, counts.control) == (0, 0, 1)


def test_unique_takes_arrays_only(device: str) -> None:
    for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
        with pytest.raises(TypeError, match="needs a lazyarr array"):
            getattr(xp, name)(np.ones(3))


# isin


@given(data=st.data())
def test_isin(device: str, data: Any) -> None:
    dtype = data.draw(st.sampled_from(ALL_DTYPES))
    shape = data.draw(st.sampled_from([(), (1,), (0,), (2, 3), (50,), (3, 4, 5)]))
    seed = data.draw(st.integers(0, 99))
    a = elements(dtype, int(np.prod(shape)), seed).reshape(shape)
    b = elements(dtype, data.draw(st.sampled_from([0, 1, 3, 40])), seed + 1)
    b = b.reshape(data.draw(st.sampled_from([(-1,), (1, -1)]))) if b.size else b
    invert = data.draw(st.booleans())
    want = np.asarray([any(e == f for f in b.reshape(-1).tolist()) for e in a.reshape(-1).tolist()])
    want = want.astype(bool).reshape(shape) != invert
    check(xp.isin(xp.asarray(a), xp.asarray(b), invert=invert), want)


def test_isin_of_many(device: str) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 20_000, (50, 70)), rng.integers(0, 20_000, 6000)
    x, y = xp.asarray(a), xp.asarray(b)
    check(xp.isin(x, y), np.isin(a, b))
    check(xp.isin(x.T, y[::2], invert=True), np.isin(a.T, b[::2], invert=True))


def test_isin_promotes_and_takes_scalars(device: str) -> None:
    x = xp.asarray([1, 2, 3], dtype=xp.int8)
    check(xp.isin(x, xp.asarray([2, 300], dtype=xp.int32)), np.asarray([False, True, False]))
    check(xp.isin(x, 2), np.asarray([False, True, False]))
    check(xp.isin(x, 2, invert=True), np.asarray([True, False, True]))
    check(xp.isin(3, x), np.asarray(True))
    check(xp.isin(4, x), np.asarray(False))
    check(xp.isin(4, x, invert=True), np.asarray(True))
    check(xp.isin(xp.asarray(3, dtype=xp.int8), x), np.asarray(True))
    check(xp.isin(x, xp.asarray(3, dtype=xp.int8)), np.asarray([False, False, True]))
    check(xp.isin(x, np.asarray([1], np.int8)), np.asarray([True, False, False]))
    check(xp.isin(xp.nan, xp.asarray([1.0, xp.nan])), np.asarray(False))
    check(xp.isin(1, xp.asarray([], dtype=xp.int8)), np.asarray(False))
    with pytest.raises(TypeError, match="at least one lazyarr array"):
        xp.isin(1, 2)
    with pytest.raises(TypeError):
        xp.isin(x, xp.asarray([1.0]))
    with pytest.raises(TypeError):
        xp.isin(x, 1.5)
    with pytest.raises(OverflowError):
        xp.isin(x, 1000)
    with pytest.raises(TypeError):
        xp.isin(x, [1, 2])
    other = "cpu" if device != "cpu" else "sim"
    with pytest.raises(ValueError, match="different devices"):
        xp.isin(x, xp.asarray([1], dtype=xp.int8, device=other))


# searchsorted


@given(data=st.data())
def test_searchsorted(device: str, data: Any) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    seed = data.draw(st.integers(0, 99))
    n = elements(dtype, data.draw(st.sampled_from([0, 1, 2, 30, 300])), seed)
    shape = data.draw(st.sampled_from([(), (1,), (0,), (20,), (4, 5)]))
    q = elements(dtype, int(np.prod(shape)), seed + 1).reshape(shape)
    side: Any = data.draw(st.sampled_from(["left", "right"]))
    ordered = np.sort(n)
    want = np.asarray(np.searchsorted(ordered, q, side=side), np.int64)
    x = xp.asarray(n)
    check(xp.searchsorted(xp.sort(x), xp.asarray(q), side=side), want)
    check(xp.searchsorted(x, xp.asarray(q), side=side, sorter=xp.argsort(x)), want)
    if q.ndim:
        turned = xp.permute_dims(xp.asarray(q), range(q.ndim)[::-1])
        check(xp.searchsorted(xp.asarray(ordered), turned, side=side), want.T)


def test_searchsorted_of_mixed_dtypes_and_scalars(device: str) -> None:
    edges = xp.asarray([0.0, 1.0, 1.0, 2.0], dtype=xp.float32)
    for x2, left, right in ((1, 1, 3), (1.5, 3, 3), (np.float64(1.0), 1, 3), (xp.nan, 4, 4)):
        check(xp.searchsorted(edges, x2), np.asarray(left))
        check(xp.searchsorted(edges, x2, side="right"), np.asarray(right))
    close = xp.asarray([1 - 1e-12, 1 + 1e-12])  # float32 would make both 1
    check(xp.searchsorted(edges, close), np.asarray([1, 3]))
    ints = xp.asarray([1, 5], dtype=xp.int8)
    check(xp.searchsorted(ints, xp.asarray([300, -300], dtype=xp.int16)), np.asarray([2, 0]))
    check(xp.searchsorted(ints, 5), np.asarray(1))
    with pytest.raises(TypeError):
        xp.searchsorted(ints, 1.5)
    with pytest.raises(OverflowError):
        xp.searchsorted(ints, 1000)
    with pytest.raises(TypeError):
        xp.searchsorted(ints, xp.asarray([1.5]))


def test_searchsorted_checks_its_arguments(device: str) -> None:
    x = xp.asarray([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="one axis"):
        xp.searchsorted(xp.asarray([[1.0]]), x)
    with pytest.raises(ValueError, match="'left' or 'right'"):
        xp.searchsorted(x, x, side="middle")
    with pytest.raises(TypeError, match="no order"):
        xp.searchsorted(x, xp.asarray([1j]))
    with pytest.raises(TypeError, match="integers"):
        xp.searchsorted(x, x, sorter=x)
    with pytest.raises(ValueError, match="shape"):
        xp.searchsorted(x, x, sorter=xp.asarray([0, 1]))
    with pytest.raises(IndexError, match="out of bounds"):
        np.asarray(xp.searchsorted(x, x, sorter=xp.asarray([0, 1, 3])))
    with pytest.raises(TypeError, match="needs a lazyarr array"):
        xp.searchsorted(np.ones(3), x)
    with pytest.raises(TypeError):
        xp.searchsorted(x, [1.0])


def test_launches_and_copies_of_searches(kernel_device: str) -> None:
    x, y = xp.asarray(values("float32", 1000, seed=1)), xp.asarray(values("float32", 70, seed=2))
    z = xp.asarray(values("float64", 70, seed=2))
    ordered, order = xp.sort(x), xp.argsort(x)
    xp.evaluate(x + 0, y + 0, z + 0, ordered, order)
    with xp.transfer_guard("error"):
        for result, launches, control in (
            (lambda: xp.searchsorted(ordered, y), 1, 0),
            (lambda: xp.searchsorted(ordered, z), 2, 0),  # one converts
            (lambda: xp.searchsorted(x, y, sorter=order), 2, 0),  # a gather comes first
            (lambda: xp.isin(y, x), 2, 0),
            (lambda: xp.isin(x, 3.0, invert=True), 1, 0),
            (lambda: xp.isin(3.0, x), 1, 0),
        ):
            xp.stats(reset=True)
            found = result()
            assert xp.stats().launches == 0
            xp.evaluate(found)
            counts = xp.stats()
            assert (counts.launches, counts.control) == (launches, control)
            assert (counts.h2d, counts.d2h, counts.library_calls) == (0, 0, 0)
