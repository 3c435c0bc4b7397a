"""Threads: any of them may use any array, and two at once do no harm.

The interpreter switches threads as often as it can here. ``docs/design/threads.md`` says what is
guarded by what.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr.graph import evaluate

THREADS = 6


@pytest.fixture(autouse=True)
def switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(device: str, work: Callable[[int], Any], threads: int = THREADS) -> list[Any]:
    """Run ``work(0)``, ``work(1)``, ... in threads that start together; raise what they raise."""
    barrier = threading.Barrier(threads)

    def run(i: int) -> Any:
        with xp.default_device(device):
            barrier.wait(30)
            return work(i)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))


def test_a_pending_array_is_evaluated_once(kernel_device: str) -> None:
    x = xp.ones(1000) + 1
    xp.evaluate(x)
    for n in range(30):
        y = xp.sum(x * float(n))
        xp.stats(reset=True)
        assert at_once(kernel_device, lambda i, y=y: float(y)) == [2000.0 * n] * THREADS
        count = xp.stats()
        assert (count.launches, count.evaluations, count.d2h) == (1, 1, 1)


def test_a_mirror_is_made_once_and_whole(kernel_device: str) -> None:
    n = 1 << 15
    for k in range(30):
        x = xp.full(n, float(k)) * 1
        xp.evaluate(x)
        xp.stats(reset=True)
        for got in at_once(kernel_device, lambda i, x=x: np.asarray(x)):
            assert got.min() == got.max() == k
        assert xp.stats().d2h == 1


def test_a_constant_is_made_real_once(device: str) -> None:
    for _ in range(50):
        x = xp.zeros(THREADS)

        def work(i: int, x: xp.Array = x) -> float:
            total = float(xp.sum(x + 1))
            x[i] = i + 1.0
            return total

        totals = at_once(device, work)
        assert min(totals) >= THREADS
        assert np.asarray(x).tolist() == [i + 1.0 for i in range(THREADS)]


def test_writes_to_disjoint_views(device: str) -> None:
    """Each thread owns a row; every look at a row sees one whole write of it."""
    rounds = 25
    x = xp.zeros((THREADS, 700))
    kept: list[list[np.ndarray[Any, Any]]] = [[] for _ in range(THREADS)]

    def work(i: int) -> None:
        row = x[i]
        seen = [0.0] * THREADS
        for k in range(rounds):
            row[...] = 2.0 * k + 1
            row += 1
            assert float(row[699]) == 2.0 * k + 2
            everything = np.asarray(x) if k % 2 else x.get()
            assert (everything.min(axis=1) == everything.max(axis=1)).all()
            assert (everything[:, 0] >= seen).all()
            assert everything[i, 0] == 2.0 * k + 2
            seen = everything[:, 0].tolist()
            if k % 2:
                kept[i].append(everything)

    at_once(device, work)
    assert (np.asarray(x) == 2.0 * rounds).all()
    for snapshots in kept:
        mine = [snapshot[:, 0].sum() for snapshot in snapshots]
        assert mine == sorted(mine)
        assert all((s.min(axis=1) == s.max(axis=1)).all() for s in snapshots)


def test_writes_by_index_arrays_and_masks(device: str) -> None:
    x = xp.zeros((THREADS, 8), dtype=xp.int64)
    places = xp.asarray(np.asarray([1, 3, 5]))
    even = xp.arange(8) % 2 == 0
    xp.evaluate(even)

    def work(i: int) -> None:
        row = x[i]
        for k in range(10):
            row[places] = k
            row[even] = -k
            assert int(xp.sum(row)) == 3 * k - 4 * k

    at_once(device, work)
    assert np.asarray(x).tolist() == [[-9, 9, -9, 9, -9, 9, -9, 0]] * THREADS


def test_host_views_beside_kernels(device: str) -> None:
    x = xp.zeros(THREADS)

    def work(i: int) -> None:
        mine = xp.zeros(100) + i
        for k in range(10):
            with mine.host("rw") as h:
                h += 1
            mine *= 2
            x[i] = mine[99]
            assert float(x[i]) == float(mine[0]) == (i + 2) * 2.0 ** (k + 1) - 2

    at_once(device, work)
    assert np.asarray(x).tolist() == [(i + 2) * 2.0**10 - 2 for i in range(THREADS)]


ADD = 'extern "C" __global__ void add(const float* x, float* y) { y[threadIdx.x] += x[0]; }'


def test_users_kernels(kernel_device: str) -> None:
    shared = xp.ones(4, dtype=xp.float32)

    def work(i: int) -> list[float]:
        add = xp.SourceModule(ADD).get_function("add")
        mine = xp.zeros(4, dtype=xp.float32)
        for _ in range(25):
            add(xp.In(shared), mine, block=4, grid=1)
            mine += 1
            xp.evaluate(xp.sum(shared) + mine)
        return np.asarray(mine).tolist()  # type: ignore[no-any-return]

    assert at_once(kernel_device, work) == [[50.0] * 4] * THREADS


def test_explain_beside_evaluations(kernel_device: str) -> None:
    x = xp.ones(100) + 1

    def work(i: int) -> None:
        for k in range(20):
            y = (x * float(k) + i) * x
            text = xp.explain(y)
            assert float(xp.sum(y)) == 200.0 * (2.0 * k + i)
            assert "kernel" in text

    at_once(kernel_device, work)


def test_traces_of_other_threads(kernel_device: str) -> None:
    def work(i: int) -> int:
        events = 0
        for k in range(15):
            with xp.trace() as trace:
                assert float(xp.sum(xp.ones(10) * k)) == 10.0 * k
            events += len(trace.events)
        return events

    assert min(at_once(kernel_device, work)) > 0


class Evaluates:
    """Garbage with a finalizer that uses an array, wherever the collector runs."""

    done = 0
    wrong = 0

    def __init__(self, x: xp.Array, want: float) -> None:
        self.x = x
        self.want = want
        self.me = self

    def __del__(self) -> None:
        Evaluates.done += 1
        Evaluates.wrong += float(xp.sum(self.x)) != self.want


def test_a_collector_that_runs_anywhere(kernel_device: str) -> None:
    """Cycles of arrays die in whichever thread the collector runs, inside an evaluation too.

    Not on ``cpu``: NumPy's ``errstate`` sets a context variable, and CPython 3.11 crashes if a
    finalizer does that while the variable is being set (``docs/design/threads.md``).
    """
    before = gc.get_threshold()
    Evaluates.done = Evaluates.wrong = 0
    rounds = 12

    def work(i: int) -> None:
        kept = xp.ones(50) * float(i)
        for k in range(rounds):
            y = (kept + k) * 2 + kept  # pending: a finalizer may evaluate parts of it
            part = kept + k
            Evaluates((part * 2) + part, 150.0 * (i + k))
            cycle: list[Any] = [kept * k, y]
            cycle.append(cycle)
            xp.evaluate(cycle[0])
            del cycle
            z = xp.max(y[::2]) + part
            assert float(z[0]) == 2.0 * (i + k) + i + i + k

    gc.set_threshold(15)
    try:
        at_once(kernel_device, work)
        gc.collect()
    finally:
        gc.set_threshold(*before)
    assert Evaluates.done == rounds * THREADS
    assert Evaluates.wrong == 0


@pytest.mark.skipif(
    str(evaluate.__file__).endswith((".so", ".pyd")), reason="compiled: nothing can be put between"
)
@pytest.mark.parametrize("where", ["capture", "make_plan"])
def test_a_finalizer_inside_an_evaluation(kernel_device: str, where: str) -> None:
    """An evaluation that starts within another one, in the same thread, leaves both right."""
    x = xp.ones(20) + 1
    shared = x * 7
    y = xp.sum(shared * 3 - shared[::-1])
    results: list[float] = []
    original = getattr(evaluate, where)

    def disturbed(*args: Any) -> Any:
        found = original(*args)
        if not results:
            results.append(0.0)
            results[0] = float(xp.sum(shared[:7]) + xp.sum(x * 11 - 1))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, where, disturbed)
        assert float(y) == 20 * 28
    assert results == [7 * 14 + 20 * 21.0]


def test_a_thread_that_fails_leaves_nothing_behind(kernel_device: str) -> None:
    x = xp.ones(10)

    def fail() -> None:
        with xp.default_device(kernel_device):
            with pytest.raises(ValueError, match="inside"), x.host("rw") as h:
                h[0] = 5
                raise ValueError("inside")
            with pytest.raises(IndexError):
                np.asarray(x[xp.asarray(np.asarray([3, 11])) + 0])

    for _ in range(3):
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
    assert np.asarray(x + 1).tolist() == [6.0] + [2.0] * 9


# On a GPU, work goes on behind the threads' backs.

SPIN = """
extern "C" __global__ void spin(double* p, long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) {}
    p[0] += 1;
}
"""


def streams(count: int) -> list[Any]:
    """Return streams of PyCUDA's, in the context that lazyarr uses."""
    import pycuda.driver as drv

    with xp.ones(1, device="cuda").device.runtime.backend.batch():
        return [drv.Stream() for _ in range(count)]


@pytest.mark.cuda
def test_each_thread_has_a_stream() -> None:
    made = streams(3)
    x = xp.zeros((THREADS, 1 << 16), device="cuda")
    xp.evaluate(x)

    def work(i: int) -> None:
        with xp.stream(made[i % 3]):  # two threads share one
            for k in range(40):
                x[i] = xp.full(1 << 16, float(k)) * 2
                y = x[i] + x[i, ::-1]
                other = xp.ones(1 << 16) * k
                xp.evaluate(y, other)
                del other
                assert float(xp.min(y)) == float(xp.max(y)) == 4.0 * k
        assert float(xp.sum(x[i])) == 78.0 * (1 << 16)

    at_once("cuda", work)
    assert (x.get() == 78).all()
    assert set(x.device.runtime.backend._live.values()) <= {0}


@pytest.mark.cuda
def test_others_launch_while_a_read_waits() -> None:
    """A thread that waits for the device does not hold the lock."""
    x = xp.zeros(1, device="cuda")
    y = xp.ones(1000, device="cuda")
    spin = xp.SourceModule(SPIN, device="cuda").get_function("spin")
    spin(x, np.int64(1), block=1, grid=1)
    assert float(xp.sum(y * 3)) == 3000
    float(x[0])
    began = threading.Event()

    def wait() -> float:
        spin(x, np.int64(1_500_000_000), block=1, grid=1)  # most of a second
        began.set()
        return float(x[0])

    with ThreadPoolExecutor(1) as pool:
        pool.submit(float, x[0]).result()
        total = pool.submit(wait)
        assert began.wait(20)
        time.sleep(0.02)
        start = time.perf_counter()
        z = y * 3
        xp.evaluate(z)
        launched = time.perf_counter() - start
        assert not total.done()
        assert total.result() == 2
    assert float(xp.sum(z)) == 3000
    assert launched < 0.1


@pytest.mark.cuda
def test_a_thread_leaves_no_context_pushed() -> None:
    import pycuda.driver as drv

    x = xp.ones(10, device="cuda") + 1
    left: list[Any] = []

    def use(work: Callable[[], Any]) -> None:
        with pytest.raises(ValueError), xp.default_device("cuda"):  # noqa: PT011 - of any kind
            work()
            raise ValueError
        left.append(drv.Context.get_current())

    def fails() -> None:
        with x.device.runtime.backend.batch(), x.device.runtime.backend.batch():
            xp.evaluate(x * 2)
            raise ValueError

    for work in (lambda: float(xp.sum(x)), lambda: x.get(), fails, lambda: x + xp.ones(3)):
        thread = threading.Thread(target=use, args=(work,))
        thread.start()
        thread.join()
    assert left == [None] * 4
    assert float(xp.sum(x)) == 20


@pytest.mark.cuda
def test_counts_of_memory_after_many_threads() -> None:
    xp.synchronize("cuda")
    gc.collect()
    used = xp.memory_info("cuda").used

    def work(i: int) -> None:
        for k in range(200):
            x = xp.ones(1000 * (i + 1)) * k
            float(x[-1])
            cycle: list[Any] = [x]
            cycle.append(cycle)

    at_once("cuda", work)
    gc.collect()
    assert xp.memory_info("cuda").used == used
