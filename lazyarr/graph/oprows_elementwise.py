"""The rows of the op table for element-wise operations: data, no behaviour.

A row names an operation, the C template for each kind of dtype, its NumPy function, its result
rule, its Python operator and its one-line documentation. Keys of the templates are NumPy's kind
letters: b bool, i signed, u unsigned, f real floating, c complex. Type placeholders are those of
`optable.fill_types`; functions named ``lz_c_`` are in ``kernels/complex.cuh``, other
``lz_`` functions in ``kernels/lazyarr.cuh``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _dtypes as dt
from .._dtypes import DType
from . import numpy_complex, numpy_ops
from .numpy_complex import in_double, in_extended

_KIND_NAMES = {
    "b": "bool",
    "i": "signed integer",
    "u": "unsigned integer",
    "f": "real floating-point",
    "c": "complex floating-point",
}


def kind_names(kinds: str) -> str:
    """Kind letters in words, for error messages."""
    return ", ".join(name for letter, name in _KIND_NAMES.items() if letter in kinds)


@dataclass(frozen=True, slots=True)
class Row:
    """One operation. `c` and, where it is a mapping, `numpy` are looked up by kind letter."""

    name: str
    arity: int
    c: Mapping[str, str]
    numpy: Callable[..., Any] | Mapping[str, Callable[..., Any]]
    out: str = "same"  # "same" as the promoted operands, "bool", or "real": the dtype of the parts
    cost: int = 1
    operator: str = ""  # the dunder name without underscores; reflected and in-place follow
    doc: str = ""

    def template(self, kind: str) -> str | None:
        """The C template for a kind letter, or None where the operation does not accept it."""
        return next((text for kinds, text in self.c.items() if kind in kinds), None)

    def numpy_for(self, kind: str) -> Callable[..., Any]:
        """The NumPy function for a kind letter."""
        if callable(self.numpy):
            return self.numpy
        return next(function for kinds, function in self.numpy.items() if kind in kinds)

    def accepted(self) -> str:
        """The accepted kinds in words."""
        return kind_names("".join(self.c))


# Integer arithmetic goes through an unsigned type, where C defines wrapping.
_WRAP = "(({{T}})(({{W}}){{0}} {0} ({{W}}){{1}}))"


def _wrapping(operator: str) -> str:
    return _WRAP.format(operator)


def _compare(operator: str) -> str:
    return f"({{0}} {operator} {{1}})"


def _maths(function: str) -> dict[str, str]:
    """The template of a C maths function of one operand, for real floating dtypes."""
    return {"f": f"{function}{{s}}({{0}})"}


_ARITHMETIC = [
    Row(
        "add",
        2,
        {"iu": _wrapping("+"), "f": "({0} + {1})", "c": "lz_add({0}, {1})"},
        np.add,
        operator="add",
        doc="Adds element by element.",
    ),
    Row(
        "subtract",
        2,
        {"iu": _wrapping("-"), "f": "({0} - {1})", "c": "lz_sub({0}, {1})"},
        np.subtract,
        operator="sub",
        doc="Subtracts element by element.",
    ),
    Row(
        "multiply",
        2,
        {"iu": _wrapping("*"), "f": "({0} * {1})", "c": "lz_mul({0}, {1})"},
        {"iuf": np.multiply, "c": numpy_complex.multiply},
        operator="mul",
        doc="Multiplies element by element.",
    ),
    Row(
        "divide",
        2,
        {"f": "({0} / {1})", "c": "lz_c_div({0}, {1})"},
        {"f": np.divide, "c": numpy_complex.divide},
        cost=20,
        operator="truediv",
        doc="Divides element by element; floating-point dtypes only.",
    ),
    Row(
        "floor_divide",
        2,
        {
            "i": "lz_int_floordiv<{T}, {W}>({0}, {1})",
            "u": "(({T})({1} == 0 ? 0 : {0} / {1}))",
            "f": "lz_floordiv({0}, {1})",
        },
        {"iu": np.floor_divide, "f": numpy_ops.floor_divide},
        cost=20,
        operator="floordiv",
        doc="Divides and rounds down; integers by zero give 0.",
    ),
    Row(
        "remainder",
        2,
        {
            "i": "lz_int_mod<{T}>({0}, {1})",
            "u": "(({T})({1} == 0 ? 0 : {0} % {1}))",
            "f": "lz_mod({0}, {1})",
        },
        np.remainder,
        cost=20,
        operator="mod",
        doc="The remainder, with the sign of the divisor; integers by zero give 0.",
    ),
    Row(
        "pow",
        2,
        {
            "i": "lz_int_pow<{T}, {W}>({0}, {1})",
            "u": "lz_int_pow<{T}, {W}>({0}, {1})",
            "f": "pow{s}({0}, {1})",
            "c": "lz_c_pow({0}, {1})",
        },
        {"iu": numpy_ops.integer_pow, "f": numpy_ops.float_pow, "c": numpy_complex.pow},
        cost=20,
        operator="pow",
        doc="Raises to a power; integers wrap, and a negative power of an integer truncates.",
    ),
    Row(
        "negative",
        1,
        {"iu": "(({T})(0u - ({W}){0}))", "f": "(-{0})", "c": "lz_neg({0})"},
        np.negative,
        operator="neg",
        doc="Changes the sign; integers wrap.",
    ),
    Row(
        "positive",
        1,
        {"iufc": "({0})"},
        np.positive,
        operator="pos",
        doc="Returns each element as it is.",
    ),
    Row(
        "abs",
        1,
        {
            "i": "(({T})({0} < 0 ? 0u - ({W}){0} : ({W}){0}))",
            "u": "({0})",
            "f": "fabs{s}({0})",
            "c": "lz_abs({0})",
        },
        {"iuf": np.absolute, "c": numpy_complex.absolute},
        out="real",
        operator="abs",
        doc="The magnitude; the smallest integer wraps to itself.",
    ),
    Row(
        "square",
        1,
        {
            "iu": "(({T})(({W}){0} * ({W}){0}))",
            "f": "({0} * {0})",
            "c": "lz_mul({0}, {0})",
        },
        {"iuf": np.square, "c": numpy_complex.square},
        doc="Multiplies each element by itself.",
    ),
    Row(
        "reciprocal",
        1,
        {"f": "(({T})1 / {0})", "c": "lz_c_div(lz_complex(({R})1, ({R})0), {0})"},
        {"f": numpy_ops.reciprocal, "c": numpy_complex.reciprocal},
        cost=20,
        doc="One divided by each element; floating-point dtypes only.",
    ),
    Row(
        "sign",
        1,
        {
            "i": "(({T})(({0} > 0) - ({0} < 0)))",
            "u": "(({T})({0} != 0))",
            "f": "({0} > 0 ? ({T})1 : {0} < 0 ? ({T})-1 : {0} == 0 ? ({T})0 : {0})",
            "c": "lz_c_sign({0})",
        },
        {"iuf": np.sign, "c": numpy_complex.sign},
        doc="-1, 0 or 1 by sign, NaN for NaN; z / abs(z) of a complex number.",
    ),
]

_BITWISE = [
    Row(
        "bitwise_and",
        2,
        {"b": "({0} && {1})", "iu": "(({T})({0} & {1}))"},
        np.bitwise_and,
        operator="and",
        doc="The bitwise and of integers or bools.",
    ),
    Row(
        "bitwise_or",
        2,
        {"b": "({0} || {1})", "iu": "(({T})({0} | {1}))"},
        np.bitwise_or,
        operator="or",
        doc="The bitwise or of integers or bools.",
    ),
    Row(
        "bitwise_xor",
        2,
        {"b": "({0} != {1})", "iu": "(({T})({0} ^ {1}))"},
        np.bitwise_xor,
        operator="xor",
        doc="The bitwise exclusive or of integers or bools.",
    ),
    Row(
        "bitwise_invert",
        1,
        {"b": "(!{0})", "iu": "(({T})~{0})"},
        np.bitwise_invert,
        operator="invert",
        doc="Inverts every bit of integers, or bools.",
    ),
    Row(
        "bitwise_left_shift",
        2,
        {"iu": "lz_shl<{T}, {W}>({0}, {1})"},
        np.left_shift,
        operator="lshift",
        doc="Shifts bits left; by the width or more, or by a negative count, gives 0.",
    ),
    Row(
        "bitwise_right_shift",
        2,
        {"iu": "lz_shr<{T}, {W}>({0}, {1})"},
        np.right_shift,
        operator="rshift",
        doc="Shifts bits right, copying the sign; by the width or more leaves the sign only.",
    ),
    Row("logical_and", 2, {"b": "({0} && {1})"}, np.logical_and, out="bool", doc="Both are True."),
    Row("logical_or", 2, {"b": "({0} || {1})"}, np.logical_or, out="bool", doc="One is True."),
    Row("logical_xor", 2, {"b": "({0} != {1})"}, np.logical_xor, out="bool", doc="They differ."),
    Row("logical_not", 1, {"b": "(!{0})"}, np.logical_not, out="bool", doc="It is False."),
]

_COMPARISONS = [
    Row(
        "equal",
        2,
        {"biuf": _compare("=="), "c": "lz_eq({0}, {1})"},
        np.equal,
        out="bool",
        operator="eq",
        doc="Whether elements are equal; NaN equals nothing.",
    ),
    Row(
        "not_equal",
        2,
        {"biuf": _compare("!="), "c": "(!lz_eq({0}, {1}))"},
        np.not_equal,
        out="bool",
        operator="ne",
        doc="Whether elements differ; NaN differs from everything.",
    ),
    Row(
        "less",
        2,
        {"iuf": _compare("<")},
        np.less,
        out="bool",
        operator="lt",
        doc="Whether the first is less than the second.",
    ),
    Row(
        "less_equal",
        2,
        {"iuf": _compare("<=")},
        np.less_equal,
        out="bool",
        operator="le",
        doc="Whether the first is less than or equal to the second.",
    ),
    Row(
        "greater",
        2,
        {"iuf": _compare(">")},
        np.greater,
        out="bool",
        operator="gt",
        doc="Whether the first is greater than the second.",
    ),
    Row(
        "greater_equal",
        2,
        {"iuf": _compare(">=")},
        np.greater_equal,
        out="bool",
        operator="ge",
        doc="Whether the first is greater than or equal to the second.",
    ),
    Row(
        "isnan",
        1,
        {"iuf": "({0} != {0})", "c": "(!lz_eq({0}, {0}))"},
        np.isnan,
        out="bool",
        doc="Whether an element is NaN.",
    ),
    Row(
        "isinf",
        1,
        {"iu": "({0} != {0})", "fc": "lz_isinf({0})"},
        np.isinf,
        out="bool",
        doc="Whether an element is infinite.",
    ),
    Row(
        "isfinite",
        1,
        {"iu": "({0} == {0})", "fc": "lz_isfinite({0})"},
        np.isfinite,
        out="bool",
        doc="Whether an element is neither infinite nor NaN.",
    ),
    Row(
        "signbit",
        1,
        {"f": "(copysign{s}(({T})1, {0}) < 0)"},
        np.signbit,
        out="bool",
        doc="Whether the sign bit is set, also of zeros and NaNs.",
    ),
]

_SELECTION = [
    Row(
        "maximum",
        2,
        {"iu": "({0} > {1} ? {0} : {1})", "f": "lz_max({0}, {1})"},
        {"iu": np.maximum, "f": numpy_ops.maximum},
        doc="The larger element; NaN propagates, and +0 is larger than -0.",
    ),
    Row(
        "minimum",
        2,
        {"iu": "({0} < {1} ? {0} : {1})", "f": "lz_min({0}, {1})"},
        {"iu": np.minimum, "f": numpy_ops.minimum},
        doc="The smaller element; NaN propagates, and -0 is smaller than +0.",
    ),
    Row(
        "clip",
        3,
        {
            "iu": "({0} > {2} ? ({2} > {1} ? {2} : {1}) : ({0} > {1} ? {0} : {1}))",
            "f": "lz_max(lz_min({0}, {2}), {1})",
        },
        numpy_ops.clip,
        doc="maximum(minimum(x, max), min).",
    ),
    Row(
        "clip_min",
        2,
        {"iu": "({0} > {1} ? {0} : {1})", "f": "lz_max({0}, {1})"},
        {"iu": np.maximum, "f": numpy_ops.maximum},
        doc="clip with a lower bound only.",
    ),
    Row(
        "clip_max",
        2,
        {"iu": "({0} < {1} ? {0} : {1})", "f": "lz_min({0}, {1})"},
        {"iu": np.minimum, "f": numpy_ops.minimum},
        doc="clip with an upper bound only.",
    ),
    Row(
        "where",
        3,
        {"biufc": "({0} ? {1} : {2})"},
        np.where,
        doc="The second operand where the first is True, else the third.",
    ),
]


def _rounding(name: str, function: Callable[..., Any], c: str, doc: str) -> Row:
    # np.rint would round int64 through float64
    numpy: dict[str, Callable[..., Any]] = {"iu": np.positive, "f": function}
    return Row(name, 1, {"iu": "({0})", **_maths(c)}, numpy, doc=doc)


_ROUNDING = [
    _rounding("ceil", np.ceil, "ceil", "Rounds up."),
    _rounding("floor", np.floor, "floor", "Rounds down."),
    _rounding("trunc", np.trunc, "trunc", "Rounds towards zero."),
    Row(
        "round",
        1,
        {"iu": "({0})", **_maths("rint"), "c": "lz_rint({0})"},
        {"iu": np.positive, "fc": np.rint},
        doc="Rounds to the nearest integer, halves to even.",
    ),
]

_PARTS = [
    Row("real", 1, {"f": "({0})", "c": "({0}.re)"}, np.real, out="real", doc="The real part."),
    Row("imag", 1, {"c": "({0}.im)"}, np.imag, out="real", doc="The imaginary part."),
    Row(
        "conj",
        1,
        {"iuf": "({0})", "c": "lz_conj({0})"},
        np.conjugate,
        doc="The complex conjugate; real numbers as they are.",
    ),
]


_OWN_FLOAT = ("atanh", "cosh", "log10")  # where the library is less accurate than its manual says


def _transcendental(
    name: str, real: Callable[..., Any], of_complex: Callable[..., Any], doc: str
) -> Row:
    c = {"f": f"lz_{name}({{0}})"} if name in _OWN_FLOAT else _maths(name)
    c["c"] = f"lz_c_{name}({{0}})"
    return Row(name, 1, c, {"f": real, "c": of_complex}, cost=10, doc=doc)


_FLOATING = [
    _transcendental("sqrt", np.sqrt, numpy_complex.sqrt, "The square root."),
    _transcendental("exp", np.exp, in_double(np.exp), "e to the power x."),
    _transcendental("expm1", np.expm1, numpy_complex.expm1, "exp(x) - 1, exact near 0."),
    _transcendental("log", np.log, in_double(np.log), "The natural logarithm."),
    _transcendental("log1p", np.log1p, numpy_complex.log1p, "log(1 + x), exact near 0."),
    _transcendental("log2", np.log2, numpy_complex.log2, "The logarithm to base 2."),
    _transcendental("log10", np.log10, numpy_complex.log10, "The logarithm to base 10."),
    _transcendental("sin", np.sin, in_double(np.sin), "The sine."),
    _transcendental("cos", np.cos, in_double(np.cos), "The cosine."),
    _transcendental("tan", np.tan, numpy_complex.tan, "The tangent."),
    _transcendental("asin", np.arcsin, in_extended(np.arcsin), "The inverse sine."),
    _transcendental("acos", np.arccos, in_extended(np.arccos), "The inverse cosine."),
    _transcendental("atan", np.arctan, in_extended(np.arctan), "The inverse tangent."),
    _transcendental("sinh", np.sinh, in_double(np.sinh), "The hyperbolic sine."),
    _transcendental("cosh", np.cosh, in_double(np.cosh), "The hyperbolic cosine."),
    _transcendental("tanh", np.tanh, numpy_complex.tanh, "The hyperbolic tangent."),
    _transcendental("asinh", np.arcsinh, in_extended(np.arcsinh), "The inverse hyperbolic sine."),
    _transcendental("acosh", np.arccosh, in_extended(np.arccosh), "The inverse hyperbolic cosine."),
    _transcendental(
        "atanh", np.arctanh, in_extended(np.arctanh), "The inverse hyperbolic tangent."
    ),
    Row(
        "atan2",
        2,
        {"f": "atan2{s}({0}, {1})"},
        np.arctan2,
        cost=20,
        doc="The angle of the point (x2, x1), by quadrant.",
    ),
    Row(
        "hypot",
        2,
        {"f": "hypot{s}({0}, {1})"},
        np.hypot,
        cost=10,
        doc="sqrt(x1**2 + x2**2) without overflow on the way.",
    ),
    Row(
        "logaddexp",
        2,
        {"f": "lz_logaddexp({0}, {1})"},
        np.logaddexp,
        cost=20,
        doc="log(exp(x1) + exp(x2)) without overflow on the way.",
    ),
    Row(
        "copysign",
        2,
        {"f": "copysign{s}({0}, {1})"},
        np.copysign,
        doc="The magnitude of the first with the sign of the second.",
    ),
    Row(
        "nextafter",
        2,
        {"f": "nextafter{s}({0}, {1})"},
        np.nextafter,
        doc="The next representable number after the first, towards the second.",
    ),
]

ROWS: list[Row] = [
    *_ARITHMETIC,
    *_BITWISE,
    *_COMPARISONS,
    *_SELECTION,
    *_ROUNDING,
    *_PARTS,
    *_FLOATING,
]


def cast_template(src: DType, dst: DType) -> str:
    """The C template, over ``{0}``, that converts `src` to `dst`. See `optable.cast_spec`."""
    if src == dst:
        return "({0})"
    if src.kind == "c":
        if dst.kind == "c":
            part = dt.c_type(dt.real_of(dst))
            return f"lz_complex(({part}){{0}}.re, ({part}){{0}}.im)"
        if dst.kind == "b":
            return "({0}.re != 0 || {0}.im != 0)"
        return _real_cast("{0}.re", dt.real_of(src), dst)
    if dst.kind == "c":
        part_dtype = dt.real_of(dst)
        part = dt.c_type(part_dtype)
        return f"lz_complex({_real_cast('{0}', src, part_dtype)}, ({part})0)"
    return _real_cast("{0}", src, dst)


def _real_cast(operand: str, src: DType, dst: DType) -> str:
    if dst.kind == "b":
        return f"({operand} != 0)"
    if src.kind == "f" and dst.kind in "iu":
        return f"lz_saturate<{dt.c_type(dst)}>({operand})"
    return f"(({dt.c_type(dst)}){operand})"
