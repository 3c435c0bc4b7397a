"""The libraries that rows are compared with, each behind one small class.

A row's program is one function of a namespace and arrays, which CuPy and torch get through
``array_api_compat``. JAX's is under ``jax.jit``. All read the same device memory, by DLPack.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import lazyarr as xp
from benchmarks.ceilings import CuBlas
from benchmarks.measure import Program

Function = Callable[..., Any]  # of a namespace and arrays


class Ours:
    """lazyarr on the GPU."""

    name = "lazyarr"
    only_special = False
    module: Any = xp

    def array(self, x: Any) -> Any:
        return x

    def copy(self, x: Any) -> Any:
        copied = xp.asarray(x, copy=True)
        xp.evaluate(copied)
        return copied

    def program(self, function: Function, sets: list[tuple[Any, ...]]) -> Program:
        count = len(sets)

        def call(n: int) -> None:
            inputs = sets[n % count]
            result = function(xp, *inputs)
            if result is None:  # it stored into its first input
                xp.evaluate(inputs[0])
            else:
                xp.evaluate(*result) if type(result) is tuple else xp.evaluate(result)

        return Program(call, xp.synchronize)

    def free(self) -> None:
        xp.synchronize()


class CuPy:
    name = "cupy"
    only_special = False

    def __init__(self) -> None:
        self.library = import_module("cupy")
        self.module = import_module("array_api_compat.cupy")

    def array(self, x: Any) -> Any:
        return self.library.from_dlpack(x)

    def program(self, function: Function, sets: list[tuple[Any, ...]]) -> Program:
        count, module = len(sets), self.module
        wait = self.library.cuda.Device().synchronize
        return Program(lambda n: function(module, *sets[n % count]), wait)

    def free(self) -> None:
        self.library.get_default_memory_pool().free_all_blocks()


class Torch:
    name = "torch"
    only_special = False

    def __init__(self) -> None:
        self.library = import_module("torch")
        self.module = import_module("array_api_compat.torch")
        self.library.set_grad_enabled(False)

    def array(self, x: Any) -> Any:
        return self.library.from_dlpack(x)

    def program(self, function: Function, sets: list[tuple[Any, ...]]) -> Program:
        count, module = len(sets), self.module
        return Program(lambda n: function(module, *sets[n % count]), self.library.cuda.synchronize)

    def free(self) -> None:
        self.library.cuda.empty_cache()


class Jax:
    """JAX with ``jax.jit``. It has streams of its own: only its wall time can be taken."""

    name = "jax"
    only_special = False

    def __init__(self) -> None:
        self.library = import_module("jax")
        self.library.config.update("jax_enable_x64", True)
        self.module = self.library.numpy
        self._last: Any = None

    def array(self, x: Any) -> Any:
        return self.library.dlpack.from_dlpack(x)

    def program(self, function: Function, sets: list[tuple[Any, ...]]) -> Program:
        count = len(sets)
        jitted = self.library.jit(lambda *arrays: function(self.module, *arrays))

        def call(n: int) -> None:
            self._last = jitted(*sets[n % count])

        def wait() -> None:
            self.library.block_until_ready(self._last)

        return Program(call, wait, events=False)

    def free(self) -> None:
        self._last = None
        self.library.clear_caches()


def libraries(wanted: list[str] | None = None) -> list[Any]:
    """Return those that are installed here, of ``wanted``."""
    found = []
    for kind in (CuPy, Torch, Jax, CuBlas):
        if wanted is None or kind.name in wanted:
            try:
                found.append(kind())
            except ImportError:
                continue
    return found
