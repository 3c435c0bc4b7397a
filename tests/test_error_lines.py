"""Errors that only the data shows: they name the user's line, come again, and poison nothing."""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import lazyarr as xp
from lazyarr import ledger

HERE = __file__


class Operands(NamedTuple):
    x: xp.Array  # 0 to 9
    matrix: xp.Array  # singular
    nan: xp.Array  # a matrix
    bad: xp.Array  # indices that only the device knows: 0, 5, 10


def operands() -> Operands:
    bad = xp.astype(xp.arange(3), xp.int64) * 5
    xp.evaluate(bad)
    matrix = xp.ones((3, 3))
    return Operands(xp.asarray(np.arange(10.0)), matrix, matrix * xp.nan, bad)


Case = Callable[[Operands], Any]
LATE: dict[str, Case] = {
    "take": lambda o: xp.take(o.x, o.bad),
    "take of a pending array": lambda o: xp.take(o.x + 1, o.bad),
    "take_along_axis": lambda o: xp.take_along_axis(o.x, o.bad),
    "x[indices]": lambda o: o.x[o.bad],
    "x[uint64 indices]": lambda o: o.x[xp.astype(o.bad - 1, xp.uint64)],
    "x[i, j]": lambda o: xp.reshape(o.x, (2, 5))[o.bad, o.bad],
    "x[pending indices]": lambda o: o.x[o.bad + 1],
    "a reduction": lambda o: xp.sum(o.x[o.bad]),
    "rows": lambda o: xp.reshape(o.x, (5, 2))[o.bad],
}
AT_THE_CALL: dict[str, tuple[type[Exception], Case]] = {
    "x[indices] = 1": (IndexError, lambda o: o.x.__setitem__(o.bad, 1.0)),
    "x[uint64 indices] = 1": (
        IndexError, lambda o: o.x.__setitem__(xp.astype(o.bad - 1, xp.uint64), 1.0)
    ),
    "x[indices] += 1": (IndexError, lambda o: o.x.__setitem__(o.bad, o.x[o.bad] + 1)),
    "x[0] = x[indices][2]": (IndexError, lambda o: o.x.__setitem__(0, o.x[o.bad][2])),
    "repeat by an array": (ValueError, lambda o: xp.repeat(o.x[:3], o.bad - 1)),
    "repeat by one": (ValueError, lambda o: xp.repeat(o.x[:3], o.bad[:1] - 1)),
    "solve": (xp.linalg.LinAlgError, lambda o: xp.linalg.solve(o.matrix, o.x[:3])),
    "inv": (xp.linalg.LinAlgError, lambda o: xp.linalg.inv(o.matrix)),
    "matrix_power": (xp.linalg.LinAlgError, lambda o: xp.linalg.matrix_power(o.matrix, -2)),
    "cholesky": (xp.linalg.LinAlgError, lambda o: xp.linalg.cholesky(-o.matrix)),
    "eigh": (xp.linalg.LinAlgError, lambda o: xp.linalg.eigh(o.nan)),
    "eigvalsh": (xp.linalg.LinAlgError, lambda o: xp.linalg.eigvalsh(o.nan)),
    "eig": (xp.linalg.LinAlgError, lambda o: xp.linalg.eig(o.nan)),
    "eigvals": (xp.linalg.LinAlgError, lambda o: xp.linalg.eigvals(o.nan)),
    "svd": (xp.linalg.LinAlgError, lambda o: xp.linalg.svd(o.nan)),
    "svdvals": (xp.linalg.LinAlgError, lambda o: xp.linalg.svdvals(o.nan)),
    "pinv": (xp.linalg.LinAlgError, lambda o: xp.linalg.pinv(o.nan)),
    "matrix_rank": (xp.linalg.LinAlgError, lambda o: xp.linalg.matrix_rank(o.nan)),
}  # fmt: skip


def line_of(case: Case) -> str:
    """Return the note that an operation made in this function must have."""
    lines, first = inspect.getsourcelines(case)
    return f"The operation was made at {HERE}:{first}"


def assert_noted(error: BaseException, case: Case) -> None:
    (note,) = error.__notes__
    first = int(line_of(case).rpartition(":")[2])
    assert note in {f"The operation was made at {HERE}:{first + k}" for k in range(2)}, note


@pytest.mark.parametrize("name", LATE)
def test_indices_that_only_the_device_knows(kernel_device: str, name: str) -> None:
    given = operands()
    made = LATE[name](given)
    after = made * 2 + 1
    for read in (lambda: np.asarray(made), lambda: np.asarray(after), lambda: np.asarray(made)):
        with pytest.raises(IndexError, match=r"^index \d+ is out of bounds for axis 0 with") as e:
            read()
        assert_noted(e.value, LATE[name])
    np.testing.assert_array_equal(np.asarray(given.x + 1), np.arange(10.0) + 1)


READS: dict[str, Callable[[xp.Array], Any]] = {
    "float": lambda y: float(y[0]),
    "get": lambda y: y.get(),
    "host": lambda y: y.host("r").__enter__(),
    "host, to write a part": lambda y: y[1:].host("w").__enter__(),
    "pickle": pickle.dumps,
    "dlpack": lambda y: y.__dlpack__(),
    "to_device": lambda y: np.asarray(y.to_device("cpu")),
    "nonzero": xp.nonzero,
    "a mask": lambda y: np.asarray(xp.ones(3)[y > 0]),
    "if": lambda y: bool(xp.all(y)),
    "sort": lambda y: np.asarray(xp.sort(y)),
    "scan": lambda y: np.asarray(xp.cumulative_sum(y)),
    "matmul": lambda y: np.asarray(y @ y),
    "fft": lambda y: np.asarray(xp.fft.rfft(y)),
    "solve": lambda y: xp.linalg.solve(xp.eye(3), y),
    "unique": xp.unique_values,
    "as the source of a write": lambda y: _written(y),
    "repeat": lambda y: xp.repeat(xp.ones(3), xp.astype(y, xp.int64)),
    "a kernel of the user's": lambda y: _launched(y),
}


def _written(y: xp.Array) -> Any:
    target = xp.zeros(3)
    target[:] = y
    return np.asarray(target)


def _launched(y: xp.Array) -> None:
    kernel = xp.SourceModule("__global__ void f(double* p) { }").get_function("f")
    kernel(xp.In(y), block=(1,))


@pytest.mark.parametrize("state", ["pending", "evaluated"])
@pytest.mark.parametrize("name", READS)
def test_no_way_to_read_what_is_wrong(kernel_device: str, name: str, state: str) -> None:
    given = operands()
    made = given.x[given.bad]
    if state == "evaluated":
        xp.evaluate(made)
    for _ in range(2):
        with pytest.raises(IndexError, match="index 10 is out of bounds") as caught:
            READS[name](made)
        assert len(caught.value.__notes__) == 1


def test_the_text_of_what_is_wrong_says_so(kernel_device: str) -> None:
    given = operands()
    text = repr(given.x[given.bad])
    assert "unreadable: index 10 is out of bounds for axis 0 with size 10" in text


@pytest.mark.parametrize("state", ["one kernel", "two kernels"])
def test_the_first_error_is_blamed_not_what_follows_from_it(kernel_device: str, state: str) -> None:
    """What is read in the place of a bad index may be no good index itself."""
    places = xp.asarray(np.asarray([99, 1, 2, 1, 2]))
    bad = xp.astype(xp.arange(3), xp.int64) * 5 + 1  # 1, 6, 11
    xp.evaluate(bad)
    picked = places[bad[:2]]
    if state == "two kernels":
        xp.evaluate(picked)
    for _ in range(2):
        with pytest.raises(IndexError, match="^index 6 is out of bounds for axis 0 with size 5"):
            np.asarray(xp.ones(3)[picked])


@pytest.mark.parametrize("name", LATE)
def test_indices_on_the_cpu(name: str) -> None:
    with xp.default_device("cpu"):
        given = operands()
        with pytest.raises(IndexError, match=r"^index \d+ is out of bounds for axis 0 with") as e:
            LATE[name](given)
    assert_noted(e.value, LATE[name])


@pytest.mark.parametrize("name", AT_THE_CALL)
def test_what_raises_at_the_call(device: str, name: str) -> None:
    given = operands()
    kind, case = AT_THE_CALL[name]
    for _ in range(2):
        with pytest.raises(kind) as caught:
            case(given)
        assert_noted(caught.value, case)
    np.testing.assert_array_equal(np.asarray(given.x), np.arange(10.0))
    np.testing.assert_array_equal(np.asarray(given.matrix * 2), np.full((3, 3), 2.0))


def test_a_write_of_what_is_wrong_spoils_the_target_until_it_is_overwritten(
    kernel_device: str,
) -> None:
    given = operands()
    given.x[:3] = given.x[given.bad]
    for _ in range(2):
        with pytest.raises(IndexError) as caught:
            np.asarray(given.x)
        assert caught.value.__notes__[0].startswith(f"The operation was made at {HERE}:")
    given.x[...] = 1.0
    np.testing.assert_array_equal(np.asarray(given.x), np.ones(10))


def test_eigenvalues_that_do_not_converge(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def diverging(*arguments: Any, **options: Any) -> Any:
        raise np.linalg.LinAlgError("did not converge")

    if device == "cuda":
        pytest.skip("cuSOLVER cannot be made to fail")
    monkeypatch.setattr(np.linalg, "svd", diverging)
    with pytest.raises(
        xp.linalg.LinAlgError, match="svd: the matrix has singular values that"
    ) as e:
        xp.linalg.svd(xp.eye(3))
    assert e.value.__notes__[0].startswith(f"The operation was made at {HERE}:")


def test_two_operations_in_one_kernel_are_told_apart(kernel_device: str) -> None:
    given = operands()
    good = xp.astype(xp.arange(3), xp.int64)
    xp.evaluate(good)

    def first(indices: xp.Array) -> xp.Array:
        return given.x[indices]

    def second(indices: xp.Array) -> xp.Array:
        return given.x[indices]

    for places in ((given.bad, good), (good, given.bad)):
        total = first(places[0]) + second(places[1])
        with pytest.raises(IndexError) as caught:
            np.asarray(total)
        wrong = first if places[0] is given.bad else second
        start = inspect.getsourcelines(wrong)[1]
        assert caught.value.__notes__ == [f"The operation was made at {HERE}:{start + 1}"]


def test_the_users_line_is_not_one_of_the_standard_library(device: str) -> None:
    x = xp.zeros(3)
    with xp.trace() as trace, x.host("r"):
        pass
    assert all(event.line.startswith(HERE) for event in trace.events)


def test_a_package_whose_name_begins_like_ours_is_the_users(tmp_path: Any) -> None:
    neighbour = os.path.dirname(os.path.abspath(xp.__file__)) + "_extras.py"
    code = compile("line = user_line()", neighbour, "exec")
    found: dict[str, Any] = {"user_line": ledger.user_line}
    exec(code, found)
    assert found["line"] == f"{neighbour}:1"


def test_lines_are_numbered_once() -> None:
    numbers = {ledger.site() for _ in range(3)}
    assert len(numbers) == 1
    assert ledger.site_line(numbers.pop()).startswith(HERE)


def test_more_lines_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(ledger.site, "__code__"):
        pytest.skip("compiled: the bound is a constant")
    monkeypatch.setattr(ledger, "_MOST_SITES", 0)
    number = eval(compile("site()", "a file that nothing else has", "eval"), {"site": ledger.site})
    assert number > 0
    assert ledger.site_line(number) == ""


FAULTS = {
    "write": (
        "p[n] = 1;",
        r"kernel 'f'.*write of 4 bytes out of bounds: byte offset 400 of argument 'p'",
    ),
    "read": (
        "p[0] = p[-1];",
        r"kernel 'f'.*read of 4 bytes out of bounds: byte offset -4 of argument 'p'",
    ),
    "null": ("*(float*)0 = 1;", r"kernel 'f'.*null pointer"),
    "trap": ("__trap();", r"kernel 'f'.*__trap"),
    "assert": ("assert(n < 0);", r"kernel 'f'.*assertion failed"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_kernels_fault_on_sim(name: str) -> None:
    body, text = FAULTS[name]
    source = f"#include <assert.h>\n__global__ void f(float* p, int n) {{ {body} }}"
    with xp.default_device("sim"):
        kernel = xp.SourceModule(source).get_function("f")
        x, other = xp.zeros(100, dtype=xp.float32), xp.ones(3)
        xp.evaluate(other)
        for _ in range(2):
            with pytest.raises(xp.KernelError, match=text) as caught:
                kernel(x, np.int32(100), block=(1,))
            (note,) = caught.value.__notes__
            assert note.startswith(f"The operation was made at {HERE}:")
        np.testing.assert_array_equal(np.asarray(other + 1), np.full(3, 2.0))
        np.testing.assert_array_equal(np.asarray(x), np.zeros(100))


PROGRAM = """
import numpy as np, lazyarr as xp
x = xp.asarray(np.arange(10.0))
bad = xp.astype(xp.arange(3), xp.int64) * 5
picked = x[bad]  # here
later = picked + 1
print(np.asarray(later))  # or here
"""


@pytest.mark.parametrize("eager", ["0", "1"])
def test_eager_puts_an_error_at_its_line(device: str, eager: str, tmp_path: Any) -> None:
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    environment = {
        **os.environ, "LAZYARR_EAGER": eager, "LAZYARR_DEVICE": device,
        "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(xp.__file__))),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 1
    frames = [line for line in done.stderr.splitlines() if f'File "{path}"' in line]
    at_once = eager == "1" or device == "cpu"
    assert frames[-1].endswith(f"line {5 if at_once else 7}, in <module>"), done.stderr
    tail = done.stderr.splitlines()[-2:]
    assert tail == [
        "IndexError: index 10 is out of bounds for axis 0 with size 10",
        f"The operation was made at {path}:5",
    ]
