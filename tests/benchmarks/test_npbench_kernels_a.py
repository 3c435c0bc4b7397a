"""npbench's stencils and decompositions: kernels a statement, and independent statements."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from benchmarks.report import environment

RNG = np.random.default_rng(5)


def program(name: str, form: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(
        importlib.import_module(f"benchmarks.npbench.kernels.{name}"), form
    )
    return found


def on_device(*arrays: Any) -> list[xp.Array]:
    made = [xp.asarray(a) for a in arrays]
    xp.prefetch(*made)
    return made


def steady(run: Callable[[], Any], *arrays: xp.Array) -> Any:
    """Return the counts of one more run, when what stays lazy has been made."""
    run()
    xp.evaluate(*arrays)
    xp.stats(reset=True)
    run()
    xp.evaluate(*arrays)
    counts = xp.stats()
    assert (counts.h2d, counts.d2h, counts.control) == (0, 0, 0)
    return counts


def test_fdtd_2d_launches_one_kernel_a_statement(kernel_device: str) -> None:
    host = [RNG.random((7, 8)) for _ in range(3)]
    ex, ey, hz, source = on_device(*host, RNG.random(3))
    kernel = program("fdtd_2d", "kernel")
    counts = steady(lambda: kernel(3, ex, ey, hz, source), ex, ey, hz)
    assert counts.launches == 4 * 3
    host.append(np.asarray(source))
    for _ in range(2):
        kernel(3, *host)
    for found, want in zip((ex, ey, hz), host, strict=False):
        np.testing.assert_allclose(np.asarray(found), want, 1e-12)


def test_cavity_flow_launches_one_kernel_a_write(kernel_device: str) -> None:
    """The copies of velocities and pressure before each step are none."""
    host = [RNG.random((8, 9)) for _ in range(3)]
    u, v, p = on_device(*host)
    steps, inner = 2, 3
    run = program("cavity_flow", "cavity_flow")
    counts = steady(lambda: run(9, 8, steps, inner, u, v, 0.001, 0.2, 0.2, p, 1.0, 0.1), u, v, p)
    # b, u, v and eight edges of the velocities; the pressure and its four edges. One more fills b.
    assert counts.launches <= steps * (11 + 5 * inner) + 1
    for _ in range(2):
        run(9, 8, steps, inner, host[0], host[1], 0.001, 0.2, 0.2, host[2], 1.0, 0.1)
    for found, want in zip((u, v, p), host, strict=True):
        np.testing.assert_allclose(np.asarray(found), want, 1e-11)


def test_vadv_moves_planes_and_no_cubes(kernel_device: str) -> None:
    shape = (5, 4, 40)
    host = [RNG.random(shape if k != 2 else (6, 4, 40)) for k in range(5)]
    run = program("vadv", "vadv")
    own = on_device(*host)
    run(*own, 0.15)
    xp.evaluate(*own)
    again = on_device(*host)
    with xp.trace() as events:
        run(*again, 0.15)
        xp.evaluate(*again)
    run(*host, 0.15)
    np.testing.assert_allclose(np.asarray(own[0]), host[0], 1e-10)
    np.testing.assert_array_equal(np.asarray(again[0]), np.asarray(own[0]))
    moved = sum(e.nbytes for e in events if e.kind == "kernel")
    assert moved < 60 * host[0].nbytes  # a copy of a cube at each of 40 levels would be 80 more


@pytest.mark.parametrize("form", ["kernel", "rewritten"])
def test_gramschmidt_is_a_qr_decomposition(device: str, form: str) -> None:
    a = RNG.random((7, 5))
    q, r = map(np.asarray, program("gramschmidt", form)(xp.asarray(a)))
    np.testing.assert_allclose(q @ r, a, 1e-10)
    np.testing.assert_allclose(q.T @ q, np.eye(5), atol=1e-10)
    np.testing.assert_array_equal(r, np.triu(r))


@pytest.mark.parametrize("form", ["kernel", "rewritten"])
def test_cholesky_is_that_of_numpy(device: str, form: str) -> None:
    a = RNG.random((6, 6))
    a = a @ a.T + 6 * np.eye(6)
    x = xp.asarray(a)
    program("cholesky", form)(x)
    np.testing.assert_allclose(np.tril(np.asarray(x)), np.linalg.cholesky(a), 1e-10)
    np.testing.assert_array_equal(np.triu(np.asarray(x), 1), np.triu(a, 1))


def test_lu_rewritten_divides_and_subtracts_by_one_kernel_each(kernel_device: str) -> None:
    a = RNG.random((6, 6)) + 6 * np.eye(6)
    (x,) = on_device(a)
    xp.stats(reset=True)
    program("lu", "rewritten")(x)
    xp.evaluate(x)
    # In the smallest parts the products go through a temporary.
    assert xp.stats().launches <= 2 * 5 + 1
    found = np.asarray(x)
    np.testing.assert_allclose((np.tril(found, -1) + np.eye(6)) @ np.triu(found), a, 1e-10)


def test_durbin_solves_the_yule_walker_equations(device: str) -> None:
    r = 0.5 ** np.arange(1, 8) + 0.01 * RNG.random(7)
    y = program("durbin", "kernel")(xp.asarray(r))
    lags = np.abs(np.subtract.outer(np.arange(7), np.arange(7)))
    toeplitz = np.concatenate(([1.0], r))[lags]
    np.testing.assert_allclose(np.asarray(y), np.linalg.solve(toeplitz, -r), 1e-9)


def test_floyd_warshall_finds_the_shortest_paths(device: str) -> None:
    path = RNG.integers(1, 50, (8, 8))
    want = path.copy()
    for _ in range(3):  # paths of up to eight edges
        want = np.minimum(want, (want[:, :, None] + want[None, :, :]).min(axis=1))
    x = xp.asarray(path)
    program("floyd_warshall", "kernel")(x)
    np.testing.assert_array_equal(np.asarray(x), want)


def test_the_program_needs_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert environment("c")["gpu"] == "none"
