"""What CUDA C gives on the simulator: values, threads, barriers, warps, atomics."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.sim_rig import In, Out, Raw, Rig

F = 'extern "C" __global__ void '


@pytest.fixture(scope="module")
def rig():
    return Rig()


def test_vector_add(rig):
    source = (
        F
        + """add(const float* __restrict__ a, const float* b, float* c, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) c[i] = a[i] + b[i];
    }"""
    )
    a = np.arange(1000, dtype=np.float32)
    c = rig.run(source, "add", 4, 256, a=In(a), b=In(a * 2), c=Out(a), n=np.int32(1000))
    np.testing.assert_array_equal(c, a * 3)


def test_static_shared_reduction(rig):
    source = (
        F
        + """total(const float* a, float* out) {
        __shared__ float s[256];
        const int t = threadIdx.x;
        s[t] = a[blockIdx.x * 256 + t];
        __syncthreads();
        for (int k = 128; k; k >>= 1) {
            if (t < k) s[t] += s[t + k];
            __syncthreads();
        }
        if (t == 0) out[blockIdx.x] = s[0];
    }"""
    )
    a = np.arange(1024, dtype=np.float32)
    out = rig.run(source, "total", 4, 256, a=In(a), out=Out(np.zeros(4, np.float32)))
    np.testing.assert_array_equal(out, a.reshape(4, 256).sum(1))


def test_dynamic_shared_of_two_kinds(rig):
    source = """
    extern __shared__ __align__(16) unsigned char everything[];
    extern "C" __global__ void reverse(int* a, int n) {
        extern __shared__ int s[];
        s[threadIdx.x] = a[threadIdx.x];
        __syncthreads();
        a[threadIdx.x] = s[n - 1 - threadIdx.x];
    }
    extern "C" __global__ void halves(double* a) {
        double* left = reinterpret_cast<double*>(everything);
        double* right = left + blockDim.x;
        left[threadIdx.x] = a[threadIdx.x];
        right[threadIdx.x] = -a[threadIdx.x];
        __syncthreads();
        a[threadIdx.x] = left[blockDim.x - 1 - threadIdx.x] + right[threadIdx.x] * 10;
    }"""
    a = np.arange(100, dtype=np.int32)
    out = rig.run(source, "reverse", 1, 100, shared=400, a=a, n=np.int32(100))
    np.testing.assert_array_equal(out, a[::-1])
    d = np.arange(8.0)
    np.testing.assert_array_equal(
        rig.run(source, "halves", 1, 8, shared=128, a=d), d[::-1] - 10 * d
    )


def test_shared_values_are_not_kept_in_registers(rig):
    source = (
        F
        + """f(int* out) {
        __shared__ int flag;
        if (threadIdx.x == 0) flag = 1;
        __syncthreads();
        int first = flag;
        __syncthreads();
        if (threadIdx.x == 63) flag = 2;
        __syncthreads();
        out[threadIdx.x] = first * 10 + flag;
    }"""
    )
    out = rig.run(source, "f", 1, 64, out=Out(np.zeros(64, np.int32)))
    assert (out == 12).all()


@pytest.mark.parametrize(
    ("ctype", "dtype"),
    [("int", np.int32), ("float", np.float32), ("double", np.float64), ("long long", np.int64)],
)
def test_shuffle_reduction(rig, ctype, dtype):
    source = (
        F
        + f"""total({ctype}* a, {ctype}* out) {{
        {ctype} v = a[blockIdx.x * blockDim.x + threadIdx.x];
        for (int k = 16; k; k >>= 1) v += __shfl_down_sync(0xffffffff, v, k);
        __shared__ {ctype} part[32];
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
        __syncthreads();
        if (threadIdx.x < 32) {{
            v = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : ({ctype})0;
            for (int k = 16; k; k >>= 1) v += __shfl_xor_sync(~0u, v, k);
            if (threadIdx.x == 0) out[blockIdx.x] = v;
        }}
    }}"""
    )
    a = np.arange(512).astype(dtype)
    out = rig.run(source, "total", 2, 256, a=In(a), out=Out(np.zeros(2, dtype)))
    np.testing.assert_array_equal(out, a.reshape(2, 256).sum(1))


def test_shuffles_with_width(rig):
    source = (
        F
        + """f(int* up, int* down, int* get, int* bits) {
        int t = threadIdx.x;
        up[t] = __shfl_up_sync(~0u, t, 3, 8);
        down[t] = __shfl_down_sync(~0u, t, 3, 8);
        get[t] = __shfl_sync(~0u, t, 9, 8);
        bits[t] = __shfl_xor_sync(~0u, t, 12, 8);
    }"""
    )
    t = np.arange(32)
    blank = Out(np.zeros(32, np.int32))
    up, down, get, bits = rig.run(source, "f", 1, 32, up=blank, down=blank, get=blank, bits=blank)
    np.testing.assert_array_equal(up, np.where(t % 8 >= 3, t - 3, t))
    np.testing.assert_array_equal(down, np.where(t % 8 < 5, t + 3, t))
    np.testing.assert_array_equal(get, t // 8 * 8 + 1)
    np.testing.assert_array_equal(bits, np.where((t ^ 12) <= (t | 7), t ^ 12, t))


def test_votes_matches_and_reductions(rig):
    source = (
        F
        + """f(unsigned* out, int* flags) {
        int t = threadIdx.x;
        unsigned b = __ballot_sync(~0u, t % 3 == 0);
        unsigned m = __match_any_sync(~0u, t % 5);
        int same;
        unsigned all = __match_all_sync(~0u, 7, &same);
        out[t] = b ^ m ^ all;
        flags[t] = __any_sync(~0u, t == 31) + 2 * __all_sync(~0u, t < 32) + 4 * __any_sync(~0u, 0)
                 + 8 * __all_sync(~0u, t > 0) + 16 * same;
        flags[t] += 100 * __reduce_add_sync(~0u, t) + 100000 * __reduce_min_sync(~0u, -t);
    }"""
    )
    out, flags = rig.run(
        source, "f", 1, 32, out=Out(np.zeros(32, np.uint32)), flags=Out(np.zeros(32, np.int32))
    )
    ballot = sum(1 << i for i in range(0, 32, 3))
    match = [sum(1 << k for k in range(32) if k % 5 == i % 5) for i in range(32)]
    np.testing.assert_array_equal(out, [ballot ^ m ^ 0xFFFFFFFF for m in match])
    assert (flags == 1 + 2 + 16 + 49600 - 3100000).all()


def test_half_warps_with_their_own_masks(rig):
    source = (
        F
        + """f(int* out) {
        int t = threadIdx.x, v = t;
        if (t % 2) v = __shfl_sync(0xaaaaaaaa, t, 31);
        else v = __shfl_sync(0x55555555, t, 2);
        __syncwarp();
        out[t] = v;
    }"""
    )
    out = rig.run(source, "f", 1, 32, out=Out(np.zeros(32, np.int32)))
    np.testing.assert_array_equal(out, np.where(np.arange(32) % 2, 31, 2))


def test_lanes_that_ended_are_not_waited_for(rig):
    source = (
        F
        + """f(int* out, int n) {
        int t = threadIdx.x;
        if (t >= n) return;
        unsigned b = __ballot_sync(~0u, 1);
        __syncthreads();
        out[t] = __popc(b) + 100 * __syncthreads_count(t > 2);
    }"""
    )
    out = rig.run(source, "f", 1, 70, out=Out(np.full(70, -1, np.int32)), n=np.int32(40))
    np.testing.assert_array_equal(out[:40], [100 * 37 + (32 if t < 32 else 8) for t in range(40)])
    assert (out[40:] == -1).all()


def test_syncthreads_and_or(rig):
    source = (
        F
        + """f(int* out) {
        int t = threadIdx.x;
        int a = __syncthreads_and(t >= 0), b = __syncthreads_and(t != 5);
        int c = __syncthreads_or(t == 5), d = __syncthreads_or(0);
        out[t] = a + 2 * b + 4 * c + 8 * d;
    }"""
    )
    assert (rig.run(source, "f", 1, 33, out=Out(np.zeros(33, np.int32))) == 5).all()


def test_atomics(rig):
    source = """
    __device__ double add_by_cas(double* p, double v) {
        unsigned long long* bits = (unsigned long long*)p;
        unsigned long long old = *bits, seen;
        do {
            seen = old;
            old = atomicCAS(bits, seen, __double_as_longlong(v + __longlong_as_double(seen)));
        } while (seen != old);
        return __longlong_as_double(old);
    }
    extern "C" __global__ void f(int* i, unsigned* u, unsigned long long* w, float* x, double* d) {
        int t = blockIdx.x * blockDim.x + threadIdx.x;
        atomicAdd(i, t); atomicMax(i + 1, t); atomicMin(i + 2, t); atomicSub(i + 3, 1);
        atomicInc(u, 9); atomicOr(u + 1, 1u << t % 32); atomicAnd(u + 2, ~(1u << t % 32));
        atomicXor(u + 3, t); atomicExch(u + 4, 7); atomicDec(u + 5, 9);
        atomicAdd(w, 1ULL << 33); atomicMax(w + 1, (unsigned long long)t);
        atomicAdd(x, 0.5f);
        atomicAdd(d, 0.25); add_by_cas(d + 1, 2.0);
    }"""
    i, u, w, x, d = rig.run(
        source,
        "f",
        4,
        64,
        i=np.zeros(4, np.int32),
        u=np.array([0, 0, 0xFFFFFFFF, 0, 0, 0], np.uint32),
        w=np.zeros(2, np.uint64),
        x=np.zeros(1, np.float32),
        d=np.zeros(2),
    )
    assert i.tolist() == [255 * 128, 255, 0, -256]
    assert u.tolist() == [256 % 10, 0xFFFFFFFF, 0, 0, 7, 10 - 256 % 10]
    assert w.tolist() == [256 << 33, 255]
    assert x[0] == 128.0
    assert d.tolist() == [64.0, 512.0]


def test_last_block_done(rig):
    source = (
        "__device__ unsigned ticket = 0;\n"
        + F
        + """total(const float* a, float* part, float* out) {
        __shared__ bool last;
        float v = a[blockIdx.x * 32 + threadIdx.x];
        for (int k = 16; k; k >>= 1) v += __shfl_down_sync(~0u, v, k);
        if (threadIdx.x == 0) {
            part[blockIdx.x] = v;
            __threadfence();
            last = atomicAdd(&ticket, 1) == gridDim.x - 1;
        }
        __syncthreads();
        if (last && threadIdx.x == 0) {
            float sum = 0;
            for (int i = 0; i < gridDim.x; ++i) sum += ((volatile float*)part)[i];
            out[0] = sum;
            ticket = 0;
        }
    }"""
    )
    a = np.arange(320, dtype=np.float32)
    _, out = rig.run(
        source,
        "total",
        10,
        32,
        a=In(a),
        part=np.zeros(10, np.float32),
        out=Out(np.zeros(1, np.float32)),
    )
    assert out[0] == a.sum()


def test_variables_belong_to_one_load(rig):
    source = "__device__ int count;\n" + F + "f(int* out) { out[0] = ++count; }"
    module = rig.backend.compile(source)
    assert module.stateful
    assert rig.backend.compile(source) is not module
    for _ in range(2):
        assert rig.run(source, "f", 1, 1, out=Out(np.zeros(1, np.int32)))[0] == 1


def test_templates_classes_and_macros(rig):
    source = r"""
    // __global__ void not_me(int)  /* nor */ "this"
    #define KERNEL(name, T) extern "C" __global__ void __launch_bounds__(128) name(T* x, T f)
    #if defined(LAZYARR_SIM) && SCALE == 3
    namespace detail {
    template <class T> struct Scale { T f; __device__ __forceinline__ T operator()(T v) const {
        return v * f; } };
    template <class T, int N> __device__ T power(T v) { T r = v;
        #pragma unroll
        for (int i = 1; i < N; ++i) r *= v;
        return r; }
    template <class T> __global__ void generic(T* x) {}
    }
    KERNEL(square_f, float) { x[threadIdx.x] = detail::Scale<float>{f}(
        detail::power<float, 2>(x[threadIdx.x])); }
    KERNEL(square_i, int) { x[threadIdx.x] = detail::Scale<int>{f * SCALE}(
        detail::power<int, 2>(x[threadIdx.x])); }
    #else
    __global__ void wrong(int) {}
    #endif
    """
    options = ["-DSCALE=3", "--fmad=false", "-arch=sm_90", "-std=c++17"]
    module = rig.backend.compile(source, options)
    assert set(module.names) == {"square_f", "square_i"}
    x = np.arange(5, dtype=np.float32)
    out = rig.run(source, "square_f", 1, 5, options=options, x=x, f=np.float32(2))
    np.testing.assert_array_equal(out, 2 * x * x)
    i = np.arange(5, dtype=np.int32)
    out = rig.run(source, "square_i", 1, 5, options=options, x=i, f=np.int32(2))
    np.testing.assert_array_equal(out, 6 * i * i)


def test_kernels_without_c_linkage_and_in_a_block(rig):
    source = """
    extern "C" {
    __global__ void one(int* x) { x[0] = 1; }
    __launch_bounds__(32) __global__ void two(int* x);
    }
    __global__ void two(int* x) { x[0] = 2; }
    namespace inner::deep { static __global__ void three(int* x) { x[0] = 3; } }
    """
    assert set(rig.backend.compile(source).names) == {"one", "two", "three"}
    for value, name in enumerate(("one", "two", "three"), 1):
        assert rig.run(source, name, 1, 1, x=Out(np.zeros(1, np.int32)))[0] == value


def test_packed_parameters_of_every_size(rig):
    source = (
        """
    struct Odd { char c; double d; short s; };
    struct Three { unsigned char b[3]; };
    """
        + F
        + """f(bool b, double* out, char c, short s, Odd odd, int i, const float* x, Three t,
          long long l, float f, unsigned char u, double d, float4 v, bool last) {
        double all[] = {(double)b, (double)c, (double)s, (double)odd.c, odd.d, (double)odd.s,
            (double)i, x[1], (double)t.b[2], (double)l, f, (double)u, d, v.w, (double)last};
        for (int k = 0; k < 15; ++k) out[k] = all[k];
    }"""
    )
    odd = np.zeros(1, np.dtype([("c", "i1"), ("d", "f8"), ("s", "i2")], align=True))
    odd["c"], odd["d"], odd["s"] = -3, 2.5, 77
    out = rig.run(
        source,
        "f",
        1,
        1,
        b=np.bool_(True),
        out=Out(np.zeros(15)),
        c=np.int8(-5),
        s=np.int16(-300),
        odd=Raw(odd.tobytes(), 8),
        i=np.int32(123456),
        x=In(np.array([0, 1.5], np.float32)),
        t=Raw(bytes([1, 2, 9]), 1),
        l=np.int64(1 << 40),
        f=np.float32(0.5),
        u=np.uint8(200),
        d=np.float64(-1.25),
        v=Raw(np.arange(4, dtype=np.float32).tobytes(), 16),
        last=np.bool_(True),
    )
    expected = [1, -5, -300, -3, 2.5, 77, 123456, 1.5, 9, 1 << 40, 0.5, 200, -1.25, 3, 1]
    np.testing.assert_array_equal(out, expected)


def test_grid_and_block_in_three_dimensions(rig):
    source = (
        F
        + """f(int* out) {
        int x = blockIdx.x * blockDim.x + threadIdx.x;
        int y = blockIdx.y * blockDim.y + threadIdx.y;
        int z = blockIdx.z * blockDim.z + threadIdx.z;
        int nx = gridDim.x * blockDim.x, ny = gridDim.y * blockDim.y;
        __syncthreads();
        out[(z * ny + y) * nx + x] = (z * 100 + y) * 100 + x;
    }"""
    )
    out = rig.run(source, "f", (2, 3, 2), (5, 2, 3), out=Out(np.zeros((6, 6, 10), np.int32)))
    z, y, x = np.indices(out.shape)
    np.testing.assert_array_equal(out, (z * 100 + y) * 100 + x)


def test_constant_memory_and_local_arrays(rig):
    source = (
        "__constant__ float weights[3] = {1, 2, 4};\n"
        "static const int steps[] = {3, 1, 2};\n"
        + F
        + """f(const float* a, float* out) {
        const float local[4] = {10, 20, 30, 40};
        float window[3], sum = 0;
        for (int i = 0; i < 3; ++i) window[i] = a[threadIdx.x + i] + local[threadIdx.x % 4];
        for (int i = 0; i < 3; ++i) sum += window[steps[i] - 1] * weights[i];
        out[threadIdx.x] = sum;
    }"""
    )
    a = np.arange(34, dtype=np.float32)
    out = rig.run(source, "f", 1, 32, a=In(a), out=Out(np.zeros(32, np.float32)))
    t = np.arange(32)
    window = [a[t + i] + 10 * (t % 4 + 1) for i in range(3)]
    np.testing.assert_array_equal(out, window[2] + 2 * window[0] + 4 * window[1])


def test_vector_types(rig):
    source = (
        F
        + """f(float4* a, const uchar4* b, double2* c) {
        float4 v = a[threadIdx.x];
        uchar4 w = b[threadIdx.x];
        a[threadIdx.x] = make_float4(v.w + w.x, v.z + w.y, v.y + w.z, v.x + w.w);
        c[threadIdx.x] = make_double2(c[threadIdx.x].y, dim3(threadIdx.x).x);
    }"""
    )
    a = np.arange(16, dtype=np.float32)
    b = np.arange(16, dtype=np.uint8)
    a2, c2 = rig.run(source, "f", 1, 4, a=a, b=In(b), c=np.arange(8.0))
    np.testing.assert_array_equal(a2, (a.reshape(4, 4)[:, ::-1] + b.reshape(4, 4)).ravel())
    np.testing.assert_array_equal(c2.reshape(4, 2), [[1, 0], [3, 1], [5, 2], [7, 3]])


@pytest.mark.parametrize(("ctype", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_arithmetic_is_exactly_ieee(rig, ctype, dtype):
    source = (
        F
        + f"""f(const {ctype}* x, const {ctype}* y, {ctype}* out, int n) {{
        int i = threadIdx.x;
        {ctype} a = x[i], b = y[i];
        out[i] = a + b; out[n + i] = a - b; out[2 * n + i] = a * b; out[3 * n + i] = a / b;
        out[4 * n + i] = sqrt(a); out[5 * n + i] = a * b + a; out[6 * n + i] = -a;
        out[7 * n + i] = fmin(a, b); out[8 * n + i] = floor(a);
    }}"""
    )
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1.5, 3.4e38]
    rng = np.random.default_rng(1)
    values = np.concatenate([np.array(special, dtype), rng.normal(size=56).astype(dtype)])
    x, y = values, rng.permutation(values)
    n = len(x)
    out = rig.run(
        source, "f", 1, n, x=In(x), y=In(y), out=Out(np.zeros(9 * n, dtype)), n=np.int32(n)
    )
    with np.errstate(all="ignore"):
        expected = [
            x + y,
            x - y,
            x * y,
            x / y,
            np.sqrt(x),
            x * y + x,
            -x,
            np.fmin(x, y),
            np.floor(x),
        ]
    for got, want in zip(out.reshape(9, n), expected, strict=True):
        zero = want == 0
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


def test_no_contraction_and_explicit_fma(rig):
    source = (
        F
        + """f(double* out, double a, double b, double c) {
        out[0] = a * b + c;
        out[1] = fma(a, b, c);
        out[2] = __dadd_rn(__dmul_rn(a, b), c);
    }"""
    )
    a = 1 + 2.0**-30
    c = -(a * a)
    out = rig.run(
        source, "f", 1, 1, out=Out(np.ones(3)), a=np.float64(a), b=np.float64(a), c=np.float64(c)
    )
    assert out[0] == 0.0
    assert out[1] == 2.0**-60
    assert out[2] == 0.0


@pytest.mark.parametrize(("ctype", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_math_functions(rig, ctype, dtype):
    names = (
        "sin", "cos", "tan", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt",
        "sinh", "cosh", "tanh", "asinh", "atan", "fabs", "ceil", "trunc", "rint",
    )  # fmt: skip
    lines = "".join(f"out[{k} * n + i] = {name}(v);" for k, name in enumerate(names))
    source = (
        F
        + f"f(const {ctype}* x, {ctype}* out, int n) {{"
        + f"int i = threadIdx.x; {ctype} v = x[i]; {lines} }}"
    )
    x = np.linspace(0.1, 3, 50).astype(dtype)
    out = rig.run(
        source, "f", 1, 50, x=In(x), out=Out(np.zeros(50 * len(names), dtype)), n=np.int32(50)
    )
    numpy_names = {"asinh": "arcsinh", "atan": "arctan"}
    for name, got in zip(names, out.reshape(-1, 50), strict=True):
        want = getattr(np, numpy_names.get(name, name))(x)
        np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps, err_msg=name)


def test_overloads_and_intrinsics_compile_and_agree(rig):
    source = (
        F
        + """f(double* out, float x, double y, int i, unsigned u, long long l) {
        double s, c; float fs, fc, ip; int e;
        sincos(y, &s, &c); sincosf(x, &fs, &fc);
        int k = 0;
        out[k++] = sizeof(sin(x)) == 4 && sizeof(pow(x, 2)) == 4 && sizeof(pow(x, y)) == 8;
        out[k++] = s - sin(y); out[k++] = fc - cosf(x);
        out[k++] = frexp(y, &e) * 1000 + e; out[k++] = modff(2.75f, &ip) + ip;
        out[k++] = sqrt(16); out[k++] = pow(2, 10); out[k++] = atan2(y, 1);
        out[k++] = min(i, 3) + max(1.5f, x) + max(u, 1u) + min(l, 5LL);
        out[k++] = __popc(u) + __clz(1) + __ffs(8) + __clzll(0) + __popcll(~0ULL);
        out[k++] = __umulhi(0x80000000u, 6u) + __mulhi(-2, 5); out[k++] = __brev(1u);
        out[k++] = __float2int_rn(2.5f) + __double2int_rz(-3.9) + __float2int_ru(1.1f);
        out[k++] = __double2int_rz(1e30); out[k++] = __float2uint_rz(-5.f);
        out[k++] = __double2ll_rz(NAN) == (long long)(1ULL << 63);
        out[k++] = __int_as_float(0x3fc00000) + __hiloint2double(0x40080000, 0);
        out[k++] = isnan(NAN) + isinf(INFINITY) + isfinite(x) + signbit(-0.0) + isnan(x);
        out[k++] = rsqrt(4.0f) + sinpi(0.5) + cospi(1.0f) + exp10(2.0) + __frcp_rn(4.0f);
        out[k++] = copysign(3.0, -0.0) + fmod(7.5, 2) + hypot(3.0f, 4.0f) + ldexp(1.0, 4);
        out[k++] = abs(-2) + abs(-2.5f) + abs(-3.5) + llabs(-4LL) + fabs(-1);
        out[k++] = __byte_perm(0x11223344, 0x55667788, 0x7531);
        out[k++] = __funnelshift_l(0x80000000u, 1u, 1) + __ldg(&out[0]);
        out[k++] = __saturatef(7.0f) + __fmaf_rn(2.f, 3.f, 4.f) + warpSize;
        out[k++] = erf(0.0) + tgamma(5.0) + lgamma(1.0) + nextafter(1.0, 0.0) + round(2.5);
        out[k++] = max(i, 2u);
        out[k++] = remainder(5.0, 3.0) + fdim(5.0, 3.0) + cbrt(27.0) + lrint(2.5) + ilogb(8.0);
    }"""
    )
    y = 0.7
    out = rig.run(
        source,
        "f",
        1,
        1,
        out=Out(np.zeros(27)),
        x=np.float32(0.3),
        y=np.float64(y),
        i=np.int32(-7),
        u=np.uint32(0xF0),
        l=np.int64(9),
    )
    expected = [
        1, 0, 0, 700, 2.75, 4, 1024, np.arctan(y),
        -7 + 1.5 + 240 + 5, 4 + 31 + 4 + 64 + 64, 3 - 1, 2**31,
        2 - 3 + 2, 2**31 - 1, 0, 1, 1.5 + 3, 4, 0.5 + 1 - 1 + 100 + 0.25,
        -3 + 1.5 + 5 + 16, 2 + 2.5 + 3.5 + 4 + 1, 0x55771133, 3 + 1, 1 + 10 + 32,
        24 + np.nextafter(1, 0) + 3, 2**32 - 7, -1 + 2 + 3 + 2 + 3,
    ]  # fmt: skip
    np.testing.assert_array_equal(out, expected)


def test_integers_wrap(rig):
    source = (
        F
        + """f(int* out, int big, long long* wide, long long huge, unsigned* u) {
        out[0] = big + 1; out[1] = big * 2; out[2] = -(big + 1);
        out[3] = (big + 1 > big); wide[0] = huge + 1; u[0] = 0u - 1u;
    }"""
    )
    out, wide, u = rig.run(
        source,
        "f",
        1,
        1,
        out=Out(np.zeros(4, np.int32)),
        big=np.int32(2**31 - 1),
        wide=Out(np.zeros(1, np.int64)),
        huge=np.int64(2**63 - 1),
        u=Out(np.zeros(1, np.uint32)),
    )
    assert out.tolist() == [-(2**31), -2, -(2**31), 0]
    assert wide[0] == -(2**63)
    assert u[0] == 2**32 - 1


def test_memory_functions_and_known_includes(rig):
    source = (
        "#include <cstdint>\n#include <cuda_runtime.h>\n#include <math.h>\n"
        + F
        + """f(uint8_t* a, const int64_t* b) {
        memset(a, 7, 4);
        memcpy(a + 8, b, sizeof(int64_t));
    }"""
    )
    out = rig.run(source, "f", 1, 1, a=np.zeros(16, np.uint8), b=In(np.array([-1], np.int64)))
    assert out.tolist() == [7] * 4 + [0] * 4 + [255] * 8


def test_printf_goes_to_stdout(rig, capfd):
    source = F + 'f() { printf("thread %d: %.1f\\n", threadIdx.x, 1.5); }'
    rig.run(source, "f", 1, 2)
    assert capfd.readouterr().out == "thread 0: 1.5\nthread 1: 1.5\n"


def test_a_spin_on_earlier_blocks_ends(rig):
    source = (
        F
        + """f(volatile int* flag, int* out) {
        if (threadIdx.x == 0) {
            int before = 0;
            if (blockIdx.x) while (!(before = flag[blockIdx.x - 1])) __nanosleep(20);
            out[blockIdx.x] = before + 1;
            __threadfence();
            flag[blockIdx.x] = before + 1;
        }
        __syncthreads();
    }"""
    )
    flag = np.zeros(20, np.int32)
    _, out = rig.run(source, "f", 20, 32, flag=flag, out=Out(flag))
    assert out.tolist() == list(range(1, 21))
