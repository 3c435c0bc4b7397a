// Device functions that generated expressions call: the op table (lazyarr/graph/optable.py) names
// them. No includes, so that NVRTC parses it in a few milliseconds and a C++ compiler takes it with
// a header that supplies the CUDA words. C's maths functions are called by their C names (fmodf and
// fmod), because without <cmath> there are no overloads. Needs no contraction of a * b + c to FMA.
#ifndef LAZYARR_CUH
#define LAZYARR_CUH

#define LZ_FN __device__ __forceinline__

// ---- integers -----------------------------------------------------------------------------------
// T is the operands' type, W the unsigned type, at least as wide as int, in which arithmetic wraps.

template <class T, class W> LZ_FN T lz_int_floordiv(T a, T b) {
    if (b == 0) return 0;
    if (b == -1) return (T)(0u - (W)a);  // the hardware may trap on the smallest integer
    T q = (T)(a / b);
    return a % b != 0 && (a < 0) != (b < 0) ? (T)(q - 1) : q;
}

template <class T> LZ_FN T lz_int_mod(T a, T b) {
    if (b == 0 || b == -1) return 0;
    T m = (T)(a % b);
    return m != 0 && (m < 0) != (b < 0) ? (T)(m + b) : m;
}

template <class T, class W> LZ_FN T lz_int_pow(T a, T b) {
    if (b < (T)1 && b != 0) return a == 1 ? a : a != (T)-1 ? (T)0 : (b & 1) ? a : (T)1;
    W r = 1, x = (W)a;
    for (W e = (W)b; e != 0; e >>= 1, x *= x)
        if (e & 1) r *= x;
    return (T)r;
}

template <class T, class W> LZ_FN T lz_shl(T a, T b) {
    return (unsigned long long)b >= 8 * sizeof(T) ? (T)0 : (T)((W)a << b);
}

template <class T, class W> LZ_FN T lz_shr(T a, T b) {
    const int last = 8 * sizeof(T) - 1;
    return (unsigned long long)b > last ? (T)((a >> last) >> 1) : (T)(a >> b);
}

// Float to integer: truncates, saturates, and gives 0 for NaN.
template <class T, class F> LZ_FN T lz_saturate(F x) {
    const bool is_signed = (T)-1 < (T)1;
    const int bits = 8 * sizeof(T) - is_signed;
    const F top = (F)(1ull << (bits - 1)) * 2;  // one past the maximum, which may not be an F
    const T max = (T)(~0ull >> (64 - bits)), min = (T)(is_signed ? ~max : 0);
    if (x >= top) return max;
    return x > (F)min ? (T)x : x != x ? (T)0 : min;
}

// ---- floats -------------------------------------------------------------------------------------

template <class T> LZ_FN T lz_inf();

template <> __device__ __forceinline__ float lz_inf<float>() {
    union { unsigned int bits; float value; } u = {0x7f800000u};
    return u.value;
}

template <> __device__ __forceinline__ double lz_inf<double>() {
    union { unsigned long long bits; double value; } u = {0x7ff0000000000000ull};
    return u.value;
}

// S is the suffix of C's functions for F. Signed zeros: max(+0, -0) is +0 and min(+0, -0) is -0 in
// either order, so that a reduction does not depend on its order.
#define LZ_FLOAT_FUNCTIONS(F, S)                                                                   \
    LZ_FN bool lz_isinf(F x) { return fabs##S(x) == lz_inf<F>(); }                                 \
    LZ_FN bool lz_isfinite(F x) { return fabs##S(x) < lz_inf<F>(); }                               \
    LZ_FN F lz_max(F a, F b) { return a != a || a > b ? a : a == b && a == 0 ? a + b : b; }        \
    LZ_FN F lz_min(F a, F b) { return a != a || a < b ? a : a == b && a == 0 ? -(-a - b) : b; }    \
    LZ_FN F lz_mod(F a, F b) {                                                                     \
        F m = fmod##S(a, b);                                                                       \
        if (b == 0) return m;                                                                      \
        if (m == 0) return copysign##S((F)0, b);                                                   \
        return (b < 0) != (m < 0) ? m + b : m;                                                     \
    }                                                                                              \
    LZ_FN F lz_floordiv(F a, F b) {                                                                \
        F q = a / b;                                                                               \
        if (b == 0 || lz_isinf(a) || lz_isinf(b)) return q;                                        \
        F m = fmod##S(a, b), d = (a - m) / b;                                                      \
        if (m != 0 && (b < 0) != (m < 0)) d -= 1;                                                  \
        if (d == 0) return copysign##S((F)0, q);                                                   \
        F f = floor##S(d);                                                                         \
        return d - f > (F)0.5 ? f + 1 : f;                                                         \
    }                                                                                              \
    LZ_FN F lz_logaddexp(F a, F b) {                                                               \
        if (a == b) return a + (F)0.693147180559945309417;  /* infinities too */                   \
        F d = a - b;                                                                               \
        return d > 0 ? a + log1p##S(exp##S(-d)) : d <= 0 ? b + log1p##S(exp##S(d)) : d;            \
    }

LZ_FLOAT_FUNCTIONS(float, f)
LZ_FLOAT_FUNCTIONS(double, )

// ---- complex ------------------------------------------------------------------------------------

struct alignas(8) lz_c64 { float re, im; };
struct alignas(16) lz_c128 { double re, im; };

// What casts and reductions use; the other functions of complex numbers are in complex.cuh.
#define LZ_COMPLEX_FUNCTIONS(C, F, S)                                                              \
    LZ_FN C lz_complex(F re, F im) { C z = {re, im}; return z; }                                   \
    LZ_FN C lz_add(C a, C b) { return lz_complex(a.re + b.re, a.im + b.im); }                      \
    LZ_FN C lz_sub(C a, C b) { return lz_complex(a.re - b.re, a.im - b.im); }                      \
    LZ_FN C lz_mul(C a, C b) {                                                                     \
        return lz_complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);                   \
    }                                                                                              \
    LZ_FN C lz_div_real(C a, F b) { return lz_complex(a.re / b, a.im / b); }                       \
    LZ_FN C lz_neg(C a) { return lz_complex(-a.re, -a.im); }                                       \
    LZ_FN C lz_conj(C a) { return lz_complex(a.re, -a.im); }                                       \
    LZ_FN C lz_rint(C a) { return lz_complex(rint##S(a.re), rint##S(a.im)); }                      \
    LZ_FN F lz_abs(C a) { return hypot##S(a.re, a.im); }                                           \
    LZ_FN bool lz_eq(C a, C b) { return a.re == b.re && a.im == b.im; }                            \
    LZ_FN bool lz_isinf(C a) { return lz_isinf(a.re) || lz_isinf(a.im); }                          \
    LZ_FN bool lz_isfinite(C a) { return lz_isfinite(a.re) && lz_isfinite(a.im); }

LZ_COMPLEX_FUNCTIONS(lz_c64, float, f)
LZ_COMPLEX_FUNCTIONS(lz_c128, double, )

// ---- index of the extreme element -----------------------------------------------------------------
// The identity's index is larger than any real one, so an equal element replaces it.

template <class T> struct lz_pair { T v; long long k; };

#define lz_no_index 0x7fffffffffffffffll

template <class T> LZ_FN lz_pair<T> lz_make_pair(T v, long long k) {
    lz_pair<T> p = {v, k};
    return p;
}

// Whether a wins over b: NaN over numbers, then the better value, then the lower index.
template <class T> LZ_FN bool lz_before(lz_pair<T> a, lz_pair<T> b, bool better) {
    bool a_nan = a.v != a.v, b_nan = b.v != b.v;
    if (a_nan || b_nan) return a_nan && (!b_nan || a.k < b.k);
    return better || (a.v == b.v && a.k < b.k);
}

template <class T> LZ_FN lz_pair<T> lz_argmax(lz_pair<T> a, lz_pair<T> b) {
    return lz_before(a, b, a.v > b.v) ? a : b;
}

template <class T> LZ_FN lz_pair<T> lz_argmin(lz_pair<T> a, lz_pair<T> b) {
    return lz_before(a, b, a.v < b.v) ? a : b;
}

#endif
