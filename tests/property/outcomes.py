"""Comparisons of results: arrays, tuples of arrays, and what is no array."""

from __future__ import annotations

from typing import Any

import numpy as np

from .drawing import Call, Operand
from .support import same_bits

# Relative, by the dtype of the result: library functions and sums differ in their last bits.
RTOL = {"float32": 4e-6, "complex64": 1e-5, "float64": 1e-13, "complex128": 1e-13}


def as_numpy(result: Any) -> Any:
    """Return a result with NumPy arrays for arrays; tuples and lists become tuples."""
    if isinstance(result, (tuple, list)):
        return tuple(as_numpy(r) for r in result)
    if hasattr(result, "dtype") and hasattr(result, "shape"):
        return np.asarray(result)
    return result


def alike(got: Any, want: Any) -> None:
    """Assert equal structure, shapes and dtypes."""
    if isinstance(want, tuple):
        assert isinstance(got, tuple)
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            alike(a, b)
    elif isinstance(want, (np.ndarray, np.generic)):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)


def _each(got: Any, want: Any, check: Any) -> None:
    if isinstance(want, tuple):
        for a, b in zip(got, want, strict=True):
            _each(a, b, check)
    else:
        check(got, np.asarray(want))


def same(got: Any, want: Any, _: Call) -> None:
    """Equal to the bit; every NaN equals every NaN."""
    _each(got, want, lambda a, b: _assert(same_bits(a, b), a, b))


def _assert(good: bool, got: Any, want: Any) -> None:
    assert good, f"\n got {got!r}\nwant {want!r}"


def equal(got: Any, want: Any, _: Call) -> None:
    """Equal; the sign of zero does not count."""
    _each(got, want, np.testing.assert_array_equal)


def _within(got: Any, want: Any, slack: float) -> None:
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want)
        return
    tiny = float(np.finfo(want.dtype).tiny)
    np.testing.assert_allclose(got, want, rtol=RTOL[str(want.dtype)], atol=tiny + slack)


def close(got: Any, want: Any, _: Call) -> None:
    """Within a few units in the last place; integers and bools equal."""
    _each(got, want, lambda a, b: _within(a, b, 0.0))


def scale(part: Any) -> float:
    """Return how large sums of an argument's elements, or of products of two, can get."""
    if not isinstance(part, Operand) or part.base.dtype.kind not in "fc" or not part.base.size:
        return 1.0
    return float(np.max(np.abs(part.base))) * part.base.size


def total(got: Any, want: Any, arguments: Call) -> None:
    """Within rounding of sums of the arguments' elements in another order."""
    slack = 1.0
    for part in arguments.args:
        slack *= max(1.0, scale(part))
    _each(got, want, lambda a, b: _within(a, b, slack * RTOL.get(str(b.dtype), 0.0)))


def shapes(got: Any, want: Any, _: Call) -> None:
    """Shapes and dtypes only, which are compared in any case."""


def metadata(got: Any, want: Any, _: Call) -> None:
    """Python values and dtypes."""
    if isinstance(got, np.dtype):
        assert str(got) == str(getattr(want, "_np_dtype", want))
        return
    assert type(got) is type(want)
    assert got == want


def info(got: Any, want: Any, _: Call) -> None:
    """What ``finfo`` and ``iinfo`` return: plain Python numbers, and the dtype."""
    names = ["bits", "max", "min"] + (["eps", "smallest_normal"] if hasattr(want, "eps") else [])
    for name in names:
        assert type(getattr(got, name)) in (int, float), name
        assert getattr(got, name) == getattr(want, name), name
    assert isinstance(got.bits, int)
    assert str(got.dtype) == str(getattr(want.dtype, "_np_dtype", want.dtype))
