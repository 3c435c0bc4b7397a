"""Foreign data that is odd or lies: DLPack, the CUDA array interface, host protocols.

What happens to each fault is listed in docs/design/foreign.md.
"""

from __future__ import annotations

import ctypes
import enum
import itertools
import math
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazyarr as xp
from lazyarr import _dlpack as dl
from lazyarr import _dtypes
from lazyarr._devices import CPU
from lazyarr.interchange import describe_interface

from .conftest import cuda_detail
from .producers import GPU, HOST, Bytes, Interface, Raw, name_of, settle

FUZZED = max(500, 4 * settings.default.max_examples)
BUFFER = np.random.default_rng(7).integers(0, 256, 12288, dtype=np.uint8)
BUFFER[:1024] &= 1  # good bools
NOWHERE = (dl.CUDA_HOST + 7, 0)  # ROCm's


def floats(n: int = 6) -> np.ndarray:
    return np.arange(float(n))


def raw(h: np.ndarray, **changes: Any) -> Raw:
    strides = changes.pop("strides", None)
    shape = changes.pop("shape", h.shape)
    address = changes.pop("address", h.ctypes.data)
    return Raw(address, shape, strides, **{"dtype": h.dtype, "keep": h, **changes})


def refused(producer: Raw, error: Any = BufferError, match: str = "", **options: Any) -> None:
    """Assert that an import raises, and that what was consumed was given back, once."""
    with pytest.raises(error, match=match):
        xp.from_dlpack(producer, **options)
    settle()
    assert producer.deleted == 1


# Faults of DLPack tensors, one by one.

H = floats()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"address": 0}, "null pointer"),
        ({"address": 0, "byte_offset": 64}, "null pointer"),
        ({"shape": None, "ndim": 2}, "null pointer as its shape"),
        ({"ndim": -1}, "-1 dimensions"),
        ({"ndim": 2**31 - 1}, "dimensions"),
        ({"shape": (-3,)}, "negative"),
        ({"shape": (2**40, 2**40), "strides": (0, 0)}, "more elements"),
        ({"shape": (0, 2**62, 2**62)}, "more elements"),
        ({"shape": (2,), "strides": (2**62,)}, "address space"),
        ({"shape": (2,), "strides": (-(2**62),)}, "address space"),
        ({"byte_offset": 2**64 - 8}, "address space"),
        ({"code": 4}, "code 4"),  # bfloat16
        ({"code": 3}, "code 3"),  # a handle
        ({"code": 200}, "code 200"),
        ({"bits": 16}, "float16"),
        ({"bits": 128}, "float128"),
        ({"bits": 63}, "63 bits"),
        ({"bits": 0}, "0 bits"),
        ({"lanes": 0}, "0 lanes"),
        ({"lanes": 4}, "4 lanes"),
        ({"code": 1, "bits": 1}, "1 bits"),  # bools as some had them before DLPack had a code
        ({"code": 6, "bits": 1}, "1 bits"),
        ({"code": 6, "bits": 32}, "32 bits"),
        ({"code": 5, "bits": 32}, "32 bits"),  # complex32
        ({"version": (2, 0)}, "version 2.0"),
        ({"version": (0, 9)}, "version 0.9"),
        ({"version": (2**32 - 1, 0)}, "version 4294967295"),
        ({"device": (dl.CUDA, 0), "announced": HOST}, "its tensor"),
        ({"device": (99, 0), "announced": HOST}, "its tensor"),
    ],
    ids=str,
)
def test_a_tensor_that_cannot_be(changes: dict[str, Any], text: str) -> None:
    for version in ((1, 0), None):
        if version is None and "version" in changes:
            continue
        refused(raw(H, **{"version": version, **changes}), match=text)
        producer = raw(H, **{"version": version, **changes})
        with pytest.raises(BufferError, match=text):
            xp.asarray(producer)
        settle()
        assert producer.deleted == 1


def test_a_newer_minor_version_is_understood() -> None:
    np.testing.assert_array_equal(np.asarray(xp.from_dlpack(raw(H, version=(1, 77)))), H)
    assert not xp.from_dlpack(raw(H, flags=1 << 40))._cell.value.real.readonly


@pytest.mark.parametrize("version", [None, (1, 0)])
@pytest.mark.parametrize("strides", [None, (1,), (77,)])
@pytest.mark.parametrize("address", ["null", "odd", "good"])
def test_empty_tensors(device: str, version: Any, strides: Any, address: str) -> None:
    place = {"null": 0, "odd": 1, "good": H.ctypes.data}[address]
    for shape in ((0,), (2, 0), (0, 2**40)):
        steps = None if strides is None else strides * len(shape)
        producer = raw(H, shape=shape, strides=steps, address=place, version=version)
        x = xp.from_dlpack(producer)
        assert x.shape == shape
        np.testing.assert_array_equal(np.asarray(xp.asarray(producer)), np.empty(shape))
        assert float(xp.sum(x)) == 0.0
        x[...] = 5
        assert name_of(x.__dlpack__()) == "dltensor"
        assert dl.take(x.__dlpack__()).address == 0
        del x
        settle()
        assert producer.deleted == 2


def test_byte_offsets_and_numbers_without_a_shape(device: str) -> None:
    producer = raw(H, shape=None, byte_offset=16)
    assert float(xp.from_dlpack(producer)) == 2.0
    assert float(xp.asarray(producer)) == 2.0
    producer = raw(H, shape=(2, 2), strides=(-3, 1), byte_offset=24)
    np.testing.assert_array_equal(np.asarray(xp.asarray(producer)), [[3, 4], [0, 1]])


def test_addresses_that_are_not_aligned(device: str) -> None:
    data = np.zeros(65, np.uint8)
    moved = data[1:].view(np.float64)
    moved[:] = np.arange(8)
    for give in (xp.from_dlpack, xp.asarray, lambda p: xp.from_dlpack(p, device=device)):
        x = give(raw(moved))
        np.testing.assert_array_equal(np.asarray(x), np.arange(8))
        np.testing.assert_array_equal(np.asarray(x[::2] * 2 + 1), np.arange(8)[::2] * 2 + 1)
    x = xp.from_dlpack(raw(moved))
    x += 1
    np.testing.assert_array_equal(moved, np.arange(1, 9))


def test_elements_that_share_memory_are_read_only(device: str) -> None:
    h = floats(8)
    for shape, strides in (((3, 2), (0, 1)), ((3, 3), (1, 1)), ((2, 2, 2), (2, 1, 3))):
        producer = raw(h, shape=shape, strides=strides)
        want = np.lib.stride_tricks.as_strided(h, shape, tuple(8 * s for s in strides))
        x = xp.from_dlpack(producer)
        np.testing.assert_array_equal(np.asarray(x), want)
        np.testing.assert_array_equal(np.asarray(x * 2), want * 2)
        for write in (
            lambda x=x: x.__setitem__(..., 1),
            lambda x=x: x.__setitem__(0, 1),
            lambda x=x: x.__iadd__(1),
            lambda x=x: x.host("rw").__enter__(),
        ):
            with pytest.raises(ValueError, match="read-only"):
                write()
        own = xp.asarray(producer)
        own += 1
        np.testing.assert_array_equal(np.asarray(own), want + 1)
        np.testing.assert_array_equal(h, floats(8))
    x = xp.from_dlpack(raw(h, shape=(2, 1, 4), strides=(4, 0, 1)))  # these do not
    x += 1
    np.testing.assert_array_equal(h, floats(8) + 1)


def test_read_only_and_copied_flags(device: str) -> None:
    h = floats()
    both = dl.READ_ONLY | dl.IS_COPIED
    x = xp.from_dlpack(raw(h, flags=dl.READ_ONLY))
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    np.testing.assert_array_equal(np.asarray((x * 2 + 1) * x), (h * 2 + 1) * h)
    own = xp.from_dlpack(raw(h, flags=both), copy=True)
    own[0] = 9
    np.testing.assert_array_equal(h, floats())
    xp.from_dlpack(raw(h, flags=dl.IS_COPIED))[0] = 7
    assert h[0] == 7
    refused(raw(h, flags=dl.IS_COPIED), ValueError, "as a copy only", copy=False)
    with xp.default_device("cpu"), pytest.raises(ValueError, match="as a copy only"):
        xp.asarray(raw(h, flags=dl.IS_COPIED), copy=False)


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_missing_deleter(version: Any) -> None:
    h = floats()
    producer = raw(h, version=version, deleter=False)
    x = xp.from_dlpack(producer)
    assert float(x[5]) == 5.0
    del x
    settle()
    assert producer.deleted == 0


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_the_deleter_is_called_once_after_the_last_view(device: str, version: Any) -> None:
    producer = raw(floats(), version=version)
    x = xp.from_dlpack(producer)
    y, z = x[1:3], x * 2
    w = xp.from_dlpack(x)
    read = np.asarray(y)
    xp.evaluate(z)
    del x, w
    settle()
    assert producer.deleted == 0
    del y, read
    settle()
    assert producer.deleted == 1
    np.testing.assert_array_equal(np.asarray(z), floats() * 2)
    snapshot = xp.asarray(producer)
    np.testing.assert_array_equal(np.asarray(snapshot), floats())
    settle()
    assert producer.deleted == 2


def test_a_deleter_that_uses_lazyarr(device: str) -> None:
    class Busy(Raw):
        def _delete(self, address: int) -> None:
            super()._delete(address)
            self.total = float(xp.sum(xp.from_dlpack(np.ones(3)) * 2))

    h = floats()
    producer = Busy(h.ctypes.data, h.shape)
    x = xp.from_dlpack(producer)
    y = x + 1
    del x
    np.testing.assert_array_equal(np.asarray(y), h + 1)
    settle()
    assert (producer.deleted, producer.total) == (1, 6.0)


def test_many_threads_lend_and_borrow_one_array(device: str) -> None:
    x = xp.asarray(floats(1000)) + 1
    xp.evaluate(x)
    producer = raw(floats(1000))
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(50):
                y = xp.from_dlpack(producer)
                assert float(y[999]) == 999.0
                taken = dl.take(x.__dlpack__(max_version=(1, 0)))
                assert taken.shape == (1000,)
        except BaseException as error:  # noqa: BLE001 - told to the main thread
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failed == []
    settle()
    assert producer.deleted == 200
    assert x._cell.value.real.shared == 0
    assert float(xp.sum(x)) == 500500.0


EXIT = """
import builtins, numpy as np
h = np.arange(4.0)
builtins.kept = [xp.from_dlpack(h), np.from_dlpack(xp.ones(3, device='cpu'))]
builtins.kept.append(xp.ones(2).__dlpack__())
builtins.kept.append(xp.from_dlpack(h, copy=True).__dlpack__(max_version=(1, 0)))
y = xp.asarray(h, copy=False) + 1
cycle = [xp.from_dlpack(np.ones(3))]
cycle.append(cycle)
"""


@pytest.mark.parametrize(("end", "code"), [("", 0), ("raise SystemExit(3)", 3), ("1 / 0", 1)])
def test_a_silent_exit_with_memory_lent_and_borrowed(device: str, end: str, code: int) -> None:
    root = str(Path(xp.__file__).parents[1])
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    body = "import lazyarr as xp" + EXIT + end
    done = subprocess.run(
        [sys.executable, "-c", body],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path, "LAZYARR_DEVICE": device},
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Exception ignored" not in done.stderr
    if code == 1:
        assert done.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"
    else:
        assert done.stderr == ""


# Faults of capsules and of the two methods.


@pytest.mark.parametrize("name", [b"used_dltensor", b"used_dltensor_versioned", b"other", b""])
def test_a_capsule_with_another_name(name: bytes) -> None:
    producer = raw(H, name=name)
    with pytest.raises(BufferError, match="not a DLPack capsule"):
        xp.from_dlpack(producer)
    settle()
    assert producer.deleted == 0  # it was never ours


@pytest.mark.parametrize("given", [None, 5, "dltensor", object(), H])
def test_something_else_than_a_capsule(given: Any) -> None:
    producer = raw(H)
    producer.capsule = lambda: given  # type: ignore[method-assign]
    with pytest.raises(BufferError, match="not a DLPack capsule"):
        xp.from_dlpack(producer)


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_is_consumed_once(version: Any) -> None:
    producer = raw(floats(), version=version)
    capsule = producer.capsule()
    producer.capsule = itertools.repeat(capsule).__next__  # type: ignore[method-assign]
    x = xp.from_dlpack(producer)
    assert name_of(capsule) == ("used_dltensor" if version is None else "used_dltensor_versioned")
    with pytest.raises(BufferError, match="consumed"):
        xp.from_dlpack(producer)
    del x
    settle()
    assert producer.deleted == 1


def test_a_capsule_is_consumed_by_one_thread() -> None:
    for _ in range(20):
        producer = raw(floats())
        capsule = producer.capsule()
        taken: list[Any] = []
        start = threading.Barrier(4)

        def work(capsule: Any = capsule, taken: list[Any] = taken, start: Any = start) -> None:
            start.wait()
            try:
                taken.append(dl.take(capsule))
            except BufferError:
                taken.append(None)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert sum(t is not None for t in taken) == 1
        taken.clear()
        settle()
        assert producer.deleted == 1


def test_older_producers_are_asked_with_what_they_know() -> None:
    for keywords, calls in (((), 3), (("max_version",), 2), (("max_version", "copy"), 1)):
        producer = raw(floats(), keywords=keywords)
        xp.from_dlpack(producer, copy=False)
        assert len(producer.asked) == calls
        producer = raw(floats(), keywords=keywords)
        xp.from_dlpack(producer)
        assert len(producer.asked) == (2 if keywords == () else 1)
        assert producer.asked[0] == {"max_version": (1, 0)}


@pytest.mark.parametrize("error", [BufferError, RuntimeError, TypeError, KeyError, ValueError])
def test_a_producer_that_raises(error: Any) -> None:
    class Failing(Raw):
        def __dlpack__(self, **keywords: Any) -> Any:
            raise error("mine")

    with pytest.raises(error, match="mine"):
        xp.from_dlpack(Failing(H.ctypes.data, H.shape))
    with pytest.raises(error, match="mine"):
        xp.asarray(Failing(H.ctypes.data, H.shape))

    class Lost(Raw):
        def __dlpack_device__(self) -> Any:
            raise error("where")

    with pytest.raises(error, match="where"):
        xp.from_dlpack(Lost(H.ctypes.data, H.shape))


def test_half_a_producer() -> None:
    class NoDevice:
        def __dlpack__(self, **keywords: Any) -> Any:
            return H.__dlpack__(**keywords)

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return H

    class NoData:
        def __dlpack_device__(self) -> Any:
            return HOST

    with pytest.raises(AttributeError, match="__dlpack_device__"):
        xp.from_dlpack(NoDevice())
    with pytest.raises(AttributeError, match="__dlpack__"):
        xp.from_dlpack(NoData())
    np.testing.assert_array_equal(np.asarray(xp.asarray(NoDevice())), H)
    with pytest.raises(TypeError, match="NoData"):
        xp.asarray(NoData())


class Kind(enum.IntEnum):
    CPU = 1


@pytest.mark.parametrize("place", [(Kind.CPU, 0), [1, 0], (np.int32(1), np.int64(0)), (1, 5)])
def test_a_device_in_other_types(place: Any) -> None:
    x = xp.from_dlpack(raw(H, announced=place))
    assert x.device is CPU
    np.testing.assert_array_equal(np.asarray(x), H)


@pytest.mark.parametrize("place", [None, 1, (), (1,), (1, 0, 0), ("cpu", 0), (1.0, 0), "10"])
def test_a_device_that_is_none(place: Any) -> None:
    producer = raw(H)
    producer.device = place
    with pytest.raises(BufferError, match="no DLPack device"):
        xp.from_dlpack(producer)
    assert producer.asked == []


def test_devices_that_lazyarr_does_not_have() -> None:
    for place in (NOWHERE, (4, 0), (0, 0), (-1, 0), (2**31 - 1, 0)):
        producer = raw(H, device=place)
        with pytest.raises(BufferError, match=f"device type {place[0]}"):
            xp.from_dlpack(producer)
        assert producer.asked == []
    with pytest.raises(BufferError, match="number -1"):
        xp.from_dlpack(raw(H, device=(dl.CUDA, -1)))
    if not cuda_detail()[0]:
        for kind in (dl.CUDA, dl.CUDA_MANAGED):
            with pytest.raises(xp.DeviceUnavailableError):
                xp.from_dlpack(raw(H, device=(kind, 0)))


def test_a_producer_elsewhere_copies_to_the_host_when_asked() -> None:
    producer = raw(H, announced=NOWHERE, flags=dl.IS_COPIED)
    x = xp.from_dlpack(producer, device="cpu")
    assert producer.asked == [{"max_version": (1, 0), "dl_device": HOST}]
    np.testing.assert_array_equal(np.asarray(x), H)
    with pytest.raises(BufferError, match="device type"):
        xp.from_dlpack(raw(H, announced=NOWHERE), device="cpu", copy=False)
    with pytest.raises(TypeError, match="dl_device"):
        xp.from_dlpack(raw(H, announced=NOWHERE, keywords=("max_version",)), device="cpu")
    liar = raw(H, device=NOWHERE)  # does not copy after all
    refused(liar, match="its tensor", device="cpu")


# Bools: any byte but 0 is true for some, and kernels rely on 1.


def test_bools_of_other_bytes(device: str) -> None:
    odd = np.array([0, 1, 2, 255], np.uint8)
    h = odd.view(np.bool_)

    class Buffer:
        __array_interface__ = h.__array_interface__

    class Reversed:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return h[::-1][::-1]

    def made() -> Any:
        yield xp.asarray(h)
        yield xp.asarray(Buffer())
        yield xp.asarray(Reversed())
        yield xp.asarray(raw(h))
        yield xp.from_dlpack(raw(h), copy=True).to_device(device)
        yield xp.from_dlpack(raw(h), device=device)
        yield xp.asarray(h[:, None].T[0])

    for x in made():
        if device == "cpu" and x._cell.value.real.shared:
            continue  # the producer's own bytes: NumPy reads them as they are
        assert x.get().view(np.uint8).tolist() == [0, 1, 1, 1]
        assert int(xp.count_nonzero(x)) == 3
        assert np.asarray(~x).tolist() == [True, False, False, False]
        assert np.asarray(xp.astype(x, xp.int32)).tolist() == [0, 1, 1, 1]
        assert np.asarray(x == xp.ones(4, dtype=xp.bool)).tolist() == [False, True, True, True]
    assert odd.tolist() == [0, 1, 2, 255]


# Fuzzed DLPack producers.


class Case(NamedTuple):
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # in elements
    offset: int  # in bytes, from the buffer's start
    byte_offset: int  # a part of it
    version: tuple[int, int] | None
    flags: int
    deleter: bool
    copy: bool | None

    def reach(self) -> tuple[int, int]:
        if 0 in self.shape:
            return 0, 0
        spans = [(n - 1) * s for n, s in zip(self.shape, self.steps(), strict=True)]
        return sum(s for s in spans if s < 0), sum(s for s in spans if s > 0) + 1

    def steps(self) -> tuple[int, ...]:
        if self.strides is not None:
            return self.strides
        return tuple(math.prod(self.shape[d + 1 :]) for d in range(len(self.shape)))

    def view_of(self, data: np.ndarray) -> np.ndarray:
        """Return NumPy's idea of it."""
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        size = self.dtype.itemsize
        return np.ndarray(
            self.shape, self.dtype, data, self.offset, tuple(s * size for s in self.steps())
        )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    dtype = draw(st.sampled_from(_dtypes.ALL))
    shape = draw(st.lists(st.integers(0, 4), max_size=4).map(tuple))
    kind = draw(st.sampled_from(["none", "spelled", "permuted", "free"]))
    strides: tuple[int, ...] | None = None
    if kind == "free":
        strides = draw(st.tuples(*[st.integers(-4, 4) for _ in shape]))
    elif kind != "none":
        order = list(range(len(shape)))
        if kind == "permuted":
            order = draw(st.permutations(order))
        steps, step = [0] * len(shape), draw(st.integers(1, 2))
        for d in reversed(order):
            steps[d] = step * draw(st.sampled_from([1, 1, -1]))
            step *= max(shape[d], 1)
        strides = tuple(steps)
    if strides is not None and 0 in shape and draw(st.booleans()):
        strides = tuple(draw(st.integers(-(2**62), 2**62)) for _ in shape)
    case = Case(
        dtype,
        shape,
        strides,
        0,
        0,
        draw(st.sampled_from([None, (1, 0), (1, 3)])),
        draw(st.sampled_from([0, dl.READ_ONLY, dl.IS_COPIED])),
        draw(st.booleans()),
        draw(st.sampled_from([None, True, False])),
    )
    low, high = case.reach()
    size = dtype.itemsize
    room = 1024 if dtype.kind == "b" else BUFFER.nbytes
    first = -low * size
    last = room - high * size
    offset = draw(st.integers(0, (last - first) // size)) * size + first
    if draw(st.integers(0, 4)) == 0 and offset < last:
        offset += 1  # not aligned any more, but for bytes
    return case._replace(offset=offset, byte_offset=draw(st.integers(0, offset)))


LIES = st.sampled_from(
    [
        {"code": 4},
        {"code": 77},
        {"bits": 7},
        {"bits": 0},
        {"lanes": 2},
        {"lanes": 0},
        {"ndim": -5},
        {"ndim": 65},
        {"device": (dl.CUDA_MANAGED + 50, 0)},
        {"data": 0, "shape": (2, 2), "strides": None},
        {"shape": (3, -1), "strides": None},
        {"shape": (2**31, 2**32), "strides": None},
        {"shape": (5,), "strides": (2**61,)},
        {"shape": (5,), "strides": (-(2**61),)},
        {"version": (2, 0)},
        {"version": (77, 1)},
    ]
)


def producer_of(case: Case, memory: Bytes, lie: dict[str, Any] | None) -> Raw:
    options: dict[str, Any] = {
        "data": memory.address + case.offset - case.byte_offset,
        "shape": case.shape,
        "strides": case.strides,
        "dtype": case.dtype,
        "device": memory.place,
        "announced": memory.place,
        "version": case.version,
        "flags": case.flags,
        "deleter": case.deleter,
        "byte_offset": case.byte_offset,
        "keep": memory,
        **(lie or {}),
    }
    return Raw(**options)


def check_refused(producer: Raw, device: str, copy: bool | None, error: Any) -> None:
    with pytest.raises(error):
        if device == "sim":
            xp.asarray(producer)
        else:
            xp.from_dlpack(producer, copy=copy)
    settle()
    assert producer.deleted == bool(producer.managed.deleter)


@settings(max_examples=FUZZED)
@given(case=cases(), lie=st.none() | LIES)
def test_fuzzed_tensors(device: str, case: Case, lie: dict[str, Any] | None) -> None:
    memory = Bytes(device, BUFFER)
    producer = producer_of(case, memory, lie)
    if lie is not None:
        check_refused(producer, device, case.copy, BufferError)
        return
    want = case.view_of(BUFFER)
    copied = case.version is not None and bool(case.flags & dl.IS_COPIED)
    readonly = case.version is not None and bool(case.flags & dl.READ_ONLY)
    if device == "cuda" and want.size and case.offset % case.dtype.itemsize:
        check_refused(producer, device, case.copy, BufferError)
        return
    if device != "sim" and case.copy is False and copied:
        check_refused(producer, device, False, ValueError)
        return
    x = xp.asarray(producer) if device == "sim" else xp.from_dlpack(producer, copy=case.copy)
    assert (x.shape, x.dtype, str(x.device)) == (case.shape, case.dtype, device)
    assert np.asarray(x).tobytes() == want.tobytes()
    same = np.asarray(xp.reshape(x == x, (-1,)))
    np.testing.assert_array_equal(same, ~np.isnan(want).reshape(-1))
    own = device == "sim" or case.copy
    zero = case.dtype.type(0).item()
    shared = xp._array.views.may_overlap_itself(x.view)
    if want.size and not own and (readonly or shared):
        with pytest.raises(ValueError, match="read-only"):
            x[...] = zero
        assert memory.now().tobytes() == BUFFER.tobytes()
    else:
        x[...] = zero
        after = BUFFER.copy()
        if not own:
            case.view_of(after)[...] = 0
        assert memory.now().tobytes() == after.tobytes()
        assert not np.asarray(x).any()
    del x
    settle()
    assert producer.deleted == case.deleter


# The CUDA array interface.


def interface(**changes: Any) -> dict[str, Any]:
    whole = {
        "shape": (2, 3),
        "typestr": "<f8",
        "data": (4096, False),
        "strides": None,
        "stream": None,
        "version": 3,
    }
    return {key: value for key, value in {**whole, **changes}.items() if value is not MISSING}


MISSING = "missing"


@pytest.mark.parametrize(
    ("changes", "shape", "strides", "address", "readonly"),
    [
        ({}, (2, 3), None, 4096, False),
        ({"strides": MISSING, "stream": MISSING, "version": 2}, (2, 3), None, 4096, False),
        ({"version": MISSING}, (2, 3), None, 4096, False),
        ({"strides": (24, 8)}, (2, 3), (3, 1), 4096, False),
        ({"strides": (-24, 8)}, (2, 3), (-3, 1), 4096, False),
        ({"strides": [0, 8]}, (2, 3), (0, 1), 4096, False),
        ({"shape": [2, np.int64(3)]}, (2, 3), None, 4096, False),
        ({"shape": ()}, (), None, 4096, False),
        ({"data": (4096, True)}, (2, 3), None, 4096, True),
        ({"data": [np.uint64(4096), 1]}, (2, 3), None, 4096, True),
        ({"shape": (0, 3), "data": (0, False)}, (0, 3), None, 0, False),
        ({"shape": (0, 3), "data": (None, False)}, (0, 3), None, 0, False),
        ({"shape": (2, 0), "strides": (1, 7)}, (2, 0), None, 4096, False),
        ({"typestr": "=f8"}, (2, 3), None, 4096, False),
        ({"descr": [("", "<f8")], "mask": None}, (2, 3), None, 4096, False),
    ],
)
def test_interfaces_in_other_words(
    changes: Any, shape: Any, strides: Any, address: int, readonly: bool
) -> None:
    owner = object()
    found = describe_interface(interface(**changes), owner)
    assert found == (address, shape, strides, np.float64, GPU, readonly, owner, False)


@pytest.mark.parametrize("dtype", _dtypes.ALL, ids=str)
def test_every_type_string(dtype: np.dtype) -> None:
    assert describe_interface(interface(typestr=dtype.str), None).dtype == dtype
    other = dtype.newbyteorder(">")
    if not other.isnative:
        with pytest.raises(BufferError, match="byte order"):
            describe_interface(interface(typestr=other.str), None)


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"mask": (4096, False)}, BufferError, "mask"),
        ({"shape": MISSING}, BufferError, "shape"),
        ({"typestr": MISSING}, BufferError, "typestr"),
        ({"data": MISSING}, BufferError, "data"),
        ({"data": None}, BufferError, "malformed"),
        ({"data": 4096}, BufferError, "malformed"),
        ({"data": (4096,)}, BufferError, "malformed"),
        ({"data": ("4096", False)}, BufferError, "malformed"),
        ({"data": (0, False)}, BufferError, "null pointer"),
        ({"data": (None, False)}, BufferError, "null pointer"),
        ({"data": (-8, False)}, BufferError, "address space"),
        ({"data": (2**64 - 8, False)}, BufferError, "address space"),
        ({"shape": 3}, BufferError, "malformed"),
        ({"shape": (2.0, 3)}, BufferError, "malformed"),
        ({"shape": (-2, 3)}, BufferError, "negative"),
        ({"shape": (2**40, 2**40)}, BufferError, "more elements"),
        ({"strides": (24,)}, BufferError, "do not fit"),
        ({"strides": (24, 8, 1)}, BufferError, "do not fit"),
        ({"strides": 8}, BufferError, "malformed"),
        ({"strides": (24, 4)}, BufferError, "multiples"),
        ({"strides": (2**63, 8)}, BufferError, "address space"),
        ({"typestr": "<f2"}, BufferError, "dtype"),
        ({"typestr": "<f16"}, BufferError, "dtype"),
        ({"typestr": "|V8", "descr": [("a", "<f8")]}, BufferError, "dtype"),
        ({"typestr": "|O8"}, BufferError, "dtype"),
        ({"typestr": "<M8[s]"}, BufferError, "dtype"),
        ({"typestr": "<U4"}, BufferError, "dtype"),
        ({"typestr": "<t4"}, BufferError, "malformed"),
        ({"typestr": "rubbish"}, BufferError, "malformed"),
        ({"typestr": 8}, BufferError, "malformed"),
        ({"typestr": None}, BufferError, "malformed"),
        ({"stream": 0}, ValueError, "stream 0"),
        ({"stream": -1}, ValueError, "stream -1"),
        ({"stream": "1"}, ValueError, "no integer"),
        ({"stream": True}, ValueError, "no integer"),
        ({"stream": 1.0}, ValueError, "no integer"),
    ],
    ids=str,
)
def test_interfaces_that_cannot_be(changes: Any, error: Any, text: str) -> None:
    if "stream" in changes:
        changes = {**changes, "shape": (0,)}  # no memory that a GPU would be asked about
    with pytest.raises(error, match=text):
        xp.asarray(Interface(interface(**changes)))


@pytest.mark.parametrize("given", [None, (), "interface", 5])
def test_interfaces_that_are_none(given: Any) -> None:
    with pytest.raises(BufferError, match="dict"):
        xp.asarray(Interface(given))


def test_an_interface_that_raises() -> None:
    class Failing:
        @property
        def __cuda_array_interface__(self) -> Any:
            raise RuntimeError("detach it first")

    with pytest.raises(RuntimeError, match="detach"):
        xp.asarray(Failing())


@pytest.mark.skipif(cuda_detail()[0], reason="there is a GPU")
def test_an_interface_without_a_gpu() -> None:
    with pytest.raises(xp.DeviceUnavailableError):
        xp.asarray(Interface(interface()))


@pytest.mark.cuda
@settings(max_examples=FUZZED)
@given(case=cases(), stream=st.sampled_from([None, 1, 2]))
def test_fuzzed_interfaces(case: Case, stream: Any) -> None:
    size = case.dtype.itemsize
    strides = None if case.strides is None else tuple(s * size for s in case.strides)
    with xp.default_device("cuda"):
        memory = Bytes("cuda", BUFFER)
        given = {
            "shape": case.shape,
            "typestr": case.dtype.str,
            "data": (memory.address + case.offset, bool(case.flags & dl.READ_ONLY)),
            "strides": strides,
            "stream": stream,
            "version": 3,
        }
        want = case.view_of(BUFFER)
        if want.size and case.offset % size:
            with pytest.raises(BufferError, match="aligned"):
                xp.asarray(Interface(given, memory))
            return
        x = xp.asarray(Interface(given, memory), copy=case.copy)
        assert np.asarray(x).tobytes() == want.tobytes()
        assert x._cell.value.real.shared == (case.copy is False)


@pytest.mark.cuda
def test_addresses_of_no_gpu() -> None:
    h = floats()
    with xp.default_device("cuda"):
        for address in (h.ctypes.data, 4096):
            given = interface(data=(address, False))
            with pytest.raises(BufferError, match="no address of a GPU"):
                xp.asarray(Interface(given, h))
            refused(Raw(address, (6,), device=GPU), match="no address of a GPU")
        assert float(xp.sum(xp.ones(4))) == 4.0  # the context is well


@pytest.mark.cuda
def test_bools_of_other_bytes_on_a_gpu() -> None:
    odd = np.array([0, 1, 2, 255], np.uint8)
    with xp.default_device("cuda"):
        memory = Bytes("cuda", odd)
        given = interface(shape=(4,), typestr="|b1", data=(memory.address, False))
        producer = Raw(memory.address, (4,), dtype=np.bool_, device=GPU)
        for x in (
            xp.asarray(Interface(given, memory)),
            xp.asarray(producer),
            xp.from_dlpack(producer, copy=True),
        ):
            assert x.get().view(np.uint8).tolist() == [0, 1, 1, 1]
            assert int(xp.count_nonzero(x)) == 3
        assert memory.now().tolist() == odd.tolist()


@pytest.mark.cuda
def test_a_snapshot_comes_before_the_producers_next_write() -> None:
    torch = pytest.importorskip("torch")
    with xp.default_device("cuda"):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            t = torch.full((1 << 20,), 3.0, device="cuda")
        given = Interface({**t.__cuda_array_interface__, "stream": side.cuda_stream}, t)
        xp.asarray(given)  # compiles
        torch.cuda._sleep(1)
        torch.cuda.synchronize()
        torch.cuda._sleep(500_000_000)  # on the default stream, which is lazyarr's too
        x = xp.asarray(given)
        with torch.cuda.stream(side):
            t.fill_(0)
        torch.cuda.synchronize()
        assert float(xp.min(x)) == 3.0


@pytest.mark.cuda
def test_odd_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch")
    with xp.default_device("cuda"):
        t = torch.arange(12.0, device="cuda").reshape(3, 4)
        want = np.arange(12, dtype=np.float32).reshape(3, 4)
        for odd, same in (
            (t.T, want.T),
            (t[::2, 1:], want[::2, 1:]),
            (t[1, 2], want[1, 2]),
            (t[:0], want[:0]),
            (t[0].expand(5, 4), np.broadcast_to(want[0], (5, 4))),
            (t.as_strided((3, 3), (1, 1)), np.add.outer(np.arange(3), np.arange(3))),
        ):
            for give in (xp.from_dlpack, xp.asarray):
                np.testing.assert_array_equal(np.asarray(give(odd)), same)
                np.testing.assert_array_equal(np.asarray(give(odd) * 2), same * 2)
        with pytest.raises(ValueError, match="read-only"):
            xp.from_dlpack(t[0].expand(5, 4))[...] = 1
        bools = torch.tensor([0, 1, 2, 255], dtype=torch.uint8, device="cuda").view(torch.bool)
        assert xp.asarray(bools).get().view(np.uint8).tolist() == [0, 1, 1, 1]
        for dtype in (torch.float16, torch.bfloat16):
            with pytest.raises(BufferError):
                xp.from_dlpack(t.to(dtype))
        with pytest.raises((BufferError, RuntimeError)):
            xp.from_dlpack(torch.ones(3, device="cuda", requires_grad=True))
        np.testing.assert_array_equal(np.asarray(xp.from_dlpack(t.cpu())), want)
        np.testing.assert_array_equal(np.asarray(xp.from_dlpack(t.cpu().pin_memory())), want)
        np.testing.assert_array_equal(np.asarray(xp.from_dlpack(t, device="cpu")), want)


@pytest.mark.cuda
def test_odd_arrays_of_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    with xp.default_device("cuda"):
        c = cupy.arange(12.0).reshape(3, 4)
        want = np.arange(12.0).reshape(3, 4)
        for odd, same in (
            (c[::-1, ::2], want[::-1, ::2]),
            (cupy.asfortranarray(c), want),
            (cupy.broadcast_to(c[0], (5, 4)), np.broadcast_to(want[0], (5, 4))),
            (c[:, :0], want[:, :0]),
            (c[1, 2], want[1, 2]),
        ):
            given = Interface(odd.__cuda_array_interface__, odd)
            backwards = any(step < 0 for step in odd.strides)
            if backwards:  # CuPy divides the bytes as unsigned numbers: strides of 2^61
                for take in (xp.from_dlpack, xp.asarray):
                    with pytest.raises(BufferError, match="beyond the address space"):
                        take(odd)
            arrays = [] if backwards else [xp.from_dlpack(odd), xp.asarray(odd)]
            for x in (*arrays, xp.asarray(given)):
                np.testing.assert_array_equal(np.asarray(x), same)
                np.testing.assert_array_equal(np.asarray(x + 1), same + 1)
        managed = cupy.ndarray((3,), cupy.float64, cupy.cuda.malloc_managed(24))
        managed[...] = 7
        np.testing.assert_array_equal(np.asarray(xp.from_dlpack(managed)), [7, 7, 7])
        with pytest.raises(BufferError):
            xp.from_dlpack(c.astype(cupy.float16))


# The host's protocols.


def test_masks_are_refused(device: str) -> None:
    masked = np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0])
    for source in (masked, masked[1:]):
        with pytest.raises(TypeError, match="mask"):
            xp.asarray(source)
        with pytest.raises(TypeError, match="mask"):
            xp.ones(3)[: source.size] + source
    clean = np.ma.masked_array([1.0, 2.0], [0, 0])
    np.testing.assert_array_equal(np.asarray(xp.asarray(clean)), [1, 2])
    np.testing.assert_array_equal(np.asarray(xp.asarray(masked.filled(0))), [1, 0, 3])

    class Masked:
        __array_interface__ = {**H.__array_interface__, "mask": H}  # noqa: RUF012

    with pytest.raises(BufferError, match="mask"):
        xp.asarray(Masked())


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_subclasses_of_numpys_array(device: str) -> None:
    matrix = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(np.asarray(xp.asarray(matrix)), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(np.asarray(xp.asarray(matrix.T) + 1), [[2, 4], [3, 5]])
    shared = xp.asarray(matrix, copy=False)
    assert shared._cell.value.real.host.shape == (32,)
    shared[0, 0] = 9
    xp.synchronize()
    with shared.host("r") as h:
        np.testing.assert_array_equal(h, [[9, 2], [3, 4]])
    clean = np.ma.masked_array([1.0, 2.0], [0, 0])
    assert float(xp.asarray(clean, copy=False)[1]) == 2.0


def array_interface(**changes: Any) -> Any:
    class Given:
        keep = H
        __array_interface__ = {**H.__array_interface__, **changes}  # noqa: RUF012

    return Given()


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        ({}, H),
        ({"strides": (-8,), "data": (H.ctypes.data + 40, True)}, H[::-1]),
        ({"strides": (0,)}, np.zeros(6)),
        ({"shape": ()}, np.float64(0)),
        ({"shape": (0,), "data": (0, False)}, H[:0]),
        ({"typestr": ">f8"}, H.view(">f8").astype(float)),
        ({"data": H.data, "offset": 8, "shape": (2,)}, H[1:3]),
    ],
)
def test_array_interfaces(device: str, changes: Any, want: Any) -> None:
    x = xp.asarray(array_interface(**changes))
    assert str(x.device) == device
    np.testing.assert_array_equal(np.asarray(x), want)


@pytest.mark.parametrize(
    "changes",
    [
        {"data": (0, False)},
        {"data": None},
        {"shape": (-1,)},
        {"shape": (2**62,)},
        {"shape": 3},
        {"strides": (8, 8)},
        {"typestr": "rubbish"},
        {"typestr": "<f2"},
        {"typestr": "|O8", "shape": (0,)},
        {"typestr": "|V8"},
    ],
    ids=str,
)
def test_array_interfaces_that_cannot_be(device: str, changes: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        xp.asarray(array_interface(**changes))


def test_buffers(device: str) -> None:
    big = (ctypes.c_double.__ctype_be__ * 3)(1.0, 2.0, 3.0)
    np.testing.assert_array_equal(np.asarray(xp.asarray(big)), [1, 2, 3])
    np.testing.assert_array_equal(np.asarray(xp.asarray(b"\x01\x02")), np.uint8([1, 2]))
    np.testing.assert_array_equal(np.asarray(xp.asarray(memoryview(H)[::-2])), H[::-2])
    assert xp.asarray(bytearray()).shape == (0,)
    released = memoryview(bytearray(4))
    released.release()
    for source, error in (
        (released, ValueError),
        ((ctypes.c_char_p * 2)(), (TypeError, ValueError, NotImplementedError)),
        (memoryview(np.ones(2, np.float16)), TypeError),
        (np.array([None]), TypeError),
        (np.zeros(2, "f8,i4"), TypeError),
        (np.array(["a"]), TypeError),
        (np.zeros(2, np.longdouble), TypeError),
        (np.zeros(2, "M8[s]"), TypeError),
        ("text", TypeError),
        (object(), TypeError),
    ):
        with pytest.raises(error):
            xp.asarray(source)


def test_array_methods_that_misbehave(device: str) -> None:
    class Given:
        def __init__(self, result: Any) -> None:
            self.result = result

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            if isinstance(self.result, Exception):
                raise self.result
            return self.result

    np.testing.assert_array_equal(np.asarray(xp.asarray(Given(H[::-2]))), H[::-2])
    with pytest.raises(KeyError, match="mine"):
        xp.asarray(Given(KeyError("mine")))
    for result in (None, [1, 2], 5):
        with pytest.raises((TypeError, ValueError)):
            xp.asarray(Given(result))


# What lazyarr exports, for every request.

STREAMS = (None, 1, 2, -1, 0, -2, "1", True, 1.5)
VERSIONS = (None, (0, 8), (1, 0), (1, 9), (2, 0), [1, 0])
TARGETS = (None, HOST, (1, 3), (Kind.CPU, 0), GPU, NOWHERE)


def expected(device: str, stream: Any, target: Any, copy: Any) -> Any:
    """Return the error that a request must raise, or (device, whether it is a copy)."""
    own = GPU if device == "cuda" else HOST
    wanted = own if target is None else tuple(target)
    if wanted not in (own, HOST):
        return BufferError
    if wanted == HOST:
        if stream is not None and (isinstance(stream, (str, bool)) or stream != -1):
            return ValueError
    elif stream is True or stream not in (None, 1, 2, -1):
        return ValueError
    if device == "sim" or wanted != own:
        return BufferError if copy is False else (HOST, True)
    return own, bool(copy)


@pytest.mark.parametrize("stream", STREAMS, ids=repr)
def test_every_request_of_an_export(device: str, stream: Any) -> None:
    want = np.arange(6, dtype=np.int32).reshape(2, 3)[:, ::-2]
    x = xp.reshape(xp.arange(6, dtype=xp.int32), (2, 3))[:, ::-2]
    xp.evaluate(x)
    for version, target, copy in itertools.product(VERSIONS, TARGETS, (None, True, False)):
        request = {"stream": stream, "max_version": version, "dl_device": target, "copy": copy}
        answer = expected(device, stream, target, copy)
        if isinstance(answer, type):
            with pytest.raises(answer):
                x.__dlpack__(**request)
            continue
        capsule = x.__dlpack__(**request)
        new = version is not None and version[0] >= 1
        assert name_of(capsule) == ("dltensor_versioned" if new else "dltensor"), request
        found = dl.take(capsule)
        assert (found.device, found.shape, found.dtype) == (answer[0], want.shape, want.dtype)
        assert found.copied == (answer[1] and new)
        assert not found.readonly
        if answer[0] == HOST:
            again = np.from_dlpack(Raw(found.address, found.shape, found.strides, dtype=np.int32))
            np.testing.assert_array_equal(again, want)
        with pytest.raises(BufferError, match="consumed"):
            dl.take(capsule)
        del found
    settle()
    assert x._cell.value.real.shared == 0


@pytest.mark.parametrize("request_", [{"max_version": 1}, {"max_version": "1.0"}])
def test_a_malformed_version(device: str, request_: Any) -> None:
    with pytest.raises(TypeError):
        xp.ones(3).__dlpack__(**request_)


@pytest.mark.parametrize("target", [1, (1,), (1, 0, 0), ("cpu", 0)])
def test_a_malformed_target(device: str, target: Any) -> None:
    with pytest.raises(BufferError, match="no DLPack device"):
        xp.ones(3).__dlpack__(dl_device=target)


def test_our_own_exports_come_back(device: str) -> None:
    class Wrapped:
        def __init__(self, x: xp.Array) -> None:
            self.__dlpack__ = x.__dlpack__
            self.__dlpack_device__ = x.__dlpack_device__

    x = xp.reshape(xp.arange(6.0), (2, 3))
    y = xp.from_dlpack(Wrapped(x))
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))
    if device == "sim":
        with pytest.raises(BufferError, match="copy=False"):
            xp.from_dlpack(Wrapped(x), copy=False)
        return
    y = xp.from_dlpack(Wrapped(x), copy=False)
    y[0, 0] = 9
    assert float(x[0, 0]) == 9.0
