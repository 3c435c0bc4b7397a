"""The text of an array.

Reads values, and so forces them; under a transfer guard it shows none that are on the device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .storage import guard

if TYPE_CHECKING:
    from ._array import Array

_EDGE = 3
_LARGE = 1 << 20  # bytes: from here on, only what is shown is read


def array_repr(x: Array) -> str:
    """Return NumPy's text with the device; shape and dtype alone if values cannot be read."""
    facts = f"shape={x.shape}, dtype={x.dtype}, device={str(x.device)!r}"
    if guard.active() and x.location == "device":
        return f"Array({facts}, location='device')"
    try:
        text = _values(x)
    except Exception as error:  # noqa: BLE001 - a repr that raises hides what is being looked at
        return f"Array({facts}, unreadable: {error})"
    if 0 in x.shape:
        return f"Array({text}, {facts})"
    return f"Array({text}, dtype={x.dtype}, device={str(x.device)!r})"


def _values(x: Array) -> str:
    if x.nbytes >= _LARGE and 0 < x.ndim <= _EDGE and x.location == "device":
        data = _edges(x)
        return np.array2string(data, separator=", ", prefix="Array(", threshold=0, edgeitems=_EDGE)
    return np.array2string(x._read("repr"), separator=", ", prefix="Array(")


def _edges(x: Array) -> npt.NDArray[Any]:
    """Return x without the middle of its long axes, which the text leaves out."""
    short = [min(n, 2 * _EDGE + 1) for n in x.shape]
    data = np.zeros(short, x.dtype)
    for corner in np.ndindex(*[2 if n > 2 * _EDGE else 1 for n in x.shape]):
        key = tuple(
            slice(None) if n <= 2 * _EDGE else slice(-_EDGE, None) if side else slice(0, _EDGE)
            for side, n in zip(corner, x.shape, strict=True)
        )
        data[key] = x[key]._read("repr")
    return data
