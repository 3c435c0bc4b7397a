"""The disk cache under whole programs: cold starts together, damage, no file on the warm path."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.processes import silent

PROGRAM = """
def compute(n=100):
    x = xp.arange(n, dtype=xp.float64)
    y = xp.sort(xp.sum(xp.reshape(x * 2 + 1, (10, -1)), axis=1), descending=True)
    return float(y[0]), float(xp.sum(x))
"""
RIGHT = "(1900.0, 4950.0)"

TOGETHER = (
    PROGRAM
    + """
import os, sys
sys.path.insert(0, ROOT)
from tests.processes import exit_code, forked
ready, start = os.pipe()
def work():
    os.close(start)
    os.read(ready, 1)  # all at once, when the parent closes its end
    return compute() == (1900.0, 4950.0) and (xp.stats().compiles > 0 or not ALL_COMPILE)
children = [forked(work) for _ in range(COUNT)]
os.close(start)
print([exit_code(child) for child in children])
"""
)


def entries(directory: Path) -> list[Path]:
    return sorted(f for f in directory.iterdir() if f.name.startswith("lazyarr-"))


def environment(device: str, directory: Path) -> dict[str, str]:
    return {"LAZYARR_DEVICE": device, "LAZYARR_CACHE_DIR": str(directory)}


def test_sixteen_processes_that_start_cold_together(kernel_device: str, tmp_path: Path) -> None:
    count = 16
    env = environment(kernel_device, tmp_path / "c")
    # The driver makes contexts one after another: a late process may find what others compiled.
    all_compile = kernel_device == "sim"
    program = TOGETHER.replace("COUNT", str(count)).replace("ROOT", repr(str(Path.cwd())))
    program = program.replace("ALL_COMPILE", str(all_compile))
    assert silent(program, **env) == f"{[0] * count}\n"
    left = {f.name for f in (tmp_path / "c").iterdir()}
    assert left == {f.name for f in entries(tmp_path / "c")}  # no temporary file
    again = PROGRAM + "print(compute(), xp.stats().compiles)"
    assert silent(again, **env) == f"{RIGHT} 0\n"


def test_damaged_entries_are_compiled_again(kernel_device: str, tmp_path: Path) -> None:
    env = environment(kernel_device, tmp_path / "c")
    program = PROGRAM + "print(compute(), xp.stats().compiles)"
    first = silent(program, **env)
    assert first.startswith(RIGHT)
    before = [f.read_bytes() for f in entries(tmp_path / "c")]
    for n, file in enumerate(entries(tmp_path / "c")):
        content = bytearray(file.read_bytes())
        if n % 2:
            del content[len(content) // 2 :]
        else:
            content[(n * 7919) % len(content)] ^= 1 << n % 8
        file.write_bytes(content)
    assert silent(program, **env) == first
    assert [len(f.read_bytes()) for f in entries(tmp_path / "c")] == [len(b) for b in before]
    assert silent(program, **env) == f"{RIGHT} 0\n"


WARM = (
    PROGRAM
    + """
import sys
kernel = 'extern "C" __global__ void f(double* p) { p[threadIdx.x] += 1; }'
add = None if DEVICE == "cpu" else xp.SourceModule(kernel).get_function("f")
def step(n):
    compute(n)
    x = xp.asarray([3.0, 1.0, 2.0])
    x[1:] = x[:-1] * float(n)
    y = xp.matmul(xp.ones((4, 4)), xp.ones((4, 4)) * n)
    if add is not None:
        add(x, block=3, grid=1)
        xp.SourceModule(kernel)
    return float(xp.sum(x)) + float(y[0, 0]) + float(xp.sum(x[x > 1]))
step(100), step(110)
seen = []
FILES = ("open", "os.", "shutil.", "tempfile.", "subprocess.", "ctypes.dlopen", "import")
def note(event, args):
    if event.startswith(FILES):
        seen.append((event, args))
sys.addaudithook(note)
for n in (100, 110, 120, 130):
    step(n)
print(seen)
"""
)


def test_the_warm_path_touches_no_file(device: str, tmp_path: Path) -> None:
    program = WARM.replace("DEVICE", repr(device))
    assert silent(program, **environment(device, tmp_path / "c")) == "[]\n"


COUNTED = (
    """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
"""
    + PROGRAM
    + """
compute()
names = [str(name) for name in opened if CACHE in str(name)]
print(len(names), len(set(names)), xp.stats().compiles)
"""
)


def test_each_entry_is_read_once(kernel_device: str, tmp_path: Path) -> None:
    """A process that finds all it needs opens each of its entries once, and nothing else there."""
    env = environment(kernel_device, tmp_path / "c")
    silent(PROGRAM + "compute()", **env)
    program = COUNTED.replace("CACHE", repr(str(tmp_path / "c")))
    opened, different, compiles = map(int, silent(program, **env).split())
    assert opened == different <= len(entries(tmp_path / "c"))
    assert compiles == 0


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@pytest.mark.parametrize("home", ["/proc/none", "relative"])
def test_a_home_that_cannot_be_used(kernel_device: str, home: str) -> None:
    first = "import warnings; warnings.simplefilter('ignore'); import lazyarr as xp"
    env = {"LAZYARR_DEVICE": kernel_device, "HOME": home, "XDG_CACHE_HOME": ""}
    env |= {"LAZYARR_CACHE_DIR": "", "PYTHONWARNINGS": ""}
    body = "print(float(xp.sum(xp.ones(10) * 2)))"
    assert silent(body, first=first, **env) == "20.0\n"
