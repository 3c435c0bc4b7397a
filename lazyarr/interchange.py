"""Exchange with other libraries: DLPack, ``__cuda_array_interface__``, PyCUDA, pickle.

Owns the rules of sharing: pending work runs before memory is given away, and the storage is shared
from then on. Memory of ``cuda`` devices crosses as such, that of ``cpu`` as host memory; that of
``sim``, which no other library can read, as a copy on the host.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _dlpack as dl
from ._array import Array, copy_of, view_of
from ._devices import CPU, Device, parse_device
from ._dlpack import Imported, make_capsule, take
from ._dtypes import DType, is_supported
from ._host import array_from_numpy, is_broadcast, move
from .graph import evaluate, share, views
from .graph.views import View
from .graph.write import own_storage
from .runtime.base import DeviceUnavailableError
from .runtime.select import default_device
from .storage.storage import Storage, from_foreign, from_host

_HOST = (dl.CPU, dl.CUDA_HOST)
_LEGACY_STREAM = 1  # what others call the null stream
# Devices whose memory other libraries can read, by kind; the others are copied to the host.
_SHAREABLE = {"cpu": dl.CPU, "cuda": dl.CUDA}


def dlpack_device(device: Device) -> tuple[int, int]:
    """Return DLPack's (device type, number); (1, 0), the host, for a simulated device."""
    kind = _SHAREABLE.get(device.kind, dl.CPU)
    return kind, device.ordinal if kind == dl.CUDA else 0


# Export.


def export_dlpack(
    x: Array,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Return a DLPack capsule of an array; see ``Array.__dlpack__``.

    Parameters
    ----------
    stream : int or None
        For ``cuda`` the consumer's stream: None or 1 the legacy default stream, 2 the per-thread
        one, a handle, or -1 for no ordering. None for host memory.
    max_version : tuple of int, optional
        The newest version that the consumer takes; without it the capsule is an unversioned one.
    dl_device : tuple of int, optional
        Where the consumer wants the data: x's own device, or (1, 0) for a copy on the host.
    copy : bool, optional
        True copies, False never does.

    Raises
    ------
    BufferError
        If the array cannot be given away as asked: a copy is needed, the array is read-only and
        the capsule unversioned, or the device is another.
    ValueError
        For stream 0.

    Notes
    -----
    Forces the array and pending readers of its memory. Without a copy the storage is shared until
    the consumer's deleter runs. The host copy of a simulated device is an implicit read, and
    one that ``dl_device`` asks for an explicit one.
    """
    own = dlpack_device(x._device)
    versioned = max_version is not None and max_version[0] >= 1
    wanted = own if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
    if wanted not in (own, (dl.CPU, 0)):
        raise BufferError(f"an array on {x._device} cannot be exported to DLPack device {wanted}")
    _check_stream(stream, wanted[0])
    if wanted != own or x._device.kind not in _SHAREABLE:
        if copy is False:
            raise BufferError(
                f"copy=False, but the memory of device {x._device} can only be copied to the host"
            )
        return _export_host_copy(x, versioned, explicit=dl_device is not None)
    if copy:
        x = _forced_copy(x)
    readonly = x._frozen or is_broadcast(x) or _is_readonly(x)
    if readonly and not versioned:
        raise BufferError(
            "the array is read-only, which an unversioned DLPack capsule cannot say; "
            "ask for copy=True or max_version=(1, 0)"
        )
    with share.device_lock(x._device):
        storage = _share(x, "__dlpack__")
        if stream != -1 and storage.backend is not None:
            _order_after_us(storage, _LEGACY_STREAM if stream is None else int(stream))
    address, strides = _address(x, storage), x.view.strides
    flags = (dl.READ_ONLY if readonly else 0) | (dl.IS_COPIED if copy else 0)
    # The value keeps the storage alive, and is what becomes lazy again.
    release = functools.partial(share.release, x._cell.value)
    return make_capsule(
        address, x._shape, strides, x._dtype, own, versioned=versioned, flags=flags, release=release
    )


def _check_stream(stream: Any, device_type: int) -> None:
    if stream is None:
        return
    if device_type != dl.CUDA:
        if stream != -1:
            raise ValueError(f"stream must be None for host memory, not {stream!r}")
    elif not isinstance(stream, int) or isinstance(stream, bool) or stream < -1 or stream == 0:
        raise ValueError(
            f"stream={stream!r}: expected None or 1 (the legacy default stream), 2 (the per-thread "
            "one), -1 (no ordering) or a handle; 0 is ambiguous"
        )


def _is_readonly(x: Array) -> bool:
    storage = x._cell.value.real
    return storage is not None and storage.readonly


def _forced_copy(x: Array) -> Array:
    copied = copy_of(x)
    evaluate.force([copied._cell.value], "copy")
    return copied


def _share(x: Array, cause: str) -> Storage:
    """Run what is pending, and give the storage's memory away; the caller holds the lock."""
    own_storage(x._cell, cause)
    storage = share.give_memory(x._cell.value, cause)
    share.hold(x._cell.value)
    storage.foreign = storage.backend is not None
    return storage


def _export_host_copy(x: Array, versioned: bool, *, explicit: bool) -> Any:
    copied: npt.NDArray[Any] = np.array(x._read("__dlpack__", explicit=explicit), order="C")
    strides = views.c_strides(copied.shape)

    def release(keep: Any = copied) -> None:
        """Let go of the copy."""

    return make_capsule(
        copied.ctypes.data,
        copied.shape,
        strides,
        copied.dtype,
        (dl.CPU, 0),
        versioned=versioned,
        flags=dl.IS_COPIED,
        release=release,
    )


def _address(x: Array, storage: Storage) -> int:
    if not storage.nbytes:
        return 0
    base = storage.ptr
    if storage.backend is None:
        assert storage.host is not None
        base = storage.host.ctypes.data
    return base + x.view.offset * x._dtype.itemsize


def _order_after_us(storage: Storage, consumer: int) -> None:
    """Make a consumer's stream wait for what was queued on ours."""
    backend: Any = storage.backend
    handle = 0 if consumer == _LEGACY_STREAM else consumer
    with backend.batch():
        for ours in {storage.stream, backend.stream_handle} - {handle}:
            _wait(backend, handle, ours)


def _wait(backend: Any, waiting: int, awaited: int) -> None:
    with backend.use_stream(awaited):
        event = backend.record()
    with backend.use_stream(waiting):
        backend.wait(event)


# Import.


def import_dlpack(x: Any, *, device: Any = None, copy: bool | None = None) -> Array:
    """Return an array over the memory of another library's; see ``from_dlpack``.

    Host memory becomes an array on ``cpu``, also where that is not the default device, unless
    ``device`` asks for another.

    Raises
    ------
    TypeError
        If x has no ``__dlpack__``.
    BufferError
        For dtypes and devices that lazyarr does not have.
    ValueError
        If ``copy=False`` and another device is asked for.
    """
    target = None if device is None else parse_device(device)
    if type(x) is Array:
        found = view_of(x, x.view)  # the same cell: writes are seen through both
    else:
        found = _adopt(_consume(x))
    if target is not None and target is not found._device:
        if copy is False:
            raise ValueError(
                f"copy=False, but the data is on {found._device} and {target} was asked for"
            )
        return move(found, target)
    return _forced_copy(found) if copy else found


def _consume(x: Any) -> Imported:
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError(f"from_dlpack needs an object with __dlpack__, not {type(x).__name__}")
    kind, ordinal = x.__dlpack_device__()
    arguments: dict[str, Any] = {}
    if kind in (dl.CUDA, dl.CUDA_MANAGED):
        backend = evaluate.runtime(Device("cuda", int(ordinal))).backend
        arguments["stream"] = backend.stream_handle or _LEGACY_STREAM
    elif kind not in _HOST:
        raise BufferError(f"lazyarr has no device for DLPack device type {int(kind)}")
    try:
        capsule = x.__dlpack__(max_version=dl.VERSION, **arguments)
    except TypeError:  # a producer from before DLPack 1.0
        capsule = x.__dlpack__(**arguments)
    return take(capsule)


class _Memory:
    """Somebody else's host memory, as NumPy takes it; arrays over it keep ``owner`` alive."""

    def __init__(self, address: int, nbytes: int, owner: Any, readonly: bool) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, readonly),
        }


def _adopt(found: Imported) -> Array:
    """Return an array over imported memory."""
    dtype = found.dtype
    if not is_supported(dtype):
        raise BufferError(f"lazyarr has no dtype {dtype}")
    strides = views.c_strides(found.shape) if found.strides is None else found.strides
    whole = View(0, found.shape, strides)
    low, high = views.extent(whole)
    address = found.address + low * dtype.itemsize
    nbytes = (high - low) * dtype.itemsize
    storage, device = _storage_over(found, address, nbytes)
    if views.is_contiguous(found.shape, strides):
        return Array(share.shared_leaf(storage, dtype, found.shape, device))
    flat = Array(share.shared_leaf(storage, dtype, (high - low,), device))
    return view_of(flat, View(-low, found.shape, strides))


def _storage_over(found: Imported, address: int, nbytes: int) -> tuple[Storage, Device]:
    kind, ordinal = found.device
    if kind not in _HOST:
        device = Device("cuda", ordinal)
        if address % found.dtype.itemsize:
            raise BufferError(f"address {address:#x} is not aligned for {found.dtype}")
        backend = evaluate.runtime(device).backend
        storage = from_foreign(backend, address, nbytes, found.owner, readonly=found.readonly)
        storage.stream = backend.stream_handle
        return storage, device
    data: npt.NDArray[np.uint8] = np.empty(0, np.uint8)
    if nbytes:
        data = np.asarray(_Memory(address, nbytes, found.owner, found.readonly))
    storage = from_host(None, data)
    storage.shared = 1
    storage.keeper = found.owner
    storage.readonly = found.readonly
    return storage, CPU


def import_foreign(obj: Any, *, device: Any = None, copy: bool | None = None) -> Array:
    """Return ``asarray`` of another library's array (DLPack or ``__cuda_array_interface__``).

    A snapshot like that of a NumPy array, on the device where the data is; host memory goes to the
    default device. ``copy=False`` shares the memory.

    Raises
    ------
    ValueError
        If ``copy=False`` and the data is on another device than the one asked for.
    """
    if hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__"):
        found = _adopt(_consume(obj))
    else:
        found = _adopt(_from_interface(obj.__cuda_array_interface__, obj, device))
    target = found._device if device is None else parse_device(device)
    if device is None and found._device is CPU:
        target = default_device()
    if copy is False:
        if target is not found._device:
            raise ValueError(
                f"copy=False, but the data is on {found._device} and the array belongs on {target}"
            )
        return found
    if target is found._device:
        return _forced_copy(found)
    if device is None:
        return array_from_numpy(found._read("asarray", explicit=True), target)
    return move(found, target)


# The CUDA array interface.


def cuda_array_interface(x: Array) -> dict[str, Any]:
    """Return version 3 of the CUDA array interface.

    Forces the array and pending readers of its memory, and shares its storage for good. The stream
    is the one to wait for.

    Raises
    ------
    AttributeError
        For arrays that are not on a GPU.
    """
    storage = _share_for_good(x, "__cuda_array_interface__")
    itemsize = x._dtype.itemsize
    strides = None
    if x._view is not None and not views.is_contiguous(x._view.shape, x._view.strides):
        strides = tuple(s * itemsize for s in x._view.strides)
    readonly = x._frozen or storage.readonly or (strides is not None and is_broadcast(x))
    return {
        "shape": x._shape,
        "typestr": x._dtype.str,
        "data": (_address(x, storage) if x.size else 0, readonly),
        "strides": strides,
        "stream": storage.stream or _LEGACY_STREAM,
        "version": 3,
    }


def device_address(x: Array) -> int:
    """Return the device address of an array's first element, for PyCUDA's own functions.

    Forces the array and pending readers of its memory, and shares its storage for good.

    Raises
    ------
    AttributeError
        For arrays that are not on a GPU.
    ValueError
        For views that are not contiguous.
    """
    storage = _share_for_good(x, "gpudata")
    view = x.view
    if not views.is_contiguous(view.shape, view.strides):
        raise ValueError(
            f"a view of shape {x.shape} and strides {x.strides} bytes has no plain address; copy "
            "it with xp.asarray(x, copy=True)"
        )
    return _address(x, storage)


def _share_for_good(x: Array, cause: str) -> Storage:
    storage = x._cell.value.real
    if storage is not None and storage.exported:
        backend: Any = storage.backend
        if storage.stream == backend.stream_handle:
            return storage
    if _SHAREABLE.get(x._device.kind) != dl.CUDA:
        raise AttributeError(f"an array on {x._device} has no {cause}: it is not in a GPU's memory")
    with share.device_lock(x._device):
        storage = _share(x, cause)
        if storage.exported:
            share.release(x._cell.value)
        storage.exported = True
        backend = storage.backend
        if storage.stream != backend.stream_handle:
            _order_after_us(storage, backend.stream_handle or _LEGACY_STREAM)
            storage.stream = backend.stream_handle
    return storage


def _from_interface(interface: dict[str, Any], obj: Any, device: Any) -> Imported:
    """Read a ``__cuda_array_interface__`` of version 2 or 3."""
    if interface.get("mask") is not None:
        raise BufferError("a __cuda_array_interface__ with a mask is not supported")
    dtype = _native_dtype(interface["typestr"])
    shape: views.Shape = tuple(int(n) for n in interface["shape"])
    address, readonly = interface["data"]
    strides = interface.get("strides")
    if strides is not None and 0 not in shape:
        if any(s % dtype.itemsize for s in strides):
            raise BufferError(f"strides {strides} are no multiples of the {dtype.itemsize} bytes")
        strides = tuple(s // dtype.itemsize for s in strides)
    else:
        strides = None
    chosen = default_device() if device is None else parse_device(device)
    if _SHAREABLE.get(chosen.kind) != dl.CUDA:
        chosen = Device("cuda")
    _wait_for_producer(chosen, interface.get("stream"))
    where = (dl.CUDA, chosen.ordinal)
    return Imported(int(address or 0), shape, strides, dtype, where, bool(readonly), obj)


def _native_dtype(typestr: str) -> DType:
    dtype = np.dtype(typestr)
    if not dtype.isnative:
        raise BufferError(f"byte order {typestr!r} is not this machine's")
    return dtype


def _wait_for_producer(device: Device, stream: Any) -> None:
    if stream is None:
        return
    if stream == 0:
        raise ValueError("stream 0 in a __cuda_array_interface__ is ambiguous: it is not allowed")
    backend: Any = evaluate.runtime(device).backend
    handle = 0 if int(stream) == _LEGACY_STREAM else int(stream)
    if handle != backend.stream_handle:
        with backend.batch():
            _wait(backend, backend.stream_handle, handle)


# Pickle.


def unpickle(data: npt.NDArray[Any], name: str) -> Array:
    """Return the array that was pickled, on its device or, if that is missing, the default one."""
    device = parse_device(name)
    if device is not CPU:
        try:
            evaluate.runtime(device)
        except DeviceUnavailableError:
            device = default_device()
    return array_from_numpy(data, device)


__all__ = [
    "cuda_array_interface",
    "device_address",
    "dlpack_device",
    "export_dlpack",
    "import_dlpack",
    "import_foreign",
    "unpickle",
]
