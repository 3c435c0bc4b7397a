"""CUDA through PyCUDA: contexts, memory, copies, kernels, streams, products, the process's end."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lazyarr.runtime import cuda_libraries
from lazyarr.runtime.base import (
    ANY_STREAM,
    CompileError,
    KernelError,
    MatmulCall,
    OutOfMemoryError,
)
from lazyarr.runtime.pycuda_backend import CudaBackend, available

cuda = pytest.mark.cuda

SCALE = """extern "C" __global__ void scale(float* x, float by, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}"""


@pytest.fixture(scope="module")
def shared() -> CudaBackend:
    return CudaBackend(0)


@pytest.fixture
def backend(shared: CudaBackend) -> Iterator[CudaBackend]:
    """The GPU, with a batch open; a test must leave as many contexts pushed as it found."""
    import pycuda.driver as drv

    assert drv.Context.get_current() is None
    with shared.batch():
        yield shared
    assert drv.Context.get_current() is None


def upload(backend: CudaBackend, values: Any) -> Any:
    data = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
    memory = backend.allocate(max(data.nbytes, 1))
    backend.copy_to_device(memory.ptr, data)
    return memory


def download(backend: CudaBackend, memory: Any, dtype: Any, shape: Any = -1) -> Any:
    data = np.empty(memory.nbytes, np.uint8)
    backend.copy_to_host(data, memory.ptr)
    return data.view(dtype).reshape(shape)


def scale_arguments(ptr: int, by: float, n: int) -> bytes:
    packed = np.zeros(1, [("x", "u8"), ("by", "f4"), ("pad", "u4"), ("n", "i8")])
    packed["x"], packed["by"], packed["n"] = ptr, by, n
    return packed.tobytes()


def run(code: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a program that has a backend ``b``; silence on stderr is up to the test."""
    prelude = "from lazyarr.runtime.pycuda_backend import CudaBackend\nb = CudaBackend(0)\n"
    return subprocess.run(
        [sys.executable, "-c", prelude + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environ},
        check=False,
    )


def test_what_is_missing_is_named() -> None:
    found = available()
    assert isinstance(found, list) or found
    if isinstance(found, str):
        with pytest.raises(RuntimeError, match="cuda:0 is not available"):
            CudaBackend(0)


def test_import_makes_no_cuda_call() -> None:
    code = (
        "import sys, lazyarr.runtime.pycuda_backend; "
        "assert not {'pycuda', 'cuda', 'nvmath'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("rows", "columns", "row_stride", "column_stride", "expected"),
    [
        (2, 3, 3, 1, (False, 3)),
        (2, 3, 10, 1, (False, 10)),
        (2, 3, 1, 2, (True, 2)),
        (2, 3, 1, 7, (True, 7)),
        (2, 3, 0, 1, None),  # broadcast rows
        (2, 3, 2, 1, None),  # overlapping rows
        (2, 3, -3, 1, None),
        (2, 3, 6, 2, None),
        (1, 3, 99, 1, (False, 3)),
        (1, 3, 0, 5, (True, 5)),
        (3, 1, 5, 99, (False, 5)),
        (3, 1, 1, 0, (False, 1)),
        (1, 1, 0, 0, (False, 1)),
    ],
)
def test_layout(
    rows: int, columns: int, row_stride: int, column_stride: int, expected: Any
) -> None:
    assert cuda_libraries.layout(rows, columns, row_stride, column_stride) == expected


@cuda
def test_an_ordinal_that_is_not_there() -> None:
    with pytest.raises(RuntimeError, match="the GPUs here are cuda:0"):
        CudaBackend(99)


@cuda
def test_batches_nest_and_survive_exceptions(shared: CudaBackend) -> None:
    import pycuda.driver as drv

    other = CudaBackend(0)
    for inner in (shared, other):
        with pytest.raises(ZeroDivisionError), shared.batch(), inner.batch(), shared.batch():
            assert drv.Context.get_current() is not None
            shared.allocate(1)
            1 / 0  # noqa: B018
        assert drv.Context.get_current() is None


@cuda
@pytest.mark.parametrize("page_locked", [False, True])
@pytest.mark.parametrize("nbytes", [0, 1, 1000, 1 << 20, (9 << 20) + 3])
def test_copies(backend: CudaBackend, nbytes: int, page_locked: bool) -> None:
    values = np.random.default_rng(0).integers(0, 256, nbytes, np.uint8)
    memory = backend.allocate(nbytes + 1)
    assert memory.ptr % 256 == 0
    source = backend.host_buffer(nbytes) if page_locked else np.empty(nbytes, np.uint8)
    source[:] = values
    backend.copy_to_device(memory.ptr, source)
    if not page_locked:
        source[:] = 0
    copy = backend.allocate(nbytes + 1)
    backend.copy_on_device(copy.ptr, memory.ptr, nbytes)
    result = backend.host_buffer(nbytes) if page_locked else np.empty(nbytes, np.uint8)
    backend.copy_to_host(result, copy.ptr)
    assert (result == values).all()
    backend.fill_zero(copy.ptr, nbytes)
    backend.copy_to_host(result, copy.ptr)
    assert not result.any()


@cuda
def test_a_page_locked_source_lives_until_the_copy_is_done(backend: CudaBackend) -> None:
    size = 64 << 20
    memory = backend.allocate(size)
    for value in (1, 2, 3):
        source = backend.host_buffer(size)
        source[:] = value
        backend.copy_to_device(memory.ptr, source[:])
        del source
        other = backend.host_buffer(size)  # must not be the block that is being copied
        other[:] = 0
        del other
        result = download(backend, memory, np.uint8)
        assert (result == value).all()


@cuda
def test_page_locked_memory_is_pooled_within_a_budget() -> None:
    result = run(
        """
        import lazyarr.runtime.pycuda_backend as m
        def locked(x): return m._is_page_locked(x)
        x = b.host_buffer(3 << 20); address = x.ctypes.data
        assert locked(x[5:].view('u1')[2:])
        y = b.host_buffer(3 << 20)
        assert locked(x) and not locked(y), 'the budget holds'
        view = x[10:]; del x
        assert b.host_buffer(3 << 20).ctypes.data != address
        del view
        assert b.host_buffer(3 << 20).ctypes.data == address
        assert locked(b.host_buffer(2 << 20)), 'held blocks make room'
        """,
        LAZYARR_PINNED_BUDGET="4M",
    )
    assert (result.returncode, result.stderr) == (0, "")


@cuda
def test_large_pageable_copies_stay_within_the_budget() -> None:
    result = run(
        """
        import numpy as np
        import lazyarr.runtime.pycuda_backend as m
        n = (3 << 30) + 5
        with b.batch():
            memory = b.allocate(n)
            source = np.arange(n // 8 + 1).view("u1")[:n]
            b.copy_to_device(memory.ptr, source)
            source[:] = 0
            result = np.empty(n, "u1")
            b.copy_to_host(result, memory.ptr)
        assert (result == np.arange(n // 8 + 1).view("u1")[:n]).all()
        assert 0 < m._host_pool.pool.managed_bytes <= 1 << 30
        """,
        LAZYARR_PINNED_BUDGET="1G",
    )
    assert (result.returncode, result.stderr) == (0, "")


@cuda
def test_an_upload_ahead_is_there_once_it_is_waited_for(backend: CudaBackend) -> None:
    n = 64 << 20
    memory = backend.allocate(n)
    for value in (1, 2):
        source = backend.host_buffer(n)
        source[:] = value
        backend.fill_zero(memory.ptr, n)  # comes before
        span = backend.upload_ahead(memory.ptr, source)
        assert span is not None
        del source
        backend.wait(span[1])
        assert (download(backend, memory, np.uint8) == value).all()
        assert span[1].milliseconds_since(span[0]) > 0
    assert backend.upload_ahead(memory.ptr, np.zeros(n, np.uint8)) is None


@cuda
def test_a_limit_holds_for_live_memory_and_for_pools() -> None:
    limited = CudaBackend(0)
    with limited.batch():
        limited.set_limit(10 << 20)
        blocks = [limited.allocate(1 << 20) for _ in range(10)]
        with pytest.raises(OutOfMemoryError, match=f"its limit is {10 << 20} bytes"):
            limited.allocate(1)
        for block in blocks:
            limited.release(block)
        del blocks, block
        for size in (2, 3, 4, 5):  # the pools keep blocks that do not fit
            block = limited.allocate(size << 20)
            assert limited.memory_info().pooled <= 11 << 20
            limited.release(block)
            del block
        limited.set_limit(None)
        assert limited.memory_info().peak == 10 << 20
        limited.release(limited.allocate(20 << 20))


@cuda
def test_memory_is_counted_and_reused(backend: CudaBackend) -> None:
    before = backend.memory_info().used
    memory = backend.allocate(1 << 20)
    ptr = memory.ptr
    assert backend.memory_info().used == before + (1 << 20)
    assert backend.memory_info().peak >= before + (1 << 20)
    thread = threading.Thread(target=backend.release, args=(memory,))
    thread.start()
    thread.join()
    backend.release(memory)  # twice does no harm
    with backend.batch():
        assert backend.memory_info().used == before
    assert backend.allocate(1 << 20).ptr == ptr
    backend.free_cached()
    assert backend.memory_info().pooled < 1 << 30


@cuda
def test_memory_dropped_without_release_in_a_thread_without_context(backend: CudaBackend) -> None:
    backend.free_cached()
    held = [backend.allocate(n * 1000) for n in range(1, 20)]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()


@cuda
def test_out_of_memory_frees_and_then_says_so(backend: CudaBackend) -> None:
    total = backend.memory_info().total
    part = total * 6 // 10
    for _ in range(2):
        memory = backend.allocate(part)
        backend.release(memory)
        del memory
        memory = backend.allocate(part + (64 << 20))  # only if the first is really given back
        backend.release(memory)
        del memory
    with pytest.raises(MemoryError, match=rf"{1 << 50} bytes.* are free"):
        backend.allocate(1 << 50)
    backend.drain()
    backend.free_cached()
    assert backend.allocate(1000).ptr


@cuda
def test_launch(backend: CudaBackend) -> None:
    x = np.arange(1000, dtype=np.float32)
    memory = upload(backend, x)
    kernel = backend.compile(SCALE).function("scale")
    backend.launch(kernel, (4, 1, 1), (256, 1, 1), scale_arguments(memory.ptr, 3, 1000))
    assert (download(backend, memory, np.float32) == x * 3).all()
    with pytest.raises(KernelError, match=r"'scale'.*block \(4096, 1, 1\)"):
        backend.launch(kernel, (4, 1, 1), (4096, 1, 1), scale_arguments(memory.ptr, 3, 1000))


@cuda
def test_kernels_without_arguments_or_c_linkage(backend: CudaBackend) -> None:
    source = """__device__ int seen;
    __global__ void mark() { seen = 7; }
    __global__ void show(int* out) { *out = seen; }"""
    module = backend.compile(source)
    assert module.names == ("mark", "show")
    memory = backend.allocate(4)
    backend.launch(module.function("mark"), (1, 1, 1), (1, 1, 1), b"")
    pointer = np.uint64(memory.ptr).tobytes()
    backend.launch(module.function("show"), (1, 1, 1), (1, 1, 1), pointer)
    assert download(backend, memory, np.int32) == 7
    with pytest.raises(KeyError, match="no kernel 'g'; its kernels: 'mark', 'show'"):
        module.function("g")


@cuda
def test_large_shared_memory(backend: CudaBackend) -> None:
    source = """extern "C" __global__ void f(int* out, int n) {
      extern __shared__ int s[];
      for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = i;
      __syncthreads();
      if (threadIdx.x == 0) out[0] = s[n - 1];
    }"""
    n = (96 << 10) // 4
    kernel = backend.compile(source).function("f")
    memory = backend.allocate(4)
    arguments = np.uint64(memory.ptr).tobytes() + np.int32(n).tobytes()
    backend.launch(kernel, (1, 1, 1), (128, 1, 1), arguments, 4 * n)
    assert download(backend, memory, np.int32) == n - 1
    with pytest.raises(KernelError, match="shared memory"):
        backend.launch(kernel, (1, 1, 1), (128, 1, 1), arguments, 1 << 20)


@cuda
def test_compile_error(backend: CudaBackend) -> None:
    with pytest.raises(CompileError, match=r"line 2: error.*undeclared"):
        backend.compile('extern "C" __global__ void f(float* p){\n  p[0] = undeclared;\n}')


@cuda
def test_a_second_process_loads_the_binary_and_no_compiler(tmp_path: Any) -> None:
    code = f"""
    import sys
    with b.batch():
        m = b.compile({SCALE!r})
        assert b.compile({SCALE!r}) is m
    print(m.cached, 'cuda.bindings.nvrtc' in sys.modules)
    """
    outputs = [run(code, LAZYARR_CACHE_DIR=str(tmp_path / "c")).stdout for _ in range(2)]
    assert outputs == ["False True\n", "True False\n"]


@cuda
@pytest.mark.parametrize("kind", ["pycuda", "handle", "torch", "protocol"])
def test_streams(backend: CudaBackend, kind: str) -> None:
    import pycuda.driver as drv

    if kind == "torch":
        stream = pytest.importorskip("torch", reason="torch is not installed").cuda.Stream()
    else:
        stream = drv.Stream()
    handle = getattr(stream, "cuda_stream", None) or stream.handle
    chosen = stream
    if kind == "handle":
        chosen = handle
    elif kind == "protocol":
        chosen = type("S", (), {"__cuda_stream__": lambda self: (0, handle)})()
    x = np.arange(1000, dtype=np.float32)
    kernel = backend.compile(SCALE).function("scale")
    assert backend.stream_handle == 0
    with backend.use_stream(chosen):
        assert backend.stream_handle == handle
        memory = upload(backend, x)
        arguments = scale_arguments(memory.ptr, 3, 1000)
        backend.launch(kernel, (4, 1, 1), (256, 1, 1), arguments, 60_000)
        done = backend.record()
    assert backend.stream_handle == 0
    backend.wait(done)
    backend.launch(kernel, (4, 1, 1), (256, 1, 1), scale_arguments(memory.ptr, 2, 1000))
    assert (download(backend, memory, np.float32) == x * 6).all()
    del memory


@cuda
def test_events_time(backend: CudaBackend) -> None:
    memory = backend.allocate(1 << 28)
    first = backend.record()
    for _ in range(10):
        backend.fill_zero(memory.ptr, 1 << 28)
    last = backend.record()
    last.synchronize()
    assert 0.3 < last.milliseconds_since(first) < 100


@cuda
def test_many_threads(shared: CudaBackend) -> None:
    wrong = []

    def work(value: float) -> None:
        for i in range(50):
            with shared.batch():
                memory = upload(shared, np.full(1 << 12, value, np.float32))
                kernel = shared.compile(SCALE).function("scale")
                arguments = scale_arguments(memory.ptr, 2, 1 << 12)
                shared.launch(kernel, (16, 1, 1), (256, 1, 1), arguments)
                if not (download(shared, memory, np.float32) == 2 * value).all():
                    wrong.append((value, i))
                shared.release(memory)

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def lay_out(matrix: Any, transposed: bool, pad: int) -> tuple[Any, tuple[int, int, int]]:
    """Return memory that holds matrices with the given layout, and the strides in elements."""
    batch, rows, columns = matrix.shape
    if transposed:
        memory = np.zeros((batch, columns, rows + pad), matrix.dtype)
        memory[:, :, :rows] = matrix.transpose(0, 2, 1)
        return memory, (columns * (rows + pad), 1, rows + pad)
    memory = np.zeros((batch, rows, columns + pad), matrix.dtype)
    memory[:, :, :columns] = matrix
    return memory, (rows * (columns + pad), columns + pad, 1)


@cuda
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 7, 5, 3), (4, 65, 33, 129), (3, 1, 8, 5), (2, 9, 1, 4)])
def test_matmul(backend: CudaBackend, dtype: str, shape: tuple[int, int, int, int]) -> None:
    batch, m, n, k = shape
    rng = np.random.default_rng(1)

    def draw(*size: int) -> Any:
        values = rng.standard_normal(size)
        return (values + 1j * rng.standard_normal(size) if "c" in dtype else values).astype(dtype)

    for a_t in (False, True):
        for b_t in (False, True):
            for pad, repeat in ((0, False), (3, True)):
                a, b = draw(batch, m, k), draw(1 if repeat else batch, k, n)
                a_memory, a_strides = lay_out(a, a_t, pad)
                b_memory, b_strides = lay_out(b, b_t, pad)
                if repeat:
                    b_strides = (0, *b_strides[1:])
                a_device, b_device = upload(backend, a_memory), upload(backend, b_memory)
                out = upload(backend, np.full((batch, m, n), np.nan, dtype))
                call = MatmulCall(
                    np.dtype(dtype), batch, m, n, k,
                    a_device.ptr, a_strides, b_device.ptr, b_strides, out.ptr,
                )  # fmt: skip
                backend.matmul(call)
                result = download(backend, out, dtype, (batch, m, n))
                wide = np.complex128 if "c" in dtype else np.float64
                exact = a.astype(wide) @ b.astype(wide)
                bound = 4 * k * np.finfo(dtype).eps * np.abs(a) @ np.abs(b)
                assert (np.abs(result - exact) <= bound).all()


@cuda
def test_matmul_of_float32_is_not_tf32(backend: CudaBackend) -> None:
    rng = np.random.default_rng(2)
    n = 1024
    a, b = (rng.standard_normal((n, n)).astype(np.float32) for _ in range(2))
    memory = [upload(backend, a), upload(backend, b), backend.allocate(4 * n * n)]
    strides = (0, n, 1)
    backend.matmul(
        MatmulCall(
            a.dtype, 1, n, n, n, memory[0].ptr, strides, memory[1].ptr, strides, memory[2].ptr
        )
    )
    result = download(backend, memory[2], np.float32, (n, n))
    error = np.abs(result - a.astype(np.float64) @ b).max()
    assert error < 1e-3  # TF32: about 0.05


@cuda
def test_matmul_over_nothing_is_zero(backend: CudaBackend) -> None:
    out = upload(backend, np.full((2, 3), 9.0))
    strides = (0, 1, 1)
    call = MatmulCall(np.dtype("f8"), 1, 2, 3, 0, out.ptr, strides, out.ptr, strides, out.ptr)
    backend.matmul(call)
    assert not download(backend, out, np.float64).any()
    backend.matmul(call._replace(m=0))


@cuda
@pytest.mark.parametrize("nbytes", [1000, 1 << 20])
def test_memory_that_others_used_is_not_given_out_again_at_once(
    backend: CudaBackend, nbytes: int
) -> None:
    backend.free_cached()
    memory = backend.allocate(nbytes)
    address = memory.ptr
    memory.used_on = ANY_STREAM
    backend.release(memory)
    del memory
    with backend.batch():
        others = [backend.allocate(nbytes) for _ in range(8)]
    assert address not in [other.ptr for other in others]
    assert len(backend._away) == 1
    backend.free_cached()  # waits for the device
    assert not backend._away


@cuda
def test_memory_that_others_used_comes_back_in_the_end(backend: CudaBackend) -> None:
    used = backend.memory_info().used
    for _ in range(1000):
        memory = backend.allocate(1000)
        memory.used_on = ANY_STREAM
        backend.release(memory)
        del memory
        with backend.batch():
            assert len(backend._away) < 300
    assert backend.memory_info().used == used


EXITS = {
    "nothing": "",
    "memory": "b.batch().__enter__(); x = b.allocate(1 << 20)\n"
    "b.batch().__exit__(None, None, None)",
    "in a batch": "b.batch().__enter__(); b.batch().__enter__(); x = b.allocate(1 << 20)",
    "cycle": "with b.batch(): x = [b.allocate(1000)]\nx.append(x)",
    "kept": "import builtins\nwith b.batch(): builtins.kept = [b.allocate(9), b.record()]",
    "queued": "with b.batch(): x = b.allocate(9); b.fill_zero(x.ptr, 9)\nb.release(x); del x",
    "status": "raise SystemExit(3)",
    "page-locked": "x = b.host_buffer(1 << 20); x[:] = 1\nimport atexit, sys\n"
    "class Late:\n  def __del__(self, x=x): x[:] = 2; assert x.all()\nsys.late = Late()",
    "page-locked in flight": "with b.batch():\n  x = b.host_buffer(1 << 28)\n"
    "  y = b.allocate(1 << 28); b.copy_to_device(y.ptr, x); del x",
    "module": "with b.batch():\n  m = b.compile('extern \"C\" __global__ void f(){}'); "
    "f = m.function('f')\n  b.launch(f, (1, 1, 1), (1, 1, 1), b'')",
    "daemon starting": "import threading\ndef f():\n  c = CudaBackend(0)\n"
    "  while True:\n    with c.batch(): c.synchronize()\n"
    "threading.Thread(target=f, daemon=True).start()",
    "daemon working": "import threading, time\ndef f():\n  while True:\n    with b.batch():\n"
    "      x = b.allocate(1 << 24); b.fill_zero(x.ptr, 1 << 24); b.synchronize(); b.release(x)\n"
    "threading.Thread(target=f, daemon=True).start(); time.sleep(0.3)",
    "threads": "import concurrent.futures as c\ndef f(i):\n  with b.batch(): return b.allocate(i)\n"
    "x = list(c.ThreadPoolExecutor(4).map(f, range(1, 9)))",
    "after the end": "class Late:\n  def __del__(self, b=b):\n    try:\n"
    "      with b.batch(): b.allocate(9)\n"
    "    except RuntimeError as e: print(e)\n    else: print('went on')\nlate = Late()",
    "after everything": "import sys\nclass Late:\n  def __del__(self, b=b):\n    try:\n"
    "      b.batch().__enter__()\n    except BaseException: pass\nsys.late = Late()",
    "torch": "import torch\nt = torch.ones(3, device='cuda')\nwith b.batch(): x = b.allocate(9)\n"
    "assert float((t * 2).sum()) == 6",
}


@cuda
@pytest.mark.parametrize("name", list(EXITS))
def test_exit_is_silent(name: str) -> None:
    if name == "torch":
        pytest.importorskip("torch", reason="torch is not installed")
    result = run(EXITS[name])
    if name == "after the end":
        assert result.stdout == "CUDA cannot be used while the interpreter is shutting down\n"
    assert (result.returncode, result.stderr) == (3 if name == "status" else 0, "")


@cuda
def test_a_daemon_that_starts_cuda_while_the_process_ends() -> None:
    code = """
    import threading
    def f():
        from lazyarr.runtime.pycuda_backend import CudaBackend
        b = CudaBackend(0)
        with b.batch(): b.fill_zero(b.allocate(1 << 20).ptr, 1 << 20)
    threading.Thread(target=f, daemon=True).start()
    """
    for delay in ("", "import time; time.sleep(0.2)", "import time; time.sleep(0.4)"):
        program = textwrap.dedent(code) + delay
        result = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        assert (result.returncode, result.stderr) == (0, b"")


@cuda
def test_a_kernel_that_fails_is_named_and_the_exit_is_silent() -> None:
    result = run(
        """
        from lazyarr.runtime.base import KernelError
        with b.batch():
            m = b.compile('extern "C" __global__ void bad(int* p){ *p = 1; }')
            x = b.allocate(1000)
            b.launch(m.function('bad'), (1, 1, 1), (1, 1, 1), (64).to_bytes(8, 'little'))
            for call in (b.synchronize, lambda: b.fill_zero(x.ptr, 8), lambda: b.allocate(1 << 30)):
                try: call()
                except KernelError as e: assert "'bad'" in str(e), e
                else: assert 0
        b.release(x); del x
        """
    )
    assert (result.returncode, result.stderr) == (0, "")


@cuda
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_is_told_and_ends_silently() -> None:
    result = run(
        """
        import os, sys
        with b.batch():
            x = b.allocate(1000); m = b.compile('extern "C" __global__ void f(){}')
        y = b.host_buffer(1000)
        child = os.fork()
        if child == 0:
            try: b.batch().__enter__()
            except RuntimeError as e: assert 'spawn' in str(e)
            else: assert 0
            del x, y, m
            sys.exit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        with b.batch(): b.fill_zero(x.ptr, 1000); b.synchronize()
        """,
        PYTHONWARNINGS="ignore::DeprecationWarning",
    )
    assert (result.returncode, result.stderr) == (0, "")


@cuda
def test_two_gpus() -> None:
    found = available()
    if len(found) < 2:
        pytest.skip("there is one GPU")
    first, second = CudaBackend(0), CudaBackend(1)
    x = np.arange(1000, dtype=np.float32)
    with first.batch():
        mine = upload(first, x)
        with second.batch():
            yours = upload(second, x + 1)
            with first.batch():
                assert (download(first, mine, np.float32) == x).all()
            kernel = second.compile(SCALE).function("scale")
            arguments = scale_arguments(yours.ptr, 2, 1000)
            second.launch(kernel, (4, 1, 1), (256, 1, 1), arguments)
            assert (download(second, yours, np.float32) == 2 * x + 2).all()
        first.release(mine)
    gc.collect()
