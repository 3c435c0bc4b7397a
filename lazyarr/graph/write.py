"""Writes: how a cell takes a new value, in program order.

A write names a cell, a view V of it and a right side R whose operands were captured at the call.

1. V is the whole cell, in order: the cell is re-pointed to R; nothing runs. A pending R of the
   same dtype is not copied: each cell that holds it is a reader to the others.
2. Otherwise the write runs now, and stores R in place, in the kernel that computes it, unless

   - R reads the old buffer at other elements than V (a hazard), or
   - the old value has other pending readers, which must not see the write.

   Small readers that R needs too are computed first. Otherwise a box V is written by *renaming*:
   one kernel into a new buffer, ``i in V ? R : old``; readers keep the old one. Where V is small
   and only a hazard is in the way, R goes to a temporary first. Where V is no box, the cell moves
   to a copy first.

Readers are found by reference counts: a value that only its cell and R's graph hold has none. A
shared storage has no pending readers (operations on it run at once) and is never renamed.
"""

from __future__ import annotations

import sys
from typing import Final

import numpy as np

from .._config import EAGER
from .._devices import CPU
from .._dtypes import DType
from ..storage.storage import Storage
from . import evaluate, interpret
from .fuse import is_pointwise
from .node import (
    CHECKED_GATHERS,
    MAX_WORK,
    Cell,
    GatherSpec,
    Value,
    box_spec,
    const,
    is_seen_through,
)
from .optable import cast_spec
from .views import (
    Box,
    Shape,
    View,
    as_box,
    broadcast_strides,
    c_strides,
    contiguous,
    disjoint,
    is_full,
    same_elements,
    size_of,
)

_RENAME_SHARE: Final = 4
_EAGER: Final = EAGER


def write(cell: Cell, view: View, root: Value) -> None:
    """Write ``root`` (pending, of the view's shape and the cell's dtype) to a view of a cell.

    The caller must not hold on to what ``root`` reads, or it counts as used after the write.

    Raises
    ------
    ValueError
        If the cell shares memory that may not be written.
    """
    if size_of(view.shape) == 0:
        return
    device = cell.value.device
    if device is CPU:
        interpret.force([root])
        with interpret.lock:
            _write_host(cell, view, root)
        return
    with evaluate.runtime(device).lock:
        old = cell.value
        storage = old.real
        if storage is not None:
            check_writable(storage)
        shared = storage is not None and storage.shared > 0
        if storage is not None and storage.host_open:
            _write_open(old, view, root)
        elif is_full(view, old.size) and not shared:
            if _passes_on(root):
                root = root.args[0]
            cell.value = root
            bound(root)
        else:
            del old, storage  # or they would count as a reader, and as use that forbids a spill
            _write_part(cell, view, root)


def check_writable(storage: Storage) -> None:
    """Raise ValueError for memory that may not be written."""
    if storage.readonly:
        raise ValueError(
            "this array shares read-only memory; copy it with xp.asarray(x, copy=True)"
        )


def right_side(dtype: DType, shape: Shape, right: Value, right_view: View) -> Value:
    """Return the pending node that reads ``right`` as an array of ``shape`` and ``dtype``."""
    in_order = (
        right_view.shape == shape
        and right_view.offset == 0
        and right_view.strides == c_strides(shape)
        and right.size == size_of(shape)
    )
    strides = broadcast_strides(right_view.shape, right_view.strides, shape)
    return Value(
        cast_spec(right.dtype, dtype),
        (right,),
        None if in_order else (strides,),
        None if in_order else (right_view.offset,),
        None,
        shape,
        right.device,
    )


def _passes_on(root: Value) -> bool:
    """Whether ``root`` only copies a pending value as it is: then two cells may hold that one."""
    if root.reads is not None or root.args[0].real is not None:
        return False
    return root.spec is cast_spec(root.dtype, root.dtype)


def bound(value: Value) -> None:
    """Evaluate a value whose pending graph has grown past the bounds on laziness."""
    if value.work > MAX_WORK or _EAGER[0]:
        evaluate.force([value], "bound on laziness")


def _write_host(cell: Cell, view: View, root: Value) -> None:
    """The ``cpu`` device: everything is real, and so is a copy of the right side."""
    old = cell.value
    interpret.force([old])
    storage = old.real
    assert storage is not None and root.real is not None
    check_writable(storage)
    whole = is_full(view, old.size)
    if whole and not storage.shared and storage.held():
        cell.value = root  # another thread may compute with the buffer, which its holders keep
        return
    storage.host_write("write", whole=whole)
    target = interpret.host_view(storage, old.dtype, view)
    target[...] = interpret.host_view(
        root.real, root.dtype, View(0, view.shape, c_strides(view.shape))
    )


def _write_open(old: Value, view: View, root: Value) -> None:
    """Write to memory that is open on the host, where whoever opened it looks."""
    evaluate.force([root], "write to an array that is open on the host")
    assert old.real is not None and root.real is not None
    root.real.host_read("write to an array that is open on the host", explicit=True)
    target = interpret.host_view(old.real, old.dtype, view)
    target[...] = interpret.host_view(root.real, root.dtype, contiguous(view.shape))


def _write_part(cell: Cell, view: View, root: Value) -> None:
    size = cell.value.size
    large = size_of(view.shape) * _RENAME_SHARE >= size
    if cell.value.real is None:
        box = as_box(view, cell.value.shape) if large else None
        if box is not None:
            _rename(cell, box, view, root)
            return
        evaluate.force([cell.value], "write to a part")
    assert cell.value.real is not None
    shared = cell.value.real.shared > 0
    hazard = _hazard(root, cell.value, view)
    if not shared:
        readers = _outside_readers(cell, root)
        if readers and _are_small(readers, size):
            evaluate.force(readers, "read before a write")
            readers = []
        if readers != [] or (hazard and large):
            box = as_box(view, cell.value.shape)
            if box is not None:
                _rename(cell, box, view, root)
                return
        if readers != []:
            move_to_copy(cell)
    if hazard or _may_fail(root):
        # An index out of range must raise before anything is written.
        evaluate.force([root], "write that overlaps its source")
        root = right_side(root.dtype, view.shape, root, contiguous(view.shape))
    evaluate.store(root, cell.value, view)


def move_to_copy(cell: Cell) -> None:
    """Give the cell a copy of its storage; whoever reads the old value keeps the old one."""
    old = cell.value
    copy = right_side(old.dtype, old.shape, old, contiguous(old.shape))
    evaluate.force([copy], "write to a value that is still read")
    cell.value = copy


def own_storage(cell: Cell, cause: str) -> Storage:
    """Return the cell's storage for writing in place: real, and with no pending readers."""
    if cell.value.real is None:
        evaluate.force([cell.value], cause)
    storage = cell.value.real
    assert storage is not None
    if not storage.shared and has_readers(cell):
        move_to_copy(cell)
        storage = cell.value.real
        assert storage is not None
    return storage


def _rename(cell: Cell, box: Box, view: View, root: Value) -> None:
    """Point the cell to a new buffer that holds ``root`` in the box and the old values outside."""
    old = cell.value
    value = Value(
        box_spec(root.dtype), (root, old), None, None, (box, view.shape), old.shape, old.device
    )
    evaluate.force([value], "write to a part")
    cell.value = value


def _hazard(root: Value, old: Value, view: View) -> bool:
    """Whether the kernel that stores ``root`` may read ``old`` at other elements than V.

    Follows every operand that the planner might compute in the same kernel: element by element, in
    order, under whatever shape.
    """
    stack = [root]
    seen = {id(root)}
    while stack:
        v = stack.pop()
        for k, a in enumerate(v.args):
            strides = v.reads[k] if v.reads is not None else None
            if a is old and k == 0 and type(v.spec) is GatherSpec:
                return True  # computed indices reach anywhere
            if a is old:
                offset = v.offsets[k] if v.offsets is not None and strides is not None else 0
                read = View(offset, v.shape, strides or c_strides(v.shape))
                if not same_elements(read, view) and not disjoint(read, view):
                    return True
            elif is_seen_through(v, k) and a.args[0] is old:
                if not disjoint(_read_through(v, k), view):
                    return True
            elif a.real is None and is_pointwise(a) and strides is None and id(a) not in seen:
                seen.add(id(a))
                stack.append(a)
    return False


def _read_through(v: Value, k: int) -> View:
    """Return what v reads of the value that its operand k copies."""
    copy = v.args[k]
    if copy.reads is not None:
        assert copy.offsets is not None
        return View(copy.offsets[0], (), ())  # one element
    assert v.reads is not None and v.offsets is not None
    return View(v.offsets[k], v.shape, v.reads[k] or ())


def _may_fail(root: Value) -> bool:
    """Whether computing ``root`` may meet an index that is out of range."""
    if not CHECKED_GATHERS:
        return False
    nodes, _ = _closure(root)
    return any(type(v.spec) is GatherSpec and v.spec.checked for v in nodes)


def has_readers(cell: Cell) -> bool:
    """Whether anything but the cell may still read its value. The caller must not hold it."""
    return _references(cell) > _ALONE


def _references(cell: Cell) -> int:
    return sys.getrefcount(cell.value)


def _references_alone() -> int:
    """Return the count for a value that only its cell holds."""
    cell = Cell(const(0, np.dtype("bool"), (), CPU))
    return _references(cell)


_ALONE: Final = _references_alone()


def _outside_readers(cell: Cell, root: Value) -> list[Value] | None:
    """Return what will still read the cell's value after the write, apart from ``root``.

    None: there are readers of which ``root``'s graph does not know.
    """
    if _references(cell) == _ALONE:
        return []
    # Each step is a function of its own: a loop's last value stays referenced until it returns.
    nodes, edges = _closure(root)
    old = id(cell.value)
    if _references(cell) - _ALONE > _edges_to(old, nodes):
        return None
    held = [nodes[n] for n in _held_outside(nodes, edges)]
    return [v for v in held if v is not root and _needs(old, [v])]


def _are_small(readers: list[Value], size: int) -> bool:
    """Whether computing readers now costs less than a copy of what they read."""
    return sum([v.size for v in readers]) * _RENAME_SHARE < size


def _needs(old: int, stack: list[Value]) -> bool:
    """Whether pending nodes read, at any depth, the value with this id."""
    seen: set[int] = set()
    while stack:
        v = stack.pop()
        if id(v) in seen:
            continue
        seen.add(id(v))
        for a in v.args:
            if id(a) == old:
                return True
            if a.real is None:
                stack.append(a)
    return False


def _edges_to(old: int, nodes: list[Value]) -> int:
    """Return how many operands of nodes are the value with this id."""
    count = 0
    for v in nodes:
        for a in v.args:
            if id(a) == old:
                count += 1
    return count


def _closure(root: Value) -> tuple[list[Value], dict[int, int]]:
    """Return the pending nodes that ``root`` needs, and by id how many edges lead to each."""
    nodes: list[Value] = []
    edges: dict[int, int] = {}
    stack = [root]
    while stack:
        v = stack.pop()
        if id(v) in edges:
            continue
        edges[id(v)] = 0
        nodes.append(v)
        stack.extend(a for a in v.args if a.real is None and a.args)
    for v in nodes:
        for a in v.args:
            if id(a) in edges:
                edges[id(a)] += 1
    return nodes, edges


def _held_outside(nodes: list[Value], edges: dict[int, int]) -> list[int]:
    """Return the positions of nodes to which more references lead than the graph's own.

    A node that nobody else holds has the list's reference, the call's own, and one an edge.
    """
    return [n for n in range(len(nodes)) if _listed(nodes, n) > edges[id(nodes[n])] + _LISTED]


def _listed(nodes: list[Value], n: int) -> int:
    return sys.getrefcount(nodes[n])


# The count for a value that only a list holds. Compiled and interpreted code count differently, so
# that each count comes from the function that is used later.
_LISTED: Final = _listed([const(0, np.dtype("bool"), (), CPU)], 0)
