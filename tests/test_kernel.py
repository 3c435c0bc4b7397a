"""Users' kernels: arguments, checks, transfers (field cases 1, 2, 52, 58, 139, 140, 143)."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import lazyarr as xp
from lazyarr.runtime.signature import parameters_of

SOURCE = r"""
typedef float real;
struct Pair { int first; double second; };
__global__ void inc(float* p, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) p[i] += 1.0f;
}
extern "C" __global__ void copyk(const real* __restrict__ a, float* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i];
}
__global__ void scale(double* p, int n, double by, bool on, unsigned char plus) {
    int i = threadIdx.x;
    if (i < n && on) p[i] = p[i] * by + plus;
}
__global__ void pair(double* out, char tag, Pair p, float4 v) {
    if (threadIdx.x == 0) { out[0] = p.first; out[1] = p.second; out[2] = v.w; out[3] = tag; }
}
__global__ void where(int* out) {
    out[blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)] = blockDim.x * 100
        + blockDim.y * 10 + blockDim.z;
}
__global__ void raw(void* p, char* q) { ((int*)p)[0] = 7; q[0] = 1; }
"""


@pytest.fixture
def module(kernel_device: str) -> xp.SourceModule:
    return xp.SourceModule(SOURCE)


def launch_inc(module: xp.SourceModule, x: xp.Array) -> None:
    n = x.size
    module.get_function("inc")(x, np.int64(n), block=(64, 1, 1), grid=(-(-n // 64), 1))


def test_a_thousand_launches_copy_nothing(module: xp.SourceModule) -> None:
    n = 4096
    inc = module.get_function("inc")
    a = xp.zeros(n, dtype=xp.float32)
    xp.stats(reset=True)
    for _ in range(1000):
        inc(xp.InOut(a), np.int64(n), grid=(n // 256,), block=(256,))
    s = xp.stats()
    assert (s.h2d, s.d2h) == (0, 0)
    assert a.location == "device"
    assert s.launches == 1001  # with the one that filled a
    assert float(a[0]) == 1000.0
    s = xp.stats()
    assert (s.d2h, s.bytes_d2h) == (1, 4)


def test_in_keeps_both_copies_and_out_is_never_uploaded(module: xp.SourceModule) -> None:
    n = 1 << 12
    copyk = module.get_function("copyk")
    a = xp.asarray(np.ones(n, dtype=np.float32))
    out = xp.empty_like(a)
    xp.stats(reset=True)
    for _ in range(2):
        copyk(xp.In(a), xp.Out(out), np.int64(n), grid=n // 256)
        s = xp.stats()
        assert (s.h2d, s.d2h) == (1, 0)
    assert s.launches == 2  # nothing filled `out`
    np.asarray(a)
    assert xp.stats().d2h == 0
    np.testing.assert_array_equal(out.get(), 1.0)


def test_unmarked_is_inout(module: xp.SourceModule) -> None:
    a = xp.asarray(np.arange(100, dtype=np.float32))
    launch_inc(module, a)
    assert a.location == "device"
    np.testing.assert_array_equal(a.get(), np.arange(100) + 1)


def test_pending_arguments_run_first(module: xp.SourceModule) -> None:
    a = xp.arange(100, dtype=xp.float32) * 2
    launch_inc(module, a)
    np.testing.assert_array_equal(a.get(), np.arange(100) * 2 + 1)


@pytest.mark.parametrize("mark", [xp.InOut, xp.Out])
def test_readers_built_before_see_the_old_values(kernel_device: str, mark: type) -> None:
    fill = xp.SourceModule("__global__ void fill(float* p) { p[threadIdx.x] = 9.0f; }")
    a = xp.asarray(np.arange(8, dtype=np.float32))
    xp.prefetch(a)
    before = a + 1
    fill.get_function("fill")(mark(a), block=8)
    np.testing.assert_array_equal(before.get(), np.arange(8) + 1)
    np.testing.assert_array_equal(a.get(), np.full(8, 9.0))


def test_a_constant_that_others_read_is_not_overwritten(kernel_device: str) -> None:
    fill = xp.SourceModule("__global__ void fill(float* p) { p[threadIdx.x] = 9.0f; }")
    a = xp.ones(8, dtype=xp.float32)
    b = a * 2
    fill.get_function("fill")(xp.Out(a), block=8)
    np.testing.assert_array_equal(b.get(), np.full(8, 2.0))
    np.testing.assert_array_equal(a.get(), np.full(8, 9.0))


def test_no_copy_of_an_array_that_only_its_name_holds(module: xp.SourceModule) -> None:
    a = xp.asarray(np.zeros(64, np.float32))
    launch_inc(module, a)
    xp.stats(reset=True)
    view = a[:32]
    launch_inc(module, a)
    launch_inc(module, view)
    assert xp.stats().launches == 2
    np.testing.assert_array_equal(a.get(), np.repeat([3.0, 2.0], 32))


def test_numpy_snapshot_survives_a_kernel(module: xp.SourceModule) -> None:
    a = xp.asarray(np.zeros(8, np.float32))
    seen = np.asarray(a)
    launch_inc(module, a)
    np.testing.assert_array_equal(seen, 0.0)
    np.testing.assert_array_equal(np.asarray(a), 1.0)


# Views.


def test_strided_views_are_refused(module: xp.SourceModule) -> None:
    inc = module.get_function("inc")
    x = xp.reshape(xp.arange(10, dtype=xp.float32), (2, 5))
    for bad in (x[:, :4], x.T, x[:, ::-1], xp.broadcast_to(x[:1, :1], (2, 5))):
        with pytest.raises(ValueError, match="not contiguous") as caught:
            inc(bad, np.int64(1))
        text = str(caught.value)
        assert str(bad.shape) in text
        assert str(bad.strides) in text
        assert "copy it with xp.asarray(x, copy=True), or pass offset and strides" in text


def test_a_contiguous_view_passes_its_offset(module: xp.SourceModule) -> None:
    x = xp.reshape(xp.arange(10, dtype=xp.float32), (2, 5))
    launch_inc(module, x[1:])
    np.testing.assert_array_equal(x.get().reshape(-1), [0, 1, 2, 3, 4, 6, 7, 8, 9, 10])
    copied = xp.asarray(x[:, :4], copy=True)
    launch_inc(module, copied)
    assert float(copied[1, 2]) == 9.0
    assert float(x[1, 2]) == 8.0


def test_out_of_a_part_brings_the_rest_over(module: xp.SourceModule) -> None:
    a = xp.asarray(np.arange(8, dtype=np.float32))
    copyk = module.get_function("copyk")
    xp.stats(reset=True)
    copyk(xp.In(xp.zeros(4, dtype=xp.float32)), xp.Out(a[4:]), np.int64(4))
    assert xp.stats().h2d == 1
    np.testing.assert_array_equal(a.get(), [0, 1, 2, 3, 0, 0, 0, 0])


def test_overlapping_arguments_are_refused(module: xp.SourceModule) -> None:
    copyk = module.get_function("copyk")
    a = xp.arange(8, dtype=xp.float32)
    pairs = [(xp.In(a), xp.Out(a)), (xp.In(a[:5]), xp.Out(a[4:])), (a, a), (xp.Out(a), xp.In(a))]
    for first, second in pairs:
        with pytest.raises(ValueError, match="overlaps"):
            copyk(first, second, np.int64(4))
    copyk(xp.In(a[:4]), xp.Out(a[4:]), np.int64(4))
    np.testing.assert_array_equal(a.get(), [0, 1, 2, 3, 0, 1, 2, 3])


def test_the_same_array_may_be_read_twice(kernel_device: str) -> None:
    add = xp.SourceModule(
        "__global__ void add(const int* a, const int* b, int* o) { o[0] = a[0] + b[0]; }"
    ).get_function("add")
    a = xp.full(1, 4, dtype=xp.int32)
    out = xp.empty(1, dtype=xp.int32)
    add(xp.In(a), xp.In(a), xp.Out(out), block=1)
    assert int(out[0]) == 8


def test_read_only_memory_is_not_written(module: xp.SourceModule) -> None:
    source = np.zeros(4, np.float32)
    source.flags.writeable = False
    try:
        x = xp.asarray(source, copy=False)
    except ValueError:
        pytest.skip("copy=False cannot share host memory on this device")
    with pytest.raises(ValueError, match="cannot write"):
        launch_inc(module, x)


def test_an_array_of_another_device(module: xp.SourceModule, kernel_device: str) -> None:
    other = xp.ones(4, dtype=xp.float32, device="cpu")
    with pytest.raises(ValueError, match="cpu") as caught:
        launch_inc(module, other)
    assert kernel_device in str(caught.value)


def test_empty_arrays(module: xp.SourceModule) -> None:
    copyk = module.get_function("copyk")
    empty = xp.zeros(0, dtype=xp.float32)
    copyk(xp.In(empty), xp.Out(xp.zeros(0, dtype=xp.float32)), np.int64(0))
    copyk(empty, empty, np.int64(0))


# Values.


def test_values_are_packed_as_c_has_them(module: xp.SourceModule) -> None:
    p = xp.asarray(np.arange(3.0))
    scale = module.get_function("scale")
    scale(p, np.int32(3), np.float64(0.5), np.bool_(True), np.uint8(200))
    np.testing.assert_array_equal(p.get(), np.arange(3) * 0.5 + 200)
    scale(p, np.intc(3), np.float64(0.5), np.bool_(False), np.uint8(200))
    np.testing.assert_array_equal(p.get(), np.arange(3) * 0.5 + 200)


def test_structs_by_value(module: xp.SourceModule) -> None:
    pair_type = np.dtype([("first", np.int32), ("second", np.float64)], align=True)
    pair = np.array((3, 4.5), dtype=pair_type)[()]
    vector = np.array((0, 1, 2, 3), dtype=[(name, np.float32) for name in "xyzw"])[()]
    out = xp.zeros(4)
    module.get_function("pair")(out, np.int8(65), pair, vector, block=1)
    np.testing.assert_array_equal(out.get(), [3.0, 4.5, 3.0, 65.0])


def test_python_numbers_are_refused(module: xp.SourceModule) -> None:
    p = xp.zeros(3)
    scale = module.get_function("scale")
    good = [p, np.int32(3), np.float64(1), np.bool_(True), np.uint8(0)]
    remedies = {1: (3, "np.int32(3)"), 2: (0.5, "np.float64(0.5)"), 3: (True, "np.bool_(True)")}
    for place, (number, remedy) in remedies.items():
        args = list(good)
        args[place] = number
        with pytest.raises(TypeError) as caught:
            scale(*args)
        text = str(caught.value)
        assert remedy in text
        assert "(double* p, int n, double by, bool on, unsigned char plus)" in text
        assert "float64 array of shape (3,)" in text


def test_wrong_arguments(module: xp.SourceModule) -> None:
    inc = module.get_function("inc")
    a = xp.zeros(4, dtype=xp.float32)
    n = np.int64(4)
    wrong = {
        "2 arguments expected, 1 given": (a,),
        "2 arguments expected, 3 given": (a, n, n),
        "'p' is a pointer": (n, n),
        "'n' is passed by value": (a, a),
        "'n' takes np.int64, not np.int32": (a, np.int32(4)),
        "'n' takes np.int64, not np.uint64": (a, np.uint64(4)),
        "'n' takes np.int64, not np.float64": (a, np.float64(4)),
        "'p' points to float32, but the array holds float64": (xp.zeros(4), n),
        "xp.asarray": (np.zeros(4, np.float32), n),
        "pass a lazyarr array or a NumPy scalar": ("text", n),
    }
    xp.stats(reset=True)
    for text, args in wrong.items():
        with pytest.raises(TypeError) as caught:
            inc(*args)
        assert text in str(caught.value)
    assert xp.stats().launches == 0
    with pytest.raises(TypeError, match="xp.asarray"):
        xp.In(np.zeros(4))


def test_untyped_pointers_are_not_checked(module: xp.SourceModule) -> None:
    a, b = xp.zeros(4, dtype=xp.int32), xp.zeros(4)
    module.get_function("raw")(a, b, block=1)
    assert int(a[0]) == 7
    assert b.get().tobytes()[0] == 1


# Launches.


def test_block_and_grid(module: xp.SourceModule) -> None:
    where = module.get_function("where")
    out = xp.zeros(24, dtype=xp.int32)
    where(out, block=(4, 2, 3), grid=(2, 3, 4))
    np.testing.assert_array_equal(out.get(), 423)
    where(out, block=5, grid=[24])
    np.testing.assert_array_equal(out.get(), 511)
    where(out, block=(np.int64(6), 1), grid=(24, 1))
    np.testing.assert_array_equal(out.get(), 611)
    for bad in ((0, 1), (-1,), (1, 1, 1, 1), ()):
        with pytest.raises(ValueError, match="grid"):
            where(out, grid=bad)
    with pytest.raises(ValueError, match="1025 threads"):
        where(out, block=1025)
    with pytest.raises(TypeError, match="block"):
        where(out, block=1.5)


def test_dynamic_shared_memory(kernel_device: str) -> None:
    reverse = xp.SourceModule(
        """__global__ void reverse(int* p) {
            extern __shared__ int s[];
            s[threadIdx.x] = p[threadIdx.x];
            __syncthreads();
            p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
        }"""
    ).get_function("reverse")
    a = xp.arange(32, dtype=xp.int32)
    reverse(a, block=32, shared=32 * 4)
    np.testing.assert_array_equal(a.get(), np.arange(32)[::-1])


def test_writing_an_in_argument_is_an_error_on_sim() -> None:
    with xp.default_device("sim"):
        module = xp.SourceModule(SOURCE)
        copyk = module.get_function("copyk")
        a = xp.zeros(4, dtype=xp.float32)
        b = xp.ones(4, dtype=xp.float32)
        with pytest.raises(xp.KernelError, match="'out'"):
            copyk(xp.In(b), xp.In(a), np.int64(4))
        with pytest.raises(xp.KernelError, match="'out'"):
            copyk(xp.In(b), xp.Out(a[:2]), np.int64(4), block=4)
        np.testing.assert_array_equal(a.get(), [1, 1, 0, 0])


def test_the_guard_refuses_an_upload(module: xp.SourceModule) -> None:
    a = xp.asarray(np.zeros(4, np.float32))
    with xp.transfer_guard("error"):
        with pytest.raises(xp.TransferGuardError, match="kernel 'inc'"):
            launch_inc(module, a)
        xp.prefetch(a)
        launch_inc(module, a)
    np.testing.assert_array_equal(a.get(), 1.0)


def test_launches_are_traced(module: xp.SourceModule) -> None:
    a = xp.zeros(100, dtype=xp.float32)
    xp.evaluate(a)
    with xp.trace() as t:
        launch_inc(module, a)
    (event,) = [e for e in t.events if e.kind == "kernel"]
    assert event.name == "inc"
    assert event.nbytes == 800
    assert event.gpu_seconds is not None
    assert event.details["grid"] == (2, 1, 1)
    assert "test_kernel.py" in event.line


def test_an_array_goes_back_to_lazy_work_after_a_kernel(module: xp.SourceModule) -> None:
    a = xp.zeros(8, dtype=xp.float32)
    launch_inc(module, a)
    xp.stats(reset=True)
    y = a * 2 + 1
    assert xp.stats().launches == 0
    np.testing.assert_array_equal(y.get(), 3.0)
    assert xp.stats().launches == 1


# Modules.


def test_unknown_names_list_those_that_exist(module: xp.SourceModule) -> None:
    with pytest.raises(LookupError) as caught:
        module.get_function("g")
    text = str(caught.value)
    assert "'g'" in text
    assert "'inc'" in text
    assert "'copyk'" in text
    assert set(module.names) == {"inc", "copyk", "scale", "pair", "where", "raw"}


@pytest.mark.parametrize(
    "before", ["", "\n\n", "// a note\n", "#include <math.h>\n", "#if 1\n#endif\n"]
)
@pytest.mark.parametrize("no_extern_c", [False, True])
def test_compile_errors_show_the_users_line(
    kernel_device: str, before: str, no_extern_c: bool
) -> None:
    source = before + 'extern "C" __global__ void f(float* p){\n  p[0] = undeclared;\n}'
    with pytest.raises(xp.CompileError) as caught:
        xp.SourceModule(source, no_extern_c=no_extern_c)
    text = str(caught.value)
    assert "undeclared" in text
    assert f"line {before.count(chr(10)) + 2}" in text
    assert "p[0] = undeclared;" in text


@pytest.mark.parametrize("no_extern_c", [False, True])
def test_well_known_headers_are_there(kernel_device: str, no_extern_c: bool) -> None:
    source = """
    #include <math.h>
    #include <cmath>
    #include "stdint.h"
    #include <cstdint>
    #include <stdio.h>
    #include <float.h>
    #include <limits.h>
    #include <cuda_runtime.h>
    extern "C" __global__ void f(double* p, int64_t* q, float x) {
      p[0] = std::sqrt(x) + std::abs(-1.5) + M_PI;
      p[1] = INFINITY;
      p[2] = std::isnan(NAN) + FLT_MAX;
      q[0] = INT64_MAX;
      q[1] = INT_MIN;
      q[2] = sizeof(std::uint16_t);
    }"""
    p, q = xp.zeros(3, dtype=xp.float64), xp.zeros(3, dtype=xp.int64)
    f = xp.SourceModule(source, no_extern_c=no_extern_c).get_function("f")
    f(p, q, np.float32(4), block=1)
    assert np.asarray(p).tolist() == [3.5 + np.pi, np.inf, 1 + float(np.finfo("f4").max)]
    assert np.asarray(q).tolist() == [2**63 - 1, -(2**31), 2]


def test_templates_need_no_extern_c(kernel_device: str) -> None:
    source = """
    template <class T> __device__ T twice(T x) { return x + x; }
    extern "C" __global__ void f(int* p) { p[0] = twice(p[0]); }
    """
    a = xp.full(1, 21, dtype=xp.int32)
    xp.SourceModule(source, no_extern_c=True).get_function("f")(a, block=1)
    assert int(a[0]) == 42


def test_options_reach_the_compiler(kernel_device: str) -> None:
    source = "__global__ void f(int* p) { p[0] = N; }"
    a = xp.zeros(1, dtype=xp.int32)
    xp.SourceModule(source, options=["-DN=5"]).get_function("f")(a, block=1)
    assert int(a[0]) == 5
    with pytest.raises(TypeError, match="sequence"):
        xp.SourceModule(source, options="-DN=5")


def test_a_function_keeps_its_module_loaded(kernel_device: str) -> None:
    f = xp.SourceModule("__global__ void f(int* p) { p[0] = 3; }").get_function("f")
    gc.collect()
    a = xp.zeros(1, dtype=xp.int32)
    f(a, block=1)
    assert int(a[0]) == 3


def test_the_cpu_runs_no_kernels() -> None:
    with xp.default_device("cpu"), pytest.raises(ValueError, match="sim"):
        xp.SourceModule(SOURCE)
    with pytest.raises(ValueError, match="cpu"):
        xp.SourceModule(SOURCE, device="cpu")


def test_a_device_can_be_named() -> None:
    module = xp.SourceModule(SOURCE, device="sim:1")
    a = xp.zeros(4, dtype=xp.float32, device="sim:1")
    launch_inc(module, a)
    np.testing.assert_array_equal(a.get(), 1.0)
    with pytest.raises(ValueError, match="sim:1"):
        launch_inc(module, xp.zeros(4, dtype=xp.float32, device="sim"))


# Signatures.


def codes(source: str, name: str) -> list[str] | None:
    found = parameters_of(source, name)
    if found is None:
        return None
    return [("*" if p.pointer else "") + p.code for p in found]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("float* a, const double * __restrict__ b", ["*f4", "*f8"]),
        ("unsigned long long int n, unsigned k, size_t s", ["u8", "u4", "u8"]),
        ("int64_t a, uint8_t b, std::size_t c", ["i8", "u1", "u8"]),
        ("float a[], float** b, void* c, char* d", ["*f4", "*", "*", "*?1"]),
        ("real* a, idx n, FP p, T t", ["*f4", "i8", "*f8", "u4"]),
        ("const struct S s, float4 v, int", ["", "", "i4"]),
        ("int a = 3, bool b = (1 > 0)", ["i4", "b1"]),
        ("", []),
        ("void", []),
        ("...", None),
    ],
)
def test_parameters(text: str, want: list[str] | None) -> None:
    source = f"""
    typedef float real; using idx = long long;
    #define FP double *
    #define T unsigned
    /* __global__ void k(int decoy) */
    extern "C" __global__ void __launch_bounds__(256, 2) k({text}) {{}}
    """
    assert codes(source, "k") == want


def test_variants_of_a_kernel_have_no_signature() -> None:
    source = """
    #ifdef A
    __global__ void k(int a) {}
    #else
    __global__ void k(float a) {}
    #endif
    __global__ void same(int); __global__ void same(int name) {}
    """
    assert codes(source, "k") is None
    assert codes(source, "absent") is None
    found = parameters_of(source, "same")
    assert found is not None
    assert found[0].name == "name"


def test_without_a_signature_scalars_go_as_they_are(kernel_device: str) -> None:
    source = """
    #define ARGUMENTS float* p, int n, double by
    #define KERNEL(name) __global__ void name
    KERNEL(f)(ARGUMENTS) { if (threadIdx.x < n) p[threadIdx.x] *= by; }
    """
    f = xp.SourceModule(source).get_function("f")
    assert f.parameters is None
    a = xp.ones(4, dtype=xp.float32)
    f(a, np.int32(2), np.float64(3), block=4)
    np.testing.assert_array_equal(a.get(), [3, 3, 1, 1])
    with pytest.raises(TypeError, match="np.int64"):
        f(a, 2, np.float64(3))
