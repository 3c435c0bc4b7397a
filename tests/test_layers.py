"""The layers of docs/design/architecture.md, checked: imports go one way."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "lazyarr"

# Lowest first. A module may import its own level and those before it; the longest prefix wins.
LEVELS: list[set[str]] = [
    {"lazyarr.runtime.base"},
    {
        "lazyarr.runtime",
        "lazyarr.ledger",
        "lazyarr._config",
        "lazyarr._devices",
        "lazyarr._dtypes",
        "lazyarr._errors",
        "lazyarr._kernel_files",
        "lazyarr._promotion",
    },
    {"lazyarr.storage"},
    # The op table is data that both code generation and the graph read.
    {
        "lazyarr.graph.numpy_complex",
        "lazyarr.graph.numpy_ops",
        "lazyarr.graph.optable",
        "lazyarr.graph.oprows_elementwise",
        "lazyarr.graph.oprows_reduction",
    },
    {"lazyarr.codegen"},
    {"lazyarr.graph"},
    {"lazyarr._array", "lazyarr._host", "lazyarr._repr", "lazyarr._slots", "lazyarr._statements"},
    {
        "lazyarr.api",
        "lazyarr.fft",
        "lazyarr.kernel",
        "lazyarr.kernel_log",
        "lazyarr._arguments",
        "lazyarr.linalg",
        "lazyarr.profiling",
        "lazyarr.interchange",
        "lazyarr._control",
        "lazyarr._dlpack",
        "lazyarr._info",
    },
    {"lazyarr", "lazyarr.__main__"},
]

# Function-local imports inside lazyarr, each with its reason. Everything else is at the top.
LAZY_IMPORTS: dict[tuple[str, str], str] = {
    ("lazyarr.runtime.select", "lazyarr.runtime.pycuda_backend"): "imports pycuda",
    ("lazyarr.runtime.select", "lazyarr.runtime.sim"): "only where sim is used",
}

# Methods of Array whose bodies live in a file that builds arrays: these go up, at the call only.
ARRAY_METHODS: dict[tuple[str, str], str] = {
    ("lazyarr._array", "lazyarr._host"): "host, to_device",
    ("lazyarr._array", "lazyarr._repr"): "__repr__",
    ("lazyarr._array", "lazyarr.interchange"): "__dlpack__, __cuda_array_interface__, __reduce__",
    ("lazyarr._array", "lazyarr.api.creation"): "operators with a NumPy array",
    ("lazyarr._array", "lazyarr.api.indexing"): "indexing by arrays",
    ("lazyarr._array", "lazyarr.api.linear_algebra"): "__matmul__",
}

# The backends, and who may import them.
SELECTOR = "lazyarr.runtime.select"
BACKENDS = ("lazyarr.runtime.pycuda_backend", "lazyarr.runtime.sim")


class Import(NamedTuple):
    source: str
    target: str
    line: int
    local: bool  # inside a function
    typing: bool  # under ``if TYPE_CHECKING:``


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def walk(node: ast.AST, local: bool, typing: bool) -> Iterator[tuple[ast.AST, bool, bool]]:
    for child in ast.iter_child_nodes(node):
        yield child, local, typing
        inside = local or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        types = typing or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test))
        yield from walk(child, inside, types)


def targets(node: ast.AST, package: str) -> Iterator[str]:
    """Yield the modules that an import statement names, ``from x import module`` included."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parents = package.split(".")
            parents = parents[: len(parents) - node.level + 1]
            base = ".".join([*parents, base] if base else parents)
        for alias in node.names:
            submodule = f"{base}.{alias.name}"
            yield submodule if submodule in FILES else base


def imports_of(name: str) -> list[Import]:
    path = FILES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        Import(name, target, node.lineno, local, typing)
        for node, local, typing in walk(tree, False, False)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for target in targets(node, package)
    ]


ALL_IMPORTS = [found for name in FILES for found in imports_of(name)]
INTERNAL = [found for found in ALL_IMPORTS if found.target.split(".")[0] == "lazyarr"]


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def level(name: str) -> int:
    """Return a module's level: that of its longest listed prefix (``lazyarr`` is itself alone)."""
    known = {entry: index for index, entries in enumerate(LEVELS) for entry in entries}
    prefix = name
    while prefix not in known or (prefix == "lazyarr" and name != "lazyarr"):
        prefix = prefix.rpartition(".")[0]
        if not prefix:
            raise AssertionError(f"{name} has no level: add it to LEVELS in tests/test_layers.py")
    return known[prefix]


def describe(found: Import) -> str:
    return f"{FILES[found.source].relative_to(ROOT)}:{found.line} imports {found.target}"


@pytest.mark.parametrize("name", FILES)
def test_imports_go_one_way(name: str) -> None:
    wrong = [
        describe(found)
        for found in INTERNAL
        if found.source == name
        and not found.typing
        and level(found.target) > level(name)
        and not (found.local and listed(found, ARRAY_METHODS))
    ]
    assert not wrong, f"{name} (level {level(name)}) imports from a higher level: {wrong}"


def test_the_protocol_imports_nothing_of_lazyarr() -> None:
    base = [describe(found) for found in INTERNAL if found.source == "lazyarr.runtime.base"]
    assert not base


def test_local_imports_are_declared() -> None:
    wrong = [
        describe(found)
        for found in INTERNAL
        if found.local and not found.typing and not listed(found, LAZY_IMPORTS | ARRAY_METHODS)
    ]
    assert not wrong, f"local imports that are not declared in this file: {wrong}"


def listed(found: Import, pairs: dict[tuple[str, str], str]) -> bool:
    return any(
        within(found.source, source) and within(found.target, target) for source, target in pairs
    )


def test_imports_have_no_cycle() -> None:
    edges: dict[str, set[str]] = {name: set() for name in FILES}
    for found in INTERNAL:
        if not found.local and not found.typing and found.target != found.source:
            edges[found.source].add(found.target)
    done: set[str] = set()
    for start in edges:
        cycle = find_cycle(start, edges, done, [])
        assert not cycle, " -> ".join(cycle)


def find_cycle(name: str, edges: dict[str, set[str]], done: set[str], path: list[str]) -> list[str]:
    if name in path:
        return [*path[path.index(name) :], name]
    if name not in done:
        for target in sorted(edges.get(name, ())):
            cycle = find_cycle(target, edges, done, [*path, name])
            if cycle:
                return cycle
        done.add(name)
    return []


def test_only_the_pycuda_backend_imports_pycuda() -> None:
    importers = {found.source for found in ALL_IMPORTS if within(found.target, "pycuda")}
    assert importers <= {"lazyarr.runtime.pycuda_backend"}


def test_only_the_selector_imports_backends() -> None:
    wrong = [
        describe(found)
        for found in INTERNAL
        for backend in BACKENDS
        if within(found.target, backend)
        and not within(found.source, backend)
        and found.source != SELECTOR
    ]
    assert not wrong


def test_no_layer_asks_which_backend_runs() -> None:
    asks = re.compile(r"""(?<!for )kind\s*(?:==|!=|(?:not\s+)?in\b).*["'](?:sim|cuda)["']""")
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for name, path in FILES.items()
        if not within(name, "lazyarr.runtime")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if asks.search(line)
    ]
    assert not wrong, "put the difference behind the Backend protocol: " + "; ".join(wrong)


IMPORT_CHECK = """
import sys, time
import numpy
start = time.process_time()
import lazyarr
elapsed = time.process_time() - start
loaded = [m for m in sys.modules if m.split(".")[0] in ("pycuda", "cuda", "nvmath", "hypothesis")]
assert not loaded, loaded
maps = open("/proc/self/maps").read() if sys.platform == "linux" else ""
assert "libcuda." not in maps and "libnvrtc" not in maps, "import loaded a CUDA library"
print(elapsed)
"""


def test_import_is_quick_and_makes_no_cuda_call() -> None:
    seconds = [
        float(
            subprocess.run(
                [sys.executable, "-c", IMPORT_CHECK],
                cwd=ROOT,
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        for _ in range(5)
    ]
    assert statistics.median(seconds) < 0.3, seconds
