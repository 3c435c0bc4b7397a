"""Fourier transforms by cuFFT, through ``nvmath.bindings``.

Owns ``Fft``: plans, kept for the sizes that were used last, and their work space from the backend's
pool. Imports ``runtime.base``; ``nvmath`` at the first transform only.
"""

from __future__ import annotations

import functools
import math
from collections import OrderedDict
from typing import Any, NamedTuple

from lazyarr.runtime.base import Backend, DeviceUnavailableError, LibraryCall

_MOST_PLANS = 32
_FORWARD, _INVERSE = -1, 1  # CUFFT_FORWARD, CUFFT_INVERSE
# By kind, for single and double precision: cufftType, and the function that executes the plan.
_ROUTINES = {
    "c2c": (("C2C", "exec_c2c"), ("Z2Z", "exec_z2z")),
    "r2c": (("R2C", "exec_r2c"), ("D2Z", "exec_d2z")),
    "c2r": (("C2R", "exec_c2r"), ("Z2D", "exec_z2d")),
}


class _Key(NamedTuple):
    """What a plan depends on; it serves both directions."""

    kind: str
    double: bool
    source: tuple[int, ...]  # extents of one transform's input
    target: tuple[int, ...]
    batch: int
    stream: int


class _Plan(NamedTuple):
    handle: int
    work_bytes: int


@functools.cache
def _cufft() -> Any:
    try:
        from nvmath.bindings import cufft
    except ImportError as error:
        raise DeviceUnavailableError(
            f"Fourier transforms on a GPU need cuFFT through nvmath-python ({error}): "
            "pip install 'lazyarr[cuda13]'"
        ) from error
    return cufft


class Fft:
    """cuFFT for one device. Call it with the device's context current, in the device's lock."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._plans: OrderedDict[_Key, _Plan] = OrderedDict()

    def run(self, call: LibraryCall) -> None:
        """Queue a transform on the current stream. The input stays as it is."""
        (x,), (y,) = call.inputs, call.outputs
        kind, inverse, rank = call.options
        double = max(x.dtype.itemsize, y.dtype.itemsize) == 16
        batch = math.prod(x.shape[:-rank])
        stream = self._backend.stream_handle
        plan = self._plan(_Key(kind, double, x.shape[-rank:], y.shape[-rank:], batch, stream))
        execute = getattr(_cufft(), _ROUTINES[kind][double][1])
        taken = [self._backend.allocate(max(plan.work_bytes, 1))]
        try:
            _cufft().set_work_area(plan.handle, taken[0].ptr)
            if kind == "c2c":
                execute(plan.handle, x.ptr, y.ptr, _INVERSE if inverse else _FORWARD)
            elif kind == "r2c":
                execute(plan.handle, x.ptr, y.ptr)
            else:  # overwrites its input
                taken.append(self._backend.allocate(x.nbytes))
                self._backend.copy_on_device(taken[1].ptr, x.ptr, x.nbytes)
                execute(plan.handle, taken[1].ptr, y.ptr)
        finally:
            for memory in taken:
                self._backend.release(memory)

    def _plan(self, key: _Key) -> _Plan:
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = _make_plan(key)
            if len(self._plans) > _MOST_PLANS:
                self._backend.synchronize()  # it may be at work
                _cufft().destroy(self._plans.popitem(last=False)[1].handle)
        self._plans.move_to_end(key)
        return plan


def _make_plan(key: _Key) -> _Plan:
    cufft = _cufft()
    lengths = key.source if key.kind != "c2r" else key.target
    kind = getattr(cufft.Type, _ROUTINES[key.kind][key.double][0])
    handle = cufft.create()
    try:
        cufft.set_auto_allocation(handle, 0)
        work_bytes = cufft.make_plan_many64(
            handle,
            len(lengths),
            lengths,
            key.source,
            1,
            math.prod(key.source),
            key.target,
            1,
            math.prod(key.target),
            kind,
            key.batch,
        )
        cufft.set_stream(handle, key.stream)
    except BaseException:
        cufft.destroy(handle)
        raise
    return _Plan(handle, work_bytes)
