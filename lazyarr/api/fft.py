"""Functions of the ``fft`` extension.

A transform is one call node along the last axes (at most three at a time): axes are moved there,
cropped and padded by views and lazy copies, and the factor of the norm fuses with what follows.
Everything is lazy, and nothing is read on the host.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _dtypes as dt
from .._array import Array, copy_of, elementwise, view_of, wrap
from .._dtypes import DType
from ..graph import views
from ..graph.node import Value, box_spec, call_spec, const
from ..graph.optable import OPS
from ..graph.views import Shape
from ..graph.write import right_side
from ._common import check_array, check_int, in_order
from .creation import arange, zeros
from .manipulation import roll
from .searching import where

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

_MOST_AXES = 3  # that the library transforms in one call
_OTHER_NORM = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Return discrete Fourier transforms along an axis.

    Parameters
    ----------
    x : Array
        Of a floating-point dtype; real ones are converted.
    n : int, optional
        The length of the transform: the axis is cropped, or padded with zeros. By default its own.
    axis : int
    norm : {"backward", "ortho", "forward"}
        Multiply by nothing, by ``1/sqrt(n)``, or by ``1/n``.

    Returns
    -------
    Array
        Of the complex dtype of x's precision. Lazy: a library call (cuFFT; NumPy's pocketfft on
        ``cpu`` and ``sim``), and a copy of x first where it does not lie in order along the axis.

    Raises
    ------
    ValueError
        For a length below 1, or another norm.
    IndexError
        If x has no such axis.
    TypeError
        For dtypes that are not floating-point ones.
    """
    return _complex_transform(x, "fft", _one(x, "fft", n, axis), norm, inverse=False)


def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Return inverse discrete Fourier transforms along an axis.

    Parameters, result and errors are those of `fft`; norm "backward" multiplies by ``1/n``,
    "forward" by nothing.
    """
    return _complex_transform(x, "ifft", _one(x, "ifft", n, axis), norm, inverse=True)


def fftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """Return discrete Fourier transforms along several axes.

    Parameters
    ----------
    x : Array
        Of a floating-point dtype; real ones are converted.
    s : sequence of int, optional
        The lengths along ``axes``, which must be given too; -1 leaves an axis as it is.
    axes : sequence of int, optional
        Distinct axes; by default all of them.
    norm : {"backward", "ortho", "forward"}
        As in `fft`, where n is the product of the lengths.

    Returns
    -------
    Array
        Of the complex dtype of x's precision. Lazy: a library call for every three axes; x is
        copied first if they are not the last ones.

    Raises
    ------
    ValueError
        For a length below 1, lengths without axes, an axis named twice, or another norm.
    IndexError
        If x has no such axis.
    TypeError
        For dtypes that are not floating-point ones.
    """
    return _complex_transform(x, "fftn", _several(x, "fftn", s, axes), norm, inverse=False)


def ifftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """Return inverse discrete Fourier transforms along several axes.

    Parameters, result and errors are those of `fftn`; norm "backward" multiplies by ``1/n``,
    "forward" by nothing.
    """
    return _complex_transform(x, "ifftn", _several(x, "ifftn", s, axes), norm, inverse=True)


def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Return the first half of the discrete Fourier transforms of real signals along an axis.

    Parameters and errors are those of `fft`; x must have a real floating-point dtype.

    Returns
    -------
    Array
        Of the complex dtype of x's precision, with ``n//2 + 1`` elements along the axis. Lazy.
    """
    return _from_real(x, "rfft", _one(x, "rfft", n, axis), norm)


def irfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Return the real signals of which x holds the first half of the transforms along an axis.

    Parameters
    ----------
    x : Array
        Of a floating-point dtype; real ones are converted. It is not changed.
    n : int, optional
        The length of the result along the axis, for which ``n//2 + 1`` elements of x are taken. By
        default ``2*(m - 1)`` for m elements.
    axis, norm
        As in `ifft`.

    Returns
    -------
    Array
        Of x's real dtype. Lazy. Imaginary parts that the transform of a real signal cannot have
        (those of the first element, and of the middle one of an even length) do not count.

    Raises
    ------
    ValueError, IndexError, TypeError
        As in `fft`.
    """
    return _to_real(x, "irfft", _one(x, "irfft", n, axis, halved=True), norm)


def rfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """Return half of the discrete Fourier transforms of real signals along several axes.

    Parameters and errors are those of `fftn`; x must have a real floating-point dtype.

    Returns
    -------
    Array
        Of the complex dtype of x's precision; the last of the axes has ``n//2 + 1`` elements. Lazy.
    """
    return _from_real(x, "rfftn", _several(x, "rfftn", s, axes), norm)


def irfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """Return the real signals of which x holds half of the transforms along several axes.

    Parameters and errors are those of `ifftn`; ``s`` holds the lengths of the result. By default
    (or for -1) the last of the axes, of m elements, becomes ``2*(m - 1)`` long. x is not changed.

    Returns
    -------
    Array
        Of x's real dtype. Lazy.
    """
    return _to_real(x, "irfftn", _several(x, "irfftn", s, axes, halved=True), norm)


def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Return the (real) discrete Fourier transforms of signals with Hermitian symmetry.

    Parameters, result and errors are those of `irfft`, which this is of the conjugate, with the
    norms exchanged: "backward" multiplies by nothing, "forward" by ``1/n``.
    """
    lengths = _one(x, "hfft", n, axis, halved=True)
    conjugate = elementwise(OPS["conj"], x) if x.dtype in dt.COMPLEX_FLOATING else x
    return _to_real(conjugate, "hfft", lengths, _swapped(norm, "hfft"))


def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Return the first half of the inverse discrete Fourier transforms of real spectra.

    Parameters, result and errors are those of `rfft`, of which this is the conjugate, with the
    norms exchanged: "backward" multiplies by ``1/n``, "forward" by nothing.
    """
    lengths = _one(x, "ihfft", n, axis)
    return elementwise(OPS["conj"], _from_real(x, "ihfft", lengths, _swapped(norm, "ihfft")))


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """Return the sample frequencies of `fft`.

    Parameters
    ----------
    n : int
        The length of the transform, at least 1.
    d : float
        The distance of samples.
    dtype : dtype, optional
        A real floating-point one; float64 by default.
    device : device, optional
        The default device unless given.

    Returns
    -------
    Array
        ``[0, 1, ..., -2, -1] / (d*n)``, n elements. Lazy.

    Raises
    ------
    ValueError
        For a length below 1 or a distance of 0.
    TypeError
        For another dtype.
    """
    count = _length(n, "fftfreq")
    index = arange(count, device=device)
    negative = elementwise(OPS["greater"], index, (count - 1) // 2)
    index = where(negative, index - count, index)
    return _frequencies(index, count, d, dtype, "fftfreq")


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """Return the sample frequencies of `rfft`: ``[0, 1, ..., n//2] / (d*n)``; see `fftfreq`."""
    count = _length(n, "rfftfreq")
    index = arange(count // 2 + 1, device=device)
    return _frequencies(index, count, d, dtype, "rfftfreq")


def fftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Return x with the zero frequency moved to the middle of axes.

    Parameters
    ----------
    x : Array
        Of any dtype.
    axes : int or sequence of int, optional
        By default all axes.

    Returns
    -------
    Array
        A new array of x's shape and dtype. Runs at the call, as ``xp.roll``.

    Raises
    ------
    IndexError
        If x has no such axis.
    """
    return _shifted(x, "fftshift", axes, 1)


def ifftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Return x with the middle of axes moved to the front: the inverse of `fftshift`."""
    return _shifted(x, "ifftshift", axes, -1)


def _shifted(x: Array, function: str, axes: Any, sign: int) -> Array:
    check_array(x, function)
    if axes is None:
        chosen = list(range(x.ndim))
    else:
        given = [axes] if hasattr(axes, "__index__") else axes
        chosen = [views.normalize_axis(a, x.ndim) for a in given]
    # An odd axis goes one further back than forth.
    shifts = [x.shape[d] // 2 if sign > 0 else -(x.shape[d] // 2) for d in chosen]
    return roll(x, tuple(shifts), axis=tuple(chosen)) if chosen else copy_of(x)


def _frequencies(index: Array, n: int, d: Any, dtype: Any, function: str) -> Array:
    wanted = dt.default_real if dtype is None else dt.as_dtype(dtype)
    if wanted not in dt.REAL_FLOATING:
        raise TypeError(f"{function}: dtype must be a real floating-point one, not {wanted}")
    span = float(d) * n
    if span == 0:
        raise ValueError(f"{function}: the distance of samples must not be {d}")
    result = elementwise(OPS["divide"], copy_of(index, dt.float64), span)
    return result if wanted == dt.float64 else copy_of(result, wanted)


# Axes, lengths and norms.

Lengths = dict[int, int]  # by axis, in the order in which the axes were named


def _length(n: Any, function: str) -> int:
    count = check_int(n, "n")
    if count < 1:
        raise ValueError(f"{function}: a transform needs at least 1 element, not {count}")
    return count


def _checked(x: Any, function: str) -> Array:
    check_array(x, function)
    if x.dtype not in dt.FLOATING:
        raise TypeError(
            f"{function} needs a floating-point dtype, not {x.dtype}; convert with astype"
        )
    return x  # type: ignore[no-any-return]


def _one(x: Any, function: str, n: Any, axis: Any, *, halved: bool = False) -> Lengths:
    x = _checked(x, function)
    d = views.normalize_axis(check_int(axis, "axis"), x.ndim)
    if n is None:
        n = 2 * (x.shape[d] - 1) if halved else x.shape[d]
    return {d: _length(n, function)}


def _several(x: Any, function: str, s: Any, axes: Any, *, halved: bool = False) -> Lengths:
    x = _checked(x, function)
    if axes is None:
        if s is not None:
            raise ValueError(f"{function}: lengths s={s} need axes=, which tells what they are of")
        axes = range(x.ndim)
    chosen = [views.normalize_axis(check_int(a, "an axis"), x.ndim) for a in axes]
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"{function}: axes {tuple(axes)} name an axis twice")
    given = [-1] * len(chosen) if s is None else [check_int(n, "a length") for n in s]
    if len(given) != len(chosen):
        raise ValueError(f"{function}: {len(given)} lengths for {len(chosen)} axes")
    result = {d: x.shape[d] if n == -1 else n for d, n in zip(chosen, given, strict=True)}
    if halved and chosen and given[-1] == -1:
        result[chosen[-1]] = 2 * (x.shape[chosen[-1]] - 1)
    return {d: _length(n, function) for d, n in result.items()}


def _swapped(norm: str, function: str) -> str:
    _check_norm(norm, function)
    return _OTHER_NORM[norm]


def _check_norm(norm: Any, function: str) -> None:
    if norm not in ("backward", "ortho", "forward"):
        raise ValueError(f"{function}: norm must be 'backward', 'ortho' or 'forward', not {norm!r}")


def _check_axes(lengths: Lengths, function: str) -> None:
    if not lengths:
        raise ValueError(f"{function} needs at least one axis")


def _factor(norm: str, inverse: bool, lengths: Lengths) -> float:
    n = math.prod(lengths.values())
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "backward") == inverse else 1.0


# Transforms.


def _complex_transform(
    x: Array, function: str, lengths: Lengths, norm: Any, *, inverse: bool
) -> Array:
    _check_norm(norm, function)
    dtype = dt.complex_of(x.dtype)
    if not lengths:
        return copy_of(x, dtype)
    result = _complex(_resized(x, lengths), sorted(lengths), inverse, dtype)
    return _finished(result, _factor(norm, inverse, lengths))


def _from_real(x: Array, function: str, lengths: Lengths, norm: Any) -> Array:
    _check_norm(norm, function)
    if x.dtype not in dt.REAL_FLOATING:
        raise TypeError(f"{function} needs a real floating-point dtype, not {x.dtype}")
    dtype = dt.complex_of(x.dtype)
    _check_axes(lengths, function)
    *others, last = lengths
    group = [*sorted(others[len(others) - _MOST_AXES + 1 :]), last]
    result = _along(_resized(x, lengths), group, "r2c", False, lengths[last], dtype)
    rest = sorted(others[: max(0, len(others) - _MOST_AXES + 1)])
    return _finished(_complex(result, rest, False, dtype), _factor(norm, False, lengths))


def _to_real(x: Array, function: str, lengths: Lengths, norm: Any) -> Array:
    _check_norm(norm, function)
    dtype = dt.complex_of(x.dtype)
    _check_axes(lengths, function)
    *others, last = lengths
    n = lengths[last]
    source = _resized(x, {**lengths, last: n // 2 + 1})
    # A library's transform of several axes at once takes the input to be Hermitian along all.
    source = _complex(source, sorted(others), True, dtype)
    result = _along(source, [last], "c2r", True, n, dt.real_of(dtype))
    return _finished(result, _factor(norm, True, lengths))


def _complex(x: Array, axes: list[int], inverse: bool, dtype: DType) -> Array:
    """Transform along axes, a few at a time."""
    for start in range(0, len(axes), _MOST_AXES):
        group = axes[start : start + _MOST_AXES]
        x = _along(x, group, "c2c", inverse, x.shape[group[-1]], dtype)
    return x


def _along(x: Array, axes: list[int], kind: str, inverse: bool, n: int, dtype: DType) -> Array:
    """Return the transform along axes, as a view with the axes in their places.

    ``n`` is the length of the transform along the last of them.
    """
    last = n // 2 + 1 if kind == "r2c" else n
    order = [d for d in range(x.ndim) if d not in axes] + axes
    moved = view_of(x, views.permute(x.view, order))
    shape = views.check_shape((*moved.shape[:-1], last))
    if math.prod(shape) == 0:
        result = zeros(shape, dtype=dtype, device=x.device)
    else:
        extra = (moved.shape, (kind, inverse, len(axes)))
        # What moves the axes converts as well.
        given = dt.real_of(dtype) if kind == "r2c" else dt.complex_of(dtype)
        source = in_order(moved, given)
        spec = call_spec("fft", dtype)
        result = wrap(Value(spec, (source,), None, None, extra, shape, x.device))
    back = [order.index(d) for d in range(x.ndim)]
    return view_of(result, views.permute(result.view, back))


def _finished(x: Array, factor: float) -> Array:
    """Return x times a factor, in order."""
    if factor != 1:
        return elementwise(OPS["multiply"], x, factor)
    return x if x._view is None else copy_of(x)


def _resized(x: Array, lengths: Lengths) -> Array:
    """Return x cropped and padded with zeros at the ends of axes: a view, or a lazy copy."""
    kept: list[Any] = [slice(None)] * x.ndim
    for d, n in lengths.items():
        kept[d] = slice(0, n)
    inner = view_of(x, views.basic_index(x.view, tuple(kept)))
    shape: Shape = tuple(lengths.get(d, n) for d, n in enumerate(x.shape))
    if inner.shape == shape:
        return inner
    if inner.size == 0:
        return zeros(views.check_shape(shape), dtype=x.dtype, device=x.device)
    target = views.basic_index(views.contiguous(shape), tuple(slice(0, n) for n in inner.shape))
    box = views.as_box(target, shape)
    assert box is not None
    value = right_side(x.dtype, inner.shape, inner._cell.value, inner.view)
    nothing = const(0 if x.dtype.kind == "f" else 0j, x.dtype, shape, x.device)
    spec = box_spec(x.dtype)
    return wrap(Value(spec, (value, nothing), None, None, (box, inner.shape), shape, x.device))
