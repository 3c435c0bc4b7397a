"""Forks, spawned processes, and pickles that go from one machine to another."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr.interchange import unpickle
from lazyarr.runtime import locks
from tests.processes import exit_code, forked, silent

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
OURS = ["cpu", "sim"]


@pytest.fixture(params=OURS)
def own(request: pytest.FixtureRequest) -> Any:
    """A device that a forked child can go on using."""
    with xp.default_device(request.param):
        yield request.param


def in_child(work: Callable[[], bool | None]) -> int:
    """Return the exit code of a fork that runs ``work``; a child that hangs is killed."""

    def limited() -> bool | None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)
        return work()

    return exit_code(forked(limited))


def test_a_child_goes_on_with_its_own_copy(own: str) -> None:
    x = xp.ones(10) * 2
    xp.evaluate(x)
    p = x + 1
    m = x * 5
    np.asarray(m)

    def work() -> bool:
        right = float(xp.sum(p)) == 30 and np.asarray(m).tolist() == [10.0] * 10
        x[2:4] = 7.0
        x[0] += 1
        y = xp.sort(xp.concat([x, p]), descending=True)  # compiles what is new
        return right and float(xp.sum(x)) == 31 and float(y[0]) == 7

    assert in_child(work) == 0
    assert x.get().tolist() == [2.0] * 10
    assert float(xp.sum(p)) == 30


def test_a_fork_beside_threads_at_work(own: str) -> None:
    """A child never waits for a thread that it does not have, nor sees what one left half done."""
    stop = threading.Event()
    failed: list[Exception] = []
    x = xp.zeros(20)
    xp.evaluate(x)

    def work(i: int) -> None:
        k = 0
        with xp.default_device(own):
            while not stop.is_set():
                k += 1
                x[i] = float(k)
                try:
                    assert float(x[i] * 2) == 2.0 * k
                    if own == "sim" and k % 5 == 0:
                        xp.SourceModule(f"__global__ void f(int* p) {{ *p = {k} * 10 + {i}; }}")
                    float(xp.sum(xp.full(10 + k % 3, 1.0) + x[0] * 0))
                except Exception as error:  # noqa: BLE001 - the main thread shows it
                    failed.append(error)
                    return

    def child() -> bool:
        before = x.get()
        x[12] = 5.0
        y = xp.sum(x[10:]) + xp.sum(xp.ones(7) * 3)
        return float(y) == 26 and (x.get()[:3] == before[:3]).all()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    try:
        codes = []
        for _ in range(12):
            time.sleep(0.01)
            codes.append(in_child(child))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert codes == [0] * 12
    assert failed == []


def test_a_lock_that_stays_taken_does_not_stop_a_fork(
    own: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_FORK_SECONDS", 0.1)
    lock = locks.make_lock(locks.Rank.DEVICE)
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(10)
    try:
        assert in_child(lambda: lock.acquire(timeout=5) and float(xp.sum(xp.ones(3))) == 3) == 0
    finally:
        leave.set()
        thread.join()
    with lock:
        pass


def test_a_fork_inside_a_lock(own: str) -> None:
    lock = locks.make_lock(locks.Rank.DEVICE)
    with lock:
        code = in_child(lambda: float(xp.sum(xp.ones(3) + 1)) == 6)
    assert code == 0
    assert lock.acquire(blocking=False)
    lock.release()


# CUDA does not survive a fork: the child is told, and reads what the host has.

FORKED = """
import os, sys, threading
import numpy as np
BEFORE
child = os.fork()
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    AFTER
    sys.exit(0)
def told(work):
    try:
        work()
    except xp.DeviceUnavailableError as error:
        assert "spawn" in str(error), error
    else:
        raise AssertionError(work)
IN_CHILD
sys.exit(7)
"""
USED = """
x = xp.ones(10) * 2
xp.evaluate(x)
p = x + 1
m = x * 5
np.asarray(m)
big = xp.full(1 << 20, 3.0) * 2
np.asarray(big)
h = xp.asarray(np.arange(10.0))
up = xp.asarray(np.arange(1000.0)); xp.prefetch(up)
f = xp.SourceModule('extern "C" __global__ void f(double* p) { p[0] = 1; }').get_function("f")
"""
TOLD = """
assert np.asarray(m).tolist() == [10.0] * 10 and float(m[3]) == 10
assert np.asarray(big).sum() == 6 << 20 and big.get()[5] == 6
assert np.asarray(h).tolist() == list(range(10)) and h.to_device("cpu").device.kind == "cpu"
assert np.asarray(up).sum() == 499500
with m.host("r") as view: assert view[0] == 10
with m.host("rw") as view: view[0] = 1
assert m.get()[0] == 1 and "10" in repr(m)
told(lambda: float(xp.sum(x)))
told(lambda: np.asarray(x))
told(lambda: np.asarray(p))
told(lambda: xp.evaluate(p))
told(lambda: x.get())
told(lambda: xp.evaluate(xp.ones(3)))
told(lambda: xp.evaluate(xp.asarray([1.0, 2.0]) * 2))
told(lambda: x.__setitem__(0, 5.0))
told(lambda: f(x, block=1, grid=1))
told(lambda: xp.SourceModule("__global__ void g(int* p) {}"))
told(xp.synchronize)
told(xp.memory_info)
told(lambda: xp.prefetch(h))
told(lambda: x.__dlpack__())
assert "unreadable" in repr(x)
kept = []
def thread():
    try: float(xp.sum(x))
    except xp.DeviceUnavailableError: kept.append(1)
t = threading.Thread(target=thread); t.start(); t.join()
assert kept == [1]
with xp.default_device("cpu"):
    assert float(xp.sum(xp.asarray(m.get()) * 2)) == 182
assert [d.kind for d in xp.devices()] == ["cpu"]
del x, p, f
"""


@pytest.mark.cuda
def test_a_child_of_a_process_that_used_cuda_is_told() -> None:
    program = FORKED.replace("BEFORE", USED).replace("IN_CHILD", TOLD)
    silent(program.replace("AFTER", "assert float(xp.sum(x + p)) == 50"), LAZYARR_DEVICE="cuda")


@pytest.mark.cuda
@pytest.mark.parametrize("before", ["xp.devices()", "xp.ones(3)", "x = xp.asarray([1.0])"])
def test_a_child_of_a_process_that_only_looked_for_gpus_is_told(before: str) -> None:
    """The driver was initialised: CUDA's own error would be "initialization error"."""
    program = FORKED.replace("BEFORE", before).replace(
        "AFTER", "assert float(xp.sum(xp.ones(3))) == 3"
    )
    silent(program.replace("IN_CHILD", "told(lambda: xp.evaluate(xp.ones(3, device='cuda')))"))
    silent(program.replace("IN_CHILD", "told(lambda: xp.evaluate(xp.ones(3)))"))


@pytest.mark.cuda
def test_a_child_of_a_process_that_used_no_cuda_uses_it() -> None:
    work = "assert float(xp.sum(xp.ones(3) + 1)) == 6"
    silent(FORKED.replace("BEFORE", "").replace("AFTER", work).replace("IN_CHILD", work))


SPAWNED = """
import multiprocessing
if __name__ == "__main__":
    context = multiprocessing.get_context(METHOD)
    x = xp.ones(10) * 2
    xp.evaluate(x)
    with context.Pool(1) as pool:
        totals = pool.map(xp.sum, [x, x + 1, x[::2]])
    assert [float(t) for t in totals] == [20, 30, 10]
    assert [t.device for t in totals] == [x.device] * 3
"""


def test_spawned_workers(device: str) -> None:
    silent(SPAWNED.replace("METHOD", "'spawn'"), LAZYARR_DEVICE=device)


@pytest.mark.cuda
def test_workers_of_a_fork_server() -> None:
    silent(SPAWNED.replace("METHOD", "'forkserver'"), LAZYARR_DEVICE="cuda")


# Pickles.


def arrays() -> dict[str, xp.Array]:
    x = xp.reshape(xp.arange(12, dtype=xp.float32), (3, 4))
    return {
        "real": xp.asarray(x, copy=True),
        "pending": x * 2,
        "transposed": x.T,
        "strided": x[::-2, 1:3],
        "0-d": xp.sum(x),
        "empty": xp.zeros((0, 3), dtype=xp.int8),
        "bool": x > 3,
        "complex": xp.astype(x, xp.complex128) * 1j,
        "stretched": xp.broadcast_to(x[0, :], (2, 4)),
    }


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_come_back_as_they_were(device: str, protocol: int) -> None:
    for name, x in arrays().items():
        for y in (pickle.loads(pickle.dumps(x, protocol)), copy.copy(x), copy.deepcopy(x)):
            assert (y.dtype, y.shape, y.device) == (x.dtype, x.shape, x.device), name
            np.testing.assert_array_equal(np.asarray(y), np.asarray(x))
            if y.size:
                y[...] = y + y if y.dtype != xp.bool else ~y  # its memory is its own
        assert not np.asarray(x).flags.writeable


def test_a_pickle_of_a_view_holds_the_view_alone(device: str) -> None:
    x = xp.zeros(100_000)
    assert len(pickle.dumps(x[5:10])) < 1000


class OfAnotherDevice:
    """What the pickle of an array on a device that this machine lacks holds."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickle, (np.arange(5.0), self.name)


def test_a_pickle_of_a_device_that_is_missing_goes_to_the_default_one(device: str) -> None:
    x = pickle.loads(pickle.dumps(OfAnotherDevice("cuda:99")))
    assert str(x.device) == device
    assert float(xp.sum(x * 2)) == 20


LOAD = """
import pickle
x = pickle.loads(bytes.fromhex(DATA))
assert float(xp.sum(x)) == 12.0, x
print(x.device)
"""


@pytest.mark.parametrize("chosen", ["", "cpu", "sim"])
def test_a_pickle_of_a_gpu_loads_where_there_is_none(chosen: str) -> None:
    data = pickle.dumps(OfAnotherDevice("cuda"))
    program = LOAD.replace("DATA", repr(data.hex())).replace("12.0", "10.0")
    env = {"CUDA_VISIBLE_DEVICES": "-1", "LAZYARR_DEVICE": chosen}
    assert silent(program, **env) == f"{chosen or 'cpu'}\n"


@pytest.mark.cuda
def test_an_array_on_a_gpu_loads_where_there_is_none() -> None:
    x = xp.ones(3, device="cuda") * 4
    program = LOAD.replace("DATA", repr(pickle.dumps(x).hex()))
    assert silent(program, CUDA_VISIBLE_DEVICES="-1", LAZYARR_DEVICE="") == "cpu\n"
    assert silent(program, LAZYARR_DEVICE="") == "cuda\n"


@pytest.mark.skipif(sys.platform != "linux", reason="without a compiler is tried with Linux's PATH")
def test_a_pickle_of_the_simulator_loads_without_a_compiler() -> None:
    x = xp.ones(3, device="sim") * 4
    program = LOAD.replace("DATA", repr(pickle.dumps(x).hex()))
    assert silent(program, PATH="/nowhere", LAZYARR_DEVICE="cpu", LAZYARR_CXX="") == "cpu\n"
