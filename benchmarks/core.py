"""The core's figures on one GPU, beside CuPy, torch and JAX: ``python -m benchmarks.core``.

Rows: a fused chain and a fused reduction at 2^28 float32 against the device's own copy; sums along
axes; a transposed copy; softmax and layer norm; host time of small operations; a Jacobi step; a
process's first kernel. Data is random; each result is checked in the same run. ``--out DIR`` writes
the table and JSON.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lazyarr as xp
from benchmarks.measure import gpu_milliseconds, host_microseconds, peers

LARGE = 1 << 28
SMALL = 1024


class Table:
    """Rows of (name, figure, unit, against what)."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, name: str, value: float, unit: str, **against: float) -> None:
        row = {"name": name, "value": round(value, 4), "unit": unit}
        row.update({k: round(v, 4) for k, v in against.items()})
        self.rows.append(row)
        more = "  ".join(f"{k} {v:.3f}" for k, v in against.items())
        print(f"{name:<44} {value:10.3f} {unit:<4} {more}", flush=True)


def evaluated(make: Callable[[], Any]) -> Callable[[], None]:
    return lambda: xp.evaluate(make())


def memory_rows(table: Table, rng: np.random.Generator, libs: dict[str, Any]) -> None:
    """The chain, the difference-square-sum, sums along axes, the transposed copy."""
    host = [rng.random(LARGE, dtype=np.float32) for _ in range(3)]
    a, b, c = (xp.asarray(h, device="cuda") for h in host)
    xp.evaluate(a + b, b + c)
    copied = gpu_milliseconds(evaluated(lambda: xp.asarray(a, copy=True)))
    rate = 2 * a.nbytes / copied / 1e6
    table.add("copy of 2^28 float32 (the ceiling), GB/s", rate, "GB/s")

    def chain() -> Any:
        return xp.sqrt(a * b + c) / (1 + xp.exp(-a)) - b * c

    def distance() -> Any:
        d = a - b
        return xp.sum(d * d)

    xp.stats(reset=True)
    got = chain()[: 1 << 20]
    want = np.sqrt(host[0] * host[1] + host[2]) / (1 + np.exp(-host[0])) - host[1] * host[2]
    np.testing.assert_allclose(np.asarray(got), want[: 1 << 20], rtol=1e-5, atol=1e-6)
    exact = float(((host[0].astype(np.float64) - host[1]) ** 2).sum())
    np.testing.assert_allclose(float(distance()), exact, rtol=1e-6)
    del want
    chained = gpu_milliseconds(evaluated(chain))
    ceiling = 4 * a.nbytes / rate / 1e6
    reduced = gpu_milliseconds(evaluated(distance))
    read = 2 * a.nbytes / rate / 1e6
    theirs = large_peers(libs, host)
    table.add("chain of 8 operations", chained, "ms", of_copy=chained / ceiling, **theirs["chain"])
    table.add("sum of squared difference", reduced, "ms", of_read=reduced / read, **theirs["sum"])
    axis_rows(table, a, rate)
    matrix = xp.reshape(a, (16384, 16384))
    moved = gpu_milliseconds(evaluated(lambda: xp.asarray(matrix.T, copy=True)))
    table.add("transposed copy, 16384 x 16384", moved, "ms", of_copy=moved / copied)


def softmax(x: Any, m: Any) -> Any:
    e = m.exp(x - m.max(x, axis=-1, keepdims=True))
    return e / m.sum(e, axis=-1, keepdims=True)


def layer_norm(x: Any, m: Any) -> Any:
    centred = x - m.mean(x, axis=-1, keepdims=True)
    return centred / m.sqrt(m.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)


def row_rows(table: Table, rng: np.random.Generator, libs: dict[str, Any]) -> None:
    """Softmax and layer norm over the last axis, against a copy of the array."""
    for shape in ((1 << 20, 256), (1 << 18, 1000), (1 << 16, 4096), (1 << 14, 16384)):
        host = rng.random(shape, dtype=np.float32)
        x = xp.asarray(host, device="cuda")
        copied = gpu_milliseconds(evaluated(lambda x=x: xp.asarray(x, copy=True)))
        for function in (softmax, layer_norm):
            got = np.asarray(function(x, xp)[:4])
            np.testing.assert_allclose(got, function(host[:4], np), rtol=1e-4, atol=1e-5)
            time = gpu_milliseconds(evaluated(lambda x=x, f=function: f(x, xp)))
            theirs = {}
            if "jax" in libs:
                jax = libs["jax"]
                jitted = jax.jit(lambda v, f=function: f(v, libs["jax"].numpy))
                theirs["jax_jit"] = clocked(jitted, jax.device_put(host))
            if "torch" in libs:
                theirs["torch"] = torch_rows(libs["torch"], host, function)
                libs["torch"].cuda.empty_cache()
            if "cupy" in libs:
                theirs["cupy"] = cupy_rows(libs["cupy"], host, function)
                libs["cupy"].get_default_memory_pool().free_all_blocks()
            name = f"{function.__name__} of {shape[0]} x {shape[1]}"
            table.add(name, time, "ms", of_copy=time / copied, **theirs)
        del x


def torch_rows(torch: Any, host: Any, function: Any) -> float:
    x = torch.asarray(host, device="cuda")
    if function is softmax:
        return gpu_milliseconds(lambda: torch.softmax(x, -1), 5)
    return gpu_milliseconds(lambda: torch.nn.functional.layer_norm(x, x.shape[-1:]), 5)


def cupy_rows(cupy: Any, host: Any, function: Any) -> float:
    x = cupy.asarray(host)
    return gpu_milliseconds(lambda: function(x, cupy), 5)


def large_peers(libs: dict[str, Any], host: list[Any]) -> dict[str, dict[str, float]]:
    """Return the times of the chain and the sum in the other libraries, in ms."""
    result: dict[str, dict[str, float]] = {"chain": {}, "sum": {}}
    if "cupy" in libs:
        cp = libs["cupy"]
        a, b, c = (cp.asarray(h) for h in host)
        result["chain"]["cupy"] = gpu_milliseconds(
            lambda: cp.sqrt(a * b + c) / (1 + cp.exp(-a)) - b * c, 5
        )
        result["sum"]["cupy"] = gpu_milliseconds(lambda: ((a - b) ** 2).sum(), 5)
        del a, b, c
        cp.get_default_memory_pool().free_all_blocks()
    if "torch" in libs:
        torch = libs["torch"]
        a, b, c = (torch.asarray(h, device="cuda") for h in host)
        result["chain"]["torch"] = gpu_milliseconds(
            lambda: torch.sqrt(a * b + c) / (1 + torch.exp(-a)) - b * c, 5
        )
        result["sum"]["torch"] = gpu_milliseconds(lambda: ((a - b) ** 2).sum(), 5)
        del a, b, c
        torch.cuda.empty_cache()
    if "jax" in libs:
        jax = libs["jax"]
        jnp = jax.numpy
        a, b, c = (jax.device_put(h) for h in host)
        chain = jax.jit(lambda a, b, c: jnp.sqrt(a * b + c) / (1 + jnp.exp(-a)) - b * c)
        total = jax.jit(lambda a, b: ((a - b) ** 2).sum())
        result["chain"]["jax_jit"] = clocked(chain, a, b, c)
        result["sum"]["jax_jit"] = clocked(total, a, b)
    return result


def clocked(function: Callable[..., Any], *args: Any) -> float:
    """Return the median wall time in ms of a jitted call, waited for: JAX has its own streams."""
    import statistics
    import time

    times = []
    for n in range(12):
        start = time.perf_counter()
        function(*args).block_until_ready()
        if n >= 3:
            times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def axis_rows(table: Table, a: Any, rate: float) -> None:
    for shape in ((16384, 16384), (1 << 20, 256), (256, 1 << 20)):
        x = xp.reshape(a, shape)
        for axis in (0, 1):
            time = gpu_milliseconds(evaluated(lambda x=x, axis=axis: xp.sum(x, axis=axis)))
            share = a.nbytes / time / 1e6 / rate
            table.add(
                f"sum of {shape[0]} x {shape[1]} along axis {axis}", time, "ms", of_rate=share
            )


def host_rows(table: Table, rng: np.random.Generator, libs: dict[str, Any]) -> None:
    """Host time to build and launch small operations."""
    host = [rng.random(SMALL, dtype=np.float32) for _ in range(3)]
    families: dict[str, tuple[Any, Callable[[Any], object]]] = {
        "lazyarr": ([xp.asarray(h, device="cuda") for h in host], xp.evaluate)
    }
    if "cupy" in libs:
        families["cupy"] = ([libs["cupy"].asarray(h) for h in host], lambda x: x)
    if "torch" in libs:
        families["torch"] = ([libs["torch"].asarray(h, device="cuda") for h in host], lambda x: x)
    programs: dict[str, Callable[[Any, Any, Any], Any]] = {
        "a * a": lambda a, b, c: a * a,
        "a * b + c - a": lambda a, b, c: a * b + c - a,
        "2 * a + 1": lambda a, b, c: 2.0 * a + 1.0,
        "chain of 10": lambda a, b, c: a * b + c - a * b + c - a * b + c - a,
    }
    for name, program in programs.items():
        runs = {
            family: (lambda p=program, x=arrays, e=end: e(p(*x)))
            for family, (arrays, end) in families.items()
        }
        times = host_microseconds(runs)
        ours = times.pop("lazyarr")
        ratios = {f"of_{k}": ours / v for k, v in times.items()}
        table.add(f"host time of {name}, 1024 elements", ours, "us", **times, **ratios)


def step(u: Any, v: Any) -> None:
    """One step of Jacobi in two statements, as npbench states it."""
    v[1:-1, 1:-1] = 0.2 * (u[1:-1, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])
    u[1:-1, 1:-1] = 0.2 * (v[1:-1, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] + v[2:, 1:-1] + v[:-2, 1:-1])


def heat_rows(table: Table, rng: np.random.Generator, libs: dict[str, Any]) -> None:
    for n in (64, 1024, 4096):
        start = rng.random((n, n), dtype=np.float32)
        u, v = xp.asarray(start, device="cuda"), xp.asarray(start, device="cuda")
        xp.evaluate(u + v)
        step(u, v)
        xp.stats(reset=True)
        step(u, v)
        counts = xp.stats()
        assert (counts.launches, counts.h2d, counts.d2h) == (2, 0, 0), counts
        ours = gpu_milliseconds(lambda u=u, v=v: step(u, v), 30)
        theirs: dict[str, float] = {}
        if "cupy" in libs:
            cp = libs["cupy"]
            cu, cv = cp.asarray(start), cp.asarray(start)
            mine = xp.asarray(start, device="cuda")
            other = xp.asarray(start, device="cuda")
            for _ in range(3):
                step(cu, cv)
                step(mine, other)
            assert np.array_equal(np.asarray(mine), cp.asnumpy(cu))
            theirs["cupy"] = gpu_milliseconds(lambda u=cu, v=cv: step(u, v), 30)
            theirs["times_faster"] = theirs["cupy"] / ours
        table.add(f"Jacobi step (2 kernels), {n} x {n} float32", ours, "ms", **theirs)


FIRST = """
import time, numpy as np, lazyarr as xp
a = xp.asarray(np.ones(1000, np.float32), device="cuda")
xp.prefetch(a); xp.synchronize()
start = time.perf_counter(); xp.evaluate((a * 2 + a) / (1 + a)); xp.synchronize()
print((time.perf_counter() - start) * 1e3)
"""
IMPORT = """
import time, numpy; start = time.perf_counter(); import lazyarr
print(time.perf_counter() - start)
"""


def process_rows(table: Table) -> None:
    """A new process: import, the first kernel with an empty and with a filled disk cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LAZYARR_CACHE_DIR": folder}

        def run(text: str) -> float:
            done = subprocess.run(
                [sys.executable, "-c", text], env=environment, capture_output=True, text=True
            )
            if done.returncode:
                raise RuntimeError(done.stderr)
            return float(done.stdout)

        table.add("first fused kernel, cold", run(FIRST), "ms")
        table.add("first fused kernel, from the disk cache", run(FIRST), "ms")
        table.add("import over NumPy's", sorted(run(IMPORT) for _ in range(5))[2], "s")


def versions(libs: dict[str, Any]) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("lazyarr", "numpy", "pycuda", "cupy-cuda13x", "torch", "jax"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def markdown(result: dict[str, Any]) -> str:
    lines = [
        f"# Core figures, {result['date']}",
        "",
        f"GPU: {result['gpu']}. Commit {result['commit']}. "
        + ", ".join(f"{k} {v}" for k, v in result["versions"].items())
        + ". Medians; one run of `python -m benchmarks.core`.",
        "",
        "| row | figure | against |",
        "|---|---|---|",
    ]
    for row in result["rows"]:
        rest = {k: v for k, v in row.items() if k not in ("name", "value", "unit")}
        against = ", ".join(f"{k.replace('_', ' ')} {v:.3f}" for k, v in rest.items())
        lines.append(f"| {row['name']} | {row['value']:.3f} {row['unit']} | {against} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for the table and the JSON")
    parser.add_argument("--commit", default="unknown", help="the commit that is measured")
    arguments = parser.parse_args()
    libs = peers()
    table = Table()
    rng = np.random.default_rng(2026)
    host_rows(table, rng, libs)
    heat_rows(table, rng, libs)
    memory_rows(table, rng, libs)
    row_rows(table, rng, libs)
    process_rows(table)
    if arguments.out is None:
        return
    gpu = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
    ).stdout.strip()
    result = {
        "date": datetime.date.today().isoformat(),
        "gpu": gpu,
        "commit": arguments.commit,
        "versions": versions(libs),
        "rows": table.rows,
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    name = f"{result['date']}-core"
    (arguments.out / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    (arguments.out / f"{name}.md").write_text(markdown(result))


if __name__ == "__main__":
    main()
