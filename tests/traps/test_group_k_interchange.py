"""Field cases of group K: DLPack, the CUDA array interface, NumPy, devices."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import lazyarr as xp

from ..producers import Raw
from .common import eq, kernel


def test_106_read_only_numpy_arrays(device: str) -> None:
    h = np.arange(4.0)
    h.flags.writeable = False
    x = xp.from_dlpack(h)
    eq(x, h)
    with suppress(ValueError, BufferError, TypeError):
        x[0] = 9
    with suppress(ValueError, BufferError, TypeError):
        x += 1
    assert h[0] == 0.0
    spread = xp.broadcast_to(xp.ones(1), (4,))
    if device == "cpu":
        assert not np.from_dlpack(spread).flags.writeable
        with pytest.raises(BufferError):
            spread.__dlpack__()


def test_107_a_copy_on_the_same_device(device: str) -> None:
    x = xp.ones(3)
    y = xp.from_dlpack(x, copy=True)
    y[0] = 5
    eq(x, [1.0, 1.0, 1.0])
    eq(y, [5.0, 1.0, 1.0])


@pytest.mark.cuda
def test_109_stream_numbers() -> None:
    with xp.default_device("cuda"):
        x = xp.ones(1 << 24) * 3
        for s in (None, 1, 2, -1):
            x.__dlpack__(stream=s, max_version=(1, 0))
        with pytest.raises((ValueError, BufferError)):
            x.__dlpack__(stream=0)


def test_109_streams_of_host_memory(device: str) -> None:
    x = xp.ones(4)
    if x.__dlpack_device__() != (1, 0):
        return
    for s in (None, -1):
        x.__dlpack__(stream=s, max_version=(1, 0))
    for s in (0, 1, 2):
        with pytest.raises(ValueError, match="stream"):
            x.__dlpack__(stream=s)


@pytest.mark.cuda
def test_109_torch_waits_for_the_producer() -> None:
    torch = pytest.importorskip("torch")
    with xp.default_device("cuda"):
        x = xp.ones(1 << 24) * 3
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            t = torch.from_dlpack(xp.sin(x) * 2 + 1)
            r = t.sum()
        stream.synchronize()
        assert abs(float(r) / (1 << 24) - (2 * np.sin(3) + 1)) < 1e-6


def test_110_a_foreign_array_of_the_host(device: str) -> None:
    h = np.arange(3.0)
    x = xp.asarray(Raw(h.ctypes.data, (3,), keep=h))
    assert type(x) is xp.Array
    assert str(x.device) == device
    eq(x, h)
    assert type(np.asarray(x)) is np.ndarray


@pytest.mark.cuda
def test_110_foreign_arrays() -> None:
    torch = pytest.importorskip("torch")
    with xp.default_device("cuda"):
        x = xp.asarray(torch.ones(3, device="cuda"))
        assert type(x) is xp.Array
        eq(x, np.ones(3, np.float32))
        assert torch.asarray(xp.ones(3), device="cuda").is_cuda


def test_112_strides_through_dlpack(device: str) -> None:
    h = np.arange(6.0)
    for strides in (None, (3, 1)):
        producer = Raw(h.ctypes.data, (2, 3), strides, keep=h)
        eq(xp.asarray(producer), h.reshape(2, 3))
        eq(xp.from_dlpack(producer) * 2, h.reshape(2, 3) * 2)


class Foreign:
    """Somebody else's array over our memory."""

    def __init__(self, x: Any, **more: Any) -> None:
        self.keep = x
        self.__cuda_array_interface__ = {**x.__cuda_array_interface__, **more}


@pytest.mark.cuda
def test_112_strides_none_missing_or_spelled_out() -> None:
    with xp.default_device("cuda"):
        x = xp.reshape(xp.arange(6.0), (2, 3))
        xp.evaluate(x)
        for strides in (None, (24, 8)):
            eq(xp.asarray(Foreign(x, strides=strides)), np.arange(6.0).reshape(2, 3))
        p = Foreign(x)
        p.__cuda_array_interface__.pop("strides", None)
        eq(xp.asarray(p), np.arange(6.0).reshape(2, 3))
        assert xp.ones((2, 3)).__cuda_array_interface__.get("strides") is None


@pytest.mark.cuda
def test_113_an_interface_waits_for_nothing() -> None:
    torch = pytest.importorskip("torch")
    with xp.default_device("cuda"):
        x = xp.ones(1 << 10) * 3
        want = x.__cuda_array_interface__
        torch.cuda._sleep(1)  # loads it
        torch.cuda._sleep(1_000_000_000)
        end = torch.cuda.Event()
        end.record()
        xp.stats(reset=True)
        for _ in range(100):
            assert x.__cuda_array_interface__ == want
        assert not end.query()
        s = xp.stats()
        assert (s.launches, s.h2d, s.d2h, s.evaluations) == (0, 0, 0, 0)


@pytest.mark.cuda
def test_113_a_kernel_of_another_librarys_arrays_waits_for_nothing() -> None:
    torch = pytest.importorskip("torch")
    source = 'extern "C" __global__ void add(float* p, const float* q) { p[threadIdx.x] += *q; }'
    with xp.default_device("cuda"):
        add = kernel(source, "add")
        p, q = torch.zeros(32, device="cuda"), torch.ones(1, device="cuda")
        x, y = xp.asarray(p, copy=False), xp.asarray(q, copy=False)
        add((1,), (32,), (x, xp.In(y)))
        torch.cuda._sleep(1)
        torch.cuda._sleep(1_000_000_000)
        end = torch.cuda.Event()
        end.record()
        for _ in range(100):
            add((1,), (32,), (x, xp.In(y)))
        assert not end.query()
        xp.synchronize()
        assert torch.all(p == 101)


def test_115_numpy_on_the_left(device: str) -> None:
    z = xp.ones(3)
    r = np.ones(3) + z
    assert type(r) is xp.Array
    assert r.device == z.device
    eq(r, [2.0, 2.0, 2.0])
    assert type(np.float64(2) * z) is xp.Array
    assert type(np.sqrt(z)) is xp.Array
    with pytest.raises(TypeError):
        np.add.reduce(z)


def test_116_an_unknown_right_operand_gets_its_chance(device: str) -> None:
    class D:
        __array_ufunc__ = None

        def __rsub__(self, other: Any) -> str:
            return "mine"

    assert xp.arange(3) - D() == "mine"
    with pytest.raises(TypeError):
        xp.arange(3) + object()


def test_118_creation_functions_respect_the_device(device: str) -> None:
    for d in (*xp.__array_namespace_info__().devices(), xp.ones(1).device):
        made = [
            xp.eye(3, device=d),
            xp.zeros(3, device=d),
            xp.arange(3, device=d),
            xp.linspace(0, 1, 3, device=d),
            xp.asarray([1.0], device=d),
            xp.full(2, 1.0, device=d),
            xp.empty(2, device=d),
            xp.ones_like(xp.ones(2), device=d),
        ]
        for a in made:
            assert a.device == d
            assert (a + a).device == d
            assert xp.sum(a).device == d


def test_119_devices_compare_and_hash(device: str) -> None:
    a = xp.ones(1)
    b = xp.zeros(1)
    assert a.device == b.device
    assert hash(a.device) == hash(b.device)
    assert a.device in {b.device}


def test_143_arrays_of_two_devices() -> None:
    a = xp.arange(10, device="sim:0")
    b = xp.arange(10, device="sim:1")
    assert (b * 2).device == b.device
    eq(b * 2, np.arange(10) * 2)
    with pytest.raises(ValueError, match="to_device") as caught:
        a + b
    assert "sim:1" in str(caught.value)
    eq(a + b.to_device("sim:0"), np.arange(10) * 2)
    with pytest.raises(ValueError, match="sim:1"):
        a[2:] = b[2:]
    with pytest.raises(ValueError, match="sim:1"):
        a += b


TO = 'extern "C" __global__ void to(const long long* p, long long* q) { q[0] = p[0]; }'


def test_143_a_kernel_of_arrays_of_two_devices() -> None:
    with xp.default_device("sim:0"):
        to = kernel(TO, "to")
    a = xp.arange(10, device="sim:0") + 1
    b = xp.arange(10, device="sim:1")
    for arguments in ((xp.In(a), xp.Out(b)), (xp.In(b), xp.Out(a)), (xp.In(b), xp.Out(b))):
        with pytest.raises(ValueError, match="sim:1"):
            to((1,), (1,), arguments)
    to((1,), (1,), (xp.In(a[3:]), xp.Out(a[:1])))
    assert int(a[0]) == 4


@pytest.mark.cuda
def test_143_two_gpus() -> None:
    gpus = [d for d in xp.__array_namespace_info__().devices() if d.kind == "cuda"]
    if len(gpus) < 2:
        pytest.skip("one GPU")
    d0, d1 = gpus[:2]
    a = xp.arange(10, device=d0)
    b = xp.arange(10, device=d1)
    assert (b * 2).device == d1
    eq(b * 2, np.arange(10) * 2)
    with pytest.raises(ValueError, match="to_device") as caught:
        a + b
    assert str(d1) in str(caught.value)
    eq(a + b.to_device(d0), np.arange(10) * 2)
    with xp.default_device(d0):
        to = kernel(TO, "to")
    with pytest.raises(ValueError, match=str(d1)):
        to((1,), (1,), (xp.In(a), xp.Out(b)))
    given = Foreign(b)  # the interface does not say which GPU: its pointer does
    assert xp.asarray(given).device == d1
    eq(xp.asarray(given), np.arange(10))
    eq(xp.asarray(given, device=d0), np.arange(10))
