"""Several passes over each row in one kernel: softmax, layer norm. A ``PassesKey`` to CUDA C.

A group of threads takes a row and walks it once for every set of reductions that wait for the same
earlier results, each in the order of ``codegen.order``; then every thread of the group knows the
results, computes what is one value a row, and the last walk stores the outputs. The row is read
from memory once: it stays in registers where it is short enough (``held``), and else in the caches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial

from .. import _dtypes as dt
from .emit import (
    NAME,
    Text,
    divisor_parameters,
    emit_body,
    instruction_dtype,
    scalar_parameters,
    split_index,
    with_prelude,
)
from .key import Apply, Index, Load, Param, PassesKey, Reduced
from .reduce import (
    accumulator_types,
    add_element,
    exchange_box,
    in_flight,
    lanes_begin,
    lanes_end,
    row_block,
    row_tree,
    strided_loop,
    together,
)

_THREADS = 512  # that a multiprocessor shall hold at least, with 128 registers each
_DEAR = 10  # the cost from which an instruction is kept rather than computed again


def rows_per_block(key: PassesKey) -> int:
    """Return how many rows a block takes."""
    return row_block(key) * key.vector // key.lanes


def uses_index(key: PassesKey) -> bool:
    """Whether an instruction asks for the linear index."""
    return any(isinstance(i, Index) for i in key.body)


class _Schedule:
    """When each instruction can be computed: once a row or for every element, after which pass."""

    def __init__(self, key: PassesKey) -> None:
        self.key = key
        self.once: list[bool] = []
        self.phase: list[int] = []
        for i in key.body:
            if isinstance(i, Apply):
                self.once.append(all(self.once[a] for a in i.args))
                self.phase.append(max((self.phase[a] for a in i.args), default=0))
            elif isinstance(i, Reduced):
                self.once.append(True)
                self.phase.append(1 + self.phase[key.reductions[i.reduction][1]])
            else:
                row = isinstance(i, Load) and key.operands[i.operand].mode in ("row", "scalar")
                self.once.append(row or isinstance(i, Param))
                self.phase.append(0)

    def passes(self) -> list[list[int]]:
        """Return the reductions of each pass."""
        found: dict[int, list[int]] = {}
        for r, (_, source) in enumerate(self.key.reductions):
            found.setdefault(self.phase[source], []).append(r)
        return [found[p] for p in sorted(found)]

    def walks(self) -> list[list[int]]:
        """Return what each walk over a row is for: the sources of a pass, then the outputs."""
        key = self.key
        sources = [[key.reductions[r][1] for r in pass_] for pass_ in self.passes()]
        return [*sources, [y.instruction for y in key.outputs if y.mode != "row"]]

    def elements(self, sources: Iterable[int], known: Collection[int] = ()) -> set[int]:
        """Return the instructions that each element needs for some of them; others are known."""
        needed: set[int] = set()
        stack = [n for n in sources if not self.once[n] and n not in known]
        while stack:
            n = stack.pop()
            if n not in needed:
                needed.add(n)
                instruction = self.key.body[n]
                if isinstance(instruction, Apply):
                    stack += [a for a in instruction.args if not self.once[a] and a not in known]
        return needed


class Held:
    """What the threads of a group hold of a row, from one walk to the next.

    ``operands``: those that several walks read; ``kept``: instructions that are dear and that
    several walks use, computed in the first of them; ``chosen``: what each walk computes;
    ``width``: the most bytes held of an element at a time.
    """

    def __init__(self, key: PassesKey) -> None:
        schedule = _Schedule(key)
        walks = schedule.walks()
        uses = [schedule.elements(walk) for walk in walks]
        self.kept = {
            n
            for n, i in enumerate(key.body)
            if isinstance(i, Apply) and i.spec.cost >= _DEAR and sum(n in u for u in uses) > 1
        }
        self.chosen: list[set[int]] = []
        known: set[int] = set()
        for walk in walks:
            self.chosen.append(schedule.elements(walk, known))
            known |= self.kept & self.chosen[-1]
        reads = [
            {i.operand for n in chosen if isinstance(i := key.body[n], Load)}
            for chosen in self.chosen
        ]
        self.operands = sorted(
            j for j, _ in enumerate(key.operands) if sum(j in found for found in reads) > 1
        )
        self.width = 0
        for k in range(len(walks)):
            later = set().union(*reads[k:])
            size = sum(key.operands[j].dtype.itemsize for j in self.operands if j in later)
            made = set().union(*self.chosen[:k])
            for n in self.kept & made:
                if any(self._uses(schedule, walk, n, made) for walk in walks[k:]):
                    size += key.body[n].spec.out_dtype.itemsize  # type: ignore[union-attr]
            self.width = max(self.width, size)

    def _uses(self, schedule: _Schedule, walk: list[int], n: int, made: set[int]) -> bool:
        """Whether a walk reads a kept instruction."""
        without = schedule.elements(walk, (self.kept & made) - {n})
        return n in without


def emit_passes(key: PassesKey) -> str:
    """Return the source of a kernel of several passes."""
    out = Text()
    schedule = _Schedule(key)
    v = key.vector
    width = key.lanes // v
    accumulator_types(out, key.reductions)
    threads = row_block(key)
    least = max(1, _THREADS // threads)  # blocks at a time: what one waits for, another computes
    out.add(f'extern "C" __global__ void __launch_bounds__({threads}, {least})')
    out.add(f"{NAME}({', '.join(_parameters(key))}) {{")
    if width > 32:
        exchange_box(out, key, row_block(key))
    out.add(f"const int lane = threadIdx.x % {width};")
    out.add(f"const int group = threadIdx.x / {width};")
    out.add(f"const I row = (I)blockIdx.x * {rows_per_block(key)} + group;")
    out.add("const bool active = row < M;")
    out.add("const I m = active ? row : M - 1;")
    _bases(out, key)
    held = Held(key) if key.held else None
    if held is not None:
        _hold(out, key, held)
    _once(out, schedule, 0)
    for phase, reductions in enumerate(schedule.passes()):
        _reduce_pass(out, schedule, held, phase, reductions)
        _once(out, schedule, phase + 1)
    _outputs(out, schedule, held)
    out.add("}")
    return with_prelude(key.wide, str(out))


def _parameters(key: PassesKey) -> list[str]:
    names = [f"{dt.c_type(y.dtype)}* y{k}" for k, y in enumerate(key.outputs)]
    names += [f"const {dt.c_type(o.dtype)}* x{k}" for k, o in enumerate(key.operands)]
    names += scalar_parameters(key.scalars)
    names += ["I M", "I K", "long long count"]
    names += divisor_parameters("m", range(1, key.kept), key.wide)
    names += divisor_parameters("k", range(1, key.reduced), key.wide)
    for name, mode in _walked(key):
        names += [f"I {name}_m{d}" for d in range(key.kept)]
        if mode != "row":
            names += [f"I {name}_k{d}" for d in range(key.reduced)]
    return names + (["I lm", "I lk"] if uses_index(key) else [])


def _walked(key: PassesKey) -> list[tuple[str, str]]:
    """Return names and modes of the accesses that have strides, outputs first."""
    outputs = [(f"y{k}", y.mode) for k, y in enumerate(key.outputs) if y.mode != "row"]
    return outputs + [(f"x{k}", o.mode) for k, o in enumerate(key.operands) if o.mode != "scalar"]


def _bases(out: Text, key: PassesKey) -> None:
    """Write where row m starts in each access."""
    names = [f"cm{d}" for d in range(key.kept)]
    if names:
        split_index(out, "(U)m", names, [f"m{d}" for d in range(key.kept)], key.wide)
    for name, _ in _walked(key):
        terms = [f"{c} * {name}_m{d}" for d, c in enumerate(names)]
        out.add(f"const I {name}m = {' + '.join(terms) or '0'};")


def _hold(out: Text, key: PassesKey, held: Held) -> None:
    """Write the loads of what several walks over the row use, and room for what they keep."""
    v = key.vector
    operands = held.operands
    for j in operands:
        out.add(f"LzVec<{dt.c_type(key.operands[j].dtype)}, {v}> h{j}[{key.held}];")
    for n in sorted(held.kept):
        dtype = instruction_dtype(key.body[n], key.operands, key.scalars)
        out.add(f"LzVec<{dt.c_type(dtype)}, {v}> g{n}[{key.held}];")
    _rounds(out, key)
    _offsets(out, key, "k", [f"x{j}" for j in operands])
    for j in operands:
        kind = f"LzVec<{dt.c_type(key.operands[j].dtype)}, {v}>"
        if key.operands[j].mode == "run":
            out.add(f"h{j}[i] = *(const {kind}*)(x{j} + x{j}o);")
        else:
            place = f"x{j}o + u * x{j}_k{key.reduced - 1}"
            out.add("#pragma unroll")
            out.add(f"for (int u = 0; u < {v}; ++u) h{j}[i].v[u] = x{j}[{place}];")
    out.add("}")
    out.add("}")


def _rounds(out: Text, key: PassesKey) -> None:
    """Open the loop over the rounds in which a row's vectors are held, and the test of its end."""
    out.add("#pragma unroll")
    out.add(f"for (int i = 0; i < {key.held}; ++i) {{")
    out.add(f"const I k = lane * {key.vector} + i * {key.lanes};")
    out.add("if (k < K) {")


def _once(out: Text, schedule: _Schedule, phase: int) -> None:
    """Write what is one value a row and became known in this phase."""
    key = schedule.key
    for n, instruction in enumerate(key.body):
        if not schedule.once[n] or schedule.phase[n] != phase:
            continue
        if isinstance(instruction, Reduced):
            spec = key.reductions[instruction.reduction][0]
            text = spec.finish.format(a=f"acc{instruction.reduction}[0]", n="count")
            out.add(f"const {dt.c_type(instruction.dtype)} v{n} = {text};")
        else:
            _body(out, key, {n}, lambda j: f"x{j}[0]" if _scalar(key, j) else f"x{j}[x{j}m]", "0")


def _scalar(key: PassesKey, operand: int) -> bool:
    return key.operands[operand].mode == "scalar"


def _body(
    out: Text, key: PassesKey, chosen: Collection[int], load: Callable[[int], str], linear: str
) -> None:
    emit_body(
        out,
        key.body,
        key.operands,
        key.scalars,
        load,
        lambda j: "0",
        linear,
        chosen=chosen,
    )


def _reduce_pass(
    out: Text, schedule: _Schedule, held: Held | None, phase: int, reductions: list[int]
) -> None:
    key = schedule.key
    width = key.lanes // key.vector
    specs = {r: key.reductions[r][0] for r in reductions}
    lanes_begin(out, specs, key.vector)

    def combine(k: str, lane: str, _: bool) -> None:
        for r in reductions:
            spec, source = key.reductions[r]
            add_element(out, r, spec, f"v{source}", k, lane)

    _walk(out, schedule, held, phase, combine, [])
    lanes_end(out, specs, key.vector)
    row_tree(out, specs, width, "acc", key.vector)
    for r in reductions:
        if width > 32:
            out.add("__syncthreads();")
            out.add(f"if (lane == 0) ((LzRaw<A{r}>*)lz_box)[group].put(acc{r}[0]);")
            out.add("__syncthreads();")
            out.add(f"acc{r}[0] = ((LzRaw<A{r}>*)lz_box)[group].get();")
        elif width > 1:
            out.add(f"acc{r}[0] = lz_from_lane(acc{r}[0], (threadIdx.x & 31) - lane);")


def _outputs(out: Text, schedule: _Schedule, held: Held | None) -> None:
    key = schedule.key
    out.add("if (!active) return;")
    if any(y.mode == "row" for y in key.outputs):
        out.add("if (lane == 0) {")
        for j, y in enumerate(key.outputs):
            if y.mode == "row":
                out.add(f"y{j}[m] = v{y.instruction};")
        out.add("}")
    full = [j for j, y in enumerate(key.outputs) if y.mode != "row"]
    if not full:
        return
    inner = key.reduced - 1

    def store(_k: str, _lane: str, vector: bool) -> None:
        for j in full:
            y = key.outputs[j]
            if vector and y.mode == "run":
                out.add(f"b{j}.v[u] = v{y.instruction};")
            else:
                at = f"y{j}o + u * y{j}_k{inner}" if vector else f"y{j}o"
                out.add(f"y{j}[{at}] = v{y.instruction};")

    _walk(out, schedule, held, len(schedule.passes()), store, full)


def _walk(
    out: Text,
    schedule: _Schedule,
    held: Held | None,
    number: int,
    each: Callable[[str, str, bool], None],
    outputs: list[int],
) -> None:
    """Write a loop over a row; ``each(k, lane, vector)`` follows the instructions of element k.

    ``lane`` numbers the accumulator; ``vector``: the element is number ``u`` of a whole vector.
    """
    key = schedule.key
    if held is not None:
        _rounds(out, key)
        known = held.kept.intersection(*[set().union(*held.chosen[:number])])
        _vector(out, key, held.chosen[number], each, outputs, held, known)
        out.add("}")
        out.add("}")
        return
    chosen = schedule.elements(schedule.walks()[number])
    loads = _loads(key, chosen)
    v = key.vector
    names = [f"x{j}" for j in loads] + [f"y{j}" for j in outputs]
    body = [key.body[n] for n in sorted(chosen)]
    batch = together(body, len(names), in_flight(key.lanes), v)

    def element() -> None:
        _element(out, key, chosen, "k", names)
        each("k", "0", False)

    out.add("{")
    if v == 1:
        strided_loop(out, "lane", key.lanes, 1, "K", batch, element)
        out.add("}")
        return
    vector = partial(_vector, out, key, chosen, each, outputs)
    strided_loop(out, f"lane * {v}", key.lanes, v, "K", batch, vector)
    if key.ragged:
        out.add(f"for (int u = 0; u < {v} && k + u < K; ++u) {{")
        _element(out, key, chosen, "k + u", names)
        each("k + u", "u", False)
        out.add("}")
    out.add("}")


def _loads(key: PassesKey, chosen: set[int]) -> list[int]:
    """Return the operands that instructions read."""
    return [i.operand for n, i in enumerate(key.body) if n in chosen and isinstance(i, Load)]


def _vector(
    out: Text,
    key: PassesKey,
    chosen: set[int],
    each: Callable[[str, str, bool], None],
    outputs: list[int],
    held: Held | None = None,
    known: Collection[int] = (),
) -> None:
    """Write what is done for one vector of a row, element by element."""
    v = key.vector
    inner = key.reduced - 1
    in_registers = held.operands if held is not None else []
    read = [j for j in _loads(key, chosen) if j not in in_registers]
    _offsets(out, key, "k", [f"x{j}" for j in read] + [f"y{j}" for j in outputs])
    vectors = [j for j in read if key.operands[j].mode == "run"]
    for j in vectors:
        kind = f"LzVec<{dt.c_type(key.operands[j].dtype)}, {v}>"
        out.add(f"const {kind} a{j} = *(const {kind}*)(x{j} + x{j}o);")
    stored = [j for j in outputs if key.outputs[j].mode == "run"]
    for j in stored:
        out.add(f"LzVec<{dt.c_type(key.outputs[j].dtype)}, {v}> b{j};")

    def load(j: int) -> str:
        if j in in_registers:
            return f"h{j}[i].v[u]"
        return f"a{j}.v[u]" if j in vectors else f"x{j}[x{j}o + u * x{j}_k{inner}]"

    out.add("#pragma unroll")
    out.add(f"for (int u = 0; u < {v}; ++u) {{")
    for n in sorted(known):
        dtype = instruction_dtype(key.body[n], key.operands, key.scalars)
        out.add(f"const {dt.c_type(dtype)} v{n} = g{n}[i].v[u];")
    _body(out, key, chosen, load, "(long long)m * lm + (long long)(k + u) * lk")
    if held is not None:
        for n in sorted(held.kept & chosen):
            out.add(f"g{n}[i].v[u] = v{n};")
    each("k + u", "u", True)
    out.add("}")
    for j in stored:
        kind = f"LzVec<{dt.c_type(key.outputs[j].dtype)}, {v}>"
        out.add(f"*({kind}*)(y{j} + y{j}o) = b{j};")


def _element(out: Text, key: PassesKey, chosen: set[int], k: str, names: list[str]) -> None:
    _offsets(out, key, k, names)
    linear = f"(long long)m * lm + (long long)({k}) * lk"
    _body(out, key, chosen, lambda j: f"x{j}[x{j}o]", linear)


def _offsets(out: Text, key: PassesKey, k: str, accesses: list[str]) -> None:
    """Write where element k of row m is in each access."""
    coordinates = [f"ck{d}" for d in range(key.reduced)]
    split_index(out, f"(U)({k})", coordinates, [f"k{d}" for d in range(key.reduced)], key.wide)
    for name in accesses:
        terms = [f"{c} * {name}_k{d}" for d, c in enumerate(coordinates)]
        out.add(f"const I {name}o = {name}m + {' + '.join(terms)};")
