"""``Array``: what users hold.

Owns metadata, operators (derived from the op table), indexing and conversions to Python and NumPy.
An Array is a cell and a view of it; no CUDA here, and nothing is computed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from . import _dtypes as dt
from ._config import EAGER
from ._devices import CPU, Device, parse_device
from ._dtypes import DType
from ._promotion import result_dtype, scalar_dtype, scalar_value
from ._statements import is_statement
from .graph import evaluate, indexing, read, views
from .graph.node import MAX_WORK, Cell, Value, const
from .graph.optable import OPS, Op, Spec
from .graph.views import Shape, View
from .graph.write import right_side, write
from .storage.storage import HOST

_SCALARS: Final = (bool, int, float, complex, np.generic)
_OP_NEG: Final = OPS["negative"]
_OP_POS: Final = OPS["positive"]
_OP_ABS: Final = OPS["abs"]
_OP_INVERT: Final = OPS["bitwise_invert"]
_OP_ADD: Final = OPS["add"]
_OP_SUB: Final = OPS["subtract"]
_OP_MUL: Final = OPS["multiply"]
_OP_TRUEDIV: Final = OPS["divide"]
_OP_FLOORDIV: Final = OPS["floor_divide"]
_OP_MOD: Final = OPS["remainder"]
_OP_POW: Final = OPS["pow"]
_OP_SQUARE: Final = OPS["square"]
_OP_AND: Final = OPS["bitwise_and"]
_OP_OR: Final = OPS["bitwise_or"]
_OP_XOR: Final = OPS["bitwise_xor"]
_OP_LSHIFT: Final = OPS["bitwise_left_shift"]
_OP_RSHIFT: Final = OPS["bitwise_right_shift"]
_OP_EQ: Final = OPS["equal"]
_OP_NE: Final = OPS["not_equal"]
_OP_LT: Final = OPS["less"]
_OP_LE: Final = OPS["less_equal"]
_OP_GT: Final = OPS["greater"]
_OP_GE: Final = OPS["greater_equal"]


class Array:
    """An n-dimensional array: a cell, and a view of it. Users' text is in ``_slots``."""

    __slots__ = ("_cell", "_device", "_dtype", "_frozen", "_shape", "_view")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Value) -> None:
        self._cell = Cell(value)
        self._view: View | None = None  # None: all of the cell's elements, in order
        self._shape: Shape = value.shape
        self._frozen = False  # a result of broadcast_to, or a view of one: read-only
        self._dtype: DType = value.spec.out_dtype
        self._device: Device = value.device

    # Metadata: never forces, never copies.

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def device(self) -> Device:
        """The device on which operations on this array run. It never changes."""
        return self._device

    @property
    def shape(self) -> Shape:
        """The extents, as a tuple of ints."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self._shape)

    @property
    def nbytes(self) -> int:
        """The bytes of the elements: size times item size."""
        return self.size * self._dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self._dtype.itemsize

    @property
    def strides(self) -> Shape:
        """Bytes from one element to the next along each axis."""
        return tuple(s * self._dtype.itemsize for s in self.view.strides)

    @property
    def view(self) -> View:
        """Offset, shape and strides in elements of the storage (an internal record)."""
        if self._view is None:
            return views.contiguous(self._shape)
        return self._view

    @property
    def location(self) -> str:
        """``"host"`` or ``"device"``: which side holds the authoritative bytes.

        Results of operations are born on the device, also before they are computed. Forces nothing.
        """
        storage = self._cell.value.real
        if storage is None:
            return "host" if self._device is CPU else "device"
        return "host" if storage.location is HOST else "device"

    @property
    def T(self) -> Array:  # noqa: N802 - the standard's name
        """The transpose of a matrix, as a view. Raises ValueError unless ``ndim`` is 2."""
        if len(self._shape) != 2:
            raise ValueError(f"x.T needs 2 axes, not {self.ndim}; use permute_dims or x.mT")
        return view_of(self, views.permute(self.view, (1, 0)))

    @property
    def mT(self) -> Array:  # noqa: N802 - the standard's name
        """The last two axes exchanged, as a view. Raises ValueError if there are fewer."""
        n = len(self._shape)
        if n < 2:
            raise ValueError(f"x.mT needs at least 2 axes, not {n}")
        return view_of(self, views.permute(self.view, (*range(n - 2), n - 1, n - 2)))

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of a 0-dimensional array")
        return self._shape[0]

    def __iter__(self) -> Iterator[Array]:
        if not self._shape:
            raise TypeError("iteration over a 0-dimensional array")
        return (self[i] for i in range(self._shape[0]))

    def __repr__(self) -> str:
        from ._repr import array_repr

        return array_repr(self)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return the namespace ``lazyarr``; ValueError for a revision it does not implement."""
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
            raise ValueError(f"unsupported array API revision {api_version!r}; 2025.12 is")
        return sys.modules["lazyarr"]

    # Reading on the host.

    def _read(self, cause: str, *, explicit: bool = False) -> npt.NDArray[Any]:
        return read.read_host(self._cell.value, self._dtype, self.view, cause, explicit=explicit)

    def _scalar(self, cause: str) -> Any:
        if self._shape:
            if self.size != 1:
                raise ValueError(
                    f"{cause} needs an array of one element, not of shape {self._shape}"
                )
            raise TypeError(f"{cause} needs a 0-dimensional array, not shape {self._shape}")
        return self._read(cause)[()]

    def __bool__(self) -> bool:
        return bool(self._scalar("bool()"))

    def __int__(self) -> int:
        if self._dtype.kind == "c":
            raise TypeError("int() of a complex array; take xp.real(x) first")
        return int(self._scalar("int()"))

    def __float__(self) -> float:
        if self._dtype.kind == "c":
            raise TypeError("float() of a complex array; take xp.real(x) first")
        return float(self._scalar("float()"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex()"))

    def __index__(self) -> int:
        if self._dtype.kind not in "iu":
            raise TypeError(f"only an integer array can be an index, not {self._dtype}")
        return int(self._scalar("index()"))

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return the values at the call, read-only unless they had to be converted or copied.

        Forces evaluation; downloads if the device is authoritative (guarded as implicit).
        """
        data = self._read("np.asarray()")
        if dtype is not None and np.dtype(dtype) != data.dtype:
            if copy is False:
                raise ValueError(f"a copy is needed to convert {data.dtype} to {dtype}")
            return data.astype(dtype)
        return data.copy() if copy else data

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Run NumPy's element-wise functions as lazyarr's, on this array's device.

        NumPy arrays among the inputs are uploaded (a counted, guarded copy). What lazyarr has no
        function for raises TypeError: no result ever comes silently from the host.
        """
        if ufunc is np.matmul and method == "__call__" and not kwargs:
            x, y = (as_operand(x, self._device) for x in inputs)
            return _matmul(x, y)
        name = _UFUNCS.get(ufunc.__name__)
        if method != "__call__" or kwargs or name is None:
            raise TypeError(
                f"numpy.{ufunc.__name__} ({method}) does not run on lazyarr arrays; use the "
                "function of the lazyarr namespace, or np.asarray(x) to compute on the host"
            )
        return elementwise(OPS[name], *inputs)

    def get(self) -> npt.NDArray[Any]:
        """Return the values as a NumPy array of their own, writable.

        An explicit read: allowed under a transfer guard. Forces evaluation. If the device is
        authoritative and the host has no valid copy, downloads: into the result itself, in
        page-locked memory, where the elements lie without gaps (no mirror is kept then).
        """
        return read.read_own(self._cell.value, self._dtype, self.view, "get()")

    def host(self, mode: str = "r") -> AbstractContextManager[npt.NDArray[Any]]:
        """Open the array's memory on the host as a NumPy array inside a ``with`` block.

        Parameters
        ----------
        mode : {"r", "w", "rw"}
            "r" reads (read-only, the location does not change). "rw" reads and writes, "w" only
            writes; afterwards the host is authoritative. Inside "w" and "rw" the storage is
            shared: operations on it run at once and see what was written.

        Returns
        -------
        context manager
            Explicit: allowed under a transfer guard. Forces the array and its pending readers.
        """
        from ._host import open_host

        return open_host(self, mode)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Array:
        """Return the array on a device: itself if it is there already, or else a copy.

        Explicit: allowed under a transfer guard. On the same device the storage's location becomes
        the device. ``stream`` must be None; use ``xp.stream``.
        """
        from ._host import move

        if stream is not None:
            raise ValueError("to_device takes no stream; use `with xp.stream(s):`")
        return move(self, parse_device(device))

    # Indexing.

    def __getitem__(self, key: Any) -> Array:
        if views.is_basic_key(key):
            view = views.basic_index(self.view, key)
            if view.shape == () and not indexing.has_ellipsis(key):
                return _element(self, view)
            return view_of(self, view)
        return _advanced_get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        temporary = _references(value) <= _TEMPORARY and is_statement(_FILE)
        if not views.is_basic_key(key):
            _advanced_set(self, key, value)
            return
        assign(self, views.basic_index(self.view, key), value, temporary=temporary)

    # Interchange.

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        """Export the array as a DLPack capsule. Forces it and shares its storage unless copied."""
        from .interchange import export_dlpack

        return export_dlpack(
            self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's (device type, number). Forces nothing."""
        from .interchange import dlpack_device

        return dlpack_device(self._device)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the CUDA array interface. Forces the array and shares its storage."""
        from .interchange import cuda_array_interface

        return cuda_array_interface(self)

    @property
    def gpudata(self) -> int:
        """The device address of the first element, for PyCUDA. Forces and shares the storage."""
        from .interchange import device_address

        return device_address(self)

    def __reduce__(self) -> tuple[Any, ...]:
        from .interchange import unpickle

        return unpickle, (self.get(), str(self._device))

    # Operators, one a row of the op table (tests compare the two).

    def __neg__(self) -> Array:
        return unary(_OP_NEG, self)

    def __pos__(self) -> Array:
        return unary(_OP_POS, self)

    def __abs__(self) -> Array:
        return unary(_OP_ABS, self)

    def __invert__(self) -> Array:
        return unary(_OP_INVERT, self)

    def __add__(self, other: Any) -> Any:
        return binary(_OP_ADD, self, other)

    def __radd__(self, other: Any) -> Any:
        return binary(_OP_ADD, self, other, True)

    def __iadd__(self, other: Any) -> Any:
        return in_place(_OP_ADD, self, other)

    def __sub__(self, other: Any) -> Any:
        return binary(_OP_SUB, self, other)

    def __rsub__(self, other: Any) -> Any:
        return binary(_OP_SUB, self, other, True)

    def __isub__(self, other: Any) -> Any:
        return in_place(_OP_SUB, self, other)

    def __mul__(self, other: Any) -> Any:
        return binary(_OP_MUL, self, other)

    def __rmul__(self, other: Any) -> Any:
        return binary(_OP_MUL, self, other, True)

    def __imul__(self, other: Any) -> Any:
        return in_place(_OP_MUL, self, other)

    def __truediv__(self, other: Any) -> Any:
        return binary(_OP_TRUEDIV, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return binary(_OP_TRUEDIV, self, other, True)

    def __itruediv__(self, other: Any) -> Any:
        return in_place(_OP_TRUEDIV, self, other)

    def __floordiv__(self, other: Any) -> Any:
        return binary(_OP_FLOORDIV, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return binary(_OP_FLOORDIV, self, other, True)

    def __ifloordiv__(self, other: Any) -> Any:
        return in_place(_OP_FLOORDIV, self, other)

    def __mod__(self, other: Any) -> Any:
        return binary(_OP_MOD, self, other)

    def __rmod__(self, other: Any) -> Any:
        return binary(_OP_MOD, self, other, True)

    def __imod__(self, other: Any) -> Any:
        return in_place(_OP_MOD, self, other)

    def __pow__(self, other: Any) -> Any:
        return binary(_OP_POW, self, other)

    def __rpow__(self, other: Any) -> Any:
        return binary(_OP_POW, self, other, True)

    def __ipow__(self, other: Any) -> Any:
        return in_place(_OP_POW, self, other)

    def __and__(self, other: Any) -> Any:
        return binary(_OP_AND, self, other)

    def __rand__(self, other: Any) -> Any:
        return binary(_OP_AND, self, other, True)

    def __iand__(self, other: Any) -> Any:
        return in_place(_OP_AND, self, other)

    def __or__(self, other: Any) -> Any:
        return binary(_OP_OR, self, other)

    def __ror__(self, other: Any) -> Any:
        return binary(_OP_OR, self, other, True)

    def __ior__(self, other: Any) -> Any:
        return in_place(_OP_OR, self, other)

    def __xor__(self, other: Any) -> Any:
        return binary(_OP_XOR, self, other)

    def __rxor__(self, other: Any) -> Any:
        return binary(_OP_XOR, self, other, True)

    def __ixor__(self, other: Any) -> Any:
        return in_place(_OP_XOR, self, other)

    def __lshift__(self, other: Any) -> Any:
        return binary(_OP_LSHIFT, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return binary(_OP_LSHIFT, self, other, True)

    def __ilshift__(self, other: Any) -> Any:
        return in_place(_OP_LSHIFT, self, other)

    def __rshift__(self, other: Any) -> Any:
        return binary(_OP_RSHIFT, self, other)

    def __rrshift__(self, other: Any) -> Any:
        return binary(_OP_RSHIFT, self, other, True)

    def __irshift__(self, other: Any) -> Any:
        return in_place(_OP_RSHIFT, self, other)

    def __eq__(self, other: Any) -> Any:
        return binary(_OP_EQ, self, other)

    def __ne__(self, other: Any) -> Any:
        return binary(_OP_NE, self, other)

    def __lt__(self, other: Any) -> Any:
        return binary(_OP_LT, self, other)

    def __le__(self, other: Any) -> Any:
        return binary(_OP_LE, self, other)

    def __gt__(self, other: Any) -> Any:
        return binary(_OP_GT, self, other)

    def __ge__(self, other: Any) -> Any:
        return binary(_OP_GE, self, other)

    def __matmul__(self, other: Any) -> Any:
        return _matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _matmul(self, other, True)

    def __imatmul__(self, other: Any) -> Any:
        return _write_back("matmul", self, _matmul(self, other))


def force_arrays(arrays: tuple[Any, ...]) -> None:
    """Make arrays real; ``xp.evaluate`` without its frame."""
    values: list[Value] = []
    for x in arrays:
        if type(x) is not Array:
            raise TypeError(f"evaluate takes lazyarr arrays, not {type(x).__name__}")
        values.append(x._cell.value)
    evaluate.force(values, "evaluate")


def _bad_devices(x: Array, y: Array) -> ValueError:
    return ValueError(
        f"arrays are on different devices: {x._device} and {y._device}; "
        f"move one with x.to_device({str(y._device)!r})"
    )


def wrap(value: Value) -> Array:
    """Return a new array of a value, evaluating it if laziness has reached its bounds."""
    if value.work > MAX_WORK or value.device is CPU or _EAGER[0]:
        evaluate.force([value], "bound on laziness")
    return Array(value)


def view_of(x: Array, view: View) -> Array:
    """Return another view of the same cell."""
    result = Array(x._cell.value)
    result._cell = x._cell
    result._view = None if views.is_full(view, x._cell.value.size) else view
    result._shape = view.shape
    result._frozen = x._frozen
    return result


def frozen_view(x: Array, view: View) -> Array:
    """Return a read-only view of the same cell."""
    result = view_of(x, view)
    result._frozen = True
    return result


def _element(x: Array, view: View) -> Array:
    return wrap(right_side(x._dtype, (), x._cell.value, view))


def copy_of(x: Array, dtype: DType | None = None) -> Array:
    """Return a lazily made, contiguous copy, converted to another dtype if one is given."""
    return wrap(right_side(dtype or x._dtype, x._shape, x._cell.value, x.view))


def scalar_operand(scalar: Any, dtype: DType, device: Device) -> Value:
    return const(scalar_value(scalar, dtype), dtype, (), device)


def as_operand(x: Any, device: Device) -> Array:
    """Return a NumPy array as a lazyarr array on the device (a snapshot); arrays as they are."""
    if type(x) is Array:
        return x
    if isinstance(x, np.ndarray):
        from .api.creation import asarray

        return asarray(x, device=device)
    raise TypeError(f"expected an array, not {type(x).__name__}")


def elementwise(op: Op, *operands: Any) -> Array:
    """Return the node of an element-wise operation on arrays and scalars, at least one an array.

    Broadcasts, promotes by the standard's rules, and checks that all arrays are on one device.
    """
    arrays = [x for x in operands if type(x) is Array]
    if not arrays:
        raise TypeError(f"{op.name} needs at least one lazyarr array")
    device = arrays[0]._device
    items = [x if isinstance(x, _SCALARS) else as_operand(x, device) for x in operands]
    for x in items:
        if type(x) is Array and x._device is not device:
            raise _bad_devices(arrays[0], x)
    dtypes = _operand_dtypes(op, items)
    spec = op.specs.get(dtypes) or op.resolve(*dtypes)
    shape = views.broadcast_shapes(*[x._shape for x in items if type(x) is Array])
    return wrap(_node(spec, items, dtypes, shape, device))


def _operand_dtypes(op: Op, items: Sequence[Any]) -> tuple[DType, ...]:
    """Return each operand's dtype; a Python scalar takes its from the arrays'."""
    if all(type(x) is Array for x in items):
        return tuple(x._dtype for x in items)
    skip = 1 if op.name == "where" else 0
    typed = [x._dtype for x in items[skip:] if type(x) is Array]
    typed += [dt.as_dtype(x.dtype) for x in items[skip:] if isinstance(x, np.generic)]
    common = typed[0] if typed else None
    for d in typed[1:]:
        common = result_dtype(common, d)  # type: ignore[arg-type]
    result = []
    for k, x in enumerate(items):
        if type(x) is Array:
            result.append(x._dtype)
        elif k < skip:
            result.append(dt.as_dtype(type(x)) if not isinstance(x, np.generic) else x.dtype)
        elif common is None:
            raise TypeError(f"{op.name} needs an array operand that fixes the dtype")
        else:
            result.append(scalar_dtype(x, common))
    return tuple(result)


def _node(
    spec: Spec, items: Sequence[Any], dtypes: Sequence[DType], shape: Shape, device: Device
) -> Value:
    args: list[Value] = []
    reads: list[Shape | None] = []
    offsets: list[int] = []
    plain = True
    for x, dtype in zip(items, dtypes, strict=True):
        strides = None
        offset = 0
        if type(x) is Array:
            args.append(x._cell.value)
            if x._view is not None or x._shape != shape:
                view = x.view
                strides = views.broadcast_strides(view.shape, view.strides, shape)
                offset = view.offset
                plain = False
        else:
            args.append(scalar_operand(x, dtype, device))
        reads.append(strides)
        offsets.append(offset)
    if plain:
        return Value(spec, tuple(args), None, None, None, shape, device)
    return Value(spec, tuple(args), tuple(reads), tuple(offsets), None, shape, device)


def assign(x: Array, view: View, value: Any, *, temporary: bool) -> None:
    """Write a value (an array or a scalar, broadcast and converted) to a view of x's cell."""
    if x._frozen or views.is_stretched(view):
        raise ValueError("a broadcast array is read-only; copy it with xp.asarray(x, copy=True)")
    if type(value) is not Array:
        value = assigned(x, value)
    elif value._cell is x._cell and views.same_elements(value.view, view):
        return  # what `x[key] op= y` writes back after the view was written in place
    check_assigned(x, value)
    if views.broadcast_shapes(value._shape, view.shape) != view.shape:
        raise ValueError(f"cannot write an array of shape {value._shape} to shape {view.shape}")
    root = _take_right_side(x._dtype, view.shape, value, temporary)
    write(x._cell, view, root)


def _take_right_side(dtype: DType, shape: Shape, value: Array, temporary: bool) -> Value:
    root = right_side(dtype, shape, value._cell.value, value.view)
    if temporary:
        _let_go(value)
    return root


def _let_go(temporary: Array) -> None:
    """Take the value from an array that nobody else sees, so that it counts as no reader."""
    if _cell_references(temporary) <= _CELL_ALONE:
        temporary._cell = _NOTHING


def assigned(x: Array, value: Any) -> Array:
    if isinstance(value, _SCALARS):
        dtype = scalar_dtype(value, x._dtype)
        _check_assigned_dtype(x._dtype, dtype)
        return Array(const(scalar_value(value, dtype), dtype, (), x._device))
    return as_operand(np.asarray(value) if isinstance(value, (list, tuple)) else value, x._device)


def check_assigned(x: Array, value: Array) -> None:
    """Raise unless an array may be written to x: of its device, and of a dtype that fits."""
    if value._device is not x._device:
        raise _bad_devices(x, value)
    _check_assigned_dtype(x._dtype, value._dtype)


def _check_assigned_dtype(target: DType, source: DType) -> None:
    """The standard: a value must promote to the target's dtype, kind by kind."""
    if source is target or source == target:
        return
    order = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
    if order[source.kind] > order[target.kind] or (source.kind == "b") != (target.kind == "b"):
        raise TypeError(
            f"cannot write {source} values to an array of {target}; convert them with astype"
        )


def _advanced_get(x: Array, key: Any) -> Array:
    from .api.indexing import get_advanced

    return get_advanced(x, key)


def _advanced_set(x: Array, key: Any, value: Any) -> None:
    from .api.indexing import set_advanced

    set_advanced(x, key, value)


def binary(op: Op, x: Array, y: Any, reflected: bool = False) -> Any:
    """The operators' fast path: two arrays of one shape, or an array and a Python scalar."""
    device = x._device
    shape = x._shape
    if type(y) is Array:
        if reflected:
            x, y = y, x
        if y._shape != x._shape or y._device is not device:
            return elementwise(op, x, y)
        dtypes = (x._dtype, y._dtype)
        spec = op.specs.get(dtypes) or op.resolve(*dtypes)
        args = (x._cell.value, y._cell.value)
        a, b = x._view, y._view
        if a is None and b is None:
            return wrap(Value(spec, args, None, None, None, x._shape, device))
        reads = (None if a is None else a.strides, None if b is None else b.strides)
        offsets = (0 if a is None else a.offset, 0 if b is None else b.offset)
        return wrap(Value(spec, args, reads, offsets, None, x._shape, device))
    if isinstance(y, _SCALARS):
        if op is _OP_POW and not reflected and _squares(x._dtype, y):
            return unary(_OP_SQUARE, x)
        dtype = scalar_dtype(y, x._dtype)
        other = const(scalar_value(y, dtype), dtype, (), device)
        dtypes = (dtype, x._dtype) if reflected else (x._dtype, dtype)
        spec = op.specs.get(dtypes) or op.resolve(*dtypes)
        value = x._cell.value
        args = (other, value) if reflected else (value, other)
        if x._view is None:
            return wrap(Value(spec, args, None, None, None, shape, device))
        view = x._view
        reads = (None, view.strides) if reflected else (view.strides, None)
        offsets = (0, view.offset) if reflected else (view.offset, 0)
        return wrap(Value(spec, args, reads, offsets, None, shape, device))
    if isinstance(y, np.ndarray):
        return elementwise(op, y, x) if reflected else elementwise(op, x, y)
    return NotImplemented


def _squares(dtype: DType, exponent: Any) -> bool:
    """Whether a power is a square: a multiplication is exacter than ``pow``, and much faster."""
    kind = dtype.kind
    if type(exponent) is int:
        return exponent == 2 and kind in "iufc"
    return type(exponent) is float and exponent == 2.0 and kind in "fc"


def in_place(op: Op, x: Array, y: Any) -> Any:
    temporary = _references(y) <= _TEMPORARY_OPERAND and is_statement(_FILE)
    result = binary(op, x, y)
    if temporary and type(y) is Array and result is not NotImplemented:
        _let_go(y)
    return _write_back(op.name, x, result)


def _write_back(name: str, x: Array, result: Any) -> Any:
    """Write the result of ``x op= y`` to x's view."""
    if result is NotImplemented:
        return result
    if result._dtype != x._dtype or result._shape != x._shape:
        raise TypeError(
            f"in-place {name} cannot change {x._dtype}{x._shape} to {result._dtype}{result._shape}"
        )
    assign(x, x.view, result, temporary=True)
    return x


def _matmul(x: Array, y: Any, reflected: bool = False) -> Any:
    """``x @ y``, or ``y @ x`` if reflected."""
    if type(y) is not Array and not isinstance(y, np.ndarray):
        return NotImplemented
    from .api.linear_algebra import matmul

    other = as_operand(y, x._device)
    return matmul(other, x) if reflected else matmul(x, other)


def unary(op: Op, x: Array) -> Array:
    """Return the node of a unary operation."""
    dtype = x._dtype
    spec = op.specs.get((dtype,)) or op.resolve(dtype)
    args = (x._cell.value,)
    view = x._view
    if view is None:
        return wrap(Value(spec, args, None, None, None, x._shape, x._device))
    return wrap(Value(spec, args, (view.strides,), (view.offset,), None, x._shape, x._device))


class _RefcountProbe:
    """Measures how many references an operand has inside ``__setitem__`` and ``in_place``."""

    def __init__(self) -> None:
        self.count = 0

    def __setitem__(self, key: Any, value: Any) -> None:
        self.count = _references(value)

    def __iadd__(self, other: Any) -> Any:
        return _probe_in_place(_OP_ADD, self, other)


def _probe_in_place(op: Op, probe: _RefcountProbe, y: Any) -> Any:
    probe.count = _references(y)
    return probe


def _references(value: Any) -> int:
    return sys.getrefcount(value)


def _temporary_references(statement: str) -> int:
    """Return the count of a temporary in a statement; -1 where a variable's looks the same.

    Measured in a frame of its own, as a user's function runs it: Python 3.14 lends a variable's
    reference to the stack.
    """
    counts = []
    for operand in ("object()", "variable"):
        probe = _RefcountProbe()
        program = f"def run(probe):\n    variable = object()\n    {statement} {operand}\n"
        names: dict[str, Any] = {}
        exec(program, names)
        names["run"](probe)
        counts.append(probe.count)
    return counts[0] if counts[1] > counts[0] else -1


def _cell_references(array: Array) -> int:
    return sys.getrefcount(array._cell)


# Counts of temporaries, and of a cell that one array holds. Compiled and interpreted code count
# differently, so that each comes from the function that is used later.
_TEMPORARY: Final = _temporary_references("probe[0] =")
_TEMPORARY_OPERAND: Final = _temporary_references("probe +=")
_CELL_ALONE: Final = _cell_references(Array(const(0, dt.bool_, (), CPU)))
_EAGER: Final = EAGER
_FILE: Final = __file__
_NOTHING: Final = Cell(const(0, dt.bool_, (), CPU))
# NumPy's names of the element-wise functions, where they differ from the standard's.
_UFUNC_NAMES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "conjugate": "conj",
    "power": "pow",
    "rint": "round",
    "true_divide": "divide",
}
_UFUNCS = {name: name for name in OPS} | _UFUNC_NAMES
