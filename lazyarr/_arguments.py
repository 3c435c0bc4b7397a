"""The arguments of a user's kernel, checked and turned into what is packed: the usual cases, fast.

``kernel`` owns what they mean, every case that is not usual, and all errors. Compiled in a wheel.
"""

from __future__ import annotations

from typing import Any, Final

from . import ledger
from ._array import Array
from .graph.write import has_readers
from .runtime.base import Dim3
from .storage.storage import DEVICE, uses

Geometry = tuple[Dim3, Dim3, int]  # blocks, threads, bytes of dynamic shared memory
_MOST_GEOMETRIES: Final = 64
Placed = tuple[Array, str, int]  # an array, its mode, its position among the arguments


def call(owner: Any, args: tuple[Any, ...], block: Any, grid: Any, shared: int) -> None:
    """Check the arguments, bring the arrays where the kernel needs them, and launch."""
    geometries: dict[Any, tuple[Dim3, Dim3]] = owner._geometries
    if type(block) is tuple and type(grid) is tuple:
        dims = geometries.get((grid, block))
        if dims is None:
            dims = owner._dims(block, grid)
            if len(geometries) < _MOST_GEOMETRIES:
                geometries[grid, block] = dims
    else:
        dims = owner._dims(block, grid)
    checks = owner._checks
    if checks is None:
        checks = [(None, None)] * len(args)
    elif len(args) != len(checks):
        owner._refuse(args, f"{len(checks)} arguments expected, {len(args)} given")
    values, arrays = _sort_out(owner, args, checks)
    pack = owner._pack
    if pack is None:
        pack = owner._dynamic_packer(args)
    state = owner._state
    backend = state.backend
    with state.lock, backend.batch():
        if not _ready(arrays, values, backend.stream_handle):
            owner._check_written(arrays)
            owner._bring(arrays, values, backend)
        if uses.on:
            _note_uses(arrays)
        packed = pack(*values)
        if ledger.sinks or backend.checked:
            owner._start(values, arrays, packed, (dims[0], dims[1], shared))
        else:
            backend.launch(owner._function, dims[0], dims[1], packed, shared)
        ledger.counters.launches += 1


def _sort_out(owner: Any, args: tuple[Any, ...], checks: Any) -> tuple[list[Any], list[Placed]]:
    """Return values to pack, with zeros for addresses, and the arrays.

    ``owner`` is the kernel: it refuses what does not fit. ``checks`` has for each parameter whether
    it is a pointer, and the dtypes or the scalar's type that it wants.
    """
    modes: dict[Any, str] = owner._modes
    device = owner.device
    values: list[Any] = []
    arrays: list[Placed] = []
    for k, arg in enumerate(args):
        pointer, wanted = checks[k]
        kind = type(arg)
        mode = modes.get(kind)
        if mode is not None:
            x: Array = arg if kind is Array else arg.array
            if pointer is False or (wanted is not None and x._dtype not in wanted):
                owner._refuse_array(args, k, x)
            if x._device is not device or x._view is not None:
                owner._check_placed(args, k, x)
            arrays.append((x, mode, k))
            values.append(0)
        elif kind is wanted and not pointer:
            values.append(arg)
        else:
            values.append(owner._by_value(args, k, pointer, wanted))
    return values, arrays


def _note_uses(arrays: list[Placed]) -> None:
    """Note when the arrays were used, for the order in which they are spilled."""
    uses.now += 1
    for x, _, _ in arrays:
        storage = x._cell.value.real
        if storage is not None:
            storage.used = uses.now


def _ready(arrays: list[Placed], values: list[Any], handle: int) -> bool:
    """Put the addresses among the values if all arrays are ready as they are: the usual case."""
    seen = set()
    for x, mode, k in arrays:
        storage = x._cell.value.real
        if storage is None or storage.location is not DEVICE or storage.stream != handle:
            return False
        if storage.checks is not None:
            return False
        if mode != "r" and (
            storage.mirrored
            or x._frozen
            or storage.readonly
            or storage.host_open
            or (has_readers(x._cell) and not storage.shared)
        ):
            return False
        seen.add(id(storage))
        address = storage.ptr
        view = x._view
        if view is not None:
            address += view.offset * x._dtype.itemsize
        values[k] = address
    return len(seen) == len(arrays)
