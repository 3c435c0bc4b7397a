"""Other processes, for tests: a new interpreter, or a fork of this one."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import lazyarr as xp

ROOT = Path(xp.__file__).parents[1]
# CPython 3.12 warns of every fork beside threads, those of NumPy's libraries included.
FORK_WARNING = "ignore:This process (pid:DeprecationWarning"


def python(
    body: str, *, first: str = "import lazyarr as xp", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program in a new interpreter that finds the lazyarr under test."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environ = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": FORK_WARNING, **environment}
    return subprocess.run(
        [sys.executable, "-c", f"{first}\n{body}"],
        capture_output=True,
        text=True,
        timeout=300,
        env=environ,
        check=False,
    )


def silent(body: str, *, code: int = 0, first: str = "import lazyarr as xp", **env: str) -> str:
    """Run a program that must end with an exit code and say nothing on stderr; return its output.

    A segmentation fault, an abort and an "Exception ignored in" show in one of the two.
    """
    done = python(body, first=first, **env)
    assert (done.returncode, done.stderr) == (code, ""), (body, done)
    return done.stdout


def forked(work: Callable[[], bool | None]) -> int:
    """Fork, and return the process id of the child, which exits with 0 unless ``work`` fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    code = 1
    try:
        code = 0 if work() in (True, None) else 2
    finally:
        os._exit(code)


def exit_code(child: int) -> int:
    """Wait for a child of ``forked``."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
