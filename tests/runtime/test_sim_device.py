"""The simulator as a device: memory, copies, modules, caching, threads."""

from __future__ import annotations

import dataclasses
import gc
import struct
import threading
import weakref

import numpy as np
import pytest

from lazyarr import _config
from lazyarr.runtime.base import Access, Backend, DeviceUnavailableError, MatmulCall
from lazyarr.runtime.cache import DiskCache
from lazyarr.runtime.sim import SimBackend, compiler, elf, source
from tests.runtime.sim_rig import In, Out, Rig, make_backend

F = 'extern "C" __global__ void '


@pytest.fixture(scope="module")
def rig():
    return Rig()


@pytest.fixture
def backend():
    return make_backend()


def test_it_fills_in_the_protocol(backend):
    typed: Backend = backend
    assert typed.kind == "sim"
    assert typed.checked
    assert typed.target.startswith("sim-")
    assert typed.memory_total > 0
    assert typed.stream_handle == 0
    assert typed.host_buffer(10).shape == (10,)
    typed.synchronize()


def test_fresh_and_freed_memory_is_poisoned(backend):
    memory = backend.allocate(1000)
    assert memory.ptr % 256 == 0
    assert memory.nbytes == 1000
    got = np.zeros(1000, np.uint8)
    backend.copy_to_host(got, memory.ptr)
    assert (got == 0xCB).all()
    view = memory.view
    view[:] = 1
    backend.release(memory)
    with backend.batch():
        assert (view == 0xCB).all()


def test_allocations_do_not_touch(backend):
    spans = sorted((m.ptr, m.nbytes) for m in (backend.allocate(n) for n in (1, 255, 256, 5000)))
    for (low, nbytes), (high, _) in zip(spans, spans[1:], strict=False):
        assert low + nbytes + 256 <= high
    with pytest.raises(ValueError, match="0 bytes"):
        backend.allocate(0)


def test_copies(backend):
    data = np.arange(100, dtype=np.uint8)
    memory = backend.allocate(100)
    backend.copy_to_device(memory.ptr, data)
    backend.copy_on_device(memory.ptr + 10, memory.ptr, 50)
    backend.fill_zero(memory.ptr + 90, 10)
    got = np.empty(100, np.uint8)
    backend.copy_to_host(got, memory.ptr)
    data[10:60] = np.arange(50)
    data[90:] = 0
    np.testing.assert_array_equal(got, data)


def test_copies_outside_of_an_allocation_are_refused(backend):
    memory = backend.allocate(100)
    data = np.zeros(101, np.uint8)
    for call in (
        lambda: backend.copy_to_device(memory.ptr, data),
        lambda: backend.copy_to_host(data, memory.ptr),
        lambda: backend.copy_on_device(memory.ptr + 60, memory.ptr, 50),
        lambda: backend.fill_zero(memory.ptr - 1, 10),
        lambda: backend.copy_to_host(data, data.ctypes.data),
    ):
        with pytest.raises(ValueError, match="not memory of sim:0"):
            call()


def test_memory_info_counts_live_bytes(backend):
    first = backend.allocate(1000)
    second = backend.allocate(3000)
    assert backend.memory_info()[:2] == (4000, 4000)
    backend.release(second)
    backend.release(first)
    info = backend.memory_info()
    assert info[:2] == (0, 4000)
    assert info.pooled == 4000
    backend.free_cached()
    assert backend.memory_info().pooled == 0
    assert 0 < info.free <= info.total


def test_releasing_twice_is_an_error(backend):
    memory = backend.allocate(10)
    backend.release(memory)
    backend.release(memory)
    with pytest.raises(ValueError, match="not allocated"):
        backend.free_cached()


def test_events_measure_time(backend):
    first, second = backend.record(), backend.record()
    second.synchronize()
    assert 0 <= second.milliseconds_since(first) < 1000


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int64])
def test_matmul_of_strided_batches(rig, dtype):
    rng = np.random.default_rng(0)
    a = rng.integers(-5, 5, (3, 4, 5)).astype(dtype)
    b = rng.integers(-5, 5, (6, 5)).astype(dtype)  # read as its transpose, repeated
    out = np.zeros((3, 4, 6), dtype)
    mem_a, mem_b, mem_out = (rig.upload(x) for x in (a, b, out))
    call = MatmulCall(
        np.dtype(dtype), 3, 4, 6, 5,
        mem_a.ptr, (20, 5, 1), mem_b.ptr, (0, 1, 5), mem_out.ptr,
    )  # fmt: skip
    rig.backend.matmul(call)
    np.testing.assert_array_equal(rig.download(mem_out, out), a @ b.T)
    rig.backend.matmul(call._replace(k=0))
    assert (rig.download(mem_out, out) == 0).all()
    with pytest.raises(ValueError, match="operand 'b'"):
        rig.backend.matmul(call._replace(b=mem_b.ptr + 8))


def test_modules_in_use_are_shared_and_unused_ones_unloaded(backend):
    text = F + "f(int* p) { __shared__ int s[4]; s[threadIdx.x] = 1; *p = s[0]; }"
    module = backend.compile(text)
    assert not module.stateful
    assert not module.cached
    assert module.build_seconds > 0
    assert backend.compile(text) is module
    assert backend.compile(text, ["-DX"]) is not module
    gone = weakref.ref(module)
    function = module.function("f")
    del module
    assert gone() is not None
    del function
    assert gone() is None


def test_many_modules_stay_apart(rig):
    text = F + "f(int* p) { p[0] = VALUE; }"
    keep = []
    for value in range(3):
        for _ in range(2):
            keep.append(rig.backend.compile(text, [f"-DVALUE={value}"]))
            out = rig.run(text, "f", 1, 1, options=[f"-DVALUE={value}"], p=np.zeros(1, np.int32))
            assert out[0] == value


def test_binaries_come_from_the_disk_cache(tmp_path):
    text = F + "f(int* p) { p[0] = 5; }"
    backends = []
    for ordinal in range(2):
        made = SimBackend(ordinal)
        made._cache = DiskCache(str(tmp_path / "cache"), 1 << 30)
        backends.append(made)
    assert not backends[0].compile(text).cached
    assert backends[1].compile(text).cached


def test_a_cached_binary_that_cannot_be_loaded_is_built_again(tmp_path):
    """It may come from a system whose libraries this one lacks."""
    text = F + "f(int* p) { p[0] = 6; }"
    made = SimBackend()
    made._cache = DiskCache(str(tmp_path / "cache"), 1 << 30)
    key = compiler.cache_key(made._compiler, text, ())
    made._cache.put(key, b"no library")
    module = made.compile(text)
    assert not module.cached
    assert module.names == ("f",)
    assert made._cache.get(key) != b"no library"


def test_devices_do_not_see_each_other(rig):
    other = make_backend(1)
    memory = other.allocate(16)
    with pytest.raises(ValueError, match="sim:0"):
        rig.backend.fill_zero(memory.ptr, 16)
    assert other.memory_info().used == 16


def test_threads_may_launch_at_once(rig):
    text = (
        F
        + """f(int* p, int* count) {
        __shared__ int s[64];
        s[threadIdx.x] = p[threadIdx.x];
        __syncthreads();
        p[threadIdx.x] = s[63 - threadIdx.x] + 1;
        atomicAdd(count, 1);
    }"""
    )
    count = rig.upload(np.zeros(1, np.int32))
    function = rig.backend.compile(text).function("f")
    bad = []

    def work():
        memory = rig.upload(np.arange(64, dtype=np.int32))
        accesses = [Access(memory.ptr, 256, "rw", "p"), Access(count.ptr, 4, "rw", "count")]
        for _ in range(50):
            rig.backend.launch(
                function,
                (1, 1, 1),
                (64, 1, 1),
                struct.pack("PP", memory.ptr, count.ptr),
                0,
                accesses,
            )
        got = rig.download(memory, np.zeros(64, np.int32))
        if not np.array_equal(got, np.arange(64) + 50):
            bad.append(got)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not bad
    assert rig.download(count, np.zeros(1, np.int32))[0] == 4 * 50 * 64


def test_without_a_compiler(monkeypatch):
    changed = dataclasses.replace(_config.config, cxx="no-such-compiler")
    monkeypatch.setattr(_config, "config", changed)
    with pytest.raises(DeviceUnavailableError, match=r"no-such-compiler.*install g\+\+"):
        SimBackend(0)


def test_options_that_mean_nothing_here_are_left_out():
    given = ["-arch=sm_90", "--fmad=false", "-DA=1", "-D", "B", "--define-macro=C", "-std=c++20"]
    assert compiler.accepted_options(given) == ["-DA=1", "-DB", "-DC", "-std=c++20"]


def test_kernels_are_found_in_text():
    text = """
    // __global__ void no1() {}
    const char* s = "__global__ void no2() {";
    template <class T> __global__ void no3(T* x) { if (x) { x[0] = 1; } }
    #define NO __global__ void no4() {}
    __global__ void __launch_bounds__(256, 2) yes1(int a, float (*f)(int)) {}
    namespace a { namespace b::c { __global__ void yes2() {} } }
    extern "C" { static __global__ void yes3(); }
    """
    assert source.kernels(text) == {"yes1": "yes1", "yes2": "a::b::c::yes2", "yes3": "yes3"}


def test_shared_declarations_keep_line_numbers():
    text = "extern __shared__\n  volatile float s[]; /* __shared__ int no[2]; */\n"
    text += "__shared__ int x[4][2], y;\n__shared__ float4 z[8];"
    prepared = source.prepare(text)
    assert prepared.shared == {"x", "y", "z"}
    assert prepared.text.count("\n") == text.count("\n")
    assert "volatile float* const s = (volatile float*)__sim_dynamic;" in prepared.text


@pytest.mark.parametrize(
    ("symbol", "name"),
    [("_ZZ3redE1s", "s"), ("_ZZ1gIdET_iE4tile", "tile"), ("_ZL5table", "table"),
     ("_ZZ1fPfE3E2x_0", "E2x"), ("plain", "plain"), ("w.0", "w"), ("f.s", "s")],
)  # fmt: skip
def test_symbol_names(symbol, name):
    assert elf.plain_name(symbol) == name


def test_values_survive_many_barriers_and_blocks(rig):
    text = (
        F
        + """scan(const int* a, int* out) {
        __shared__ int s[1024];
        int t = threadIdx.x, i = blockIdx.x * 1024 + t;
        s[t] = a[i];
        __syncthreads();
        for (int k = 1; k < 1024; k *= 2) {
            int v = t >= k ? s[t - k] : 0;
            __syncthreads();
            s[t] += v;
            __syncthreads();
        }
        out[i] = s[t];
    }"""
    )
    a = np.random.default_rng(0).integers(0, 100, (5, 1024)).astype(np.int32)
    out = rig.run(text, "scan", 5, 1024, a=In(a), out=Out(np.zeros_like(a)))
    np.testing.assert_array_equal(out, np.cumsum(a, 1))
    gc.collect()
