"""The one forcing function, and what it keeps of each device.

Everything that makes a pending value real comes through ``force``: reads, exports, writes in place,
the bounds on laziness, ``xp.evaluate``. Plans are kept by key, so that a repeated step captures,
packs and launches only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from .. import ledger
from .._devices import Device
from ..codegen.launch import DeviceState, Run
from ..runtime.select import backend_for
from ..storage.storage import Storage
from . import interpret
from .capture import Tape, capture
from .fuse import Plan, make_plan
from .kernels import Target
from .node import Value
from .views import View

_MAX_PLANS = 4096


class DeviceRuntime(DeviceState):
    """A device in use: launches, plans, and the lock that evaluations and writes take."""

    def __init__(self, device: Device) -> None:
        super().__init__(backend_for(device))
        self.lock = threading.RLock()
        self.plans: dict[tuple[object, ...], Plan] = {}

    def plan(self, key: tuple[object, ...]) -> Plan | None:
        return self.plans.get(key)

    def keep(self, key: tuple[object, ...], plan: Plan) -> None:
        if len(self.plans) >= _MAX_PLANS:
            for old in list(self.plans)[: _MAX_PLANS // 4]:
                del self.plans[old]
        self.plans[key] = plan


_making = threading.Lock()


def runtime(device: Device) -> DeviceRuntime:
    """Return the runtime of a kernel device, making it the first time."""
    found = device.runtime
    if found is None:
        with _making:
            if device.runtime is None:
                device.runtime = DeviceRuntime(device)
            found = device.runtime
    return found  # type: ignore[no-any-return]


def force(values: Sequence[Value], cause: str) -> None:
    """Make values real. Does nothing for those that are.

    Values of several devices are evaluated device by device; on one device in one plan, so that
    independent results of one shape share kernels.
    """
    pending = [v for v in values if v.real is None]
    if not pending:
        return
    device = pending[0].device
    others = [v for v in pending if v.device is not device]
    if others:
        force(others, cause)
        pending = [v for v in pending if v.device is device]
    if device.kind == "cpu":
        interpret.force(pending)
        return
    _run(runtime(device), pending, None, cause)


def store(root: Value, target: Value, view: View) -> None:
    """Store ``root`` into the view of a real value, in the kernel that computes it."""
    _run(runtime(target.device), [root], (target, view), "write")


def _run(
    state: DeviceRuntime, wanted: list[Value], into: tuple[Value, View] | None, cause: str
) -> None:
    with state.lock:
        pending = [v for v in wanted if v.real is None]
        if not pending:
            return
        started = time.perf_counter() if ledger.sinks else 0.0
        tape = capture(pending if into is None else [*pending, into[0]])
        slots = tape.slots
        tape.key.append(tuple([slots[v] for v in pending]))
        target = None
        if into is not None:
            target = _target(tape, into)
            tape.key.append(target)
        key = tuple(tape.key)
        plan = state.plans.get(key)
        if plan is None:
            stores = {} if target is None else {slots[pending[-1]]: target}
            plan = make_plan(tape, pending, stores)
            state.keep(key, plan)
        order = tape.order
        storages = [v.real for v in order]
        run = Run(state, storages, tape.scalars, tape.offsets, cause)
        del tape, slots
        backend = state.backend
        with backend.batch():
            if into is not None:
                storage = into[0].real
                assert storage is not None
                storage.device_write(cause, whole=False)
            plan.run(run, order)  # type: ignore[arg-type]
        ledger.counters.evaluations += 1
        if ledger.sinks:
            names = [step[0].name for step in plan.steps]
            event = ledger.Event("evaluate", cause, 0, cause, details={"kernels": names})
            ledger.emit(event, started)


def _target(tape: Tape, into: tuple[Value, View]) -> Target:
    value, view = into
    slot = tape.slots[value]
    assert value.real is not None
    operand = tape.operand(slot, view.strides, view.offset)
    misaligned = value.real.ptr + view.offset * value.dtype.itemsize
    return Target(slot, view.strides, operand, misaligned & 15)


def plan_for(values: Sequence[Value]) -> tuple[Tape, Plan, bool]:
    """Return how ``force`` would evaluate values, without doing it: tape, plan, whether known."""
    pending = [v for v in values if v.real is None]
    state = runtime(pending[0].device)
    tape = capture(pending)
    tape.key.append(tuple([tape.slots[v] for v in pending]))
    known = state.plan(tuple(tape.key))
    return tape, known or make_plan(tape, pending, {}), known is not None


def real_storage(value: Value, cause: str) -> Storage:
    """Return the storage of a value, forcing it if it is pending."""
    if value.real is None:
        force([value], cause)
    assert value.real is not None
    return value.real
