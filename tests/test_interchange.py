"""DLPack, the CUDA array interface, pickle (field cases 7, 106, 107, 109 to 112, 119)."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr import _dlpack, _dtypes
from lazyarr.interchange import unpickle

HOST = (1, 0)


def make(device: str) -> xp.Array:
    return xp.reshape(xp.arange(6, dtype=xp.float32), (2, 3)) * 2


def exports() -> int:
    gc.collect()
    return sum(type(o) is _dlpack._Export for o in gc.get_objects())


def to_numpy(x: xp.Array, **options: Any) -> Any:
    """Return a NumPy array of the exported values; a GPU's memory has to be asked for as a copy."""
    if x.__dlpack_device__() == HOST:
        return np.from_dlpack(x, **options)
    with pytest.raises((RuntimeError, BufferError), match="device"):
        np.from_dlpack(x, **options)
    return np.from_dlpack(x, device="cpu", **options)


def name_of(capsule: Any) -> str:
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype = ctypes.c_char_p
    get.argtypes = (ctypes.py_object,)
    return get(capsule).decode()


class Producer:
    """Exports a NumPy array, as some version of DLPack does."""

    def __init__(self, data: np.ndarray, *, versioned: bool = True, device: Any = HOST) -> None:
        self.data = data
        self.versioned = versioned
        self.device = device

    def __dlpack_device__(self) -> Any:
        return self.device

    def __dlpack__(self, **kwargs: Any) -> Any:
        if self.versioned:
            return self.data.__dlpack__(**kwargs)
        if kwargs:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.data.__dlpack__()


# To NumPy.


def test_numpy_reads_an_export(device: str) -> None:
    x = make(device)
    h = to_numpy(x)
    np.testing.assert_array_equal(h, [[0, 2, 4], [6, 8, 10]])
    assert h.dtype == np.float32


@pytest.mark.parametrize("dtype", _dtypes.ALL, ids=str)
def test_every_dtype_crosses(device: str, dtype: np.dtype) -> None:
    source = np.array([0, 1, 3]).astype(dtype)
    h = to_numpy(xp.asarray(source))
    assert h.dtype == dtype
    np.testing.assert_array_equal(h, source)
    back = xp.from_dlpack(source)
    assert back.dtype == dtype
    np.testing.assert_array_equal(np.asarray(back), source)


def test_views_cross_with_their_strides(device: str) -> None:
    x = xp.reshape(xp.arange(24), (4, 6)) + 0
    want = np.arange(24).reshape(4, 6)
    for key in ((slice(1, 3),), (slice(None), slice(5, 0, -2)), (slice(None, None, -1), 2)):
        np.testing.assert_array_equal(to_numpy(x[key]), want[key])
    np.testing.assert_array_equal(to_numpy(x.T), want.T)
    np.testing.assert_array_equal(to_numpy(x[..., None][1:1]), want[..., None][1:1])
    np.testing.assert_array_equal(to_numpy(x[2, 3, ...]), want[2, 3])


def test_cpu_memory_is_shared_until_the_consumer_lets_go() -> None:
    before = exports()
    x = xp.asarray(np.arange(4.0), device="cpu")
    seen = np.asarray(x)
    h = np.from_dlpack(x)
    assert h.flags.writeable
    x[0] = 50
    assert h[0] == 50
    h[1] = 60
    np.testing.assert_array_equal(np.asarray(x), [50, 60, 2, 3])
    held = np.asarray(x)
    h[2] = 70
    np.testing.assert_array_equal(held, [50, 60, 2, 3])  # the value at the call
    np.testing.assert_array_equal(seen, [0, 1, 2, 3])  # read before it was given away
    assert x._cell.value.real.shared == 1
    del h
    assert exports() == before
    assert x._cell.value.real.shared == 0


def test_the_memory_outlives_the_array() -> None:
    x = xp.asarray(np.arange(4.0), device="cpu")
    h = np.from_dlpack(x)
    del x
    gc.collect()
    np.testing.assert_array_equal(h, [0, 1, 2, 3])


def test_a_simulated_device_exports_a_copy_on_the_host() -> None:
    with xp.default_device("sim"):
        x = make("sim")
        assert x.__dlpack_device__() == HOST
        xp.stats(reset=True)
        h = np.from_dlpack(x)
        assert xp.stats().d2h == 1
        h[...] = 0
        assert float(x[1, 2]) == 10.0
        with pytest.raises(BufferError, match="copy=False"):
            x.__dlpack__(copy=False)
        with xp.transfer_guard("error"):
            with pytest.raises(xp.TransferGuardError):
                x.__dlpack__()
            x.__dlpack__(dl_device=HOST)  # asked for: explicit


def test_a_copy_on_demand(device: str) -> None:
    x = xp.asarray(np.arange(4.0))
    before = exports()
    h = to_numpy(x, copy=True)
    h[0] = 9
    assert float(x[0]) == 0.0
    assert x._cell.value.real.shared == 0
    del h
    assert exports() == before


def test_versions_of_capsules(device: str) -> None:
    x = make(device)
    assert name_of(x.__dlpack__()) == "dltensor"
    assert name_of(x.__dlpack__(max_version=(0, 8))) == "dltensor"
    assert name_of(x.__dlpack__(max_version=(1, 0))) == "dltensor_versioned"
    assert name_of(x.__dlpack__(max_version=(2, 3))) == "dltensor_versioned"


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_that_nobody_takes_frees_its_memory(version: Any) -> None:
    before = exports()
    x = xp.asarray(np.arange(4.0), device="cpu")
    capsule = x.__dlpack__(max_version=version)
    assert exports() == before + 1
    assert x._cell.value.real.shared == 1
    del capsule
    assert exports() == before
    assert x._cell.value.real.shared == 0


def test_a_capsule_may_die_while_an_exception_is_raised() -> None:
    x = xp.asarray(np.arange(4.0), device="cpu")

    def fail() -> None:
        capsules = [x.__dlpack__()]  # noqa: F841 - dies with the frame
        raise KeyError("mine")

    for _ in range(50):
        with pytest.raises(KeyError, match="mine"):
            fail()
    gc.collect()
    assert x._cell.value.real.shared == 0


class Elsewhere:
    """Exports memory of a device that NumPy refuses, with the exception set, after consuming it."""

    def __init__(self) -> None:
        self.released = 0

    def __dlpack_device__(self) -> Any:
        return (2, 0)

    def __dlpack__(self, *, max_version: Any = None, **kwargs: Any) -> Any:
        return _dlpack.make_capsule(
            4096,
            (2, 3),
            (3, 1),
            np.dtype(np.float32),
            (2, 0),
            versioned=max_version is not None,
            flags=0,
            release=self._release,
        )

    def _release(self) -> None:
        self.released += 1


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_consumer_may_refuse_with_its_own_exception(version: Any) -> None:
    x = Elsewhere()
    for n in range(3):
        with pytest.raises((RuntimeError, BufferError), match="device"):
            np.from_dlpack(x if version else Old(x))
        gc.collect()
        assert x.released == n + 1


class Old:
    """A producer from before DLPack 1.0."""

    def __init__(self, x: Any) -> None:
        self.x = x
        self.__dlpack_device__ = x.__dlpack_device__

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return self.x.__dlpack__(stream=stream)


def test_the_structure_of_an_export() -> None:
    for version, name in ((None, "dltensor"), ((1, 0), "dltensor_versioned")):
        capsule = Elsewhere().__dlpack__(max_version=version)
        assert name_of(capsule) == name
        found = _dlpack.take(capsule)
        assert found[:5] == (4096, (2, 3), (3, 1), np.float32, (2, 0))
        assert not found.readonly


def test_read_only_arrays_say_so(device: str) -> None:
    x = xp.broadcast_to(xp.arange(3.0), (2, 3))
    h = to_numpy(x)
    np.testing.assert_array_equal(h, [[0, 1, 2]] * 2)
    if device == "cpu":
        assert not h.flags.writeable
        with pytest.raises(BufferError, match="read-only"):
            x.__dlpack__()
    x.__dlpack__(copy=True)


def test_exports_that_cannot_be(device: str) -> None:
    x = make(device)
    with pytest.raises(BufferError, match="device"):
        x.__dlpack__(dl_device=(10, 0))
    with pytest.raises(ValueError, match="stream"):  # the host has none
        x.__dlpack__(dl_device=HOST, stream=5)
    if x.__dlpack_device__() == HOST:
        with pytest.raises(ValueError, match="stream"):
            x.__dlpack__(stream=5)
        x.__dlpack__(stream=None)
        x.__dlpack__(stream=-1)


def test_operations_on_shared_memory_run_at_the_call() -> None:
    x = xp.asarray(np.arange(4.0), device="cpu")
    h = np.from_dlpack(x)
    y = x + 1
    h[:] = -5
    np.testing.assert_array_equal(np.asarray(y), [1, 2, 3, 4])
    np.testing.assert_array_equal(np.asarray(x + 1), [-4, -4, -4, -4])


# From others.


@pytest.mark.parametrize("versioned", [True, False])
def test_imports_share_host_memory(versioned: bool) -> None:
    source = np.arange(6.0).reshape(2, 3)
    x = xp.from_dlpack(Producer(source, versioned=versioned))
    assert str(x.device) == "cpu"
    y = x * 2
    source[0, 0] = 50
    assert float(x[0, 0]) == 50.0
    assert float(y[0, 0]) == 0.0
    x[1, 2] = 60
    assert source[1, 2] == 60
    seen = np.asarray(x)
    source[...] = 0
    assert seen[1, 2] == 60


def test_imports_of_views(device: str) -> None:
    source = np.arange(24.0).reshape(4, 6)
    for view in (source[::-1, 1::2], source.T, source[1, 2:], source[:, :0], source[2:3]):
        x = xp.from_dlpack(view)
        assert x.shape == view.shape
        np.testing.assert_array_equal(np.asarray(x), view)
        np.testing.assert_array_equal(np.asarray(x + 1), view + 1)
    x = xp.from_dlpack(source[::-2, ::3])
    x[...] = -1
    assert (source == -1).sum() == 4
    assert source[3, 3] == source[1, 0] == -1


def test_an_import_keeps_its_source_alive_and_lets_it_go() -> None:
    class Source(np.ndarray):
        pass

    source = np.arange(4.0).view(Source)
    watch = weakref.ref(source)
    x = xp.from_dlpack(source)
    del source
    gc.collect()
    assert float(x[3]) == 3.0
    h = x.get()
    del x
    gc.collect()
    assert watch() is None
    assert h[3] == 3.0


def test_read_only_sources_are_never_written(device: str) -> None:
    h = np.arange(4.0)
    h.flags.writeable = False
    x = xp.from_dlpack(h)
    np.testing.assert_array_equal(np.asarray(x), h)
    for write in (
        lambda: x.__setitem__(0, 9),
        lambda: x.__setitem__(..., 9),
        lambda: x.__iadd__(1),
        lambda: x.host("rw"),
    ):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert h[0] == 0.0
    assert not np.from_dlpack(x).flags.writeable
    y = xp.from_dlpack(h, copy=True)
    y[0] = 9
    assert h[0] == 0.0


def test_import_with_a_copy(device: str) -> None:
    source = np.arange(4.0)
    x = xp.from_dlpack(source, copy=True)
    source[0] = 9
    assert float(x[0]) == 0.0
    y = xp.ones(3)
    z = xp.from_dlpack(y, copy=True)
    z[0] = 5
    np.testing.assert_array_equal(np.asarray(y), 1)


def test_own_arrays_share(device: str) -> None:
    x = xp.zeros(4)
    y = xp.from_dlpack(x)
    assert y is not x
    assert y.device == x.device
    y[0] = 5
    x[1] = 6
    np.testing.assert_array_equal(np.asarray(x), [5, 6, 0, 0])
    np.testing.assert_array_equal(np.asarray(y), [5, 6, 0, 0])


def test_import_to_a_device(device: str) -> None:
    source = np.arange(4.0)
    x = xp.from_dlpack(source, device=device)
    assert str(x.device) == device
    np.testing.assert_array_equal((x * 2).get(), source * 2)
    if device != "cpu":
        with pytest.raises(ValueError, match="copy=False"):
            xp.from_dlpack(source, device=device, copy=False)
        with pytest.raises(ValueError, match="copy=False"):
            xp.from_dlpack(x, device="cpu", copy=False)
    assert str(xp.from_dlpack(x, device="cpu").device) == "cpu"


def test_imports_that_cannot_be(device: str) -> None:
    with pytest.raises(AttributeError, match="__dlpack__"):
        xp.from_dlpack([1, 2])
    with pytest.raises(BufferError, match="float16"):
        xp.from_dlpack(np.ones(3, np.float16))
    with pytest.raises(BufferError, match="10"):
        xp.from_dlpack(Producer(np.ones(3), device=(10, 0)))
    capsule = np.ones(3).__dlpack__()
    assert _dlpack.take(capsule).shape == (3,)
    with pytest.raises(BufferError, match="consumed"):
        _dlpack.take(capsule)


def test_asarray_of_a_foreign_array_is_a_snapshot(device: str) -> None:
    source = np.arange(4.0)
    x = xp.asarray(Producer(source))
    assert type(x) is xp.Array
    assert str(x.device) == device
    source[0] = 9
    assert float(x[0]) == 0.0
    if device == "cpu":
        y = xp.asarray(Producer(source), copy=False)
        source[1] = 9
        assert float(y[1]) == 9.0


def test_array_api_strict_takes_and_gives(device: str) -> None:
    strict = pytest.importorskip("array_api_strict")
    s = strict.asarray([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(np.asarray(xp.from_dlpack(s)), [1, 2, 3])
    x = xp.asarray([1.0, 2.0])
    t = strict.from_dlpack(x if x.__dlpack_device__() == HOST else x.to_device("cpu"))
    assert float(strict.sum(t)) == 3.0


# The CUDA array interface.


@pytest.mark.parametrize("name", ["cpu", "sim"])
def test_only_gpus_have_the_cuda_array_interface(name: str) -> None:
    x = xp.ones(3, device=name)
    assert not hasattr(x, "__cuda_array_interface__")
    assert not hasattr(x, "gpudata")
    with pytest.raises(AttributeError, match=name):
        _ = x.__cuda_array_interface__


@pytest.mark.cuda
def test_the_cuda_array_interface() -> None:
    class Foreign:
        def __init__(self, x: xp.Array, **changes: Any) -> None:
            self.keep = x
            self.__cuda_array_interface__ = {**x.__cuda_array_interface__, **changes}

    with xp.default_device("cuda"):
        x = xp.reshape(xp.arange(6.0), (2, 3))
        interface = x.__cuda_array_interface__
        assert interface["version"] == 3
        assert interface["strides"] is None
        assert interface["stream"] == 1
        assert interface["typestr"] == "<f8"
        assert interface["data"] == (x.gpudata, False)
        want = np.arange(6.0).reshape(2, 3)
        for strides in (None, (24, 8)):
            np.testing.assert_array_equal(np.asarray(xp.asarray(Foreign(x, strides=strides))), want)
        bare = Foreign(x)
        bare.__cuda_array_interface__.pop("strides")
        bare.__cuda_array_interface__.pop("stream")
        np.testing.assert_array_equal(np.asarray(xp.asarray(bare)), want)
        flipped = x[::-1, ::2]
        np.testing.assert_array_equal(np.asarray(xp.asarray(Foreign(flipped))), want[::-1, ::2])
        shared = xp.asarray(Foreign(x), copy=False)
        x[0, 0] = 50
        assert float(shared[0, 0]) == 50.0
        assert xp.zeros((0, 3)).__cuda_array_interface__["data"] == (0, False)
        broadcast = xp.broadcast_to(xp.ones(1), (4,))
        assert broadcast.__cuda_array_interface__["data"][1] is True
        with pytest.raises(ValueError, match="stream 0"):
            xp.asarray(Foreign(x, stream=0))
        with pytest.raises(BufferError, match="mask"):
            xp.asarray(Foreign(x, mask=x))
        with pytest.raises(ValueError, match="address"):
            _ = x.T.gpudata


@pytest.mark.cuda
def test_streams_of_an_export() -> None:
    with xp.default_device("cuda"):
        x = xp.ones(1 << 20) * 3
        assert x.__dlpack_device__() == (2, 0)
        for stream in (None, 1, 2, -1):
            x.__dlpack__(stream=stream, max_version=(1, 0))
        for stream in (0, -2, "1", True):
            with pytest.raises(ValueError, match="stream"):
                x.__dlpack__(stream=stream)
        y = xp.from_dlpack(Unshared(x))
        x[0] = 5
        assert float(y[0]) == 5.0
        h = np.from_dlpack(x, device="cpu")
        assert h[1] == 3.0


class Unshared:
    """A lazyarr array that ``from_dlpack`` does not know as one."""

    def __init__(self, x: xp.Array) -> None:
        self.x = x

    def __dlpack_device__(self) -> Any:
        return self.x.__dlpack_device__()

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.x.__dlpack__(**kwargs)


@pytest.mark.cuda
def test_torch_shares_memory() -> None:
    torch = pytest.importorskip("torch")
    with xp.default_device("cuda"):
        stream = torch.cuda.Stream()
        x = xp.ones(1 << 20) * 3
        with torch.cuda.stream(stream):
            r = torch.from_dlpack(xp.sqrt(x) * 2 + 1).sum()
        stream.synchronize()
        assert abs(float(r) / (1 << 20) - (2 * 3**0.5 + 1)) < 1e-6
        t = torch.ones(4, device="cuda")
        y = xp.from_dlpack(t)
        y[0] = 5
        xp.synchronize()
        assert float(t[0]) == 5.0
        assert type(xp.asarray(t)) is xp.Array
        assert torch.asarray(xp.ones(3), device="cuda").is_cuda


@pytest.mark.cuda
@pytest.mark.parametrize("cast", ["from_dlpack", "as_tensor"])
def test_memory_is_not_reused_while_a_consumer_works(cast: str) -> None:
    torch = pytest.importorskip("torch")
    with xp.default_device("cuda"):
        n = 1 << 20

        def others() -> list[xp.Array]:
            made = [xp.full(n, -1.0) * 1 for _ in range(8)]
            xp.evaluate(*made)
            return made

        others()  # compiles
        side = torch.cuda.Stream()
        x = xp.full(n, 3.0) * 1
        xp.evaluate(x)
        with torch.cuda.stream(side):
            # CUDA may wait for the device when it loads a kernel, and torch when it allocates.
            torch.ones(n, device="cuda").sum().item()
            torch.cuda._sleep(1000)
            side.synchronize()
            t = getattr(torch, cast)(x, **({} if cast == "from_dlpack" else {"device": "cuda"}))
            assert t.data_ptr() == x.gpudata
            torch.cuda._sleep(2_000_000_000)
            total = t.sum()
        del t, x
        kept = others()
        assert not side.query()  # so the sum comes after what was written above
        side.synchronize()
        assert float(total) == 3.0 * n
        del kept


@pytest.mark.cuda
def test_cupy_shares_memory() -> None:
    cupy = pytest.importorskip("cupy")
    with xp.default_device("cuda"):
        x = xp.reshape(xp.arange(6.0), (2, 3)) * 2
        for give in (cupy.from_dlpack, cupy.asarray):
            c = give(x)
            np.testing.assert_array_equal(cupy.asnumpy(c), [[0, 2, 4], [6, 8, 10]])
            c[0, 0] = 50
            cupy.cuda.Stream.null.synchronize()
            assert float(x[0, 0]) == 50.0
            x[0, 0] = 0
        c = cupy.arange(4.0)
        y = xp.from_dlpack(c)
        y += 1
        np.testing.assert_array_equal(cupy.asnumpy(c), [1, 2, 3, 4])
        z = xp.asarray(c, copy=False)
        np.testing.assert_array_equal(np.asarray(z * 2), [2, 4, 6, 8])
        with xp.stream(cupy.cuda.Stream(non_blocking=True)):
            np.testing.assert_array_equal(np.asarray(xp.asarray(c) + 1), [2, 3, 4, 5])


# Pickle and copies.


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(device: str, protocol: int) -> None:
    x = make(device).T
    y = pickle.loads(pickle.dumps(x, protocol))
    assert (y.shape, y.dtype, y.device) == (x.shape, x.dtype, x.device)
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))
    y[0, 0] = 9
    assert float(x[0, 0]) == 0.0


def test_deepcopy(device: str) -> None:
    x = make(device)
    y = copy.deepcopy({"a": x})["a"]
    y[0, 0] = 9
    assert float(x[0, 0]) == 0.0


def test_unpickling_without_the_device(device: str) -> None:
    x = unpickle(np.arange(3.0), "cuda:99")
    assert str(x.device) == device
    np.testing.assert_array_equal(np.asarray(x), [0, 1, 2])
