"""Utility functions."""

from __future__ import annotations

from .._array import Array, copy_of, elementwise
from ..graph import views
from ..graph.optable import OPS
from ._common import check_array, check_int
from ._reduction import Axis, reduce
from .manipulation import concat

__all__ = ["all", "any", "diff"]


def all(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return whether all elements along axes are nonzero (NaN is); True of nothing.

    Parameters
    ----------
    x : Array
        Of any dtype.
    axis : int or tuple of int, optional
        None: all axes; ``()``: each element by itself.
    keepdims : bool
        Leave the reduced axes in the shape, with length 1.

    Returns
    -------
    Array
        Of dtype bool. Lazy.
    """
    return reduce("all", x, axis, keepdims)


def any(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return whether some element along axes is nonzero (NaN is); False of nothing.

    Parameters and result are those of `all`. Lazy.
    """
    return reduce("any", x, axis, keepdims)


def diff(
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """Return differences of neighbours along an axis.

    Parameters
    ----------
    x : Array
        Of a numeric dtype, with at least one axis.
    axis : int
    n : int
        How often to take differences; 0 gives a copy.
    prepend, append : Array, optional
        Joined with x along the axis first, which runs at the call.

    Returns
    -------
    Array
        Shorter by n along the axis (but no shorter than 0). Lazy, unless something is joined.

    Raises
    ------
    ValueError
        For a negative n, or shapes that do not fit.
    TypeError
        For bool.
    """
    check_array(x, "diff")
    d = views.normalize_axis(axis, x.ndim)
    count = check_int(n, "n")
    if count < 0:
        raise ValueError(f"diff: n must not be negative, and is {count}")
    parts = [part for part in (prepend, x, append) if part is not None]
    joined = concat(parts, axis=d) if len(parts) > 1 else x
    if count == 0:
        return copy_of(joined)
    head = (slice(None),) * d
    for _ in range(count):
        later, earlier = joined[(*head, slice(1, None))], joined[(*head, slice(None, -1))]
        joined = elementwise(OPS["subtract"], later, earlier)
    return joined
