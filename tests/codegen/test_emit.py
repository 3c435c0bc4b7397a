"""Generated kernels: what their source looks like, that they run, and that GPUs would take them."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import lazyarr as xp
from lazyarr import _dtypes as dt
from lazyarr import codegen
from lazyarr._kernel_files import kernel_text
from lazyarr.codegen.emit import COMPLEX, magic, prelude, with_prelude
from lazyarr.codegen.handwritten import join_key
from lazyarr.codegen.key import BoxKey, KernelKey, MapKey, ReduceKey, TextKey
from lazyarr.codegen.launch import describe, source_of
from lazyarr.graph import evaluate, geometry
from lazyarr.graph.optable import OPS
from lazyarr.runtime import nvrtc
from lazyarr.runtime.select import default_device
from tests.property.support import check
from tests.runtime.test_nvrtc import RUNTIME_KERNELS, needs_nvrtc

from .programs import PROGRAMS, TEMPLATES, templates_of

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
MOST = 60


def run(name: str) -> None:
    """Run a program and check what it gives."""
    with np.errstate(all="ignore"):
        results = PROGRAMS[name]()
        xp.evaluate(*[x for x, _ in results])
        for k, (x, want) in enumerate(results):
            check(x, want, f"{name}, result {k}")


def kernels_of(name: str) -> list[KernelKey]:
    """Return the keys of the kernels that a program runs on the simulator."""
    with xp.default_device("sim"):
        state = evaluate.runtime(default_device())
        before = state.kernels
        state.kernels = {}
        state.plans.clear()
        try:
            run(name)
            return list(state.kernels)
        finally:
            state.kernels = {**before, **state.kernels}
            state.plans.clear()


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[KernelKey]]:
    return {name: kernels_of(name) for name in PROGRAMS}


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch, kernel_device: str) -> Iterator[None]:
    """Make every kernel take 64-bit indices."""
    state = evaluate.runtime(default_device())
    monkeypatch.setattr(geometry, "NARROW_LIMIT", 0)
    state.plans.clear()
    yield
    state.plans.clear()


@pytest.mark.sanitize
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(kernel_device: str, name: str) -> None:
    run(name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_64_bit_indices(wide: None, name: str) -> None:
    run(name)
    plans = evaluate.runtime(default_device()).plans.values()
    keys = [step[0].key for plan in plans for step in plan.steps if hasattr(step[0], "key")]
    assert all(key.wide for key in keys if isinstance(key, (MapKey, ReduceKey)))


def test_the_programs_leave_no_template_out(corpus: dict[str, list[KernelKey]]) -> None:
    found = {t for keys in corpus.values() for key in keys for t in templates_of(key)}
    assert not TEMPLATES - found


def _spread(corpus: dict[str, list[KernelKey]]) -> list[KernelKey]:
    """Return at most ``MOST`` kernels, those first that use templates not seen so far."""
    keys = list(dict.fromkeys(key for keys in corpus.values() for key in keys))
    seen: set[str] = set()
    first, rest = [], []
    for key in keys:
        new = templates_of(key) - seen
        seen |= new
        (first if new else rest).append(key)
    step = max(1, len(rest) // max(1, MOST - len(first)))
    return [*first, *rest[::step]][:MOST]


@needs_nvrtc
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_nvrtc_takes_the_generated_kernels(corpus: dict[str, list[KernelKey]], arch: str) -> None:
    keys = _spread(corpus)
    assert len(keys) >= len(TEMPLATES) // 2
    # One architecture sees all of them, the others every third: what differs is the back end.
    for key in keys if arch == "sm_90" else keys[::3]:
        binary = nvrtc.compile_cubin(source_of(key), arch)
        assert binary.startswith(b"\x7fELF"), describe(key)


@needs_nvrtc
def test_nvrtc_takes_64_bit_indices(corpus: dict[str, list[KernelKey]]) -> None:
    seen: set[tuple[type, str]] = set()
    for key in (key for keys in corpus.values() for key in keys):
        if (type(key), _walk_of(key)) in seen:
            continue
        if isinstance(key, (MapKey, ReduceKey)):
            wider: Any = key._replace(wide=True)
        elif isinstance(key, BoxKey):
            inside, outside = key.inside._replace(wide=True), key.outside._replace(wide=True)
            wider = key._replace(inside=inside, outside=outside)
        else:
            continue
        seen.add((type(key), _walk_of(key)))
        source = source_of(wider)
        assert "typedef long long I;" in source
        nvrtc.compile_cubin(source, "sm_90")
    walks = {(kind, walk) for kind in (MapKey, BoxKey) for walk in ("rows", "spread")}
    assert seen == walks | {(MapKey, "vector"), (ReduceKey, "")}


def _walk_of(key: KernelKey) -> str:
    """Return how an element-wise kernel walks its space."""
    if isinstance(key, BoxKey):
        return _walk_of(key.inside)
    if isinstance(key, MapKey):
        return "rows" if key.rows else "spread" if key.spread else "vector"
    return ""


@needs_nvrtc
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_nvrtc_takes_joins(arch: str) -> None:
    for unit, pieces, wide in ((1, 16, False), (4, 2, True), (8, 4, True), (16, 2, False)):
        text = join_key(unit, pieces, False, wide).text  # of both functions
        binary = nvrtc.compile_cubin(text, arch)
        assert b".text.lz_join_long\0" in binary
        assert b".text.lz_join_short\0" in binary


@needs_nvrtc
@pytest.mark.parametrize("wide", [False, True])
def test_nvrtc_takes_the_device_functions(wide: bool) -> None:
    source = prelude(wide) + 'extern "C" __global__ void f() {}'
    for arch in ARCHITECTURES:
        nvrtc.compile_cubin(source, arch)


@needs_nvrtc
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_nvrtc_takes_the_complex_functions(arch: str) -> None:
    calls = []
    for op in OPS.values():
        if COMPLEX not in op.row.c.get("c", ""):
            continue
        for array, dtype in (("a", dt.complex64), ("b", dt.complex128)):
            if dtype == dt.complex64 and arch != "sm_90":  # mostly calls of the other
                continue
            spec = op.resolve(*[dtype] * op.arity)
            calls.append(f"{array}[0] = {spec.c.format(f'{array}[1]', f'{array}[2]')};")
    assert len(calls) == (46 if arch == "sm_90" else 23)
    body = f'extern "C" __global__ void f(lz_c64* a, lz_c128* b) {{\n{chr(10).join(calls)}\n}}\n'
    assert nvrtc.compile_cubin(with_prelude(False, body), arch).startswith(b"\x7fELF")


def test_complex_functions_come_only_where_one_is_called() -> None:
    def make(function: Any) -> Any:
        return lambda: function(xp.asarray(np.ones(100, np.complex64)))

    text = kernel_text("complex.cuh")
    assert text in source_of(only_key(make(xp.exp)))
    assert text in source_of(only_key(make(lambda x: xp.sum(xp.exp(x), axis=0))))
    assert text not in source_of(only_key(make(lambda x: x * x + 1)))
    assert text not in source_of(only_key(make(lambda x: xp.sum(x * x))))


def kernel_files() -> list[Path]:
    """Return the files of hand-written CUDA C."""
    package = Path(xp.__file__).parent
    folder = next(p for p in (package / "kernels", package.parent / "kernels") if p.is_dir())
    return [path for path in sorted(folder.iterdir()) if path.suffix in (".cu", ".cuh")]


def test_every_file_of_kernels_is_compiled_for_gpus(corpus: dict[str, list[KernelKey]]) -> None:
    sources = [source_of(key) for keys in corpus.values() for key in keys]
    sources += [text for texts in RUNTIME_KERNELS.values() for text in texts]
    for path in kernel_files():
        text = kernel_text(path.name)
        assert any(text in source for source in sources), f"{path.name} is in no program"


# What compute-sanitizer sees: the tests marked ``sanitize``.

_RECORDER = """
import atexit, json, os
from lazyarr.runtime.sim.backend import SimBackend
launch, compile = SimBackend.launch, SimBackend.compile
names, sources = set(), set()
def recording_launch(self, function, *arguments):
    names.add(function.name)
    return launch(self, function, *arguments)
def recording_compile(self, source, options=()):
    sources.add(source)
    return compile(self, source, options)
SimBackend.launch, SimBackend.compile = recording_launch, recording_compile
def pytest_sessionfinish(session):
    with open(os.environ["RECORD"], "w") as out:
        json.dump([sorted(names), sorted(sources)], out)
"""


class Seen(NamedTuple):
    """What the marked tests run: kernels written by hand by name, and all sources."""

    names: set[str]
    sources: list[str]


@pytest.fixture(scope="module")
def seen(corpus: dict[str, list[KernelKey]], tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """The corpus, which is what ``test_programs`` runs, and the other marked tests on ``sim``."""
    marks = {mark.name: mark.args for mark in test_programs.pytestmark}  # type: ignore[attr-defined]
    assert "sanitize" in marks
    assert marks["parametrize"] == ("name", PROGRAMS)
    folder = tmp_path_factory.mktemp("recorder")
    (folder / "recorder.py").write_text(_RECORDER)
    root = Path(__file__).parents[2]
    command = [
        sys.executable, "-m", "pytest", "-q", "-m", "sanitize", "--device", "sim", "-p", "recorder",
        "-p", "no:cacheprovider", "--ignore", "tests/codegen/test_emit.py", "tests/api",
        "tests/codegen", "tests/runtime",
    ]  # fmt: skip
    paths = [str(folder), str(Path(xp.__file__).parents[1])]
    environment = {
        **os.environ, "RECORD": str(folder / "record"), "PYTHONPATH": os.pathsep.join(paths)
    }  # fmt: skip
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    names, sources = json.loads((folder / "record").read_text())
    keys = [key for keys in corpus.values() for key in keys]
    names += [key.function for key in keys if isinstance(key, TextKey)]
    return Seen(set(names), sources + [source_of(key) for key in keys])


def test_the_marked_tests_run_every_file_of_kernels(seen: Seen) -> None:
    for path in kernel_files():
        text = kernel_text(path.name)
        assert any(text in source for source in seen.sources), f"{path.name} is in no marked test"


def test_the_marked_tests_run_every_kernel_written_by_hand(seen: Seen) -> None:
    written = {
        name
        for path in kernel_files()
        for name in re.findall(r"__global__[^;{]*?\b(lz_\w+)\s*\(", path.read_text())
    }
    assert len(written) > 20
    assert written - seen.names == set()


def test_the_marked_tests_run_every_emitter(corpus: dict[str, list[KernelKey]]) -> None:
    """Each function of ``codegen`` that writes source text: those named ``emit_...``."""
    emitters = {}
    for found in pkgutil.iter_modules(codegen.__path__):
        module = importlib.import_module(f"{codegen.__name__}.{found.name}")
        for name, function in vars(module).items():
            ours = getattr(function, "__module__", "") == module.__name__
            if ours and name.startswith("emit_") and not name.endswith("_key"):
                emitters[getattr(function, "__code__", None)] = f"{found.name}.{name}"
    assert len(emitters) > 6
    called = set()
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, argument: called.add(frame.f_code))
    try:
        for keys in corpus.values():
            for key in keys:
                source_of(key)
    finally:
        sys.setprofile(before)
    assert {name for code, name in emitters.items() if code not in called} == set()


# What the source looks like


def body_of(key: KernelKey) -> str:
    """Return a kernel's source without the prelude."""
    source = source_of(key)
    return source[source.index('extern "C" __global__ void __launch_bounds__') :]


def only_key(make: Any) -> KernelKey:
    """Return the key of the one kernel that evaluating ``make()`` runs on the simulator."""
    with xp.default_device("sim"):
        x = make()
        _, plan, _ = evaluate.plan_for([x._cell.value])
        assert len(plan.steps) == 1
        return plan.steps[0][0].key


FLAT = """\
extern "C" __global__ void __launch_bounds__(256)
lz_kernel(float* y0, const float* x0, const float* x1, I n) {
  const U t = (U)blockIdx.x * 256 + threadIdx.x;
  const I i = (I)t * 4;
  if (i >= n) return;
"""


def test_a_flat_kernel() -> None:
    def make() -> xp.Array:
        a, b = (xp.asarray(np.ones(100, np.float32)) for _ in range(2))
        return a * b

    source = body_of(only_key(make))
    assert source.startswith(FLAT)
    assert "LzVec<float, 4>" in source
    assert "for (" in source  # over the vector, not over the grid
    assert "gridDim" not in source


def test_scalars_are_parameters() -> None:
    def make(k: float) -> xp.Array:
        return xp.asarray(np.ones(100, np.float32)) * k + k

    one, two = only_key(lambda: make(1.5)), only_key(lambda: make(-0.0))
    assert one == two
    assert "1.5" not in body_of(one)
    assert re.search(r"float p0, float p1", body_of(one))


def test_shapes_are_parameters() -> None:
    def make(*shape: int) -> xp.Array:
        return xp.asarray(np.ones(shape, np.float32)).T + 1

    assert only_key(lambda: make(32, 48)) == only_key(lambda: make(64, 80))


def test_what_makes_another_kernel() -> None:
    def key(dtype: str, scalar: Any = 1, n: int = 64, start: int = 0) -> KernelKey:
        return only_key(lambda: xp.asarray(np.ones(n, dtype))[start:] + scalar)

    assert key("float32") == key("float32", 2, 128)
    assert key("float32") != key("float64")
    assert key("float32") != key("float32", start=1)  # not on a border of 16 bytes
    assert key("int32") != key("uint32")


def test_an_operand_that_is_read_twice_is_loaded_once() -> None:
    def make() -> xp.Array:
        a = xp.asarray(np.ones(100, np.float32))
        t = a * a
        return t + t * a

    key = only_key(make)
    assert isinstance(key, MapKey)
    assert len(key.operands) == 1
    assert len(key.body) == 4  # load, a * a, t * a, +


@pytest.mark.parametrize(
    "divisor", [1, 2, 3, 5, 7, 10, 64, 641, 65535, 65537, 2**30 + 1, 2**31 - 1]
)
def test_magic_numbers_divide(divisor: int) -> None:
    d, m, s = magic(divisor)
    assert d == divisor
    assert 0 < m < 2**32
    borders = {k * divisor + e for k in (0, 1, 2, 2**31 // divisor) for e in (-1, 0, 1)}
    rng = np.random.default_rng(0)
    for n in [*borders, 2**31 - 1, *map(int, rng.integers(0, 2**31, 500))]:
        if 0 <= n < 2**31:
            assert (((n * m) >> 32) + n) >> s == n // divisor
