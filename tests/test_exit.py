"""The end of a process: silent, with its own exit code, whatever is alive and in every order."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.processes import python, silent

THREADS = """
import threading
begun = threading.Event()
def use():
    while True:
        y = xp.sum(x * 2 + 1); float(y); x[3:5] = y; z = xp.asarray(x, copy=True); begun.set()
"""
FINALIZER = """
import gc
class C:
    def __init__(self): self.me = self; self.x = x * 2
    def __del__(self): assert DEVICE == 'cuda' or float(self.x[0]) == 4
for _ in range(9): C()
gc.collect()  # what it needs is compiled now
last = C()
"""
LATE = """
class Late:
    def __del__(self): assert DEVICE == 'cuda' or float(xp.sum(x)) == 18
float(xp.sum(x))
late = Late()
"""
GENERATOR = """
def inside():
    with xp.transfer_guard('log'), xp.default_device('cpu'), x.host('w') as h: yield h
g = inside(); next(g)
"""
AT_EXIT = """
import atexit
def save():
    xp.evaluate(p); x[0] = 7; assert float(xp.sum(x)) == 23
atexit.register(save)
"""
CAUGHT = """
try: xp.ones(3) + xp.ones(4)
except ValueError as e: sys.kept = e
try: x[99]
except IndexError as f: kept = f.__traceback__
"""
POOL = """
import concurrent.futures as c
pool = c.ThreadPoolExecutor(4)
f = [pool.submit(lambda i=i: float(xp.sum(x * i))) for i in range(20)]
"""
GOES_ON = """
import threading, time
def f():
    for i in range(30): float(xp.sum(x * i)); time.sleep(0.002)
threading.Thread(target=f).start()
"""
LOCAL = """
import threading
l = threading.local(); l.x = x
def f(): l.x = p; l.y = x * 2
threading.Thread(target=f).start()
"""
TASK = """
import asyncio
async def f(): xp.evaluate(p); await asyncio.sleep(99)
async def main(): sys.kept = asyncio.create_task(f()); await asyncio.sleep(0)
asyncio.run(main())
"""
RECURSION = """
def f(): return f()
try: f()
except RecursionError: y = x * 2; float(xp.sum(y))
"""

# Name: the program. ``x`` is an evaluated array, ``p`` a pending one.
CASES: dict[str, str] = {
    "arrays": "v = x[::2]; w = p[1:]",
    "in builtins": "import builtins; builtins.kept = [x, p, x * 3]",
    "in sys": "sys.kept = x, p, x[1:], xp.sum(x)",
    "in another module": "np.kept = [x * 2, p]; xp.evaluate(np.kept[0])",
    "on the namespace": "xp.kept = [x * 2, p]",
    "cycle": "a = [x, p, x * 2]; a.append(a); b = {'a': a}; b['b'] = b",
    "cycle with a finalizer": FINALIZER,
    "finalizer": LATE,
    "SystemExit": "raise SystemExit(3)",
    "sys.exit while writing": "with x.host('rw') as h: h += 1; sys.exit(3)",
    "os._exit": "y = x * 2; os._exit(3)",
    "open host views": "m = x.host('rw'); h = m.__enter__(); h += 1; p.host('r').__enter__()",
    "host arrays": "h = np.asarray(x); g = x.get(); v = h[::2]; i = iter(x); next(i)",
    "generator inside": GENERATOR,
    "trace open": "t = xp.trace(); t.__enter__(); xp.evaluate(x + 1)",
    "capsules": "c = [x.__dlpack__(), p.__dlpack__(max_version=(1, 0))]; c.append(c)",
    "consumed by NumPy": "n = np.from_dlpack(xp.asarray(x, device='cpu')); sys.kept = n[1:]; del x",
    "imported from NumPy": "y = xp.from_dlpack(np.ones(9)); z = y + 1; sys.kept = y",
    "shared with NumPy": "sys.kept = xp.asarray(np.ones(9), device='cpu', copy=False)",
    "atexit": AT_EXIT,
    "weakref.finalize": "import weakref; f = weakref.finalize(xp.sum, lambda: xp.evaluate(x + 1))",
    "after a caught error": CAUGHT,
    "index out of range": "z = (x[xp.asarray(np.asarray([8])) + int(DEVICE != 'cpu')]) + 1",
    "thread that ends": "import threading as t; t.Thread(target=xp.evaluate, args=(p,)).start()",
    "sys.exit in a thread": "import threading as t; t.Thread(target=sys.exit, args=(p,)).start()",
    "threads of a pool": POOL,
    "thread that goes on": GOES_ON,
    "daemon": THREADS + "threading.Thread(target=use, daemon=True).start(); begun.wait()",
    "daemons": THREADS
    + "for _ in range(4): threading.Thread(target=use, daemon=True).start()\n"
    + "begun.wait(); raise SystemExit(3)",
    "daemon that begins": THREADS + "threading.Thread(target=use, daemon=True).start()",
    "local of a thread": LOCAL,
    "context variable": "import contextvars; v = contextvars.ContextVar('v'); v.set([x, p, x * 2])",
    "task left": TASK,
    "modules removed": "for n in list(sys.modules):\n  if 'lazyarr' in n: del sys.modules[n]",
    "namespace deleted": "del xp; import gc; gc.collect()",
    "recursion": RECURSION,
}
KERNELS = """
def kernel(body):
    source = 'extern "C" __global__ void f(double* p) { ' + body + ' }'
    return xp.SourceModule(source).get_function('f')
"""
# More where kernels run.
ON_KERNELS: dict[str, str] = {
    "user's module": KERNELS + "f = kernel('p[0] = 1;'); f(x, block=1, grid=1); sys.kept = f",
    "failed compilation": KERNELS + "try: kernel('?')\nexcept xp.CompileError as e: sys.kept = e",
    "library results": "a = xp.eye(4) * 2; sys.kept = xp.linalg.qr(a), xp.fft.fft(a * 1j), a @ a",
    "prefetched": "xp.prefetch(x, to='host'); y = xp.asarray(np.ones(1 << 16)); xp.prefetch(y, p)",
}
STREAM = """
import pycuda.driver as drv
b = x.device.runtime.backend
with b.batch(): s = drv.Stream()
"""
FAILS = """
f = kernel('*(double*)64 = 1;'); f(x, block=1, grid=1)
try: float(x[0])
except RuntimeError as e: sys.kept = e, x, p
"""
FORK = """
warnings.filterwarnings("ignore", "This process", DeprecationWarning)  # 3.12: CUDA has threads
c = os.fork()
if not c: sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) == 7
"""
# More on a GPU.
ON_CUDA: dict[str, str] = {
    "streams": STREAM + "with xp.stream(s): y = x * 2; xp.evaluate(y); sys.kept = s, y, y + 1",
    "inside a stream": STREAM + "c = xp.stream(s); c.__enter__(); y = x * 2; xp.evaluate(y)",
    "interfaces": "i = x.__cuda_array_interface__, p.gpudata; y = x + 1",
    "much queued": "y = xp.ones(1 << 24)\nfor _ in range(200): y = y * 1.5 + x[0]; xp.evaluate(y)",
    "kernel that fails": KERNELS + FAILS,
    "fork": FORK,
}

# Each case is a fork that ends as a script does: many times faster than a new interpreter.
DRIVER = """
import json, os, sys, warnings
import numpy as np
import lazyarr as xp
warnings.simplefilter("ignore", DeprecationWarning)
cases = json.loads(os.environ["CASES"])
found = {}
for name, body in cases.items():
    path = os.path.join(os.environ["PLACE"], "stderr")
    child = os.fork()
    if not child:
        target = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(target, 1), os.dup2(target, 2), os.close(target)
        break
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with open(path) as file:
        said = file.read()
    if (status, said) != (3 if "xit(3)" in body else 0, ""):
        found[name] = status, said
else:
    print(json.dumps(found), flush=True)
    os._exit(0)
warnings.simplefilter("default", DeprecationWarning)
del name, cases, found, target, child, path
x = xp.ones(9) + 1
xp.evaluate(x)
p = x * 3 - 1
exec(body)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_every_end_is_silent(device: str, tmp_path: Path) -> None:
    cases = CASES | (ON_KERNELS if device != "cpu" else {}) | (ON_CUDA if device == "cuda" else {})
    # On a GPU, a finalizer in the interpreter's own clean-up is too late for work.
    filled = {name: body.replace("DEVICE", repr(device)) for name, body in cases.items()}
    env = {"CASES": json.dumps(filled), "PLACE": str(tmp_path), "LAZYARR_DEVICE": device}
    assert json.loads(silent(DRIVER, **env)) == {}


def test_an_error_is_shown_alone(device: str) -> None:
    body = "x = xp.ones(9) * 2; xp.evaluate(x); p = x + 1; h = x.host('rw').__enter__()\n1 / 0"
    done = python(body, LAZYARR_DEVICE=device)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert "ignored" not in done.stderr


def test_an_interrupt_ends_a_loop(device: str) -> None:
    body = (
        "import signal, os, threading\nx = xp.ones(100) * 2\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # background jobs ignore it
        "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n  while True:\n    float(xp.sum(x)); x[3:7] += 1; x *= 0.5; xp.evaluate(x)\n"
        "except KeyboardInterrupt: pass\n"
        "y = xp.ones(10) + 1; assert float(xp.sum(y)) == 20; z = x + 1"
    )
    silent(body, LAZYARR_DEVICE=device)


EARLIER = """
import atexit
def late():
    try:
        print(float(y[2]), y.shape, float(xp.sum(x)))
    except xp.DeviceUnavailableError as error:
        print(error)
atexit.register(late)
import numpy as np
import lazyarr as xp
x = xp.ones(9) + 1
y = x * 2
np.asarray(y)
"""


def test_a_handler_that_was_registered_before_the_import(device: str) -> None:
    """It runs after lazyarr's own: on a GPU it reads what the host has, and is told of the rest."""
    said = silent(EARLIER, first="", LAZYARR_DEVICE=device)
    if device == "cuda":
        assert said == "CUDA cannot be used while the interpreter is shutting down\n"
    else:
        assert said == "4.0 (9,) 18.0\n"


BESIDE = {
    "torch": "import torch; t = torch.ones(3, device='cuda') * 2; k = torch.from_dlpack(x)",
    "cupy": "import cupy; t = cupy.ones(3) * 2; k = cupy.from_dlpack(x); s = cupy.cuda.Stream()",
    "jax": "import jax, jax.numpy as jnp; t = jnp.ones(3) * 2; k = jnp.from_dlpack(x)",
}


@pytest.mark.cuda
@pytest.mark.parametrize("other", list(BESIDE))
@pytest.mark.parametrize("end", ["", "raise SystemExit(3)", "import gc; k = [k, x]; k.append(k)"])
def test_a_silent_end_beside_another_library(other: str, end: str) -> None:
    pytest.importorskip(other, reason=f"{other} is not installed")
    body = (
        f"import sys\nx = xp.ones(9) * 2; xp.evaluate(x); p = x + 1\n{BESIDE[other]}\n"
        f"y = xp.from_dlpack(t); z = y + 1; xp.evaluate(z); sys.kept = t, k, y, p\n{end}"
    )
    env = {"LAZYARR_DEVICE": "cuda", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    silent(body, code=3 if "Exit" in end else 0, **env)


@pytest.mark.cuda
@pytest.mark.parametrize("other", list(BESIDE))
@pytest.mark.parametrize("first", [True, False], ids=["lazyarr first", "lazyarr second"])
@pytest.mark.parametrize("compute", [True, False], ids=["computing between", "importing alone"])
def test_the_order_of_imports_does_not_matter(other: str, first: bool, compute: bool) -> None:
    pytest.importorskip(other, reason=f"{other} is not installed")
    theirs = {
        "torch": ("import torch", "t = torch.ones(3, device='cuda') * 2", "float(t.sum())"),
        "cupy": ("import cupy", "t = cupy.ones(3) * 2", "float(t.sum())"),
        "jax": ("import jax.numpy as jnp", "t = jnp.ones(3) * 2", "float(t.sum())"),
    }[other]
    ours = ("import lazyarr as xp", "x = xp.ones(9) * 2; xp.evaluate(x)", "float(xp.sum(x))")
    order = [ours, theirs] if first else [theirs, ours]
    steps = [line for i, c, _ in order for line in ((i, c) if compute else (i,))]
    if not compute:
        steps += [c for _, c, _ in order]
    steps += [f"assert {ours[2]} == 18 and {theirs[2]} == 6"]
    steps += ["y = xp.from_dlpack(t) + x[:3]; assert float(xp.sum(y)) == 12"]
    steps += [f"assert {theirs[2]} == 6"]
    env = {"LAZYARR_DEVICE": "cuda", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    silent("\n".join(steps), first="", **env)


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read from /proc")
def test_threads_that_end_leave_nothing(kernel_device: str) -> None:
    """A thousand threads that each use the device once leave no state of theirs behind."""
    body = """
import threading
from lazyarr.runtime import cuda_process
x = xp.ones(9) + 1
xp.evaluate(x)
def use():
    assert float(xp.sum(x * 2)) == 36
for _ in range(1000):
    t = threading.Thread(target=use); t.start(); t.join()
print(len(cuda_process._threads) < 600)
"""
    assert silent(body, LAZYARR_DEVICE=kernel_device) == "True\n"
