"""Reductions with their producers: a ``ReduceKey`` to CUDA C.

Two schedules of one order (see ``order``): ``row`` gives a chunk to a group of threads that read
along the reduced axes, ``column`` gives a thread a result and lets neighbours read along the kept
axes. With several chunks, the block that finishes last combines them; its ticket counter wraps
back to zero by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from .. import _dtypes as dt
from .emit import (
    NAME,
    Text,
    divisor_parameters,
    emit_body,
    error_parameter,
    scalar_parameters,
    split_index,
    with_prelude,
)
from .key import Index, Instruction, PassesKey, ReduceKey

if TYPE_CHECKING:
    from ..graph.optable import ReduceSpec

ROW_BLOCK = 256
SMALL_BLOCK = 64
_BOX_BYTES = 16  # LzBox of codegen.cuh
_MOST_BOX_BYTES = 32768
_THREADS = 1024  # that a multiprocessor shall hold at least, with 64 registers each
_MOST_UNROLLED = 160  # instructions


def block_shape(key: ReduceKey) -> tuple[int, int]:
    """Return the block's threads along x and y."""
    if key.schedule == "row":
        return row_block(key), 1
    return (_COLUMN_BLOCKS_GATHERING if _gathers(key) else _COLUMN_BLOCKS)[key.lanes]


def _gathers(key: ReduceKey) -> bool:
    """Whether lanes hold more than an accumulator."""
    return any(spec.lane is not None for spec, _ in key.reductions)


# Threads along x, one a column, and along y, which share its lanes: at most 16 each, and fewer of
# those that hold more than an accumulator.
_COLUMN_BLOCKS = {1024: (16, 64), 256: (32, 16), 64: (32, 16), 32: (32, 8), 4: (ROW_BLOCK, 1)}
_COLUMN_BLOCKS_GATHERING = _COLUMN_BLOCKS | {1024: (8, 128), 256: (16, 64), 64: (32, 32)}


def row_block(key: ReduceKey | PassesKey) -> int:
    """Return the threads of a block of the row schedule: of one chunk or of several.

    Where a result has several chunks, as few as a chunk has: small blocks end together.
    """
    width = key.lanes // key.vector
    split = isinstance(key, ReduceKey) and key.split
    block = max(SMALL_BLOCK if split else ROW_BLOCK, width)
    while block > max(SMALL_BLOCK, width) and _exchanged(key, block) > _MOST_BOX_BYTES:
        block //= 2
    return block


def _exchanged(key: ReduceKey | PassesKey, threads: int) -> int:
    """Return the bytes through which the warps of a block exchange their accumulators."""
    widest = max(spec.acc_bytes for spec, _ in key.reductions)
    return threads * key.vector * widest


def row_groups(key: ReduceKey) -> int:
    """Return how many chunks a block of the row schedule takes at once."""
    return row_block(key) * key.vector // key.lanes


def together(body: Sequence[Instruction], operands: int, most: int, vector: int) -> int:
    """Return how many iterations of a walk go together, so that their loads are in flight at once.

    At ``most`` that many loads, and no more code than a compiler likes.
    """
    return max(1, min(most // max(operands, 1), _MOST_UNROLLED // (vector * max(len(body), 1))))


def in_flight(lanes: int) -> int:
    """Return how many loads of a thread of the row schedule shall be in flight."""
    return 8 if lanes > 32 else 4


def strided_loop(
    out: Text, start: str, step: int, width: int, last: str, batch: int, body: Callable[[], None]
) -> None:
    """Write a loop of ``k`` from ``start`` by ``step`` while ``width`` elements fit up to ``last``.

    ``body`` writes what is done at ``k``. Between the iterations of a batch nothing is tested: a
    test would keep a load behind the ones before it.
    """
    out.add(f"I k = {start};")
    if batch == 1:
        out.add(f"for (; k + {width} <= {last}; k += {step}) {{")
        body()
        out.add("}")
        return
    out.add("const auto visit = [&](const I k) {")
    body()
    out.add("};")
    out.add(f"for (; k + {width + (batch - 1) * step} <= {last}; k += {batch * step}) {{")
    out.add("#pragma unroll")
    out.add(f"for (int t = 0; t < {batch}; ++t) visit(k + t * {step});")
    out.add("}")
    out.add(f"for (; k + {width} <= {last}; k += {step}) visit(k);")


def emit_reduce(key: ReduceKey) -> str:
    """Return the source of a reduction kernel."""
    out = Text()
    x, y = block_shape(key)
    accumulator_types(out, key.reductions)
    threads = _THREADS if key.schedule == "column" or not _gathers(key) else _THREADS // 2
    least = max(1, threads // (x * y))
    out.add(f'extern "C" __global__ void __launch_bounds__({x * y}, {least})')
    out.add(f"{NAME}({', '.join(_parameters(key))}) {{")
    if key.split or (y > 1 if key.schedule == "column" else key.lanes // key.vector > 32):
        exchange_box(out, key, x * y)
    if key.schedule == "row":
        _row(out, key)
    else:
        _column(out, key)
    out.add("}")
    return with_prelude(key.wide, str(out))


def accumulator_types(out: Text, reductions: Sequence[tuple[ReduceSpec, int]]) -> None:
    """Write the accumulators' types and how they combine."""
    for k, (spec, _) in enumerate(reductions):
        out.add(f"typedef {spec.acc_c_type} A{k};")
        out.add(f"#define COMBINE{k}(p, q) {spec.combine.format(a='(p)', b='(q)')}")


def exchange_box(out: Text, key: ReduceKey | PassesKey, threads: int) -> None:
    """Write the one shared array through which warps exchange accumulators of any type."""
    out.add(f"__shared__ LzBox lz_box[{-(-_exchanged(key, threads) // _BOX_BYTES)}];")


def _parameters(key: ReduceKey) -> list[str]:
    names = [f"{dt.c_type(s.out_dtype)}* y{k}" for k, (s, _) in enumerate(key.reductions)]
    if key.split:
        names += [f"A{k}* part{k}" for k, _ in enumerate(key.reductions)]
        names += ["unsigned int* tickets"]
    names += error_parameter(key.body)
    names += [f"const {dt.c_type(o.dtype)}* x{k}" for k, o in enumerate(key.operands)]
    names += scalar_parameters(key.scalars)
    names += ["I M", "I K", "I length", "I chunks", "long long count"]
    names += divisor_parameters("m", range(1, key.kept), key.wide)
    names += divisor_parameters("k", range(1, key.reduced), key.wide)
    for k, o in enumerate(key.operands):
        if o.mode != "scalar":
            names += [f"I x{k}_m{d}" for d in range(key.kept)]
            names += [f"I x{k}_k{d}" for d in range(key.reduced)]
    names += ["I lm", "I lk"] if _uses_index(key) else []
    return names


def _uses_index(key: ReduceKey) -> bool:
    return any(isinstance(i, Index) for i in key.body)


def _base(out: Text, key: ReduceKey) -> None:
    """Write each operand's offset for result m."""
    names = [f"cm{d}" for d in range(key.kept)]
    if names:
        split_index(out, "(U)m", names, [f"m{d}" for d in range(key.kept)], key.wide)
    for k, o in enumerate(key.operands):
        if o.mode != "scalar":
            terms = [f"{name} * x{k}_m{d}" for d, name in enumerate(names)]
            out.add(f"const I x{k}m = {' + '.join(terms) or '0'};")


def _element(out: Text, key: ReduceKey, k: str, lane: str) -> None:
    """Combine element ``k`` of result m into accumulators ``lane``."""
    names = [f"ck{d}" for d in range(key.reduced)]
    split_index(out, f"(U)({k})", names, [f"k{d}" for d in range(key.reduced)], key.wide)

    def place(j: int) -> str:
        if key.operands[j].mode == "scalar":
            return "0"
        terms = [f"{name} * x{j}_k{d}" for d, name in enumerate(names)]
        return f"x{j}m + {' + '.join(terms)}"

    _combine_body(out, key, lambda j: f"x{j}[{place(j)}]", place, k, lane)


def _combine_body(
    out: Text,
    key: ReduceKey,
    load: Callable[[int], str],
    place: Callable[[int], str],
    k: str,
    lane: str,
) -> None:
    linear = f"(long long)m * lm + (long long)({k}) * lk"
    emit_body(out, key.body, key.operands, key.scalars, load, place, linear)
    for r, (spec, source) in enumerate(key.reductions):
        add_element(out, r, spec, f"v{source}", k, lane)


def add_element(out: Text, r: int, spec: ReduceSpec, x: str, k: str, lane: str) -> None:
    """Give ``x``, element ``k`` of a result, to a lane of reduction ``r``."""
    text = spec.load.format(x=x, k=f"((long long)({k}))")
    if spec.lane is not None:
        out.add(f"lane{r}[{lane}] = {spec.lane.add.format(a=f'lane{r}[{lane}]', x=text)};")
        return
    out.add(f"const A{r} e{r} = {text};")
    out.add(f"acc{r}[{lane}] = COMBINE{r}(acc{r}[{lane}], e{r});")


def lanes_begin(out: Text, reductions: dict[int, ReduceSpec], count: int) -> None:
    """Write ``count`` lanes of each reduction, without an element yet."""
    for r, spec in reductions.items():
        kind, name, start = f"A{r}", f"acc{r}", spec.identity
        if spec.lane is not None:
            kind, name, start = spec.lane.c_type, f"lane{r}", spec.lane.start
        out.add(f"{kind} {name}[{count}];")
        out.add("#pragma unroll")
        out.add(f"for (int u = 0; u < {count}; ++u) {name}[u] = {start};")


def lanes_end(out: Text, reductions: dict[int, ReduceSpec], count: int) -> None:
    """Write the accumulators ``acc``, what the lanes amount to."""
    for r, spec in reductions.items():
        if spec.lane is not None:
            out.add(f"A{r} acc{r}[{count}];")
            out.add("#pragma unroll")
            value = spec.lane.settle.format(a=f"lane{r}[u]")
            out.add(f"for (int u = 0; u < {count}; ++u) acc{r}[u] = {value};")


def _row(out: Text, key: ReduceKey) -> None:
    v = key.vector
    width = key.lanes // v
    groups = row_groups(key)
    out.add(f"const int lane = threadIdx.x % {width};")
    out.add(f"const int group = threadIdx.x / {width};")
    if key.split:
        out.add(f"const U blocks = (U)((chunks + {groups - 1}) / {groups});")
        out.add("const I m = (I)(blockIdx.x / blocks);")
        out.add(f"const I c = (I)(blockIdx.x % blocks) * {groups} + group;")
        out.add("const bool active = c < chunks;")
    else:
        out.add(f"const I m = (I)blockIdx.x * {groups} + group;")
        out.add("const I c = 0;")
        out.add("const bool active = m < M;")
    specs = {r: s for r, (s, _) in enumerate(key.reductions)}
    lanes_begin(out, specs, v)
    out.add("if (active) {")
    _base(out, key)
    out.add("const I first = c * length;")
    out.add("const I last = c + 1 < chunks ? first + length : K;")
    _row_loop(out, key)
    out.add("}")
    lanes_end(out, specs, v)
    row_tree(out, specs, width, "acc", v)
    out.add("if (lane == 0 && active) {")
    _store(out, key, "m", "m * chunks + c", "acc{r}[0]")
    out.add("}")
    if key.split:
        _last_block(out, "m", "blocks")
        out.add("if (!is_last) return;")
        _row_final(out, key)


def _row_loop(out: Text, key: ReduceKey) -> None:
    v = key.vector
    operands = sum(o.mode != "scalar" for o in key.operands)
    batch = together(key.body, operands, in_flight(key.lanes), v)
    if v == 1:
        element = partial(_element, out, key, "k", "0")
        strided_loop(out, "first + lane", key.lanes, 1, "last", batch, element)
        return
    strided_loop(out, f"first + lane * {v}", key.lanes, v, "last", batch, lambda: _vector(out, key))
    if key.ragged:
        out.add(f"for (int u = 0; u < {v} && k + u < last; ++u) {{")
        _element(out, key, "k + u", "u")
        out.add("}")


def _vector(out: Text, key: ReduceKey) -> None:
    """Combine a vector of elements of result m, from ``k`` on."""
    v = key.vector
    runs = [k for k, o in enumerate(key.operands) if o.mode == "run"]
    names = [f"ck{d}" for d in range(key.reduced)]
    split_index(out, "(U)k", names, [f"k{d}" for d in range(key.reduced)], key.wide)
    for j, o in enumerate(key.operands):
        if o.mode == "scalar":
            continue
        terms = [f"{name} * x{j}_k{d}" for d, name in enumerate(names)]
        out.add(f"const I x{j}o = x{j}m + {' + '.join(terms)};")
        if j in runs:
            kind = f"LzVec<{dt.c_type(o.dtype)}, {v}>"
            out.add(f"const {kind} a{j} = *(const {kind}*)(x{j} + x{j}o);")
    inner = key.reduced - 1

    def place(j: int) -> str:
        if key.operands[j].mode == "scalar":
            return "0"
        return f"x{j}o + u * x{j}_k{inner}"

    def load(j: int) -> str:
        return f"a{j}.v[u]" if key.operands[j].mode == "run" else f"x{j}[{place(j)}]"

    out.add("#pragma unroll")
    out.add(f"for (int u = 0; u < {v}; ++u) {{")
    _combine_body(out, key, load, place, "k + u", "u")
    out.add("}")


def row_tree(
    out: Text, reductions: Mapping[int, ReduceSpec], width: int, name: str, v: int
) -> None:
    """Combine in halves the lanes of a group of ``width`` threads, ``v`` neighbours in each.

    The group's first thread gets the result, in ``{name}{r}[0]``.
    """
    if width > 32:
        for r, spec in reductions.items():
            _exchange(out, r, spec.acc_bytes, width, name, v)
        width, v = 32, 1
    step = width // 2
    dealt = []
    while step >= 1:
        if v > 1:  # of two threads, each goes on with half of their pairs of lanes
            v //= 2
            dealt.append(step)
            _deal(out, reductions, name, v, step)
        else:
            _shift(out, reductions, name, 1, step)
        step //= 2
    for step in dealt:
        _shift(out, reductions, name, v, step)
    fold_lanes(out, reductions, v, name)


def _shift(out: Text, reductions: Iterable[int], name: str, v: int, step: int) -> None:
    """Combine each of ``v`` accumulators with the one ``step`` threads on."""
    for r in reductions:
        out.add("#pragma unroll")
        out.add(f"for (int u = 0; u < {v}; ++u) {{")
        out.add(f"const A{r} o = lz_shift_down({name}{r}[u], {step});")
        out.add(f"{name}{r}[u] = COMBINE{r}({name}{r}[u], o);")
        out.add("}")


def _deal(out: Text, reductions: Iterable[int], name: str, v: int, step: int) -> None:
    """Combine ``2 * v`` lanes with those of the thread ``step`` away.

    The lower of the two takes the first half of the lanes, the upper the rest; in both the lower
    thread's accumulator is the left one.
    """
    for r in reductions:
        x = f"{name}{r}"
        out.add("#pragma unroll")
        out.add(f"for (int u = 0; u < {v}; ++u) {{")
        out.add(f"const bool upper = threadIdx.x & {step};")
        out.add(f"const A{r} mine = upper ? {x}[u + {v}] : {x}[u];")
        out.add(f"const A{r} other = upper ? {x}[u] : {x}[u + {v}];")
        out.add(f"const A{r} o = lz_from_lane(other, (threadIdx.x & 31) ^ {step});")
        out.add(f"const A{r} left = upper ? o : mine, right = upper ? mine : o;")
        out.add(f"{x}[u] = COMBINE{r}(left, right);")
        out.add("}")


def _exchange(out: Text, r: int, size: int, width: int, name: str, v: int) -> None:
    """Combine through shared memory until the group's first warp has a lane a thread.

    A thread of that warp takes up to 64 bytes of accumulators at once.
    """
    own = f"{name}{r}[0]"
    out.add("{")
    out.add(f"const int at = threadIdx.x % {width};")
    out.add(f"LzRaw<A{r}>* const box = (LzRaw<A{r}>*)lz_box + (threadIdx.x - at) * {v};")
    out.add("__syncthreads();")
    out.add("#pragma unroll")
    out.add(f"for (int u = 0; u < {v}; ++u) box[at * {v} + u].put({name}{r}[u]);")
    out.add("__syncthreads();")
    if v > 1:  # lanes that belong together lie in other threads: each takes them from there
        out.add("#pragma unroll")
        out.add(f"for (int u = 1; u < {v}; ++u) {name}{r}[u] = box[at + u * {width}].get();")
        out.add(f"{own} = box[at].get();")
        fold_lanes(out, [r], v, name)
        out.add(f"box[at].put({own});")
        out.add("__syncthreads();")
    half = width // 2
    while half // 16 > min(8, 64 // size):
        out.add(f"if (at < {half}) {{")
        out.add(f"{own} = COMBINE{r}({own}, box[at + {half}].get());")
        out.add(f"box[at].put({own});")
        out.add("}")
        out.add("__syncthreads();")
        half //= 2
    rest = half // 16
    out.add("if (at < 32) {")
    out.add(f"A{r} tip{r}[{rest}];")
    out.add("#pragma unroll")
    out.add(f"for (int u = 0; u < {rest}; ++u) tip{r}[u] = box[at + u * 32].get();")
    step = rest // 2
    while step >= 1:
        out.add("#pragma unroll")
        out.add(f"for (int u = 0; u < {step}; ++u)")
        out.add(f"  tip{r}[u] = COMBINE{r}(tip{r}[u], tip{r}[u + {step}]);")
        step //= 2
    out.add(f"{own} = tip{r}[0];")
    out.add("}")
    out.add("}")


def _store(out: Text, key: ReduceKey, m: str, part: str, value: str) -> None:
    for r, (spec, _) in enumerate(key.reductions):
        text = value.format(r=r)
        if key.split:
            out.add(f"part{r}[{part}] = {text};")
        else:
            out.add(f"y{r}[{m}] = {spec.finish.format(a=text, n='count')};")


def _last_block(out: Text, ticket: str, blocks: str) -> None:
    """Set ``is_last`` in the block that is the last of its results to get here."""
    out.add("__shared__ bool is_last;")
    out.add("__threadfence();")
    out.add("__syncthreads();")
    out.add("if (threadIdx.x == 0 && threadIdx.y == 0) {")
    out.add(f"const unsigned int all = (unsigned int)({blocks}) - 1u;")
    out.add(f"is_last = atomicInc(&tickets[{ticket}], all) == all;")
    out.add("}")
    out.add("__syncthreads();")


def _row_final(out: Text, key: ReduceKey) -> None:
    block = row_block(key)
    _partial_results(out, key, block, "threadIdx.x", "m * chunks + p")
    fold_lanes(out, range(len(key.reductions)), key.lanes // block, "fin")
    specs = {r: s for r, (s, _) in enumerate(key.reductions)}
    row_tree(out, specs, block, "fin", 1)
    _store_final(out, key, "threadIdx.x == 0")


def _partial_results(out: Text, key: ReduceKey, step: int, first: str, place: str) -> None:
    """Combine the chunks' results in the lanes of a thread: from ``first`` on, ``step`` apart."""
    own = key.lanes // step
    out.add("__threadfence();")
    for r, (spec, _) in enumerate(key.reductions):
        out.add(f"A{r} fin{r}[{own}];")
        out.add("#pragma unroll")
        out.add(f"for (int u = 0; u < {own}; ++u) fin{r}[u] = {spec.identity};")

    def lanes(cut: bool) -> None:
        out.add("#pragma unroll")
        out.add(f"for (int u = 0; u < {own}; ++u) {{")
        out.add(f"I p = k + u * {step} + {first};")
        if cut:  # chunks that are not there: the last one is read, and left out
            out.add("const bool there = p < chunks;")
            out.add("p = there ? p : chunks - 1;")
        for r, _ in enumerate(key.reductions):
            out.add(f"const A{r} e{r} = part{r}[{place}];")
            condition = "if (there) " if cut else ""
            out.add(f"{condition}fin{r}[u] = COMBINE{r}(fin{r}[u], e{r});")
        out.add("}")

    out.add("{")
    words = sum(max(1, spec.acc_bytes // 4) for spec, _ in key.reductions)
    batch = max(1, 16 // (own * words))
    strided_loop(out, "0", key.lanes, key.lanes, "chunks", batch, lambda: lanes(cut=False))
    lanes(cut=True)
    out.add("}")


def _store_final(out: Text, key: ReduceKey, condition: str) -> None:
    out.add(f"if ({condition}) {{")
    for r, (spec, _) in enumerate(key.reductions):
        out.add(f"y{r}[m] = {spec.finish.format(a=f'fin{r}[0]', n='count')};")
    out.add("}")


def fold_lanes(out: Text, reductions: Iterable[int], own: int, name: str) -> None:
    """Combine in halves the lanes that a thread has, whatever lies between them."""
    step = own // 2
    while step >= 1:
        for r in reductions:
            out.add("#pragma unroll")
            out.add(f"for (int u = 0; u < {step}; ++u)")
            out.add(f"  {name}{r}[u] = COMBINE{r}({name}{r}[u], {name}{r}[u + {step}]);")
        step //= 2


def _column(out: Text, key: ReduceKey) -> None:
    x, rows = block_shape(key)
    own = key.lanes // rows
    out.add(f"I m = (I)blockIdx.x * {x} + threadIdx.x;")
    out.add("const I c = (I)blockIdx.y;")
    out.add("const int y = threadIdx.y;")
    out.add("const bool active = m < M;")
    specs = {r: s for r, (s, _) in enumerate(key.reductions)}
    lanes_begin(out, specs, own)
    out.add("if (active) {")
    _base(out, key)
    out.add("const I first = c * length;")
    out.add("const I last = c + 1 < chunks ? first + length : K;")

    def lanes() -> None:
        out.add("#pragma unroll")
        out.add(f"for (int u = 0; u < {own}; ++u) {{")
        _element(out, key, f"k + u * {rows} + y", "u")
        out.add("}")

    words = sum(max(1, o.dtype.itemsize // 4) for o in key.operands if o.mode != "scalar")
    batch = together(key.body, own * words, 16, own)
    strided_loop(out, "first", key.lanes, key.lanes, "last", batch, lanes)
    out.add("#pragma unroll")
    out.add(f"for (int u = 0; u < {own}; ++u) {{")
    out.add(f"if (k + u * {rows} + y < last) {{")
    _element(out, key, f"k + u * {rows} + y", "u")
    out.add("}")
    out.add("}")
    out.add("}")
    lanes_end(out, specs, own)
    _column_tree(out, key, own, "acc")
    out.add("if (y == 0 && active) {")
    _store(out, key, "m", "c * M + m", "acc{r}[0]")
    out.add("}")
    if key.split:
        _last_block(out, "blockIdx.x", "gridDim.y")
        out.add("if (!is_last) return;")
        _column_final(out, key, rows)


def _column_tree(out: Text, key: ReduceKey, own: int, name: str) -> None:
    columns, rows = block_shape(key)
    fold_lanes(out, range(len(key.reductions)), own, name)
    step = rows // 2
    for r, _ in enumerate(key.reductions):
        if rows > 1:
            out.add("{")
            out.add(f"LzRaw<A{r}>* const box = (LzRaw<A{r}>*)lz_box + threadIdx.x;")
            half = step
            while half >= 1:
                out.add("__syncthreads();")
                out.add(f"box[y * {columns}].put({name}{r}[0]);")
                out.add("__syncthreads();")
                out.add(f"if (y < {half})")
                other = f"box[(y + {half}) * {columns}].get()"
                out.add(f"  {name}{r}[0] = COMBINE{r}({name}{r}[0], {other});")
                half //= 2
            out.add("}")


def _column_final(out: Text, key: ReduceKey, rows: int) -> None:
    out.add("if (!active) m = 0;")
    _partial_results(out, key, rows, "y", "p * M + m")
    _column_tree(out, key, key.lanes // rows, "fin")
    _store_final(out, key, "y == 0 && active")
