"""Plain kernels that say how fast a row's mix of reads, writes and arithmetic can be.

One thread moves one 16-byte vector of every array: no loop, no index arithmetic beyond the
thread's number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

import lazyarr as xp
from benchmarks.measure import GPU, Program
from lazyarr.runtime.select import backend_for

_THREADS = 256
_C_TYPES = {"float32": "float", "float64": "double", "int32": "int"}


@cache
def _kernel(expressions: tuple[str, ...], inputs: int, dtype: str) -> Any:
    """Return a kernel that stores each expression of ``v0``, ``v1``, ... in an array of its own."""
    lanes = 16 // np.dtype(dtype).itemsize
    scalar = _C_TYPES[dtype]
    arguments = [f"const {scalar}* __restrict__ in{n}" for n in range(inputs)]
    arguments += [f"{scalar}* __restrict__ out{n}" for n in range(len(expressions))]
    lines = [f"  const vec w{n} = ((const vec*)in{n})[i];" for n in range(inputs)]
    lines += [f"  vec r{n};" for n in range(len(expressions))]
    for lane in range(lanes):
        values = " ".join(f"const {scalar} v{n} = w{n}.at[{lane}];" for n in range(inputs))
        stores = " ".join(f"r{n}.at[{lane}] = {text};" for n, text in enumerate(expressions))
        lines.append(f"  {{ {values} {stores} }}")
    lines += [f"  ((vec*)out{n})[i] = r{n};" for n in range(len(expressions))]
    body = "\n".join(lines)
    source = f"""
struct __align__(16) vec {{ {scalar} at[{lanes}]; }};
extern "C" __global__ void __launch_bounds__({_THREADS})
plain({", ".join(arguments)}, unsigned int count) {{
  const unsigned int i = blockIdx.x * {_THREADS}u + threadIdx.x;
  if (i >= count) return;
{body}
}}
"""
    module = xp.SourceModule(source, device="cuda", no_extern_c=True)
    return module.get_function("plain")


def plain(expressions: Sequence[str], sets: list[tuple[Any, ...]]) -> Program:
    """Return the program that stores ``expressions`` of the inputs, whose size 16 bytes divide."""
    first = sets[0][0]
    dtype = str(first.dtype)
    function = _kernel(tuple(expressions), len(sets[0]), dtype)
    count = first.nbytes // 16
    outputs = [[xp.empty_like(first) for _ in expressions] for _ in sets]
    grid = (math.ceil(count / _THREADS), 1)

    def call(n: int) -> None:
        which = n % len(sets)
        function(
            *map(xp.In, sets[which]),
            *map(xp.Out, outputs[which]),
            np.uint32(count),
            block=(_THREADS, 1, 1),
            grid=grid,
        )

    return Program(call, xp.synchronize)


def copy(sets: list[tuple[Any, ...]]) -> Program:
    """Return the program that copies the first array of each set as the driver does."""
    backend = backend_for(GPU)
    nbytes = sets[0][0].nbytes
    outputs = [xp.empty_like(arrays[0]) for arrays in sets]
    pairs = [(address(out), address(arrays[0])) for out, arrays in zip(outputs, sets, strict=True)]
    kept = (outputs, sets)

    def call(n: int, kept: Any = kept) -> None:
        with backend.batch():
            backend.copy_on_device(*pairs[n % len(pairs)], nbytes)

    return Program(call, xp.synchronize)


def address(x: Any) -> int:
    """Return the device address of an array."""
    return int(x.__cuda_array_interface__["data"][0])


class CuBlas:
    """cuBLAS called directly, as a peer: only in cases that have a program for it."""

    name = "cublas"
    only_special = True

    def __init__(self) -> None:
        from nvmath.bindings import cublas

        self.module = cublas
        self._handle = cublas.create()
        self._factors = {
            dtype: np.array([1, 0], dtype) for dtype in (np.dtype("float32"), np.dtype("float64"))
        }

    def array(self, x: Any) -> Any:
        return x

    def program(self, function: Any, sets: list[tuple[Any, ...]]) -> Program:
        dtype = np.dtype(str(sets[0][0].dtype))
        factors = self._factors[dtype]
        letter = "s" if dtype.itemsize == 4 else "d"
        calls = [
            function(self.module, letter, self._handle, factors.ctypes.data, *arrays)
            for arrays in sets
        ]
        return Program(lambda n: calls[n % len(calls)](), xp.synchronize)

    def free(self) -> None:
        pass
