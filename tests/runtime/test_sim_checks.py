"""What the simulator refuses: each is an error that names kernel, argument and thread."""

from __future__ import annotations

import contextlib
import platform
import struct

import numpy as np
import pytest

from lazyarr.runtime.base import Access, CompileError, KernelError
from tests.runtime.sim_rig import In, Out, Rig, pointer

F = 'extern "C" __global__ void '


@pytest.fixture(scope="module")
def rig():
    return Rig()


@pytest.fixture(autouse=True)
def still_usable(rig):
    yield
    out = rig.run(F + "ok(int* p) { p[threadIdx.x] = 7; __syncthreads(); }", "ok", 2, 64,
                  p=np.zeros(64, np.int32))  # fmt: skip
    assert (out == 7).all()


def failing(rig, body, *, grid=1, block=1, params="", shared=0, **arguments):
    """Run kernel ``f`` with this body and return the text of its error."""
    with pytest.raises(KernelError) as caught:
        rig.run(F + f"f({params}) {{ {body} }}", "f", grid, block, shared=shared, **arguments)
    return str(caught.value)


N10 = np.zeros(10, np.float32)


def test_read_out_of_bounds(rig):
    text = failing(
        rig,
        "int i = blockIdx.x * 4 + threadIdx.x;\n\n out[0] = a[i];",
        grid=3,
        block=4,
        params="const float* a, float* out",
        a=In(N10),
        out=Out(N10),
    )
    assert "kernel 'f'" in text
    assert "thread (2, 0, 0) of block (2, 0, 0)" in text
    assert "(line 3)" in text
    assert "read of 4 bytes out of bounds: byte offset 40 of argument 'a'" in text
    assert "has 40 bytes" in text


@pytest.mark.parametrize("offset", [-1, 10, 1000])
def test_write_out_of_bounds_is_not_performed(rig, offset):
    source = F + "f(float* out, int i) { out[i] = 3; }"
    near = [rig.upload(N10) for _ in range(3)]
    address = near[1].ptr
    with pytest.raises(
        KernelError, match=rf"write of 4 bytes .* offset {4 * offset} of arg.*'out'"
    ):
        rig.backend.launch(
            rig.backend.compile(source).function("f"),
            (1, 1, 1),
            (1, 1, 1),
            struct.pack("Pi", address, offset),
            0,
            [Access(address, 40, "rw", "out")],
        )
    for memory in near:
        assert (rig.download(memory, N10) == 0).all()


def test_access_beyond_the_part_that_an_argument_may_use(rig):
    memory = rig.upload(N10)
    function = rig.backend.compile(F + "f(float* p) { p[5] = 1; }").function("f")
    arguments = struct.pack("P", memory.ptr)
    with pytest.raises(KernelError, match="offset 20 of argument 'part', which has 20 bytes"):
        part = [Access(memory.ptr, 20, "w", "part")]
        rig.backend.launch(function, (1, 1, 1), (1, 1, 1), arguments, 0, part)
    assert (rig.download(memory, N10) == 0).all()


def test_write_to_a_read_only_argument(rig):
    text = failing(rig, "a[2] = 1;", params="float* a", a=In(N10))
    assert "argument 'a', which is read only (mode 'r'), at byte offset 8" in text


def test_write_only_arguments_may_be_read(rig):
    assert rig.run(F + "f(float* a) { a[0] = a[1] * 0 + 1; }", "f", 1, 1, a=Out(N10))[0] == 1


def test_read_only_and_writable_views_of_one_buffer(rig):
    memory = rig.upload(N10)
    function = rig.backend.compile(F + "f(float* p, int i) { p[i] = 1; }").function("f")
    accesses = [Access(memory.ptr, 20, "r", "low"), Access(memory.ptr + 20, 20, "w", "high")]
    arguments = struct.pack("Pi", memory.ptr, 5)
    rig.backend.launch(function, (1, 1, 1), (1, 1, 1), arguments, 0, accesses)
    with pytest.raises(KernelError, match="argument 'low', which is read only"):
        arguments = struct.pack("Pi", memory.ptr, 4)
        rig.backend.launch(function, (1, 1, 1), (1, 1, 1), arguments, 0, accesses)


def test_atomics_and_memory_functions_are_checked(rig):
    assert "offset 40 of argument 'a'" in failing(
        rig, "atomicAdd(a + 10, 1.f);", params="float* a", a=N10
    )
    assert "(line 2)" in failing(rig, "\natomicAdd(a + 10, 1.f);", params="float* a", a=N10)
    assert "read only" in failing(rig, "memset(a, 0, 4);", params="float* a", a=In(N10))
    assert "write of 44 bytes" in failing(rig, "memset(a, 0, 44);", params="float* a", a=N10)
    assert "null" in failing(rig, "sincosf(a[0], a, nullptr);", params="float* a", a=N10)


@pytest.mark.parametrize("statement", ["v = p[0]", "p[3] = v", "p->x = 1", "atomicAdd(&p->x, 1)"])
def test_null_pointers(rig, statement):
    source = f"""struct P {{ int x; }};
    {F}f(P* p, int* out) {{ P v = {{1}}; {statement}; out[0] = v.x; }}"""
    with pytest.raises(KernelError, match="null pointer"):
        rig.run(source, "f", 1, 1, p=pointer(0), out=Out(N10))


@pytest.mark.parametrize("address", [1 << 44, 1 << 62, 2**64 - 16, 2**64 - 4, 4096 * 4096])
def test_wild_pointers(rig, address):
    text = failing(rig, "out[0] = *p;", params="float* p, float* out", p=pointer(address), out=N10)
    assert "kernel 'f', thread (0, 0, 0)" in text
    text = failing(rig, "*p = 1;", params="float* p, float* out", p=pointer(address), out=N10)
    assert "write" in text


def test_host_pointers(rig):
    text = failing(rig, "*p = 1;", params="float* p", p=pointer(N10.ctypes.data))
    assert "write of 4 bytes" in text
    assert (N10 == 0).all()


@pytest.mark.parametrize(
    ("kind", "at"), [("float4", 4), ("double2", 8), ("float2", 4), ("double", 4), ("short", 1)]
)
def test_misaligned_access(rig, kind, at):
    source = f"const {kind}* p = (const {kind}*)((const char*)a + {at}); {kind} v = *p; *out = v;"
    text = failing(
        rig, source, params=f"const float* a, {kind}* out", a=In(np.zeros(64, np.float32)), out=N10
    )
    assert "misaligned access" in text
    assert f"'const {kind}'" in text
    assert f"byte offset {at} of argument 'a'" in text


def test_shared_memory_overruns(rig):
    text = failing(rig, "__shared__ int s[8]; s[threadIdx.x] = 1; __syncthreads();", block=9)
    assert "thread (8, 0, 0)" in text
    assert "index 8 out of bounds for 'int [8]'" in text
    assert "line 1" in text
    text = failing(
        rig, "__shared__ int s[8], t[8]; int* p = s; t[0] = 1; p[threadIdx.x] = 1;", block=9
    )
    assert "offset 32 of shared variable 's', which has 32 bytes" in text
    text = failing(
        rig, "extern __shared__ int s[]; s[threadIdx.x] = 1; __syncthreads();", block=9, shared=32
    )
    assert "offset 32 of dynamic shared memory, which has 32 bytes" in text


def test_shared_memory_starts_poisoned(rig):
    source = (
        F
        + """f(int* out) {
        __shared__ int s[32];
        extern __shared__ int d[];
        out[2 * blockIdx.x] = s[3];
        out[2 * blockIdx.x + 1] = d[3];
        s[3] = d[3] = 1;
    }"""
    )
    out = rig.run(source, "f", 2, 1, shared=16, out=Out(np.zeros(4, np.uint32)))
    assert (out == 0xCBCBCBCB).all()


def test_local_and_global_arrays(rig):
    assert "index 4 out of bounds for 'int [4]'" in failing(
        rig, "int x[4] = {}; x[i] = 2; out[0] = x[i / 2];", params="int i, int* out",
        i=np.int32(4), out=N10,
    )  # fmt: skip
    source = "__device__ int table[4];\n__constant__ int fixed[2] = {1, 2};\n" + F
    source += "f(int i, int* out) { int* p = table; p[i] = 1; p = fixed; out[0] = p[i]; }"
    with pytest.raises(KernelError, match="offset 16 of variable 'table', which has 16 bytes"):
        rig.run(source, "f", 1, 1, i=np.int32(4), out=N10)
    with pytest.raises(KernelError, match="offset 12 of variable 'fixed', which has 8 bytes"):
        rig.run(source, "f", 1, 1, i=np.int32(3), out=N10)


def test_constants_cannot_be_written(rig):
    source = (
        "static const int table[4] = {1, 2, 3, 4};\n"
        + F
        + ("f(int i, int* out) { int* p = (int*)table; p[i] = 1; out[0] = table[i]; }")
    )
    with pytest.raises(KernelError, match="write of 4 bytes"):
        rig.run(source, "f", 1, 1, i=np.int32(1), out=N10)


def test_the_machine_itself_is_out_of_reach(rig):
    text = failing(rig, "((char*)&threadIdx)[i] = 1;", params="int i", i=np.int32(4096))
    assert "write of 1 bytes" in text


def test_integer_division_by_zero(rig):
    text = failing(rig, "out[0] =\n 7 / i;", params="int i, int* out", i=np.int32(0), out=N10)
    assert "division of 'int' by zero" in text
    assert "line 2" in text


@pytest.mark.skipif(platform.machine() != "x86_64", reason="this division traps on x86 only")
def test_integer_division_that_overflows(rig):
    text = failing(
        rig, "out[0] = i / j;", params="int i, int j, int* out",
        i=np.int32(-(2**31)), j=np.int32(-1), out=N10,
    )  # fmt: skip
    assert "division of integers" in text


def test_faults_that_no_check_foresees(rig):
    text = failing(rig, "((void (*)())p)();", params="const char* p", p=pointer(64))
    assert "kernel 'f', thread (0, 0, 0)" in text
    assert "invalid memory" in text
    source = "__device__ __noinline__ int deep(int n) { return n ? deep(n + 1) * n + 1 : 0; }\n"
    with pytest.raises(KernelError, match="invalid memory|stack overflow"):
        rig.run(
            source + F + "f(int* p, int n) { p[0] = deep(n); }", "f", 1, 1, p=N10, n=np.int32(1)
        )


def test_barrier_deadlocks(rig):
    text = failing(
        rig, "if (threadIdx.x < 32) __syncthreads(); else __syncthreads_count(1);", block=64
    )
    assert "barriers do not match" in text
    text = failing(rig, "if (threadIdx.x < 3) __syncwarp(); else __syncthreads();", block=64)
    assert "deadlock" in text
    assert "thread (0, 0, 0)" in text
    assert "waits at __syncwarp (mask 0xffffffff)" in text
    assert "thread (3, 0, 0) waits at __syncthreads" in text


def test_lanes_that_do_not_come(rig):
    text = failing(
        rig, "if (threadIdx.x < 16) __shfl_sync(~0u, 1, 0); else __ballot_sync(~0u, 1);", block=32
    )
    assert "deadlock" in text
    assert "a warp vote (mask 0xffffffff)" in text
    text = failing(rig, "__shfl_sync(2u, 1, 0);", block=32)
    assert "mask 0x2 that leaves out its own lane" in text


def test_stack_overflow(rig):
    source = (
        "__device__ int deep(volatile int* p, int n) { volatile int x[64]; x[n & 63] = *p; "
        "return n < 0 ? 0 : deep(p, n + 1) + x[n & 63]; }\n"
        + F
        + "f(int* p) { p[0] = deep(p, 1); }"
    )
    with pytest.raises(KernelError, match="stack overflow"):
        rig.run(source, "f", 1, 1, p=N10)


def test_trap_and_assert(rig):
    assert "__trap()" in failing(rig, "if (threadIdx.x == 1) __trap();", block=2)
    text = failing(rig, "\nassert(threadIdx.x < 1);", block=2)
    assert "assertion failed: threadIdx.x < 1" in text
    assert "line 2" in text
    assert "thread (1, 0, 0)" in text


def test_huge_locals_do_not_compile(rig):
    with pytest.raises(CompileError, match="frame size"):
        rig.backend.compile(
            F + "f(int* p, int i) { volatile int x[100000]; x[i] = 1; p[0] = x[i + 1]; }"
        )


def test_released_memory_and_foreign_memory(rig):
    other = Rig().upload(N10)
    function = rig.backend.compile(F + "f(float* p) { p[0] = 1; }").function("f")

    def launch(memory):
        accesses = [Access(memory.ptr, 40, "rw", "p")]
        arguments = struct.pack("P", memory.ptr)
        rig.backend.launch(function, (1, 1, 1), (1, 1, 1), arguments, 0, accesses)

    memory = rig.upload(N10)
    launch(memory)
    rig.backend.release(memory)
    with (
        rig.backend.batch(),
        pytest.raises(KernelError, match="'f': argument 'p': .* not memory of"),
    ):
        launch(memory)
    with pytest.raises(KernelError, match="not memory of sim:0"):
        launch(other)


@pytest.mark.parametrize(
    ("grid", "block", "shared", "message"),
    [
        ((0, 1, 1), (1, 1, 1), 0, "the grid"),
        ((1, 65536, 1), (1, 1, 1), 0, "the grid"),
        ((1, 1, 1), (1025, 1, 1), 0, "the block"),
        ((1, 1, 1), (64, 64, 1), 0, "at most 1024 threads"),
        ((1, 1, 1), (1, 1, 65), 0, "the block"),
        ((1, 1, 1), (1, 1, 1), 1 << 20, "shared memory"),
    ],
)
def test_impossible_launches(rig, grid, block, shared, message):
    with pytest.raises(KernelError, match=message):
        rig.run(F + "f() {}", "f", grid, block, shared=shared)


def test_parameters_are_counted_and_accesses_demanded(rig):
    function = rig.backend.compile(F + "f(float* p, int n) {}").function("f")
    with pytest.raises(KernelError, match="parameters take 12 bytes, 8 were given"):
        rig.backend.launch(function, (1, 1, 1), (1, 1, 1), b"\0" * 8, 0, [])
    rig.backend.launch(function, (1, 1, 1), (1, 1, 1), b"\0" * 16, 0, [])
    with pytest.raises(TypeError, match="accesses"):
        rig.backend.launch(function, (1, 1, 1), (1, 1, 1), b"\0" * 12)


def test_compile_errors_show_the_line(rig):
    source = 'extern "C" __global__ void f(float* p){\n  p[0] = undeclared;\n}'
    with pytest.raises(CompileError) as caught:
        rig.backend.compile(source)
    text = str(caught.value)
    assert "line 2" in text
    assert "undeclared" in text
    assert "p[0] = undeclared;" in text
    assert "machine.h" not in text


def test_undefined_functions_are_compile_errors(rig):
    with pytest.raises(CompileError, match="undefined reference to `elsewhere"):
        rig.backend.compile(
            "__device__ int elsewhere(int);\n" + F + "f(int* p) { *p = elsewhere(1); }"
        )


@pytest.mark.parametrize(
    "source", ["}", "\x00", "#include <nothing_of_the_kind.h>", "__global__", '"']
)
def test_nonsense_is_a_compile_error_or_empty(rig, source):
    with contextlib.suppress(CompileError):
        assert rig.backend.compile(source).names == ()


def test_unknown_names_list_those_there_are(rig):
    module = rig.backend.compile(F + "first() {}\n" + F + "second() {}")
    assert module.names == ("first", "second")
    with pytest.raises(KeyError, match="'third'.*first, second"):
        module.function("third")
