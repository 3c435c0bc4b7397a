"""Field cases of group N: what the errors of users' kernels say. (The cache is in group L.)"""

from __future__ import annotations

import re

import numpy as np
import pytest

import lazyarr as xp

from .common import kernel


def test_139_the_line_of_an_error_far_down(kernel_device: str) -> None:
    lines = ["// one line", "", "template <class T> __device__ T twice(T x) { return x + x; }"]
    lines += ["// more"] * 20
    lines += ['extern "C" __global__ void f(float* p) {', "  p[0] = twice(p[1]) +;", "}"]
    with pytest.raises(xp.CompileError) as caught:
        kernel("\n".join(lines), "f")
    assert f"line {len(lines) - 1}" in str(caught.value)
    assert "p[0] = twice(p[1]) +;" in str(caught.value)


def test_140_both_lists_are_shown(kernel_device: str) -> None:
    run = kernel('extern "C" __global__ void f(float* p, int n) { p[0] = n; }', "f")
    x = xp.ones(3, dtype=xp.float32)
    with pytest.raises(TypeError) as caught:
        run((1,), (1,), (x, 1.0))
    text = str(caught.value)
    assert re.search(r"float ?\*.*, int", text)
    assert "float32" in text
    assert "np.int32" in text  # how to say it
    with pytest.raises(TypeError, match="float64"):
        run((1,), (1,), (xp.ones(3), np.int32(1)))
