// Mathematics: the C functions with CUDA's overloads, and the device intrinsics.
//
// Values come from the host's libm, so they may differ from a GPU's in the last places. Plain
// arithmetic, sqrt and conversions are exact on both.

#define INFINITY __builtin_huge_valf()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_huge_val()
#define HUGE_VALF __builtin_huge_valf()
#define CUDART_INF __builtin_huge_val()
#define CUDART_INF_F __builtin_huge_valf()
#define CUDART_NAN __builtin_nan("")
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_PI 3.1415926535897931e+0
#define CUDART_PI_F 3.141592654f
#define CUDART_PIO2 1.5707963267948966e+0
#define CUDART_PIO2_F 1.570796327f
#define CUDART_PIO4 7.8539816339744828e-1
#define CUDART_PIO4_F 0.785398163f
#define CUDART_SQRT_TWO 1.4142135623730951e+0
#define CUDART_SQRT_TWO_F 1.414213562f
#define CUDART_MIN_DENORM __DBL_DENORM_MIN__
#define CUDART_MIN_DENORM_F __FLT_DENORM_MIN__
#define CUDART_MAX_NORMAL_F __FLT_MAX__
#define M_PI 3.14159265358979323846
#define M_E 2.7182818284590452354
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

// ---- the C functions -----------------------------------------------------------------------

template <class T> struct __sim_promote {};
template <> struct __sim_promote<bool> { typedef double type; };
template <> struct __sim_promote<char> { typedef double type; };
template <> struct __sim_promote<signed char> { typedef double type; };
template <> struct __sim_promote<unsigned char> { typedef double type; };
template <> struct __sim_promote<short> { typedef double type; };
template <> struct __sim_promote<unsigned short> { typedef double type; };
template <> struct __sim_promote<int> { typedef double type; };
template <> struct __sim_promote<unsigned> { typedef double type; };
template <> struct __sim_promote<long> { typedef double type; };
template <> struct __sim_promote<unsigned long> { typedef double type; };
template <> struct __sim_promote<long long> { typedef double type; };
template <> struct __sim_promote<unsigned long long> { typedef double type; };

#define __SIM_MATH1(name)                                                                      \
  extern "C" double name(double);                                                              \
  extern "C" float name##f(float);                                                             \
  __SIM_FN float name(float x) { return name##f(x); }                                          \
  template <class T> __SIM_FN typename __sim_promote<T>::type name(T x) { return name((double)x); }
#define __SIM_MATH2(name)                                                                      \
  extern "C" double name(double, double);                                                      \
  extern "C" float name##f(float, float);                                                      \
  __SIM_FN float name(float x, float y) { return name##f(x, y); }                              \
  __SIM_FN double name(double x, float y) { return name(x, (double)y); }                       \
  __SIM_FN double name(float x, double y) { return name((double)x, y); }                       \
  template <class T> __SIM_FN typename __sim_promote<T>::type name(T x, double y) {            \
    return name((double)x, y);                                                                 \
  }                                                                                            \
  template <class T> __SIM_FN typename __sim_promote<T>::type name(double x, T y) {            \
    return name(x, (double)y);                                                                 \
  }                                                                                            \
  template <class T> __SIM_FN typename __sim_promote<T>::type name(T x, float y) {             \
    return name((double)x, (double)y);                                                         \
  }                                                                                            \
  template <class T> __SIM_FN typename __sim_promote<T>::type name(float x, T y) {             \
    return name((double)x, (double)y);                                                         \
  }
#define __SIM_MATH_INT(name, R)                                                                \
  extern "C" R name(double);                                                                   \
  extern "C" R name##f(float);                                                                 \
  __SIM_FN R name(float x) { return name##f(x); }

__SIM_MATH1(sin) __SIM_MATH1(cos) __SIM_MATH1(tan) __SIM_MATH1(asin) __SIM_MATH1(acos)
__SIM_MATH1(atan) __SIM_MATH1(sinh) __SIM_MATH1(cosh) __SIM_MATH1(tanh) __SIM_MATH1(asinh)
__SIM_MATH1(acosh) __SIM_MATH1(atanh) __SIM_MATH1(exp) __SIM_MATH1(exp2) __SIM_MATH1(exp10)
__SIM_MATH1(expm1) __SIM_MATH1(log) __SIM_MATH1(log2) __SIM_MATH1(log10) __SIM_MATH1(log1p)
__SIM_MATH1(logb) __SIM_MATH1(sqrt) __SIM_MATH1(cbrt) __SIM_MATH1(fabs) __SIM_MATH1(floor)
__SIM_MATH1(ceil) __SIM_MATH1(trunc) __SIM_MATH1(round) __SIM_MATH1(rint) __SIM_MATH1(nearbyint)
__SIM_MATH1(erf) __SIM_MATH1(erfc) __SIM_MATH1(tgamma) __SIM_MATH1(lgamma)
__SIM_MATH2(atan2) __SIM_MATH2(pow) __SIM_MATH2(hypot) __SIM_MATH2(fmod) __SIM_MATH2(remainder)
__SIM_MATH2(copysign) __SIM_MATH2(nextafter) __SIM_MATH2(fdim) __SIM_MATH2(fmin) __SIM_MATH2(fmax)
__SIM_MATH_INT(ilogb, int) __SIM_MATH_INT(lrint, long) __SIM_MATH_INT(llrint, long long)
__SIM_MATH_INT(lround, long) __SIM_MATH_INT(llround, long long)

// pow, fmin and fmax of two integers are ambiguous above; C++ makes them double.
__SIM_FN double pow(int x, int y) { return pow((double)x, (double)y); }
__SIM_FN float pow(float x, int y) { return powf(x, (float)y); }

extern "C" {
double fma(double, double, double);
float fmaf(float, float, float);
double ldexp(double, int);
float ldexpf(float, int);
double scalbn(double, int);
float scalbnf(float, int);
double frexp(double, int*);
float frexpf(float, int*);
double modf(double, double*);
float modff(float, float*);
double remquo(double, double, int*);
float remquof(float, float, int*);
double j0(double);
double j1(double);
double y0(double);
double y1(double);
}
__SIM_FN float fma(float x, float y, float z) { return fmaf(x, y, z); }
__SIM_FN float ldexp(float x, int n) { return ldexpf(x, n); }
__SIM_FN float scalbn(float x, int n) { return scalbnf(x, n); }
// What is written through a pointer goes by way of a local, so that the store is a checked one.
#define __SIM_OUT(name, T, P, f)                                                               \
  __SIM_FN T name(T x, P* out) {                                                               \
    P part;                                                                                    \
    T whole = f(x, &part);                                                                     \
    *out = part;                                                                               \
    return whole;                                                                              \
  }
__SIM_OUT(__sim_frexp, double, int, frexp)
__SIM_OUT(__sim_frexpf, float, int, frexpf)
__SIM_OUT(__sim_modf, double, double, modf)
__SIM_OUT(__sim_modff, float, float, modff)
__SIM_FN float __sim_frexp(float x, int* e) { return __sim_frexpf(x, e); }
__SIM_FN float __sim_modf(float x, float* i) { return __sim_modff(x, i); }
#define frexp(x, e) __sim_frexp(x, e)
#define frexpf(x, e) __sim_frexpf(x, e)
#define modf(x, i) __sim_modf(x, i)
#define modff(x, i) __sim_modff(x, i)

__SIM_FN void sincos(double x, double* s, double* c) { *s = sin(x), *c = cos(x); }
__SIM_FN void sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
__SIM_FN void sincos(float x, float* s, float* c) { sincosf(x, s, c); }
__SIM_FN double rsqrt(double x) { return 1.0 / sqrt(x); }
__SIM_FN float rsqrtf(float x) { return 1.0f / sqrtf(x); }
__SIM_FN float rsqrt(float x) { return rsqrtf(x); }
__SIM_FN double rcbrt(double x) { return 1.0 / cbrt(x); }
__SIM_FN float rcbrtf(float x) { return 1.0f / cbrtf(x); }
__SIM_FN double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
__SIM_FN float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }

// sin(pi * x) and cos(pi * x): reduced exactly first, so that integers and halves come out exact.
__SIM_FN double sinpi(double x) {
  const double r = remainder(x, 2.0), a = fabs(r);
  if (a == 0.0 || a == 1.0) return copysign(0.0, x);
  return a > 0.5 ? sin(M_PI * copysign(1.0 - a, r)) : sin(M_PI * r);
}
__SIM_FN double cospi(double x) {
  const double a = fabs(remainder(x, 2.0));
  if (a == 0.5) return 0.0;
  return a > 0.5 ? -cos(M_PI * (1.0 - a)) : cos(M_PI * a);
}
__SIM_FN float sinpif(float x) { return (float)sinpi((double)x); }
__SIM_FN float cospif(float x) { return (float)cospi((double)x); }
__SIM_FN float sinpi(float x) { return sinpif(x); }
__SIM_FN float cospi(float x) { return cospif(x); }

#define __SIM_CLASSIFY(f, builtin)                                                             \
  __SIM_FN bool f(float x) { return builtin(x) != 0; }                                         \
  __SIM_FN bool f(double x) { return builtin(x) != 0; }
__SIM_CLASSIFY(isnan, __builtin_isnan)
__SIM_CLASSIFY(isinf, __builtin_isinf)
__SIM_CLASSIFY(isfinite, __builtin_isfinite)
__SIM_CLASSIFY(isnormal, __builtin_isnormal)
__SIM_CLASSIFY(signbit, __builtin_signbit)
__SIM_FN double nan(const char*) { return __builtin_nan(""); }
__SIM_FN float nanf(const char*) { return __builtin_nanf(""); }

extern "C" int abs(int);
__SIM_FN long abs(long x) { return x < 0 ? -x : x; }
__SIM_FN long long abs(long long x) { return x < 0 ? -x : x; }
__SIM_FN float abs(float x) { return fabsf(x); }
__SIM_FN double abs(double x) { return fabs(x); }
__SIM_FN long labs(long x) { return x < 0 ? -x : x; }
__SIM_FN long long llabs(long long x) { return x < 0 ? -x : x; }

#define __SIM_MINMAX(T)                                                                        \
  __SIM_FN T min(T x, T y) { return y < x ? y : x; }                                           \
  __SIM_FN T max(T x, T y) { return x < y ? y : x; }
#define __SIM_MINMAX_MIXED(T, U, R)                                                            \
  __SIM_FN R min(T x, U y) { return min((R)x, (R)y); }                                         \
  __SIM_FN R min(U x, T y) { return min((R)x, (R)y); }                                         \
  __SIM_FN R max(T x, U y) { return max((R)x, (R)y); }                                         \
  __SIM_FN R max(U x, T y) { return max((R)x, (R)y); }
__SIM_MINMAX(int)
__SIM_MINMAX(unsigned)
__SIM_MINMAX(long)
__SIM_MINMAX(unsigned long)
__SIM_MINMAX(long long)
__SIM_MINMAX(unsigned long long)
__SIM_FN float min(float x, float y) { return fminf(x, y); }
__SIM_FN float max(float x, float y) { return fmaxf(x, y); }
__SIM_FN double min(double x, double y) { return fmin(x, y); }
__SIM_FN double max(double x, double y) { return fmax(x, y); }
__SIM_MINMAX_MIXED(int, unsigned, unsigned)
__SIM_MINMAX_MIXED(long, unsigned long, unsigned long)
__SIM_MINMAX_MIXED(long long, unsigned long long, unsigned long long)
__SIM_MINMAX_MIXED(float, double, double)
__SIM_FN int umin(unsigned x, unsigned y) { return min(x, y); }
__SIM_FN int umax(unsigned x, unsigned y) { return max(x, y); }

// ---- bits ----------------------------------------------------------------------------------

template <class T, class F> __SIM_FN T __sim_bits(F v) {
  static_assert(sizeof(T) == sizeof(F), "");
  T t;
  __builtin_memcpy(&t, &v, sizeof(T));
  return t;
}
__SIM_FN int __float_as_int(float x) { return __sim_bits<int>(x); }
__SIM_FN unsigned __float_as_uint(float x) { return __sim_bits<unsigned>(x); }
__SIM_FN float __int_as_float(int x) { return __sim_bits<float>(x); }
__SIM_FN float __uint_as_float(unsigned x) { return __sim_bits<float>(x); }
__SIM_FN long long __double_as_longlong(double x) { return __sim_bits<long long>(x); }
__SIM_FN double __longlong_as_double(long long x) { return __sim_bits<double>(x); }
__SIM_FN int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
__SIM_FN int __double2loint(double x) { return (int)__double_as_longlong(x); }
__SIM_FN double __hiloint2double(int hi, int lo) {
  return __longlong_as_double((long long)(((__sim_u64)(unsigned)hi << 32) | (unsigned)lo));
}
__SIM_FN int __popc(unsigned x) { return __builtin_popcount(x); }
__SIM_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__SIM_FN int __clz(int x) { return x ? __builtin_clz(x) : 32; }
__SIM_FN int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
__SIM_FN int __ffs(int x) { return __builtin_ffs(x); }
__SIM_FN int __ffsll(long long x) { return __builtin_ffsll(x); }
static unsigned long long __brevll(unsigned long long x) {
  unsigned long long r = 0;
  for (int i = 0; i < 64; ++i) r |= (x >> i & 1) << (63 - i);
  return r;
}
__SIM_FN unsigned __brev(unsigned x) { return (unsigned)(__brevll(x) >> 32); }
__SIM_FN unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
  const __sim_u64 bytes = (__sim_u64)y << 32 | x;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned pick = s >> 4 * i & 0xF, byte = bytes >> 8 * (pick & 7) & 0xFF;
    r |= (pick & 8 ? (byte & 0x80 ? 0xFFu : 0u) : byte) << 8 * i;
  }
  return r;
}
__SIM_FN unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
  return (unsigned)((((__sim_u64)hi << 32 | lo) << (n & 31)) >> 32);
}
__SIM_FN unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
  return (unsigned)(((__sim_u64)hi << 32 | lo) >> (n & 31));
}

// ---- integer arithmetic --------------------------------------------------------------------

__SIM_FN int __mulhi(int x, int y) { return (int)(((long long)x * y) >> 32); }
__SIM_FN unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)(((__sim_u64)x * y) >> 32); }
__SIM_FN long long __mul64hi(long long x, long long y) {
  return (long long)(((__int128)x * y) >> 64);
}
__SIM_FN unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return (unsigned long long)(((unsigned __int128)x * y) >> 64);
}
__SIM_FN int __mul24(int x, int y) { return (x << 8 >> 8) * (y << 8 >> 8); }
__SIM_FN unsigned __umul24(unsigned x, unsigned y) { return (x & 0xFFFFFF) * (y & 0xFFFFFF); }
__SIM_FN int __hadd(int x, int y) { return (int)(((long long)x + y) >> 1); }
__SIM_FN int __rhadd(int x, int y) { return (int)(((long long)x + y + 1) >> 1); }
__SIM_FN unsigned __sad(int x, int y, unsigned z) {
  return z + (x > y ? (unsigned)x - (unsigned)y : (unsigned)y - (unsigned)x);
}
__SIM_FN unsigned __usad(unsigned x, unsigned y, unsigned z) { return z + (x > y ? x - y : y - x); }

// ---- float arithmetic ----------------------------------------------------------------------

__SIM_FN float __fadd_rn(float x, float y) { return x + y; }
__SIM_FN float __fsub_rn(float x, float y) { return x - y; }
__SIM_FN float __fmul_rn(float x, float y) { return x * y; }
__SIM_FN float __fdiv_rn(float x, float y) { return x / y; }
__SIM_FN float __frcp_rn(float x) { return 1.0f / x; }
__SIM_FN float __fsqrt_rn(float x) { return sqrtf(x); }
__SIM_FN float __frsqrt_rn(float x) { return (float)(1.0 / sqrt((double)x)); }
__SIM_FN float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
__SIM_FN double __dadd_rn(double x, double y) { return x + y; }
__SIM_FN double __dsub_rn(double x, double y) { return x - y; }
__SIM_FN double __dmul_rn(double x, double y) { return x * y; }
__SIM_FN double __ddiv_rn(double x, double y) { return x / y; }
__SIM_FN double __drcp_rn(double x) { return 1.0 / x; }
__SIM_FN double __dsqrt_rn(double x) { return sqrt(x); }
__SIM_FN double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
__SIM_FN float __fdividef(float x, float y) { return x / y; }
__SIM_FN float fdividef(float x, float y) { return x / y; }
__SIM_FN float __expf(float x) { return expf(x); }
__SIM_FN float __exp10f(float x) { return exp10f(x); }
__SIM_FN float __logf(float x) { return logf(x); }
__SIM_FN float __log2f(float x) { return log2f(x); }
__SIM_FN float __log10f(float x) { return log10f(x); }
__SIM_FN float __sinf(float x) { return sinf(x); }
__SIM_FN float __cosf(float x) { return cosf(x); }
__SIM_FN float __tanf(float x) { return tanf(x); }
__SIM_FN float __powf(float x, float y) { return powf(x, y); }
__SIM_FN void __sincosf(float x, float* s, float* c) { sincosf(x, s, c); }
__SIM_FN float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

// ---- conversions ---------------------------------------------------------------------------

// As on a GPU: out of range saturates; NaN gives 0, or the top bit alone for 64-bit results.
template <class T> __SIM_FN T __sim_to_integer(double x) {
  const T low = (T)-1 < 0 ? (T)((__sim_u64)1 << (8 * sizeof(T) - 1)) : (T)0;
  const T high = (T)~low;
  if (x != x) return sizeof(T) == 8 ? (T)((__sim_u64)1 << 63) : (T)0;
  if (x <= (double)low) return low;
  if (x >= (double)high) return high;
  return (T)x;
}
#define __SIM_CONVERT(from, F, to, T)                                                          \
  __SIM_FN T __##from##2##to##_rz(F x) { return __sim_to_integer<T>(trunc((double)x)); }       \
  __SIM_FN T __##from##2##to##_rn(F x) { return __sim_to_integer<T>(nearbyint((double)x)); }   \
  __SIM_FN T __##from##2##to##_rd(F x) { return __sim_to_integer<T>(floor((double)x)); }       \
  __SIM_FN T __##from##2##to##_ru(F x) { return __sim_to_integer<T>(ceil((double)x)); }
__SIM_CONVERT(float, float, int, int)
__SIM_CONVERT(float, float, uint, unsigned)
__SIM_CONVERT(float, float, ll, long long)
__SIM_CONVERT(float, float, ull, unsigned long long)
__SIM_CONVERT(double, double, int, int)
__SIM_CONVERT(double, double, uint, unsigned)
__SIM_CONVERT(double, double, ll, long long)
__SIM_CONVERT(double, double, ull, unsigned long long)
__SIM_FN float __int2float_rn(int x) { return (float)x; }
__SIM_FN float __uint2float_rn(unsigned x) { return (float)x; }
__SIM_FN float __ll2float_rn(long long x) { return (float)x; }
__SIM_FN float __ull2float_rn(unsigned long long x) { return (float)x; }
__SIM_FN double __int2double_rn(int x) { return (double)x; }
__SIM_FN double __uint2double_rn(unsigned x) { return (double)x; }
__SIM_FN double __ll2double_rn(long long x) { return (double)x; }
__SIM_FN double __ull2double_rn(unsigned long long x) { return (double)x; }
__SIM_FN float __double2float_rn(double x) { return (float)x; }
