"""Library calls with several results, run at once: decompositions and solvers.

Owns the one way from values to ``Backend.library`` outside plans, and the small reads that judge
its results. Calls with one result are nodes (``calls.LibraryStep``) and stay lazy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy.typing as npt

from .._devices import CPU
from .._dtypes import DType
from ..runtime import host_library
from ..runtime.base import Backend, LibraryCall, Operand
from ..storage.storage import DEVICE, Storage, from_host, uses
from . import evaluate
from .calls import run_library
from .interpret import host_view
from .node import Value, leaf
from .pressure import let_go_if_short
from .views import Shape, contiguous


class Stack(NamedTuple):
    """An input: a value, in order, and the shape under which it is read."""

    value: Value
    shape: Shape


Output = tuple[Shape, DType]


def run(
    name: str,
    lead: int,
    inputs: Sequence[Stack],
    outputs: Sequence[Output],
    options: tuple[Any, ...],
    cause: str,
) -> list[Value]:
    """Force the inputs, run a function of ``base.LibraryCall`` on them, return its results.

    The first ``lead`` axes of every shape are those of the stack. ``cause`` is the user's function,
    for traces and the guard. Where the device's libraries lack
    the function it runs on the host: a counted copy each way, which the transfer guard judges.
    """
    device = inputs[0].value.device
    values = [x.value for x in inputs]
    if device is CPU:
        evaluate.force(values, cause)
        made = _on_host(name, lead, inputs, outputs, options)
    else:
        state = evaluate.runtime(device)
        with let_go_if_short(), state.lock, state.backend.batch():
            evaluate.force(values, cause)
            if on_device(state.backend, name):
                made = _on_device(state, name, lead, inputs, outputs, options, cause)
            else:
                made = _through_host(state, name, lead, inputs, outputs, options, cause)
    return [leaf(s, dtype, shape, device) for s, (shape, dtype) in zip(made, outputs, strict=True)]


def on_device(backend: Backend, name: str) -> bool:
    """Whether the device's libraries have a function. Tests put another in its place."""
    return backend.has_library(name)


def _flat(shape: Shape, lead: int) -> Shape:
    return (math.prod(shape[:lead]), *shape[lead:])


def _nbytes(output: Output) -> int:
    return math.prod(output[0]) * output[1].itemsize


def _on_device(
    state: evaluate.DeviceRuntime,
    name: str,
    lead: int,
    inputs: Sequence[Stack],
    outputs: Sequence[Output],
    options: tuple[Any, ...],
    cause: str,
) -> list[Storage]:
    operands = []
    in_use = []  # nothing that is held here is spilled
    for value, shape in inputs:
        storage = value.real
        assert storage is not None
        storage.verify()
        storage.device_read(cause)
        if state.backend.many_streams:
            storage.join_stream()
        in_use.append(storage)
        storage.used = uses.now
        operands.append(Operand(storage.ptr, _flat(shape, lead), value.dtype))
    made = [Storage(state.backend, _nbytes(x)) for x in outputs]
    results = [
        Operand(s.ptr, _flat(shape, lead), dtype)
        for s, (shape, dtype) in zip(made, outputs, strict=True)
    ]
    call = LibraryCall(name, tuple(operands), tuple(results), options)
    run_library(state.backend, call, cause)
    return made


def _on_host(
    name: str,
    lead: int,
    inputs: Sequence[Stack],
    outputs: Sequence[Output],
    options: tuple[Any, ...],
) -> list[Storage]:
    """Run the function with NumPy on the storages' host buffers."""
    given = []
    for value, shape in inputs:
        assert value.real is not None
        given.append(host_view(value.real, value.dtype, contiguous(_flat(shape, lead))))
    made = [Storage(None, _nbytes(x)) for x in outputs]
    results = [
        host_view(s, dtype, contiguous(_flat(shape, lead)))
        for s, (shape, dtype) in zip(made, outputs, strict=True)
    ]
    host_library.run(name, given, results, options)
    return made


def _through_host(
    state: evaluate.DeviceRuntime,
    name: str,
    lead: int,
    inputs: Sequence[Stack],
    outputs: Sequence[Output],
    options: tuple[Any, ...],
    cause: str,
) -> list[Storage]:
    cause = f"{cause}: the device's libraries lack it"
    for value, _ in inputs:
        assert value.real is not None
        value.real.host_read(cause)
    result = []
    for made in _on_host(name, lead, inputs, outputs, options):
        assert made.host is not None
        storage = from_host(state.backend, made.host)
        storage.device_read(cause)
        storage.settle(DEVICE, cause)
        result.append(storage)
    return result


def control_read(value: Value, cause: str) -> npt.NDArray[Any]:
    """Return what a value holds, by a read that counts as steering the library. Forces it."""
    if value.device is CPU:
        return host_view(evaluate.real_storage(value, cause), value.dtype, contiguous(value.shape))
    with evaluate.runtime(value.device).lock:
        data = evaluate.real_storage(value, cause).control_read(0, value.nbytes, cause)
    return data.view(value.dtype).reshape(value.shape)
