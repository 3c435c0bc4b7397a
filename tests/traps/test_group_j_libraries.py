"""Field cases of group J: linear algebra and FFT. (100 is in group I.)"""

from __future__ import annotations

import numpy as np
import pytest

import lazyarr as xp

from .common import eq


@pytest.mark.parametrize("batch", [1, 2, 3, 17])
def test_101_a_singular_matrix_in_any_batch(device: str, batch: int) -> None:
    a = np.stack([np.eye(3)] * batch)
    a[0, -1, -1] = 0
    with pytest.raises(np.linalg.LinAlgError):
        np.asarray(xp.linalg.inv(xp.asarray(a)))


def test_103_fft_of_any_layout(device: str) -> None:
    r = np.arange(24.0).reshape(2, 3, 4) + 1j
    want = np.fft.fft(r, axis=2)
    for a in (np.asfortranarray(r), r[::-1][::-1], np.repeat(r, 2, axis=1)[:, ::2]):
        got = xp.fft.fftn(xp.asarray(a), axes=(2,))
        np.testing.assert_allclose(np.asarray(got), want, atol=1e-12)
    x = xp.flip(xp.asarray(np.flip(r)))
    np.testing.assert_allclose(np.asarray(xp.fft.fftn(x, axes=(2,))), want, atol=1e-12)


def test_104_irfft_leaves_its_input(device: str) -> None:
    y = xp.fft.rfftn(xp.asarray(np.arange(64.0).reshape(4, 4, 4)))
    keep = np.array(np.asarray(y))
    np.asarray(xp.fft.irfftn(y))
    eq(y, keep)
