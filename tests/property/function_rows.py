"""What the rows of the table of functions share: ``Row``, dtypes, shapes, tame values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .drawing import SHAPES, Call, Choose, Operand, numpy_view, operand
from .outcomes import same
from .support import Shape

# In the order of preference of the one fixed call.
DTYPES = [
    "float64", "float32", "int64", "int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64",
    "bool", "complex128", "complex64",
]  # fmt: skip
STRICT = "strict"  # reference: array_api_strict instead of NumPy


class Row(NamedTuple):
    """A function: its calls, its reference, the comparison, and when it runs."""

    draw: Callable[[Choose], Call]
    reference: Any = None  # on NumPy's arrays; None: NumPy's function of the same name
    compare: Callable[[Any, Any, Call], None] = same
    runs: str = "lazy"  # "lazy", "view", "at the call" or "metadata"
    control: int = 0  # small reads that steer, in the fixed call and its evaluation
    strict: bool = True  # array_api_strict gives the same shapes and dtypes
    note: str = ""  # for the page


def find(ns: Any, name: str) -> Any:
    """Return a function of a namespace, None where it is missing."""
    for part in name.split("."):
        ns = getattr(ns, part, None)
    return ns


def dtype_of(choose: Choose, kinds: str) -> str:
    return str(choose.one_of([d for d in DTYPES if np.dtype(d).kind in kinds]))


def shape_of(choose: Choose, least: int = 0, *, empty: bool = True) -> Shape:
    shapes = [s for s in SHAPES if len(s) >= least and (empty or 0 not in s)]
    return tuple(choose.one_of(shapes))


def array_of(choose: Choose, kinds: str, least: int = 0, **how: bool) -> Operand:
    """Return an array of one of the kinds, with ``least`` axes or more."""
    shape = shape_of(choose, least, empty=how.pop("empty", True))
    return operand(choose, shape, dtype_of(choose, kinds), **how)


def mapped(o: Operand, function: Callable[[Any], Any]) -> Operand:
    """Return an operand with a function applied to its data."""
    with np.errstate(all="ignore"):
        return o._replace(base=np.asarray(function(o.base), o.base.dtype))


def tame(o: Operand, most: float = 2.0) -> Operand:
    """Return an operand whose floats, or parts, are small: products of them do not overflow."""
    if o.base.dtype.kind == "c":
        return mapped(o, lambda x: _clipped(x.real, most) + 1j * _clipped(x.imag, most))
    return mapped(o, lambda x: _clipped(x, most)) if o.base.dtype.kind == "f" else o


def _clipped(x: Any, most: float) -> Any:
    return np.clip(x, -most, most)


def laid_shape(o: Operand) -> Shape:
    """Return the shape of an operand's layout."""
    return tuple(numpy_view(o).shape)
