"""What the functions on stacks of matrices share: checks, library calls, their failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _dtypes as dt
from .. import ledger
from .._array import Array, elementwise
from .._dtypes import DType
from .._errors import LinAlgError
from ..graph import library
from ..graph.optable import OPS
from ..graph.views import Shape
from ._common import check_array, in_order
from ._reduction import reduce
from .creation import eye
from .manipulation import broadcast_to

Output = tuple[Shape, DType]


def floating(x: Any, function: str) -> Array:
    """Return x if it is an array of a real or complex floating-point dtype."""
    check_array(x, function)
    if x.dtype not in dt.FLOATING:
        raise TypeError(
            f"{function} needs a floating-point dtype, not {x.dtype}; convert with astype"
        )
    return x  # type: ignore[no-any-return]


def matrices(x: Any, function: str, *, any_dtype: bool = False) -> Array:
    """Return x if it is a stack of matrices, of a floating-point dtype unless any will do."""
    found = check_array(x, function) if any_dtype else floating(x, function)
    if found.ndim < 2:
        raise LinAlgError(f"{function} needs matrices, in at least 2 axes, not shape {found.shape}")
    return found


def square(x: Any, function: str) -> Array:
    """Return x if it is a stack of square matrices of a floating-point dtype."""
    found = matrices(x, function)
    if found.shape[-1] != found.shape[-2]:
        raise LinAlgError(f"{function} needs square matrices, not shape {found.shape}")
    return found


def call(
    name: str,
    inputs: Sequence[Array],
    outputs: Sequence[Output],
    options: tuple[Any, ...],
    function: str,
) -> list[Array]:
    """Run a library function on arrays of one dtype and stack; its results as arrays."""
    lead = inputs[0].ndim - 2
    stacks = [library.Stack(in_order(x, x.dtype), x.shape) for x in inputs]
    return [Array(value) for value in library.run(name, lead, stacks, outputs, options, function)]


def checked_call(
    name: str,
    inputs: Sequence[Array],
    outputs: Sequence[Output],
    options: tuple[Any, ...],
    function: str,
    fault: str,
) -> list[Array]:
    """Like `call`, for functions whose last output tells which matrices failed; raise if any did.

    The library waits for this, at every size of the stack: one control read.
    """
    lead = inputs[0].shape[:-2]
    *results, info = call(name, inputs, [*outputs, (lead, dt.int32)], options, function)
    failed = np.flatnonzero(library.control_read(info._cell.value, function))
    if failed.size:
        place = np.unravel_index(failed[0], lead)
        which = f"matrix {tuple(int(n) for n in place)} of the stack" if lead else "the matrix"
        raise ledger.noted(LinAlgError(f"{function}: {which} {fault}"))
    return results


def check_finite(x: Array, function: str) -> None:
    """Raise unless all elements are finite, which iterative methods rely on: one control read."""
    finite = reduce("all", elementwise(OPS["isfinite"], x), None, False)
    if not library.control_read(finite._cell.value, function):
        raise ledger.noted(LinAlgError(f"{function}: the matrices hold NaN or infinity"))


def identity(shape: Shape, like: Array) -> Array:
    """Return a stack of identity matrices, a read-only view of one that is made lazily."""
    return broadcast_to(eye(shape[-1], dtype=like.dtype, device=like.device), shape)


def adjoint(x: Array) -> Array:
    """Return the conjugate transpose: lazy for complex dtypes, a view for real ones."""
    return conjugate(x).mT


def conjugate(x: Array) -> Array:
    """Return the conjugate, lazily; x itself for real dtypes."""
    return elementwise(OPS["conj"], x) if x.dtype in dt.COMPLEX_FLOATING else x
