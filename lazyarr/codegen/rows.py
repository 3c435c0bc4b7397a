"""Element-wise kernels over rows: for spaces that no single index walks in order.

A block takes a stretch of one row, so that everything but the last coordinate is the block's own
and costs each thread nothing; a thread takes ``key.rows`` elements, a block's width apart, whose
loads all come before the first store. The end of a row is read again rather than guarded.
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
    scalar_parameters,
    split_index,
    with_prelude,
)
from .key import BoxKey, MapKey


def emit_rows(key: MapKey) -> str:
    """Return the source of a map kernel with ``rows``."""
    out = Text()
    last = key.ndim - 1
    parameters = [f"{dt.c_type(y.dtype)}* y{k}" for k, y in enumerate(key.outputs)]
    parameters += error_parameter(key.body)
    parameters += [f"const {dt.c_type(o.dtype)}* x{k}" for k, o in enumerate(key.operands)]
    parameters += scalar_parameters(key.scalars)
    parameters += _row_parameters(key)
    for name, access in accesses(key):
        if access.mode in ("repeat", "each"):
            parameters += [f"I {name}_{d}" for d in range(key.ndim)]
    _open(out, key, parameters)
    for name, access in accesses(key):
        if access.mode in ("repeat", "each"):
            terms = " + ".join(f"c{d} * {name}_{d}" for d in range(last))
            out.add(f"const I {name}o = {terms};")
    for k, y in enumerate(key.outputs):
        out.add(f"{dt.c_type(y.dtype)} b{k}[{key.rows}];")
    _elements(out, key)

    def place(k: int) -> str:
        return _place(key.operands[k].mode, f"x{k}", last)

    emit_body(
        out,
        key.body,
        key.operands,
        key.scalars,
        lambda k: f"x{k}[{place(k)}]",
        place,
        "base + c",
    )
    for k, y in enumerate(key.outputs):
        out.add(f"b{k}[u] = v{y.instruction};")
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


def _row_parameters(key: MapKey) -> list[str]:
    names = ["I width", "U segments"]
    return names + divisor_parameters("d", range(1, key.ndim - 1), key.wide)


def _open(out: Text, key: MapKey, parameters: list[str]) -> None:
    """Write the signature, and the coordinates that the threads of a block share."""
    last = key.ndim - 1
    out.add(f'extern "C" __global__ void __launch_bounds__({BLOCK})')
    out.add(f"{NAME}({', '.join(parameters)}) {{")
    out.add("const U row = (U)blockIdx.x / segments;")
    stretch = BLOCK * key.rows
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
            out.add(f"const I x{k}o = {terms};")


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
