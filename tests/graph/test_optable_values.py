"""Every expression of the op table, compiled by the C++ compiler, against its NumPy side.

What IEEE 754 or lazyarr defines to the bit is compared bit for bit (any NaN equals any NaN), on
edge values, all pairs of them, and random values; library functions and complex arithmetic within
a few units in the last place. Special cases of the standard are checked on the NumPy side.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from lazyarr import _dtypes as dt
from lazyarr._kernel_files import kernel_text
from lazyarr.graph.optable import OPS, REDUCE_OPS, ReduceSpec, Spec, cast_spec

NDArray = npt.NDArray[Any]

# Their last bits depend on the maths library.
INEXACT = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "exp", "expm1",
    "hypot", "log", "log1p", "log2", "log10", "logaddexp", "pow", "sin", "sinh", "tan", "tanh",
]  # fmt: skip
COMPILER = shutil.which("g++") or shutil.which("c++")
# Without <cmath>, as the device code sees it.
PRELUDE = """
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define ONE(n) extern "C" double n(double); extern "C" float n##f(float);
#define TWO(n) extern "C" double n(double, double); extern "C" float n##f(float, float);
ONE(fabs) ONE(floor) ONE(ceil) ONE(trunc) ONE(rint) ONE(sqrt) ONE(exp) ONE(expm1) ONE(log)
ONE(log1p) ONE(log2) ONE(log10) ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh)
ONE(cosh) ONE(tanh) ONE(asinh) ONE(acosh) ONE(atanh) TWO(atan2) TWO(hypot) TWO(pow) TWO(fmod)
TWO(copysign) TWO(nextafter)
extern "C" {
double fma(double, double, double);
float fmaf(float, float, float);
double ldexp(double, int);
int ilogb(double);
void sincos(double, double*, double*);
void sincosf(float, float*, float*);
}
"""


def edge_values(dtype: dt.DType, seed: int = 0) -> NDArray:
    """Values at which operations of `dtype` are likely to differ, and some random ones."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        near = [-9, -8, -3, -2, -1, 0, 1, 2, 3, 7, 8, 15, 31, 63, 64, 65, 100]
        ends = [info.min, info.min + 1, info.min // 2, info.max // 2, info.max - 1, info.max]
        some = [int(v) for v in rng.integers(info.min, info.max, 20, dtype=dtype)]
        return np.array([v for v in near + ends + some if info.min <= v <= info.max], dtype)
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        base = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 0.1, 5e-320, 127.0, 127.5, 128.0, 255.5, 256.0]
        base += [float(limits.max), float(limits.tiny), float(limits.smallest_subnormal), 1e-30]
        base += [2.0**e for e in (15, 16, 31, 32, 52, 53, 62, 63, 64)]
        base += [2.0**31 - 1, 2.0**32 - 1, 2.0**63 - 1024, 2.0**64 - 2048, 2.0**53 + 1]
        base += [math.inf, math.nan, *rng.standard_normal(10), *(rng.standard_normal(10) * 1e6)]
        with np.errstate(all="ignore"):
            return np.array(base + [-v for v in base]).astype(dtype)
    parts = edge_values(dt.real_of(dtype), seed)
    with np.errstate(all="ignore"):
        return np.array(
            [complex(a, b) for a, b in itertools.product(parts[::4], parts[1::5])], dtype
        )


def operands(dtypes: tuple[dt.DType, ...]) -> list[NDArray]:
    """All combinations of edge values, as contiguous arrays of equal length."""
    axes = [edge_values(dtype, seed) for seed, dtype in enumerate(dtypes)]
    if len(axes) == 3 or axes[0].dtype.kind == "c":
        axes = [axis[:: max(1, len(axis) // 30)] for axis in axes]
    grids = np.meshgrid(*axes, indexing="ij")
    return [np.ascontiguousarray(grid.ravel()) for grid in grids]


def all_specs() -> Iterator[Spec]:
    for op in OPS.values():
        for dtype in dt.ALL:
            dtypes = (dt.bool_, dtype, dtype) if op.name == "where" else (dtype,) * op.arity
            try:
                yield op.resolve(*dtypes)
            except TypeError:
                continue
    for pair in itertools.product(dt.ALL, repeat=2):
        yield cast_spec(*pair)


def all_reductions() -> Iterator[ReduceSpec]:
    for op in REDUCE_OPS.values():
        for dtype in dt.ALL:
            try:
                yield op.resolve(dtype)
            except TypeError:
                continue


SPECS = list(all_specs())
REDUCTIONS = list(all_reductions())


def loop_source(spec: Spec, index: int) -> str:
    """A C function that applies the spec to arrays."""
    names = [f"x{n}" for n in range(len(spec.compute))]
    types = [dt.c_type(dtype) for dtype in spec.compute]
    parameters = ", ".join(f"const {t}* {n}" for t, n in zip(types, names, strict=True))
    value = spec.c.format(*[f"{name}[i]" for name in names])
    return (
        f'extern "C" void f{index}(long long n, {parameters}, {dt.c_type(spec.out_dtype)}* out) '
        f"{{ for (long long i = 0; i < n; ++i) out[i] = {value}; }}\n"
    )


def reduce_source(spec: ReduceSpec, index: int) -> str:
    """A C function that reduces an array from the left."""
    combine = spec.combine.format(a="a", b="b")
    if spec.lane is not None:
        add = spec.lane.add.format(a="l", x=spec.load.format(x="x[i]", k="i"))
        return (
            f'extern "C" void r{index}(long long n, const {dt.c_type(spec.in_dtype)}* x, '
            f"{dt.c_type(spec.out_dtype)}* out) {{ {spec.acc_c_type} a = {spec.identity}; "
            f"for (int half = 0; half < 2; ++half) {{ {spec.lane.c_type} l = {spec.lane.start}; "
            f"for (long long i = half ? n / 2 : 0; i < (half ? n : n / 2); ++i) l = {add}; "
            f"{spec.acc_c_type} b = {spec.lane.settle.format(a='l')}; a = {combine}; }} "
            f"*out = {spec.finish.format(a='a', n='n')}; }}\n"
        )
    return (
        f'extern "C" void r{index}(long long n, const {dt.c_type(spec.in_dtype)}* x, '
        f"{dt.c_type(spec.out_dtype)}* out) {{ {spec.acc_c_type} a = {spec.identity}; "
        f"for (long long i = 0; i < n; ++i) {{ {spec.acc_c_type} b = "
        f"{spec.load.format(x='x[i]', k='i')}; a = {combine}; }} "
        f"*out = {spec.finish.format(a='a', n='n')}; }}\n"
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if COMPILER is None:
        pytest.skip("needs a C++ compiler on PATH")
    folder: Path = tmp_path_factory.mktemp("optable")
    source = PRELUDE + kernel_text("lazyarr.cuh") + kernel_text("complex.cuh")
    source += "".join(loop_source(spec, n) for n, spec in enumerate(SPECS))
    source += "".join(reduce_source(spec, n) for n, spec in enumerate(REDUCTIONS))
    (folder / "optable.cpp").write_text(source)
    flags = ["-O1", "-ffp-contract=off", "-fwrapv", "-shared", "-fPIC", "-w", "-std=c++17"]
    command = [COMPILER, *flags, "optable.cpp", "-o", "optable.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    return ctypes.CDLL(str(folder / "optable.so"))


def call(library: ctypes.CDLL, name: str, arrays: list[NDArray], out: NDArray) -> NDArray:
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in [*arrays, out]]
    getattr(library, name)(ctypes.c_longlong(arrays[0].size), *pointers)
    return out


def assert_same_bits(got: NDArray, want: NDArray, inputs: list[NDArray]) -> None:
    """Equal to the bit, the sign of zero included; any NaN equals any NaN."""
    assert got.dtype == want.dtype
    if got.dtype.kind == "c":
        assert_same_bits(got.real, want.real, inputs)
        assert_same_bits(got.imag, want.imag, inputs)
        return
    same = got == want
    if got.dtype.kind == "f":
        same = np.where(got == 0, same & (np.signbit(got) == np.signbit(want)), same)
        same |= np.isnan(got) & np.isnan(want)
    for index in np.flatnonzero(~same)[:1]:
        values = [x[index] for x in inputs]
        raise AssertionError(f"{values}: C gives {got[index]!r}, NumPy {want[index]!r}")


def assert_same_class(got: NDArray, want: NDArray, inputs: list[NDArray]) -> None:
    """Infinite, NaN and zero parts where the other has them; overflow may come a little earlier."""
    if got.dtype.kind == "c":
        assert_same_class(got.real, want.real, inputs)
        assert_same_class(got.imag, want.imag, inputs)
        return
    for index in np.flatnonzero(np.isnan(got) != np.isnan(want))[:1]:
        values = [x[index] for x in inputs]
        raise AssertionError(f"{values}: C gives {got[index]!r}, NumPy {want[index]!r}")


def assert_close(got: NDArray, want: NDArray) -> None:
    # subnormal results of library functions lose relative accuracy: hence atol
    real = np.finfo(dt.real_of(got.dtype))
    np.testing.assert_allclose(got, want, rtol=8 * float(real.eps), atol=float(real.tiny))


@pytest.mark.parametrize("index", range(len(SPECS)), ids=[repr(spec) for spec in SPECS])
def test_c_agrees_with_numpy(library: ctypes.CDLL, index: int) -> None:
    spec = SPECS[index]
    inputs = operands(spec.compute)
    got = call(library, f"f{index}", inputs, np.empty(inputs[0].shape, spec.out_dtype))
    want = spec.numpy(*inputs)
    kind = spec.compute[0].kind
    if kind == "f" and spec.op.name in INEXACT:
        assert_close(got, want)
    elif kind == "c" and spec.op.name in [*INEXACT, "abs"]:
        assert_same_class(got, want, inputs)
        finite = np.isfinite(got) & np.isfinite(want)
        if spec.op.name != "pow":  # its error grows with the exponent: tests/test_accuracy.py
            assert_close(got[finite], want[finite])
    else:
        assert_same_bits(got, want, inputs)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "pow", "bitwise_right_shift"])
@pytest.mark.parametrize("dtype", [dt.int8, dt.uint8], ids=str)
def test_all_pairs_of_bytes(library: ctypes.CDLL, name: str, dtype: dt.DType) -> None:
    spec = OPS[name].resolve(dtype, dtype)
    every = np.arange(256, dtype=np.uint8).view(dtype)
    inputs = [np.repeat(every, 256), np.tile(every, 256)]
    index = SPECS.index(spec)
    got = call(library, f"f{index}", inputs, np.empty(65536, dtype))
    assert_same_bits(got, spec.numpy(*inputs), inputs)


@pytest.mark.parametrize("index", range(len(REDUCTIONS)), ids=[repr(s) for s in REDUCTIONS])
def test_c_reduction_agrees_with_numpy(library: ctypes.CDLL, index: int) -> None:
    spec = REDUCTIONS[index]
    rng = np.random.default_rng(1)
    values = edge_values(spec.in_dtype)
    finite = values[np.isfinite(values) & (np.abs(values.astype(complex)) < 1e7)]
    cases = [values, rng.permutation(values), finite, finite[:1], np.repeat(finite, 3)]
    cases.append(np.zeros(3, spec.in_dtype))
    if spec.in_dtype.kind in "fc":
        cases.append(-np.zeros(3, spec.in_dtype))
    squares = spec.op.name in ("var", "squared_deviations")
    inexact = squares or (spec.in_dtype.kind in "fc" and spec.op.name in ("sum", "prod", "mean"))
    for case in cases:
        array = np.ascontiguousarray(case)
        got = call(library, f"r{index}", [array], np.empty((), spec.out_dtype))
        want = spec.numpy(array, (0,), False)
        if not inexact or len(array) <= 3:
            assert_same_bits(got.reshape(1), want.reshape(1), [array])
        elif np.isfinite(got) and np.isfinite(want):  # NumPy adds in another order
            eps = float(np.finfo(spec.in_dtype).eps)
            scale = float(np.sum(np.abs(array))) if spec.op.name != "prod" else abs(want)
            scale = float(np.sum(array * array)) if squares else scale
            np.testing.assert_allclose(got, want, rtol=0, atol=100 * eps * float(scale))
