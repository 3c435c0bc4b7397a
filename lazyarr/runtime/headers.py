"""The C and C++ headers that users' kernels include most, for compilers that have no files.

Owns ``HEADERS``: name to text, for NVRTC; the simulator knows the same names. NVRTC itself declares
most of what such a header would: the mathematics, ``printf``, ``malloc``, ``memcpy``, ``assert``,
``size_t``, the CUDA runtime's types. What is here adds the rest: macros, the integer types, and
names in ``std``. A change needs another
``FORMAT_VERSION`` of ``nvrtc``, since binaries are kept by source.
"""

from __future__ import annotations

from collections.abc import Sequence

MATH_FUNCTIONS = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil",
    "copysign", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "fdim", "floor",
    "fma", "fmax", "fmin", "fmod", "frexp", "hypot", "ilogb", "isfinite", "isinf", "isnan",
    "ldexp", "lgamma", "llrint", "llround", "log", "log10", "log1p", "log2", "logb", "lrint",
    "lround", "modf", "nan", "nearbyint", "nextafter", "pow", "remainder", "remquo", "rint",
    "round", "scalbn", "signbit", "sin", "sinh", "sqrt", "tan", "tanh", "tgamma", "trunc",
]  # fmt: skip

# Constants by their bits: a division by zero would be made at run time. NVRTC 12 has no constant
# expression for them.
_FROM_BITS = """
#ifndef LAZYARR_FLOAT
#if __CUDACC_VER_MAJOR__ >= 13
#define LAZYARR_FLOAT(bits) __builtin_bit_cast(float, bits)
#define LAZYARR_DOUBLE(bits) __builtin_bit_cast(double, bits)
#else
#define LAZYARR_FLOAT(bits) __int_as_float(bits)
#define LAZYARR_DOUBLE(bits) __longlong_as_double(bits)
#endif
#endif
"""

_MATH_CONSTANTS = {
    "M_E": "2.7182818284590452354",
    "M_LOG2E": "1.4426950408889634074",
    "M_LOG10E": "0.43429448190325182765",
    "M_LN2": "0.69314718055994530942",
    "M_LN10": "2.30258509299404568402",
    "M_PI": "3.14159265358979323846",
    "M_PI_2": "1.57079632679489661923",
    "M_PI_4": "0.78539816339744830962",
    "M_1_PI": "0.31830988618379067154",
    "M_2_PI": "0.63661977236758134308",
    "M_2_SQRTPI": "1.12837916709551257390",
    "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.70710678118654752440",
    "INFINITY": "LAZYARR_FLOAT(0x7f800000)",
    "HUGE_VALF": "LAZYARR_FLOAT(0x7f800000)",
    "HUGE_VAL": "LAZYARR_DOUBLE(0x7ff0000000000000)",
    "NAN": "LAZYARR_FLOAT(0x7fc00000)",
}

_CUDA_CONSTANTS = {
    "CUDART_INF_F": "LAZYARR_FLOAT(0x7f800000)",
    "CUDART_NAN_F": "LAZYARR_FLOAT(0x7fffffff)",
    "CUDART_MIN_DENORM_F": "LAZYARR_FLOAT(1)",
    "CUDART_MAX_NORMAL_F": "3.402823466e+38f",
    "CUDART_PI_F": "3.141592654f",
    "CUDART_PIO2_F": "1.570796327f",
    "CUDART_PIO4_F": "0.785398163f",
    "CUDART_SQRT_TWO_F": "1.414213562f",
    "CUDART_INF": "LAZYARR_DOUBLE(0x7ff0000000000000)",
    "CUDART_NAN": "LAZYARR_DOUBLE(0xfff8000000000000)",
    "CUDART_MIN_DENORM": "4.9406564584124654e-324",
    "CUDART_PI": "3.1415926535897931e+0",
    "CUDART_PIO2": "1.5707963267948966e+0",
    "CUDART_PIO4": "7.8539816339744828e-1",
    "CUDART_SQRT_TWO": "1.4142135623730951e+0",
}

_FLOAT_LIMITS = {
    "FLT_RADIX": "2",
    "FLT_MANT_DIG": "24",
    "FLT_DIG": "6",
    "FLT_MIN_EXP": "(-125)",
    "FLT_MAX_EXP": "128",
    "FLT_MAX": "3.40282346638528859812e+38F",
    "FLT_MIN": "1.17549435082228750797e-38F",
    "FLT_EPSILON": "1.19209289550781250000e-7F",
    "DBL_MANT_DIG": "53",
    "DBL_DIG": "15",
    "DBL_MIN_EXP": "(-1021)",
    "DBL_MAX_EXP": "1024",
    "DBL_MAX": "1.79769313486231570815e+308",
    "DBL_MIN": "2.22507385850720138309e-308",
    "DBL_EPSILON": "2.22044604925031308085e-16",
}

_INTEGER_LIMITS = {
    "CHAR_BIT": "8",
    "SCHAR_MIN": "(-128)",
    "SCHAR_MAX": "127",
    "UCHAR_MAX": "255",
    "SHRT_MIN": "(-32768)",
    "SHRT_MAX": "32767",
    "USHRT_MAX": "65535",
    "INT_MIN": "(-2147483647 - 1)",
    "INT_MAX": "2147483647",
    "UINT_MAX": "4294967295U",
    "LONG_MIN": "(-9223372036854775807L - 1)",
    "LONG_MAX": "9223372036854775807L",
    "ULONG_MAX": "18446744073709551615UL",
    "LLONG_MIN": "(-9223372036854775807LL - 1)",
    "LLONG_MAX": "9223372036854775807LL",
    "ULLONG_MAX": "18446744073709551615ULL",
}

# As GCC has them on 64-bit Linux, which is what nvcc would use.
_INTEGERS = {
    "int8_t": "signed char",
    "int16_t": "short",
    "int32_t": "int",
    "int64_t": "long",
    "uint8_t": "unsigned char",
    "uint16_t": "unsigned short",
    "uint32_t": "unsigned int",
    "uint64_t": "unsigned long",
    "intptr_t": "long",
    "uintptr_t": "unsigned long",
    "intmax_t": "long",
    "uintmax_t": "unsigned long",
}


def _fixed_width_limits() -> dict[str, str]:
    limits = {"SIZE_MAX": "18446744073709551615UL"}
    for bits, suffix in ((8, ""), (16, ""), (32, ""), (64, "L")):
        largest = f"{2 ** (bits - 1) - 1}{suffix}"
        limits[f"INT{bits}_MAX"] = largest
        limits[f"INT{bits}_MIN"] = f"(-{largest} - 1)"
        unsigned = {32: "U", 64: "UL"}.get(bits, "")
        limits[f"UINT{bits}_MAX"] = f"{2**bits - 1}{unsigned}"
    return limits


def _defines(values: dict[str, str]) -> str:
    # Without a guard a header may come twice: a name that is defined already is left alone.
    return "".join(
        f"#ifndef {name}\n#define {name} {value}\n#endif\n" for name, value in values.items()
    )


def _std(names: Sequence[str]) -> str:
    return "namespace std {" + "".join(f" using ::{name};" for name in names) + " }\n"


def _typedefs(types: dict[str, str]) -> str:
    return "".join(f"typedef {meaning} {name};\n" for name, meaning in types.items())


def _headers() -> dict[str, str]:
    mathematics = _FROM_BITS + _defines(_MATH_CONSTANTS)
    integers = _typedefs(_INTEGERS) + _defines(_fixed_width_limits())
    offsets = "#ifndef offsetof\n#define offsetof(type, member) ((size_t)&((type*)0)->member)\n"
    offsets += "#endif\n"
    found = {
        "math.h": mathematics,
        "cmath": mathematics + _std(MATH_FUNCTIONS),
        "math_constants.h": _FROM_BITS + _defines(_CUDA_CONSTANTS),
        "stdint.h": integers,
        "cstdint": integers + _std(list(_INTEGERS)),
        "stddef.h": offsets,
        "cstddef": offsets + _std(["size_t", "ptrdiff_t"]),
        "float.h": _defines(_FLOAT_LIMITS),
        "cfloat": _defines(_FLOAT_LIMITS),
        "limits.h": _defines(_INTEGER_LIMITS),
        "climits": _defines(_INTEGER_LIMITS),
        "cstdio": _std(["printf"]),
        "cstdlib": _std(["abs", "free", "malloc", "size_t"]),
        "cstring": _std(["memcpy", "memset", "size_t"]),
    }
    # NVRTC declares all of these itself.
    for name in ("assert.h", "cassert", "stdio.h", "stdlib.h", "string.h", "time.h"):
        found[name] = ""
    for name in ("cuda", "cuda_runtime", "cuda_runtime_api", "device_functions"):
        found[f"{name}.h"] = ""
    for name in ("device_launch_parameters", "math_functions", "vector_functions", "vector_types"):
        found[f"{name}.h"] = ""
    return found


HEADERS = _headers()
