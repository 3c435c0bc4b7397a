"""npbench's programs in lazyarr: the same function on NumPy's arrays, kernel counts, the runner."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from benchmarks.npbench import compare, report
from benchmarks.npbench.checkout import NAMES, Benchmark

RNG = np.random.default_rng(11)


def uniform(*shape: int, dtype: str = "float64") -> Any:
    return RNG.random(shape).astype(dtype)


def complex_(*shape: int) -> Any:
    return RNG.random(shape) + 1j * RNG.random(shape)


def positive(n: int) -> Any:
    """Return a symmetric matrix with large diagonal elements."""
    a = uniform(n, n)
    return a @ a.T + n * np.eye(n)


def network(*shapes: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple(uniform(*shape, dtype="float32") for shape in shapes)


FLOW = {"dt": 0.001, "dx": 0.2, "dy": 0.2}
# name: (the function's name, small arguments)
INPUTS: dict[str, tuple[str, Callable[[], tuple[Any, ...]]]] = {
    "jacobi_1d": ("kernel", lambda: (4, uniform(30), uniform(30))),
    "jacobi_2d": ("kernel", lambda: (3, uniform(9, 11), uniform(9, 11))),
    "heat_3d": ("kernel", lambda: (3, uniform(6, 7, 8), uniform(6, 7, 8))),
    "fdtd_2d": ("kernel", lambda: (3, *(uniform(7, 8) for _ in range(3)), uniform(3))),
    "seidel_2d": ("kernel", lambda: (3, 6, uniform(6, 6))),
    "adi": ("kernel", lambda: (2, 7, uniform(7, 7))),
    "hdiff": ("hdiff", lambda: (uniform(9, 10, 3), uniform(5, 6, 3), uniform(5, 6, 3))),
    "vadv": (
        "vadv",
        lambda: (
            uniform(4, 5, 6), uniform(4, 5, 6), uniform(5, 5, 6), uniform(4, 5, 6),
            uniform(4, 5, 6), 3.0 / 20.0,
        ),
    ),
    "cavity_flow": (
        "cavity_flow",
        lambda: (
            9, 8, 2, 2, uniform(8, 9), uniform(8, 9), FLOW["dt"], FLOW["dx"], FLOW["dy"],
            uniform(8, 9), 1.0, 0.1,
        ),
    ),
    "channel_flow": (
        "channel_flow",
        lambda: (
            2, np.zeros((8, 9)), np.zeros((8, 9)), 0.02, 0.2, 0.2, np.ones((8, 9)), 1.0, 0.1, 1.0,
        ),
    ),
    "nbody": ("nbody", lambda: (uniform(5, 1), uniform(5, 3), uniform(5, 3), 5, 2, 0.1, 1.0, 0.1)),
    "softmax": ("softmax", lambda: network((2, 3, 4, 8))),
    "mlp": ("mlp", lambda: network((4, 3), (3, 6), (6,), (6, 5), (5,), (5, 7), (7,))),
    "lenet": (
        "lenet5",
        lambda: (
            *network((2, 16, 16, 1), (5, 5, 1, 3), (3,), (5, 5, 3, 4), (4,), (4, 5), (5,), (5, 6),
                     (6,), (6, 3), (3,)),
            2, 4,
        ),
    ),
    "resnet": (
        "resnet_basicblock",
        lambda: network((2, 5, 5, 6), (1, 1, 6, 2), (3, 3, 2, 2), (1, 1, 2, 6)),
    ),
    "conv2d_bias": ("conv2d_bias", lambda: network((2, 6, 7, 3), (2, 2, 3, 4), (4,))),
    "go_fast": ("go_fast", lambda: (uniform(12, 12),)),
    "arc_distance": ("arc_distance", lambda: tuple(uniform(20) for _ in range(4))),
    "azimint_naive": ("azimint_naive", lambda: (uniform(200), uniform(200), 4)),
    "compute": (
        "compute",
        lambda: (*(RNG.integers(0, 1000, (9, 8)) for _ in range(2)), 4, 3, 9),
    ),
    "mandelbrot1": ("mandelbrot", lambda: (-2.0, 0.5, -1.25, 1.25, 12, 13, 8)),
    "mandelbrot2": ("mandelbrot", lambda: (-2.0, 0.5, -1.25, 1.25, 12, 13, 8)),
    "correlation": ("kernel", lambda: (6, 9.0, uniform(9, 6))),
    "covariance": ("kernel", lambda: (6, 9.0, uniform(9, 6))),
    "gramschmidt": ("kernel", lambda: (uniform(7, 5),)),
    "lu": ("kernel", lambda: (positive(6),)),
    "cholesky": ("kernel", lambda: (positive(6),)),
    "durbin": ("kernel", lambda: (uniform(7) + 4,)),
    "floyd_warshall": ("kernel", lambda: (RNG.integers(1, 50, (9, 9)),)),
    "deriche": ("kernel", lambda: (0.25, uniform(8, 9, dtype="float32"))),
    "doitgen": ("kernel", lambda: (3, 4, 5, uniform(3, 4, 5), uniform(5, 5))),
    "gemver": (
        "kernel",
        lambda: (1.5, 1.2, uniform(6, 6), *(uniform(6) for _ in range(8))),
    ),
    "contour_integral": (
        "contour_integral",
        lambda: (5, 7, 2, complex_(3, 5, 5), complex_(4), complex_(5, 7)),
    ),
    "stockham_fft": ("stockham_fft", lambda: (16, 2, 4, complex_(16), np.zeros(16, complex))),
}  # fmt: skip
# Of few kernels: a simulated device compiles each for half a second.
ON_KERNEL_DEVICES = (
    "jacobi_1d", "jacobi_2d", "heat_3d", "hdiff", "softmax", "doitgen", "floyd_warshall", "durbin",
    "lu", "compute",
)  # fmt: skip


def run(function: Callable[..., Any], arguments: tuple[Any, ...], namespace: Any) -> list[Any]:
    """Return what a program returns, and its arrays afterwards."""
    options = {"xp": namespace} if not any(isinstance(a, np.ndarray) for a in arguments) else {}
    own = [namespace.asarray(a, copy=True) if isinstance(a, np.ndarray) else a for a in arguments]
    returned = function(*own, **options)
    values = returned if isinstance(returned, tuple) else (returned,)
    arrays = [a for a, given in zip(own, arguments, strict=True) if isinstance(given, np.ndarray)]
    return [np.asarray(v) for v in (*values, *arrays) if v is not None]


def check(name: str) -> None:
    module = importlib.import_module(f"benchmarks.npbench.kernels.{name}")
    function, make = INPUTS[name]
    arguments = make()
    want = run(getattr(module, function), arguments, np)
    for form in (function, "rewritten"):
        if not hasattr(module, form):
            continue
        got = run(getattr(module, form), arguments, xp)
        exact = want if form == function else run(getattr(module, form), arguments, np)
        for a, b in zip(got, exact, strict=True):
            assert a.shape == b.shape
            tolerance = 1e-4 if b.dtype == np.float32 or name == "resnet" else 1e-9
            np.testing.assert_allclose(a, b, tolerance, tolerance)


def test_every_program_is_here() -> None:
    assert set(INPUTS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_on_cpu(name: str) -> None:
    with xp.default_device("cpu"):
        check(name)


@pytest.mark.parametrize("name", ON_KERNEL_DEVICES)
def test_on_a_kernel_device(kernel_device: str, name: str) -> None:
    check(name)


@pytest.mark.cuda
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ON_KERNEL_DEVICES])
def test_on_cuda(name: str) -> None:
    with xp.default_device("cuda"):
        check(name)


@pytest.mark.parametrize("name", ["lu", "cholesky"])
def test_decompositions_against_their_product(name: str) -> None:
    module = importlib.import_module(f"benchmarks.npbench.kernels.{name}")
    a = positive(8)
    for form in (module.kernel, module.rewritten):
        x = xp.asarray(a, device="cpu")
        form(x)
        found = np.asarray(x)
        lower = np.tril(found, -1) + np.eye(8) if name == "lu" else np.tril(found)
        upper = np.triu(found) if name == "lu" else lower.T
        np.testing.assert_allclose(lower @ upper, a, 1e-10)


@pytest.mark.parametrize(
    ("name", "statements"), [("jacobi_1d", 2), ("jacobi_2d", 2), ("heat_3d", 2)]
)
def test_a_stencil_launches_one_kernel_a_statement(
    kernel_device: str, name: str, statements: int
) -> None:
    kernel = importlib.import_module(f"benchmarks.npbench.kernels.{name}").kernel
    steps, *arrays = INPUTS[name][1]()
    x, y = map(xp.asarray, arrays)
    kernel(steps, x, y)
    xp.evaluate(x, y)
    xp.stats(reset=True)
    kernel(steps, x, y)
    xp.evaluate(x, y)
    counts = xp.stats()
    assert counts.launches == statements * (steps - 1)
    assert (counts.h2d, counts.d2h, counts.control) == (0, 0, 0)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout with one program, under the name of one of ours."""
    folder = tmp_path / "npbench" / "benchmarks" / "made" / "up"
    folder.mkdir(parents=True)
    (tmp_path / "bench_info").mkdir()
    information = {
        "relative_path": "made/up", "module_name": "up", "func_name": "kernel",
        "parameters": {"S": {"TSTEPS": 3, "N": 8}},
        "init": {"func_name": "initialize", "input_args": ["N"], "output_args": ["A", "B"]},
        "input_args": ["TSTEPS", "A", "B"], "array_args": ["A", "B"], "output_args": ["A", "B"],
    }  # fmt: skip
    text = json.dumps({"benchmark": information})
    (tmp_path / "bench_info" / "jacobi_1d.json").write_text(text)
    (folder / "up.py").write_text(
        "import numpy as np\ndef initialize(N):\n    return np.arange(N) / N, np.ones(N)\n"
    )
    right = Path(importlib.import_module("benchmarks.npbench.kernels.jacobi_1d").__file__ or "")
    (folder / "up_numpy.py").write_text(right.read_text())
    return tmp_path


def test_the_runner_checks_and_times(checkout: Path, tmp_path: Path) -> None:
    benchmark = Benchmark(checkout, "jacobi_1d")
    own = compare.ours(benchmark, "cpu", "kernel")
    assert own is not None
    row = compare.measure(benchmark, "S", [own], 0.05, with_numpy=True)
    assert (row.errors, row.checked) == ({}, "numpy")
    assert row.seconds["lazyarr"] > 0 and row.seconds["numpy"] > 0
    assert row.ratio is None and compare.ours(benchmark, "cpu", "rewritten") is None
    environment = {"date": "2026-01-01", "gpu": "", "commit": "c", "npbench": "n", "versions": {}}
    report.write(environment, [row], tmp_path)
    assert "| jacobi_1d | S |" in (tmp_path / "2026-01-01-npbench.md").read_text()


def test_the_runner_reports_a_wrong_result(checkout: Path) -> None:
    numpy_version = checkout / "npbench" / "benchmarks" / "made" / "up" / "up_numpy.py"
    numpy_version.write_text("def kernel(TSTEPS, A, B):\n    A[1:-1] += 1e-3\n")
    benchmark = Benchmark(checkout, "jacobi_1d")
    own = compare.ours(benchmark, "cpu", "kernel")
    assert own is not None
    row = compare.measure(benchmark, "S", [own], 0.05, with_numpy=True)
    assert row.errors["lazyarr"].startswith("wrong: result 0 is off by")


def test_the_mean_is_geometric() -> None:
    rows = [
        compare.Row("a", "S", {"lazyarr": 1.0, "cupy": 2.0}),
        compare.Row("b", "S", {"lazyarr": 1.0, "cupy": 8.0}),
        compare.Row("c", "S", {"lazyarr": 1.0}),
        compare.Row("d", "S", {"lazyarr": 1.0, "cupy": 900.0}, errors={"lazyarr": "wrong"}),
    ]
    assert report.geometric_mean(rows) == pytest.approx(4.0)
    assert "slower than CuPy: none" in report.summary(rows)[0]
