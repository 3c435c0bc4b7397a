"""A kernel that ruins the CUDA context: what the error says, and what every later call says.

The handling is in ``cuda_driver.Faults`` and ``pycuda_backend._Batch``; here it runs with stand-ins
too. On a GPU each fault has a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import Any

import pytest

import lazyarr as xp
from lazyarr.graph import evaluate
from lazyarr.runtime.cuda_driver import Faults, is_kernel_failure
from lazyarr.runtime.pycuda_backend import CudaBackend, _Batch
from lazyarr.runtime.select import default_device

HERE = __file__
# What the driver says: cuGetErrorString, which PyCUDA puts into its exceptions.
SAYS = [
    "an illegal memory access was encountered",
    "an illegal instruction was encountered",
    "misaligned address",
    "device-side assert triggered",
    "the launch timed out and was terminated",
    "unspecified launch failure",
    "invalid program counter",
    "hardware stack error",
    "operation not supported on global/shared address space",
    "uncorrectable ECC error encountered",
]


def call_of(name: str) -> tuple[str, Any, int]:
    """Return a launch from this line, as users' kernels are noted."""
    frame = sys._getframe()
    return name, frame.f_code, frame.f_lasti


@pytest.mark.parametrize("text", SAYS)
def test_failures_of_kernels_are_known_by_their_words(text: str) -> None:
    assert is_kernel_failure(RuntimeError(f"cuStreamSynchronize failed: {text}"))


@pytest.mark.parametrize("text", ["out of memory", "invalid argument", "invalid device context"])
def test_other_failures_lose_nothing(text: str) -> None:
    error = RuntimeError(f"cuMemAlloc failed: {text}")
    assert not is_kernel_failure(error)
    faults = Faults("cuda:0")
    found = faults.error_for(str(error), False)
    assert type(found) is xp.KernelError
    assert (str(found), faults.lost) == (str(error), "")


def test_the_only_kernel_launched_is_the_one() -> None:
    faults = Faults("cuda:1")
    faults.last_kernel = "add"  # the library's own, launched after it
    faults.launched.append(call_of("bad"))
    error = faults.error_for("waiting failed: CUDA_ERROR_ILLEGAL_ADDRESS", True)
    assert type(error) is xp.DeviceLostError
    line = call_of.__code__.co_firstlineno + 2
    assert f"it is 'bad', launched at {HERE}:{line + 1}" in str(error)
    assert "cuda:1 cannot be used again" in str(error)
    for each in (error, faults.error_for("another call", False)):
        assert each.__notes__ == [f"The operation was made at {HERE}:{line + 1}"]


def test_of_several_kernels_each_is_named_once_the_last_first() -> None:
    faults = Faults("cuda:0")
    for name in ("a", "b", "a", "a"):
        faults.launched.append(call_of(name))
    text = str(faults.error_for("failed", True))
    assert text.count("'a', launched at") == text.count("'b', launched at") == 1
    assert text.index("'a'") < text.index("'b'")


def test_without_users_kernels_the_last_one_is_named() -> None:
    faults = Faults("cuda:0")
    faults.last_kernel = "sum"
    assert "the last one launched was 'sum'" in str(faults.error_for("failed", True))


def test_the_first_explanation_stays() -> None:
    faults = Faults("cuda:0")
    faults.launched.append(call_of("bad"))
    first = str(faults.error_for("waiting failed", True))
    faults.launched.append(call_of("good"))
    for message, is_kernels in (("copying failed", True), ("invalid device context", False)):
        assert str(faults.error_for(message, is_kernels)) == first
    with pytest.raises(xp.DeviceLostError) as caught:
        faults.refuse()
    assert str(caught.value) == first


class PycudaError(Exception):
    """In place of ``pycuda.driver.Error``."""


class LibraryError(Exception):
    """In place of an exception of ``nvmath``."""


LibraryError.__module__ = "nvmath.bindings.cublas"


class Context:
    """In place of PyCUDA's context."""

    depth = 0

    def push(self) -> None:
        self.depth += 1

    def pop(self) -> None:
        self.depth -= 1


class StandIn(CudaBackend):
    """What a batch needs of a backend, without a GPU."""

    def __init__(self) -> None:
        self.context = Context()
        self.released = []  # type: ignore[assignment]
        self._error = PycudaError

        class Driver:
            faults = Faults("cuda:0")
            ruined = False

            def synchronize(self) -> None:
                if self.ruined:
                    raise self.faults.error_for("waiting failed", True)

        self.driver = Driver()  # type: ignore[assignment]


@pytest.fixture
def stand_in() -> StandIn:
    if not hasattr(_Batch.__enter__, "__code__"):
        pytest.skip("compiled classes take no stand-ins")
    return StandIn()


def test_what_pycuda_raises_anywhere_becomes_the_explanation(stand_in: StandIn) -> None:
    stand_in.driver.faults.launched.append(call_of("bad"))
    batch = _Batch(stand_in)
    with pytest.raises(xp.DeviceLostError, match="it is 'bad'") as caught, batch, batch:
        raise PycudaError("cuMemGetInfo failed: an illegal memory access was encountered")
    assert isinstance(caught.value.__context__, PycudaError)
    for _ in range(2):
        with pytest.raises(xp.DeviceLostError) as again, batch:
            pytest.fail("a batch of a lost device was entered")
        assert str(again.value) == str(caught.value)
    assert stand_in.context.depth == 0


def test_a_librarys_error_asks_the_device(stand_in: StandIn) -> None:
    batch = _Batch(stand_in)
    with pytest.raises(LibraryError), batch:
        raise LibraryError("CUBLAS_STATUS_INVALID_VALUE")
    stand_in.driver.ruined = True  # type: ignore[attr-defined]
    with pytest.raises(xp.DeviceLostError), batch:
        raise LibraryError("CUBLAS_STATUS_EXECUTION_FAILED")
    assert stand_in.context.depth == 0


def test_other_exceptions_pass(stand_in: StandIn) -> None:
    for error in (ZeroDivisionError("x"), PycudaError("cuLaunchKernel failed: invalid argument")):
        with pytest.raises(type(error), match=str(error)), _Batch(stand_in):
            raise error
    assert stand_in.driver.faults.lost == ""


def test_launches_are_noted_with_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    with xp.default_device("sim"):
        backend = evaluate.runtime(default_device()).backend
        faults = Faults("cuda:0")
        monkeypatch.setattr(backend, "launched", faults.launched, raising=False)
        f = xp.SourceModule("__global__ void f(float* p) { p[0] = 1; }").get_function("f")
        x = xp.zeros(1, dtype=xp.float32)
        f(x, block=(1,))
        line = sys._getframe().f_lineno - 1
        with pytest.raises(TypeError):
            f(1.5)
    assert len(faults.launched) == 1
    assert f"it is 'f', launched at {HERE}:{line}." in str(faults.error_for("failed", True))


FAULTS = {
    "illegal address": "p[1ll << 40] = 1;",
    "null": "*(float*)0 = 1;",
    "misaligned": "*(double*)((char*)p + 1) = 1;",
    "assert": "assert(n < 0);",
    "trap": "__trap();",
}
LATER = """
import sys
import numpy as np, lazyarr as xp
f = xp.SourceModule({source!r}).get_function("f")
good = xp.SourceModule("__global__ void good(float* p) {{ p[0] = 2; }}").get_function("good")
x, y, held = xp.zeros(100, dtype=xp.float32), xp.ones(1000), xp.arange(5.0)
mirrored = np.asarray(held).tolist()
pending = y * 3
m = xp.eye(8)
xp.evaluate(x, y, m)
xp.synchronize()
{many}
f(x, np.int32(1), block=(1,), grid=(1,))  # the line
texts = []
calls = [
    lambda: np.asarray(y), lambda: float(y[0]), lambda: xp.synchronize(), lambda: xp.memory_info(),
    lambda: np.asarray(pending), lambda: xp.evaluate(y + 1),
    lambda: xp.evaluate(xp.asarray(np.ones(5)) + 1),
    lambda: good(x, block=(1,)), lambda: np.asarray(m @ m), lambda: xp.linalg.inv(m),
    lambda: np.asarray(xp.fft.fft(y)), lambda: xp.nonzero(y), lambda: y.get(),
    lambda: y.__setitem__(0, 5.0) or np.asarray(y), lambda: xp.evaluate(xp.empty(1 << 22) + 1),
    lambda: xp.SourceModule("__global__ void h() {{ }}"), lambda: y.__dlpack__(),
    lambda: np.asarray(xp.sort(y)), lambda: y.to_device("cpu"),
]
for number, call in enumerate(calls):
    try:
        call()
    except xp.DeviceLostError as error:
        texts.append(str(error))
    else:
        sys.exit(f"call {{number}} did not fail")
assert len(set(texts)) == 1, set(texts)
assert np.asarray(held).tolist() == mirrored
assert float(xp.sum(xp.ones(3, device="cpu"))) == 3
print(texts[0])
{end}
"""


def lost(tmp_path: Any, fault: str, many: str = "", end: str = "", **environ: str) -> Any:
    source = f"#include <assert.h>\n__global__ void f(float* p, int n) {{ {FAULTS[fault]} }}"
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(LATER.format(source=source, many=many, end=end)))
    environment = {
        **os.environ, "LAZYARR_DEVICE": "cuda", **environ,
        "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(xp.__file__))),
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, env=environment, check=False,
        timeout=120,
    )  # fmt: skip


@pytest.mark.cuda
@pytest.mark.parametrize("fault", FAULTS)
def test_every_later_call_gives_the_same_explanation(tmp_path: Any, fault: str) -> None:
    done = lost(tmp_path, fault)
    noise = [line for line in done.stderr.splitlines() if "Assertion" not in line and line]
    assert (done.returncode, noise) == (0, []), done.stderr
    assert "it is 'f', launched at" in done.stdout
    assert "program.py:13." in done.stdout


@pytest.mark.cuda
def test_among_several_kernels_all_are_named(tmp_path: Any) -> None:
    done = lost(tmp_path, "illegal address", many="good(x, block=(1,))")
    assert (done.returncode, done.stderr) == (0, "")
    assert "one of these, the last one first: 'f', launched at" in done.stdout
    assert "'good', launched at" in done.stdout


@pytest.mark.cuda
def test_the_exit_after_an_exception_prints_only_that(tmp_path: Any) -> None:
    done = lost(tmp_path, "illegal address", end="np.asarray(y)")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last):")
    *_, last, note = done.stderr.rstrip().splitlines()
    assert last.startswith("lazyarr.runtime.base.DeviceLostError: "), done.stderr
    assert note.startswith("The operation was made at"), done.stderr


@pytest.mark.cuda
def test_eager_puts_the_fault_at_its_line(tmp_path: Any) -> None:
    done = lost(tmp_path, "illegal address", LAZYARR_EAGER="1")
    assert done.returncode == 1
    frames = [line for line in done.stderr.splitlines() if "program.py" in line and "File" in line]
    assert frames[-1].rstrip().endswith("line 13, in <module>"), done.stderr


def test_what_the_gpu_would_be_asked_runs(tmp_path: Any) -> None:
    """The program of the tests above is right: without its fault, its first call does not fail."""
    source = "__global__ void f(float* p, int n) { p[0] = n; }"
    path = tmp_path / "program.py"
    path.write_text(LATER.format(source=source, many="", end=""))
    environment = {
        **os.environ, "LAZYARR_DEVICE": "sim",
        "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(xp.__file__))),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, env=environment, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (1, "call 0 did not fail")
