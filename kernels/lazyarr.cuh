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

// Signed zeros: max(+0, -0) is +0 and min(+0, -0) is -0 in either order, so that a reduction does not
// depend on its order. The hardware has just that in one instruction, but for float alone.
#define LZ_EXTREMES(F)                                                                             \
    LZ_FN F lz_max(F a, F b) { return a != a || a > b ? a : a == b && a == 0 ? a + b : b; }        \
    LZ_FN F lz_min(F a, F b) { return a != a || a < b ? a : a == b && a == 0 ? -(-a - b) : b; }

LZ_EXTREMES(double)

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
LZ_FN float lz_max(float a, float b) {
    float c;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}

LZ_FN float lz_min(float a, float b) {
    float c;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}
#else
LZ_EXTREMES(float)
#endif

// S is the suffix of C's functions for F.
#define LZ_FLOAT_FUNCTIONS(F, S)                                                                   \
    LZ_FN bool lz_isinf(F x) { return fabs##S(x) == lz_inf<F>(); }                                 \
    LZ_FN bool lz_isfinite(F x) { return fabs##S(x) < lz_inf<F>(); }                               \
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

// CUDA's log10f, coshf and atanh are further off than its manual says where a * b + c is not
// contracted. These are of operations that IEEE 754 rounds, with minimax polynomials. Over all
// floats log10 and cosh are off by 0.69 and 1.41 ulp at most. log10 is by 2^e m, 2/3 <= m < 4/3;
// u - u^2/2 and its product with 1/ln 10 are kept in two floats.
LZ_FN double lz_log10(double x) { return log10(x); }
LZ_FN double lz_cosh(double x) { return cosh(x); }

LZ_FN float lz_log10(float x) {
    if (!(x > 0 && x < lz_inf<float>()))
        return x == 0 ? -lz_inf<float>() : x < 0 ? (x - x) / (x - x) : x;
    union { float value; int bits; } m = {x};
    int e = 0;
    if (m.bits < 0x00800000) {
        m.value = x * 8388608.0f;
        e = -23;
    }
    const int k = (m.bits - 0x3f2aaaab) >> 23;
    e += k;
    m.bits -= k << 23;
    const float u = m.value - 1, q = u * u, q_low = fmaf(u, u, -q);
    float p = 0.11441311240196228f;
    p = fmaf(p, u, -0.1242661327123642f);
    p = fmaf(p, u, 0.10891196131706238f);
    p = fmaf(p, u, -0.12287867814302444f);
    p = fmaf(p, u, 0.14293552935123444f);
    p = fmaf(p, u, -0.16673363745212555f);
    p = fmaf(p, u, 0.1999991089105606f);
    p = fmaf(p, u, -0.24999943375587463f);
    p = fmaf(p, u, 0.3333333432674408f);
    const float s = u - 0.5f * q;
    const float s_low = fmaf(q * u, p, (u - s) - 0.5f * q - 0.5f * q_low);
    const float t = s * 0.4342944920063019f;
    const float rest = fmaf(s, -1.0103050118726031e-08f, s_low * 0.4342944920063019f);
    const float t_low = fmaf(s, 0.4342944920063019f, -t) + rest;
    if (e == 0) return t + t_low;
    const float whole = e * 0.301025390625f, sum = whole + t;  // whole is exact
    return sum + ((whole - sum) + t + fmaf((float)e, 4.6050389811980175e-06f, t_low));
}

LZ_FN float lz_cosh(float x) {
    const float a = fabsf(x);
    if (!(a < 89.5f)) return a != a ? a : lz_inf<float>();
    const float n = rintf(a * 1.44269504f);
    const float r = fmaf(n, -0.693145751953125f, a), d = n * 1.428606765330187e-06f;
    const float h = r - d, low = (r - h) - d;
    float p = fmaf(0.0013901281636208296f, h, 0.008363141678273678f);
    p = fmaf(p, h, 0.04166685417294502f);
    p = fmaf(p, h, 0.16666577756404877f);
    p = fmaf(p, h, 0.5f);
    const float t = fmaf(h * h, p, low);
    union { int bits; float value; } scale = {((int)n + 125) << 23};  // 2^(n - 2)
    const float e = (1 + (h + t)) * scale.value * 2;  // exp(a) / 2
    return e + 0.25f / e;
}

// atanh(x) is half the logarithm of 2^e m = (1 + x) / (1 - x), 0.9 <= m <= 1.8; half of log(m) is
// atanh of (m - 1) / (m + 1) < 0.29. At most 1.4 ulp.
LZ_FN float lz_atanh(float x) {
    const float a = fabsf(x);
    if (!(a < 1)) return a == 1 ? copysignf(lz_inf<float>(), x) : (x - x) / (x - x);
    float s = a, whole = 0, low = 0;
    if (a > 0.2857f) {
        const float n = 1 + a, d = 1 - a, n_low = a - (n - 1), d_low = (1 - d) - a;
        union { float value; int bits; } u = {d};
        int e = 127 - (u.bits >> 23);
        union { int bits; float value; } scale = {(127 + e) << 23};
        float f = d * scale.value;
        if (n > 1.8f * f || n < 0.9f * f) {
            const float step = n > 1.8f * f ? 2.0f : 0.5f;
            f *= step;
            scale.value *= step;
            e += step > 1 ? 1 : -1;
        }
        s = ((n - f) + (n_low - d_low * scale.value)) / (n + f);
        whole = e * 0.3465728759765625f;
        low = e * 7.143033826650935e-07f;
    }
    const float z = s * s;
    float r = 0.10881221294403076f;
    r = fmaf(r, z, 0.10976976901292801f);
    r = fmaf(r, z, 0.1428973227739334f);
    r = fmaf(r, z, 0.1999995857477188f);
    r = fmaf(r, z, 0.3333333432674408f);
    const float t = fmaf(s * z, r, low);
    return copysignf(whole == 0 ? s + t : whole + (s + t), x);
}

LZ_FN double lz_atanh(double x) {
    const double a = fabs(x);
    if (!(a < 1)) return a == 1 ? copysign(lz_inf<double>(), x) : (x - x) / (x - x);
    double s = a, whole = 0, low = 0;
    if (a > 0.2857) {
        const double n = 1 + a, d = 1 - a, n_low = a - (n - 1), d_low = (1 - d) - a;
        union { double value; long long bits; } u = {d};
        int e = 1023 - (int)(u.bits >> 52);
        union { long long bits; double value; } scale = {(long long)(1023 + e) << 52};
        double f = d * scale.value;
        if (n > 1.8 * f || n < 0.9 * f) {
            const double step = n > 1.8 * f ? 2.0 : 0.5;
            f *= step;
            scale.value *= step;
            e += step > 1 ? 1 : -1;
        }
        s = ((n - f) + (n_low - d_low * scale.value)) / (n + f);
        whole = e * 0.3465735902796041;
        low = e * 3.6855012825838994e-13;
    }
    const double z = s * s;
    double r = 0.07021599175230794;
    r = fma(r, z, 0.04837761814248472);
    r = fma(r, z, 0.05925098831365027);
    r = fma(r, z, 0.06664108418594034);
    r = fma(r, z, 0.07692401753457641);
    r = fma(r, z, 0.09090906994694965);
    r = fma(r, z, 0.11111111137865225);
    r = fma(r, z, 0.1428571428554125);
    r = fma(r, z, 0.20000000000000434);
    r = fma(r, z, 0.3333333333333333);
    const double t = fma(s * z, r, low);
    return copysign(whole == 0 ? s + t : whole + (s + t), x);
}

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

// ---- variance -------------------------------------------------------------------------------------
// In one reading, by distances from a shift that is near the data, and by the pairwise formula of
// Chan, Golub and LeVeque, Algorithms for computing the sample variance (1983). In double throughout.

// What a lane has seen: n elements, the sum of their distances from `shift`, and of the squares.
struct lz_distances { double shift, sum, squares; int n; };

// n elements with mean `shift + offset`, and the squares of their distances from it. The mean is a sum
// of two, because means are subtracted, and may be large beside their differences.
struct lz_moments { double n, shift, offset, squares; };

// 1 / n of a power of two, exactly.
LZ_FN double lz_inverse(int n) {
    union { double value; unsigned long long bits; } inverse = {(double)n};
    inverse.bits = 0x7fe0000000000000ull - inverse.bits;
    return inverse.value;
}

// The shift is a lane's first element. That is near enough for float, whose rounding is coarser by
// 2^29; for double it moves to the mean at 2, 4, 8, .. elements: then at most half of `squares`
// cancels in the end, wherever the first elements lie.
template <class T> LZ_FN lz_distances lz_add_distance(lz_distances a, T x) {
    if (a.n == 0) a.shift = x;
    const double d = x - a.shift;
    a.sum += d;
    a.squares += d * d;
    a.n += 1;
    if (sizeof(T) == 8 && (a.n & (a.n - 1)) == 0) {
        const double shift = a.shift + a.sum * lz_inverse(a.n), moved = shift - a.shift;
        const double sum = a.sum - a.n * moved;
        if (a.squares < lz_inf<double>()) a.squares -= moved * (a.sum + sum);
        a.sum = sum;
        a.shift = shift;
    }
    return a;
}

// Divisions take most of the time that is not reading: the common ones are products of the same bits.
LZ_FN lz_moments lz_settle(lz_distances a) {
    if (a.n == 0) return lz_moments();
    const double offset = (a.n & (a.n - 1)) == 0 ? a.sum * lz_inverse(a.n) : a.sum / a.n;
    const double squares = a.squares - a.sum * offset;
    const bool overflow = squares != squares && lz_isfinite(a.sum);
    lz_moments m = {(double)a.n, a.shift, offset, overflow ? a.squares : squares};
    return m;
}

LZ_FN lz_moments lz_join(lz_moments a, lz_moments b) {
    if (b.n == 0) return a;
    if (a.n == 0) return b;
    const double n = a.n + b.n, share = a.n == b.n ? 0.5 : b.n / n;
    const double apart = b.shift - a.shift + (b.offset - a.offset);
    lz_moments m = {n, a.shift, a.offset + apart * share,
                    a.squares + b.squares + apart * apart * (a.n * share)};
    return m;
}

#endif
