"""What is read from a checkout of npbench: inputs, and the NumPy and CuPy versions."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAMES = (
    "jacobi_1d", "jacobi_2d", "heat_3d", "fdtd_2d", "seidel_2d", "adi", "hdiff", "vadv",
    "cavity_flow", "channel_flow", "nbody", "softmax", "mlp", "lenet", "resnet", "conv2d_bias",
    "go_fast", "arc_distance", "azimint_naive", "compute", "mandelbrot1", "mandelbrot2",
    "correlation", "covariance", "gramschmidt", "lu", "cholesky", "durbin", "floyd_warshall",
    "deriche", "doitgen", "gemver", "contour_integral", "stockham_fft",
)  # fmt: skip


class Benchmark:
    """One of npbench's programs, as its checkout describes it."""

    def __init__(self, checkout: Path, name: str) -> None:
        self.name = name
        text = (checkout / "bench_info" / f"{name}.json").read_text()
        info = json.loads(text)["benchmark"]
        self._parameters: dict[str, dict[str, Any]] = info["parameters"]
        self._init = info.get("init") or {}
        self.arguments: list[str] = info["input_args"]
        self.arrays: list[str] = info["array_args"]
        self.outputs: list[str] = info["output_args"]
        self.function: str = info["func_name"]
        self._folder = checkout / "npbench" / "benchmarks" / info["relative_path"]
        self._module: str = info["module_name"]

    def inputs(self, preset: str) -> dict[str, Any]:
        """Return the arguments at a preset, by name; arrays are NumPy's."""
        data = dict(self._parameters[preset])
        if self._init:
            initialise = getattr(self._load(""), self._init["func_name"])
            made = initialise(*(data[name] for name in self._init["input_args"]))
            names = self._init["output_args"]
            data.update(zip(names, made if len(names) > 1 else (made,), strict=True))
        return {name: data[name] for name in self.arguments}

    def version(self, framework: str) -> Callable[..., Any]:
        """Return npbench's program for ``numpy`` or ``cupy``."""
        found: Callable[..., Any] = getattr(self._load(f"_{framework}"), self.function)
        return found

    def _load(self, ending: str) -> Any:
        path = self._folder / f"{self._module}{ending}.py"
        spec = importlib.util.spec_from_file_location(f"npbench_{self.name}{ending}", path)
        if spec is None or spec.loader is None:
            raise FileNotFoundError(path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
