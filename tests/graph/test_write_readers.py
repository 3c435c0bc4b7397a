"""Writes to a part of an array that pending values still read: what is computed, what is copied."""

from __future__ import annotations

from typing import Any

import numpy as np

import lazyarr as xp

RNG = np.random.default_rng(8)
CUBE = RNG.random((6, 7, 16)) + 1.0


def bytes_of_kernels(events: Any) -> int:
    return sum(e.nbytes for e in events if e.kind == "kernel")


def test_small_readers_that_the_write_needs_are_computed_first(kernel_device: str) -> None:
    x = xp.asarray(CUBE)
    xp.prefetch(x)
    want = CUBE.copy()
    with xp.trace() as events:
        for k in range(1, 16):
            divided = 1.0 / (x[:, :, k] + x[:, :, k - 1])
            scaled = divided * 2.0
            x[:, :, k] = x[:, :, k] * divided
            x[:, :, k - 1] = x[:, :, k - 1] + scaled
            quotient = 1.0 / (want[:, :, k] + want[:, :, k - 1])
            want[:, :, k] = want[:, :, k] * quotient
            want[:, :, k - 1] = want[:, :, k - 1] + quotient * 2.0
            np.testing.assert_allclose(np.asarray(scaled), quotient * 2.0, 1e-12)
    np.testing.assert_allclose(np.asarray(x), want, 1e-12)
    assert bytes_of_kernels(events) < 15 * 12 * CUBE[:, :, 0].nbytes


def test_a_large_reader_keeps_the_old_buffer(kernel_device: str) -> None:
    x = xp.asarray(CUBE)
    xp.prefetch(x)
    doubled = x * 2.0
    with xp.trace() as events:
        x[0, :, :] = x[0, :, :] * doubled[0, 0, 0]
    assert bytes_of_kernels(events) >= CUBE.nbytes
    np.testing.assert_array_equal(np.asarray(doubled), CUBE * 2.0)


def test_a_reader_of_which_the_write_does_not_know_sees_the_old_values(device: str) -> None:
    x = xp.asarray(CUBE)
    plane = x[:, :, 3] + 1.0
    x[:, :, 3] = 0.0
    np.testing.assert_array_equal(np.asarray(plane), CUBE[:, :, 3] + 1.0)
    assert float(xp.sum(x[:, :, 3])) == 0.0
