"""Users' kernels: ``SourceModule``, ``KernelFunction``, and the marks ``In``, ``Out``, ``InOut``.

Follows PyCUDA's calling convention. A launch checks its arguments first and then does what their
marks ask of each storage; it copies nothing else.
"""

from __future__ import annotations

import math
import operator
import struct
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from . import ledger
from ._arguments import Geometry, Placed, call
from ._array import Array
from ._config import EAGER
from ._devices import CPU, Device, parse_device
from ._host import covers
from .codegen.launch import MEMORY, kernel_event
from .graph import evaluate, share, views
from .graph.pressure import let_go_if_short
from .graph.write import own_storage
from .runtime.base import Access, DeviceLostError, Dim3, KernelError
from .runtime.select import default_device
from .runtime.signature import Parameter, parameters_of
from .storage.storage import DEVICE, Storage

_MAX_THREADS = 1024
_CODES = {
    "b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q",
    "u8": "Q", "f2": "e", "f4": "f", "f8": "d", "?1": "b",
}  # fmt: skip


class _Marked:
    """An array argument of a kernel with the direction in which the kernel uses it."""

    __slots__ = ("array",)
    mode = "rw"

    def __init__(self, array: Array) -> None:
        if type(array) is not Array:
            raise TypeError(
                f"{type(self).__name__}() takes a lazyarr array, not {type(array).__name__}; "
                "make one with xp.asarray(...), once, and keep it: it stays on the device"
            )
        self.array = array

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.array!r})"


class In(_Marked):
    """Mark a kernel argument as only read: nothing comes back, and a host copy stays valid."""

    __slots__ = ()
    mode = "r"


class Out(_Marked):
    """Mark a kernel argument as only written, all of it: nothing is uploaded for a whole array."""

    __slots__ = ()
    mode = "w"


class InOut(_Marked):
    """Mark a kernel argument as read and written. Unmarked arguments are taken so too."""

    __slots__ = ()
    mode = "rw"


_MODES = {Array: "rw", In: "r", Out: "w", InOut: "rw"}


class SourceModule:
    """CUDA C of your own, compiled for one device.

    Parameters
    ----------
    source : str
        The CUDA C. Compile errors show its lines.
    device : Device or str, optional
        Where the kernels run; the default device if None.
    options : sequence of str
        Options for the compiler, such as ``"-DN=4"``.
    no_extern_c : bool
        As in PyCUDA: leave the source as it is. Otherwise it is put in ``extern "C" { }``, where
        templates are not allowed.

    Raises
    ------
    CompileError
        If the compiler refuses the source.
    ValueError
        If the device runs no kernels (``cpu``).

    Notes
    -----
    Compiles at once, or takes the binary from the disk cache. Evaluates and copies nothing.

    ``#include`` finds the C headers for mathematics, integers, limits and text (``<math.h>``,
    ``<cmath>``, ``<stdint.h>``, ``<stdio.h>``, ...) and ``<cuda_runtime.h>`` without any files, and
    a CUDA toolkit's headers where there is one (``CUDA_HOME``). A source that includes other files
    is compiled by ``nvcc`` if NVRTC cannot find them, and is not kept in the disk cache.
    """

    def __init__(
        self,
        source: str,
        *,
        device: Device | str | None = None,
        options: Sequence[str] = (),
        no_extern_c: bool = False,
    ) -> None:
        chosen = default_device() if device is None else parse_device(device)
        if chosen is CPU:
            raise ValueError(
                "the device 'cpu' runs no CUDA kernels; use 'cuda' where there is a GPU, or 'sim': "
                "SourceModule(source, device='sim'), or xp.default_device('sim')"
            )
        if isinstance(options, str):
            raise TypeError(f"options must be a sequence of strings, not one string: {options!r}")
        self.device = chosen
        self.source = source
        self._state = evaluate.runtime(chosen)
        text = source if no_extern_c else _in_extern_c(source)
        started = time.perf_counter()
        backend = self._state.backend
        with backend.batch():
            self._module = backend.compile(text, tuple(options))
        self.names: tuple[str, ...] = self._module.names
        self._count(started)

    def _count(self, started: float) -> None:
        if self._module.counted:
            return
        self._module.counted = True
        cached = self._module.cached
        if not cached:
            ledger.counters.compiles += 1
        if ledger.sinks:
            origin = "disk cache" if cached else "compiler"
            name = ", ".join(self.names)
            ledger.emit(ledger.Event("compile", name, len(self.source), origin), started)

    def get_function(self, name: str) -> KernelFunction:
        """Return the kernel of this name.

        Raises
        ------
        LookupError
            If there is none; the text lists the names that exist.
        """
        try:
            with self._state.backend.batch():
                function = self._module.function(name)
        except KeyError:
            names = ", ".join(map(repr, self.names)) or "none"
            raise LookupError(f"the source has no kernel {name!r}; its kernels: {names}") from None
        return KernelFunction(self, name, function)

    def __repr__(self) -> str:
        return f"SourceModule({', '.join(self.names)}, device={str(self.device)!r})"


class KernelFunction:
    """A kernel that can be launched: ``f(*args, block=(256, 1, 1), grid=(g, 1))``.

    Made by ``SourceModule.get_function``. Arguments are lazyarr arrays, plain or marked ``In``,
    ``Out`` or ``InOut``, and NumPy scalars for parameters by value.
    """

    def __init__(self, module: SourceModule, name: str, function: Any) -> None:
        self.name = name
        self.device = module.device
        self.parameters = parameters_of(module.source, name)
        self._modes = _MODES
        self._module = module  # keeps the binary loaded
        self._state = module._state
        self._function = function
        self._cause = f"kernel {name!r}"
        # Where failures show up later, the backend notes who was launched.
        self._launched: Any = getattr(self._state.backend, "launched", None)
        # (grid, block) as given: blocks and threads. Bounded, for a caller may never repeat one.
        self._geometries: dict[Any, tuple[Dim3, Dim3]] = {}
        self._checks = None if self.parameters is None else [_check(p) for p in self.parameters]
        self._pack: Any = None
        if self.parameters is not None and all(p.pointer or p.code for p in self.parameters):
            self._pack = _packer(
                tuple(("P" if p.pointer else _CODES[p.code], 0, 0) for p in self.parameters)
            )

    def __repr__(self) -> str:
        return f"<kernel {self.name}({self._declared()}) on {self.device}>"

    def __call__(
        self,
        *args: Any,
        block: Any = (256, 1, 1),
        grid: Any = (1, 1, 1),
        shared: int = 0,
        stream: Any = None,
    ) -> None:
        """Launch the kernel on the current stream; returns before it has finished.

        Parameters
        ----------
        *args
            One for each parameter: arrays (``In``, ``Out``, ``InOut`` or unmarked, which counts as
            ``InOut``) for pointers, NumPy scalars of the parameter's type for values.
        block, grid : int or tuple of one to three ints
            Threads in a block, blocks in the grid.
        shared : int
            Bytes of dynamic shared memory.
        stream : optional
            Another stream than the current one, as ``xp.stream`` takes it.

        Raises
        ------
        TypeError
            If number, kinds or dtypes of the arguments do not fit the kernel's parameters.
        ValueError
            For arrays that are strided, on another device, read-only or overlapping, and for a
            bad block or grid.
        KernelError
            On ``sim``, if the kernel does what a GPU would not allow. On ``cuda`` such a kernel
            takes the device with it: a later call raises `DeviceLostError`.

        Notes
        -----
        Evaluates pending arguments, and pending readers of arrays that the kernel writes. Uploads
        what the kernel reads and the device lacks (implicit: guarded); copies nothing else.
        """
        try:
            if stream is None:
                call(self, args, block, grid, shared)
            else:
                with _on_stream(self._state.backend, stream):
                    call(self, args, block, grid, shared)
            launched = self._launched
            if launched is not None:
                frame = sys._getframe(1)
                launched.append((self.name, frame.f_code, frame.f_lasti))
            if EAGER[0]:
                with self._state.backend.batch():
                    self._state.backend.synchronize()
        except DeviceLostError:
            raise  # its text says which launch it was
        except KernelError as error:
            ledger.noted(error)
            raise

    def _start(
        self, values: list[Any], arrays: list[Placed], packed: bytes, geometry: Geometry
    ) -> None:
        """Launch where the backend checks accesses or a trace is on. Called inside a batch."""
        backend = self._state.backend
        accesses = self._accesses(arrays, values) if backend.checked else None
        blocks, threads, shared = geometry
        if ledger.sinks:
            self._traced(arrays, (blocks, threads, packed, shared, accesses))
        else:
            backend.launch(self._function, blocks, threads, packed, shared, accesses)

    def _dims(self, block: Any, grid: Any) -> tuple[Dim3, Dim3]:
        """Return blocks and threads; raise for what no launch can have."""
        threads = _dim3(block if type(block) is not list else tuple(block), "block")
        return _dim3(grid if type(grid) is not list else tuple(grid), "grid"), threads

    def _by_value(self, args: tuple[Any, ...], k: int, pointer: bool | None, wanted: Any) -> Any:
        arg = args[k]
        if not isinstance(arg, np.generic):
            self._refuse_object(args, k)
        if pointer:
            self._refuse(args, f"{self._parameter(k)} is a pointer: pass an array")
        if pointer is None or wanted is None:
            return arg.tobytes()
        code = self.parameters[k].code  # type: ignore[index]
        given = f"{arg.dtype.kind}{arg.dtype.itemsize}"
        if code == "?1" and given in ("i1", "u1"):
            return np.int8(arg.view(np.int8))
        if given != code:
            self._refuse(
                args, f"{self._parameter(k)} takes np.{_scalar_name(code)}, not np.{arg.dtype}"
            )
        return arg

    def _check_placed(self, args: tuple[Any, ...], k: int, x: Array) -> None:
        if x._device is not self.device:
            raise ValueError(
                f"kernel {self.name!r} runs on {self.device}, but {self._parameter(k)} is given an "
                f"array on {x._device}; move it with x.to_device({str(self.device)!r})"
            )
        view = x.view
        if not views.is_contiguous(view.shape, view.strides):
            raise ValueError(
                f"kernel {self.name!r}: {self._parameter(k)} is given a view that is not "
                f"contiguous, of shape {x.shape} and strides {x.strides} bytes; copy it with "
                "xp.asarray(x, copy=True), or pass offset and strides to the kernel"
            )

    def _check_written(self, arrays: list[Placed]) -> None:
        """Refuse to write what may not be written, and to write what another argument covers."""
        for n, (x, mode, k) in enumerate(arrays):
            if mode == "r":
                continue
            storage = x._cell.value.real
            if x._frozen:
                raise ValueError(
                    f"kernel {self.name!r} cannot write {self._parameter(k)}: its array is "
                    "broadcast, which makes it read-only"
                )
            if storage is not None and (storage.readonly or storage.host_open):
                reason = "read-only memory" if storage.readonly else "in use on the host"
                raise ValueError(
                    f"kernel {self.name!r} cannot write {self._parameter(k)}: its array is {reason}"
                )
            for m, (y, other, j) in enumerate(arrays):
                if (n < m or (m < n and other == "r")) and _overlap(x, y):
                    raise ValueError(
                        f"kernel {self.name!r}: {self._parameter(k)}, which it writes, overlaps "
                        f"{self._parameter(j)}; give it memory of its own, for example "
                        "xp.asarray(x, copy=True)"
                    )

    def _bring(self, arrays: list[Placed], values: list[Any], backend: Any) -> None:
        """Make every array ready on the device, and put its address among the values."""
        with let_go_if_short():
            self._make_ready(arrays, values, backend)

    def _make_ready(self, arrays: list[Placed], values: list[Any], backend: Any) -> None:
        # No name may hold a value here: whether others read it shows in its reference count.
        pending = [
            x._cell.value
            for x, mode, _ in arrays
            if x._cell.value.real is None and (mode != "w" or not covers(x))
        ]
        if pending:
            evaluate.force(pending, self._cause)
            pending.clear()
        for x, mode, _ in arrays:
            if x._cell.value.real is not None and (mode != "w" or not covers(x)):
                x._cell.value.real.verify()
        cause = self._cause
        in_use: list[Storage] = []  # nothing that is held here is spilled
        late: list[Array] = []
        for x, mode, _ in arrays:
            if mode == "r":
                storage = x._cell.value.real
                if storage.location is not DEVICE:  # type: ignore[union-attr]
                    storage.device_read(cause)  # type: ignore[union-attr]
                in_use.append(storage)  # type: ignore[arg-type]
            elif mode == "w" and covers(x):
                late.append(x)
            else:
                storage = own_storage(x._cell, cause)
                if storage.location is not DEVICE or storage.mirrored:
                    storage.device_write(cause, whole=False)
                in_use.append(storage)
        if late:
            # Last: once all have memory, nothing can fail that would leave them half changed.
            made = [self._memory_for(x) for x in late]
            for x, storage in zip(late, made, strict=True):
                self._take_over(x, storage)
        for x, _, k in arrays:
            storage = x._cell.value.real
            if backend.many_streams:
                storage.join_stream()  # type: ignore[union-attr]
            values[k] = storage.ptr  # type: ignore[union-attr]
            if x._view is not None:
                values[k] += x._view.offset * x._dtype.itemsize

    def _memory_for(self, x: Array) -> Storage:
        """Return a storage with memory for x, all of which is about to be written: x's or another.

        Another if something may still need x's, or if x's has no memory on the device.
        """
        if share.is_disposable(x._cell):
            return Storage(self._state.backend, x._cell.value.nbytes)
        storage: Storage = x._cell.value.real  # type: ignore[assignment]
        if not storage.ptr and storage.nbytes:
            return Storage(self._state.backend, storage.nbytes)
        return storage

    def _take_over(self, x: Array, storage: Storage) -> None:
        """Make a storage x's."""
        if x._cell.value.real is not storage:
            share.replace(x._cell, storage)
        elif storage.location is not DEVICE or storage.mirrored:
            storage.device_write(self._cause, whole=True)

    def _accesses(self, arrays: list[Placed], values: list[Any]) -> list[Access]:
        return [Access(values[k], x.nbytes, mode, self._argument_name(k)) for x, mode, k in arrays]

    def _traced(self, arrays: list[Placed], launch: tuple[Any, ...]) -> None:
        backend = self._state.backend
        started = time.perf_counter()
        before = backend.record()
        backend.launch(self._function, *launch)
        event = kernel_event(
            self.name,
            ledger.Clock(backend, before, backend.record()),
            self._cause,
            operations=(self.name,),
            nbytes=sum(x.nbytes * len(mode) for x, mode, _ in arrays),
            written=sum(x.nbytes for x, mode, _ in arrays if "w" in mode),
            grid=launch[0],
            block=launch[1],
            binary=MEMORY,
        )
        ledger.emit(event, started)

    def _dynamic_packer(self, args: tuple[Any, ...]) -> Any:
        """Return the packer where parameters by value are no builtin types: structs, mostly."""
        fields = []
        for k, arg in enumerate(args):
            p = None if self.parameters is None else self.parameters[k]
            if not isinstance(arg, np.generic):
                fields.append(("P", 0, 0))
            elif p is not None and p.code:
                fields.append((_CODES[p.code], 0, 0))
            else:
                alignment = p.alignment if p is not None and p.alignment else _alignment(arg.dtype)
                fields.append(("s", arg.dtype.itemsize, alignment))
        return _packer(tuple(fields))

    # What the errors say.

    def _declared(self) -> str:
        return "..." if self.parameters is None else ", ".join(p.text for p in self.parameters)

    def _argument_name(self, k: int) -> str:
        return str(k) if self.parameters is None else self.parameters[k].name

    def _parameter(self, k: int) -> str:
        if self.parameters is None or self.parameters[k].name.isdigit():
            return f"argument {k}"
        return f"parameter {self.parameters[k].name!r}"

    def _refuse(self, args: tuple[Any, ...], reason: str) -> NoReturn:
        given = ", ".join(_describe(a) for a in args)
        raise TypeError(
            f"kernel {self.name!r}: {reason}. It takes ({self._declared()}) and was given ({given})"
        )

    def _refuse_array(self, args: tuple[Any, ...], k: int, x: Array) -> NoReturn:
        parameter = self.parameters[k]  # type: ignore[index]
        if not parameter.pointer:
            self._refuse(
                args,
                f"{self._parameter(k)} is passed by value: pass a NumPy scalar, not an array",
            )
        wanted = np.dtype(parameter.code)
        self._refuse(
            args,
            f"{self._parameter(k)} points to {wanted}, but the array holds {x._dtype}; "
            f"convert it with xp.astype(x, xp.{wanted})",
        )

    def _refuse_object(self, args: tuple[Any, ...], k: int) -> NoReturn:
        arg = args[k]
        where = self._parameter(k)
        if isinstance(arg, (bool, int, float, complex)):
            code = "" if self.parameters is None else self.parameters[k].code
            name = _scalar_name(code) if code else type(arg).__name__ + "64"
            if not code and not isinstance(arg, (int, float)) or isinstance(arg, bool):
                name = "bool_"
            remedy = f"a Python number has no C type: pass np.{name}({arg!r})"
            if self.parameters is not None and self.parameters[k].pointer:
                remedy = "it is a pointer: pass an array"
        elif isinstance(arg, np.ndarray) or hasattr(arg, "__cuda_array_interface__"):
            remedy = (
                "only lazyarr arrays are passed: make one with xp.asarray(...), once, and keep it, "
                "so that it stays on the device"
            )
        else:
            remedy = "pass a lazyarr array or a NumPy scalar"
        self._refuse(args, f"{where} is given {_describe(arg)}: {remedy}")


def _in_extern_c(source: str) -> str:
    """Put the source in ``extern "C" { }``, after its first directives, and move no line."""
    lines = source.split("\n")
    opening = 'extern "C" { '
    depth = 0
    continued = False
    for n, line in enumerate(lines):
        directive = continued or line.lstrip().startswith("#")
        continued = directive and line.endswith("\\")
        if directive:
            word = line.lstrip(" \t#")
            depth += word.startswith("if") - word.startswith("endif")
        elif line.strip() and not depth:
            lines[n] = opening + line
            return "\n".join(lines) + "\n}\n"
        elif line.strip():
            break
    return f"{opening}\n#line 1\n{source}\n}}\n"


def _check(p: Parameter) -> tuple[bool | None, Any]:
    """Return (is it a pointer, what is wanted): dtypes of an array, or a scalar's type."""
    if not p.code or (p.pointer and p.code in ("?1", "f2")):
        return p.pointer, None
    if not p.pointer:
        return False, np.int8 if p.code == "?1" else np.dtype(p.code).type
    if p.code in ("u1", "b1"):
        return True, (np.dtype("u1"), np.dtype("b1"))
    return True, (np.dtype(p.code),)


@lru_cache(maxsize=1024)
def _dim3(extents: Any, what: str) -> Dim3:
    """Return one to three extents as three; raise unless all are positive."""
    parts = extents if isinstance(extents, tuple) else (extents,)
    try:
        numbers = [operator.index(n) for n in parts]
    except TypeError:
        raise TypeError(f"{what} must be an int or a tuple of ints, not {extents!r}") from None
    if not 1 <= len(numbers) <= 3 or min(numbers) < 1:
        raise ValueError(f"{what}={extents!r}: expected one to three positive extents")
    if what == "block" and math.prod(numbers) > _MAX_THREADS:
        raise ValueError(
            f"block={extents!r} has {math.prod(numbers)} threads; CUDA allows {_MAX_THREADS}"
        )
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


@lru_cache(maxsize=4096)
def _packer(fields: tuple[tuple[str, int, int], ...]) -> Any:
    """Return what packs a parameter block: (struct code, bytes, alignment) of each field."""
    layout = "@"
    for code, nbytes, alignment in fields:
        if code != "s":
            layout += code
            continue
        gap = -struct.calcsize(layout) % max(alignment, 1)
        layout += f"{gap}x{nbytes}s"
    return struct.Struct(layout).pack


def _alignment(dtype: np.dtype[Any]) -> int:
    """Return the alignment that C gives a type: the largest of its parts'."""
    if dtype.fields:
        return max(_alignment(field[0]) for field in dtype.fields.values())
    if dtype.subdtype is not None:
        return _alignment(dtype.subdtype[0])
    if dtype.kind == "V":
        return math.gcd(dtype.itemsize, 8)
    return dtype.alignment


def _overlap(x: Array, y: Array) -> bool:
    storage = x._cell.value.real
    if x._cell is not y._cell and (storage is None or storage is not y._cell.value.real):
        return False
    return bool(x.size and y.size) and not views.disjoint(x.view, y.view)


def _on_stream(backend: Any, stream: Any) -> Any:
    use = getattr(backend, "use_stream", None)
    return nullcontext() if use is None else use(stream)


def _scalar_name(code: str) -> str:
    return "int8" if code == "?1" else str(np.dtype(code).type.__name__)


def _describe(arg: Any) -> str:
    if type(arg) is Array:
        return f"{arg.dtype} array of shape {arg.shape}"
    if isinstance(arg, _Marked):
        return f"{type(arg).__name__} {arg.array.dtype} array of shape {arg.array.shape}"
    if isinstance(arg, np.ndarray):
        return f"NumPy array of {arg.dtype}"
    if isinstance(arg, np.generic):
        return f"np.{arg.dtype}" if arg.dtype.kind == "V" else repr(arg)
    if isinstance(arg, (bool, int, float, complex)):
        return f"{type(arg).__name__} {arg!r}"
    return type(arg).__name__
