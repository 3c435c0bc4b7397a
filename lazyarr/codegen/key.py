"""Kernel keys: all that the generated source depends on, and nothing else.

Shapes, strides, offsets and scalars are not in a key; they are kernel parameters. Structure,
dtypes, rank, access modes, index width and vector width are. Keys are compared in full; the disk
cache's key is the source text they generate, with compiler, options and architecture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:  # a key holds specs of the op table above, and asks them only for C text
    from ..graph.optable import ReduceSpec, Spec

DType = np.dtype[Any]


class Load(NamedTuple):
    """The element of an operand at the current coordinates."""

    operand: int
    kind: str = "load"  # tuples compare by fields alone: Load(0) must not equal Param(0)


class Param(NamedTuple):
    """A scalar parameter."""

    scalar: int
    kind: str = "param"


class Index(NamedTuple):
    """A function of the linear index of the node's own space; scalars are parameters."""

    c: str
    dtype: DType
    scalars: tuple[int, ...]


class Apply(NamedTuple):
    """An element-wise operation on earlier instructions."""

    spec: Spec
    args: tuple[int, ...]


class Gather(NamedTuple):
    """An element of an operand, moved by computed indices.

    ``indices`` are instructions; ``scalars`` holds a stride and a size (parameters) for each, and
    ``axes`` what to call them. ``checked``: an index out of range is recorded, and read as 0; the
    last of ``scalars`` is then the number of the user's line.
    """

    operand: int
    indices: tuple[int, ...]
    scalars: tuple[int, ...]
    axes: tuple[int, ...]
    checked: bool


class Reduced(NamedTuple):
    """The result of one of the kernel's own reductions, for the row at hand."""

    reduction: int
    dtype: DType


Instruction = Load | Param | Index | Apply | Gather | Reduced


class Operand(NamedTuple):
    """An array that a kernel reads, and how.

    Modes of map kernels: ``flat`` (in order), ``scalar`` (one element), ``run`` (vectors along the
    last axis), ``repeat`` (constant along it), ``each`` (any strides). Reductions use ``run``,
    ``repeat``, ``each`` along the reduced axes, and ``scalar``; passes also ``row``: one element a
    row.
    """

    dtype: DType
    mode: str


class Output(NamedTuple):
    """A result that a kernel stores: an instruction, and how it is written.

    With ``indices`` (instructions, with a stride and a size parameter each) the place is moved by
    them; an element whose index is out of range is not written.
    """

    instruction: int
    dtype: DType
    mode: str
    indices: tuple[int, ...] = ()
    scalars: tuple[int, ...] = ()


class MapKey(NamedTuple):
    """An element-wise kernel over a space of ``ndim`` collapsed axes.

    ``rows``: a thread takes this many elements along the last axis; ``spread``: of the whole space,
    wherever rows end (see ``codegen.rows``). Where both are 0 it takes one vector.
    """

    body: tuple[Instruction, ...]
    operands: tuple[Operand, ...]
    outputs: tuple[Output, ...]
    scalars: tuple[DType, ...]
    ndim: int
    wide: bool
    vector: int
    rows: int = 0
    spread: int = 0


class BoxKey(NamedTuple):
    """``inside`` the box one body, outside it another; one output, in order.

    ``stepped[d]`` says whether the box skips elements along axis d, ``whole[d]`` whether it spans
    the axis. Operands of the inner body are read at the box's coordinates.
    """

    inside: MapKey
    outside: MapKey
    stepped: tuple[bool, ...]
    whole: tuple[bool, ...]


class ReduceKey(NamedTuple):
    """Reductions of one space over the same axes, with their element-wise producers.

    ``reductions`` pairs a spec with the instruction it reduces. ``lanes`` and ``split`` belong to
    the order of combination; ``schedule``, ``vector`` and the rest do not change a result.
    ``ragged``: the last vector of a row may be cut short.
    """

    body: tuple[Instruction, ...]
    operands: tuple[Operand, ...]
    reductions: tuple[tuple[ReduceSpec, int], ...]
    scalars: tuple[DType, ...]
    kept: int
    reduced: int
    schedule: str
    lanes: int
    split: bool
    wide: bool
    vector: int
    ragged: bool


class PassesKey(NamedTuple):
    """Reductions over the rows of one space, and what is computed between and after them.

    As ``ReduceKey``, in the row schedule and one chunk. A pass over the row serves all reductions
    that wait for the same earlier ones; a last pass stores the outputs. Outputs of mode ``row``
    hold one element a row. ``held``: in so many rounds a group of threads walks a row whose
    operands it holds in registers from pass to pass; 0: it reads them again.
    """

    body: tuple[Instruction, ...]
    operands: tuple[Operand, ...]
    reductions: tuple[tuple[ReduceSpec, int], ...]
    outputs: tuple[Output, ...]
    scalars: tuple[DType, ...]
    kept: int
    reduced: int
    lanes: int
    wide: bool
    vector: int
    ragged: bool
    held: int = 0


class TextKey(NamedTuple):
    """A hand-written kernel of ``kernels/``, with the definitions that specialise it."""

    name: str
    function: str
    text: str


KernelKey = MapKey | BoxKey | ReduceKey | PassesKey | TextKey


def is_checked(body: tuple[Instruction, ...]) -> bool:
    """Whether a body records indices that are out of range."""
    return any(isinstance(i, Gather) and i.checked for i in body)
