"""How many kernels a graph becomes, and where it is cut. Drawings: ``#`` is a kernel's result."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from tests.property.support import eager
from tests.traps.common import eq

N = 64


@pytest.fixture
def launches(kernel_device: str) -> Iterator[Callable[[], int]]:
    """Count launches since the last call."""
    xp.stats(reset=True)
    yield lambda: xp.stats(reset=True).launches


def leaf(*shape: int, seed: int = 0, dtype: Any = np.float64) -> xp.Array:
    return xp.asarray(np.random.default_rng(seed).random(shape or (N,)).astype(dtype))


def test_a_chain_is_one_kernel(launches: Any) -> None:
    #   a   b
    #    \ /
    #     *--- + c --- sqrt --- #
    a, b, c = leaf(seed=1), leaf(seed=2), leaf(seed=3)
    d = xp.sqrt(a * b + c)
    assert launches() == 0
    xp.evaluate(d)
    assert launches() == 1
    eq(d, np.sqrt(np.asarray(a) * np.asarray(b) + np.asarray(c)))


def test_a_held_value_in_the_middle_costs_no_kernel(launches: Any) -> None:
    #   a --- t (held) --- #
    a = leaf()
    t = a + 1
    d = t * 2
    xp.evaluate(d)
    assert launches() == 1
    # computed a second time inside another kernel, and stored then
    e = t * 3
    xp.evaluate(e)
    assert launches() == 1
    # from memory, never a third time
    xp.evaluate(t * 4)
    assert launches() == 1
    xp.evaluate(t)
    assert launches() == 0
    eq(t, np.asarray(a) + 1)


def test_a_diamond_is_one_kernel(launches: Any) -> None:
    #        t
    #       / \
    #      u   v
    #       \ /
    #        #
    a = leaf()
    t = a + 1
    u, v = t * 2, t * 3
    w = u + v
    xp.evaluate(w)
    assert launches() == 1
    n = np.asarray(a) + 1
    eq(w, n * 2 + n * 3)


def test_siblings_share_a_kernel(launches: Any) -> None:
    #   a --- #     b --- #     c --- #     one kernel, three outputs
    a, b, c = leaf(seed=1), leaf(seed=2), leaf(seed=3)
    results = [a + 1, b * 2, c - 3]
    xp.evaluate(*results)
    assert launches() == 1
    wants = [np.asarray(a) + 1, np.asarray(b) * 2, np.asarray(c) - 3]
    for x, want in zip(results, wants, strict=True):
        eq(x, want)


def test_siblings_of_different_shapes_do_not(launches: Any) -> None:
    #   a (64) --- #      b (65) --- #
    a, b = leaf(64), leaf(65)
    xp.evaluate(a + 1, b + 1)
    assert launches() == 2


def test_a_result_and_its_consumer_share_a_kernel(launches: Any) -> None:
    #   a --- # --- #
    a = leaf()
    t = a + 1
    u = t * 2
    xp.evaluate(t, u)
    assert launches() == 1
    eq(u, (np.asarray(a) + 1) * 2)


def test_a_reduction_takes_its_producers_in(launches: Any) -> None:
    #   a   b
    #    \ /
    #     - (held) --- square --- sum #
    a, b = leaf(seed=1), leaf(seed=2)
    d = a - b
    s = xp.sum(d * d)
    xp.evaluate(s)
    assert launches() == 1
    np.testing.assert_allclose(float(s), np.sum((np.asarray(a) - np.asarray(b)) ** 2))


def test_reductions_of_one_space_share_a_kernel(launches: Any) -> None:
    #        / sum #
    #   a ---- max #
    #        \ mean #
    a = leaf(8, 9)
    results = [xp.sum(a * 2, axis=1), xp.max(a * 2, axis=1), xp.mean(a * 2, axis=1)]
    xp.evaluate(*results)
    assert launches() == 1


def test_reductions_over_different_axes_do_not(launches: Any) -> None:
    #        / sum over axis 0 #
    #   a --<
    #        \ sum over axis 1 #
    a = leaf(8, 9)
    xp.evaluate(xp.sum(a, axis=0), xp.sum(a, axis=1))
    assert launches() == 2


@pytest.mark.parametrize("axis", [0, 1])
def test_work_after_a_reduction_is_a_second_kernel(launches: Any, axis: int) -> None:
    #   a --- mean # --- (a - mean)^2 --- sum #     at most: rows may do with one
    #    \______________/
    a = leaf(8, 9)
    d = a - xp.mean(a, axis=axis, keepdims=True)
    s = xp.sum(d * d, axis=axis)
    xp.evaluate(s)
    assert launches() <= 2
    n = np.asarray(a)
    want = ((n - n.mean(axis, keepdims=True)) ** 2).sum(axis)
    np.testing.assert_allclose(np.asarray(s), want)


def test_no_cycle_between_merged_siblings(launches: Any) -> None:
    #   a --- u # --------------- w #     u and w have one shape, but w needs the sum of u
    #          \--- sum(u) # ----/
    a = leaf(10000)
    u = a + 1
    w = a * xp.sum(u)
    xp.evaluate(u, w)
    assert launches() == 3
    n = np.asarray(a) + 1
    eq(u, n)
    np.testing.assert_allclose(np.asarray(w), np.asarray(a) * n.sum())


def test_two_levels_of_siblings(launches: Any) -> None:
    #   a --- sum # --- b * s #
    #   c --- sum # --- d * t #      two kernels: both sums, both products
    a, b, c, d = (leaf(10000, seed=k) for k in range(4))
    xp.evaluate(b * xp.sum(a), d * xp.sum(c))
    assert launches() == 2


def test_a_view_of_a_real_array_is_read_in_place(launches: Any) -> None:
    #   a[::-1] --- + --- #      a.T + a
    a = leaf(8, 8)
    x = a.T + a[::-1, :]
    xp.evaluate(x)
    assert launches() == 1
    n = np.asarray(a)
    eq(x, n.T + n[::-1, :])


def test_a_view_of_a_pending_array_is_a_cut(launches: Any) -> None:
    #   a --- t # --- t[::-1] --- + --- #
    #          \________________/
    a = leaf()
    t = a + 1
    x = t + t[::-1]
    xp.evaluate(x)
    assert launches() == 2
    n = np.asarray(a) + 1
    eq(x, n + n[::-1])


def test_creation_is_fused_and_stored_nowhere(launches: Any) -> None:
    #   zeros, arange, eye --- + --- #
    x = xp.zeros((5, 5)) + xp.reshape(xp.arange(25.0), (5, 5)) * 2 + xp.eye(5)
    xp.evaluate(x)
    assert launches() == 1
    eq(x, np.arange(25.0).reshape(5, 5) * 2 + np.eye(5))


def test_a_broadcast_row_is_read_in_place(launches: Any) -> None:
    #   a (8, 9) --- + --- #
    #   r (9)   ----/
    a, r = leaf(8, 9), leaf(9)
    xp.evaluate(a + r, a * r[None, :])
    assert launches() == 1


def test_a_whole_write_launches_nothing(launches: Any) -> None:
    #   x[...] = a + 1      x += b
    x, a, b = leaf(seed=1), leaf(seed=2), leaf(seed=3)
    x[...] = a + 1
    x += b
    assert launches() == 0
    eq(x, np.asarray(a) + 1 + np.asarray(b))
    assert launches() == 1


def test_a_write_to_a_part_is_one_kernel(launches: Any) -> None:
    #   b, c --- * --- x[3:40] #
    x, b, c = leaf(seed=1), leaf(seed=2), leaf(seed=3)
    want = np.asarray(x).copy()
    x[3:40] = b[:37] * c[1:38]
    assert launches() == 1
    want[3:40] = np.asarray(b)[:37] * np.asarray(c)[1:38]
    eq(x, want)


@pytest.mark.parametrize("reader", [False, True])
def test_a_stencil_is_one_kernel(launches: Any, reader: bool) -> None:
    #   u --- u[:-2] + u[2:] --- u[1:-1] #      renamed: readers of the old u keep it
    u = leaf(16, 16)
    n = np.asarray(u).copy()
    old = u * 1 if reader else None
    launches()
    u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    assert launches() == 1
    if old is not None:
        eq(old, n)
    n[1:-1, 1:-1] = 0.25 * (n[:-2, 1:-1] + n[2:, 1:-1] + n[1:-1, :-2] + n[1:-1, 2:])
    eq(u, n)


def test_a_small_shift_goes_through_a_temporary(launches: Any) -> None:
    #   x[1:5] = x[0:4] of 64: a temporary and a store, not 64 elements
    x = leaf()
    want = np.asarray(x).copy()
    x[1:5] = x[0:4]
    assert launches() == 2
    want[1:5] = want[0:4].copy()
    eq(x, want)


def test_disjoint_parts_need_no_temporary(launches: Any) -> None:
    #   x[1:5] = x[5:9]      x[::2] = x[1::2]
    x = leaf()
    want = np.asarray(x).copy()
    x[1:5] = x[5:9]
    x[::2] = x[1::2]
    assert launches() == 2
    want[1:5] = want[5:9]
    want[::2] = want[1::2]
    eq(x, want)


def test_many_inputs_are_several_kernels(launches: Any) -> None:
    #   a0 + a1 + ... + a199 --- #
    parts = [leaf(seed=k) for k in range(200)]
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    xp.evaluate(total)
    assert 1 < launches() < 20
    want = np.asarray(parts[0])
    for p in parts[1:]:
        want = want + np.asarray(p)
    eq(total, want)


def test_many_independent_results_are_few_kernels(launches: Any) -> None:
    #   a0 --- #    a1 --- #    ...    more outputs than one kernel can have
    results = [leaf(seed=k) + 1 for k in range(20)]
    xp.evaluate(*results)
    assert launches() == 1


def test_what_three_kernels_would_compute_is_stored(launches: Any) -> None:
    #              / sum over 0 #
    #   a --- t # ---- sum over 1 #
    #              \ sum of all #
    a = leaf(8, 9)
    t = xp.sqrt(a + 1)
    xp.evaluate(xp.sum(t, axis=0), xp.sum(t, axis=1), xp.sum(t))
    assert launches() == 4
    xp.evaluate(t)
    assert launches() == 0


def test_a_repeated_step_reuses_its_plan(launches: Any) -> None:
    a = leaf()
    xp.evaluate(a * 2 + 1)
    plans = len(a.device.runtime.plans)
    for k in range(5):
        xp.evaluate(a * float(k) + k)
    assert len(a.device.runtime.plans) == plans
    assert launches() == 6


def test_eager_mode_launches_each_operation(launches: Any) -> None:
    a = leaf()
    with eager():
        d = xp.sqrt(a * 2 + 1)
        assert launches() == 3
    eq(d, np.sqrt(np.asarray(a) * 2 + 1))


def kernels_of(program: Callable[[], Any]) -> list[str]:
    """Return the names of the kernels that a program launches."""
    with xp.trace() as t:
        program()
    return [e.name for e in t.events if e.kind == "kernel"]


class Holder:
    """Something that holds an array."""

    array: xp.Array


def test_a_small_write_moves_only_its_part(kernel_device: str) -> None:
    #   x --- x[1:5] #      not: x --- box #, which would write all of x again
    x = leaf(640)
    m = xp.reshape(leaf(640), (64, 10))
    xp.evaluate(x * 1, m * 1)

    def scalar() -> None:
        x[0] = 5.0

    def disjoint() -> None:
        x[1:5] = x[8:12]

    def expression() -> None:
        x[1:5] = xp.sqrt(x[8:12] * 2) + 1

    def augmented() -> None:
        x[1:5] *= 2

    def augmented_row() -> None:
        m[3, ...] += m[4, ...] * 2 - m[5, ...]

    def reduction() -> None:
        m[5, ...] = xp.sum(m, axis=0)

    def rows() -> None:
        for row in m[:3, ...]:
            row *= 2

    for program in (scalar, disjoint, expression, augmented, augmented_row, reduction, rows):
        names = kernels_of(program)
        assert names
        assert not any("box" in name for name in names), (program.__name__, names)


def test_what_is_held_is_a_reader_of_what_is_overwritten(device: str) -> None:
    n = np.arange(40.0)
    x = xp.asarray(n)
    xp.evaluate(x * 1)
    holder = Holder()
    holder.array = x[8:12] * 2
    items = [x[8:12] + 1]
    variable = x[8:12] - 1
    x[4:8] = holder.array
    x[4:8] = items[0]
    x[4:8] = variable
    x[9:13] += holder.array
    x[9:13] -= items[0]
    x[9:13] *= variable
    x[9:13] = (named := x[8:12] * 5)
    x[9:13] += (added := x[8:12] * 7)
    eq(holder.array, n[8:12] * 2)
    eq(items[0], n[8:12] + 1)
    eq(variable, n[8:12] - 1)
    w = n.copy()
    w[4:8] = n[8:12] - 1
    w[9:13] = (w[9:13] + n[8:12] * 2 - (n[8:12] + 1)) * (n[8:12] - 1)
    eq(named, w[8:12] * 5)
    w[9:13] = w[8:12].copy() * 5
    eq(added, w[8:12] * 7)
    w[9:13] += w[8:12].copy() * 7
    eq(x, w)


def test_operators_as_functions_keep_their_operands(device: str) -> None:
    n = np.arange(12.0)
    x = xp.asarray(n)
    parts = [x[2:6] * 2, x[2:6] + 1]
    target = x[3:7]
    functools.reduce(operator.iadd, parts, target)
    operator.setitem(x, slice(0, 4), parts[0])
    list(map(x.__setitem__, [slice(8, 12)], [parts[1]]))
    eq(parts[0], n[2:6] * 2)
    eq(parts[1], n[2:6] + 1)
    w = n.copy()
    w[3:7] += n[2:6] * 2
    w[3:7] += n[2:6] + 1
    w[0:4] = n[2:6] * 2
    w[8:12] = n[2:6] + 1
    eq(x, w)
