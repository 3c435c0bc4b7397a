"""Calls of namespace functions, drawn: arguments that any array namespace can be given.

A ``Choose`` decides; Hypothesis draws, and ``Fixed`` takes the first of everything. Arrays are
``Operand``: NumPy data and a layout, so that NumPy, array_api_strict and lazyarr each make the same
view by their own means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from hypothesis import strategies as st

from .support import Shape, values

SHAPES: list[Shape] = [(3, 4), (), (1,), (0,), (7,), (2, 3), (1, 4), (3, 1), (0, 2), (2, 3, 4)]
LAYOUTS = ["plain", "flipped", "strided", "transposed", "broadcast", "shifted"]
# What array_api_strict lets be operands of one function besides equal dtypes.
OTHER = {"int8": "int32", "int32": "int64", "uint8": "uint32", "float32": "float64"}


class Choose(Protocol):
    """Who decides about a call."""

    def one_of(self, options: Sequence[Any]) -> Any: ...

    def integer(self, low: int, high: int) -> int: ...


class Fixed:
    """The first option, and the number in the middle: one call a function, always the same."""

    def one_of(self, options: Sequence[Any]) -> Any:
        return options[0]

    def integer(self, low: int, high: int) -> int:
        return (low + high + 1) // 2


class Drawn:
    """What Hypothesis draws."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw

    def one_of(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(list(options)))

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))  # type: ignore[no-any-return]


class DType(NamedTuple):
    """A dtype by name, as each namespace spells it."""

    name: str


class Operand(NamedTuple):
    """An array: the layout of ``base`` has the shape that was asked for."""

    base: Any
    layout: str = "plain"
    pending: bool = False  # for lazyarr: the result of a copy that nobody has run


class Call(NamedTuple):
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def call(*args: Any, **kwargs: Any) -> Call:
    """Return a call; keywords that are None are left out."""
    return Call(args, {k: v for k, v in kwargs.items() if v is not None})


def _base_shape(shape: Shape, layout: str) -> Shape:
    if layout == "strided":
        return tuple(2 * n for n in shape)
    if layout == "transposed":
        return shape[::-1]
    if layout == "broadcast":
        return (1, *shape[1:])
    if layout == "shifted":
        return (*shape[:-1], shape[-1] + 1)
    return shape


def operand(
    choose: Choose, shape: Shape, dtype: str, *, special: bool = True, layout: bool = True
) -> Operand:
    """Return an array of a shape: data and layout are drawn; ``special``: NaN, -0, extremes."""
    chosen = choose.one_of(LAYOUTS) if shape and layout else "plain"
    base_shape = _base_shape(shape, chosen)
    size = int(np.prod(base_shape, dtype=np.int64))
    seed = choose.integer(0, 999)
    if np.dtype(dtype).kind == "c":
        part = "float32" if dtype == "complex64" else "float64"
        data = np.empty(size, dtype)
        data.real = values(part, size, seed, special=special)
        data.imag = values(part, size, seed + 1, special=special)
    else:
        data = values(dtype, size, seed, special=special)
    if chosen == "broadcast" and shape[0] != 1:
        chosen = f"broadcast {shape[0]}"
    return Operand(data.reshape(base_shape), chosen, choose.one_of([False, False, True]))


def numpy_view(o: Operand) -> Any:
    """Return an operand as NumPy sees it."""
    return _laid(np, o.base, o.layout)


def _laid(ns: Any, base: Any, layout: str) -> Any:
    if layout == "flipped":
        return base[(slice(None, None, -1),) * base.ndim]
    if layout == "strided":
        return base[(slice(None, None, 2),) * base.ndim]
    if layout == "transposed":
        return ns.permute_dims(base, tuple(reversed(range(base.ndim))))
    if layout.startswith("broadcast "):
        return ns.broadcast_to(base, (int(layout.split()[1]), *base.shape[1:]))
    if layout == "shifted":
        return base[..., 1:]
    return base


def realise(ns: Any, part: Any) -> Any:
    """Return an argument as a namespace takes it; NumPy for ``ns`` None is NumPy itself."""
    if isinstance(part, Operand):
        base = np.array(part.base)  # nobody shares memory
        if ns is np:
            return _laid(np, base, part.layout)
        made = _laid(ns, ns.asarray(base), part.layout)
        lazy = part.pending and ns.__name__ == "lazyarr"
        return ns.asarray(made, copy=True) if lazy else made
    if isinstance(part, DType):
        return np.dtype(part.name) if ns is np else getattr(ns, part.name)
    if isinstance(part, list):
        return [realise(ns, p) for p in part]
    if type(part) is tuple:
        return tuple(realise(ns, p) for p in part)
    if isinstance(part, dict):
        return {k: realise(ns, p) for k, p in part.items()}
    return part


def axis_of(choose: Choose, ndim: int) -> int:
    """Return an axis, counted from either end."""
    return int(choose.one_of(list(range(ndim)) + list(range(-ndim, 0))))


def axes_of(choose: Choose, ndim: int) -> Any:
    """Return what a reduction takes as axis: None, one axis, or several."""
    several = [tuple(range(ndim)), tuple(range(0, ndim, 2))]
    return choose.one_of([*range(ndim), None, *range(-ndim, 0), *several])


def part_of(choose: Choose, shape: Shape) -> Shape:
    """Return a shape that broadcasts to another one: axes missing in front, or of length 1."""
    cut = choose.integer(0, len(shape)) if choose.one_of([False, True]) else 0
    return tuple(1 if choose.one_of([0, 0, 0, 1]) else n for n in shape[cut:])
