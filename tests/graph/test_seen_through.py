"""Copies and elements that are read through a view: what they copy is read in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarr as xp

ROWS = np.random.default_rng(3).random((9, 12)) + 1.0
OTHER = np.random.default_rng(4).random((9, 12)) + 1.0


def launches(run: Callable[..., Any], dtype: str) -> int:
    """Return how many kernels a program takes whose results and arrays are those of NumPy."""
    want = [ROWS.astype(dtype), OTHER.astype(dtype)]
    own = [xp.asarray(a) for a in want]
    xp.prefetch(*own)
    expected = [*run(np, *want), *want]
    xp.stats(reset=True)
    returned = run(xp, *own)
    xp.evaluate(*returned, *own)
    count = xp.stats().launches
    for a, b in zip([*returned, *own], expected, strict=True):
        np.testing.assert_allclose(np.asarray(a), b, 1e-5)
    return count


def element_of_another(ns: Any, a: Any, b: Any) -> tuple[Any, ...]:
    a[:, 3] = a[:, 3] / b[4, 5]
    return ()


def element_beside_the_part(ns: Any, a: Any, b: Any) -> tuple[Any, ...]:
    a[3:, 2] /= a[2, 2]
    return ()


def elements_in_a_chain(ns: Any, a: Any, b: Any) -> tuple[Any, ...]:
    return (a * b[8, 11] + b[0, 1],)


def row_from_an_element(ns: Any, a: Any, b: Any) -> tuple[Any, ...]:
    a[0, :] = b[5, 0]
    return ()


def stencil_over_a_copy(ns: Any, a: Any, b: Any) -> tuple[Any, ...]:
    old = ns.asarray(a, copy=True)
    a[1:-1, 1:-1] = old[2:, 1:-1] + old[:-2, 1:-1] - 2 * old[1:-1, 2:]
    return ()


def sum_of_views_of_a_copy(ns: Any, a: Any, b: Any) -> tuple[Any, ...]:
    old = ns.asarray(a, copy=True)
    return (old[1:, :] * b[1:, :] + old[:-1, :],)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "run",
    [
        element_of_another,
        element_beside_the_part,
        elements_in_a_chain,
        row_from_an_element,
        stencil_over_a_copy,
        sum_of_views_of_a_copy,
    ],
)
def test_no_kernel_copies_first(kernel_device: str, run: Callable[..., Any], dtype: str) -> None:
    assert launches(run, dtype) == 1


def element_inside_the_part(ns: Any, a: Any, b: Any) -> tuple[Any, ...]:
    a[:2, 2] = a[:2, 2] / a[1, 2]
    return ()


def backwards_through_a_copy(ns: Any, a: Any, b: Any) -> tuple[Any, ...]:
    a[0, :] = ns.asarray(a, copy=True)[0, ::-1] + 1
    return ()


@pytest.mark.parametrize("run", [element_inside_the_part, backwards_through_a_copy])
def test_what_the_store_would_change_is_read_before(
    kernel_device: str, run: Callable[..., Any]
) -> None:
    assert launches(run, "float64") == 2


def copy_read_later(ns: Any, a: Any, b: Any) -> tuple[Any, ...]:
    old = ns.asarray(a, copy=True)
    shifted = old[1:, :] + b[1:, :]
    a[2, :] = 0.0
    return shifted, old


def copy_asked_for_too(ns: Any, a: Any, b: Any) -> tuple[Any, ...]:
    old = ns.asarray(a, copy=True)
    return old, old[1:, ::-1] * b[:-1, :]


def elements_one_after_another(ns: Any, a: Any, b: Any) -> tuple[Any, ...]:
    for k in range(8):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k, None] * a[None, k, k + 1 :]
    return ()


@pytest.mark.parametrize("run", [copy_read_later, copy_asked_for_too, elements_one_after_another])
def test_a_copy_has_the_values_of_its_time(device: str, run: Callable[..., Any]) -> None:
    launches(run, "float64")


def test_an_element_that_is_kept_is_computed_so_that_writes_stay_in_place(
    kernel_device: str,
) -> None:
    a, b = xp.asarray(ROWS), xp.asarray(OTHER)
    xp.prefetch(a, b)
    pivot = a[1, 1]
    xp.evaluate(b / pivot)
    with xp.trace() as events:
        a[1, 1] = 0.0
    assert sum(e.nbytes for e in events if e.kind == "kernel") <= 16
    assert float(pivot) == ROWS[1, 1]
