"""THE op table: one row an operation, resolved to interned specs for concrete dtypes.

Owns `OPS` (element-wise operations), `REDUCE_OPS`, and the casts. The rows are data in
`oprows_elementwise` and `oprows_reduction`; public functions, operators, generated code, the NumPy
side and tests derive from them. Imports the rows, `_dtypes` and `_promotion`.

C templates. A spec's ``c`` is a ``str.format`` template over ``{0}``, ``{1}``, ``{2}``: one
parenthesised expression whose C type is exactly that of ``out_dtype``. It may use an operand more
than once or not at all, so pass names and constants, not expressions with effects.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _dtypes as dt
from .._dtypes import DType
from .._promotion import result_dtype
from . import oprows_elementwise, oprows_reduction
from .numpy_ops import cast_to
from .oprows_elementwise import Row
from .oprows_reduction import Lane, ReduceRow

NDArray = npt.NDArray[Any]

_codes = itertools.count(1)


@dataclass(frozen=True, slots=True, eq=False)
class Spec:
    """One operation for concrete input dtypes. Interned: compare and hash by identity."""

    op: Op
    in_dtypes: tuple[DType, ...]
    compute: tuple[DType, ...]  # what each operand is converted to before the expression
    out_dtype: DType
    c: str
    numpy: Callable[..., NDArray]  # takes arrays of the `compute` dtypes; warns of nothing
    cost: int  # rough instruction count: 1 cheap, 10 transcendental, 20 division and powers
    code: int  # unique in this process only: never write it to disk

    def __repr__(self) -> str:
        return f"<{self.op.name}({', '.join(map(str, self.in_dtypes))}) -> {self.out_dtype}>"


class Op:
    """One element-wise operation: a row of the table and its specs so far.

    Hot paths look in ``specs`` directly (``op.specs.get((da, db))``) and call `resolve` on a miss.
    """

    __slots__ = ("arity", "doc", "dunder", "name", "reflected", "inplace", "row", "specs")

    def __init__(self, row: Row) -> None:
        self.row = row
        self.name = row.name
        self.arity = row.arity
        self.doc = row.doc
        self.dunder = f"__{row.operator}__" if row.operator else ""
        reversible = row.arity == 2 and row.out != "bool"  # Python has no __req__ or __ieq__
        self.reflected = f"__r{row.operator}__" if row.operator and reversible else ""
        self.inplace = f"__i{row.operator}__" if row.operator and reversible else ""
        self.specs: dict[tuple[DType, ...], Spec] = {}

    def __repr__(self) -> str:
        return f"<Op {self.name}>"

    def resolve(self, *dtypes: DType) -> Spec:
        """The spec for operands of `dtypes`; TypeError where the operation does not accept them."""
        spec = self.specs.get(dtypes)
        if spec is None:
            # setdefault, because two threads may get here at once and specs are interned
            spec = self.specs.setdefault(dtypes, self._build(dtypes))
        return spec

    def _build(self, dtypes: tuple[DType, ...]) -> Spec:
        row = self.row
        if len(dtypes) != row.arity:
            raise TypeError(f"{self.name} takes {row.arity} operands, not {len(dtypes)}")
        compute = self._compute_dtypes(dtypes)
        common = compute[-1]
        template = row.template(common.kind)
        if template is None:
            raise TypeError(
                f"{self.name} is not defined for {' and '.join(map(str, dtypes))}; "
                f"it takes {row.accepted()} dtypes"
            )
        out = {"same": common, "bool": dt.bool_, "real": dt.real_of(common)}[row.out]
        return Spec(
            op=self,
            in_dtypes=dtypes,
            compute=compute,
            out_dtype=out,
            c=fill_types(template, common),
            numpy=_quiet(row.numpy_for(common.kind), out),
            cost=row.cost,
            code=next(_codes),
        )

    def _compute_dtypes(self, dtypes: tuple[DType, ...]) -> tuple[DType, ...]:
        """Every operand promoted to the common dtype; the condition of ``where`` stays apart."""
        if self.name != "where":
            try:
                return (reduce(result_dtype, dtypes),) * len(dtypes)
            except TypeError as error:
                raise TypeError(f"{self.name}: {error}") from None
        condition, *values = dtypes
        if condition != dt.bool_:
            raise TypeError(f"where needs a bool condition, not {condition}")
        return (condition, *[reduce(result_dtype, values)] * 2)


def fill_types(template: str, dtype: DType) -> str:
    """`template` with the type placeholders of a row filled in for `dtype`.

    ``{T}`` is the C type, ``{W}`` the unsigned type that its arithmetic wraps in, ``{R}`` the C
    type of the parts, ``{s}`` the suffix of C's maths functions. ``{0}``, ``{1}`` ... stay.
    """
    real = dt.real_of(dtype)
    types = {
        "{T}": dt.c_type(dtype),
        # below int, C would promote to signed int, whose overflow is undefined
        "{W}": "unsigned long long" if dtype.itemsize == 8 else "unsigned int",
        "{R}": dt.c_type(real),
        "{s}": "f" if real == dt.float32 else "",
    }
    for mark, text in types.items():
        template = template.replace(mark, text)
    return template


def _quiet(function: Callable[..., Any], out: DType) -> Callable[..., NDArray]:
    """`function` without warnings, always returning an array (NumPy gives scalars for 0-d)."""

    def run(*arrays: NDArray) -> NDArray:
        with np.errstate(all="ignore"):
            return np.asarray(function(*arrays), dtype=out)

    return run


OPS: dict[str, Op] = {row.name: Op(row) for row in oprows_elementwise.ROWS}

_CAST = Op(Row("cast", 1, {"biufc": "{0}"}, np.positive, doc="Converts to another dtype."))
_CAST_SPECS: dict[tuple[DType, DType], Spec] = {}


def cast_spec(src: DType, dst: DType) -> Spec:
    """The conversion of `src` to `dst` as a unary spec. Of a complex value, the real part is taken.

    Integers wrap, floats saturate to integers with NaN as 0, and nonzero is True.
    """
    spec = _CAST_SPECS.get((src, dst))
    if spec is None:
        built = Spec(
            op=_CAST,
            in_dtypes=(src,),
            compute=(src,),
            out_dtype=dst,
            c=oprows_elementwise.cast_template(src, dst),
            numpy=_quiet(lambda x: cast_to(x, dst), dst),
            cost=1,
            code=next(_codes),
        )
        spec = _CAST_SPECS.setdefault((src, dst), built)
    return spec


@dataclass(frozen=True, slots=True, eq=False)
class ReduceSpec:
    """One reduction for concrete dtypes. Interned: compare and hash by identity.

    Templates: ``load`` over ``{x}`` (an element of `in_dtype`) and ``{k}`` (its long long index
    along the reduced axes), ``combine`` over ``{a}`` and ``{b}`` (accumulators; a's elements come
    first), ``finish`` over ``{a}`` and ``{n}`` (long long: how many elements were reduced).
    """

    op: ReduceOp
    in_dtype: DType
    acc_c_type: str
    acc_bytes: int
    lane: Lane | None  # None: a lane combines its elements as accumulators
    out_dtype: DType
    identity: str  # a C expression; combine(identity, x) is x, to the bit
    load: str
    combine: str
    finish: str
    numpy: Callable[[NDArray, tuple[int, ...], bool], NDArray]  # array, axes, keepdims
    is_pair: bool  # the accumulator is a value and an index: warp shuffles take two words
    code: int

    def __repr__(self) -> str:
        return f"<{self.op.name}({self.in_dtype}) -> {self.out_dtype}>"


class ReduceOp:
    """One reduction: a row of the table and its specs so far, by (input dtype, asked dtype)."""

    __slots__ = ("doc", "name", "row", "specs")

    def __init__(self, row: ReduceRow) -> None:
        self.row = row
        self.name = row.name
        self.doc = row.doc
        self.specs: dict[tuple[DType, DType | None], ReduceSpec] = {}

    def __repr__(self) -> str:
        return f"<ReduceOp {self.name}>"

    def resolve(self, dtype: DType, out: DType | None = None) -> ReduceSpec:
        """The spec for an array of `dtype`; `out` is the ``dtype=`` of ``sum`` and ``prod``."""
        spec = self.specs.get((dtype, out))
        if spec is None:
            spec = self.specs.setdefault((dtype, out), self._build(dtype, out))
        return spec

    def _build(self, dtype: DType, asked: DType | None) -> ReduceSpec:
        row = self.row
        if dtype.kind not in row.kinds:
            raise TypeError(
                f"{self.name} is not defined for {dtype}; it takes "
                f"{oprows_elementwise.kind_names(row.kinds)} dtypes"
            )
        if asked is not None and not row.takes_dtype:
            raise TypeError(f"{self.name} takes no dtype")
        if asked is not None and (asked.kind == "b" or (dtype.kind == "c" and asked.kind != "c")):
            raise TypeError(f"{self.name} of {dtype} cannot accumulate in {asked}")
        acc = asked or row.accumulator(dtype)
        kind = acc.kind
        return ReduceSpec(
            op=self,
            in_dtype=dtype,
            acc_c_type=fill_types(row.acc_c_type, acc),
            acc_bytes=row.acc_bytes or acc.itemsize,
            lane=self._lane(acc),
            out_dtype=row.out or acc,
            identity=fill_types(row.identity_for(acc), acc),
            load=fill_types(self._load(dtype, acc), acc),
            combine=fill_types(row.combine_for(kind), acc),
            finish=fill_types(row.finish_for(kind), acc),
            numpy=_quiet_reduce(row.numpy, acc if row.load == "cast" else None, row.out or acc),
            is_pair=row.is_pair,
            code=next(_codes),
        )

    def _lane(self, acc: DType) -> Lane | None:
        lane = self.row.lane
        if lane is None:
            return None
        return Lane(*[fill_types(getattr(lane, f.name), acc) for f in fields(lane)])

    def _load(self, dtype: DType, acc: DType) -> str:
        if self.row.load == "cast":
            return cast_spec(dtype, acc).c.format("{x}")
        if self.row.load == "nonzero":
            return f"(({{T}}){cast_spec(dtype, dt.bool_).c.format('{x}')})"
        return self.row.load


def _quiet_reduce(
    function: Callable[..., Any], cast: DType | None, out: DType
) -> Callable[[NDArray, tuple[int, ...], bool], NDArray]:
    def run(array: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
        with np.errstate(all="ignore"):
            if cast is not None:
                array = cast_to(array, cast)
            return np.asarray(function(array, axes, keepdims), dtype=out)

    return run


REDUCE_OPS: dict[str, ReduceOp] = {row.name: ReduceOp(row) for row in oprows_reduction.ROWS}
