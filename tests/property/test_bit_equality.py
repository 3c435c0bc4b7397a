"""Fused equals unfused, bit for bit: random programs run as one graph and step by step.

The fused run must also have launched fewer kernels, so that the test cannot pass by never fusing.
``cpu`` equals the kernel devices for all but float sums, whose order is NumPy's there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazyarr as xp

from .support import COMPLEX, DTYPES, FLOATS, INTEGERS, array_of, same_bits

SHAPES = [(40,), (5, 8), (3, 4, 6)]
FLOAT_STEPS = ["add", "subtract", "multiply", "divide", "sqrt", "compare", "cast", "sum"]
INTEGER_STEPS = [
    "add", "subtract", "multiply", "floor_divide", "remainder", "bitwise_and", "bitwise_or",
    "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "bitwise_invert", "negative",
    "abs", "compare", "cast", "sum",
]  # fmt: skip
COMPLEX_STEPS = [
    "add", "subtract", "multiply", "divide", "sqrt", "square", "reciprocal", "sign", "negative",
    "conj", "real", "imag", "equal", "cast", "sum",
]  # fmt: skip
# Library functions: the same bits in every kernel of a device, but not on every device.
LIBRARY_STEPS = ["exp", "log", "tanh", "acos", "pow", "modulus"]
COMPARE = ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]
UNARY = {
    "sqrt", "bitwise_invert", "negative", "abs", "square", "reciprocal", "sign", "conj", "real",
    "imag", "exp", "log", "tanh", "acos", "modulus",
}  # fmt: skip


class Step(NamedTuple):
    """One operation on earlier results, by their places among those that fit."""

    name: str
    first: int
    second: int
    target: str
    view: bool


class Program(NamedTuple):
    """Inputs (NumPy arrays of one shape) and steps."""

    inputs: list[Any]
    steps: list[Step]


@st.composite
def programs(draw: Any) -> Program:
    shape = draw(st.sampled_from(SHAPES))
    dtypes = st.sampled_from([*FLOATS, *FLOATS, *INTEGERS, *COMPLEX, *COMPLEX])
    kinds = draw(st.lists(dtypes, min_size=2, max_size=3))
    inputs = [array_of(draw, shape, kind) for kind in kinds for _ in range(2)]
    steps = []
    for _ in range(draw(st.integers(4, 10))):
        name = draw(st.sampled_from([*FLOAT_STEPS, *INTEGER_STEPS, *COMPLEX_STEPS, *LIBRARY_STEPS]))
        place = st.integers(0, 7)
        target = draw(st.sampled_from(DTYPES))
        steps.append(Step(name, draw(place), draw(place), target, draw(st.integers(0, 5)) == 0))
    return Program(inputs, steps)


def _fits(name: str, dtype: Any) -> bool:
    if dtype.kind == "c":
        return name in COMPLEX_STEPS or name in LIBRARY_STEPS
    if name in ("cast", "sum"):
        return dtype.kind != "b" or name == "cast"
    if name == "compare":
        return dtype.kind != "b"
    if dtype.kind == "f":
        return name in FLOAT_STEPS or name in ("negative", "abs")
    return dtype.kind in "iu" and name in INTEGER_STEPS


def run(
    program: Program, device: str, *, stepwise: bool, sums: bool = True, library: bool = True
) -> list[Any]:
    """Run a program; return every result as a NumPy array.

    Stepwise, each operation is evaluated when it is built. Without ``sums``, no float is summed;
    without ``library``, no function is called whose last bits depend on the device.
    """
    results = [xp.asarray(n, device=device) for n in program.inputs]
    for step in program.steps:
        if step.name in LIBRARY_STEPS and not library:
            continue
        x = _step(step, results, sums)
        if x is None:
            continue
        if stepwise:
            xp.evaluate(x)
        results.append(x)
    results = results[len(program.inputs) :]
    xp.evaluate(*results)
    return [np.asarray(x) for x in results]


def _step(step: Step, results: list[Any], sums: bool) -> Any:
    fit = [x for x in results if _fits(step.name, x.dtype)]
    if not fit:
        return None
    a = fit[step.first % len(fit)]
    if step.view:
        a = xp.flip(a)
    if step.name in UNARY:
        return getattr(xp, "abs" if step.name == "modulus" else step.name)(a)
    if step.name == "cast":
        if a.dtype.kind == "c":
            return xp.astype(a, xp.complex64 if a.dtype == xp.complex128 else xp.complex128)
        return xp.astype(a, getattr(xp, step.target))
    if step.name == "sum":
        if not sums and a.dtype.kind in "fc":
            return None
        return xp.sum(a, axis=-1, keepdims=True) if a.ndim else None
    same = [x for x in fit if x.dtype == a.dtype]
    b = same[step.second % len(same)]
    name = COMPARE[step.second % len(COMPARE)] if step.name == "compare" else step.name
    if "shift" in name:
        b = xp.abs(b) if b.dtype.kind == "i" else b
    return getattr(xp, name)(a, b)


@given(program=programs())
def test_fused_equals_unfused(kernel_device: str, program: Program) -> None:
    xp.stats(reset=True)
    stepwise = run(program, kernel_device, stepwise=True)
    many = xp.stats(reset=True).launches
    fused = run(program, kernel_device, stepwise=False)
    few = xp.stats().launches
    for k, (a, b) in enumerate(zip(fused, stepwise, strict=True)):
        assert same_bits(a, b), f"result {k}: fused {a!r}, unfused {b!r}"
    assert few <= many
    if len(stepwise) > 1:
        assert few < many or _all_cut(program, stepwise)


def _all_cut(program: Program, results: list[Any]) -> bool:
    """Whether the program has nothing that could share a kernel: one result a shape."""
    return len({r.shape for r in results}) == len(results) or any(s.view for s in program.steps)


@given(program=programs())
def test_cpu_equals_the_kernel_device_for_all_but_float_sums(
    kernel_device: str, program: Program
) -> None:
    a = run(program, "cpu", stepwise=False, sums=False, library=False)
    b = run(program, kernel_device, stepwise=False, sums=False, library=False)
    for k, (left, right) in enumerate(zip(a, b, strict=True)):
        assert same_bits(left, right), f"result {k}: cpu {left!r}, {kernel_device} {right!r}"


@pytest.mark.cuda
@given(program=programs())
def test_the_simulator_equals_the_gpu(program: Program) -> None:
    a = run(program, "sim", stepwise=False, library=False)
    b = run(program, "cuda", stepwise=False, library=False)
    for k, (left, right) in enumerate(zip(a, b, strict=True)):
        assert same_bits(left, right), f"result {k}: sim {left!r}, cuda {right!r}"
