"""Element-wise functions: one line an operation, made from its row of the op table.

All are lazy: they build a node, copy nothing and force nothing. Operands broadcast and promote by
the standard's rules; one of two operands may be a Python or NumPy scalar.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._array import Array, binary, copy_of, elementwise
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


def _unary(name: str) -> Callable[[Array], Array]:
    """Return the public function of a unary operation."""
    op = OPS[name]

    def function(x: Array, /) -> Array:
        return elementwise(op, x)

    _document(function, op)
    return function


def _binary(name: str) -> Callable[[Any, Any], Array]:
    """Return the public function of a binary operation."""
    op = OPS[name]

    def function(x1: Any, x2: Any, /) -> Array:
        if type(x1) is Array:
            result = binary(op, x1, x2, False)
            if result is not NotImplemented:
                return result  # type: ignore[no-any-return]
        return elementwise(op, x1, x2)

    _document(function, op)
    return function


abs = _unary("abs")
acos = _unary("acos")
acosh = _unary("acosh")
add = _binary("add")
asin = _unary("asin")
asinh = _unary("asinh")
atan = _unary("atan")
atan2 = _binary("atan2")
atanh = _unary("atanh")
bitwise_and = _binary("bitwise_and")
bitwise_invert = _unary("bitwise_invert")
bitwise_left_shift = _binary("bitwise_left_shift")
bitwise_or = _binary("bitwise_or")
bitwise_right_shift = _binary("bitwise_right_shift")
bitwise_xor = _binary("bitwise_xor")
ceil = _unary("ceil")
conj = _unary("conj")
copysign = _binary("copysign")
cos = _unary("cos")
cosh = _unary("cosh")
divide = _binary("divide")
equal = _binary("equal")
exp = _unary("exp")
expm1 = _unary("expm1")
floor = _unary("floor")
floor_divide = _binary("floor_divide")
greater = _binary("greater")
greater_equal = _binary("greater_equal")
hypot = _binary("hypot")
imag = _unary("imag")
isfinite = _unary("isfinite")
isinf = _unary("isinf")
isnan = _unary("isnan")
less = _binary("less")
less_equal = _binary("less_equal")
log = _unary("log")
log10 = _unary("log10")
log1p = _unary("log1p")
log2 = _unary("log2")
logaddexp = _binary("logaddexp")
logical_and = _binary("logical_and")
logical_not = _unary("logical_not")
logical_or = _binary("logical_or")
logical_xor = _binary("logical_xor")
maximum = _binary("maximum")
minimum = _binary("minimum")
multiply = _binary("multiply")
negative = _unary("negative")
nextafter = _binary("nextafter")
not_equal = _binary("not_equal")
positive = _unary("positive")
pow = _binary("pow")
real = _unary("real")
reciprocal = _unary("reciprocal")
remainder = _binary("remainder")
round = _unary("round")
sign = _unary("sign")
signbit = _unary("signbit")
sin = _unary("sin")
sinh = _unary("sinh")
sqrt = _unary("sqrt")
square = _unary("square")
subtract = _binary("subtract")
tan = _unary("tan")
tanh = _unary("tanh")
trunc = _unary("trunc")


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
