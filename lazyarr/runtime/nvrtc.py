"""CUDA C to a binary: NVRTC through ``cuda.bindings``, or ``nvcc``.

NVRTC compiles all but what includes headers that it cannot have; ``nvcc``, if there is one, gets
those.

Owns the compiler options and the text of compile errors. Imports ``_config`` and its neighbours;
``cuda.bindings`` at the first compilation only, so that a binary taken from the cache costs neither
its import nor the loading of the compiler; ``load_ahead`` does both in a thread, where one is sure
to come. Needs no GPU and no driver.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from typing import Any

from lazyarr import _config
from lazyarr.runtime.base import CompileError, DeviceUnavailableError
from lazyarr.runtime.headers import HEADERS

# Part of every key of the disk cache: raise it when the same inputs come to mean another binary.
FORMAT_VERSION = 2

_NAME = "kernel.cu"
# Results must not depend on which operations the compiler fuses (see "Laziness" in the README).
_NUMERICS = ("--fmad=false", "--std=c++17")
_NVRTC_ONLY = ("-default-device",)
# The folder that an installer leaves beside a package: its name holds the version.
_INSTALLED = re.compile(r"(nvidia_cuda_nvrtc(?:_cu\d+)?-[^-]+)\.dist-info")
_TRIVIAL = 'extern "C" __global__ void k() {}'  # takes the compiler's pages from the disk
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[ \t]*(?:[<\"]([^>\"\n]+)[>\"])?", re.MULTILINE)
_MISSING_FILE = re.compile(r"(?:could not|cannot) open source file \"([^\"]+)\"")
_INCLUDE_OPTIONS = ("-I", "--include-path", "-include", "--pre-include", "-isystem")
_DIAGNOSTIC = re.compile(r"^(.+?)\((\d+)\): ((?:catastrophic |internal )?error\b.*)$")
_LINE_DIRECTIVE = re.compile(r'^\s*#\s*(?:line\s+)?(\d+)(?:\s+"([^"]*)")?')


_loader: threading.Thread | None = None


def load_ahead() -> None:
    """Load the compiler in a thread, and make it ready, while the caller does something else.

    What goes wrong is not reported: the first compilation meets it again.
    """
    global _loader
    if _config.config.compiler == "nvcc" or _loader is not None:
        return

    def work() -> None:
        with contextlib.suppress(Exception):
            nvrtc, _, supported = _load()
            _compile_nvrtc(nvrtc, _TRIVIAL, f"sm_{max(supported)}", ())

    _loader = threading.Thread(target=work, name="lazyarr-nvrtc")
    _loader.start()


def compile_cubin(source: str, arch: str, options: Sequence[str] = ()) -> bytes:
    """Return the binary of ``source`` for ``arch`` ("sm_90"): a cubin.

    For a GPU newer than the compiler it is PTX, which the driver finishes. Raises ``CompileError``
    that shows each error's line, and ``DeviceUnavailableError`` where there is no compiler.
    """
    if _config.config.compiler == "nvcc":
        return _compile_nvcc(source, arch, options)
    if _loader is not None:
        _loader.join()
    try:
        nvrtc, _, supported = _load()
    except (ImportError, RuntimeError) as error:
        if _nvcc() is not None:
            return _compile_nvcc(source, arch, options)
        raise DeviceUnavailableError(
            f"no CUDA compiler: NVRTC could not be loaded ({error}), and nvcc is not on the PATH. "
            "Install cuda-bindings and nvidia-cuda-nvrtc (pip install 'lazyarr[cuda13]')"
        ) from error
    try:
        return _compile_nvrtc(nvrtc, source, _architecture(arch, supported), options)
    except CompileError as error:
        missing = _MISSING_FILE.search(str(error))
        if missing is None:
            raise
        if _nvcc() is None:
            raise CompileError(f"{error}\n{_no_header(missing.group(1))}") from None
        return _compile_nvcc(source, arch, options)


def compiler_identity() -> str:
    """Return what tells this compiler's binaries from another's. Loads no compiler if it can."""
    if _config.config.compiler == "nvcc":
        return _nvcc_identity()
    return _nvrtc_identity()


def is_cacheable(source: str, options: Sequence[str]) -> bool:
    """Whether source and options say all that the binary is made of: not if it includes files."""
    return not any(option.startswith(_INCLUDE_OPTIONS) for option in options) and not (
        _includes_files(source)
    )


def _includes_files(source: str) -> bool:
    """Whether the source includes more than the headers that come with lazyarr."""
    if "include" not in source:
        return False
    return any(found.group(1) not in HEADERS for found in _INCLUDE.finditer(source))


@functools.cache
def _load() -> tuple[Any, str, tuple[int, ...]]:
    """Return the bindings, NVRTC's version and the architectures it knows."""
    from cuda.bindings import nvrtc

    major, minor = _checked(nvrtc, nvrtc.nvrtcVersion())
    (supported,) = _checked(nvrtc, nvrtc.nvrtcGetSupportedArchs())
    return nvrtc, f"{major}.{minor}", tuple(supported)


def _checked(nvrtc: Any, result: tuple[Any, ...]) -> tuple[Any, ...]:
    status, *values = result
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"NVRTC failed: {status.name}")
    return tuple(values)


@functools.cache
def _nvrtc_identity() -> str:
    # ``importlib.metadata`` reads the same names, and takes ten times as long: most of the time
    # that the first kernel from the cache takes.
    found = []
    for folder in sys.path:
        with contextlib.suppress(OSError):
            names = map(_INSTALLED.fullmatch, os.listdir(folder or "."))
            found += sorted(name.group(1) for name in names if name)
    if found:
        return " ".join(["nvrtc", *found])
    try:
        return f"nvrtc {_load()[1]}"
    except (ImportError, RuntimeError):
        return _nvcc_identity()


def _nvcc() -> str | None:
    home = _config.config.cuda_home
    return shutil.which("nvcc") or (
        shutil.which("nvcc", path=os.path.join(home, "bin")) if home else None
    )


def _nvcc_identity() -> str:
    path = _nvcc()
    if path is None:
        return "nvcc"
    real = os.path.realpath(path)
    status = os.stat(real)
    return f"nvcc {real} {status.st_size} {status.st_mtime_ns}"


def _architecture(arch: str, supported: tuple[int, ...]) -> str:
    """Return ``arch``, or the newest virtual architecture if the compiler is older than the GPU."""
    number = re.fullmatch(r"sm_(\d+)[a-z]?", arch)
    if number is None or not supported or int(number.group(1)) in supported:
        return arch
    older = [known for known in supported if known < int(number.group(1))]
    if not older:
        raise CompileError(
            f"{arch} is too old for NVRTC {_load()[1]}, which compiles for sm_{min(supported)} "
            "and newer: install an older CUDA release"
        )
    return f"compute_{max(older)}"


def _merge(defaults: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return defaults and options. A default that ``options`` also set is left out."""

    def key(option: str) -> str:
        return option.lstrip("-").split("=")[0]

    given = {key(option) for option in options}
    return [default for default in defaults if key(default) not in given] + list(options)


@functools.cache
def _toolkit_includes(cuda_home: str | None) -> tuple[str, ...]:
    """Return the options that find the toolkit's headers (``cuda_fp16.h``), which NVRTC lacks."""
    roots = [cuda_home] if cuda_home else []
    if nvcc := _nvcc():
        roots.append(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))))
    with contextlib.suppress(ImportError):
        for path in importlib.import_module("nvidia").__path__:
            roots += [os.path.join(path, name) for name in ("cu13", "cuda_runtime")]
    for root in roots:
        include = os.path.join(root, "include")
        if os.path.exists(os.path.join(include, "cuda_fp16.h")):
            return (f"-I{include}", f"-I{os.path.join(include, 'cccl')}")
    return ()


@functools.cache
def _builtin_headers() -> tuple[list[bytes], list[bytes]]:
    """Return the names and texts of the headers that are given to NVRTC."""
    return [name.encode() for name in HEADERS], [text.encode() for text in HEADERS.values()]


def _no_header(name: str) -> str:
    return (
        f"NVRTC compiles without the system's headers. lazyarr provides {', '.join(HEADERS)}; for "
        f"{name!r} install nvcc, set CUDA_HOME to a CUDA toolkit, or pass options=['-Ifolder']"
    )


def _compile_nvrtc(nvrtc: Any, source: str, arch: str, options: Sequence[str]) -> bytes:
    words = [f"--gpu-architecture={arch}", *_merge(_NUMERICS + _NVRTC_ONLY, options)]
    if _includes_files(source):
        words += _toolkit_includes(_config.config.cuda_home)
    encoded = [word.encode() for word in words]
    names, texts = _builtin_headers() if "include" in source else ([], [])
    (program,) = _checked(
        nvrtc,
        nvrtc.nvrtcCreateProgram(source.encode(), _NAME.encode(), len(names), texts, names),
    )
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            (size,) = _checked(nvrtc, nvrtc.nvrtcGetProgramLogSize(program))
            log = bytearray(size)
            _checked(nvrtc, nvrtc.nvrtcGetProgramLog(program, log))
            text = log.decode(errors="replace").rstrip(" \n\0") or status.name
            raise CompileError(explain(source, text, f"NVRTC {_load()[1]}, {arch}"))
        if arch.startswith("compute_"):
            size_of, get = nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX
        else:
            size_of, get = nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN
        (size,) = _checked(nvrtc, size_of(program))
        binary = bytearray(size)
        _checked(nvrtc, get(program, binary))
        return bytes(binary)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _compile_nvcc(source: str, arch: str, options: Sequence[str]) -> bytes:
    nvcc = _nvcc()
    if nvcc is None:
        raise DeviceUnavailableError("LAZYARR_COMPILER=nvcc, but nvcc is not on the PATH")
    with tempfile.TemporaryDirectory(prefix="lazyarr-") as directory:
        path = os.path.join(directory, _NAME)
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        command = [nvcc, "--cubin", f"-arch={arch}", *_merge(_NUMERICS, options)]
        command += ["-o", "kernel.cubin", _NAME]
        run = subprocess.run(command, cwd=directory, capture_output=True, check=False)
        log = (run.stderr + run.stdout).decode(errors="replace").strip()
        if run.returncode != 0:
            raise CompileError(explain(source, log, f"nvcc, {arch}"))
        with open(os.path.join(directory, "kernel.cubin"), "rb") as file:
            return file.read()


def _source_lines(source: str) -> dict[tuple[str, int], str]:
    """Return the source's lines by the file and number a compiler reports, after ``#line``."""
    lines: dict[tuple[str, int], str] = {}
    name = _NAME
    number = 1
    for text in source.split("\n"):
        directive = _LINE_DIRECTIVE.match(text)
        if directive:
            number = int(directive.group(1))
            name = directive.group(2) or name
            continue
        lines.setdefault((name, number), text)
        number += 1
    return lines


def explain(source: str, log: str, compiler: str) -> str:
    """Return the text of a ``CompileError``: each error with its line, then the compiler's log."""
    lines = _source_lines(source)
    shown = []
    for entry in log.splitlines():
        found = _DIAGNOSTIC.match(entry)
        if not found:
            continue
        name, number, message = found.group(1), int(found.group(2)), found.group(3)
        where = f"line {number}" if name == _NAME else f"{name}, line {number}"
        shown.append(f"{where}: {message}")
        text = lines.get((name, number))
        if text is not None:
            shown.append(f"    {text.strip()}")
    return "\n".join([f"the CUDA C source does not compile ({compiler})", *shown, "Log:", log])
