"""The names of the array API standard, revision 2025.12, by chapter.

Source: the ``__all__`` lists of ``array_api_stubs/_2025_12``, with ``eig`` and ``eigvals``, which
they leave out. Names of extensions carry their prefix.
"""

from __future__ import annotations

CHAPTERS: dict[str, str] = {
    "constants": "e inf nan newaxis pi",
    "creation_functions": (
        "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones "
        "ones_like tril triu zeros zeros_like"
    ),
    "data_type_functions": "astype can_cast finfo iinfo isdtype result_type",
    "data_types": (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 "
        "complex128"
    ),
    "elementwise_functions": (
        "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert "
        "bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos "
        "cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite "
        "isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and logical_not "
        "logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow "
        "real reciprocal remainder round sign signbit sin sinh sqrt square subtract tan tanh trunc"
    ),
    "fft": (
        "fft.fft fft.fftfreq fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifftn fft.ifftshift "
        "fft.ihfft fft.irfft fft.irfftn fft.rfft fft.rfftfreq fft.rfftn"
    ),
    "indexing_functions": "take take_along_axis",
    "inspection": "__array_namespace_info__ __array_api_version__",
    "linalg": (
        "linalg.cholesky linalg.cross linalg.det linalg.diagonal linalg.eigh linalg.eigvalsh "
        "linalg.eig linalg.eigvals "
        "linalg.inv linalg.matmul linalg.matrix_norm linalg.matrix_power linalg.matrix_rank "
        "linalg.matrix_transpose linalg.outer linalg.pinv linalg.qr linalg.slogdet linalg.solve "
        "linalg.svd linalg.svdvals linalg.tensordot linalg.trace linalg.vecdot linalg.vector_norm"
    ),
    "linear_algebra_functions": "matmul matrix_transpose tensordot vecdot",
    "manipulation_functions": (
        "broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip moveaxis "
        "permute_dims repeat reshape roll squeeze stack tile unstack"
    ),
    "searching_functions": "argmax argmin count_nonzero nonzero searchsorted where",
    "set_functions": "isin unique_all unique_counts unique_inverse unique_values",
    "sorting_functions": "argsort sort",
    "statistical_functions": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "utility_functions": "all any diff",
}

NAMES: dict[str, list[str]] = {chapter: text.split() for chapter, text in CHAPTERS.items()}
# What can be called with arrays and values: each has a row in the table of functions.
FUNCTIONS: list[str] = [
    name
    for chapter, names in NAMES.items()
    if chapter not in ("constants", "data_types", "inspection")
    for name in names
]
