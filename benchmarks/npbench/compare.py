"""Running one program in every framework: fresh inputs each time, the results checked."""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

import lazyarr as xp
from benchmarks.npbench.checkout import Benchmark

_TOLERANCE = 1e-5
_MOST_RUNS = 10
# Points on the set's border escape at another step after another rounding.
_CHAOTIC = {"mandelbrot1": 0.01, "mandelbrot2": 0.01}

Program = Callable[[dict[str, Any]], list[Any]]  # from arguments to results, all of them computed


@dataclass
class Row:
    """One program at one preset: wall times in s by framework, and what lazyarr did in one run."""

    name: str
    preset: str
    seconds: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    checked: str = ""
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """CuPy's time over ours, if our result is right."""
        if "lazyarr" in self.errors:
            return None
        ours, theirs = self.seconds.get("lazyarr"), self.seconds.get("cupy")
        return None if ours is None or theirs is None else theirs / ours

    def data(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}


class Framework:
    """Makes its own copies of inputs, runs a program, and waits for the device."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        benchmark: Benchmark,
        array: Callable[[Any], Any],
        finish: Callable[[list[Any]], None],
        host: Callable[[Any], Any],
        options: dict[str, Any],
    ) -> None:
        self.name = name
        self._function = function
        self._benchmark = benchmark
        self._array = array
        self._finish = finish
        self._host = host
        self._options = options

    def arguments(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments with arrays of the framework's own."""
        arrays = self._benchmark.arrays
        own = {k: self._array(v) if k in arrays else v for k, v in inputs.items()}
        self._finish([own[k] for k in arrays])
        return own

    def run(self, arguments: dict[str, Any]) -> tuple[float, list[Any]]:
        """Return the wall time and the results: what is returned, and arrays that are written."""
        start = time.perf_counter()
        returned = self._function(*arguments.values(), **self._options)
        results = _results(self._benchmark, returned, arguments)
        self._finish(results)
        return time.perf_counter() - start, results

    def host(self, results: list[Any]) -> list[Any]:
        return [self._host(x) for x in results]


def _results(benchmark: Benchmark, returned: Any, arguments: dict[str, Any]) -> list[Any]:
    found = (
        [] if returned is None else list(returned) if isinstance(returned, tuple) else [returned]
    )
    written = benchmark.outputs or ([] if found else benchmark.arrays)
    return found + [arguments[name] for name in written]


def ours(benchmark: Benchmark, device: str, function: str) -> Framework | None:
    """Return our version: npbench's function, or ``rewritten`` where there is one."""
    module = importlib.import_module(f"benchmarks.npbench.kernels.{benchmark.name}")
    found = getattr(module, function, None)
    if found is None:
        return None

    def finish(results: list[Any]) -> None:
        with xp.default_device(device):
            xp.evaluate(*(x for x in results if isinstance(x, xp.Array)))
            if device != "cpu":
                xp.synchronize()

    def call(*arguments: Any, **options: Any) -> Any:
        with xp.default_device(device):
            return found(*arguments, **options)

    return Framework(
        "lazyarr" if function == benchmark.function else "rewritten",
        call,
        benchmark,
        lambda x: _placed(x, device),
        finish,
        np.asarray,
        {} if benchmark.arrays else {"xp": xp},
    )


def _placed(x: Any, device: str) -> Any:
    array = xp.asarray(x, device=device)
    xp.prefetch(array)
    return array


def cupys(benchmark: Benchmark) -> Framework:
    """Return npbench's CuPy version. Raises ImportError without CuPy."""
    cupy = importlib.import_module("cupy")
    return Framework(
        "cupy",
        benchmark.version("cupy"),
        benchmark,
        cupy.asarray,
        lambda results: cupy.cuda.Device().synchronize(),
        lambda x: cupy.asnumpy(x) if isinstance(x, cupy.ndarray) else x,
        {},
    )


def numpys(benchmark: Benchmark) -> Framework:
    """Return npbench's NumPy version."""
    return Framework(
        "numpy",
        benchmark.version("numpy"),
        benchmark,
        np.array,
        lambda results: None,
        np.asarray,
        {},
    )


def difference(benchmark: Benchmark, got: list[Any], want: list[Any]) -> str:
    """Return how results differ, or an empty string."""
    if len(got) != len(want):
        return f"{len(got)} results, not {len(want)}"
    for k, (a, b) in enumerate(zip(map(np.asarray, got), map(np.asarray, want), strict=True)):
        if a.shape != b.shape:
            return f"result {k} has shape {a.shape}, not {b.shape}"
        share = _CHAOTIC.get(benchmark.name)
        if share is not None:
            off = float(np.mean(~np.isclose(a, b, 1e-6, 1e-6)))
            if off > share:
                return f"result {k}: {off:.2%} of the elements differ"
            continue
        if not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return f"result {k} is not finite in other places"
        good = np.isfinite(b)
        scale = float(np.linalg.norm(b[good].ravel()))
        error = float(np.linalg.norm((a[good] - b[good]).ravel())) / (scale or 1.0)
        if not error < _TOLERANCE:
            return f"result {k} is off by {error:.2e} of its norm"
    return ""


def measure(
    benchmark: Benchmark,
    preset: str,
    frameworks: list[Framework],
    budget: float,
    with_numpy: bool,
    warm: bool = False,
) -> Row:
    """Run, check and time a program at a preset.

    ``budget``: seconds for a framework's timed runs. The first run compiles; it is timed only if it
    takes longer than the budget in a process that ran the program before (``warm``).
    """
    row = Row(benchmark.name, preset)
    inputs = benchmark.inputs(preset)
    results: dict[str, list[Any]] = {}
    first: dict[str, float] = {}
    reference = [numpys(benchmark)] if with_numpy else []
    for framework in [*reference, *frameworks]:
        try:
            arguments = framework.arguments(inputs)
            xp.stats(reset=True)
            seconds, found = framework.run(arguments)
            if framework.name == "lazyarr":
                row.counts = xp.stats()._asdict()
            results[framework.name] = framework.host(found)
            first[framework.name] = seconds
        except Exception as error:  # noqa: BLE001 - a version that fails is part of the result
            row.errors[framework.name] = f"{type(error).__name__}: {error}"[:300]
    for name in ("numpy", "cupy"):
        if name in results:
            row.checked = name
            break
    for name in ("lazyarr", "rewritten"):
        if name in results and row.checked:
            wrong = difference(benchmark, results[name], results[row.checked])
            if wrong:
                row.errors[name] = f"wrong: {wrong}"
    row.seconds = {name: first[name] for name in ("numpy",) if name in first}
    del results
    timed = [f for f in frameworks if f.name in first]
    times: dict[str, list[float]] = {f.name: [] for f in timed}
    for n in range(_MOST_RUNS):
        for framework in timed:
            spent = sum(times[framework.name])
            enough = spent + spent / n > budget if n else warm and first[framework.name] > budget
            if not enough:
                times[framework.name].append(framework.run(framework.arguments(inputs))[0])
    for name, found_times in times.items():
        row.seconds[name] = statistics.median(found_times) if found_times else first[name]
    return row
