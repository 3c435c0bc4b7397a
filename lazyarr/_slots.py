"""What mypyc leaves out of a compiled ``Array``: the type's index slot, and its docstring.

A compiled class has ``__index__`` as a method only, which ``operator.index``, slices and NumPy do
not look at. Assigning the method to the type makes the interpreter fill in the slot.
"""

from __future__ import annotations

from ._array import Array

_DOC = """An n-dimensional array on a device, with a current location of its bytes.

Made by ``asarray``, the creation functions and every operation; not by calling ``Array``.
Operations build a graph and return at once; what forces them is listed in ``docs/laziness.md``.
"""


def complete() -> None:
    """Fill in what is missing; changes nothing on an interpreted class."""
    Array.__index__ = Array.__dict__["__index__"]  # type: ignore[method-assign]
    Array.__doc__ = _DOC
