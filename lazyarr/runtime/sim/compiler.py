"""Finds the system's C++ compiler and turns prepared CUDA C into the bytes of a shared library.

Owns the compiler's flags and the text of ``CompileError``. Imports ``_config``, ``base``,
``source``.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lazyarr import _config

from ..base import CompileError, DeviceUnavailableError
from . import source as source_module

_CANDIDATES = ("g++", "clang++", "c++")
_HEADERS = ("machine.h", "cuda_sim.h", "cuda_math.h")
_SUPPORTED = ("x86_64", "aarch64")
_FILE = "kernel.cu"
MAX_FRAME = 128 * 1024

# No contraction, no fast math, wrapping integers and free aliasing: what the generated code and
# CUDA's users expect. The rest keeps the library small and its build quick. Line numbers go by
# DWARF 4: in version 5 the first file is standard input, whatever #line says.
_COMMON = (
    "-std=c++17", "-fPIC", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing",
    "-fno-math-errno", "-fno-delete-null-pointer-checks", "-fvisibility=hidden",
    "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics",
    "-fno-asynchronous-unwind-tables", "-fno-stack-protector",
    "-U_FORTIFY_SOURCE", "-pipe", "-g1", "-gdwarf-4",
)  # fmt: skip
# Calls before every access, which machine.cpp answers; padding around the module's own variables,
# so that an overrun of one is not the start of the next; none around locals.
_CHECKS = "-fsanitize=kernel-address,alignment,integer-divide-by-zero,bounds"
_GCC_CHECKS = (
    _CHECKS,
    "--param", "asan-instrumentation-with-call-threshold=0",
    "--param", "asan-stack=0",
    "--param", "asan-globals=1",
)  # fmt: skip
_CLANG_CHECKS = (
    _CHECKS,
    "-mllvm", "-asan-instrumentation-with-call-threshold=0",
    "-mllvm", "-asan-stack=0",
    "-mllvm", "-asan-globals=1",
)  # fmt: skip
_LINK = ("-shared", "-nostdlib", "-Wl,-z,defs")
_LIBRARIES = ("-lm", "-lc", "-lgcc")


class Compiler(NamedTuple):
    """A C++ compiler: how to call it, and what identifies it in cache keys."""

    command: tuple[str, ...]
    identity: str
    clang: bool


def find_compiler() -> Compiler:
    """Return the compiler to use: ``LAZYARR_CXX``, or the first of g++, clang++, c++.

    Raises
    ------
    DeviceUnavailableError
        If there is none, or the platform is not supported.
    """
    if platform.system() != "Linux" or platform.machine() not in _SUPPORTED:
        raise DeviceUnavailableError(
            f"the sim device runs on Linux on {' and '.join(_SUPPORTED)}, not on "
            f"{platform.system()} {platform.machine()}; use device='cpu'"
        )
    wanted = _config.config.cxx
    commands = [tuple(shlex.split(wanted))] if wanted else [(name,) for name in _CANDIDATES]
    for command in commands:
        path = shutil.which(command[0]) if command else None
        if path:
            return _describe((path, *command[1:]))
    named = f"LAZYARR_CXX={wanted!r} names no program" if wanted else "no C++ compiler was found"
    raise DeviceUnavailableError(
        f"the sim device compiles kernels with the system's C++ compiler, and {named}; install g++ "
        "(Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; conda: conda install gxx) "
        "or clang++, or set LAZYARR_CXX to one, or use device='cpu'"
    )


def _describe(command: tuple[str, ...]) -> Compiler:
    # The file's size and time stand for the version: asking for it would start a process, also
    # where everything is in the cache.
    real = os.path.realpath(command[0])
    status = os.stat(real)
    identity = f"{' '.join(command)} {real} {status.st_size} {status.st_mtime_ns}"
    return Compiler(command, identity, "clang" in " ".join((*command, real)))


def describe_compiler() -> str:
    """Return the compiler's path, or raise ``DeviceUnavailableError`` as ``find_compiler`` does."""
    return " ".join(find_compiler().command)


_INCLUDE = Path(__file__).resolve().parent / "include"


@functools.cache
def _package_text(name: str) -> str:
    return (_INCLUDE / name).read_text(encoding="utf-8")


@functools.cache
def _prefix() -> str:
    return "".join(f'#line 1 "{name}"\n{_package_text(name)}' for name in _HEADERS)


@functools.cache
def _digest() -> str:
    text = _prefix() + _package_text("machine.cpp") + repr((_COMMON, _GCC_CHECKS, _CLANG_CHECKS))
    return hashlib.sha256(text.encode()).hexdigest()


def cache_key(compiler: Compiler, source: str, options: Sequence[str]) -> bytes:
    """Return the key of a module: all that its bytes depend on."""
    parts = ("sim", _digest(), compiler.identity, platform.machine(), "\n".join(options), source)
    return "\0".join(parts).encode("utf-8", "surrogateescape")


def accepted_options(options: Sequence[str]) -> list[str]:
    """Return the options that mean something to a C++ compiler; the others are a GPU's matter."""
    kept = []
    words = iter(options)
    for word in words:
        name, equals, value = word.partition("=")
        if name in ("--define-macro", "--undefine-macro", "--include-path"):
            flag = {"-": "-D", "d": "-D", "u": "-U", "i": "-I"}[name[2]]
            kept.append(flag + (value if equals else next(words, "")))
        elif word in ("-D", "-U", "-I"):
            kept.append(word + next(words, ""))
        elif word[:2] in ("-D", "-U", "-I"):
            kept.append(word)
        elif name in ("-std", "--std") and value in ("c++17", "c++20", "c++23"):
            kept.append(f"-std={value}")
    return kept


def build_machine(compiler: Compiler) -> bytes:
    """Return the object file of the machine that every module is linked with."""
    text = f'#line 1 "machine.h"\n{_package_text("machine.h")}'
    text += f'#line 1 "machine.cpp"\n{_package_text("machine.cpp")}'
    with tempfile.TemporaryDirectory(prefix="lazyarr-sim-") as directory:
        output = os.path.join(directory, "machine.o")
        _call(
            compiler,
            [*_COMMON, "-O2", "-D__SIM_MACHINE", "-c", "-x", "c++", "-", "-o", output],
            text,
            "",
        )
        return _read(output)


def machine_key(compiler: Compiler) -> bytes:
    """Return the cache key of ``build_machine``."""
    return cache_key(compiler, "machine", ())


def build(compiler: Compiler, source: str, options: Sequence[str], machine: bytes) -> bytes:
    """Return the bytes of the shared library made of ``source``.

    Raises
    ------
    CompileError
        With the compiler's message, the line number in ``source`` and that line's text.
    """
    prepared = source_module.prepare(source)
    flags = accepted_options(options)
    expanded = prepared.text
    if prepared.needs_preprocessing:
        defined = [f"-D{name}" for name in ("__CUDACC__=1", "__CUDA_ARCH__=700", "LAZYARR_SIM=1")]
        text = f'#line 1 "{_FILE}"\n{prepared.text}'
        command = [*_COMMON, *flags, *defined, "-E", "-P", "-x", "c++", "-"]
        expanded = _call(compiler, command, text, source)
    kernels = source_module.kernels(expanded)
    entries = "".join(f'__SIM_KERNEL("{name}", {full})' for name, full in kernels.items())
    text = (
        f'{_prefix()}#line 1 "{_FILE}"\n{prepared.text}\n#line 1 "kernel table"\n'
        f"extern const __sim_kernel __sim_kernels[] = {{{entries} {{0, 0, 0}}}};\n"
        f'extern "C" __attribute__((visibility("default"))) const char lazyarr_sim_shared[] = '
        f'"{" ".join(sorted(prepared.shared))}";\n'
    )
    with tempfile.TemporaryDirectory(prefix="lazyarr-sim-") as directory:
        output = os.path.join(directory, "kernel.so")
        object_file = os.path.join(directory, "machine.o")
        with open(object_file, "wb") as file:
            file.write(machine)
        checks = _CLANG_CHECKS if compiler.clang else _GCC_CHECKS
        command = [*_COMMON, *checks, f"-Werror=frame-larger-than={MAX_FRAME}", "-O1", *flags]
        command += [*_LINK, "-x", "c++", "-", "-x", "none", object_file, *_LIBRARIES, "-o", output]
        _call(compiler, command, text, source)
        return _read(output)


def find_line(library: str, address: int) -> int:
    """Return the line of the kernel source that an instruction comes from, or 0 if unknown."""
    try:
        # -i lists the functions inlined there too: the innermost may be the simulator's own.
        done = subprocess.run(
            ["addr2line", "-i", "-e", library, hex(address)],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(rf"{re.escape(_FILE)}:(\d+)", done.stdout)
    return int(found.group(1)) if found else 0


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _call(compiler: Compiler, arguments: list[str], text: str, source: str) -> str:
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            [*compiler.command, *arguments],
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            env=environment,
            check=False,
        )
    except OSError as error:
        raise CompileError(f"the C++ compiler did not start: {error}") from error
    if done.returncode:
        raise CompileError(_explain(done.stderr, source))
    return done.stdout


def _explain(log: str, source: str) -> str:
    """Return the compiler's log with places as the user knows them, and the lines they name."""
    lines = source.split("\n")
    shown: list[str] = []
    for text in log.splitlines():
        found = re.match(rf"{re.escape(_FILE)}:(\d+):(?:\d+:)? (.*)", text)
        if ": warning: " in text or "[-W" in text and "error" not in text:
            continue
        if not found:
            shown.append(text)
            continue
        number = int(found.group(1))
        shown.append(f"line {number}: {found.group(2)}")
        if 0 < number <= len(lines):
            shown.append(f"    {lines[number - 1].strip()}")
    relevant = [text for text in shown if re.search(r"error|undefined|line \d+|^    ", text, re.I)]
    return "the kernel source does not compile:\n" + "\n".join(relevant or shown)
