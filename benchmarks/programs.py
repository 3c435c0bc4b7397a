"""Figures that are not one operation's device time.

Host time of small operations, a Jacobi step, copies between host and device, launches of a user's
kernel, a process's first kernel, and whole programs by size.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

import lazyarr as xp
from benchmarks.cases.case import random
from benchmarks.cases.chains import eight, three
from benchmarks.cases.reductions import distance
from benchmarks.measure import Program, compare, host_microseconds
from benchmarks.peers import Ours

SMALL = 1024
_GIB = 1 << 30
_SIZES = tuple(1 << n for n in range(4, 29, 2))


@dataclass
class Figure:
    """One figure, what it is set against, and its bar as text; ``holds`` says whether it is met."""

    name: str
    value: float
    unit: str
    against: dict[str, float] = field(default_factory=dict)
    bar: str = ""
    holds: bool = True

    def __str__(self) -> str:
        more = " ".join(f"{name} {value:.3f}" for name, value in self.against.items())
        missed = "" if self.holds else f"  MISSED {self.bar}"
        return f"{self.name:<48} {self.value:9.3f} {self.unit:<5} {more}{missed}"

    def data(self) -> dict[str, Any]:
        return asdict(self)


def host_times(libraries: Sequence[Any]) -> list[Figure]:
    """Host time to build and launch small operations."""
    chosen = [Ours(), *(found for found in libraries if found.name in ("cupy", "torch"))]
    inputs = [random(SMALL, "float32", seed) for seed in range(3)]
    programs: dict[str, tuple[Callable[[Any, Any, Any], Any], float | None]] = {
        "a * a": (lambda a, b, c: a * a, 0.9),
        "a * b + c - a": (lambda a, b, c: three(None, a, b, c), 0.4),
        "2 * a + 1": (lambda a, b, c: 2.0 * a + 1.0, None),
        "chain of 10": (lambda a, b, c: a * b + c - a * b + c - a * b + c - a, 0.25),
    }
    figures = []
    for name, (program, bar) in programs.items():
        runs = {}
        for library in chosen:
            arrays = [library.array(Ours().copy(x)) for x in inputs]
            if library.name == "lazyarr":
                runs[library.name] = lambda p=program, x=arrays: xp.evaluate(p(*x))
            else:
                runs[library.name] = lambda p=program, x=arrays: p(*x)
        times = host_microseconds(runs)
        ours = times.pop("lazyarr")
        ratios = {f"of {k}": ours / v for k, v in times.items()}
        holds = bar is None or ratios.get("of cupy", 0.0) <= bar
        text = "" if bar is None else f"of cupy <= {bar}"
        figures.append(
            Figure(f"host time of {name}, {SMALL} elements", ours, "us", {**times, **ratios}, text,
                   holds)
        )  # fmt: skip
    return figures


def step(u: Any, v: Any) -> None:
    """One step of Jacobi in two statements, as npbench states it."""
    v[1:-1, 1:-1] = 0.2 * (u[1:-1, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])
    u[1:-1, 1:-1] = 0.2 * (v[1:-1, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] + v[2:, 1:-1] + v[:-2, 1:-1])


def _own_step(u: Any, v: Any) -> None:
    step(u, v)
    xp.evaluate(u, v)


def jacobi(libraries: Sequence[Any]) -> list[Figure]:
    """Device and wall time of a step; the results are compared after a few."""
    figures = []
    cupy = next((found for found in libraries if found.name == "cupy"), None)
    for side in (64, 1024, 4096):
        start = random((side, side), "float32", side)
        u, v = (xp.asarray(start, copy=True) for _ in range(2))
        xp.evaluate(u, v)
        _own_step(u, v)
        xp.stats(reset=True)
        _own_step(u, v)
        counts = xp.stats()
        assert (counts.launches, counts.h2d, counts.d2h) == (2, 0, 0), counts
        programs = {"lazyarr": Program(lambda n, u=u, v=v: _own_step(u, v), xp.synchronize)}
        if cupy is not None:
            cu, cv, ku, kv = (cupy.array(Ours().copy(start)) for _ in range(4))
            mine, other = (xp.asarray(start, copy=True) for _ in range(2))
            for _ in range(3):
                step(ku, kv)
                step(mine, other)
            assert bool((cupy.array(Ours().copy(mine)) == ku).all())
            programs["cupy"] = cupy.program(lambda m, u, v: step(u, v), [(cu, cv)])
        times = compare(programs)
        against = {}
        if "cupy" in times:
            against = {
                "cupy": times["cupy"].best,
                "times faster": times["cupy"].best / times["lazyarr"].best,
                "times faster by the clock": times["cupy"].wall / times["lazyarr"].wall,
            }
        figures.append(
            Figure(f"Jacobi step (2 kernels), {side} x {side} float32", times["lazyarr"].best,
                   "ms", against)
        )  # fmt: skip
    return figures


def _seconds(run: Callable[[], object], repeat: int = 7) -> float:
    times = []
    for n in range(repeat + 2):
        xp.synchronize()
        start = time.perf_counter()
        run()
        xp.synchronize()
        if n >= 2:
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def transfers() -> list[Figure]:
    """Copies of 1 GiB between host and device against PyCUDA's from and to page-locked memory."""
    import pycuda.driver as driver

    from lazyarr.runtime.select import backend_for

    backend = backend_for(Ours().array(random(1, "float32", 0)).device)
    host = np.random.default_rng(7).random(_GIB // 8)
    target = np.empty_like(host)
    numpy_copy = _seconds(lambda: np.copyto(target, host))
    with backend.batch():
        locked = driver.pagelocked_empty(host.shape, host.dtype)
        locked[...] = host
        memory = driver.mem_alloc(_GIB)

        def up() -> None:
            driver.memcpy_htod_async(memory, locked)

        def down() -> None:
            driver.memcpy_dtoh_async(locked, memory)
            driver.Context.synchronize()

        fastest_up, fastest_down = _seconds(up), _seconds(down)
        memory.free()

    snapshot = _seconds(lambda: xp.asarray(host, device="cuda"))
    waiting = [xp.asarray(host, device="cuda") for _ in range(6)]
    upload = _seconds(lambda: xp.prefetch(waiting.pop()), 4)

    source = xp.asarray(host, device="cuda") + 0
    xp.evaluate(source)
    assert np.array_equal(source.get(), host)
    got = _seconds(source.get)
    rate = _GIB / 1e9

    def figure(name: str, seconds: float, fastest: float, bar: float, what: str) -> Figure:
        share = fastest / seconds
        return Figure(name, rate / seconds, "GB/s", {what: rate / fastest, "share": share},
                      f">= {bar}", share >= bar)  # fmt: skip

    locked_copy = "page-locked copy"
    return [
        figure("upload of a snapshot, 1 GiB", upload, fastest_up, 0.85, locked_copy),
        figure("get(), 1 GiB", got, fastest_down, 0.85, locked_copy),
        figure("snapshot on the host, 1 GiB", snapshot, numpy_copy, 1.0, "NumPy's copy"),
    ]


_SCALE = """
__global__ void scale(float* y, const float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
"""


def user_launches() -> list[Figure]:
    """Host time of 1000 launches on arrays that stay, against PyCUDA's prepared calls."""
    import pycuda.driver as driver

    from lazyarr.runtime.nvrtc import compile_cubin
    from lazyarr.runtime.select import backend_for

    x, y = random(SMALL, "float32", 1), random(SMALL, "float32", 2)
    ours = xp.SourceModule(_SCALE, device="cuda").get_function("scale")
    a, n = np.float32(2), np.int32(SMALL)
    grid, block = (SMALL // 256, 1), (256, 1, 1)
    backend = backend_for(x.device)
    with backend.batch():
        binary = compile_cubin(f'extern "C" {{ {_SCALE} }}', backend.target)
        prepared = driver.module_from_buffer(binary).get_function("scale")
        prepared.prepare("PPfi")
        from benchmarks.ceilings import address

        pointers = address(y), address(x)

    def own() -> None:
        ours(xp.Out(y), xp.In(x), a, n, block=block, grid=grid)

    def pycuda() -> None:
        prepared.prepared_async_call(grid, block, None, *pointers, 2.0, SMALL)

    own()
    np.testing.assert_array_equal(np.asarray(y), 2 * np.asarray(x))
    own_times = host_microseconds({"own": own}, 1000)["own"]
    with backend.batch():  # PyCUDA's user has the context current all the time
        times = host_microseconds({"pycuda": pycuda, "inside a batch": own}, 1000)
    ratio = own_times / times["pycuda"]
    against = {"PyCUDA": times["pycuda"], "ratio": ratio, "inside a batch": times["inside a batch"]}
    return [Figure("launch of a user's kernel", own_times, "us", against, "<= 1.5", ratio <= 1.5)]


_FIRST = """
import time, numpy as np, lazyarr as xp
a = xp.asarray(np.ones(1000, np.float32), device="cuda")
xp.prefetch(a); xp.synchronize()
start = time.perf_counter(); xp.evaluate((a * 2 + a) / (1 + a)); xp.synchronize()
print((time.perf_counter() - start) * 1e3)
"""
_IMPORT = """
import time, numpy; start = time.perf_counter(); import lazyarr
print((time.perf_counter() - start) * 1e3)
"""
_SORT = """
import time, numpy as np, lazyarr as xp
a = xp.asarray(np.random.default_rng(0).random(1 << 20), device="cuda")
xp.prefetch(a); xp.synchronize()
start = time.perf_counter(); xp.evaluate(xp.sort(a)); xp.synchronize()
print((time.perf_counter() - start) * 1e3)
"""


def processes() -> list[Figure]:
    """A new process: import, the first kernel with an empty and with a filled disk cache."""
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LAZYARR_CACHE_DIR": folder}

        def run(text: str) -> float:
            done = subprocess.run(
                [sys.executable, "-c", text], env=environment, capture_output=True, text=True
            )
            if done.returncode:
                raise RuntimeError(done.stderr)
            return float(done.stdout)

        for name, text, repeat, bar in (
            ("first fused kernel, cold", _FIRST, 1, 150.0),
            ("first fused kernel, from the disk cache", _FIRST, 3, 5.0),
            ("first sort, cold", _SORT, 1, None),
            ("first sort, from the disk cache", _SORT, 3, 500.0),
            ("import over NumPy's", _IMPORT, 5, 300.0),
        ):
            times = [run(text) for _ in range(repeat)]
            value = statistics.median(times)
            against = {"largest": max(times)} if repeat > 1 else {}
            limit = "" if bar is None else f"<= {bar:g}"
            figures.append(Figure(name, value, "ms", against, limit, bar is None or value <= bar))
    return figures


def by_size(libraries: Sequence[Any]) -> dict[str, list[dict[str, Any]]]:
    """Wall time of a chain of 8 and of a fused sum from 2^4 to 2^28 elements, in ms."""
    found = {}
    for name, function, count in (("chain of 8", eight, 3), ("sum of squares", distance, 2)):
        points = []
        for n in _SIZES:
            inputs = tuple(random(n, "float32", seed) for seed in range(count))
            programs = {}
            for library in (Ours(), *libraries):
                if not library.only_special:
                    arrays = [tuple(library.array(Ours().copy(x)) for x in inputs)]
                    programs[library.name] = library.program(function, arrays)
            times = compare(programs, 3)
            points.append({"elements": n, "times": {k: t.wall for k, t in times.items()}})
        found[name] = points
    return found
