"""What is measured: the functions, their exact values, and the errors they may have.

``FUNCTIONS`` names the element-wise functions whose floating-point results are computed, not
selected; the exact values come from mpmath. What a library may be off by is in ``allowed``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp


@dataclass(frozen=True)
class Function:
    """One function: `exact` takes mpmath numbers; `near` are inputs at which it is hard."""

    name: str
    arity: int
    kinds: str  # "f", "c" or both
    exact: Callable[..., Any]
    near: tuple[complex, ...] = ()
    rounded: bool = False  # IEEE 754 or lazyarr defines the real result to the bit
    exponential: bool = False  # results overflow for arguments of some hundreds


def _rint(x: Any) -> Any:
    below = mp.floor(x)
    if x - below == mp.mpf(0.5):
        return below if below % 2 == 0 else below + 1
    return mp.floor(x + mp.mpf(0.5))


def _parts(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Apply a function of real numbers to both parts of a complex one."""

    def run(z: Any) -> Any:
        return mp.mpc(function(z.real), function(z.imag)) if isinstance(z, mp.mpc) else function(z)

    return run


def _pow(x: Any, y: Any) -> Any:
    return mp.exp(y * mp.log(x)) if isinstance(x, mp.mpc) else mp.power(x, y)


_PI = 3.141592653589793
_UNIT = (1, -1, 0.7071067811865476, -0.7071067811865476)
_COMPLEX_UNIT = (*_UNIT, 1j, -1j, 0.6 + 0.8j, -0.8 + 0.6j, 0.7071067811865476 * (1 + 1j))
_TURNS = (_PI / 2, -_PI / 2, _PI, -_PI, 3 * _PI / 2, 11 * _PI, 1e5 * _PI, 355.0, 1e15)
_I_TURNS = tuple(1j * t for t in _TURNS[:5])

FUNCTIONS = [
    Function("add", 2, "fc", lambda x, y: x + y, rounded=True),
    Function("subtract", 2, "fc", lambda x, y: x - y, rounded=True),
    Function("multiply", 2, "fc", lambda x, y: x * y, rounded=True),
    Function("divide", 2, "fc", lambda x, y: x / y, rounded=True),
    Function("floor_divide", 2, "f", lambda x, y: mp.floor(x / y)),
    Function("remainder", 2, "f", lambda x, y: x - y * mp.floor(x / y)),
    Function("pow", 2, "fc", _pow, near=(1, 2)),
    Function("square", 1, "fc", lambda x: x * x, rounded=True),
    Function("reciprocal", 1, "fc", lambda x: 1 / x, rounded=True),
    Function("abs", 1, "fc", abs, rounded=True),
    Function("sign", 1, "fc", lambda x: x / abs(x), rounded=True),
    Function("negative", 1, "fc", lambda x: -x, rounded=True),
    Function("conj", 1, "fc", mp.conj, rounded=True),
    Function("round", 1, "fc", _parts(_rint), near=(0.5, 1.5, 2.5), rounded=True),
    Function("ceil", 1, "f", mp.ceil, near=(1, -1), rounded=True),
    Function("floor", 1, "f", mp.floor, near=(1, -1), rounded=True),
    Function("trunc", 1, "f", lambda x: mp.sign(x) * mp.floor(abs(x)), near=(1, -1), rounded=True),
    Function("maximum", 2, "f", max, rounded=True),
    Function("minimum", 2, "f", min, rounded=True),
    Function("copysign", 2, "f", lambda x, y: abs(x) if y > 0 else -abs(x), rounded=True),
    Function("sqrt", 1, "fc", mp.sqrt, near=(-1,), rounded=True),
    Function("exp", 1, "fc", mp.exp, near=_I_TURNS, exponential=True),
    Function("expm1", 1, "fc", mp.expm1, near=(0.5, *_I_TURNS, 2j * _PI), exponential=True),
    Function("log", 1, "fc", mp.log, near=_COMPLEX_UNIT),
    Function("log1p", 1, "fc", lambda x: mp.log(1 + x), near=(-1, -2, 1j - 1, -0.3, -0.7)),
    Function("log2", 1, "fc", lambda x: mp.log(x) / mp.log(2), near=(*_COMPLEX_UNIT, 8)),
    Function("log10", 1, "fc", lambda x: mp.log(x) / mp.log(10), near=(*_COMPLEX_UNIT, 1000)),
    Function("sin", 1, "fc", mp.sin, near=_TURNS),
    Function("cos", 1, "fc", mp.cos, near=_TURNS),
    Function("tan", 1, "fc", mp.tan, near=_TURNS),
    Function("sinh", 1, "fc", mp.sinh, near=(1, *_I_TURNS), exponential=True),
    Function("cosh", 1, "fc", mp.cosh, near=(1, *_I_TURNS), exponential=True),
    Function("tanh", 1, "fc", mp.tanh, near=(0.5, 22, *_I_TURNS)),
    Function("asin", 1, "fc", mp.asin, near=_COMPLEX_UNIT),
    Function("acos", 1, "fc", mp.acos, near=_COMPLEX_UNIT),
    Function("atan", 1, "fc", mp.atan, near=_COMPLEX_UNIT),
    Function("asinh", 1, "fc", mp.asinh, near=_COMPLEX_UNIT),
    Function("acosh", 1, "fc", mp.acosh, near=_COMPLEX_UNIT),
    Function("atanh", 1, "fc", mp.atanh, near=_COMPLEX_UNIT),
    Function("atan2", 2, "f", mp.atan2),
    Function("hypot", 2, "f", lambda x, y: mp.sqrt(x * x + y * y)),
    Function("logaddexp", 2, "f", lambda x, y: max(x, y) + mp.log1p(mp.exp(-abs(x - y)))),
]

# CUDA C++ Programming Guide, "Mathematical functions": the documented maximum where it is over 2.
_CUDA = {
    ("tan", "float32"): 4.0,
    ("acosh", "float32"): 4.0,
    ("pow", "float32"): 4.0,
    ("hypot", "float32"): 3.0,
    ("atan2", "float32"): 3.0,
    ("sinh", "float32"): 3.0,
    ("asinh", "float32"): 3.0,
    ("atanh", "float32"): 3.0,
    ("asinh", "float64"): 3.0,
    ("acosh", "float64"): 3.0,
}
# glibc's manual lists at most 2 ulp for these on x86_64, against the rounded value.
_LIBRARY = {"cuda": 2.0, "sim": 2.5, "cpu": 4.0}
_ROUNDED = 0.5
_COMPLEX = 4.0
_OWN = {"floor_divide": 2.0, "remainder": 1.0, "logaddexp": 4.0}


def allowed(function: Function, dtype: str, device: str) -> float | None:
    """Return the largest error in ulp that a function may have, or None: as measured."""
    if dtype.startswith("complex"):
        return None if function.name == "pow" else _COMPLEX
    if function.rounded:
        return _ROUNDED
    if function.name in _OWN:
        return _OWN[function.name]
    kind = device.split(":")[0]
    if kind == "cuda" and (function.name, dtype) in _CUDA:
        return _CUDA[function.name, dtype]
    return _LIBRARY[kind]
