"""The CUDA driver's calls that PyCUDA cannot make on a stream it did not create.

PyCUDA's ``Stream`` wraps no foreign handle, its ``Event`` cannot make the null stream wait and must
die in the right context; here a stream and an event are integers. Owns the ``ctypes`` signatures
and the errors' text. Imports ``runtime.base``; loads the driver when a ``Driver`` is made.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections import deque
from types import CodeType
from typing import Any, NoReturn

from lazyarr.runtime.base import DeviceLostError, Dim3, KernelError, OutOfMemoryError

_INT = ctypes.c_int
_UINT = ctypes.c_uint
_SIZE = ctypes.c_size_t
_HANDLE = ctypes.c_void_p
_DEVICE = ctypes.c_uint64
_OUT = ctypes.c_void_p  # passed with byref

# These return at once: the interpreter lock is held over them, which is cheaper.
_SHORT: dict[str, tuple[Any, ...]] = {
    "cuStreamCreate": (_OUT, _UINT),
    "cuEventCreate": (_OUT, _UINT),
    "cuEventRecord": (_HANDLE, _HANDLE),
    "cuEventQuery": (_HANDLE,),
    "cuEventElapsedTime": (_OUT, _HANDLE, _HANDLE),
    "cuStreamWaitEvent": (_HANDLE, _HANDLE, _UINT),
    "cuMemsetD8Async": (_DEVICE, ctypes.c_ubyte, _SIZE, _HANDLE),
    "cuMemcpyDtoDAsync_v2": (_DEVICE, _DEVICE, _SIZE, _HANDLE),
    "cuModuleLoadData": (_OUT, _HANDLE),
    "cuModuleGetFunction": (_OUT, _HANDLE, ctypes.c_char_p),
    "cuFuncSetAttribute": (_HANDLE, _INT, _INT),
    "cuLaunchKernel": (_HANDLE, *(_UINT,) * 7, _HANDLE, _HANDLE, _HANDLE),
    "cuPointerGetAttribute": (_OUT, _INT, _DEVICE),
    "cuGetErrorName": (_INT, _OUT),
    "cuGetErrorString": (_INT, _OUT),
}
# These may wait: other threads run meanwhile.
_WAITING: dict[str, tuple[Any, ...]] = {
    "cuCtxSynchronize": (),
    "cuStreamSynchronize": (_HANDLE,),
    "cuEventSynchronize": (_HANDLE,),
    "cuMemcpyHtoDAsync_v2": (_DEVICE, _HANDLE, _SIZE, _HANDLE),
    "cuMemcpyDtoHAsync_v2": (_HANDLE, _DEVICE, _SIZE, _HANDLE),
}

_OUT_OF_MEMORY = 2
_NOT_READY = 600
# From here on the errors are a kernel's, and the context is lost with them.
_KERNEL_ERRORS = frozenset({214, 700, 702, 710, 714, 715, 716, 717, 718, 719})
# The same by the driver's words, which is all that PyCUDA's exceptions give.
_KERNEL_FAILURE = re.compile(
    "uncorrectable ECC|illegal|misaligned|unspecified launch failure|device-side assert|timed out|"
    "invalid program counter|address space|stack error"
)
_SUSPECTS = 16  # launches of users' kernels that are remembered
_INVALID_VALUE = 1
_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
_PARAMETER_BYTES = 32764  # CUDA's limit for one launch


class Faults:
    """What is known of a context that a kernel has ruined, or may have.

    A kernel's failure shows up in a later call. ``launched``: the users' kernels since the device
    was last seen well, as (name, code, last instruction) of the calls; the library's own kernels
    check what they do. ``last_kernel``: whatever was launched last. ``lost``: the explanation, once
    there was a failure; from then on CUDA refuses everything, and every call fails with it.
    """

    __slots__ = ("device", "last_kernel", "launched", "line", "lost")

    def __init__(self, device: str) -> None:
        self.device = device
        self.last_kernel = ""
        self.launched: deque[tuple[str, CodeType, int]] = deque(maxlen=_SUSPECTS)
        self.lost = ""
        self.line = ""  # of the launch that did it, if that is known

    def refuse(self) -> NoReturn:
        """Raise because the context was lost earlier."""
        raise self._error()

    def _error(self) -> DeviceLostError:
        error = DeviceLostError(self.lost)
        if self.line:
            error.add_note(f"The operation was made at {self.line}")
        return error

    def error_for(self, message: str, is_kernels: bool) -> KernelError:
        """Return the exception for a failed call; ``is_kernels``: a kernel had failed before it."""
        if self.lost:
            return self._error()
        if not is_kernels:
            return KernelError(message)
        self.lost = (
            f"{message}: a kernel failed while it ran; {self._suspects()}. CUDA refuses all work "
            f"after such a failure: {self.device} cannot be used again in this process. Arrays "
            "whose values the host has can still be read. LAZYARR_EAGER=1 waits for every kernel "
            "of yours, so that the one that fails is found at its line; the device 'sim' says what "
            "it did wrong"
        )
        return self._error()

    def _suspects(self) -> str:
        """Say which kernel it was, as far as that is known."""
        calls = [(name, _line(code, at)) for name, code, at in reversed(list(self.launched))]
        self.launched.clear()
        distinct = [f"{name!r}, launched at {line}" for name, line in dict.fromkeys(calls)]
        if not distinct:
            return f"the last one launched was {self.last_kernel!r}"
        if len(distinct) == 1:
            self.line = calls[0][1]
            return f"it is {distinct[0]}"
        return f"it is one of these, the last one first: {'; '.join(distinct)}"


def is_kernel_failure(error: Exception) -> bool:
    """Whether one of PyCUDA's exceptions tells of a kernel that failed earlier."""
    return _KERNEL_FAILURE.search(str(error)) is not None


def _line(code: CodeType, instruction: int) -> str:
    """Return ``file:line`` of an instruction."""
    found = code.co_firstlineno
    for begin, end, line in code.co_lines():
        if begin <= instruction < end and line is not None:
            found = line
    return f"{code.co_filename}:{found}"


class Driver:
    """The driver's functions, checked. The calling thread has the right context current."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
        holding = ctypes.PyDLL(name)
        letting_go = ctypes.CDLL(name)
        for library, table in ((holding, _SHORT), (letting_go, _WAITING)):
            for symbol, types in table.items():
                function = getattr(library, symbol)
                function.argtypes = types
                function.restype = _INT
                setattr(self, "_" + symbol.removesuffix("_v2"), function)

    def __getattr__(self, name: str) -> Any:  # for the type checker: set in __init__
        raise AttributeError(name)

    def fail(self, code: int, what: str) -> NoReturn:
        """Raise the exception for a driver's error code."""
        texts = []
        for look_up in (self._cuGetErrorName, self._cuGetErrorString):
            text = ctypes.c_char_p()
            look_up(code, ctypes.byref(text))
            texts.append((text.value or b"?").decode())
        message = f"{what} failed: {texts[0]} ({texts[1]})"
        if code == _OUT_OF_MEMORY:
            raise OutOfMemoryError(message)
        raise self.faults.error_for(message, code in _KERNEL_ERRORS)

    def synchronize(self) -> None:
        """Wait for all work in the context."""
        if code := self._cuCtxSynchronize():
            self.fail(code, "waiting for the device")

    def synchronize_stream(self, stream: int) -> None:
        if code := self._cuStreamSynchronize(stream):
            self.fail(code, "waiting for a stream")

    def copy_in(self, destination: int, source: int, nbytes: int, stream: int) -> None:
        """Host to device. Pageable memory is staged by the driver before this returns."""
        if code := self._cuMemcpyHtoDAsync(destination, source, nbytes, stream):
            self.fail(code, f"copying {nbytes} bytes to the device")

    def copy_out(self, destination: int, source: int, nbytes: int, stream: int) -> None:
        """Device to host; into page-locked memory it does not wait."""
        if code := self._cuMemcpyDtoHAsync(destination, source, nbytes, stream):
            self.fail(code, f"copying {nbytes} bytes to the host")

    def copy_within(self, destination: int, source: int, nbytes: int, stream: int) -> None:
        if code := self._cuMemcpyDtoDAsync(destination, source, nbytes, stream):
            self.fail(code, f"copying {nbytes} bytes on the device")

    def fill(self, destination: int, value: int, nbytes: int, stream: int) -> None:
        if code := self._cuMemsetD8Async(destination, value, nbytes, stream):
            self.fail(code, f"filling {nbytes} bytes on the device")

    def create_stream(self) -> int:
        """Return a stream that does not wait for the null stream, nor that for it."""
        stream = ctypes.c_void_p()
        if code := self._cuStreamCreate(ctypes.byref(stream), _NON_BLOCKING):
            self.fail(code, "creating a stream")
        return stream.value or 0

    def owner_of(self, address: int) -> int | None:
        """Return the number of the GPU that an address belongs to; None if CUDA knows of none."""
        ordinal = ctypes.c_int(-1)
        code = self._cuPointerGetAttribute(ctypes.byref(ordinal), _DEVICE_ORDINAL, address)
        if code and code != _INVALID_VALUE:
            self.fail(code, f"asking for the device of {address:#x}")
        return None if code or ordinal.value < 0 else ordinal.value

    def create_event(self) -> int:
        event = ctypes.c_void_p()
        if code := self._cuEventCreate(ctypes.byref(event), 0):
            self.fail(code, "creating an event")
        return event.value or 0

    def record_event(self, event: int, stream: int) -> None:
        if code := self._cuEventRecord(event, stream):
            self.fail(code, "recording an event")

    def event_done(self, event: int) -> bool:
        code = self._cuEventQuery(event)
        if code and code != _NOT_READY:
            self.fail(code, "querying an event")
        return not code

    def synchronize_event(self, event: int) -> None:
        if code := self._cuEventSynchronize(event):
            self.fail(code, "waiting for an event")

    def milliseconds(self, earlier: int, later: int) -> float:
        result = ctypes.c_float()
        if code := self._cuEventElapsedTime(ctypes.byref(result), earlier, later):
            self.fail(code, "timing two events")
        return result.value

    def wait_event(self, stream: int, event: int) -> None:
        if code := self._cuStreamWaitEvent(stream, event, 0):
            self.fail(code, "making a stream wait for an event")

    def load(self, binary: bytes) -> int:
        module = ctypes.c_void_p()
        if code := self._cuModuleLoadData(ctypes.byref(module), binary):
            self.fail(code, "loading a module")
        return module.value or 0

    def launcher(self, module: int, symbol: str, name: str) -> Launcher:
        function = ctypes.c_void_p()
        if code := self._cuModuleGetFunction(ctypes.byref(function), module, symbol.encode()):
            self.fail(code, f"finding the kernel {name!r}")
        return Launcher(self, function.value or 0, name)


class Launcher:
    """A kernel that can be launched on any stream handle."""

    def __init__(self, driver: Driver, function: int, name: str) -> None:
        self._driver = driver
        self._function = function
        self._name = name
        # The driver copies the parameters before it returns, so one buffer serves every launch.
        self._parameters = ctypes.create_string_buffer(_PARAMETER_BYTES)
        self._size = ctypes.c_size_t()
        self._extra = (ctypes.c_void_p * 5)(
            1, ctypes.addressof(self._parameters), 2, ctypes.addressof(self._size), None
        )

    def allow_shared(self, nbytes: int) -> None:
        if code := self._driver._cuFuncSetAttribute(self._function, _MAX_DYNAMIC_SHARED, nbytes):
            self._driver.fail(code, f"giving {self._name!r} {nbytes} bytes of shared memory")

    def launch(self, grid: Dim3, block: Dim3, arguments: bytes, shared: int, stream: int) -> None:
        size = len(arguments)
        if size > _PARAMETER_BYTES:
            raise KernelError(f"kernel {self._name!r}: {size} bytes of arguments are too many")
        ctypes.memmove(self._parameters, arguments, size)
        self._size.value = size
        code = self._driver._cuLaunchKernel(
            self._function,
            *(*grid, 1, 1)[:3],
            *(*block, 1, 1)[:3],
            shared,
            stream,
            None,
            self._extra,
        )
        if code:
            what = f"launching {self._name!r} with grid {grid}, block {block}, shared {shared}"
            self._driver.fail(code, what)
