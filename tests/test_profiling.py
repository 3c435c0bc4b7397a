"""``trace``, ``benchmark`` and ``explain``."""

from __future__ import annotations

import numpy as np
import pytest

import lazyarr as xp


def kinds(t: object) -> list[str]:
    return [e.kind for e in t.events]  # type: ignore[attr-defined]


# Traces.


def test_a_trace_lists_what_happened(kernel_device: str) -> None:
    x = xp.asarray(np.arange(1000, dtype=np.float32))
    with xp.trace() as t:
        y = x * 2.5 + 1.25
        value = float(y[3])
    assert value == 8.75
    assert [k for k in kinds(t) if k != "compile"] == ["copy", "kernel", "evaluate", "copy"]
    up, down = [e for e in t.events if e.kind == "copy"]
    assert (up.name, up.nbytes) == ("h2d", 4000)
    assert (down.name, down.nbytes) == ("d2h", 4)
    (kernel,) = [e for e in t.events if e.kind == "kernel"]
    assert kernel.name == "multiply+add"
    for e in (up, down, kernel):
        assert e.gpu_seconds is not None
        assert 0 <= e.gpu_seconds < 10
        assert e.seconds > 0
        assert e.clock is None
    for e in t.events:
        assert "test_profiling.py:" in e.line, e


def test_a_trace_prints_as_a_table(kernel_device: str) -> None:
    with xp.trace() as t:
        xp.evaluate(xp.arange(10.0) * 3)
    text = str(t)
    lines = text.splitlines()
    titles = "kind name ops bytes read written host device share binary cause line"
    assert lines[0].split() == titles.split()
    assert len(lines) == len(t) + 1
    assert "kernel" in text
    assert "multiply" in text
    assert "test_profiling.py:" in text
    assert all(len(line) < 200 for line in lines)


def test_a_kernel_says_what_it_moved(kernel_device: str) -> None:
    x = xp.asarray(np.arange(600, dtype=np.float32))
    xp.prefetch(x)
    with xp.trace() as t:
        for _ in range(2):
            xp.evaluate(xp.sqrt(x * 2.5 + 1.25))
        x[100:200] = x[300:400] * 2.5
        xp.evaluate(xp.sort(x))
    first, second, store, sort = [e.details for e in t if e.kind == "kernel"]
    assert first["operations"] == ("multiply", "add", "sqrt")
    assert first["device"] == kernel_device
    assert first["binary"] in ("compiler", "disk cache", "memory")  # of an earlier test
    assert second["binary"] == "memory"
    moved = [(d["read"], d["written"]) for d in (first, second, store, sort)]
    assert moved == [(2400, 2400), (2400, 2400), (400, 400), (2400, 2400)]
    compiled = [e.name for e in t if e.kind == "compile"]
    loaded = [d for d in (first, second, store, sort) if d["binary"] != "memory"]
    assert len(compiled) == len(loaded)
    if kernel_device == "sim":
        assert [d["share"] for d in (first, second, store, sort)] == [None] * 4
    else:
        assert all(0 < d["share"] < 2 for d in (first, second, store, sort))
    rows = {line.split()[1]: line.split() for line in str(t).splitlines()}
    assert rows["multiply+add+sqrt"][2] == "3"


def test_the_launches_of_a_long_sort_share_its_bytes(kernel_device: str) -> None:
    x = xp.asarray(np.arange(9000, dtype=np.int8)[::-1].copy())
    xp.prefetch(x)
    with xp.trace() as t:
        xp.evaluate(xp.sort(x))
    kernels = [e for e in t if e.kind == "kernel"]
    # a byte of each element is read by the count and by the one pass, and written once
    assert len(kernels) == 3
    assert sum(e.nbytes for e in kernels) == 27000
    assert sum(e.details["written"] for e in kernels) == 9000
    assert sum(e.details["read"] for e in kernels) == 18000


def test_an_empty_trace(device: str) -> None:
    with xp.trace() as t:
        pass
    assert t.events == []
    assert str(t) == "nothing happened"


def test_traces_nest_and_end(kernel_device: str) -> None:
    x = xp.ones(10)
    with xp.trace() as outer:
        with xp.trace() as inner:
            xp.evaluate(x + 1)
        with xp.trace() as second:
            xp.evaluate(x + 2)
    xp.evaluate(x + 3)
    assert kinds(inner).count("kernel") == kinds(second).count("kernel") == 1
    assert kinds(outer).count("kernel") == 2
    assert all(e.gpu_seconds is not None for e in outer.events if e.kind == "kernel")


def test_a_trace_ends_at_an_exception(kernel_device: str) -> None:
    with pytest.raises(RuntimeError, match="stop"), xp.trace() as t:
        xp.evaluate(xp.ones(10) + 1)
        raise RuntimeError("stop")
    count = len(t)
    xp.evaluate(xp.ones(10) + 2)
    assert len(t) == count


def test_compiles_are_traced(kernel_device: str) -> None:
    with xp.trace() as t:
        xp.SourceModule("__global__ void traced(float* p) { p[0] = 1.0f; }")
    (event,) = t.events
    assert (event.kind, event.name) == ("compile", "traced")
    assert event.cause in ("compiler", "disk cache")


def test_library_calls_are_traced(kernel_device: str) -> None:
    a = xp.ones((8, 8), dtype=xp.float32)
    xp.evaluate(a)
    with xp.trace() as t:
        xp.evaluate(xp.matmul(a, a))
    (event,) = [e for e in t.events if e.kind == "library"]
    assert event.name == "matmul"
    assert event.gpu_seconds is not None
    assert (event.details["read"], event.details["written"]) == (512, 256)
    assert "library" in str(t)


# Benchmarks.


def test_benchmark(device: str) -> None:
    x = xp.asarray(np.arange(1000.0))
    xp.prefetch(x)
    calls = []

    def step(a: xp.Array) -> tuple[xp.Array, dict[str, xp.Array]]:
        calls.append(1)
        return a * 2 + 1, {"sum": xp.sum(a)}

    b = xp.benchmark(step, x, repeat=3, warmup=2)
    assert len(calls) == 2 + 3 + 3
    assert b.name == "step"
    assert b.device == device
    assert b.build > 0
    assert b.total.low <= b.total.median <= b.total.high
    assert b.host.median <= b.total.median
    if device == "cpu":
        assert b.kernel is None
    else:
        assert b.kernel is not None
        assert b.kernel.median > 0
        assert b.launches == 2
    assert (b.bytes_h2d, b.bytes_d2h) == (0, 0)
    text = str(b)
    assert "step on " + device in text
    assert ("host's clock" in text) == (device != "cuda")


def test_benchmark_tells_copies_from_kernels(kernel_device: str) -> None:
    h = np.ones(1000)

    def step() -> float:
        return float(xp.sum(xp.asarray(h) * 2))

    b = xp.benchmark(step, repeat=2)
    assert (b.bytes_h2d, b.bytes_d2h) == (8000, 8)
    assert b.h2d.median > 0
    assert b.d2h.median > 0
    assert "7.812 KiB a call" in str(b)


def test_benchmark_needs_a_repeat(device: str) -> None:
    with pytest.raises(ValueError, match="repeat"):
        xp.benchmark(lambda: None, repeat=0)


# Explanations.


def test_explain_runs_nothing(kernel_device: str) -> None:
    a = xp.asarray(np.arange(1000, dtype=np.float32))
    y = xp.sum((a * 3 + 1) ** 2, axis=0)
    xp.stats(reset=True)
    text = xp.explain(y)
    s = xp.stats()
    assert (s.launches, s.compiles, s.h2d, s.d2h, s.evaluations) == (0, 0, 0, 0, 0)
    assert y.location == "device"
    assert text.startswith(f"float32 array of shape () on {kernel_device}: pending; 1 kernel")
    assert "the plan is new" in text
    assert "reads    input 0: float32 (1000,), on the host: 3.906 KiB are uploaded first" in text
    assert "writes   output 0: float32 ()" in text
    assert "stores   sum because: asked for" in text


def test_explain_names_kernels_and_reasons(kernel_device: str) -> None:
    a = xp.asarray(np.ones((50, 40)))
    xp.prefetch(a)
    mean = xp.mean(a, axis=0)
    y = (a - mean) * 2
    text = xp.explain(y)
    assert "2 kernels" in text
    assert "1. " in text
    assert "2. " in text
    assert "made by kernel 1" in text
    assert "its consumers need all of it" in text
    assert "on the device" in text


def test_explain_knows_what_is_compiled(kernel_device: str) -> None:
    a = xp.asarray(np.arange(10, dtype=np.int16))

    def build() -> xp.Array:
        return (a * 3 - a) * a + 11

    assert "compiled already" not in xp.explain(build())
    xp.evaluate(build())
    text = xp.explain(build())
    assert "compiled already" in text
    assert "the plan is known" in text


def test_explain_what_is_done(device: str) -> None:
    y = xp.ones(10) + 1
    xp.evaluate(y)
    text = xp.explain(y)
    if device == "cpu":
        assert "evaluated at once by NumPy" in text
    else:
        assert "already evaluated, on the device" in text
    with pytest.raises(TypeError, match="float"):
        xp.explain(1.0)
