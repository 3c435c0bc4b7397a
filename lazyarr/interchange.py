"""Exchange with other libraries: DLPack, ``__cuda_array_interface__``, PyCUDA, pickle.

Owns the rules of sharing: pending work runs before memory is given away, and the storage is shared
from then on. Memory of ``cuda`` devices crosses as such, that of ``cpu`` as host memory; that of
``sim``, which no other library can read, as a copy on the host.
"""

from __future__ import annotations

import functools
import operator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _dlpack as dl
from ._array import Array, copy_of, elementwise, frozen_view, view_of
from ._devices import CPU, Device, parse_device
from ._dlpack import Imported, make_capsule, take
from ._dtypes import DType, as_dtype, bool_, is_supported, uint8
from ._host import array_from_numpy, is_broadcast, move
from .graph import evaluate, share, views
from .graph.optable import OPS
from .graph.views import View
from .graph.write import own_storage
from .runtime.base import DeviceUnavailableError
from .runtime.select import default_device
from .storage.storage import Storage, from_foreign, from_host

_HOST = (dl.CPU, dl.CUDA_HOST)
_GPU = (dl.CUDA, dl.CUDA_MANAGED)
_MAX_ADDRESS = 2**63  # no machine's memory reaches further
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
    versioned = max_version is not None and tuple(max_version) >= (1, 0)
    wanted = own if dl_device is None else _device_pair(dl_device)
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
    AttributeError
        If x has no ``__dlpack__`` or no ``__dlpack_device__``.
    BufferError
        For dtypes and devices that lazyarr does not have, and tensors that cannot be.
    ValueError
        If ``copy=False`` and another device is asked for, or the producer gave a copy.
    """
    target = None if device is None else parse_device(device)
    if type(x) is Array:
        found = view_of(x, x.view)  # the same cell: writes are seen through both
    else:
        taken = _consume(x, copy=copy, to_host=target is CPU)
        found = _adopt(taken)
        if copy is False:
            _check_uncopied(taken, x)
        elif copy and taken.dtype == bool_:
            found, copy = _plain_bools(taken), None
    if target is not None and target is not found._device:
        if copy is False:
            raise ValueError(
                f"copy=False, but the data is on {found._device} and {target} was asked for"
            )
        return move(found, target)
    return _forced_copy(found) if copy else found


def _consume(x: Any, *, copy: bool | None = None, to_host: bool = False) -> Imported:
    """Ask a producer for a capsule and take it; ``to_host`` lets it copy to the host for us."""
    for name in ("__dlpack__", "__dlpack_device__"):
        if not hasattr(x, name):
            raise AttributeError(f"from_dlpack needs an object with {name}, not {_name(x)}")
    kind, ordinal = place = _device_pair(x.__dlpack_device__())
    always: dict[str, Any] = {}
    if kind in _GPU:
        backend = evaluate.runtime(_gpu(ordinal)).backend
        always["stream"] = backend.stream_handle or _LEGACY_STREAM
    elif kind not in _HOST:
        if not to_host or copy is False:
            raise BufferError(f"lazyarr has no device for DLPack device type {kind}")
        place = always["dl_device"] = (dl.CPU, 0)
    found = take(_capsule(x, always, copy))
    if _same_place(found.device) != _same_place(place):
        raise BufferError(
            f"{_name(x)} says that it is on DLPack device {place}, and its tensor that it is on "
            f"{found.device}"
        )
    return found


def _capsule(x: Any, always: dict[str, Any], copy: bool | None) -> Any:
    """Call ``__dlpack__`` with as much as the producer knows of; older ones know less."""
    latest: dict[str, Any] = {"max_version": dl.VERSION}
    if copy is False:
        try:
            return x.__dlpack__(**always, **latest, copy=False)
        except TypeError:
            pass
    try:
        return x.__dlpack__(**always, **latest)
    except TypeError:
        return x.__dlpack__(**always)


def _check_uncopied(taken: Imported, x: Any) -> None:
    if taken.copied:
        raise ValueError(f"copy=False, but a {_name(x)} gives its data as a copy only")


def _name(x: Any) -> str:
    return type(x).__name__


def _device_pair(pair: Any) -> tuple[int, int]:
    """Return DLPack's (device type, number) as ints, whatever enumerations they are."""
    try:
        kind, ordinal = pair
        return operator.index(kind), operator.index(ordinal)
    except (TypeError, ValueError):
        raise BufferError(f"{pair!r} is no DLPack device: a pair of integers") from None


def _same_place(device: tuple[int, int]) -> tuple[int, int]:
    """Return what is equal for devices that reach the same memory: the host has one number."""
    kind, ordinal = device
    if kind in _HOST:
        return dl.CPU, 0
    return (dl.CUDA, ordinal) if kind in _GPU else device


def _gpu(ordinal: int) -> Device:
    if ordinal < 0:
        raise BufferError(f"there is no GPU of number {ordinal}")
    return Device("cuda", ordinal)


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
    """Return an array over imported memory: read-only where elements share memory."""
    place = _layout(found)
    dtype, strides = as_dtype(found.dtype), place.strides
    storage, device = _storage_over(found, place.address, place.nbytes)
    if views.is_contiguous(found.shape, strides):
        return Array(share.shared_leaf(storage, dtype, found.shape, device))
    flat = Array(share.shared_leaf(storage, dtype, (place.nbytes // dtype.itemsize,), device))
    view = View(-place.low, found.shape, strides)
    return frozen_view(flat, view) if views.may_overlap_itself(view) else view_of(flat, view)


class _Layout(NamedTuple):
    """What imported memory spans: from ``address``, ``low`` elements from the first one."""

    address: int
    nbytes: int
    low: int
    strides: views.Shape


def _layout(found: Imported) -> _Layout:
    """Raise ``BufferError`` for what no array can be. Asks no device."""
    if not is_supported(found.dtype):
        raise BufferError(f"lazyarr has no dtype {found.dtype}")
    _check_extents(found.shape)
    strides = views.c_strides(found.shape) if found.strides is None else found.strides
    low, high = views.extent(View(0, found.shape, strides))
    itemsize = found.dtype.itemsize
    address, nbytes = found.address + low * itemsize, (high - low) * itemsize
    if nbytes and not found.address:
        raise BufferError(f"a null pointer for an array of shape {found.shape}")
    if nbytes and (address < 0 or address + nbytes > _MAX_ADDRESS):
        raise BufferError(
            f"shape {found.shape} with strides {strides} (in elements) at {found.address:#x} "
            "reaches beyond the address space"
        )
    return _Layout(address, nbytes, low, strides)


def _check_extents(shape: views.Shape) -> None:
    try:
        views.check_shape(shape)
    except ValueError as error:
        raise BufferError(str(error)) from None


def _plain_bools(found: Imported) -> Array:
    """Return a copy of foreign bools in which every true is 1: in others' it is any byte but 0."""
    made = elementwise(OPS["not_equal"], _adopt(found._replace(dtype=uint8)), 0)
    evaluate.force([made._cell.value], "copy")
    return made


def _storage_over(found: Imported, address: int, nbytes: int) -> tuple[Storage, Device]:
    kind, ordinal = found.device
    if kind not in _HOST:
        device = _gpu(ordinal)
        if nbytes and address % found.dtype.itemsize:
            raise BufferError(f"address {address:#x} is not aligned for {found.dtype}")
        backend = evaluate.runtime(device).backend
        if nbytes and kind == dl.CUDA and _gpu_of(device, address) is not device:
            raise BufferError(f"{address:#x} is said to be on {device}, and is not")
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
    stream = None
    if hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__"):
        taken = _consume(obj, copy=copy)
    else:
        interface = obj.__cuda_array_interface__
        taken = _from_interface(interface, obj, device)
        stream = interface.get("stream")
    found = _adopt(taken)
    target = found._device if device is None else parse_device(device)
    if device is None and found._device is CPU:
        target = default_device()
    if copy is False:
        _check_uncopied(taken, obj)
        if target is not found._device:
            raise ValueError(
                f"copy=False, but the data is on {found._device} and the array belongs on {target}"
            )
        return found
    if target is found._device:
        copied = _plain_bools(taken) if taken.dtype == bool_ else _forced_copy(found)
        _order_streams(target, stream, producer_waits=True)
        return copied
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


def _from_interface(interface: Any, obj: Any, device: Any) -> Imported:
    """Read a ``__cuda_array_interface__`` of version 0 to 3 and wait for its stream."""
    chosen = default_device() if device is None else parse_device(device)
    if _SHAREABLE.get(chosen.kind) != dl.CUDA:
        chosen = Device("cuda")
    found = describe_interface(interface, obj)
    place = _layout(found)
    if place.nbytes:
        chosen = _gpu_of(chosen, place.address)
    _order_streams(chosen, interface.get("stream"))
    return found._replace(device=(dl.CUDA, chosen.ordinal))


def _gpu_of(asked: Device, address: int) -> Device:
    """Return the GPU whose memory an address is; any GPU may be asked."""
    backend: Any = evaluate.runtime(asked).backend
    with backend.batch():
        ordinal = backend.driver.owner_of(address)
    if ordinal is None:
        raise BufferError(f"{address:#x} is no address of a GPU's memory")
    return Device("cuda", ordinal)


def describe_interface(interface: Any, obj: Any) -> Imported:
    """Return what a ``__cuda_array_interface__`` says, on GPU 0. Asks no device.

    Raises
    ------
    BufferError
        If it is malformed, or says what lazyarr has no array for.
    """
    if not isinstance(interface, dict):
        raise BufferError(f"a __cuda_array_interface__ is a dict, not a {_name(interface)}")
    if interface.get("mask") is not None:
        raise BufferError("a __cuda_array_interface__ with a mask is not supported")
    try:
        dtype = _native_dtype(interface["typestr"])
        shape: views.Shape = tuple(operator.index(n) for n in interface["shape"])
        address, readonly = interface["data"]
        first = 0 if address is None else operator.index(address)
        steps = interface.get("strides")
        strides = None if steps is None else tuple(operator.index(s) for s in steps)
    except (KeyError, TypeError, ValueError) as error:
        raise BufferError(f"a malformed __cuda_array_interface__: {error!r}") from error
    if strides is not None:
        if len(strides) != len(shape):
            raise BufferError(f"strides {strides} do not fit the shape {shape}")
        if 0 in shape:
            strides = None
        elif any(s % dtype.itemsize for s in strides):
            raise BufferError(f"strides {strides} are no multiples of the {dtype.itemsize} bytes")
        else:
            strides = tuple(s // dtype.itemsize for s in strides)
    return Imported(first, shape, strides, dtype, (dl.CUDA, 0), bool(readonly), obj)


def _native_dtype(typestr: Any) -> DType:
    if not isinstance(typestr, str):
        raise TypeError(f"typestr {typestr!r}")
    dtype: DType = np.dtype(typestr)
    if not dtype.isnative:
        raise BufferError(f"byte order {typestr!r} is not this machine's")
    if not is_supported(dtype):
        raise BufferError(f"lazyarr has no dtype {typestr!r}")
    return dtype


def _order_streams(device: Device, stream: Any, *, producer_waits: bool = False) -> None:
    """Order our stream after the producer's, so that we read what it wrote.

    ``producer_waits``: the other way round, so that it does not write what we still read.
    """
    handle = _producer_stream(stream)
    if handle is None:
        return
    backend: Any = evaluate.runtime(device).backend
    ours = backend.stream_handle
    if handle != ours:
        later, earlier = (handle, ours) if producer_waits else (ours, handle)
        with backend.batch():
            _wait(backend, later, earlier)


def _producer_stream(stream: Any) -> int | None:
    """Return the handle of an interface's stream; None if there is nothing to wait for."""
    if stream is None:
        return None
    if isinstance(stream, (bool, np.bool_)) or not hasattr(stream, "__index__"):
        raise ValueError(f"stream {stream!r} in a __cuda_array_interface__ is no integer")
    handle = operator.index(stream)
    if handle <= 0:
        raise ValueError(
            f"stream {handle} in a __cuda_array_interface__: 0 is ambiguous and not allowed, and "
            "handles are positive"
        )
    return 0 if handle == _LEGACY_STREAM else handle


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
