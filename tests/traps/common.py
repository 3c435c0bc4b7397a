"""What the field cases share: exact comparison, and users' kernels in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import lazyarr as xp


def eq(x: Any, want: Any) -> None:
    """Assert equality: exact, NaN equals NaN, and the sign of zero counts."""
    got, want = np.asarray(x), np.asarray(want)
    assert got.shape == want.shape, (got.shape, want.shape)
    np.testing.assert_array_equal(got, want)
    if got.dtype.kind == "c":
        _same_zeros(got.real, want.astype(got.dtype).real)
        _same_zeros(got.imag, want.astype(got.dtype).imag)
    elif got.dtype.kind == "f":
        _same_zeros(got, want.astype(got.dtype))


def _same_zeros(got: Any, want: Any) -> None:
    number = ~np.isnan(got)
    same = np.signbit(got[number]) == np.signbit(want[number])
    assert np.all(same), ("sign of zero", got, want)


def kernel(source: str, name: str) -> Callable[[Sequence[int], Sequence[int], Sequence[Any]], Any]:
    """Return a kernel of the default device, called with grid, block and arguments."""
    function = xp.SourceModule(source).get_function(name)
    return lambda grid, block, args: function(*args, grid=grid, block=block)
