"""Loads a compiled module, launches its kernels and turns what they did wrong into exceptions.

Owns the ctypes mirror of ``include/machine.h``. Imports ``base`` and this package's modules.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import mmap
import os
import struct
import sys
import tempfile
from _ctypes import dlclose
from collections.abc import Callable, Sequence

from ..base import Access, Dim3, KernelError
from ..finalizers import Last
from ..locks import Rank, make_lock
from . import compiler, elf, report

MAX_THREADS = 1024
MAX_SHARED = 232448
_MAX_ARGUMENTS = 32764
_MAX_RANGES = 2048
_STACK_BYTES = 256 * 1024
_NO_RESERVE = 0x4000  # MAP_NORESERVE: most of the stacks are never touched

_RANGE = struct.Struct("=QQII")
_U32 = ctypes.c_uint32
_U64 = ctypes.c_uint64
_TRIPLE = _U32 * 3


class _Error(ctypes.Structure):
    _fields_ = (
        ("code", _U32),
        ("write", _U32),
        ("line", _U32),
        ("size", _U32),
        ("address", _U64),
        ("a", _U64),
        ("b", _U64),
        ("place", _U64),
        ("thread", _TRIPLE),
        ("block", _TRIPLE),
        ("other", _TRIPLE),
        ("kinds", _U32 * 2),
        ("text", ctypes.c_char_p),
    )


class _Request(ctypes.Structure):
    _fields_ = (
        ("kernel", _U32),
        ("shared", _U32),
        ("grid", _TRIPLE),
        ("block", _TRIPLE),
        ("arguments", ctypes.c_char_p),
        ("ranges", ctypes.c_char_p),
        ("range_count", _U64),
        ("stacks", _U64),
        ("stack_bytes", _U64),
        ("error", _Error),
    )


class _Kernel(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("argument_bytes", _U64),
        ("run", ctypes.c_void_p),
    )


# One launch at a time in the process: a launch owns the stacks, and kernels of two modules may
# touch the same memory, where only running one after another makes atomics atomic.
_launching = make_lock(Rank.LAUNCH)
_loads = itertools.count()
_keep: list[mmap.mmap] = []
_stacks: list[int] = []


def _stack_address() -> int:
    """Return the address of the stacks, mapped at the first call; the launch lock is held."""
    if not _stacks:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
        memory = mmap.mmap(-1, (MAX_THREADS + 1) * _STACK_BYTES, flags=flags)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        # One more than is used, and out of bounds: what overshoots the lowest stack faults there.
        protect = ctypes.CDLL(None).mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        protect(address, _STACK_BYTES, 0)
        _keep.append(memory)
        _stacks.append(address + _STACK_BYTES)
    return _stacks[0]


def _open(binary: bytes) -> ctypes.CDLL:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("lazyarr-sim")
        try:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(binary)
            # The loader returns a library that is already open under the same path, and numbers
            # of descriptors recur. So each path is spelt its own way.
            digits = f"{next(_loads):b}"
            spelling = "".join("./" if digit == "1" else "//" for digit in digits)
            return ctypes.CDLL(f"/proc/self/fd/{spelling}{descriptor}")
        except OSError:  # no /proc, or it may not be executed from: an ordinary file then
            pass
        finally:
            os.close(descriptor)
    with tempfile.NamedTemporaryFile(prefix="lazyarr-sim-", suffix=".so") as file:
        file.write(binary)
        file.flush()
        return ctypes.CDLL(file.name)


def _unload(handle: int, ending: Callable[[], bool] = sys.is_finalizing) -> None:
    if not ending():
        dlclose(handle)


class SimFunction:
    """A kernel of a ``SimModule``."""

    __slots__ = ("argument_bytes", "index", "module", "name")

    def __init__(self, module: SimModule, name: str, index: int, argument_bytes: int) -> None:
        self.module = module
        self.name = name
        self.index = index
        self.argument_bytes = argument_bytes


class SimModule:
    """A loaded module; it stays loaded while it or one of its functions is referenced.

    ``stateful`` says that it has variables of its own other than shared ones, so that it must not
    be handed out twice.
    """

    def __init__(self, binary: bytes, cached: bool, build_seconds: float) -> None:
        self.cached = cached
        self.build_seconds = build_seconds
        self.counted = False
        self._binary = binary
        self._library = _open(binary)
        self._last = Last(_unload, self._library._handle)
        self._launch = self._library.lazyarr_sim_launch
        self._launch.restype = _U32
        self._launch.argtypes = (ctypes.c_void_p,)
        self._library.lazyarr_sim_dynamic.restype = _U64
        self._dynamic = int(self._library.lazyarr_sim_dynamic())
        self._variables: list[report.Span] = []
        self.stateful = self._declare_objects(binary)
        self._kernels = self._find_kernels()
        self.names = tuple(self._kernels)

    def function(self, name: str) -> SimFunction:
        """Return the kernel, or raise ``KeyError`` that lists the names there are."""
        if name not in self._kernels:
            names = ", ".join(self.names) or "none"
            raise KeyError(f"no kernel named {name!r} in this module; it has: {names}")
        # Made anew at each look-up: kept here it would be a cycle, and unloading must not wait for
        # the collector.
        return SimFunction(self, name, *self._kernels[name])

    def _line(self, place: int) -> int:
        """Return the source line of an instruction, or 0 where the tool for it is missing."""
        with tempfile.NamedTemporaryFile(prefix="lazyarr-sim-") as file:
            file.write(self._binary)
            file.flush()
            return compiler.find_line(file.name, place - self._base - 1)

    def _find_kernels(self) -> dict[str, tuple[int, int]]:
        table = self._library.lazyarr_sim_kernel
        table.restype = ctypes.POINTER(_Kernel)
        table.argtypes = (_U32,)
        found: dict[str, tuple[int, int]] = {}
        for index in itertools.count():
            entry = table(index).contents
            if not entry.name:
                return found
            found[entry.name.decode()] = (index, entry.argument_bytes)
        return found

    def _declare_objects(self, binary: bytes) -> bool:
        """Tell the machine which variables kernels may touch. Return whether any holds state."""
        layout = elf.read_layout(binary, "lazyarr_sim_launch")
        base = (ctypes.cast(self._launch, ctypes.c_void_p).value or 0) - layout.anchor
        self._base = base
        shared = set(
            ctypes.c_char_p(
                ctypes.addressof(ctypes.c_char.in_dll(self._library, "lazyarr_sim_shared"))
            )
            .value.decode()  # type: ignore[union-attr]
            .split()
        )
        stateful = False
        packed = []
        for item in layout.objects:
            if "__sim_" in item.name or item.name.startswith("lazyarr_sim_"):
                continue
            name = elf.plain_name(item.name)
            start = base + item.address
            is_shared = name in shared
            stateful |= item.writable and not is_shared and name not in _BUILT_IN
            packed.append((start, start + item.nbytes, item.writable, is_shared))
            kind = "shared variable" if is_shared else "variable"
            self._variables.append(report.Span(start, item.nbytes, f"{kind} '{name}'", "rw"))
        packed += [(base + at, base + at + size, False, False) for at, size in layout.constant]
        if len(packed) > _MAX_RANGES:
            raise KernelError(f"a module may have {_MAX_RANGES} variables, this has {len(packed)}")
        declare = self._library.lazyarr_sim_objects
        declare.argtypes = (ctypes.c_char_p, _U64)
        declare.restype = None
        declare(b"".join(_RANGE.pack(*item) for item in packed), len(packed))
        return stateful

    def launch(
        self,
        function: SimFunction,
        grid: Dim3,
        block: Dim3,
        arguments: bytes,
        shared: int,
        accesses: Sequence[Access],
    ) -> None:
        """Run one launch to its end, or raise ``KernelError``."""
        grid = (*grid, *[1] * (3 - len(grid)))
        block = (*block, *[1] * (3 - len(block)))
        _check_launch(function, grid, block, len(arguments), shared, len(accesses))
        request = _Request()
        request.kernel = function.index
        request.shared = shared
        request.grid = _TRIPLE(*grid)
        request.block = _TRIPLE(*block)
        request.arguments = arguments
        request.ranges = b"".join(
            _RANGE.pack(ptr, ptr + nbytes, mode != "r", 0) for ptr, nbytes, mode, _ in accesses
        )
        request.range_count = len(accesses)
        request.stack_bytes = _STACK_BYTES
        with _launching:
            request.stacks = _stack_address()
            failed = self._launch(ctypes.addressof(request))
        if failed:
            if request.error.place:
                request.error.line = self._line(request.error.place)
            spans = [report.Span(a.ptr, a.nbytes, f"argument '{a.name}'", a.mode) for a in accesses]
            spans += self._variables
            spans.append(report.Span(self._dynamic, shared, "dynamic shared memory", "rw"))
            raise KernelError(report.describe(function.name, request.error, spans))


_BUILT_IN = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})
_GRID_LIMITS = (2**31 - 1, 65535, 65535)
_BLOCK_LIMITS = (1024, 1024, 64)


def _check_launch(
    function: SimFunction, grid: Dim3, block: Dim3, given: int, shared: int, ranges: int
) -> None:
    def refuse(text: str) -> None:
        raise KernelError(f"kernel '{function.name}': {text}")

    if len(grid) != 3 or not all(0 < n <= top for n, top in zip(grid, _GRID_LIMITS, strict=True)):
        refuse(f"the grid {tuple(grid)} is not within 1 to {_GRID_LIMITS}")
    if len(block) != 3 or not all(0 < n <= t for n, t in zip(block, _BLOCK_LIMITS, strict=True)):
        refuse(f"the block {tuple(block)} is not within 1 to {_BLOCK_LIMITS}")
    if math.prod(block) > MAX_THREADS:
        refuse(f"a block has at most {MAX_THREADS} threads, this one {math.prod(block)}")
    if not 0 <= shared <= MAX_SHARED:
        refuse(f"dynamic shared memory is at most {MAX_SHARED} bytes, this launch asks {shared}")
    needed = function.argument_bytes
    # A caller that packs a C struct may end with padding.
    if not needed <= given <= -(-needed // 16) * 16:
        refuse(f"its parameters take {needed} bytes, {given} were given")
    if needed > _MAX_ARGUMENTS:
        refuse(f"its parameters take {needed} bytes, the limit is {_MAX_ARGUMENTS}")
    if ranges > _MAX_RANGES:
        refuse(f"it has {ranges} arrays, the limit is {_MAX_RANGES}")
