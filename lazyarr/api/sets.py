"""Set functions: unique elements, and membership.

Elements are compared by value: +0 and -0 are one element, the first of which is returned, and each
NaN is an element of its own. Complex numbers are ordered by real part, then imaginary part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _dtypes as dt
from .._array import Array, as_operand, elementwise, wrap
from .._promotion import result_type
from ..graph import sorting
from ..graph.node import Value, gather_spec
from ..graph.optable import OPS
from ._common import check_array, check_arrays, in_order
from ._runs import Runs, find_heads, inverse_of, starts_of, values_of
from .creation import empty, zeros
from .elementwise import imag, real
from .manipulation import reshape
from .sorting import argsort, sort
from .utility import any as any_of

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: Array
    inverse_indices: Array


def unique_all(x: Array, /) -> UniqueAllResult:
    """Return the distinct elements of x, where they are first, which one each is, how many.

    Forces x and reads one count (a control read): shapes depend on the data. The rest is lazy.

    Parameters
    ----------
    x : Array
        Of any dtype; the flattened elements count.

    Returns
    -------
    UniqueAllResult
        ``values``, 1-d, ascending, NaNs last; ``indices``, int64, of their first occurrences in
        the flattened x; ``inverse_indices``, int64, of x's shape, with ``values[inverse_indices]``
        equal to x; ``counts``, int64, of the values.
    """
    flat = _flat(x, "unique_all")
    order = _order(flat)
    ordered = _picked(flat, order)
    runs = find_heads(ordered, flat.size, "unique_all")
    starts = _starts(runs, flat)
    indices = _unchecked(order, starts, runs.number)
    return UniqueAllResult(
        values_of(runs, ordered), indices, _inverse(runs, order, x), _counts(starts)
    )


def unique_counts(x: Array, /) -> UniqueCountsResult:
    """Return the distinct elements of x and how often each occurs; see `unique_all`.

    Forces x and reads one count (a control read).
    """
    flat = _flat(x, "unique_counts")
    ordered = _sorted(flat)
    runs = find_heads(ordered, flat.size, "unique_counts")
    return UniqueCountsResult(values_of(runs, ordered), _counts(_starts(runs, flat)))


def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """Return the distinct elements of x and which of them each element is; see `unique_all`.

    Forces x and reads one count (a control read).
    """
    flat = _flat(x, "unique_inverse")
    order = _order(flat)
    ordered = _picked(flat, order)
    runs = find_heads(ordered, flat.size, "unique_inverse")
    return UniqueInverseResult(values_of(runs, ordered), _inverse(runs, order, x))


def unique_values(x: Array, /) -> Array:
    """Return the distinct elements of x, 1-d, ascending, NaNs last; see `unique_all`.

    Forces x and reads one count (a control read).
    """
    flat = _flat(x, "unique_values")
    ordered = _sorted(flat)
    return values_of(find_heads(ordered, flat.size, "unique_values"), ordered)


def _flat(x: Any, function: str) -> Array:
    return reshape(check_array(x, function), (-1,) if x.size else (0,))


def _order(flat: Array) -> Array:
    """Return the stable order of 1-d elements."""
    if flat.dtype.kind != "c":
        return argsort(flat)
    first = argsort(imag(flat))
    second = argsort(wrap(_picked(real(flat), first)))
    return _unchecked(first, second, flat.size)


def _sorted(flat: Array) -> Value:
    if flat.dtype.kind == "c":
        return _picked(flat, _order(flat))
    return sort(flat)._cell.value


def _picked(x: Array, order: Array) -> Value:
    return _unchecked(x, order, x.size)._cell.value


def _unchecked(x: Array, picks: Array, count: int) -> Array:
    """Return ``x[picks[:count]]`` of 1-d arrays, for indices that the library itself made."""
    if count == 0:
        return empty((0,), dtype=x.dtype, device=x.device)
    view, index = x.view, picks.view
    args = (x._cell.value, picks._cell.value)
    reads = ((0,), index.strides)
    offsets = (view.offset, index.offset)
    extra = (view.strides[0], x.size)
    spec = gather_spec(x.dtype, (0,), False)
    return wrap(Value(spec, args, reads, offsets, extra, (count,), x.device))


def _starts(runs: Runs, flat: Array) -> Array:
    if flat.size == 0:
        return zeros((1,), dtype=dt.int64, device=flat.device)
    return starts_of(runs)


def _counts(starts: Array) -> Array:
    return elementwise(OPS["subtract"], starts[1:], starts[:-1])


def _inverse(runs: Runs, order: Array, x: Array) -> Array:
    return reshape(inverse_of(runs, order._cell.value), x.shape)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Array:
    """Return which elements of x1 are equal to some element of x2.

    Parameters
    ----------
    x1, x2 : Array or scalar
        At least one an array. Of any dtypes that promote together; a scalar takes its from the
        array. The shape of x2 does not matter.
    invert : bool
        Return which elements are not.

    Returns
    -------
    Array
        Of dtype bool and x1's shape, 0-d for a scalar. Lazy: x2 is sorted, and searched by a
        thread an element. NaN is in nothing.

    Raises
    ------
    TypeError
        For two scalars, or dtypes without a common one.
    OverflowError
        For an int that does not fit the array's dtype.
    ValueError
        For arrays on different devices.
    """
    arrays = [x for x in (x1, x2) if isinstance(x, (Array, np.ndarray))]
    if not any(isinstance(x, Array) for x in arrays):
        raise TypeError("isin needs at least one lazyarr array; convert one with xp.asarray")
    if len(arrays) == 2:
        device = next(x.device for x in arrays if isinstance(x, Array))
        x1, x2 = check_arrays([as_operand(x, device) for x in arrays], "isin")
        if x1.ndim and x2.ndim:
            return _isin(x1, x2, bool(invert))
    found = elementwise(OPS["equal"], x1, x2)
    if not isinstance(x1, Array) or x1.ndim == 0:
        found = any_of(found)
    return elementwise(OPS["logical_not"], found) if invert else found


def _isin(x1: Array, x2: Array, invert: bool) -> Array:
    dtype = result_type(x1, x2)
    given = _sorted(_flat(x2, "isin"))
    if given.dtype != dtype:
        given = in_order(wrap(given), dtype)
    elements = in_order(x1, dtype)
    return wrap(sorting.isin_call(given, x2.size, elements, x1.shape, invert))
