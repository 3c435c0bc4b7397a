"""A state machine against NumPy: whatever is lazy, every array has the value of eager execution.

Each entry pairs a lazyarr array with NumPy's; views are views on both sides. Nothing is read unless
a rule says so: graphs grow over several operations and writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

import lazyarr as xp
from lazyarr.graph.numpy_ops import reduce_sum

from .support import array_of, eager, keys, ordered_sum, same_bits

SHAPES = [(12,), (3, 4), (4, 3), (4, 4), (2, 3, 4), (2, 16), (3, 300), (1, 5), (1,), (), (0, 3)]
KINDS = ["float64", "float32", "int32", "uint8", "bool"]
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<": lambda a, b: a < b,
    "==": lambda a, b: a == b,
    ">=": lambda a, b: a >= b,
}
# Of the floor division and remainder of floats, NumPy's last bit is not the standard's.
ALLOWED = {
    "f": ["+", "-", "*", "/", "<", "==", ">="],
    "i": ["+", "-", "*", "//", "%", "&", "|", "^", "<", "==", ">="],
    "b": ["&", "|", "^", "=="],
}
ALLOWED["u"] = ALLOWED["i"]
SOURCE = """
extern "C" __global__ void twice(const float* p, float* q, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) q[i] = p[i] * 2;
}
extern "C" __global__ void next(float* p, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) p[i] += 1;
}
"""


class Pair:
    """One array on both sides."""

    def __init__(self, x: Any, n: Any, writable: bool = True) -> None:
        self.x = x
        self.n = n
        self.writable = writable

    def __repr__(self) -> str:
        return f"<{self.n.dtype}{self.n.shape}>"


def _own(n: Any) -> Any:
    """Return a result of NumPy as lazyarr has it: C-contiguous, with memory of its own."""
    return np.array(n, order="C", copy=True)


def _new(x: Any, n: Any) -> Pair:
    return Pair(x, _own(n))


class ProgramOrder(RuleBasedStateMachine):
    """The machine; a subclass says on which device."""

    device = "sim"
    pool = Bundle("pool")

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[Pair] = []
        self.reads: list[tuple[Any, Any]] = []
        self.kernels: Any = None
        self.errors = np.errstate(all="ignore")
        self.errors.__enter__()

    def _add(self, pair: Pair) -> Pair:
        assert pair.x.shape == pair.n.shape and pair.x.dtype == pair.n.dtype, (pair.x.shape, pair)
        self.entries.append(pair)
        return pair

    def _check(self, pair: Pair) -> None:
        got = np.asarray(pair.x)
        assert same_bits(got, pair.n), f"\n got {got!r}\nwant {pair.n!r}"

    @initialize(target=pool, data=st.data())
    def start(self, data: Any) -> Any:
        return multiple(*[self._make(data.draw, kind) for kind in ("float64", "float32", "int32")])

    def _make(self, draw: Any, kind: str) -> Pair:
        n = array_of(draw, draw(st.sampled_from(SHAPES)), kind)
        return self._add(Pair(xp.asarray(n, device=self.device), n))

    # Creation

    @rule(target=pool, data=st.data(), kind=st.sampled_from(KINDS))
    def make(self, data: Any, kind: str) -> Pair:
        return self._make(data.draw, kind)

    @rule(target=pool, shape=st.sampled_from(SHAPES), kind=st.sampled_from(KINDS))
    def zeros(self, shape: Any, kind: str) -> Pair:
        x = xp.zeros(shape, dtype=getattr(xp, kind), device=self.device)
        return self._add(_new(x, np.zeros(shape, kind)))

    @rule(target=pool, n=st.integers(0, 20), kind=st.sampled_from(["float64", "int32"]))
    def arange(self, n: int, kind: str) -> Pair:
        x = xp.arange(n, dtype=getattr(xp, kind), device=self.device)
        return self._add(_new(x, np.arange(n, dtype=kind)))

    # Views

    @rule(target=pool, a=pool, data=st.data())
    def index(self, a: Pair, data: Any) -> Pair:
        key = keys(data.draw, a.n.shape)
        result = a.n[key or ...]  # x[()] is a view
        if isinstance(result, np.ndarray):
            return self._add(Pair(a.x[key], result, a.writable))
        return self._add(_new(a.x[key], result))

    @rule(target=pool, a=pool, data=st.data())
    def permute(self, a: Pair, data: Any) -> Pair:
        axes = tuple(data.draw(st.permutations(range(a.n.ndim))))
        return self._add(Pair(xp.permute_dims(a.x, axes), a.n.transpose(axes), a.writable))

    @rule(target=pool, a=pool)
    def flip(self, a: Pair) -> Pair:
        if a.n.ndim == 0:  # NumPy's flip of these is no view
            return a
        return self._add(Pair(xp.flip(a.x), np.flip(a.n), a.writable))

    @rule(target=pool, a=pool, data=st.data())
    def reshape(self, a: Pair, data: Any) -> Pair:
        size = a.n.size
        shapes = [(size,), (-1,), (1, size), (size, 1)] if size else [(0,), a.n.shape]
        shapes += [(d, size // d) for d in (2, 3, 4) if size and size % d == 0]
        shape = data.draw(st.sampled_from(shapes))
        n = a.n.reshape(shape)
        shares = np.shares_memory(n, a.n)
        x = xp.reshape(a.x, shape)
        return self._add(Pair(x, n, a.writable) if shares else _new(x, n))

    @rule(target=pool, a=pool, m=st.integers(1, 3))
    def broadcast(self, a: Pair, m: int) -> Pair:
        shape = (m, *a.n.shape)
        # Read-only also where nothing is repeated (m is 1).
        return self._add(Pair(xp.broadcast_to(a.x, shape), np.broadcast_to(a.n, shape), False))

    # Results

    def _partner(self, draw: Any, a: Pair, shape: Any = None) -> Pair | None:
        """Draw an entry of a's dtype that broadcasts with it (or to a shape)."""
        fit = []
        for b in self.entries:
            if b.n.dtype != a.n.dtype:
                continue
            try:
                common = np.broadcast_shapes(a.n.shape if shape is None else shape, b.n.shape)
            except ValueError:
                continue
            if shape is None or common == shape:
                fit.append(b)
        return draw(st.sampled_from(fit)) if fit else None

    @rule(target=pool, a=pool, data=st.data())
    def binary(self, a: Pair, data: Any) -> Pair:
        op = BINARY[data.draw(st.sampled_from(ALLOWED[a.n.dtype.kind]))]
        b = self._partner(data.draw, a) or a
        return self._add(_new(op(a.x, b.x), op(a.n, b.n)))

    @rule(target=pool, a=pool, data=st.data(), k=st.sampled_from([0, 1, 2, 3]))
    def scalar(self, a: Pair, data: Any, k: int) -> Pair:
        op = BINARY[data.draw(st.sampled_from(ALLOWED[a.n.dtype.kind]))]
        scalar = bool(k & 1) if a.n.dtype.kind == "b" else k
        if k & 1:
            return self._add(_new(op(a.x, scalar), op(a.n, scalar)))
        return self._add(_new(op(scalar, a.x), op(scalar, a.n)))

    @rule(target=pool, a=pool)
    def root(self, a: Pair) -> Pair:
        if a.n.dtype.kind == "f":
            return self._add(_new(xp.sqrt(a.x), np.sqrt(a.n)))
        return self._add(_new(~a.x, ~a.n))

    @rule(target=pool, a=pool, kind=st.sampled_from(KINDS))
    def cast(self, a: Pair, kind: str) -> Pair:
        if a.n.dtype.kind == "f" and np.dtype(kind).kind in "iu":
            kind = "float32"
        return self._add(_new(xp.astype(a.x, getattr(xp, kind)), a.n.astype(kind)))

    @rule(target=pool, a=pool, data=st.data())
    def choose(self, a: Pair, data: Any) -> Pair:
        b = self._partner(data.draw, a) or a
        test = a.n if a.n.dtype.kind == "b" else a.n == a.n
        condition = a.x if a.n.dtype.kind == "b" else a.x == a.x
        return self._add(_new(xp.where(condition, a.x, b.x), np.where(test, a.n, b.n)))

    @rule(target=pool, a=pool, data=st.data())
    def total(self, a: Pair, data: Any) -> Pair:
        axes = tuple(d for d in range(a.n.ndim) if data.draw(st.booleans()))
        if a.n.dtype.kind == "b":
            n = np.any(a.n, axis=axes)
            return self._add(_new(xp.any(a.x, axis=axes), n))
        if a.n.dtype.kind == "f":
            n = ordered_sum(a.n, axes) if self.device != "cpu" else reduce_sum(a.n, axes, False)
        else:
            n = np.sum(a.n, axis=axes)
        return self._add(_new(xp.sum(a.x, axis=axes), n))

    @rule(target=pool, a=pool, data=st.data())
    def largest(self, a: Pair, data: Any) -> Pair:
        if a.n.dtype.kind == "b" or a.n.size == 0:
            return a
        n = np.max(a.n)
        if n == 0:  # which zero is the largest is NumPy's choice
            return a
        return self._add(_new(xp.max(a.x), n))

    @rule(target=pool, a=pool, shift=st.integers(-3, 3))
    def roll(self, a: Pair, shift: int) -> Pair:
        if a.n.ndim == 0:
            return a
        return self._add(_new(xp.roll(a.x, shift, axis=0), np.roll(a.n, shift, axis=0)))

    @rule(target=pool, a=pool)
    def join(self, a: Pair) -> Pair:
        if a.n.ndim == 0:
            return a
        return self._add(_new(xp.concat([a.x, a.x[::-1]]), np.concatenate([a.n, a.n[::-1]])))

    @rule(target=pool, a=pool)
    def copy(self, a: Pair) -> Pair:
        return self._add(_new(xp.asarray(a.x, copy=True), a.n))

    # Keys with arrays

    def _picks(self, draw: Any, n: int, *, distinct: bool = False) -> tuple[Any, Any]:
        """Draw indices into an axis of length n, known to the host or computed on the device."""
        size = draw(st.integers(0, n if distinct else 5))
        indices = np.asarray(draw(st.permutations(range(n)))[:size], np.int64)
        if not distinct and size:
            indices = np.resize(indices, size)
        if draw(st.booleans()):
            indices -= n  # counted from the end
        x = xp.asarray(indices, device=self.device)
        return (x if draw(st.booleans()) else x * 2 - x), indices

    @rule(target=pool, a=pool, data=st.data())
    def pick(self, a: Pair, data: Any) -> Pair:
        if a.n.ndim == 0 or a.n.shape[0] == 0:
            return a
        x, n = self._picks(data.draw, a.n.shape[0])
        if data.draw(st.booleans()):
            return self._add(_new(a.x[x], a.n[n]))
        return self._add(_new(xp.take(a.x, x, axis=0), np.take(a.n, n, axis=0)))

    @rule(a=pool, data=st.data())
    def put(self, a: Pair, data: Any) -> None:
        if not a.writable or a.n.ndim == 0 or a.n.shape[0] == 0:
            return
        x, n = self._picks(data.draw, a.n.shape[0], distinct=True)
        form = data.draw(st.sampled_from(["scalar", "itself", "row"]))
        if form == "scalar":
            a.x[x] = True if a.n.dtype.kind == "b" else 2
            a.n[n] = 2
        elif form == "itself":
            right = a.n[: n.size].copy()
            a.x[x] = a.x[: n.size]
            a.n[n] = right
        else:
            right = a.n[0].copy()
            a.x[x] = a.x[0, ...]
            a.n[n] = right

    @rule(target=pool, a=pool, data=st.data(), form=st.sampled_from(["get", "set", "both"]))
    def mask(self, a: Pair, data: Any, form: str) -> Pair:
        if a.n.dtype.kind == "b":
            x, n = a.x, a.n.copy()
        else:
            pivot = data.draw(st.integers(0, 3))
            x, n = a.x > pivot, a.n > pivot
        if form == "get":
            return self._add(_new(a.x[x], a.n[n]))
        if not a.writable:
            return a
        if form == "set":
            a.x[x] = a.n.dtype.kind == "b" or 5
            a.n[n] = 5
        else:
            right = ~a.n[n] if a.n.dtype.kind == "b" else a.n[n] + a.n[n]
            a.x[x] = ~a.x[x] if a.n.dtype.kind == "b" else a.x[x] + a.x[x]
            a.n[n] = right
        return a if x is a.x else self._add(_new(x, n))

    @rule(target=pool, a=pool)
    def scan(self, a: Pair) -> Pair:
        if a.n.dtype.kind not in "iu" or a.n.ndim == 0:
            return a
        n = np.cumsum(a.n, axis=-1)
        return self._add(_new(xp.cumulative_sum(a.x, axis=-1), n))

    # Writes

    def _store(self, a: Pair, key: Any, right: Any, n: Any) -> None:
        a.x[key] = right
        a.n[key] = np.array(n, copy=True)

    @rule(a=pool, data=st.data(), k=st.integers(0, 3))
    def set_scalar(self, a: Pair, data: Any, k: int) -> None:
        if not a.writable:
            with pytest.raises(ValueError, match="read-only"):
                a.x[...] = True if a.n.dtype.kind == "b" else k
            return
        key = keys(data.draw, a.n.shape)
        scalar = bool(k & 1) if a.n.dtype.kind == "b" else k
        a.x[key] = scalar
        a.n[key] = scalar

    @rule(a=pool, data=st.data(), held=st.booleans())
    def set_array(self, a: Pair, data: Any, held: bool) -> None:
        if not a.writable:
            return
        key = keys(data.draw, a.n.shape)
        b = self._partner(data.draw, a, a.n[key].shape)
        if b is None:
            return
        if held:
            self._store(a, key, b.x, b.n)
        elif a.n.dtype.kind == "b":
            self._store(a, key, ~b.x, ~b.n)
        else:
            self._store(a, key, b.x + b.x * 2, b.n + b.n * 2)

    @rule(a=pool, data=st.data(), shift=st.integers(1, 3), back=st.booleans())
    def shift(self, a: Pair, data: Any, shift: int, back: bool) -> None:
        """``a[1:] = a[:-1]`` along an axis, or with an expression of both sides."""
        axes = [d for d, n in enumerate(a.n.shape) if n > shift]
        if not a.writable or not axes:
            return
        d = data.draw(st.sampled_from(axes))
        to = (*[slice(None)] * d, slice(shift, None))
        of = (*[slice(None)] * d, slice(None, -shift))
        if back:
            to, of = of, to
        form = data.draw(st.sampled_from(["plain", "sum", "held", "augmented"]))
        if form == "plain":
            self._store(a, to, a.x[of], a.n[of])
        elif a.n.dtype.kind == "b":
            self._store(a, to, a.x[of] ^ a.x[to], a.n[of] ^ a.n[to])
        elif form == "sum":
            self._store(a, to, a.x[of] * 2 + a.x[to], a.n[of] * 2 + a.n[to])
        elif form == "held":
            held = a.x[of] + 1
            n = a.n[of] + 1
            self._store(a, to, held * a.x[to], n * a.n[to])
            self._add(_new(held, n))
        else:
            a.x[to] += a.x[of]
            a.n[to] += a.n[of].copy()

    @rule(a=pool, form=st.sampled_from(["flip", "row", "transpose", "stride", "permuted sum"]))
    def permute_itself(self, a: Pair, form: str) -> None:
        if not a.writable or a.n.ndim == 0 or a.n.size == 0:
            return
        x, n = a.x, a.n
        if form == "flip":
            self._store(a, ..., xp.flip(x), np.flip(n))
        elif form == "row":
            self._store(a, ..., x[-1, ...], n[-1, ...])
        elif form == "transpose" and n.ndim == 2 and n.shape[0] == n.shape[1]:
            self._store(a, ..., x.T, n.T)
        elif form == "stride" and n.shape[0] > 1:
            half = n.shape[0] // 2
            self._store(a, slice(None, 2 * half, 2), x[1::2], n[1::2])
        elif form == "permuted sum" and n.dtype.kind != "b":
            a.x += xp.flip(a.x)
            a.n += np.flip(a.n).copy()

    @rule(a=pool, data=st.data(), op=st.sampled_from(["+", "-", "*", "/", "^"]))
    def augmented(self, a: Pair, data: Any, op: str) -> None:
        b = self._partner(data.draw, a, a.n.shape)
        if not a.writable or b is None or op not in ALLOWED[a.n.dtype.kind]:
            return
        right = b.n.copy()
        if op == "+":
            a.x += b.x
            a.n += right
        elif op == "-":
            a.x -= b.x
            a.n -= right
        elif op == "*":
            a.x *= b.x
            a.n *= right
        elif op == "/":
            a.x /= b.x
            a.n /= right
        else:
            a.x ^= b.x
            a.n ^= right

    # Forcing and reading

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def evaluate(self, data: Any) -> None:
        chosen = data.draw(st.lists(st.sampled_from(self.entries), min_size=1, max_size=4))
        xp.evaluate(*[p.x for p in chosen])

    @rule(a=pool)
    def read(self, a: Pair) -> None:
        self._check(a)

    @rule(a=pool)
    def keep_a_read(self, a: Pair) -> None:
        got = np.asarray(a.x)
        self.reads.append((got, np.array(a.n, copy=True)))
        with pytest.raises(ValueError):
            got[...] = 0

    @rule(a=pool)
    def scribble_over_a_copy(self, a: Pair) -> None:
        mine = a.x.get()
        assert same_bits(mine, a.n)
        mine[...] = 1

    @rule(a=pool, mode=st.sampled_from(["r", "w", "rw"]), inside=st.booleans())
    def host(self, a: Pair, mode: str, inside: bool) -> None:
        if mode == "r":
            with a.x.host("r") as h:
                assert same_bits(h, a.n)
            return
        if not a.writable:
            return
        with a.x.host(mode) as h:
            if mode == "rw":
                assert same_bits(h, a.n)
            h[...] = 1
            a.n[...] = 1
            if inside:
                self._add(_new(a.x == a.x, a.n == a.n))
                self._add(_new(xp.asarray(a.x, copy=True), a.n))
                h[...] = 0
                a.n[...] = 0

    @precondition(lambda self: self.device != "cpu")
    @rule(target=pool, a=pool, form=st.sampled_from(["twice", "next"]))
    def users_kernel(self, a: Pair, form: str) -> Pair:
        if self.kernels is None:
            self.kernels = xp.SourceModule(SOURCE, device=self.device)
        run = self.kernels.get_function(form)
        if not a.n.flags.c_contiguous or a.n.dtype != np.float32 or a.n.size == 0:
            return a
        if not a.writable and a.n.base is not None:
            return a
        size = np.int64(a.n.size)
        if form == "next":
            run(a.x, size, grid=(4,), block=(256,))
            a.n += np.float32(1)
            return a
        out = xp.empty_like(a.x)
        run(xp.In(a.x), xp.Out(out), size, grid=(4,), block=(256,))
        return self._add(_new(out, a.n * np.float32(2)))

    @rule(a=consumes(pool))
    def drop(self, a: Pair) -> None:
        if a in self.entries:
            self.entries.remove(a)

    def teardown(self) -> None:
        try:
            for pair in self.entries:
                self._check(pair)
            for got, want in self.reads:
                assert same_bits(got, want), "an array that np.asarray gave has changed"
        finally:
            self.errors.__exit__(None, None, None)


def _run(device: str) -> None:
    class Machine(ProgramOrder):
        pass

    Machine.device = device
    current = settings()
    run_state_machine_as_test(
        Machine,
        settings=settings(current, stateful_step_count=30, max_examples=current.max_examples),
    )


def test_program_order(device: str) -> None:
    _run(device)


def test_program_order_when_every_operation_is_evaluated(kernel_device: str) -> None:
    with eager():
        _run(kernel_device)
