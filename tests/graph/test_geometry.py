"""How element-wise kernels walk their spaces: vectors, rows, or elements a block apart."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazyarr.codegen.emit import BLOCK
from lazyarr.graph.geometry import Access, plan_map
from lazyarr.graph.kernels import share
from lazyarr.graph.views import c_strides

SHAPES = [(7,), (64,), (5, 9), (4, 24), (3, 4, 40), (2, 3, 300)]
ITEMSIZES = st.sampled_from([1, 2, 4, 8, 16])


@st.composite
def accesses(draw: st.DrawFn, shape: tuple[int, ...]) -> Access:
    itemsize = draw(ITEMSIZES)
    misaligned = draw(st.integers(0, 3)) * itemsize % 16
    kind = draw(st.sampled_from(["order", "gaps", "turned", "second", "repeated", "one"]))
    gaps = tuple(n + draw(st.sampled_from([0, 1, 4, 16])) for n in shape)
    strides = {
        "order": c_strides(shape),
        "gaps": c_strides(gaps),
        "turned": tuple(reversed(c_strides(tuple(reversed(shape))))),
        "second": tuple(2 * s for s in c_strides(shape)),
        "repeated": (*c_strides(shape)[:-1], 0),
        "one": (0,) * len(shape),
    }[kind]
    return Access(strides, itemsize, misaligned)


@given(st.sampled_from(SHAPES), st.data())
def test_vectors_are_aligned_and_runs_are_never_gathered(
    shape: tuple[int, ...], data: st.DataObject
) -> None:
    items = data.draw(ITEMSIZES)
    found = [Access(c_strides(shape), items, 0)]
    found += [data.draw(accesses(shape)) for _ in range(data.draw(st.integers(1, 3)))]
    plan = plan_map(shape, found)
    if plan.vector == 1:
        return
    assert plan.vector * max(a.itemsize for a in found[:1]) <= 16
    for access, mode, strides in zip(found, plan.modes, plan.strides, strict=True):
        if mode in ("flat", "run"):
            width = min(16, plan.vector * access.itemsize)
            assert access.misaligned % width == 0
            assert all(s % plan.vector == 0 for s in strides[:-1])
        elif mode == "each":
            assert strides[-1] != 1
    flat = all(m in ("flat", "scalar") for m in plan.modes)
    assert plan.shape[-1] % plan.vector == 0 or (flat and len(plan.shape) == 1)


def test_one_misaligned_run_takes_the_vectors_away() -> None:
    def vector(*misaligned: int) -> int:
        shape = (6, 64)
        items = [Access((80, 1), 4, m) for m in misaligned]
        return plan_map(shape, [Access((64, 1), 4, 0), *items]).vector

    assert vector(0) == vector(0, 0) == 4
    assert vector(4) == vector(0, 8) == vector(12, 0) == 1
    strided = Access((160, 2), 4, 4)  # no run: vectors of the result are kept
    assert plan_map((6, 64), [Access((64, 1), 4, 0), strided]).vector == 4
    bytes_apart = [Access((64, 1), 1, 0), Access((80, 1), 1, 4)]
    assert plan_map((6, 64), bytes_apart).vector == 4  # of 16: still four at once


@pytest.mark.parametrize(
    ("shape", "itemsize", "want"),
    [
        ((5000,), 4, (4, 0)),
        ((5000,), 1, (8, 0)),
        ((16384, 16377), 4, (4, 0)),
        ((9, 768), 4, (3, 0)),
        ((9, 1100), 4, (0, 4)),
        ((645, 645, 645), 4, (0, 4)),
        ((645, 645, 645), 16, (0, 2)),
        ((50, 60), 8, (0, 4)),
        ((50, 2047), 1, (8, 0)),
    ],
)
def test_what_a_thread_takes(shape: tuple[int, ...], itemsize: int, want: tuple[int, int]) -> None:
    assert share(shape, itemsize, False) == want


def test_64_bit_divisions_cost_more_than_idle_threads() -> None:
    assert share((9, 1100), 4, True) == (4, 0)
    assert share((9, 100), 4, True) == (0, 4)


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=3), ITEMSIZES)
def test_few_threads_are_idle(shape: list[int], itemsize: int) -> None:
    rows, spread = share(tuple(shape), itemsize, False)
    assert (rows == 0) != (spread == 0)
    if rows and len(shape) > 1:
        stretch = BLOCK * rows
        assert math.ceil(shape[-1] / stretch) * stretch * 0.9 <= shape[-1]
