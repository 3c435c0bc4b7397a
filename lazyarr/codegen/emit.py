"""Element-wise kernels: a ``MapKey`` or ``BoxKey`` to CUDA C.

Owns the text that every generated kernel shares (types, parameters, bodies), the maps whose threads
compute ``vector`` consecutive elements each, and the boxes of ``spread`` elements: no kernel has a
grid-stride loop. Other element-wise forms are in ``rows``. Parameters come in the order in which
``launch`` packs them: outputs, operands, scalars, extents, then strides.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from .. import _dtypes as dt
from .._kernel_files import kernel_text
from .key import (
    Apply,
    BoxKey,
    DType,
    Gather,
    Index,
    Instruction,
    Load,
    MapKey,
    Operand,
    Output,
    Param,
    Reduced,
    is_checked,
)

BLOCK = 256
NAME = "lz_kernel"
COMPLEX = "lz_c_"  # how the names of kernels/complex.cuh begin


class Text:
    """Lines of C, indented by braces."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def add(self, line: str) -> None:
        if line.startswith("}"):
            self.depth -= 1
        self.lines.append("  " * self.depth + line)
        if line.endswith("{"):
            self.depth += 1

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


def prelude(wide: bool) -> str:
    """Return what stands before every generated kernel: device functions and the index types."""
    return _device_functions() + _index_types(wide)


def with_prelude(wide: bool, text: str) -> str:
    """Return a kernel with what it needs before it: complex functions only if it calls one."""
    functions = _device_functions()
    if COMPLEX in text:
        functions += kernel_text("complex.cuh") + "\n"
    return functions + _index_types(wide) + text


def _device_functions() -> str:
    return f"{kernel_text('lazyarr.cuh')}\n{kernel_text('codegen.cuh')}\n"


def _index_types(wide: bool) -> str:
    signed, unsigned = ("long long", "unsigned long long") if wide else ("int", "unsigned int")
    return f"typedef {signed} I;\ntypedef {unsigned} U;\n"


def scalar_parameters(scalars: Sequence[DType]) -> list[str]:
    """Return the declarations of the scalars; a complex one comes as its two parts."""
    result = []
    for k, dtype in enumerate(scalars):
        if dtype.kind == "c":
            part = dt.c_type(dt.real_of(dtype))
            result += [f"{part} p{k}_re", f"{part} p{k}_im"]
        else:
            result.append(f"{dt.c_type(dtype)} p{k}")
    return result


def scalar_name(k: int, dtype: DType) -> str:
    return f"lz_complex(p{k}_re, p{k}_im)" if dtype.kind == "c" else f"p{k}"


def convert(name: str, source: DType, target: DType) -> str:
    """Return a promotion (never a narrowing) as a C expression."""
    if source == target:
        return name
    if target.kind != "c":
        return f"(({dt.c_type(target)}){name})"
    part = dt.c_type(dt.real_of(target))
    if source.kind == "c":
        return f"lz_complex(({part}){name}.re, ({part}){name}.im)"
    return f"lz_complex(({part}){name}, ({part})0)"


def instruction_dtype(
    instruction: Instruction, operands: Sequence[Operand], scalars: Sequence[DType]
) -> DType:
    if isinstance(instruction, (Load, Gather)):
        return operands[instruction.operand].dtype
    if isinstance(instruction, Param):
        return scalars[instruction.scalar]
    if isinstance(instruction, (Index, Reduced)):
        return instruction.dtype
    return instruction.spec.out_dtype


def emit_body(
    out: Text,
    body: Sequence[Instruction],
    operands: Sequence[Operand],
    scalars: Sequence[DType],
    load: Callable[[int], str],
    place: Callable[[int], str],
    linear: str,
    prefix: str = "v",
    chosen: Collection[int] | None = None,
) -> None:
    """Write one assignment an instruction: ``v0``, ``v1`` ... each rounded to its dtype.

    ``load(k)`` is the element of operand k, ``place(k)`` where a gather starts in operand k. Only
    the ``chosen`` instructions are written (None: all); the others' names are there already.
    """
    dtypes: list[DType] = []
    for n, instruction in enumerate(body):
        dtype = instruction_dtype(instruction, operands, scalars)
        if chosen is not None and n not in chosen:
            dtypes.append(dtype)
            continue
        if isinstance(instruction, Load):
            text = load(instruction.operand)
        elif isinstance(instruction, Param):
            text = scalar_name(instruction.scalar, dtype)
        elif isinstance(instruction, Index):
            names = [scalar_name(k, scalars[k]) for k in instruction.scalars]
            text = instruction.c.format(*names, i=f"((long long)({linear}))")
        elif isinstance(instruction, Gather):
            text = _gather(instruction, place(instruction.operand), prefix)
        elif isinstance(instruction, Reduced):
            raise TypeError("the results of reductions are written by codegen.passes")
        else:
            text = _apply(instruction, dtypes, prefix)
        out.add(f"const {dt.c_type(dtype)} {prefix}{n} = {text};")
        dtypes.append(dtype)


def _gather(instruction: Gather, start: str, prefix: str) -> str:
    terms = [start]
    check = "lz_checked" if instruction.checked else "lz_index"
    for n, index in enumerate(instruction.indices):
        stride, size = instruction.scalars[2 * n : 2 * n + 2]
        more = ""
        if instruction.checked:
            more = f", {instruction.axes[n]}, p{instruction.scalars[-1]}, error"
        terms.append(f"{check}(lz_place({prefix}{index}), p{size}{more}) * p{stride}")
    return f"x{instruction.operand}[{' + '.join(terms)}]"


def emit_scatter(out: Text, k: int, output: Output, start: str) -> None:
    """Write one element at a place that computed indices move, if they are in range."""
    terms = [start]
    tests = []
    for n, index in enumerate(output.indices):
        stride, size = output.scalars[2 * n : 2 * n + 2]
        out.add(f"const long long j{k}_{n} = lz_wrapped(lz_place(v{index}), p{size});")
        tests.append(f"j{k}_{n} >= 0")
        terms.append(f"j{k}_{n} * p{stride}")
    out.add(f"if ({' && '.join(tests)}) y{k}[{' + '.join(terms)}] = v{output.instruction};")


def error_parameter(body: tuple[Instruction, ...]) -> list[str]:
    """Return the declaration of the error slot, for bodies that check indices."""
    return ["unsigned long long* error"] if is_checked(body) else []


def _apply(instruction: Apply, dtypes: Sequence[DType], prefix: str) -> str:
    spec = instruction.spec
    args = [
        convert(f"{prefix}{a}", dtypes[a], compute)
        for a, compute in zip(instruction.args, spec.compute, strict=True)
    ]
    return spec.c.format(*args)


def emit_map(key: MapKey) -> str:
    """Return the source of an element-wise kernel."""
    out = Text()
    _signature(out, key, _map_extents(key))
    vector = key.vector
    out.add(f"const U t = (U)blockIdx.x * {BLOCK} + threadIdx.x;")
    if is_flat(key):
        out.add(f"const I i = (I)t * {vector};")
        out.add("if (i >= n) return;")
        _flat(out, key)
    else:
        out.add("if (t >= (U)n) return;")
        out.add(f"const I i = (I)t * {vector};")
        _coordinates(out, key.ndim, vector, key.wide)
        _strided(out, key)
    out.add("}")
    return with_prelude(key.wide, str(out))


def is_flat(key: MapKey) -> bool:
    """Whether every access is in order: one index serves them all."""
    scattered = any(y.indices for y in key.outputs)
    return (
        key.ndim == 1
        and not scattered
        and all(o.mode in ("flat", "scalar") for _, o in accesses(key))
    )


def _map_extents(key: MapKey) -> list[str]:
    """Declare n, the divisors of all axes but the first, and the strides of strided accesses."""
    names = ["I n"]
    names += divisor_parameters("d", range(1, key.ndim), key.wide)
    for name, access in accesses(key):
        if access.mode in ("run", "repeat", "each"):
            names += [f"I {name}_{d}" for d in range(key.ndim)]
    return names


def divisor_parameters(name: str, axes: range, wide: bool) -> list[str]:
    if wide:
        return [f"U {name}{d}" for d in axes]
    return [p for d in axes for p in (f"U {name}{d}", f"U {name}{d}m", f"U {name}{d}s")]


def accesses(key: MapKey) -> list[tuple[str, Operand]]:
    outputs = [(f"y{k}", Operand(y.dtype, y.mode)) for k, y in enumerate(key.outputs)]
    return outputs + [(f"x{k}", o) for k, o in enumerate(key.operands)]


def _signature(out: Text, key: MapKey, extents: Sequence[str]) -> None:
    parameters = [f"{dt.c_type(y.dtype)}* y{k}" for k, y in enumerate(key.outputs)]
    parameters += error_parameter(key.body)
    parameters += [f"const {dt.c_type(o.dtype)}* x{k}" for k, o in enumerate(key.operands)]
    parameters += scalar_parameters(key.scalars)
    parameters += extents
    out.add(f'extern "C" __global__ void __launch_bounds__({BLOCK})')
    out.add(f"{NAME}({', '.join(parameters)}) {{")


def _flat(out: Text, key: MapKey) -> None:
    """All accesses in order: whole vectors, and one guarded end."""
    v = key.vector
    if v == 1:
        emit_body(
            out, key.body, key.operands, key.scalars, lambda k: _plain(key, k), _at_start, "i"
        )
        for k, y in enumerate(key.outputs):
            out.add(f"y{k}[i] = v{y.instruction};")
        return
    flats = [k for k, o in enumerate(key.operands) if o.mode == "flat"]
    out.add(f"const bool whole = i + {v} <= n;")
    for k in flats:
        out.add(f"LzVec<{dt.c_type(key.operands[k].dtype)}, {v}> a{k};")
    out.add("if (whole) {")
    for k in flats:
        out.add(f"a{k} = *(const LzVec<{dt.c_type(key.operands[k].dtype)}, {v}>*)(x{k} + i);")
    out.add("} else {")
    out.add(f"for (int u = 0; u < {v}; ++u) {{")
    for k in flats:
        out.add(f"a{k}.v[u] = x{k}[i + u < n ? i + u : i];")
    out.add("}")
    out.add("}")
    for k, y in enumerate(key.outputs):
        out.add(f"LzVec<{dt.c_type(y.dtype)}, {v}> b{k};")
    out.add("#pragma unroll")
    out.add(f"for (int u = 0; u < {v}; ++u) {{")
    emit_body(
        out,
        key.body,
        key.operands,
        key.scalars,
        lambda k: f"a{k}.v[u]" if key.operands[k].mode == "flat" else f"x{k}[0]",
        _at_start,
        "i + u",
    )
    for k, y in enumerate(key.outputs):
        out.add(f"b{k}.v[u] = v{y.instruction};")
    out.add("}")
    out.add("if (whole) {")
    for k, y in enumerate(key.outputs):
        out.add(f"*(LzVec<{dt.c_type(y.dtype)}, {v}>*)(y{k} + i) = b{k};")
    out.add("} else {")
    out.add(f"for (int u = 0; u < {v} && i + u < n; ++u) {{")
    for k, _ in enumerate(key.outputs):
        out.add(f"y{k}[i + u] = b{k}.v[u];")
    out.add("}")
    out.add("}")


def _at_start(k: int) -> str:
    return "0"


def _plain(key: MapKey, k: int) -> str:
    return f"x{k}[i]" if key.operands[k].mode == "flat" else f"x{k}[0]"


def split_index(
    out: Text, source: str, names: Sequence[str], divisors: Sequence[str], wide: bool
) -> None:
    """Write coordinates of ``source`` along axes, the last fastest; the first takes the rest."""
    out.add(f"U r_{names[0]} = {source};")
    rest = f"r_{names[0]}"
    for name, d in reversed(list(zip(names, divisors, strict=True))[1:]):
        quotient = f"{rest} / {d}" if wide else f"lz_div({rest}, {d}m, {d}s)"
        out.add(f"const U q_{name} = {quotient};")
        out.add(f"const I {name} = (I)({rest} - q_{name} * {d});")
        rest = f"q_{name}"
    out.add(f"const I {names[0]} = (I){rest};")


def _coordinates(out: Text, ndim: int, vector: int, wide: bool) -> None:
    names = [f"c{d}" for d in range(ndim)]
    split_index(out, "t", names, [f"d{d}" for d in range(ndim)], wide)
    out.add(f"const I cv = c{ndim - 1} * {vector};")


def _strided(out: Text, key: MapKey) -> None:
    """Some accesses by strides: addresses first, then loads, the body, stores."""
    v = key.vector
    last = key.ndim - 1
    for name, access in accesses(key):
        if access.mode in ("run", "repeat", "each"):
            terms = [f"c{d} * {name}_{d}" for d in range(last)]
            terms.append("cv" if access.mode == "run" else f"cv * {name}_{last}")
            if access.mode == "repeat":
                terms.pop()
            out.add(f"const I {name}o = {' + '.join(terms) or '0'};")
    for k, o in enumerate(key.operands):
        kind = f"LzVec<{dt.c_type(o.dtype)}, {v}>"
        if v > 1 and o.mode in ("flat", "run"):
            where = "i" if o.mode == "flat" else f"x{k}o"
            out.add(f"const {kind} a{k} = *(const {kind}*)(x{k} + {where});")
    for k, y in enumerate(key.outputs):
        if not y.indices:
            out.add(f"LzVec<{dt.c_type(y.dtype)}, {v}> b{k};")
    out.add("#pragma unroll")
    out.add(f"for (int u = 0; u < {v}; ++u) {{")
    emit_body(
        out,
        key.body,
        key.operands,
        key.scalars,
        lambda k: _strided_load(key, k),
        lambda k: _strided_place(key.operands[k].mode, f"x{k}", last),
        "i + u",
    )
    for k, y in enumerate(key.outputs):
        if y.indices:
            emit_scatter(out, k, y, _strided_place(y.mode, f"y{k}", last))
        else:
            out.add(f"b{k}.v[u] = v{y.instruction};")
    out.add("}")
    for k, y in enumerate(key.outputs):
        kind = f"LzVec<{dt.c_type(y.dtype)}, {v}>"
        if y.indices:
            continue
        if y.mode in ("flat", "run"):
            where = "i" if y.mode == "flat" else f"y{k}o"
            out.add(f"*({kind}*)(y{k} + {where}) = b{k};")
        else:
            out.add("#pragma unroll")
            out.add(f"for (int u = 0; u < {v}; ++u) y{k}[y{k}o + u * y{k}_{last}] = b{k}.v[u];")


def _strided_place(mode: str, name: str, last: int) -> str:
    """Return the offset of the current element of an access whose strides are general."""
    return "0" if mode == "scalar" else f"{name}o + u * {name}_{last}"


def _strided_load(key: MapKey, k: int) -> str:
    mode = key.operands[k].mode
    if mode == "scalar":
        return f"x{k}[0]"
    if key.vector > 1 and mode in ("flat", "run"):
        return f"a{k}.v[u]"
    if mode == "flat":
        return f"x{k}[i + u]"
    if mode in ("run", "repeat"):
        return f"x{k}[x{k}o]"
    return f"x{k}[x{k}o + u * x{k}_{key.ndim - 1}]"


def open_spread(out: Text, spread: int, parameters: Sequence[str]) -> None:
    """Write the signature of a kernel whose threads take ``spread`` elements, a block apart."""
    out.add(f'extern "C" __global__ void __launch_bounds__({BLOCK})')
    out.add(f"{NAME}({', '.join(parameters)}) {{")
    out.add(f"const U first = (U)blockIdx.x * {BLOCK * spread} + threadIdx.x;")
    out.add("if (first >= (U)n) return;")


def spread_element(out: Text, key: MapKey) -> None:
    """Open the loop over a thread's elements: the linear index ``i``, and all coordinates."""
    out.add("#pragma unroll")
    out.add(f"for (int u = 0; u < {key.spread}; ++u) {{")
    out.add(f"const U t = first + u * {BLOCK} < (U)n ? first + u * {BLOCK} : (U)n - 1;")
    out.add("const I i = (I)t;")
    axes = range(key.ndim)
    split_index(out, "t", [f"c{d}" for d in axes], [f"d{d}" for d in axes], key.wide)


def emit_box(key: BoxKey) -> str:
    """Return the source of ``out[i] = i in box ? inside : outside``."""
    out = Text()
    inside, outside = key.inside, key.outside
    ndim = inside.ndim
    dtype = inside.outputs[0].dtype
    parameters = [f"{dt.c_type(dtype)}* y0", *error_parameter(inside.body)]
    parameters += [f"const {dt.c_type(o.dtype)}* x{k}" for k, o in enumerate(inside.operands)]
    parameters += [f"const {dt.c_type(o.dtype)}* w{k}" for k, o in enumerate(outside.operands)]
    parameters += scalar_parameters(inside.scalars)
    parameters += ["I n", *divisor_parameters("d", range(1, ndim), inside.wide)]
    for d in range(ndim):
        parameters += [f"I f{d}", f"U e{d}", f"U g{d}"]
    for k, o in enumerate(inside.operands):
        if o.mode == "each":
            parameters += [f"I x{k}_{d}" for d in range(ndim)]
    parameters += ["I lo", *[f"I l{d}" for d in range(ndim)]]
    open_spread(out, inside.spread, parameters)
    out.add(f"{dt.c_type(dtype)} result[{inside.spread}];")
    spread_element(out, inside)
    tests = _box_tests(out, key)
    out.add(f"if ({' && '.join(tests) or 'true'}) {{")
    _box_inside(out, key)
    out.add(f"result[u] = v{inside.outputs[0].instruction};")
    out.add("} else {")
    emit_body(
        out,
        outside.body,
        outside.operands,
        outside.scalars,
        lambda k: f"w{k}[{'i' if outside.operands[k].mode == 'flat' else 0}]",
        _at_start,
        "i",
        "w_",
    )
    out.add(f"result[u] = w_{outside.outputs[0].instruction};")
    out.add("}")
    out.add("}")
    out.add("#pragma unroll")
    out.add(f"for (int u = 0; u < {inside.spread}; ++u)")
    out.add(f"  if (first + u * {BLOCK} < (U)n) y0[first + u * {BLOCK}] = result[u];")
    out.add("}")
    return with_prelude(inside.wide, str(out))


def _box_tests(out: Text, key: BoxKey) -> list[str]:
    """Write the box's coordinates ``b0``, ``b1`` ... and return the tests of being inside."""
    tests = []
    for d, (stepped, whole) in enumerate(zip(key.stepped, key.whole, strict=True)):
        if whole:
            out.add(f"const I b{d} = c{d};")
            continue
        out.add(f"const U h{d} = (U)(c{d} - f{d});")
        tests.append(f"h{d} < e{d}")
        if stepped:
            out.add(f"const I b{d} = (I)(h{d} / g{d});")
            tests.append(f"h{d} % g{d} == 0")
        else:
            out.add(f"const I b{d} = (I)h{d};")
    return tests


def _box_inside(out: Text, key: BoxKey) -> None:
    inside = key.inside
    axes = range(inside.ndim)
    for k, o in enumerate(inside.operands):
        if o.mode == "each":
            out.add(f"const I x{k}o = {' + '.join(f'b{d} * x{k}_{d}' for d in axes) or '0'};")

    def place(k: int) -> str:
        return f"x{k}o" if inside.operands[k].mode == "each" else "0"

    def load(k: int) -> str:
        return f"x{k}[{place(k)}]"

    linear = " + ".join(["lo", *[f"b{d} * l{d}" for d in axes]])
    emit_body(out, inside.body, inside.operands, inside.scalars, load, place, linear)


def magic(divisor: int) -> tuple[int, int, int]:
    """Return (d, m, s) with ``n // d == (umulhi(n, m) + n) >> s`` for 0 <= n < 2**31.

    Granlund and Montgomery, "Division by invariant integers using multiplication" (PLDI 1994).
    """
    shift = max(divisor - 1, 0).bit_length()
    return divisor, ((1 << 32) * ((1 << shift) - divisor)) // divisor + 1, shift
