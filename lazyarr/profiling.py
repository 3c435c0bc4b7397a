"""Seeing what happens: ``xp.trace``, ``xp.benchmark``, ``xp.explain``.

Reads what the lower layers report to ``stats``, and turns it into data and text. Changes nothing of
what is computed.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import ledger
from ._array import Array
from ._devices import CPU, Device
from .codegen.launch import Pointer, source_of
from .graph import evaluate, share
from .graph.capture import Tape
from .graph.fuse import Plan
from .graph.node import ConstSpec, Value
from .ledger import Event
from .runtime.select import default_device, made_backends
from .storage.storage import DEVICE

_MODES = {"r": "reads", "w": "writes", "rw": "updates"}
# What times kernels and copies, by kind of device.
_CLOCKS = {"cuda": "device events"}
_HOST_CLOCK = "the host's clock"


# Traces.


class Trace:
    """What happened inside a ``with xp.trace()`` block.

    ``events`` is a list of records with ``kind`` ("kernel", "copy", "spill", "control", "compile",
    "evaluate" or "library"), ``name``, ``nbytes``, ``cause``, ``seconds`` (of the host, from start
    to end of the call), ``gpu_seconds`` (of the device, where it was timed), ``line`` (the user's)
    and ``details``. ``str`` is a table of them.

    The details of a kernel are ``operations`` (the names of those it fuses), ``read`` and
    ``written`` (bytes, each operand's elements once), ``binary`` (where its binary came from:
    "memory", "disk cache" or "compiler"), ``share`` (the bytes it moved a second, as a part of what
    a copy on the device moves; None where that is unknown), ``device``, ``grid`` and ``block``.
    Library calls have these but for the binary, grid and block.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __enter__(self) -> Trace:
        ledger.sinks.append(self.events)
        return self

    def __exit__(self, *exception: object) -> None:
        ledger.sinks[:] = [sink for sink in ledger.sinks if sink is not self.events]
        _fill_times(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __str__(self) -> str:
        if not self.events:
            return "nothing happened"
        return _table([_TITLES, *(_row(e) for e in self.events)])


_TITLES = (
    "kind", "name", "ops", "bytes", "read", "written", "host", "device", "share", "binary",
    "cause", "line",
)  # fmt: skip
_NUMBERS = frozenset(range(2, 9))


def _row(e: Event) -> tuple[str, ...]:
    """Return the line of an event in a trace's table; what it does not have is empty."""
    details = e.details
    operations = details.get("operations")
    file, _, number = e.line.rpartition(":")
    return (
        e.kind,
        e.name,
        "" if operations is None else str(len(operations)),
        bytes_text(e.nbytes) if e.nbytes else "",
        bytes_text(details["read"]) if "read" in details else "",
        bytes_text(details["written"]) if "written" in details else "",
        time_text(e.seconds),
        "" if e.gpu_seconds is None else time_text(e.gpu_seconds),
        share_text(details.get("share")),
        details.get("binary", ""),
        e.cause,
        f"{os.path.basename(file)}:{number}" if file else e.line,
    )


def trace() -> Trace:
    """Record every kernel, copy, compilation, evaluation and library call of a ``with`` block.

    Returns
    -------
    Trace
        A context manager with the list ``events``; ``print(t)`` shows it as a table. At the end of
        the block it waits for the devices once, to read their clocks; it evaluates nothing.

    Notes
    -----
    Traces nest. Kernels and copies are timed by events of the device, so that waiting for earlier
    work is told from copying: ``seconds`` of a download includes both, ``gpu_seconds`` the copy.
    The first trace of a process with kernels on a GPU also measures how fast it copies its memory.
    """
    return Trace()


def _synchronize() -> None:
    for backend in made_backends():
        with backend.batch():
            backend.synchronize()


def _fill_times(events: Sequence[Event]) -> None:
    """Wait once, and turn the pairs of device events into seconds."""
    if any(e.clock is not None for e in events):
        _synchronize()
        for e in events:
            read_clock(e)


def read_clock(e: Event) -> None:
    """Turn the device events of finished work into seconds, and a kernel's share of the ceiling."""
    clock = e.clock
    if clock is None:
        return
    with clock.backend.batch():
        seconds = clock.after.milliseconds_since(clock.before) / 1e3
    e.gpu_seconds = seconds
    e.clock = None
    if e.kind in ("kernel", "library"):
        ceiling = clock.backend.copy_rate()
        e.details["share"] = e.nbytes / seconds / ceiling if ceiling and seconds > 0 else None


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(w) if c in _NUMBERS else cell.ljust(w)
            for c, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def time_text(seconds: float) -> str:
    """Return a time in a unit that suits it."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= factor:
            return f"{seconds / factor:.4g} {unit}"
    return f"{seconds * 1e6:.4g} us"


def share_text(share: float | None) -> str:
    """Return a share of the ceiling in percent; nothing where it is unknown."""
    return "" if share is None else f"{share:.0%}"


def bytes_text(count: float) -> str:
    """Return a number of bytes in a unit that suits it."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


# Benchmarks.


class Timing(NamedTuple):
    """Seconds of several runs."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{time_text(self.median)} (from {time_text(self.low)} to {time_text(self.high)})"


def _timing(seconds: Sequence[float]) -> Timing:
    return Timing(statistics.median(seconds), min(seconds), max(seconds))


@dataclass(frozen=True)
class Benchmark:
    """The times of a function, in seconds a call; ``str`` is a readable report.

    ``build`` is the host's time for the first call, compilation included; ``host`` that of later
    calls until all work is queued, ``total`` until it is done. ``kernel`` is the sum over a call's
    kernels and library calls, ``h2d`` and ``d2h`` that over its copies. ``kernel`` is None on
    ``cpu``, where there are no kernels.
    """

    name: str
    device: str
    clock: str
    repeat: int
    build: float
    compiles: int
    host: Timing
    total: Timing
    kernel: Timing | None
    h2d: Timing
    d2h: Timing
    bytes_h2d: int
    bytes_d2h: int
    launches: int

    def __str__(self) -> str:
        kernels = "none: NumPy runs on the host"
        if self.kernel is not None:
            kernels = f"{self.kernel}, {self.launches} a call"
        rows = [
            ("first call, with building", f"{time_text(self.build)}, {self.compiles} compiled"),
            ("host, until queued", str(self.host)),
            ("all, until done", str(self.total)),
            ("kernels", kernels),
            ("host to device", f"{self.h2d}, {bytes_text(self.bytes_h2d)} a call"),
            ("device to host", f"{self.d2h}, {bytes_text(self.bytes_d2h)} a call"),
        ]
        lines = [f"{self.name} on {self.device}: median of {self.repeat} calls"]
        lines += [f"  {title:26} {text}" for title, text in rows]
        lines.append(f"  kernels and copies timed by {self.clock}")
        return "\n".join(lines)


class _Call(NamedTuple):
    """What one traced call did."""

    kernel: float
    h2d: float
    d2h: float
    bytes_h2d: int
    bytes_d2h: int
    launches: int


def benchmark(fn: Callable[..., Any], *args: Any, repeat: int = 10, warmup: int = 1) -> Benchmark:
    """Time a function, with building, kernels and copies apart.

    Parameters
    ----------
    fn : callable
        Called as ``fn(*args)``; arrays in what it returns (also in tuples, lists and dicts) are
        evaluated as part of the call.
    *args
        Its arguments. Pending arrays among them are evaluated first.
    repeat : int
        Timed calls. As many more run under a trace, for the times of kernels and copies.
    warmup : int
        Calls before, at least one: the first is reported as ``build``.

    Returns
    -------
    Benchmark
        Medians and spreads; ``print`` it.

    Notes
    -----
    Waits for the devices before and after every call. On ``sim`` and ``cpu`` the host's clock times
    everything.
    """
    if repeat < 1:
        raise ValueError(f"repeat must be at least 1, not {repeat}")
    _evaluate(args)
    _synchronize()
    before = ledger.counters.compiles
    started = time.perf_counter()
    result = fn(*args)
    _evaluate(result)
    build = time.perf_counter() - started
    compiles = ledger.counters.compiles - before
    device = _device_of(args, result)
    del result
    for _ in range(warmup - 1):
        _evaluate(fn(*args))
    timed = [_timed_call(fn, args) for _ in range(repeat)]
    calls = [_traced_call(fn, args) for _ in range(repeat)]
    last = calls[-1]
    return Benchmark(
        name=getattr(fn, "__name__", type(fn).__name__),
        device=str(device),
        clock=_CLOCKS.get(device.kind, _HOST_CLOCK),
        repeat=repeat,
        build=build,
        compiles=compiles,
        host=_timing([host for host, _ in timed]),
        total=_timing([total for _, total in timed]),
        kernel=None if device is CPU else _timing([c.kernel for c in calls]),
        h2d=_timing([c.h2d for c in calls]),
        d2h=_timing([c.d2h for c in calls]),
        bytes_h2d=last.bytes_h2d,
        bytes_d2h=last.bytes_d2h,
        launches=last.launches,
    )


def _timed_call(fn: Callable[..., Any], args: tuple[Any, ...]) -> tuple[float, float]:
    _synchronize()
    started = time.perf_counter()
    result = fn(*args)
    _evaluate(result)
    queued = time.perf_counter()
    _synchronize()
    done = time.perf_counter()
    return queued - started, done - started


def _traced_call(fn: Callable[..., Any], args: tuple[Any, ...]) -> _Call:
    _synchronize()
    with trace() as t:
        _evaluate(fn(*args))
    up = [e for e in t if e.kind == "copy" and e.name == "h2d"]
    down = [e for e in t if e.kind == "copy" and e.name == "d2h"]
    kernels = [e for e in t if e.kind in ("kernel", "library")]
    return _Call(
        kernel=_sum(kernels),
        h2d=_sum(up),
        d2h=_sum(down),
        bytes_h2d=sum(e.nbytes for e in up),
        bytes_d2h=sum(e.nbytes for e in down),
        launches=len(kernels),
    )


def _sum(events: Sequence[Event]) -> float:
    return sum(e.seconds if e.gpu_seconds is None else e.gpu_seconds for e in events)


def _arrays_in(result: Any) -> list[Array]:
    if type(result) is Array:
        return [result]
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (tuple, list)):
        return [x for part in result for x in _arrays_in(part)]
    return []


def _evaluate(result: Any) -> None:
    evaluate.force([x._cell.value for x in _arrays_in(result)], "benchmark")


def _device_of(*results: Any) -> Device:
    found = [x.device for result in results for x in _arrays_in(result)]
    kernel_devices = [device for device in found if device is not CPU]
    return (kernel_devices or found or [default_device()])[0]


# Explanations.


def explain(x: Array) -> str:
    """Say which kernels evaluating an array would launch. Evaluates and copies nothing.

    Parameters
    ----------
    x : Array

    Returns
    -------
    str
        For each kernel, in order: what it fuses, its inputs and outputs (shape, dtype, and whether
        they must be uploaded), the bytes it moves, whether it is compiled already, and why its
        outputs are stored rather than computed inside their consumers.
    """
    if type(x) is not Array:
        raise TypeError(f"explain takes a lazyarr array, not {type(x).__name__}")
    title = f"{x.dtype} array of shape {x.shape} on {x.device}"
    if x.device is CPU:
        return f"{title}: evaluated at once by NumPy; nothing is pending"
    with share.device_lock(x.device):
        value = x._cell.value
        if value.real is not None:
            return f"{title}: already evaluated, on the {x.location}"
        return _explain_plan(title, *evaluate.plan_for([value]))


def _explain_plan(title: str, tape: Tape, plan: Plan, known: bool) -> str:
    steps = [step for step, _, _, _ in plan.steps]
    total = sum(step.nbytes for step in steps)
    count = f"{len(steps)} kernel{'s' if len(steps) != 1 else ''}"
    reuse = "the plan is known" if known else "the plan is new"
    lines = [f"{title}: pending; {count}, {bytes_text(total)} moved; {reuse}"]
    made: dict[int, int] = {}
    uploaded: set[int] = set()
    for number, (step, results, _, _) in enumerate(plan.steps, 1):
        lines.append(
            f"{number}. {step.name}: {_state(tape, step)}, {bytes_text(step.nbytes)} moved"
        )
        for p in step.pointers:
            lines.append(f"     {_MODES[p.mode]:8} {p.name}: {_operand(tape, p, made, uploaded)}")
        for slot in results:
            made[slot] = number
            reason = plan.reasons.get(slot)
            value = tape.order[slot]
            if reason is not None and value is not None:
                lines.append(f"     stores   {_node_name(value)} because: {reason}")
    return "\n".join(lines)


def _state(tape: Tape, step: Any) -> str:
    """Say where the code of a step is."""
    key = getattr(step, "key", None)
    if key is None:
        return "a library call" if step.pointers else "nothing to compute"
    device = next(v.device for v in tape.order if v is not None)
    state = evaluate.runtime(device)
    if key in state.kernels:
        return "compiled already"
    with state.backend.batch():
        on_disk = state.backend.on_disk(source_of(key))
    return "in the disk cache" if on_disk else "to be compiled"


def _operand(tape: Tape, p: Pointer, made: dict[int, int], uploaded: set[int]) -> str:
    value = tape.order[p.slot]
    assert value is not None
    text = f"{value.dtype} {value.shape}"
    if p.slot in made:
        return f"{text}, made by kernel {made[p.slot]}"
    storage = value.real
    if storage is None:
        return text
    if storage.location is DEVICE:
        return f"{text}, on the device"
    if storage.device_valid or p.slot in uploaded:
        return f"{text}, on both sides"
    uploaded.add(p.slot)
    return f"{text}, on the host: {bytes_text(storage.nbytes)} are uploaded first"


def _node_name(value: Value) -> str:
    spec: Any = value.spec
    if type(spec) is ConstSpec:
        return "a constant"
    op = getattr(spec, "op", None)
    return str(getattr(op, "name", None) or getattr(spec, "name", None) or "a partial write")


__all__ = ["Benchmark", "Timing", "Trace", "benchmark", "explain", "trace"]
