"""Arrays beyond 2^31 elements and 2^32 bytes.

On a GPU with 40 GB free: `--device cuda --slow`; arrays are made on the device and checked by
reductions and single elements. Without one: what the generated source may hold, and reductions
over more elements than memory has, which reading one element many times allows.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr.codegen.key import BoxKey, KernelKey, MapKey, ReduceKey
from lazyarr.codegen.launch import source_of
from lazyarr.graph import evaluate, geometry
from lazyarr.runtime.select import default_device
from tests.codegen.programs import PROGRAMS

N = 2**31 + 2**20 + 3  # elements: of int8 as many bytes
PERIOD = 127

# Without a GPU.


def _wide(key: KernelKey) -> KernelKey | None:
    if isinstance(key, (MapKey, ReduceKey)):
        return key._replace(wide=True)
    if isinstance(key, BoxKey):
        inside, outside = key.inside._replace(wide=True), key.outside._replace(wide=True)
        return key._replace(inside=inside, outside=outside)
    return None


# 32-bit integers that count lanes, vectors, chunks or tickets: none grows with an array.
_SMALL = re.compile(
    r"for \(int u = |const int (lane|group|y) = |unsigned int\* tickets|const unsigned int all = "
    r"|\(unsigned int\)\((blocks|gridDim\.y)\)"
)


def test_no_32_bit_index_in_a_wide_kernel() -> None:
    seen = set()
    with xp.default_device("sim"):
        state = evaluate.runtime(default_device())
        before, state.kernels = state.kernels, {}
        state.plans.clear()
        try:
            for program in PROGRAMS.values():
                with np.errstate(all="ignore"):
                    xp.evaluate(*[x for x, _ in program()])
            keys = list(state.kernels)
        finally:
            state.kernels = {**before, **state.kernels}
            state.plans.clear()
    for key in keys:
        wider = _wide(key)
        if wider is None:
            continue
        seen.add(type(key))
        source = source_of(wider)
        assert "typedef long long I;" in source
        body = source[source.index('extern "C" __global__') :]
        for line in body.splitlines():
            rest = _SMALL.sub("", line)
            if "blockIdx" in rest or " const I " in f" {rest}" or " const U " in f" {rest}":
                assert not re.search(r"\bint\b", rest), line
    assert seen == {MapKey, BoxKey, ReduceKey}


@pytest.mark.parametrize(
    ("shape", "strides", "wide"),
    [
        ((2**31 - 2**17 - 1,), (1,), False),
        ((2**31 - 2**17,), (1,), True),
        ((2**31 - 2**17,), (0,), True),  # as many indices, whatever they read
        ((2, 2), (2**31, 1), True),  # few elements, far apart
        ((2, 2), (-(2**31), 1), True),
        ((3, 5), (2**30, -(2**29)), True),
        ((3, 5), (2**29, 1), False),
    ],
)
def test_the_index_width_follows_count_and_extent(shape: Any, strides: Any, wide: bool) -> None:
    assert geometry.needs_wide(int(np.prod(shape)), shape, [strides]) == wide
    one = [geometry.Access(strides, 1, 0)]
    if len(shape) == 2:
        assert geometry.plan_map(shape, one).wide == wide
    assert geometry.plan_reduce(shape, (len(shape) - 1,), one, 4).wide == wide


def test_the_last_chunk_below_the_limit_of_32_bits(kernel_device: str) -> None:
    # The end of the last chunk lies beyond 2^31, that of the elements before it.
    n = 2**31 - 2**18 + 78_496
    assert n < geometry.NARROW_LIMIT
    one = xp.broadcast_to(xp.asarray([1], dtype=xp.int8), (n,))
    assert int(xp.sum(one)) == n


@pytest.mark.slow
def test_more_elements_than_32_bits_count(kernel_device: str) -> None:
    i = xp.arange(N)
    found = xp.argmax(xp.astype(i == N - 2, xp.int8)), xp.count_nonzero(i % 2**20 == 5), xp.max(i)
    xp.evaluate(*found)
    assert [int(x) for x in found] == [N - 2, 2**11 + 1, N - 1]


# On a GPU.


@pytest.fixture
def gpu() -> Iterator[None]:
    with xp.default_device("cuda"):
        yield
    gc.collect()


large = [pytest.mark.cuda, pytest.mark.slow, pytest.mark.usefixtures("gpu")]


def marked(function: Any) -> Any:
    """Mark a test that needs a GPU and much of its memory."""
    for mark in large:
        function = mark(function)
    return function


def counted(n: int) -> Any:
    """Return int8 values ``i % 127`` in the device's memory."""
    x = xp.astype(xp.arange(n) % PERIOD, xp.int8)
    xp.evaluate(x)
    return x


def sum_of(n: int) -> int:
    """Return the sum of the first n values of ``i % 127``."""
    whole, rest = divmod(n, PERIOD)
    return whole * (PERIOD * (PERIOD - 1) // 2) + rest * (rest - 1) // 2


def elements(x: Any, places: list[int]) -> list[int]:
    return [int(x[i]) for i in places]


PLACES = [0, 2**31 - 1, 2**31, 2**31 + 1, N - 1]
WANT = [i % PERIOD for i in PLACES]


@marked
def test_elementwise() -> None:
    x = counted(N)
    assert elements(x, PLACES) == WANT
    assert int(xp.sum(x)) == sum_of(N)
    y = x * 1 + xp.astype(x > 100, xp.int8)
    xp.evaluate(y)
    assert elements(y, PLACES) == [v + (v > 100) for v in WANT]
    x += 1
    assert int(xp.sum(x)) == sum_of(N) + N
    assert bool(xp.all(xp.where(y > 1, x >= 1, x < 3)))


@marked
def test_bytes_beyond_32_bits() -> None:
    n = 2**29 + 8
    x = xp.arange(n, dtype=xp.float64)
    xp.evaluate(x)
    assert (float(x[n - 1]), float(xp.max(x)), int(xp.argmax(x))) == (n - 1, n - 1, n - 1)
    assert float(xp.sum(xp.flip(x) + x)) == float(n) * (n - 1)
    z = xp.ones(2**28 + 1, dtype=xp.complex64)
    xp.evaluate(z)
    assert float(xp.sum(xp.real(z) + xp.imag(z), dtype=xp.float64)) == 2**28 + 1


@marked
def test_reductions() -> None:
    for rows, columns in ((3, 2**30 + 1), (2**30 + 1, 3), (46341, 46342)):
        x = xp.ones((rows, columns), dtype=xp.int8)
        xp.evaluate(x)
        assert int(xp.sum(x)) == rows * columns
        down, across = xp.sum(x, axis=0), xp.sum(x, axis=1)
        assert (int(xp.min(down)), int(xp.max(down))) == (rows, rows)
        assert (int(xp.min(across)), int(xp.max(across))) == (columns, columns)
        del x, down, across
    for n in (2**31 - 2**18 + 1, geometry.NARROW_LIMIT - 1, geometry.NARROW_LIMIT, N):
        assert int(xp.sum(xp.ones(n, dtype=xp.int8))) == n
        x = xp.zeros(n, dtype=xp.int8)
        xp.evaluate(x)
        x[n - 1] = 1
        assert (int(xp.argmax(x)), int(xp.sum(x)), int(xp.count_nonzero(x))) == (n - 1, 1, 1)
        assert bool(xp.any(x)) and not bool(xp.all(x))
        x[n - 2] = -1
        assert int(xp.argmin(x)) == n - 2
        del x


@marked
def test_cumulative_sum() -> None:
    x = xp.astype(xp.arange(N) % 2, xp.int8)
    c = xp.cumulative_sum(x, dtype=xp.int32)
    xp.evaluate(c)
    assert elements(c, [*PLACES[:-1], N - 1]) == [(i + 1) // 2 for i in PLACES]


@marked
def test_joining_and_moving() -> None:
    x = counted(N)
    joined = xp.concat([x, x[:7], x[N - 2 :]])
    assert joined.shape == (N + 9,)
    assert elements(joined, [*PLACES, N, N + 6, N + 8]) == [*WANT, 0, 6, (N - 1) % PERIOD]
    assert int(xp.sum(joined)) == sum_of(N) + 21 + sum(v % PERIOD for v in (N - 2, N - 1))
    del joined
    back = xp.flip(x) * 1
    xp.evaluate(back)
    assert elements(back, [N - 1 - i for i in PLACES]) == WANT
    del back
    rolled = xp.roll(x, 3)
    assert elements(rolled, [0, 2, 3, N - 1]) == [v % PERIOD for v in (N - 3, N - 1, 0, N - 4)]
    del rolled
    twice = xp.repeat(x[: 2**30 + 5], 2)
    assert elements(twice, [2**31 + 1, 2**31 + 2]) == [2**30 % PERIOD, (2**30 + 1) % PERIOD]


@marked
def test_picking() -> None:
    x = counted(N)
    places = xp.asarray([*PLACES, -1, -N])
    picked = xp.take(x, places)
    assert elements(picked, list(range(7))) == [*WANT, WANT[-1], 0]
    with pytest.raises(IndexError, match=str(N)):
        xp.evaluate(xp.take(x, places + N))
    two = xp.reshape(x[: 2 * (2**30 + 9)], (2, 2**30 + 9))
    along = xp.take_along_axis(two, xp.asarray([[0, -1], [2**30 + 8, 1]]), axis=1)
    want = [0, (2**30 + 8) % PERIOD, (2**31 + 17) % PERIOD, (2**30 + 10) % PERIOD]
    assert elements(xp.reshape(along, (4,)), [0, 1, 2, 3]) == want
    x[xp.asarray([2**31, N - 1]) + 0] = -5
    assert elements(x, [2**31 - 1, 2**31, N - 1]) == [WANT[1], -5, -5]
    x[x < 0] = -7
    assert elements(x, [2**31 - 1, 2**31, N - 1]) == [WANT[1], -7, -7]


@marked
def test_nonzero() -> None:
    x = xp.zeros(N, dtype=xp.int8)
    xp.evaluate(x)
    for place in PLACES:
        x[place] = 1
    (found,) = xp.nonzero(x)
    assert elements(found, list(range(len(PLACES)))) == PLACES
    assert found.shape == (len(PLACES),)
    rows, columns = xp.nonzero(xp.reshape(x[: 2 * (N // 2)], (2, N // 2)))
    assert elements(rows * (N // 2) + columns, [0, 1, 2, 3]) == PLACES[:4]


@marked
def test_strided_views() -> None:
    x = counted(N)
    odd = x[1::2]
    assert int(xp.sum(odd)) + int(xp.sum(x[::2])) == sum_of(N)
    copied = x[::-3] * 1
    xp.evaluate(copied)
    assert elements(copied, [0, 1, (N - 1) // 3]) == [
        v % PERIOD for v in (N - 1, N - 4, (N - 1) % 3)
    ]
    far = x[:: 2**30]
    assert elements(far + 0, [0, 1, 2]) == [v % PERIOD for v in (0, 2**30, 2**31)]
    x[2**31 - 2 : 2**31 + 2] = xp.asarray([-1, -2, -3, -4], dtype=xp.int8)
    assert elements(x, [2**31 - 3, 2**31 - 2, 2**31 + 1, 2**31 + 2]) == [
        (2**31 - 3) % PERIOD,
        -1,
        -4,
        (2**31 + 2) % PERIOD,
    ]
    keep = x + 0  # a reader: the write makes a new buffer
    x[N - 4 :: 2] = 99
    assert elements(x, [N - 5, N - 4, N - 3, N - 2]) == [
        (N - 5) % PERIOD,
        99,
        (N - 3) % PERIOD,
        99,
    ]
    assert int(keep[N - 4]) == (N - 4) % PERIOD


@marked
def test_matrices() -> None:
    n = 46342  # n * n > 2^31
    unit = xp.eye(n, dtype=xp.int8)
    xp.evaluate(unit)
    assert (int(xp.sum(unit)), int(unit[n - 1, n - 1]), int(unit[n - 1, n - 2])) == (n, 1, 0)
    del unit
    lower = xp.tril(xp.ones((n, n), dtype=xp.int8), k=-1)
    assert int(xp.sum(lower)) == n * (n - 1) // 2
    del lower
    x = xp.reshape(counted(n * (n - 1)), (n, n - 1))
    turned = xp.asarray(x.T, copy=True)
    xp.evaluate(turned)
    for i, j in ((0, n - 1), (n - 2, n - 1), (n - 2, 0), (31, 46336)):
        assert int(turned[i, j]) == (j * (n - 1) + i) % PERIOD
    assert int(xp.sum(turned)) == sum_of(n * (n - 1))
    wide = x + x[:1, :]
    xp.evaluate(wide)
    last = (n * (n - 1) - 1) % PERIOD + (n - 2) % PERIOD
    assert int(wide[n - 1, n - 2]) == int(np.asarray(last).astype(np.int8))
