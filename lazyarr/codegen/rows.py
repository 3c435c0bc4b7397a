"""Element-wise kernels whose threads take several elements, a block's width apart.

For what vectors cannot read: a warp reads neighbours, and a thread's loads all come before its
first store. With ``key.rows`` a block takes a stretch of one row, so that everything but the last
coordinate is the block's own and costs each thread nothing; with ``key.spread``, where stretches
would leave rows half empty, a stretch of the whole space. The last element is read again rather
than guarded.
"""

from __future__ import annotations

from .. import _dtypes as dt
from .emit import (
    BLOCK,
    NAME,
    Text,
    accesses,
    divisor_parameters,
    emit_body,
    error_parameter,
    open_spread,
    scalar_parameters,
    split_index,
    spread_element,
    with_prelude,
)
from .key import BoxKey, MapKey


def emit_rows(key: MapKey) -> str:
    """Return the source of a map kernel with ``rows``."""
    out = Text()
    last = key.ndim - 1
    _open(out, key, [*_map_parameters(key), *_row_parameters(key), *_stride_parameters(key)])
    for name, access in accesses(key):
        if access.mode in ("repeat", "each"):
            terms = " + ".join(f"c{d} * {name}_{d}" for d in range(last))
            out.add(f"const I {name}o = {terms or '0'};")
    for k, y in enumerate(key.outputs):
        out.add(f"{dt.c_type(y.dtype)} b{k}[{key.rows}];")
    _elements(out, key)
    _map_body(out, key)
    out.add("}")
    out.add("#pragma unroll")
    out.add(f"for (int u = 0; u < {key.rows}; ++u) {{")
    out.add(f"const I c = first + u * {BLOCK};")
    out.add("if (c < width) {")
    for k, y in enumerate(key.outputs):
        out.add(f"y{k}[{_place(y.mode, f'y{k}', last)}] = b{k}[u];")
    out.add("}")
    out.add("}")
    out.add("}")
    return with_prelude(key.wide, str(out))


def emit_spread(key: MapKey) -> str:
    """Return the source of a map kernel with ``spread``."""
    out = Text()
    extents = ["I n", *divisor_parameters("d", range(1, key.ndim), key.wide)]
    open_spread(out, key.spread, [*_map_parameters(key), *extents, *_stride_parameters(key)])
    strided = [k for k, y in enumerate(key.outputs) if y.mode in ("repeat", "each")]
    for k, y in enumerate(key.outputs):
        out.add(f"{dt.c_type(y.dtype)} b{k}[{key.spread}];")
    for k in strided:
        out.add(f"I y{k}p[{key.spread}];")
    spread_element(out, key)
    for name, access in accesses(key):
        if access.mode in ("repeat", "each"):
            terms = " + ".join(f"c{d} * {name}_{d}" for d in range(key.ndim))
            out.add(f"const I {name}o = {terms};")
    for k in strided:
        out.add(f"y{k}p[u] = y{k}o;")
    _map_body(out, key)
    out.add("}")
    out.add("#pragma unroll")
    out.add(f"for (int u = 0; u < {key.spread}; ++u) {{")
    out.add(f"const U t = first + u * {BLOCK};")
    out.add("if (t < (U)n) {")
    for k, _ in enumerate(key.outputs):
        out.add(f"y{k}[{f'y{k}p[u]' if k in strided else 't'}] = b{k}[u];")
    out.add("}")
    out.add("}")
    out.add("}")
    return with_prelude(key.wide, str(out))


def _map_parameters(key: MapKey) -> list[str]:
    parameters = [f"{dt.c_type(y.dtype)}* y{k}" for k, y in enumerate(key.outputs)]
    parameters += error_parameter(key.body)
    parameters += [f"const {dt.c_type(o.dtype)}* x{k}" for k, o in enumerate(key.operands)]
    return parameters + scalar_parameters(key.scalars)


def _stride_parameters(key: MapKey) -> list[str]:
    strided = [name for name, access in accesses(key) if access.mode in ("repeat", "each")]
    return [f"I {name}_{d}" for name in strided for d in range(key.ndim)]


def _map_body(out: Text, key: MapKey) -> None:
    """Write the body for element ``u``, into ``b0[u]``, ``b1[u]`` ..."""

    def place(k: int) -> str:
        mode = key.operands[k].mode
        if key.spread:
            return {"scalar": "0", "flat": "i"}.get(mode, f"x{k}o")
        return _place(mode, f"x{k}", key.ndim - 1)

    emit_body(
        out,
        key.body,
        key.operands,
        key.scalars,
        lambda k: f"x{k}[{place(k)}]",
        place,
        "i" if key.spread else "base + c",
    )
    for k, y in enumerate(key.outputs):
        out.add(f"b{k}[u] = v{y.instruction};")


def _row_parameters(key: MapKey) -> list[str]:
    names = ["I width"] if key.ndim == 1 else ["I width", "U segments"]
    return names + divisor_parameters("d", range(1, key.ndim - 1), key.wide)


def _open(out: Text, key: MapKey, parameters: list[str]) -> None:
    """Write the signature, and the coordinates that the threads of a block share."""
    last = key.ndim - 1
    out.add(f'extern "C" __global__ void __launch_bounds__({BLOCK})')
    out.add(f"{NAME}({', '.join(parameters)}) {{")
    stretch = BLOCK * key.rows
    if key.ndim == 1:
        out.add("const I base = 0;")
        out.add(f"const I first = (I)((U)blockIdx.x * {stretch}) + threadIdx.x;")
        out.add("if (first >= width) return;")
        return
    out.add("const U row = (U)blockIdx.x / segments;")
    out.add(f"const I first = (I)((U)blockIdx.x - row * segments) * {stretch} + threadIdx.x;")
    out.add("if (first >= width) return;")
    out.add("const I base = (I)row * width;")
    names = [f"c{d}" for d in range(last)]
    split_index(out, "row", names, [f"d{d}" for d in range(last)], key.wide)


def _elements(out: Text, key: MapKey) -> None:
    out.add("#pragma unroll")
    out.add(f"for (int u = 0; u < {key.rows}; ++u) {{")
    out.add(f"const I c = first + u * {BLOCK} < width ? first + u * {BLOCK} : width - 1;")


def _place(mode: str, name: str, last: int) -> str:
    """Return where an access finds the element at last coordinate ``c``."""
    places = {"scalar": "0", "flat": "base + c", "repeat": f"{name}o"}
    return places.get(mode, f"{name}o + c * {name}_{last}")


def emit_box_rows(key: BoxKey) -> str:
    """Return the source of a box kernel with ``rows``."""
    out = Text()
    inside, outside = key.inside, key.outside
    last = inside.ndim - 1
    dtype = dt.c_type(inside.outputs[0].dtype)
    parameters = [f"{dtype}* y0", *error_parameter(inside.body)]
    parameters += [f"const {dt.c_type(o.dtype)}* x{k}" for k, o in enumerate(inside.operands)]
    parameters += [f"const {dt.c_type(o.dtype)}* w{k}" for k, o in enumerate(outside.operands)]
    parameters += scalar_parameters(inside.scalars)
    parameters += _row_parameters(inside)
    for d in range(inside.ndim):
        parameters += [f"I f{d}", f"U e{d}", f"U g{d}"]
    for k, o in enumerate(inside.operands):
        if o.mode == "each":
            parameters += [f"I x{k}_{d}" for d in range(inside.ndim)]
    parameters += ["I lo", *[f"I l{d}" for d in range(inside.ndim)]]
    _open(out, inside, parameters)
    _shared_tests(out, key, last)
    out.add(f"{dtype} result[{inside.rows}];")
    _elements(out, inside)
    _inner_test(out, key, last)
    out.add("if (in_box) {")
    _inside(out, key, last)
    out.add(f"result[u] = v{inside.outputs[0].instruction};")
    out.add("} else {")
    emit_body(
        out,
        outside.body,
        outside.operands,
        outside.scalars,
        lambda k: f"w{k}[{'base + c' if outside.operands[k].mode == 'flat' else 0}]",
        lambda _: "0",
        "base + c",
        "w_",
    )
    out.add(f"result[u] = w_{outside.outputs[0].instruction};")
    out.add("}")
    out.add("}")
    out.add("#pragma unroll")
    out.add(f"for (int u = 0; u < {inside.rows}; ++u)")
    out.add(f"  if (first + u * {BLOCK} < width) y0[base + first + u * {BLOCK}] = result[u];")
    out.add("}")
    return with_prelude(inside.wide, str(out))


def _shared_tests(out: Text, key: BoxKey, last: int) -> None:
    """Write the box's coordinates along all axes but the last, and whether they are inside."""
    tests = []
    for d in range(last):
        if key.whole[d]:
            out.add(f"const I b{d} = c{d};")
            continue
        out.add(f"const U h{d} = (U)(c{d} - f{d});")
        tests.append(f"h{d} < e{d}")
        if key.stepped[d]:
            tests.append(f"h{d} % g{d} == 0")
        out.add(f"const I b{d} = (I)({f'h{d} / g{d}' if key.stepped[d] else f'h{d}'});")
    out.add(f"const bool row_in_box = {' && '.join(tests) or 'true'};")
    for k, o in enumerate(key.inside.operands):
        if o.mode == "each":
            terms = " + ".join(f"b{d} * x{k}_{d}" for d in range(last))
            out.add(f"const I x{k}o = {terms or '0'};")


def _inner_test(out: Text, key: BoxKey, last: int) -> None:
    if key.whole[last]:
        out.add(f"const I b{last} = c;")
        out.add("const bool in_box = row_in_box;")
        return
    out.add(f"const U h = (U)(c - f{last});")
    step = f" && h % g{last} == 0" if key.stepped[last] else ""
    out.add(f"const bool in_box = row_in_box && h < e{last}{step};")
    out.add(f"const I b{last} = (I)({f'h / g{last}' if key.stepped[last] else 'h'});")


def _inside(out: Text, key: BoxKey, last: int) -> None:
    inside = key.inside

    def place(k: int) -> str:
        return f"x{k}o + b{last} * x{k}_{last}" if inside.operands[k].mode == "each" else "0"

    linear = " + ".join(["lo", *[f"b{d} * l{d}" for d in range(inside.ndim)]])
    emit_body(
        out,
        inside.body,
        inside.operands,
        inside.scalars,
        lambda k: f"x{k}[{place(k)}]",
        place,
        linear,
    )
