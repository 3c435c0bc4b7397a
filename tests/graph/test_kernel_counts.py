"""How many kernels the usual chains become, so that no change makes them more unseen.

The counts are the most that are allowed: a change that needs fewer lowers them here. Numbers of
plans come from ``xp.explain``, which compiles and runs nothing; the programs are run. What a graph
is cut by has tests in ``test_fusion``; softmax and layer norm are counted in ``test_passes``, parts
joined by ``concat`` in ``tests/api/test_manipulation``, gathers in ``tests/api/test_indexing``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import lazyarr as xp

ROWS = np.random.default_rng(0).random((12, 10)) + 0.5
SPACE = np.random.default_rng(1).random((4, 6, 10)) + 0.5
POINTS = np.random.default_rng(2).random((9, 3))
PICKS = np.asarray([3, 0, 11, 3])


def planned(x: xp.Array) -> int:
    """Return how many kernels evaluating x would launch."""
    found = re.search(r"pending; (\d+) kernels?,", xp.explain(x))
    assert found, xp.explain(x)
    return int(found[1])


def on_device(*arrays: Any) -> list[xp.Array]:
    """Return arrays that the device holds."""
    made = [xp.asarray(a) for a in arrays]
    xp.prefetch(*made)
    return made


# Chains.


def chain(ns: Any, operations: int, leaves: list[Any]) -> Any:
    """Return the result of so many operations on a value and the leaves, in turn."""
    steps: list[Callable[[Any, Any], Any]] = [
        lambda t, x: t * x,
        lambda t, x: t + x,
        lambda t, x: ns.sqrt(t),
        lambda t, x: ns.maximum(t, x),
        lambda t, x: t - 0.25,
    ]
    t = leaves[0]
    for k in range(operations):
        t = steps[k % len(steps)](t, leaves[(k + 1) % len(leaves)])
    return t


def leaves(count: int) -> list[Any]:
    return [ROWS + k for k in range(count)]


@pytest.mark.parametrize("inputs", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("operations", [3, 8, 20])
@pytest.mark.parametrize("last", ["float32", "float64"])
def test_a_chain_is_one_kernel(kernel_device: str, operations: int, inputs: int, last: str) -> None:
    dtypes = ["float32"] * (inputs - 1) + [last]
    held = on_device(*[x.astype(d) for x, d in zip(leaves(inputs), dtypes, strict=True)])
    assert planned(chain(xp, operations, held)) == 1
    # of views and broadcast operands, too
    views = [x[::-1, 1:] if k % 2 else x[:1, 1:] for k, x in enumerate(held)]
    xp.evaluate(*views)
    assert planned(chain(xp, operations, views)) == 1


def test_several_results_of_a_long_chain_are_one_kernel(kernel_device: str) -> None:
    xp.stats(reset=True)
    given = on_device(*leaves(6))
    results = [chain(xp, n, given) for n in (3, 8, 20)]
    xp.evaluate(*results)
    assert xp.stats().launches == 1
    for n, result in zip((3, 8, 20), results, strict=True):
        np.testing.assert_allclose(np.asarray(result), chain(np, n, leaves(6)), rtol=1e-13)


# Reductions.

AXES: dict[str, Any] = {
    "all": None, "first": 0, "middle": 1, "last": 2, "first two": (0, 1), "last two": (1, 2),
    "outer two": (0, 2),
}  # fmt: skip


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("function", ["sum", "max", "mean"])
def test_a_reduction_takes_its_chain_in(kernel_device: str, function: str, axes: str) -> None:
    x, y = on_device(SPACE, SPACE[0])
    reduce = getattr(xp, function)
    assert planned(reduce(x, axis=AXES[axes])) == 1
    assert planned(reduce(xp.sqrt(x * 2 + y), axis=AXES[axes])) == 1
    assert planned(reduce(chain(xp, 20, [x, y]), axis=AXES[axes], keepdims=True)) == 1


@pytest.mark.parametrize("axes", AXES)
def test_a_variance_is_one_kernel_along_rows_and_two_along_columns(
    kernel_device: str, axes: str
) -> None:
    x, y = on_device(SPACE, SPACE[0])
    most = 2 if axes in ("first", "middle", "first two") else 1
    assert planned(xp.var(x, axis=AXES[axes])) <= most
    assert planned(xp.var(xp.sqrt(x * 2 + y), axis=AXES[axes])) <= most


def test_four_reductions_of_one_chain_are_one_kernel(kernel_device: str) -> None:
    (x,) = on_device(SPACE)
    xp.stats(reset=True)
    t = xp.sqrt(x * 2 + 1)
    found = [f(t, axis=2) for f in (xp.sum, xp.max, xp.mean, xp.var)]
    xp.evaluate(*found)
    assert xp.stats().launches == 1
    want = np.sqrt(SPACE * 2 + 1)
    for result, f in zip(found, (np.sum, np.max, np.mean, np.var), strict=True):
        np.testing.assert_allclose(np.asarray(result), f(want, axis=2), rtol=1e-12)


# Whole programs: what they launch, and that they are right.


class Program(NamedTuple):
    """``run(namespace, rows, space, points, picks)``, and the most it may cost."""

    run: Callable[..., Any]
    launches: int
    library_calls: int = 0
    control: int = 0


PROGRAMS: dict[str, Program] = {
    "pairwise distance": Program(
        lambda ns, m, x, p, i: ns.sqrt(ns.sum((p[:, None, :] - p[None, :, :]) ** 2, axis=2)), 1
    ),
    "transposed copy": Program(lambda ns, m, x, p, i: ns.asarray(m.T, copy=True), 1),
    "work on moved axes": Program(lambda ns, m, x, p, i: ns.permute_dims(x, (2, 0, 1)) * 2 + 1, 1),
    "strided slices": Program(lambda ns, m, x, p, i: m[::2, 1::3] * 2 + m[1::2, :-1:3], 1),
    "stack": Program(lambda ns, m, x, p, i: ns.stack([m, m * 2, m + 1], axis=1), 3),
    "roll along an axis": Program(lambda ns, m, x, p, i: ns.roll(m, 3, axis=1), 2),
    "roll of all elements": Program(lambda ns, m, x, p, i: ns.roll(m, 3), 2),
    "where": Program(lambda ns, m, x, p, i: ns.where(m > 1.0, m * 2, m - 1), 1),
    "where inside a sum": Program(
        lambda ns, m, x, p, i: ns.sum(ns.where(m > 1.0, m, 0.0), axis=1), 1
    ),
    "elements under a mask": Program(lambda ns, m, x, p, i: m[m > 1.0], 6, control=1),
    "take of a chain": Program(
        lambda ns, m, x, p, i: ns.take(m * 1.5, i, axis=0) + 1, 2, control=1
    ),
    "running sum of the first axis": Program(
        lambda ns, m, x, p, i: ns.cumulative_sum(x, axis=0), 3
    ),
    "running sum of the middle axis": Program(
        lambda ns, m, x, p, i: ns.cumulative_sum(x, axis=1), 3
    ),
    "running sum of the last axis": Program(lambda ns, m, x, p, i: ns.cumulative_sum(x, axis=2), 2),
    "running sum of a chain": Program(
        lambda ns, m, x, p, i: ns.cumulative_sum(x * 2 + 1, axis=2), 2
    ),
    "product of a transposed matrix": Program(lambda ns, m, x, p, i: m.T @ m, 0, 1),
    "product of two transposed ones": Program(lambda ns, m, x, p, i: m[:10].T @ m[2:].T, 0, 1),
    "product of slices": Program(lambda ns, m, x, p, i: m[2:10, :8] @ m[:8, 3:9], 0, 1),
    "product of every second row": Program(lambda ns, m, x, p, i: m[::2, :8] @ m[:8, 3:9], 0, 1),
    "products of a stack": Program(lambda ns, m, x, p, i: x @ x[:2].mT[:1], 0, 1),
    "a product and work after it": Program(lambda ns, m, x, p, i: ns.exp(m.T @ m * 0.01), 1, 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_costs_no_more_than_it_did(kernel_device: str, name: str) -> None:
    program = PROGRAMS[name]
    want = program.run(np, ROWS, SPACE, POINTS, PICKS)
    given = on_device(ROWS, SPACE, POINTS, PICKS)
    xp.stats(reset=True)
    result = program.run(xp, *given)
    xp.evaluate(result)
    counts = xp.stats()
    assert counts.launches <= program.launches
    assert counts.library_calls <= program.library_calls
    assert counts.control <= program.control
    assert (counts.h2d, counts.d2h) == (0, 0)
    np.testing.assert_allclose(np.asarray(result), want, rtol=1e-12)


# Writes.


def store_strided(m: Any) -> None:
    m[::2, 1::3] = m[1::2, :-1:3] * 2


def store_number(m: Any) -> None:
    m[::2, 1::3] = 0.5


def scale_rows(m: Any) -> None:
    m[::2] *= 2


def store_under_a_mask(m: Any) -> None:
    m[m > 1.0] = 0.25


@pytest.mark.parametrize(
    ("store", "launches"),
    [(store_strided, 1), (store_number, 1), (scale_rows, 1), (store_under_a_mask, 2)],
)
def test_a_write_costs_no_more_than_it_did(
    kernel_device: str, store: Callable[[Any], None], launches: int
) -> None:
    want = ROWS.copy()
    store(want)
    (m,) = on_device(ROWS)
    xp.stats(reset=True)
    store(m)
    xp.evaluate(m)
    counts = xp.stats()
    assert counts.launches <= launches
    assert (counts.h2d, counts.d2h, counts.control) == (0, 0, 0)
    np.testing.assert_array_equal(np.asarray(m), want)


def product(m: Any) -> Any:
    return m @ m.T


def totals(m: Any) -> Any:
    return m.__array_namespace__().sum(m, axis=1, keepdims=True)


def reshaped(m: Any) -> Any:
    return m.__array_namespace__().reshape(m.T @ m, (4, 25))


@pytest.mark.parametrize(("make", "launches"), [(product, 0), (totals, 1), (reshaped, 0)])
def test_a_whole_write_of_a_fresh_result_copies_nothing(
    kernel_device: str, make: Callable[[Any], Any], launches: int
) -> None:
    (m,) = on_device(ROWS)
    want = make(ROWS)
    out = xp.zeros(want.shape)
    xp.evaluate(out)
    xp.stats(reset=True)
    out[...] = make(m)
    xp.evaluate(out)
    assert xp.stats().launches == launches
    np.testing.assert_allclose(np.asarray(out), want, rtol=1e-12)
    out[:2] = 0.0
    np.testing.assert_allclose(np.asarray(out)[2:], want[2:], rtol=1e-12)


@pytest.mark.parametrize("make", [product, reshaped])
def test_a_whole_write_of_a_result_in_use_leaves_it_alone(
    kernel_device: str, make: Callable[[Any], Any]
) -> None:
    (m,) = on_device(ROWS)
    want = make(ROWS)
    out = xp.zeros(want.shape)
    held = make(m)
    out[...] = held
    xp.evaluate(out, held)
    exported = xp.from_dlpack(out)
    exported[:2] = 0.0
    part = make(m)
    seen = part[1:]
    out2 = xp.zeros(want.shape)
    out2[...] = part
    del part
    out2[...] += 1.0
    np.testing.assert_allclose(np.asarray(held), want, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(seen), want[1:], rtol=1e-12)
    np.testing.assert_allclose(np.asarray(out2), want + 1.0, rtol=1e-12)
    assert not np.asarray(out)[:2].any()
    np.testing.assert_allclose(np.asarray(out)[2:], want[2:], rtol=1e-12)


def test_indices_of_a_write_are_checked_at_once(kernel_device: str) -> None:
    m, picks = on_device(ROWS, PICKS)
    shape = (picks + 0, picks % 3)
    xp.evaluate(*shape)
    with xp.trace() as events:
        m[shape] = 2.0
    checks = [e for e in events if e.cause == "index check"]
    assert [e.kind for e in checks].count("evaluate") == 1
    assert [e.kind for e in checks].count("kernel") == 1
    want = ROWS.copy()
    want[PICKS, PICKS % 3] = 2.0
    np.testing.assert_array_equal(np.asarray(m), want)
    with pytest.raises(IndexError, match="index 11 is out of bounds for axis 1 with size 10"):
        m[shape[1], shape[0]] = 3.0
    np.testing.assert_array_equal(np.asarray(m), want)
