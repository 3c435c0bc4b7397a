"""Element-wise functions: one line an operation, made from its row of the op table.

All are lazy: they build a node, copy nothing and force nothing. Operands broadcast and promote by
the standard's rules; one of two operands may be a Python or NumPy scalar.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._array import Array, _binary, copy_of, elementwise
from ..graph.optable import OPS, Op
from ._common import check_array

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]

_RESULT = {
    "same": "the promoted dtype of the operands",
    "bool": "bool",
    "real": "the operands' dtype; of a complex array, that of its parts",
}


def _document(function: Any, op: Op) -> None:
    """Name and document a function of the table."""
    x = "x" if op.arity == 1 else "x1, x2"
    function.__name__ = function.__qualname__ = op.name
    function.__module__ = __name__
    function.__doc__ = f"""{op.doc}

    Parameters
    ----------
    {x} : Array
        Of {op.row.accepted()} dtype.{"" if op.arity == 1 else " One may be a scalar."}

    Returns
    -------
    Array
        Of the {"shape of x" if op.arity == 1 else "broadcast shape"}; dtype: {_RESULT[op.row.out]}.
        Lazy: nothing is forced or copied.

    Raises
    ------
    TypeError
        For other dtypes{"" if op.arity == 1 else ", or dtypes without a common one"}.
    """
    if op.arity == 2:
        function.__doc__ += """ValueError
        For shapes that do not broadcast, or arrays on different devices.
    """


def unary(name: str) -> Callable[[Array], Array]:
    """Return the public function of a unary operation."""
    op = OPS[name]

    def function(x: Array, /) -> Array:
        return elementwise(op, x)

    _document(function, op)
    return function


def binary(name: str) -> Callable[[Any, Any], Array]:
    """Return the public function of a binary operation."""
    op = OPS[name]

    def function(x1: Any, x2: Any, /) -> Array:
        if type(x1) is Array:
            result = _binary(op, x1, x2, False)
            if result is not NotImplemented:
                return result  # type: ignore[no-any-return]
        return elementwise(op, x1, x2)

    _document(function, op)
    return function


abs = unary("abs")
acos = unary("acos")
acosh = unary("acosh")
add = binary("add")
asin = unary("asin")
asinh = unary("asinh")
atan = unary("atan")
atan2 = binary("atan2")
atanh = unary("atanh")
bitwise_and = binary("bitwise_and")
bitwise_invert = unary("bitwise_invert")
bitwise_left_shift = binary("bitwise_left_shift")
bitwise_or = binary("bitwise_or")
bitwise_right_shift = binary("bitwise_right_shift")
bitwise_xor = binary("bitwise_xor")
ceil = unary("ceil")
conj = unary("conj")
copysign = binary("copysign")
cos = unary("cos")
cosh = unary("cosh")
divide = binary("divide")
equal = binary("equal")
exp = unary("exp")
expm1 = unary("expm1")
floor = unary("floor")
floor_divide = binary("floor_divide")
greater = binary("greater")
greater_equal = binary("greater_equal")
hypot = binary("hypot")
imag = unary("imag")
isfinite = unary("isfinite")
isinf = unary("isinf")
isnan = unary("isnan")
less = binary("less")
less_equal = binary("less_equal")
log = unary("log")
log10 = unary("log10")
log1p = unary("log1p")
log2 = unary("log2")
logaddexp = binary("logaddexp")
logical_and = binary("logical_and")
logical_not = unary("logical_not")
logical_or = binary("logical_or")
logical_xor = binary("logical_xor")
maximum = binary("maximum")
minimum = binary("minimum")
multiply = binary("multiply")
negative = unary("negative")
nextafter = binary("nextafter")
not_equal = binary("not_equal")
positive = unary("positive")
pow = binary("pow")
real = unary("real")
reciprocal = unary("reciprocal")
remainder = binary("remainder")
round = unary("round")
sign = unary("sign")
signbit = unary("signbit")
sin = unary("sin")
sinh = unary("sinh")
sqrt = unary("sqrt")
square = unary("square")
subtract = binary("subtract")
tan = unary("tan")
tanh = unary("tanh")
trunc = unary("trunc")


def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    """Return ``maximum(minimum(x, max), min)``; a bound that is None is not applied.

    Parameters
    ----------
    x : Array
        Of a real dtype.
    min, max : Array or scalar, optional
        Broadcast with x; NaN bounds give NaN.

    Returns
    -------
    Array
        Of the broadcast shape and the promoted dtype. Lazy: nothing is forced or copied.

    Raises
    ------
    TypeError
        For bool or complex dtypes.
    """
    check_array(x, "clip")
    if min is None and max is None:
        if x.dtype.kind not in "iuf":
            raise TypeError(f"clip is not defined for {x.dtype}; it takes real dtypes")
        return copy_of(x)
    if max is None:
        return elementwise(OPS["clip_min"], x, min)
    if min is None:
        return elementwise(OPS["clip_max"], x, max)
    return elementwise(OPS["clip"], x, min, max)
