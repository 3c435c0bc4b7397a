"""The Fourier transform of R**K elements, by Stockham's autosort algorithm of radix R."""

from __future__ import annotations

from typing import Any


def stockham_fft(N: int, R: int, K: int, x: Any, y: Any) -> None:
    """Write the transform of x to y; twiddle factors are repeated to the whole length."""
    xp = x.__array_namespace__()
    turn = -2.0j * xp.pi
    digit = xp.arange(R, dtype=xp.float64, device=x.device)
    place = xp.arange(R**K, dtype=xp.float64, device=x.device)
    rows, columns = xp.meshgrid(digit, digit, indexing="ij")
    dft = xp.exp(turn * rows * columns / R)
    y[...] = x[...]
    digits, places = xp.meshgrid(digit, place, indexing="ij")
    for i in range(K):
        stride = R ** (K - i - 1)
        permuted = xp.permute_dims(xp.reshape(y, (R**i, R, stride)), (1, 0, 2))
        factors = xp.empty((R, R**i, stride), dtype=xp.complex128, device=x.device)
        angles = turn * digits[:, : R**i] * places[:, : R**i] / R ** (i + 1)
        twiddles = xp.reshape(xp.exp(angles), (R, R**i, 1))
        factors[...] = xp.repeat(twiddles, stride, axis=2)
        twiddled = xp.reshape(permuted, (N,)) * xp.reshape(factors, (N,))
        y[...] = xp.reshape(dft @ xp.reshape(twiddled, (R, R ** (K - 1))), (N,))


def rewritten(N: int, R: int, K: int, x: Any, y: Any) -> None:
    """Do the same; twiddle factors broadcast, and are made for their own length only."""
    xp = x.__array_namespace__()
    turn = -2.0j * xp.pi
    digits = xp.arange(R, dtype=xp.float64, device=x.device)[:, None]
    dft = xp.exp(turn * digits * digits.T / R)
    result = x
    for i in range(K):
        places = xp.arange(R**i, dtype=xp.float64, device=x.device)
        twiddles = xp.exp(turn * digits * places / R ** (i + 1))
        permuted = xp.permute_dims(xp.reshape(result, (R**i, R, R ** (K - i - 1))), (1, 0, 2))
        twiddled = permuted * twiddles[:, :, None]
        result = xp.reshape(dft @ xp.reshape(twiddled, (R, R ** (K - 1))), (N,))
    y[...] = result
