"""The rows of the op table for reductions: data, no behaviour.

Type placeholders are those of `optable.fill_types`, filled in for the accumulator's dtype;
functions named ``lz_`` are in ``kernels/lazyarr.cuh``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _dtypes as dt
from .._dtypes import DType
from . import numpy_ops


@dataclass(frozen=True, slots=True)
class Lane:
    """How a lane gathers its elements, where it does not combine accumulators of one each.

    C text: the type of what a lane holds, its value before the first element, ``add`` over ``{a}``
    and ``{x}`` (a loaded element), and ``settle`` over ``{a}``: the accumulator it amounts to.
    """

    c_type: str
    start: str
    add: str
    settle: str


@dataclass(frozen=True, slots=True)
class ReduceRow:
    """One reduction. Mappings are looked up by the kind letter of the accumulator's dtype."""

    name: str
    kinds: str  # accepted kind letters
    acc: str  # the accumulator's dtype: "wide" (64-bit for integers), "same", or a dtype name
    identity: Mapping[str, str]
    combine: Mapping[str, str]
    numpy: Callable[..., Any]
    load: str = "cast"  # "cast" to the accumulator, "nonzero", or a template
    finish: str | Mapping[str, str] = "({a})"
    acc_c_type: str = "{T}"
    acc_bytes: int = 0  # 0: as many as the accumulator's dtype
    lane: Lane | None = None
    out: DType | None = None  # None: the accumulator's dtype
    takes_dtype: bool = False
    is_pair: bool = False
    doc: str = ""

    def accumulator(self, dtype: DType) -> DType:
        """The accumulator's dtype for elements of `dtype`, where the caller asks for none."""
        if self.acc == "wide":
            return {"i": dt.int64, "u": dt.uint64}.get(dtype.kind, dtype)
        return dtype if self.acc == "same" else dt.as_dtype(np.dtype(self.acc))

    def combine_for(self, kind: str) -> str:
        """The combine template for a kind letter."""
        return _by_kind(self.combine, kind)

    def finish_for(self, kind: str) -> str:
        """The finish template for a kind letter."""
        return self.finish if isinstance(self.finish, str) else _by_kind(self.finish, kind)

    def identity_for(self, acc: DType) -> str:
        """The identity, with ``{min}`` and ``{max}`` of an integer accumulator filled in."""
        text = _by_kind(self.identity, acc.kind)
        if acc.kind in "iu":
            for mark, value in (("{min}", np.iinfo(acc).min), ("{max}", np.iinfo(acc).max)):
                text = text.replace(mark, _c_integer(int(value)))
        return text


def _by_kind(mapping: Mapping[str, str], kind: str) -> str:
    return next(text for kinds, text in mapping.items() if kind in kinds)


def _c_integer(value: int) -> str:
    """`value` as a C constant; -2**63 has no literal of its own, only as a difference."""
    if value < 0:
        return f"(-{-(value + 1)}ll - 1)"
    return f"{value}ull"


_WRAP_ADD = "(({T})(({W}){a} + ({W}){b}))"
_WRAP_MUL = "(({T})(({W}){a} * ({W}){b}))"
# -0 is the identity of addition: +0 would turn a sum of nothing but -0 into +0.
_SUM_IDENTITY = {
    "iu": "(({T})0)",
    "f": "(({T})-0.0)",
    "c": "lz_complex(({R})-0.0, ({R})-0.0)",
}
_DISTANCES = Lane(
    "lz_distances", "lz_distances()", "lz_add_distance<{T}>({a}, {x})", "lz_settle({a})"
)
_SUM = {"iu": _WRAP_ADD, "f": "({a} + {b})", "c": "lz_add({a}, {b})"}

ROWS: list[ReduceRow] = [
    ReduceRow(
        "sum",
        "iufc",
        "wide",
        _SUM_IDENTITY,
        _SUM,
        numpy_ops.reduce_sum,
        takes_dtype=True,
        doc="The sum; integers accumulate in 64 bits and wrap.",
    ),
    ReduceRow(
        "prod",
        "iufc",
        "wide",
        {"iuf": "(({T})1)", "c": "lz_complex(({R})1, ({R})0)"},
        {"iu": _WRAP_MUL, "f": "({a} * {b})", "c": "lz_mul({a}, {b})"},
        numpy_ops.reduce_prod,
        takes_dtype=True,
        doc="The product; integers accumulate in 64 bits and wrap.",
    ),
    ReduceRow(
        "mean",
        "fc",
        "same",
        _SUM_IDENTITY,
        _SUM,
        numpy_ops.reduce_mean,
        finish={"f": "({a} / ({T}){n})", "c": "lz_div_real({a}, ({R}){n})"},
        doc="The arithmetic mean.",
    ),
    ReduceRow(
        "max",
        "iuf",
        "same",
        {"iu": "(({T}){min})", "f": "(-lz_inf<{T}>())"},
        {"iu": "({a} > {b} ? {a} : {b})", "f": "lz_max({a}, {b})"},
        numpy_ops.reduce_max,
        doc="The largest element; NaN propagates, and +0 is larger than -0.",
    ),
    ReduceRow(
        "min",
        "iuf",
        "same",
        {"iu": "(({T}){max})", "f": "lz_inf<{T}>()"},
        {"iu": "({a} < {b} ? {a} : {b})", "f": "lz_min({a}, {b})"},
        numpy_ops.reduce_min,
        doc="The smallest element; NaN propagates, and -0 is smaller than +0.",
    ),
    ReduceRow(
        "any",
        "biufc",
        "bool",
        {"b": "(false)"},
        {"b": "({a} || {b})"},
        numpy_ops.reduce_any,
        load="nonzero",
        doc="Whether any element is nonzero; NaN is.",
    ),
    ReduceRow(
        "all",
        "biufc",
        "bool",
        {"b": "(true)"},
        {"b": "({a} && {b})"},
        numpy_ops.reduce_all,
        load="nonzero",
        doc="Whether every element is nonzero; NaN is.",
    ),
    ReduceRow(
        "count_nonzero",
        "biufc",
        "int64",
        {"i": "(({T})0)"},
        {"i": _WRAP_ADD},
        numpy_ops.reduce_count_nonzero,
        load="nonzero",
        doc="How many elements are nonzero; NaN is.",
    ),
    ReduceRow(
        "argmax",
        "iuf",
        "same",
        {
            "iu": "lz_make_pair<{T}>({min}, lz_no_index)",
            "f": "lz_make_pair(-lz_inf<{T}>(), lz_no_index)",
        },
        {"iuf": "lz_argmax({a}, {b})"},
        numpy_ops.reduce_argmax,
        load="lz_make_pair<{T}>({x}, {k})",
        finish="({a}.k)",
        acc_c_type="lz_pair<{T}>",
        acc_bytes=16,
        out=dt.int64,
        is_pair=True,
        doc="The index of the first largest element; the first NaN wins.",
    ),
    ReduceRow(
        "argmin",
        "iuf",
        "same",
        {
            "iu": "lz_make_pair<{T}>({max}, lz_no_index)",
            "f": "lz_make_pair(lz_inf<{T}>(), lz_no_index)",
        },
        {"iuf": "lz_argmin({a}, {b})"},
        numpy_ops.reduce_argmin,
        load="lz_make_pair<{T}>({x}, {k})",
        finish="({a}.k)",
        acc_c_type="lz_pair<{T}>",
        acc_bytes=16,
        out=dt.int64,
        is_pair=True,
        doc="The index of the first smallest element; the first NaN wins.",
    ),
    ReduceRow(
        "var",
        "f",
        "same",
        {"f": "lz_moments()"},
        {"f": "lz_join({a}, {b})"},
        numpy_ops.reduce_var,
        finish="(({T})({a}.squares / (double){n}))",
        acc_c_type="lz_moments",
        acc_bytes=32,
        lane=_DISTANCES,
        doc="The mean of the squared distances from the mean.",
    ),
    ReduceRow(
        "squared_deviations",
        "f",
        "same",
        {"f": "lz_moments()"},
        {"f": "lz_join({a}, {b})"},
        numpy_ops.reduce_squared_deviations,
        finish="({a}.squares)",
        acc_c_type="lz_moments",
        acc_bytes=32,
        lane=_DISTANCES,
        out=dt.float64,
        doc="The sum of the squared distances from the mean, in float64.",
    ),
]
