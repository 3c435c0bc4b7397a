"""Field cases of groups L and N: threads, exit, the kernel cache, compile errors."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyarr as xp

from .common import eq, kernel

ROOT = Path(xp.__file__).parents[1]


def _python(body: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environ = {**os.environ, "PYTHONPATH": path, **environment}
    return subprocess.run(
        [sys.executable, "-c", "import lazyarr as xp\n" + body],
        capture_output=True,
        text=True,
        timeout=120,
        env=environ,
        check=False,
    )


BESIDE_TORCH = """
import numpy as np
FIRST
a = torch.ones(4, device="cuda")
event = torch.cuda.Event(enable_timing=True)
event.record()
x = xp.ones(4) + 1
assert (np.asarray(x) == 2).all()
other = torch.cuda.Event(enable_timing=True)
other.record()
other.synchronize()
event.elapsed_time(other)
assert np.asarray(xp.asarray(torch.fft.fft(a).real)).tolist() == [4, 0, 0, 0]
try:
    xp.SourceModule("__global__ void f() { no }")
except xp.CompileError:
    pass
assert (np.asarray(x * 2) == 4).all()
assert float((a @ a).cpu()) == 4
"""


@pytest.mark.cuda
@pytest.mark.parametrize(
    "first",
    [
        "import torch; torch.zeros(1, device='cuda')",
        "xp.evaluate(xp.ones(3)); import torch",
    ],
    ids=["torch first", "lazyarr first"],
)
def test_121_torch_has_the_same_context(first: str) -> None:
    pytest.importorskip("torch")
    done = _python(BESIDE_TORCH.replace("FIRST", first), LAZYARR_DEVICE="cuda")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.cuda
def test_127_a_silent_exit_beside_torch() -> None:
    pytest.importorskip("torch")
    body = (
        "import torch; t = torch.from_dlpack(xp.ones(3) * 2); x = xp.from_dlpack(torch.ones(1, "
        "device='cuda')); torch.ones(1, device='cuda'); xp.evaluate(x + 1); torch.kept = x, t"
    )
    done = _python(body, LAZYARR_DEVICE="cuda")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_122_worker_threads(device: str) -> None:
    x = xp.ones(1000)

    def work(i: int) -> float:
        with xp.default_device(device):
            return float(xp.sum(x * i))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(64))) == [1000.0 * i for i in range(64)]
        y = pool.submit(lambda: x + 1).result()
    eq(y[:2], [2.0, 2.0])


def test_124_the_default_device_belongs_to_the_thread(device: str) -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with xp.default_device("sim:1"):
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(10)
    before = xp.ones(1).device
    leave.set()
    thread.join()
    assert before == xp.ones(1).device
    assert str(before) != "sim:1"


def test_125_freed_memory_is_not_reused_too_early(device: str) -> None:
    right: list[bool] = []
    n = 1 << 20 if device == "cuda" else 1 << 10

    def work(v: float) -> None:
        with xp.default_device(device):
            for _ in range(20):
                a = xp.full(n, v)
                b = a * 1
                xp.evaluate(b)
                del a
                c = xp.full(n, -1.0) * 1
                xp.evaluate(c)
                right.append(float(xp.min(b)) == v and float(xp.max(b)) == v)
                del b, c

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(right) == 80
    assert all(right)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("x = xp.ones(3) + 1; xp.evaluate(x)", 0),
        ("x = xp.ones(3) + 1", 0),
        ("import builtins; builtins.keep = xp.ones(3) * 2; float(xp.sum(builtins.keep))", 0),
        ("x = xp.ones(3); xp.evaluate(x); a = [x]; a.append(a)", 0),
        ("xp.evaluate(xp.ones(3)); raise SystemExit(3)", 3),
        (
            "import threading\nt = threading.Thread(target=lambda: xp.evaluate(xp.ones(1 << 20)),"
            " daemon=True)\nt.start()",
            0,
        ),
    ],
    ids=["evaluated", "pending", "in builtins", "cycle", "SystemExit", "daemon thread"],
)
def test_127_a_silent_exit(device: str, body: str, code: int) -> None:
    done = _python(body, LAZYARR_DEVICE=device)
    assert done.returncode == code, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("where", ["missing", "a file"])
def test_136_a_cache_directory_that_cannot_be_used(
    kernel_device: str, tmp_path: Path, where: str
) -> None:
    place = tmp_path / "cache"
    if where == "a file":
        place.write_text("")
    else:
        place = Path("/proc/none/cache")
    body = "print(float(xp.sum(xp.ones(10) * 2)))"
    environment = {"LAZYARR_DEVICE": kernel_device, "LAZYARR_CACHE_DIR": str(place)}
    done = _python(body, **environment, HOME="/proc/no")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "20.0\n"
    assert done.stderr.count("Warning") <= 1


def test_137_scalars_and_sizes_are_no_part_of_a_kernel(kernel_device: str) -> None:
    x = xp.ones(1000)
    xp.evaluate(x * 1.5 + 1)
    state = x.device.runtime
    before = len(state.kernels)
    for i in range(100):
        xp.evaluate(x * float(i) + i)
    for n in range(1001, 1040):
        xp.evaluate(xp.ones(n) * 1.5 + 1)
    assert len(state.kernels) - before <= 2


def test_139_compile_errors_that_can_be_read(kernel_device: str) -> None:
    broken = 'extern "C" __global__ void f(float* p){\n  p[0] = undeclared;\n}'
    with pytest.raises(xp.CompileError) as caught:
        kernel(broken, "f")
    text = str(caught.value)
    assert "undeclared" in text
    assert "line 2" in text
    assert "p[0] = undeclared;" in text
    with pytest.raises(Exception, match="'g'") as missing:
        kernel('extern "C" __global__ void fine(float* p){}', "g")
    assert "fine" in str(missing.value)  # the names that exist


@pytest.mark.parametrize(
    "arguments",
    [
        lambda x: (x, 1.0),
        lambda x: (x, 1),
        lambda x: (x, np.float32(1)),
        lambda x: (x, np.int64(1)),
        lambda x: (x,),
        lambda x: (x, np.int32(1), np.int32(1)),
        lambda x: (np.ones(3, np.float32), np.int32(1)),
        lambda x: (np.int32(1), x),
    ],
)
def test_140_wrong_arguments_to_a_kernel(kernel_device: str, arguments: Any) -> None:
    run = kernel('extern "C" __global__ void f(float* p, int n) { p[0] = n; }', "f")
    x = xp.ones(3, dtype=xp.float32)
    with pytest.raises(TypeError):
        run((1,), (1,), arguments(x))
    run((1,), (1,), (x, np.int32(5)))
    eq(x, np.asarray([5, 1, 1], np.float32))
