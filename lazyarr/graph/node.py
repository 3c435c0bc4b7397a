"""The graph: values, and the cells whose current value they are.

Owns ``Value`` (one node; what it computes never changes), ``Cell`` (what a write re-points) and
the small specs of nodes that are no operation of the op table: leaves, constants, index functions.

A pending Value has edges; ``make_real`` gives it a storage, once, and drops them. Edges point to
Values, never to Cells: an operation captures the value its operand has at the call, and a later
write cannot reach it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from .._devices import Device
from ..storage.storage import Storage, uses
from .optable import Spec, cast_spec
from .views import Shape, size_of

DType = np.dtype[Any]

# Bounds on laziness: a value whose tree is larger is evaluated when it is built. The work counts
# operations and leaves of the tree, shared parts as often as they are used; leaves of half the
# device's memory together count as much as it takes.
MAX_WORK: Final = 120
CHECKED_GATHERS: Final[list[GatherSpec]] = []  # made in this process: most make none
_HALF_OF_MEMORY: Final = 2 * MAX_WORK


class LeafSpec:
    """A value that was real from the start."""

    __slots__ = ("out_dtype",)

    def __init__(self, dtype: DType) -> None:
        self.out_dtype = dtype


class ConstSpec:
    """One scalar, repeated: ``Value.extra`` is a Python or NumPy scalar, a kernel parameter."""

    __slots__ = ("out_dtype",)

    def __init__(self, dtype: DType) -> None:
        self.out_dtype = dtype


class IndexSpec:
    """A function of the linear index ``{i}`` and of the scalars ``{0}`` ... in ``Value.extra``."""

    __slots__ = ("c", "name", "numpy", "out_dtype", "scalars")

    def __init__(
        self, name: str, dtype: DType, scalars: tuple[DType, ...], c: str, numpy: Any
    ) -> None:
        self.name = name
        self.out_dtype = dtype
        self.scalars = scalars
        self.c = c
        self.numpy = numpy


class BoxSpec:
    """``args[0]`` inside a box of ``args[1]``, which stays outside it; ``extra`` holds the box."""

    __slots__ = ("out_dtype",)

    def __init__(self, dtype: DType) -> None:
        self.out_dtype = dtype


class GatherSpec:
    """Elements of ``args[0]`` at places that the index values ``args[1:]`` move.

    ``Value.extra`` holds a stride and a size for each index; ``axes`` names them in errors.
    ``checked``: the kernel looks for indices out of range (the host knew nothing of them), and
    ``Value.extra`` ends with the number of the user's line (``ledger.site``).
    """

    __slots__ = ("axes", "checked", "out_dtype")

    def __init__(self, dtype: DType, axes: tuple[int, ...], checked: bool) -> None:
        self.out_dtype = dtype
        self.axes = axes
        self.checked = checked
        if checked:
            CHECKED_GATHERS.append(self)


class ScatterSpec:
    """What a write to computed places stores: ``args[0]`` at places that ``args[1:]`` move.

    ``Value.extra`` holds a stride and a size for each index. Elements whose index is out of range
    are not written. Such a node is only ever stored into a view (``evaluate.store``).
    """

    __slots__ = ("out_dtype",)

    def __init__(self, dtype: DType) -> None:
        self.out_dtype = dtype


class CallSpec:
    """A library call or a hand-written kernel: reads its operands from memory.

    ``name`` picks the runner (``graph.calls``); ``Value.extra`` holds its structural arguments.
    """

    __slots__ = ("name", "out_dtype")

    def __init__(self, name: str, dtype: DType) -> None:
        self.name = name
        self.out_dtype = dtype


_interned: dict[Any, Any] = {}


def leaf_spec(dtype: DType) -> LeafSpec:
    key = ("leaf", dtype)
    return _interned.get(key) or _interned.setdefault(key, LeafSpec(dtype))  # type: ignore[no-any-return]


def const_spec(dtype: DType) -> ConstSpec:
    key = ("const", dtype)
    return _interned.get(key) or _interned.setdefault(key, ConstSpec(dtype))  # type: ignore[no-any-return]


def box_spec(dtype: DType) -> BoxSpec:
    key = ("box", dtype)
    return _interned.get(key) or _interned.setdefault(key, BoxSpec(dtype))  # type: ignore[no-any-return]


def gather_spec(dtype: DType, axes: tuple[int, ...], checked: bool) -> GatherSpec:
    key = ("gather", dtype, axes, checked)
    return _interned.get(key) or _interned.setdefault(key, GatherSpec(dtype, axes, checked))  # type: ignore[no-any-return]


def scatter_spec(dtype: DType) -> ScatterSpec:
    key = ("scatter", dtype)
    return _interned.get(key) or _interned.setdefault(key, ScatterSpec(dtype))  # type: ignore[no-any-return]


def call_spec(name: str, dtype: DType) -> CallSpec:
    key = ("call", name, dtype)
    return _interned.get(key) or _interned.setdefault(key, CallSpec(name, dtype))  # type: ignore[no-any-return]


class Value:
    """One node of the graph, C-contiguous over ``shape``.

    ``reads[k]`` holds the strides by which the node's space reads operand k and ``offsets[k]``
    the first element; ``reads`` is None if every operand is read in order, ``reads[k]`` likewise.
    """

    __slots__ = (
        "args",
        "device",
        "extra",
        "inlined",
        "mark",
        "offsets",
        "reads",
        "real",
        "shape",
        "slot",
        "spec",
        "work",
    )

    def __init__(
        self,
        spec: Any,
        args: tuple[Value, ...],
        reads: tuple[Shape | None, ...] | None,
        offsets: tuple[int, ...] | None,
        extra: Any,
        shape: Shape,
        device: Device,
    ) -> None:
        self.spec = spec
        self.args = args
        self.reads = reads
        self.offsets = offsets
        self.extra = extra
        self.shape = shape
        self.device = device
        self.real: Storage | None = None
        self.inlined = False
        self.mark = 0  # the last capture that saw this value, and its slot there
        self.slot = 0
        work: int = 1
        for a in args:
            work += a.work
        self.work: int = work

    @property
    def dtype(self) -> DType:
        return self.spec.out_dtype  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        return size_of(self.shape)

    @property
    def nbytes(self) -> int:
        return size_of(self.shape) * self.spec.out_dtype.itemsize  # type: ignore[no-any-return]

    def make_real(self, storage: Storage) -> None:
        """Give the value its storage and drop its edges; the first storage stays."""
        if self.real is not None:
            return
        self.real = storage
        self.args = ()
        self.reads = None
        self.offsets = None
        self.extra = None
        self.work = leaf_work(storage)


def is_seen_through(v: Value, k: int) -> bool:
    """Whether v reads operand k by a view, and the operand only copies what a real value has.

    All of it in order, or one element: v can read them there, and the copy need not be made.
    """
    if v.reads is None or v.reads[k] is None or type(v.spec) is not Spec:
        return False
    a = v.args[k]
    if a.real is not None or len(a.args) != 1 or a.args[0].real is None:
        return False
    return a.spec is cast_spec(a.dtype, a.dtype) and (a.reads is None or a.size == 1)


def leaf_work(storage: Storage) -> int:
    """Return what a leaf counts towards ``MAX_WORK``: more for a large share of the memory."""
    backend = storage.backend
    if backend is None or storage.nbytes < uses.large:
        return 1
    total: int = backend.budget.total
    return 1 + storage.nbytes * _HALF_OF_MEMORY // total


class Cell:
    """A storage as the user sees it: what it holds now. Views of one array share one cell."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


def leaf(storage: Storage, dtype: DType, shape: Shape, device: Device) -> Value:
    """Return a real value over a storage."""
    value = Value(leaf_spec(dtype), (), None, None, None, shape, device)
    value.real = storage
    value.work = leaf_work(storage)
    return value


def const(scalar: Any, dtype: DType, shape: Shape, device: Device) -> Value:
    """Return a pending value that is one scalar everywhere; it costs no memory until forced."""
    value = Value(const_spec(dtype), (), None, None, scalar, shape, device)
    value.work = 0
    return value
