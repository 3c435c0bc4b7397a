"""Tests of `lazyarr.graph.optable`: completeness, resolution, and that all C templates compile."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from lazyarr import _dtypes as dt
from lazyarr._kernel_files import kernel_text
from lazyarr.graph.optable import OPS, REDUCE_OPS, Op, Spec, cast_spec

STANDARD = [
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_left_shift", "bitwise_invert", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "ceil", "clip", "conj", "copysign", "cos", "cosh", "divide", "equal", "exp", "expm1", "floor",
    "floor_divide", "greater", "greater_equal", "hypot", "imag", "isfinite", "isinf", "isnan",
    "less", "less_equal", "log", "log1p", "log2", "log10", "logaddexp", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
    "nextafter", "not_equal", "positive", "pow", "real", "reciprocal", "remainder", "round", "sign",
    "signbit", "sin", "sinh", "square", "sqrt", "subtract", "tan", "tanh", "trunc",
]  # fmt: skip
OPERATORS = [
    "abs", "add", "and", "eq", "floordiv", "ge", "gt", "invert", "le", "lshift", "lt", "mod", "mul",
    "ne", "neg", "or", "pos", "pow", "rshift", "sub", "truediv", "xor",
]  # fmt: skip


def specs_of(op: Op) -> Iterator[Spec]:
    """The op's specs for operands of one dtype, for every dtype that it accepts."""
    for dtype in dt.ALL:
        dtypes = (dt.bool_, dtype, dtype) if op.name == "where" else (dtype,) * op.arity
        try:
            yield op.resolve(*dtypes)
        except TypeError:
            continue


ALL_CASTS = [cast_spec(a, b) for a, b in itertools.product(dt.ALL, repeat=2)]


def test_every_function_of_the_standard_has_a_row() -> None:
    assert len(STANDARD) == 67
    assert set(STANDARD) | {"where", "clip_min", "clip_max"} == set(OPS)


def test_every_row_has_documentation() -> None:
    assert all(op.doc.endswith(".") for op in OPS.values())
    assert all(op.doc.endswith(".") for op in REDUCE_OPS.values())


def test_every_operator_has_one_row() -> None:
    dunders = [op.dunder for op in OPS.values() if op.dunder]
    assert sorted(dunders) == sorted(f"__{name}__" for name in OPERATORS)
    assert OPS["subtract"].reflected == "__rsub__"
    assert OPS["subtract"].inplace == "__isub__"
    for name in ("less", "equal", "negative", "abs", "maximum"):
        assert OPS[name].reflected == OPS[name].inplace == ""


def test_specs_are_interned() -> None:
    add = OPS["add"]
    spec = add.resolve(dt.int8, dt.int32)
    assert spec is add.resolve(np.dtype("int8"), np.dtype("int32"))
    assert spec is add.specs[dt.int8, dt.int32]
    assert cast_spec(dt.int8, dt.bool_) is cast_spec(dt.int8, dt.bool_)
    total = REDUCE_OPS["sum"]
    assert total.resolve(dt.int8) is total.specs[dt.int8, None]


def test_codes_are_unique() -> None:
    codes = [spec.code for op in OPS.values() for spec in specs_of(op)]
    codes += [spec.code for spec in ALL_CASTS]
    assert len(set(codes)) == len(codes)


def test_operands_are_promoted() -> None:
    spec = OPS["less"].resolve(dt.uint8, dt.int8)
    assert spec.compute == (dt.int16, dt.int16)
    assert spec.out_dtype is dt.bool_
    spec = OPS["where"].resolve(dt.bool_, dt.float32, dt.complex64)
    assert spec.compute == (dt.bool_, dt.complex64, dt.complex64)
    assert OPS["abs"].resolve(dt.complex128).out_dtype is dt.float64


@pytest.mark.parametrize(
    ("name", "dtypes", "text"),
    [
        (
            "divide",
            (dt.int32, dt.int32),
            "divide is not defined for int32 and int32; it takes real",
        ),
        ("add", (dt.bool_, dt.bool_), "add is not defined for bool and bool"),
        ("add", (dt.int64, dt.float64), "add: int64 and float64 have no common dtype.*astype"),
        ("less", (dt.complex64, dt.complex64), "less is not defined for complex64"),
        ("where", (dt.int8, dt.int8, dt.int8), "where needs a bool condition, not int8"),
        ("sqrt", (dt.int8,), "sqrt is not defined for int8"),
        ("add", (dt.int8,), "add takes 2 operands, not 1"),
    ],
)
def test_refusals_name_the_operation(name: str, dtypes: tuple[dt.DType, ...], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        OPS[name].resolve(*dtypes)


def test_reduction_dtypes() -> None:
    assert REDUCE_OPS["sum"].resolve(dt.int8).out_dtype is dt.int64
    assert REDUCE_OPS["prod"].resolve(dt.uint16).out_dtype is dt.uint64
    assert REDUCE_OPS["sum"].resolve(dt.float32).acc_c_type == "float"
    assert REDUCE_OPS["sum"].resolve(dt.int8, dt.int8).out_dtype is dt.int8
    assert REDUCE_OPS["sum"].resolve(dt.float32, dt.float64).acc_c_type == "double"
    assert REDUCE_OPS["max"].resolve(dt.int8).out_dtype is dt.int8
    assert REDUCE_OPS["argmax"].resolve(dt.float32).out_dtype is dt.int64
    assert REDUCE_OPS["argmax"].resolve(dt.float32).is_pair
    with pytest.raises(TypeError, match="sum is not defined for bool; it takes signed"):
        REDUCE_OPS["sum"].resolve(dt.bool_)
    with pytest.raises(TypeError, match="mean is not defined for int8"):
        REDUCE_OPS["mean"].resolve(dt.int8)
    with pytest.raises(TypeError, match="sum of complex64 cannot accumulate in float64"):
        REDUCE_OPS["sum"].resolve(dt.complex64, dt.float64)
    with pytest.raises(TypeError, match="max takes no dtype"):
        REDUCE_OPS["max"].resolve(dt.int8, dt.int8)


@pytest.mark.parametrize("op", OPS.values(), ids=list(OPS))
@pytest.mark.parametrize("shape", [(), (3,)], ids=str)
def test_numpy_side_returns_an_array_of_the_declared_dtype(op: Op, shape: tuple[int, ...]) -> None:
    for spec in specs_of(op):
        out = spec.numpy(*[np.zeros(shape, dtype) for dtype in spec.compute])
        assert isinstance(out, np.ndarray)
        assert (out.dtype, out.shape) == (spec.out_dtype, shape)


SAME_TYPE = """
template <class A> struct lz_plain { typedef A type; };
template <class A> struct lz_plain<A&> { typedef A type; };
template <class A> struct lz_plain<const A&> { typedef A type; };
template <class A, class B> struct lz_same { static constexpr bool value = false; };
template <class A> struct lz_same<A, A> { static constexpr bool value = true; };
#define LZ_TYPE(...) lz_plain<decltype(__VA_ARGS__)>::type
#define LZ_IS(T, ...) static_assert(lz_same<T, LZ_TYPE(__VA_ARGS__)>::value, #__VA_ARGS__)
"""


def expression_statements(spec: Spec, index: int) -> str:
    """A block that checks the type of the spec's expression and stores its value."""
    names = [f"x{n}" for n in range(len(spec.compute))]
    loads = "".join(
        f"{dt.c_type(dtype)} {name} = (({dt.c_type(dtype)}*)in)[{n}]; "
        for n, (name, dtype) in enumerate(zip(names, spec.compute, strict=True))
    )
    out = dt.c_type(spec.out_dtype)
    value = spec.c.format(*names)
    return f"{{ {loads}LZ_IS({out}, {value}); (({out}*)out)[{index}] = {value}; }}\n"


def nvrtc_log(body: str) -> str:
    """What NVRTC says of a kernel with this body, warnings included; nothing if all is well."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="needs NVRTC (extra 'test')")
    head = kernel_text("lazyarr.cuh") + kernel_text("complex.cuh") + SAME_TYPE
    source = head + f'extern "C" __global__ void k(void* in, void* out, long long n) {{\n{body}}}\n'
    options = [b"--gpu-architecture=sm_90", b"--std=c++17", b"--fmad=false"]
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"optable.cu", 0, [], [])
    try:
        nvrtc.nvrtcCompileProgram(program, len(options), options)
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = bytearray(size)  # a bytes object of one character is shared by the whole process
        nvrtc.nvrtcGetProgramLog(program, log)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return str(log.decode().strip("\0 \n"))


@pytest.mark.parametrize("op", OPS.values(), ids=list(OPS))
def test_expression_compiles_and_has_the_declared_type(op: Op) -> None:
    body = "".join(expression_statements(spec, n) for n, spec in enumerate(specs_of(op)))
    assert nvrtc_log(body) == ""


def test_casts_compile_and_have_the_declared_type() -> None:
    body = "".join(expression_statements(spec, n) for n, spec in enumerate(ALL_CASTS))
    assert nvrtc_log(body) == ""


@pytest.mark.parametrize("name", list(REDUCE_OPS))
def test_reduction_compiles_and_has_the_declared_types(name: str) -> None:
    op = REDUCE_OPS[name]
    body = ""
    for dtype, asked in itertools.product(dt.ALL, [None, dt.int16, dt.float32, dt.complex128]):
        try:
            spec = op.resolve(dtype, asked)
        except TypeError:
            continue
        acc, out = spec.acc_c_type, dt.c_type(spec.out_dtype)
        load = spec.load.format(x="x", k="n")
        if spec.lane is not None:
            load = spec.lane.settle.format(a=spec.lane.add.format(a=spec.lane.start, x=load))
            body += f"LZ_IS({spec.lane.c_type}, {spec.lane.start});\n"
        combine = spec.combine.format(a="a", b="b")
        finish = spec.finish.format(a="a", n="n")
        body += (
            f"{{ {acc} a = {spec.identity}; {dt.c_type(dtype)} x = (({dt.c_type(dtype)}*)in)[0]; "
            f"{acc} b = {load}; LZ_IS({acc}, {spec.identity}); LZ_IS({acc}, {load}); "
            f"LZ_IS({acc}, {combine}); a = {combine}; "
            f"LZ_IS({out}, {finish}); (({out}*)out)[0] = {finish}; }}\n"
        )
    assert nvrtc_log(body) == ""
