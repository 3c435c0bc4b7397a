"""Stockham's fast Fourier transform of radix R."""

import math


def stockham_fft(N, R, K, x, y):
    xp = x.__array_namespace__()
    small = xp.arange(R, dtype=xp.float64, device=x.device)
    dft = xp.exp(-2.0j * math.pi * small[:, None] * small[None, :] / R)
    y[...] = x
    rows = small[:, None]
    columns = xp.arange(R**K, dtype=xp.float64, device=x.device)[None, :]
    for i in range(K):
        rest = R ** (K - i - 1)
        permuted = xp.permute_dims(xp.reshape(y, (R**i, R, rest)), (1, 0, 2))
        D = xp.empty((R, R**i, rest), dtype=xp.complex128, device=x.device)
        tmp = xp.exp(-2.0j * math.pi * rows * columns[:, : R**i] / R ** (i + 1))
        D[...] = xp.repeat(xp.reshape(tmp, (R, R**i, 1)), rest, axis=2)
        twiddled = xp.reshape(permuted, (N,)) * xp.reshape(D, (N,))
        y[...] = xp.reshape(dft @ xp.reshape(twiddled, (R, R ** (K - 1))), (N,))


def rewritten(N, R, K, x, y):
    """Twiddle factors broadcast instead of being repeated to the whole length."""
    xp = x.__array_namespace__()
    small = xp.arange(R, dtype=xp.float64, device=x.device)[:, None]
    dft = xp.exp(-2.0j * math.pi * small * small.T / R)
    result = x
    for i in range(K):
        places = xp.arange(R**i, dtype=xp.float64, device=x.device)
        twiddles = xp.exp(-2.0j * math.pi * small * places / R ** (i + 1))
        permuted = xp.permute_dims(xp.reshape(result, (R**i, R, R ** (K - i - 1))), (1, 0, 2))
        twiddled = permuted * twiddles[:, :, None]
        result = xp.reshape(dft @ xp.reshape(twiddled, (R, R ** (K - 1))), (N,))
    y[...] = result
