"""Element-wise chains of 3, 8 and 20 operations, with one to six inputs, and several outputs."""

from __future__ import annotations

from typing import Any

from benchmarks.cases.case import Case, copied, flat, moved

_AHEAD = {"jax": 1.0, "cupy": 1.0, "torch": 1.0}


def three(m: Any, a: Any, b: Any, c: Any) -> Any:
    return a * b + c - a


def eight(m: Any, a: Any, b: Any, c: Any) -> Any:
    return m.sqrt(a * b + c) / (1 + m.exp(-a)) - b * c


def twenty(m: Any, a: Any) -> Any:
    x = a
    for k in range(10):
        x = x * a + 0.1 * k
    return x


def six(m: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    return a * b + c * d - e * f


def outputs(m: Any, a: Any, b: Any) -> Any:
    s = a + b
    return s * a, s - b, s * s


def _twenty_c() -> str:
    text = "v0"
    for k in range(10):
        text = f"(({text}) * v0 + (decltype(v0 + 0)){0.1 * k!r})"
    return text


def _outputs_traffic(inputs: tuple[Any, ...]) -> int:
    return int(inputs[0].nbytes * 5)


CASES = (
    Case(
        "chain of 3, 3 inputs", flat(3), three, moved, 1.0, _AHEAD,
        dtypes=("float32", "float64", "int32"),
    ),
    Case("chain of 8, 3 inputs", flat(3), eight, moved, 1.0, _AHEAD),
    Case("chain of 20, 1 input", flat(1), twenty, copied, 0.95, _AHEAD, (_twenty_c(),),
         tolerance=1e-4),
    Case("6 inputs", flat(6), six, moved, 0.95, _AHEAD, ("v0 * v1 + v2 * v3 - v4 * v5",),
         tolerance=1e-4),
    Case(
        "2 inputs, 3 outputs", flat(2), outputs, _outputs_traffic, 0.95, _AHEAD,
        ("(v0 + v1) * v0", "v0 + v1 - v1", "(v0 + v1) * (v0 + v1)"),
    ),
)  # fmt: skip
