// Complex functions that generated expressions call: the names that begin with lz_c_. A kernel that
// calls none of them is compiled without this file (lazyarr/codegen/emit.py, with_prelude).
//
// Everything is computed in double, with C's functions of real numbers; complex64 is rounded at the
// end, except where float is accurate enough. Special cases are those of the Array API standard,
// which are C99's (annex G) where the standard says nothing. Within 4 ulp of the norm.
//
// Sources: W. Kahan, "Branch cuts for complex elementary functions, or much ado about nothing's sign
// bit" (1987): sqrt, and asin, acos, atanh from square roots of 1 - z and 1 + z, in which nothing
// cancels. T. Hull, T. Fairgrieve, P. Tang, "Implementing complex elementary functions using
// exception handling" (TOMS 20, 1994) and "... complex arcsine and arccosine ..." (TOMS 23, 1997):
// log near the unit circle, and large arguments. M. Baudin, R. Smith, "A robust complex division in
// Scilab" (2012) and annex G: when and how to scale a division.
#ifndef LAZYARR_COMPLEX_CUH
#define LAZYARR_COMPLEX_CUH

#define LZ_C_FN inline __device__

LZ_C_FN lz_c128 lz_c_wide(lz_c64 z) { return lz_complex((double)z.re, (double)z.im); }
LZ_C_FN lz_c64 lz_c_narrow(lz_c128 z) { return lz_complex((float)z.re, (float)z.im); }

// -i z and i z: exact, so that signs of zero and NaN follow from the hyperbolic functions.
LZ_C_FN lz_c128 lz_c_turn(lz_c128 z) { return lz_complex(z.im, -z.re); }
LZ_C_FN lz_c128 lz_c_turn_back(lz_c128 z) { return lz_complex(-z.im, z.re); }

LZ_C_FN bool lz_c_isnan(lz_c128 z) { return z.re != z.re || z.im != z.im; }

#define LZ_C_LN2 0.69314718055994530942
#define LZ_C_PI_2 1.57079632679489661923

// ---- division, sign, square root ----------------------------------------------------------------
// Only operations that IEEE 754 rounds: the same bits on every device and in numpy_ops.

LZ_C_FN double lz_c_larger(lz_c128 z) { return lz_max(fabs(z.re), fabs(z.im)); }
LZ_C_FN lz_c128 lz_c_scale(lz_c128 z, int e) { return lz_complex(ldexp(z.re, e), ldexp(z.im, e)); }
LZ_C_FN lz_c128 lz_c_units(lz_c128 z) {
    return lz_complex(copysign(lz_isinf(z.re) ? 1.0 : 0.0, z.re),
                      copysign(lz_isinf(z.im) ? 1.0 : 0.0, z.im));
}

LZ_C_FN lz_c128 lz_c_over_conj(lz_c128 a, lz_c128 b) {  // a times the conjugate of b
    return lz_complex(a.re * b.re + a.im * b.im, a.im * b.re - a.re * b.im);
}

LZ_C_FN lz_c128 lz_c_textbook_div(lz_c128 a, lz_c128 b) {
    return lz_div_real(lz_c_over_conj(a, b), b.re * b.re + b.im * b.im);
}

LZ_C_FN lz_c128 lz_c_div(lz_c128 a, lz_c128 b) {
    if (b.im == 0) return lz_complex(a.re / b.re, a.im / b.re);
    if (b.re == 0) return lz_complex(a.im / b.im, -(a.re / b.im));
    const double n = lz_c_larger(a), d = lz_c_larger(b);
    if (n > 0x1p-480 && n < 0x1p500 && d > 0x1p-480 && d < 0x1p500) return lz_c_textbook_div(a, b);
    if (lz_isfinite(a) && lz_isfinite(b)) {
        const int top = n == 0 ? 0 : ilogb(n) + 1, bottom = ilogb(d) + 1;
        return lz_c_scale(lz_c_textbook_div(lz_c_scale(a, -top), lz_c_scale(b, -bottom)),
                          top - bottom);
    }
    if (lz_isinf(a) && lz_isfinite(b)) {  // infinite
        const lz_c128 q = lz_c_over_conj(lz_c_units(a), b);
        return lz_complex(lz_inf<double>() * q.re, lz_inf<double>() * q.im);
    }
    if (lz_isinf(b) && lz_isfinite(a)) {  // zero
        const lz_c128 q = lz_c_over_conj(a, lz_c_units(b));
        return lz_complex(0 * q.re, 0 * q.im);
    }
    return lz_c_textbook_div(a, b);
}

LZ_C_FN lz_c128 lz_c_sign(lz_c128 z) {
    const double n = lz_c_larger(z);
    if (n == 0) return lz_complex(0.0, 0.0);
    if (lz_c_isnan(z)) return lz_complex(z.re + z.im, z.re + z.im);
    if (lz_isinf(n)) return lz_div_real(z, n);
    const lz_c128 s = lz_c_scale(z, -(ilogb(n) + 1));
    return lz_div_real(s, sqrt(s.re * s.re + s.im * s.im));
}

LZ_C_FN lz_c128 lz_c_sqrt(lz_c128 z) {
    const double x = z.re, y = z.im;
    if (lz_isinf(y)) return lz_complex(fabs(y), y);
    if (x != x) return lz_complex(x, x);
    if (lz_isinf(x)) {
        const double small = y != y ? y : 0.0;
        return x > 0 ? lz_complex(x, copysign(small, y)) : lz_complex(small, copysign(x, y));
    }
    const double n = lz_c_larger(z);
    if (n == 0) return lz_complex(0.0, y);
    const bool big = n > 0x1p500, tiny = n < 0x1p-400;
    const double scale = big ? 0x1p-600 : tiny ? 0x1p600 : 1.0;
    const double back = big ? 0x1p300 : tiny ? 0x1p-300 : 1.0;
    const double a = fabs(x) * scale, b = y * scale;
    const double t = sqrt((a + sqrt(a * a + b * b)) * 0.5);
    const double other = b / (t + t);
    return x >= 0 ? lz_complex(t * back, other * back)
                  : lz_complex(fabs(other) * back, copysign(t, y) * back);
}

// ---- exponential and hyperbolic functions -------------------------------------------------------

// f exp(x) (c + i s), where exp(x) alone may overflow. exp(step) is a double to within 1e-4 ulp.
LZ_C_FN lz_c128 lz_c_exp_times(double f, double x, double c, double s) {
    const double step = 659.484375, factor = 2.572912186046297e+286;
    for (int k = 0; k < 3 && x > 709; ++k) {
        x -= step;
        c *= factor;
        s *= factor;
    }
    const double e = f * exp(x);
    return lz_complex(e * c, e * s);
}

LZ_C_FN lz_c128 lz_c_exp(lz_c128 z) {
    const double x = z.re, y = z.im;
    if (y == 0) return lz_complex(exp(x), y);
    if (lz_isinf(x) && !lz_isfinite(y)) return x < 0 ? lz_complex(0.0, 0.0) : lz_complex(x, y - y);
    double s, c;
    sincos(y, &s, &c);
    return lz_c_exp_times(1, x, c, s);
}

LZ_C_FN lz_c64 lz_c_exp(lz_c64 z) {
    const float x = z.re, y = z.im;
    if (fabsf(x) < 87.0f && fabsf(y) < 1e5f && y != 0) {  // float is accurate and fast here
        float s, c;
        sincosf(y, &s, &c);
        const float e = expf(x);
        return lz_complex(e * c, e * s);
    }
    return lz_c_narrow(lz_c_exp(lz_c_wide(z)));
}

LZ_C_FN lz_c128 lz_c_expm1(lz_c128 z) {
    const double x = z.re, y = z.im;
    if (y == 0) return lz_complex(x == 0 ? 0.0 : expm1(x), y);
    if (x > 709) return lz_c_exp(z);
    if (lz_isinf(x) && !lz_isfinite(y)) return lz_complex(-1.0, 0.0);
    double s, c;
    sincos(y, &s, &c);
    const double e = exp(x);
    if (x < -40) return lz_complex(e * c - 1, e * s);
    const double h = sin(0.5 * y);
    return lz_complex(expm1(x) * c - 2 * h * h, e * s);
}

LZ_C_FN lz_c128 lz_c_sinh(lz_c128 z) {
    const double x = z.re, y = z.im;
    if (y == 0) return lz_complex(sinh(x), y);
    if (!lz_isfinite(y) && (x == 0 || lz_isinf(x))) return lz_complex(x, y - y);
    double s, c;
    sincos(y, &s, &c);
    if (fabs(x) > 709) {
        const lz_c128 e = lz_c_exp_times(0.5, fabs(x), c, s);
        return lz_complex(x < 0 ? -e.re : e.re, e.im);
    }
    return lz_complex(sinh(x) * c, cosh(x) * s);
}

LZ_C_FN lz_c128 lz_c_cosh(lz_c128 z) {
    const double x = z.re, y = z.im;
    if (y == 0) return lz_complex(cosh(x), copysign(1.0, x) * y);
    if (!lz_isfinite(y) && x == 0) return lz_complex(y - y, x);
    if (!lz_isfinite(y) && lz_isinf(x)) return lz_complex(fabs(x), y - y);
    double s, c;
    sincos(y, &s, &c);
    if (fabs(x) > 709) {
        const lz_c128 e = lz_c_exp_times(0.5, fabs(x), c, s);
        return lz_complex(e.re, x < 0 ? -e.im : e.im);
    }
    return lz_complex(cosh(x) * c, sinh(x) * s);
}

// (sinh x cosh x + i sin y cos y) / (sinh(x)^2 + cos(y)^2), whose denominator is a sum of squares,
// times 4 exp(2 |x|), which leaves u = exp(2 |x|) - 1 as the only function of x.
LZ_C_FN lz_c128 lz_c_tanh(lz_c128 z) {
    const double x = z.re, y = z.im;
    if (lz_isinf(x)) return lz_complex(copysign(1.0, x), copysign(0.0, y));
    if (y == 0) return lz_complex(tanh(x), y);
    if (!lz_isfinite(y)) return lz_complex(x == 0 ? x : y - y, y - y);
    double s, c;
    sincos(y, &s, &c);
    if (fabs(x) >= 22) {
        const double e = exp(-fabs(x));
        return lz_complex(copysign(1.0, x), 4 * s * c * e * e);
    }
    const double u = expm1(2 * fabs(x)), v = 4 * c * c, w = 4 * s * c;
    const double d = v + fma(u, u, fma(u, v, fma(4 * c, c, -v)));
    const double re = copysign(fma(u, u, 2 * u) / d, x);
    if (fabs(x) < 0.125) {  // one error of the tangent, where sine and cosine have two
        const double t = tan(y);
        return lz_complex(re, t / (1 + u * u * fma(t, t, 1.0) / (4 * (1 + u))));
    }
    return lz_complex(re, fma(w, u, w) / d);
}

LZ_C_FN lz_c128 lz_c_sin(lz_c128 z) { return lz_c_turn(lz_c_sinh(lz_c_turn_back(z))); }
LZ_C_FN lz_c128 lz_c_cos(lz_c128 z) { return lz_c_cosh(lz_c_turn_back(z)); }
LZ_C_FN lz_c128 lz_c_tan(lz_c128 z) { return lz_c_turn(lz_c_tanh(lz_c_turn_back(z))); }

// ---- logarithms ---------------------------------------------------------------------------------

struct lz_c_base_e {
    static __device__ double log_of(double x) { return log(x); }
    static __device__ double per_unit() { return 1; }
};
struct lz_c_base_2 {
    static __device__ double log_of(double x) { return log2(x); }
    static __device__ double per_unit() { return 1.44269504088896340736; }
};
struct lz_c_base_10 {
    static __device__ double log_of(double x) { return log10(x); }
    static __device__ double per_unit() { return 0.43429448190325182765; }
};

// log |z|: near the unit circle |z|^2 - 1 is computed as if in twice the precision.
template <class B> LZ_C_FN double lz_c_log_abs(lz_c128 z) {
    const double a = lz_c_larger(z), x = fabs(z.re), y = fabs(z.im);
    const double b = x < y ? x : y;
    if (lz_isinf(x) || lz_isinf(y)) return lz_inf<double>();
    if (b == 0 || a != a) return B::log_of(a);
    if (a > 0x1p500 || a < 0x1p-400)
        return B::log_of(a) + 0.5 * B::per_unit() * log1p((b / a) * (b / a));
    const double p = a * a, q = b * b;
    if (p + q < 0.5 || p + q > 2) return 0.5 * B::log_of(p + q);
    const double rest = fma(a, a, -p) + fma(b, b, -q);
    return 0.5 * B::per_unit() * log1p(((p - 1) + q) + rest);
}

LZ_C_FN lz_c128 lz_c_log(lz_c128 z) {
    return lz_complex(lz_c_log_abs<lz_c_base_e>(z), atan2(z.im, z.re));
}

LZ_C_FN lz_c64 lz_c_log(lz_c64 z) {
    return lz_complex((float)lz_c_log_abs<lz_c_base_e>(lz_c_wide(z)), atan2f(z.im, z.re));
}

LZ_C_FN lz_c128 lz_c_log2(lz_c128 z) {
    return lz_complex(lz_c_log_abs<lz_c_base_2>(z), atan2(z.im, z.re) * lz_c_base_2::per_unit());
}

LZ_C_FN lz_c128 lz_c_log10(lz_c128 z) {
    return lz_complex(lz_c_log_abs<lz_c_base_10>(z), atan2(z.im, z.re) * lz_c_base_10::per_unit());
}

LZ_C_FN lz_c128 lz_c_log1p(lz_c128 z) {
    const double x = z.re, y = z.im, u = 1 + x;
    if (y == 0 && x > -1) return lz_complex(log1p(x), y);
    const double q = fma(x, 2 + x, y * y);  // |1 + z|^2 - 1
    const double re = q > -0.5 && q < 0x1p60 ? 0.5 * log1p(q)
                                             : lz_c_log_abs<lz_c_base_e>(lz_complex(u, y));
    return lz_complex(re, atan2(y, u));
}

// ---- inverse functions --------------------------------------------------------------------------

// log |2 z| for large z: the real part of asinh and acosh there.
LZ_C_FN double lz_c_log_twice(lz_c128 z) { return lz_c_log_abs<lz_c_base_e>(z) + LZ_C_LN2; }

LZ_C_FN bool lz_c_large(lz_c128 z) { return fabs(z.re) > 0x1p60 || fabs(z.im) > 0x1p60; }

LZ_C_FN lz_c128 lz_c_acos(lz_c128 z) {
    const double x = z.re, y = z.im;
    if (lz_c_large(z))
        return lz_complex(atan2(fabs(y), x), -copysign(lz_c_log_twice(z), y));
    if (lz_c_isnan(z)) return lz_complex(x == 0 ? LZ_C_PI_2 : x + y, x + y);
    const lz_c128 p = lz_c_sqrt(lz_complex(1 - x, -y)), q = lz_c_sqrt(lz_complex(1 + x, y));
    return lz_complex(2 * atan2(p.re, q.re), asinh(fma(q.re, p.im, -(q.im * p.re))));
}

LZ_C_FN lz_c128 lz_c_acosh(lz_c128 z) {
    const lz_c128 w = lz_c_acos(z);
    return lz_complex(fabs(w.im), copysign(w.re, z.im));
}

LZ_C_FN lz_c128 lz_c_asinh(lz_c128 z) {
    const double x = z.re, y = z.im;
    if (lz_c_large(z))
        return lz_complex(copysign(lz_c_log_twice(z), x), atan2(y, fabs(x)));
    if (lz_c_isnan(z)) return lz_complex(x + y, y == 0 ? y : x + y);
    const lz_c128 p = lz_c_sqrt(lz_complex(1 + y, -x)), q = lz_c_sqrt(lz_complex(1 - y, x));
    return lz_complex(asinh(fma(p.re, q.im, -(p.im * q.re))),
                      atan2(y, fma(p.re, q.re, -(p.im * q.im))));
}

LZ_C_FN lz_c128 lz_c_atanh(lz_c128 z) {
    const double x = fabs(z.re), y = fabs(z.im);
    double re, im;
    if (lz_c_isnan(z) && !lz_isinf(z)) {
        re = x == 0 ? 0.0 : x + y;
        im = x + y;
    } else if (lz_c_large(z)) {  // pi i / 2 + 1 / z
        const double r = x < y ? x / y : y / x;
        re = lz_isinf(z) ? 0.0 : (x < y ? r / y : 1 / x) / (1 + r * r);
        im = y != y ? y : LZ_C_PI_2;
    } else {
        const double d = 1 - x;
        re = d == 0 && y < 0x1p-30 ? 0.5 * (LZ_C_LN2 - log(y))
                                   : 0.25 * log1p(4 * x / fma(d, d, y * y));
        im = 0.5 * atan2(2 * y, fma(d, 1 + x, -(y * y)));
    }
    return lz_complex(copysign(re, z.re), copysign(im, z.im));
}

LZ_C_FN lz_c128 lz_c_asin(lz_c128 z) { return lz_c_turn(lz_c_asinh(lz_c_turn_back(z))); }
LZ_C_FN lz_c128 lz_c_atan(lz_c128 z) { return lz_c_turn(lz_c_atanh(lz_c_turn_back(z))); }

// ---- powers -------------------------------------------------------------------------------------

// exp(w log z); small integer powers by products, which are exact for small integers; z^0 is 1.
LZ_C_FN lz_c128 lz_c_pow(lz_c128 z, lz_c128 w) {
    if (w.re == 0 && w.im == 0) return lz_complex(1.0, 0.0);
    if (z.re == 0 && z.im == 0 && w.re > 0 && lz_isfinite(w)) return lz_complex(0.0, 0.0);
    if (w.im == 0 && fabs(w.re) <= 32 && w.re == trunc(w.re)) {
        lz_c128 r = lz_complex(1.0, 0.0), x = z;
        for (int e = (int)fabs(w.re); e != 0; e >>= 1, x = lz_mul(x, x))
            if (e & 1) r = r.re == 1 && r.im == 0 ? x : lz_mul(r, x);
        const double n = lz_c_larger(r);
        if (n > 0x1p-1000 && n < 0x1p1000) return w.re > 0 ? r : lz_c_div(lz_complex(1.0, 0.0), r);
    }
    return lz_c_exp(lz_mul(w, lz_c_log(z)));
}

// ---- complex64 ----------------------------------------------------------------------------------

#define LZ_C_NARROW(f) LZ_C_FN lz_c64 f(lz_c64 z) { return lz_c_narrow(f(lz_c_wide(z))); }
LZ_C_NARROW(lz_c_sign) LZ_C_NARROW(lz_c_sqrt) LZ_C_NARROW(lz_c_expm1) LZ_C_NARROW(lz_c_sinh)
LZ_C_NARROW(lz_c_cosh) LZ_C_NARROW(lz_c_tanh) LZ_C_NARROW(lz_c_sin) LZ_C_NARROW(lz_c_cos)
LZ_C_NARROW(lz_c_tan) LZ_C_NARROW(lz_c_log2) LZ_C_NARROW(lz_c_log10) LZ_C_NARROW(lz_c_log1p)
LZ_C_NARROW(lz_c_asin) LZ_C_NARROW(lz_c_acos) LZ_C_NARROW(lz_c_atan) LZ_C_NARROW(lz_c_asinh)
LZ_C_NARROW(lz_c_acosh) LZ_C_NARROW(lz_c_atanh)

LZ_C_FN lz_c64 lz_c_div(lz_c64 a, lz_c64 b) {
    return lz_c_narrow(lz_c_div(lz_c_wide(a), lz_c_wide(b)));
}

LZ_C_FN lz_c64 lz_c_pow(lz_c64 z, lz_c64 w) {
    return lz_c_narrow(lz_c_pow(lz_c_wide(z), lz_c_wide(w)));
}

#endif
