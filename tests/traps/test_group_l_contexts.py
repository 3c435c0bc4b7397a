"""Field cases of group L: whose the current device and stream are, and contexts that fail."""

from __future__ import annotations

import threading
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

import lazyarr as xp
from lazyarr.runtime import cuda_process, pycuda_backend, select
from lazyarr.runtime.cuda_driver import Faults
from lazyarr.runtime.sim import SimBackend

from .common import eq


def test_124_an_exception_in_one_thread_leaves_the_others(device: str) -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with pytest.raises(KeyError), xp.default_device("sim:1"):
            inside.set()
            leave.wait(10)
            raise KeyError

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(10)
    with xp.default_device("cpu"):
        assert str(xp.ones(1).device) == "cpu"
        leave.set()
        thread.join()
        assert str(xp.ones(1).device) == "cpu"
    assert str(xp.ones(1).device) == device


@pytest.mark.cuda
def test_124_the_stream_belongs_to_the_thread() -> None:
    torch = pytest.importorskip("torch")
    with xp.default_device("cuda"):
        stream = torch.cuda.Stream()
        backend: Any = select.backend_for(xp.ones(1).device)
        seen: list[int] = []
        with xp.stream(stream):
            thread = threading.Thread(target=lambda: seen.append(backend.stream_handle))
            thread.start()
            thread.join()
            assert backend.stream_handle == stream.cuda_stream
        assert seen == [0]
        assert backend.stream_handle == 0


def test_128_a_device_that_cannot_be_made_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []
    make = SimBackend.__init__

    def fail_once(self: SimBackend, ordinal: int = 0) -> None:
        tries.append(ordinal)
        if len(tries) == 1:
            raise MemoryError("no memory for a context")
        make(self, ordinal)

    monkeypatch.setattr(SimBackend, "__init__", fail_once)
    with pytest.raises(MemoryError, match="no memory for a context"):
        xp.ones(3, device="sim:11")
    assert not any(backend.ordinal == 11 for backend in select.made_backends())
    eq(xp.ones(2, device="sim") * 2, [2.0, 2.0])
    eq(xp.ones(3, device="sim:11") + 1, [2.0, 2.0, 2.0])
    assert tries == [11, 11]


class Context:
    """Stands for PyCUDA's: counts, and fails when it is told to."""

    def __init__(self) -> None:
        self.depth = 0
        self.fails = False

    def push(self) -> None:
        if self.fails:
            raise RuntimeError("out of memory")
        self.depth += 1

    def pop(self) -> None:
        self.depth -= 1


def _backend(drain: Any = None) -> Any:
    return SimpleNamespace(
        context=Context(),
        released=deque([1] if drain else ()),
        drain=drain,
        driver=SimpleNamespace(faults=Faults("cuda:0")),
        lost_by=lambda error: None,
    )


needs_checkout = pytest.mark.skipif(
    str(pycuda_backend.__file__).endswith((".so", ".pyd")),
    reason="compiled classes take no stand-ins",
)


@needs_checkout
def test_128_a_context_that_cannot_be_pushed() -> None:
    one, two = _backend(), _backend()
    here = cuda_process.this_thread()
    assert here.batch is None
    outer, inner = pycuda_backend._Batch(one), pycuda_backend._Batch(two)
    two.context.fails = True
    with outer:
        for _ in range(3):
            with pytest.raises(RuntimeError, match="out of memory"):
                inner.__enter__()
            assert here.batch is outer
        with outer:  # nests as before
            assert one.context.depth == 1
        two.context.fails = False
        with inner:
            assert here.batch is inner
            assert two.context.depth == 1
        assert here.batch is outer
        assert (one.context.depth, two.context.depth) == (1, 0)
    assert here.batch is None
    assert one.context.depth == 0


@needs_checkout
def test_128_work_that_fails_as_a_context_is_entered() -> None:
    def drain() -> None:
        raise RuntimeError("freeing failed")

    failing = _backend(drain)
    batch = pycuda_backend._Batch(failing)
    with pytest.raises(RuntimeError, match="freeing failed"):
        batch.__enter__()
    assert cuda_process.this_thread().batch is None
    assert failing.context.depth == 0
    failing.released.clear()
    with batch:
        assert failing.context.depth == 1
    assert failing.context.depth == 0


@pytest.mark.cuda
def test_128_an_exception_inside_work_on_a_gpu() -> None:
    with xp.default_device("cuda"):
        x = xp.ones(4) * 2
        with pytest.raises(xp.CompileError):
            xp.SourceModule("__global__ void f() { no }")
        with pytest.raises(MemoryError):
            xp.evaluate(xp.ones(2**47))
        assert cuda_process.this_thread().batch is None
        eq(x, [2.0] * 4)
