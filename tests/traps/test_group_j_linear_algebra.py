"""Field cases of group J: linear algebra and Fourier transforms (and case 13 of group A)."""

from __future__ import annotations

import numpy as np
import pytest

import lazyarr as xp

from .common import eq


def test_13_solvers_and_transforms_stay_on_the_device(kernel_device: str) -> None:
    n = 1000 if kernel_device == "cuda" else 60
    a = xp.reshape(xp.arange(float(n * n)), (n, n))
    xp.evaluate(a)
    xp.stats(reset=True)
    with xp.transfer_guard("error"):
        r = xp.mean(a, axis=0) - xp.std(a, axis=1)
        r = xp.matmul(a, xp.where(r > 0, r, -r))
        solution = xp.linalg.solve(a + xp.eye(n) * 1e6, r)
        xp.evaluate(solution, xp.fft.fft(r))
    counts = xp.stats()
    assert (counts.h2d, counts.d2h) == (0, 0)
    assert counts.control == 1  # whether the matrix is singular
    residual = xp.max(xp.abs(xp.matmul(a + xp.eye(n) * 1e6, solution) - r)) / xp.max(xp.abs(r))
    assert float(residual) < 1e-10


@pytest.mark.parametrize("batch", [1, 2, 3, 17])
def test_101_a_singular_matrix_raises_at_every_size_of_the_stack(device: str, batch: int) -> None:
    a = np.stack([np.eye(3)] * batch)
    a[0, -1, -1] = 0
    with pytest.raises(xp.linalg.LinAlgError, match="singular"):
        xp.linalg.inv(xp.asarray(a))
    with pytest.raises(np.linalg.LinAlgError):
        xp.linalg.solve(xp.asarray(a), xp.ones((batch, 3, 1)))


def test_103_transforms_of_every_layout(device: str) -> None:
    r = np.arange(24.0).reshape(2, 3, 4) + 1j
    want = np.fft.fft(r, axis=2)
    for a in (np.asfortranarray(r), r[::-1][::-1], np.repeat(r, 2, axis=1)[:, ::2]):
        got = xp.fft.fftn(xp.asarray(a), axes=(2,))
        np.testing.assert_allclose(np.asarray(got), want, atol=1e-12)
    x = xp.asarray(np.repeat(r, 2, axis=1))
    got = xp.fft.fftn(x[:, ::2, ...], axes=(2,))
    np.testing.assert_allclose(np.asarray(got), want, atol=1e-12)


def test_104_the_inverse_transform_leaves_its_input_alone(device: str) -> None:
    y = xp.fft.rfftn(xp.asarray(np.arange(64.0).reshape(4, 4, 4)))
    keep = y.get()
    np.testing.assert_allclose(
        np.asarray(xp.fft.irfftn(y)), np.arange(64.0).reshape(4, 4, 4), atol=1e-12
    )
    eq(y, keep)
    eq(xp.fft.irfft(y[0, ...]), xp.fft.irfft(y[0, ...]))
    eq(y, keep)
