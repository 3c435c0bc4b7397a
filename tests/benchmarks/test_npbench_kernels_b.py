"""npbench's programs against independent statements of their results, in both of their forms.

The arguments' device is not the default one: what a program makes lies where its arguments do.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarr as xp

RNG = np.random.default_rng(5)


def convolved(images: Any, weights: Any) -> Any:
    """Return the valid convolution by NumPy's windows."""
    windows = np.lib.stride_tricks.sliding_window_view(images, weights.shape[:2], axis=(1, 2))
    return np.einsum("nijcab,abcd->nijd", windows, weights)


def softmax() -> Any:
    x = RNG.random((2, 3, 4, 8))
    return (x,), [np.exp(x) / np.exp(x).sum(-1, keepdims=True)]


def conv2d_bias() -> Any:
    x, weights, bias = RNG.random((2, 6, 5, 3)), RNG.random((2, 2, 3, 4)), RNG.random(4)
    return (x, weights, bias), [convolved(x, weights) + bias]


def go_fast() -> Any:
    a = RNG.random((9, 9))
    return (a,), [a + np.tanh(np.diag(a)).sum()]


def azimint_naive() -> Any:
    data, radius = RNG.random(300), RNG.random(300)
    inside = radius < radius.max()
    at = {"bins": 4, "range": (0.0, radius.max())}
    sums, _ = np.histogram(radius[inside], weights=data[inside], **at)
    return (data, radius, 4), [sums / np.histogram(radius[inside], **at)[0]]


def correlation() -> Any:
    data = RNG.random((11, 6))
    return (6, 11.0, data), [np.corrcoef(data, rowvar=False)]


def covariance() -> Any:
    data = RNG.random((11, 6))
    return (6, 11.0, data), [np.cov(data, rowvar=False)]


def doitgen() -> Any:
    a, c4 = RNG.random((3, 4, 5)), RNG.random((5, 5))
    return (3, 4, 5, a, c4), [np.einsum("rqs,sp->rqp", a, c4), c4]


def gemver() -> Any:
    a = RNG.random((6, 6))
    u1, v1, u2, v2, w, x, y, z = vectors = [RNG.random(6) for _ in range(8)]
    changed = a + np.einsum("i,j", u1, v1) + np.einsum("i,j", u2, v2)
    x = x + 1.2 * np.einsum("i,ij", y, changed) + z
    want = [changed, u1, v1, u2, v2, w + 1.5 * np.einsum("ij,j", changed, x), x, y, z]
    return (1.5, 1.2, a, *vectors), want


def contour_integral() -> Any:
    slabs, points, right = (
        RNG.random(shape) + 1j * RNG.random(shape) for shape in ((3, 4, 4), (5,), (4, 6))
    )
    points[0] = 0.3 + 0.1j
    want = np.zeros((2, 4, 6), complex)
    for z in points:
        solution = np.linalg.inv(z * slabs[0] + slabs[1] + slabs[2] / z) @ right
        solution *= -1 if abs(z) < 1 else 1
        want += solution, z * solution
    return (4, 6, 2, slabs, points, right), [*want]


def stockham_fft() -> Any:
    x = RNG.random(27) + 1j * RNG.random(27)
    return (27, 3, 3, x, np.zeros(27, complex)), [x, np.fft.fft(x)]


# By program: its function, and what makes its arguments and the results to expect. Of those that
# return nothing, the results are their arrays afterwards.
PROGRAMS: dict[str, tuple[str, Callable[[], Any]]] = {
    "softmax": ("softmax", softmax),
    "conv2d_bias": ("conv2d_bias", conv2d_bias),
    "go_fast": ("go_fast", go_fast),
    "azimint_naive": ("azimint_naive", azimint_naive),
    "correlation": ("kernel", correlation),
    "covariance": ("kernel", covariance),
    "doitgen": ("kernel", doitgen),
    "gemver": ("kernel", gemver),
    "contour_integral": ("contour_integral", contour_integral),
    "stockham_fft": ("stockham_fft", stockham_fft),
}


def forms(name: str, function: str) -> list[Callable[..., Any]]:
    module = importlib.import_module(f"benchmarks.npbench.kernels.{name}")
    return [getattr(module, form) for form in (function, "rewritten") if hasattr(module, form)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_against_an_independent_statement(device: str, name: str) -> None:
    function, make = PROGRAMS[name]
    arguments, want = make()
    for form in forms(name, function):
        own = [xp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
        with xp.default_device("cpu"):
            returned = form(*own)
        found = returned if isinstance(returned, tuple) else (returned,)
        if returned is None:
            found = tuple(a for a in own if isinstance(a, xp.Array))
        tolerance = 1e-6 if name == "conv2d_bias" else 1e-12  # a convolution is rounded to float32
        for got, expected in zip(found, want, strict=True):
            assert got.device == xp.asarray(0, device=device).device
            np.testing.assert_allclose(np.asarray(got), expected, tolerance, tolerance)


@pytest.mark.parametrize("name", ["mandelbrot1", "mandelbrot2"])
def test_points_of_the_mandelbrot_set(device: str, name: str) -> None:
    arguments = (-2.0, 0.5, -1.25, 1.25, 7, 6, 5)
    c = np.linspace(-2.0, 0.5, 7) + np.linspace(-1.25, 1.25, 6)[:, None] * 1j
    for form in forms(name, "mandelbrot"):
        values, steps = (np.asarray(x) for x in form(*arguments, xp=xp))
        for at in np.ndindex(c.shape):
            z, step = 0j, 0
            for n in range(5):
                z = z * z + c[at]
                if abs(z) > 2.0:
                    step = n + 1
                    break
            if name == "mandelbrot2":
                assert steps[at] == step
                assert values[at] == pytest.approx(z if step else 0)
            else:
                # The step that finds a point outside is not counted; inside to the end counts 0.
                assert steps[at] == (step - 1 if 0 < step < 5 else 0)
                assert values[at] == pytest.approx(z)
