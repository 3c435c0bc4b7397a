"""The one forcing function, and what it keeps of each device.

Everything that makes a pending value real comes through ``force``: reads, exports, writes in place,
the bounds on laziness, ``xp.evaluate``. Plans are kept by key, so that a repeated step captures,
packs and launches only.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from .. import ledger
from .._devices import CPU, Device
from ..codegen.launch import DeviceState, KernelStep, Run, upload
from ..ledger import counters
from ..runtime.base import OutOfMemoryError
from ..runtime.locks import Rank, make_lock
from ..runtime.select import backend_for
from ..storage.storage import Storage
from . import interpret
from .capture import Tape, capture
from .fuse import Plan, make_plan
from .kernels import Target
from .node import Value
from .pressure import ArrayRelief, let_go_if_short
from .views import View

_MAX_PLANS = 4096


class DeviceRuntime(DeviceState):
    """A device in use: launches, plans, and the lock of evaluations, writes and reads."""

    def __init__(self, device: Device) -> None:
        super().__init__(backend_for(device))
        self.lock = make_lock(Rank.DEVICE)
        self.backend.budget.relief = ArrayRelief(self.backend, self.lock)
        self.entered = 0  # evaluations so far, those within others counted
        self.plans: dict[tuple[object, ...], Plan] = {}

    def plan(self, key: tuple[object, ...]) -> Plan | None:
        return self.plans.get(key)

    def keep(self, key: tuple[object, ...], plan: Plan) -> None:
        if len(self.plans) >= _MAX_PLANS:
            for old in list(self.plans)[: _MAX_PLANS // 4]:
                del self.plans[old]
        self.plans[key] = plan


_making = make_lock(Rank.RUNTIME)


def runtime(device: Device) -> DeviceRuntime:
    """Return the runtime of a kernel device, making it the first time."""
    found = device.runtime
    if found is None:
        with _making:
            if device.runtime is None:
                made = DeviceRuntime(device)
                if device.runtime is None:  # or a finalizer made one meanwhile
                    device.runtime = made
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
    if len(pending) > 1:
        others = [v for v in pending if v.device is not device]
        if others:
            force(others, cause)
            pending = [v for v in pending if v.device is device]
    if device is CPU:
        interpret.force(pending)
        return
    state = device.runtime or runtime(device)
    short = False
    try:
        _run(state, pending, None, None, cause)
    except OutOfMemoryError:
        short = True
    if short:
        _run_in_parts(state, pending, cause)


def _run_in_parts(state: DeviceRuntime, pending: list[Value], cause: str) -> None:
    """Run values one by one, and where the memory is short for one, its operands before it.

    No more has to be on the device at once than if every operation had been evaluated at its call.
    """
    operands_done: set[Value] = set()
    stack = pending[::-1]
    if len(pending) == 1:  # it was tried just now
        operands_done.add(pending[0])
        stack += _computed_operands(pending[0])
    while stack:
        v = stack.pop()
        if v in operands_done:
            with let_go_if_short():
                _run(state, [v], None, None, cause)
        elif not _has_run(state, v, cause):
            operands_done.add(v)
            stack.append(v)
            stack += _computed_operands(v)


def _has_run(state: DeviceRuntime, v: Value, cause: str) -> bool:
    """Run a value; False if there is no memory for all that it needs."""
    try:
        _run(state, [v], None, None, cause)
    except OutOfMemoryError:
        return False
    return True


def _computed_operands(v: Value) -> list[Value]:
    """Return the pending operands of a value that read others."""
    return [a for a in v.args if a.real is None and a.args]


def store(root: Value, target: Value, view: View) -> None:
    """Store ``root`` into the view of a real value, in the kernel that computes it."""
    state = runtime(target.device)
    short = False
    try:
        _run(state, [root], target, view, "write")
    except OutOfMemoryError:
        short = True
    if short:
        _run_in_parts(state, _computed_operands(root), "write")
        with let_go_if_short():
            _run(state, [root], target, view, "write")


def _run(
    state: DeviceRuntime, wanted: list[Value], into: Value | None, view: View | None, cause: str
) -> None:
    with state.lock:
        pending = wanted
        for v in wanted:
            if v.real is not None:  # another thread was first
                pending = [v for v in wanted if v.real is None]
                if not pending:
                    return
                break
        started = time.perf_counter() if counters.sinks else 0.0
        entered = state.entered = state.entered + 1
        if into is None:
            if len(pending) == 1 and not counters.sinks and _run_direct(state, pending[0], cause):
                return
            tape = capture(pending)
        else:
            tape = capture([*pending, into])
            assert view is not None
            _note_target(tape, into, view)
        for v in pending:
            tape.key.append(v.slot)
        key = tuple(tape.key)
        plan = state.plans.get(key) if state.entered == entered else None
        if plan is None:
            plan = _new_plan(state, entered, tape, pending, into, view)
            if plan is None:
                _run(state, wanted, into, view, cause)
                return
            state.keep(key, plan)
            if len(pending) == 1 and into is None:
                _keep_direct(state, pending[0], plan)
            tape.forget()
        order = tape.order
        run = Run(state, [v.real for v in order], tape.scalars, tape.offsets, cause)
        with state.backend.batch():
            if into is not None:
                storage = into.real
                assert storage is not None
                storage.device_write(cause, whole=False)
            plan.run(run, order)  # type: ignore[arg-type]
        counters.evaluations += 1
        if counters.sinks:
            _note_lines(wanted)
            names = [step[0].name for step in plan.steps]
            event = ledger.Event("evaluate", cause, 0, cause, details={"kernels": names})
            ledger.emit(event, started)


def _note_lines(values: list[Value]) -> None:
    """Let the storages of values say which of the user's lines asked for them."""
    line = ledger.user_line()
    for v in values:
        if v.real is not None:
            v.real.line = line


def _new_plan(
    state: DeviceRuntime,
    entered: int,
    tape: Tape,
    pending: list[Value],
    into: Value | None,
    view: View | None,
) -> Plan | None:
    """Return the plan of a captured graph.

    None if a finalizer or a signal handler evaluated something in this thread since: slots may be
    another capture's then, and values real that were pending.
    """
    if state.entered != entered:
        return None
    try:
        stores = {} if into is None else {pending[-1].slot: _target(tape, into, view)}
        tape.number()
        plan = make_plan(tape, pending, stores)
    except Exception:
        if state.entered == entered:
            raise
        return None
    return plan if state.entered == entered else None


def _run_direct(state: DeviceRuntime, v: Value, cause: str) -> bool:
    """Run one operation on real operands by a plan that is known; False if that is not so.

    Does what a capture and its plan would, without either: short programs wait for the host.
    """
    storages = _operands(v)
    if storages is None or state.slots.watch:
        return False
    plan = state.plans.get(_direct_key(v, storages))
    if plan is None:
        return False
    backend = state.backend
    storages.append(None)
    step: KernelStep = plan.steps[0][0]
    with backend.batch():
        upload(backend, storages, plan.leaves, cause)
        v.make_real(step.run_plain(state, storages))
    counters.evaluations += 1
    return True


def _keep_direct(state: DeviceRuntime, v: Value, plan: Plan) -> None:
    """Let ``_run_direct`` find the plan of one operation."""
    storages = _operands(v)
    if storages is not None and plan.simple == len(storages):
        step = plan.steps[0][0]
        if type(step) is KernelStep and step.plain:
            state.keep(_direct_key(v, storages), plan)


def _operands(v: Value) -> list[Storage | None] | None:
    """Return the storages of one or two real operands, read in order, by their slots in a capture.

    None for every other value.
    """
    if v.reads is not None or v.extra is not None:
        return None
    args = v.args
    if len(args) == 2:
        a = args[0].real
        b = args[1].real
        if a is None or b is None:
            return None
        return [a] if a is b else [b, a]
    if len(args) == 1:
        a = args[0].real
        return None if a is None else [a]
    return None


def _direct_key(v: Value, storages: list[Storage | None]) -> tuple[object, ...]:
    """Return what else the plan depends on; starts with a spec, as no capture's key of it does."""
    first = storages[0]
    assert first is not None
    if len(storages) == 1:
        return v.spec, v.shape, first.ptr & 15
    second = storages[1]
    assert second is not None
    return v.spec, v.shape, first.ptr & 15, second.ptr & 15


def _note_target(tape: Tape, value: Value, view: View) -> None:
    """Make the view that is written to a part of the key."""
    assert value.real is not None
    strides = view.strides
    key = tape.key
    key.append("into")
    key.append(strides)
    key.append(tape.operand(value.slot, strides, view.offset))
    key.append((value.real.ptr + view.offset * value.dtype.itemsize) & 15)


def _target(tape: Tape, value: Value, view: View | None) -> Target:
    assert view is not None and value.real is not None
    operand = tape.operand(value.slot, view.strides, view.offset)
    misaligned = value.real.ptr + view.offset * value.dtype.itemsize
    return Target(value.slot, view.strides, operand, misaligned & 15)


def plan_for(values: Sequence[Value]) -> tuple[Tape, Plan, bool]:
    """Return how ``force`` would evaluate values, without doing it: tape, plan, whether known."""
    pending = [v for v in values if v.real is None]
    state = runtime(pending[0].device)
    tape = capture(pending)
    tape.key.extend(v.slot for v in pending)
    tape.number()
    known = state.plan(tuple(tape.key))
    return tape, known or make_plan(tape, pending, {}), known is not None


def real_storage(value: Value, cause: str) -> Storage:
    """Return the storage of a value, forcing it if it is pending."""
    if value.real is None:
        force([value], cause)
    assert value.real is not None
    return value.real
