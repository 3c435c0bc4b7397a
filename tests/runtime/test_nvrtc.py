"""Compiling CUDA C: architectures, flags, the text of errors. Needs NVRTC, but no GPU."""

from __future__ import annotations

import contextlib
import importlib.metadata
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lazyarr import _config
from lazyarr._kernel_files import kernel_text
from lazyarr.runtime import nvrtc
from lazyarr.runtime.base import CompileError
from lazyarr.runtime.cuda_solver import determinant_source
from lazyarr.runtime.headers import HEADERS
from lazyarr.runtime.names import kernel_names


def has_nvrtc() -> bool:
    try:
        nvrtc._load()
    except (ImportError, RuntimeError):
        return False
    return True


needs_nvrtc = pytest.mark.skipif(not has_nvrtc(), reason="NVRTC is not installed")
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on the PATH")

ADD = 'extern "C" __global__ void f(float* p, float a, float b) { p[0] = p[1] * a + b; }'
# What backends launch themselves, beside library calls: by name, in every form.
RUNTIME_KERNELS = {
    "lz_determinant": [determinant_source(np.dtype(code)) for code in "fdFD"],
    "lz_pointers": [kernel_text("pointers.cuh")],
}
BROKEN = 'extern "C" __global__ void f(float* p){\n  p[0] = undeclared;\n}'


@pytest.fixture(params=["nvrtc", pytest.param("nvcc", marks=needs_nvcc)])
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(_config, "config", replace(_config.config, compiler=request.param))
    yield request.param


_AHEAD = """
import sys, threading
from lazyarr.runtime import nvrtc
assert "cuda.bindings.nvrtc" not in sys.modules
nvrtc.load_ahead()
nvrtc.load_ahead()
assert [t.name for t in threading.enumerate()].count("lazyarr-nvrtc") <= 1
binary = nvrtc.compile_cubin('extern "C" __global__ void f() {}', "sm_90")
print(binary[:4], nvrtc._loader.is_alive())
"""


@needs_nvrtc
def test_the_compiler_is_loaded_ahead_in_a_thread() -> None:
    for text, printed in ((_AHEAD, "b'\\x7fELF' False\n"), (_AHEAD.rsplit("binary =", 1)[0], "")):
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_a_cubin_for_each_architecture(compiler: str, arch: str) -> None:
    binary = nvrtc.compile_cubin(ADD, arch)
    assert binary.startswith(b"\x7fELF")
    assert b".text.f\0" in binary


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_the_kernels_of_the_runtime(arch: str) -> None:
    for name, texts in RUNTIME_KERNELS.items():
        for text in texts:
            assert f".text.{name}\0".encode() in nvrtc.compile_cubin(text, arch)


@needs_nvrtc
def test_an_error_shows_line_and_text(compiler: str) -> None:
    with pytest.raises(CompileError) as caught:
        nvrtc.compile_cubin(BROKEN, "sm_90")
    text = str(caught.value)
    assert 'line 2: error: identifier "undeclared" is undefined\n    p[0] = undeclared;' in text
    assert "/tmp" not in text


@needs_nvrtc
def test_an_error_after_a_prelude_has_the_users_line(compiler: str) -> None:
    source = '#define N 1\n\n\n#line 1 "mine.cu"\n' + BROKEN
    with pytest.raises(CompileError) as caught:
        nvrtc.compile_cubin(source, "sm_90")
    assert "mine.cu, line 2: error" in str(caught.value)
    assert "\n    p[0] = undeclared;" in str(caught.value)


@needs_nvrtc
def test_products_and_sums_are_not_contracted() -> None:
    ptx = nvrtc.compile_cubin(ADD, "sm_999")  # a GPU newer than the compiler: PTX
    assert b".version" in ptx
    assert b"fma.rn" not in ptx
    assert b"fma.rn" in nvrtc.compile_cubin(ADD, "sm_999", ["--fmad=true"])


@needs_nvrtc
def test_functions_are_for_the_device_by_default() -> None:
    source = 'float g() { return 1; }\nextern "C" __global__ void f(float* p) { p[0] = g(); }'
    assert nvrtc.compile_cubin(source, "sm_90")


@needs_nvrtc
def test_an_old_architecture_is_refused_by_name() -> None:
    with pytest.raises(CompileError, match=r"sm_30 is too old"):
        nvrtc.compile_cubin(ADD, "sm_30")


@needs_nvrtc
def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(CompileError, match="no-such-option"):
        nvrtc.compile_cubin(ADD, "sm_90", ["--no-such-option"])


def test_what_may_be_cached() -> None:
    assert nvrtc.is_cacheable(ADD, ["-DN=1"])
    assert not nvrtc.is_cacheable(ADD, ["-Ihere"])
    assert not nvrtc.is_cacheable("#include <x.h>\n" + ADD, [])
    assert not nvrtc.is_cacheable(ADD + '\n # include "x.h"', [])
    assert not nvrtc.is_cacheable("#include <math.h>\n#include NAME\n" + ADD, [])
    assert nvrtc.is_cacheable("#include <math.h>\n#include <cstdint>\n" + ADD, [])


USES = """
extern "C" __global__ void f(float* q, double* p, int64_t n, uint8_t* u) {
  q[0] = std::sqrt(q[1]) * (float)M_PI + std::abs(q[2]) + INFINITY + NAN + FLT_MAX;
  p[0] = std::pow(p[0], 2.0) + std::fma(p[1], p[2], p[3]) + HUGE_VAL;
  u[0] = offsetof(float4, y) + std::isnan(q[0]) + UINT8_MAX + sizeof(std::uint64_t);
  static_assert(INT64_MAX + INT64_MIN == -1 && UINT64_MAX == ~0ull && INT_MIN < 0, "");
  static_assert(sizeof(std::size_t) == 8 && sizeof(int32_t) == 4 && INT16_MAX == 32767, "");
  assert(n > 0);
  std::printf("%d", (int)n);
}
"""


@needs_nvrtc
def test_well_known_headers(compiler: str) -> None:
    names = "math.h cmath stdint.h cstdint cstddef float.h climits stdio.h cstdio cassert "
    names += "cuda_runtime.h cstring stdlib.h"
    includes = "".join(f"#include <{name}>\n" for name in names.split())
    assert nvrtc.compile_cubin(includes + USES, "sm_90")
    wrong = '#include <math.h>\n#include "stdio.h"\n' + BROKEN
    with pytest.raises(CompileError, match="line 4"):
        nvrtc.compile_cubin(wrong, "sm_90")


@needs_nvrtc
@pytest.mark.parametrize("name", HEADERS)
def test_every_macro_of_a_header(name: str) -> None:
    macros = re.findall(r"#define (\w+) ", HEADERS[name])
    uses = "".join(f"p[{n}] = (double)({macro});\n" for n, macro in enumerate(macros))
    source = f'#include <{name}>\n#include "{name}"\n__global__ void f(double* p) {{\n{uses}}}'
    assert nvrtc.compile_cubin(source, "sm_90")


@needs_nvrtc
def test_other_headers_need_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "#include <type_traits>\n" + ADD
    if shutil.which("nvcc"):
        assert nvrtc.compile_cubin(source, "sm_90").startswith(b"\x7fELF")
    monkeypatch.setattr(nvrtc, "_nvcc", lambda: None)
    with pytest.raises(CompileError, match="type_traits.*install nvcc"):
        nvrtc.compile_cubin(source, "sm_90")


def test_the_identity_tells_compilers_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    first = nvrtc.compiler_identity()
    monkeypatch.setattr(_config, "config", replace(_config.config, compiler="nvcc"))
    assert nvrtc.compiler_identity() != first


def test_the_identity_names_each_version_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("nvidia_cuda_nvrtc-13.9.1", "nvidia_cuda_nvrtc_cu12-12.9.86", "numpy-2.4.0"):
        (tmp_path / f"{name}.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "missing"), str(tmp_path)])
    identity = nvrtc._nvrtc_identity.__wrapped__()
    assert identity == "nvrtc nvidia_cuda_nvrtc-13.9.1 nvidia_cuda_nvrtc_cu12-12.9.86"


@needs_nvrtc
def test_the_identity_holds_the_version_that_the_installer_knows() -> None:
    known = []
    for name in ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            known.append(importlib.metadata.version(name))
    assert all(version in nvrtc.compiler_identity() for version in known)


def test_import_and_identity_load_no_compiler() -> None:
    code = (
        "import sys; from lazyarr.runtime import nvrtc; nvrtc.compiler_identity(); "
        "assert not [m for m in sys.modules if m.startswith('cuda')], 'loaded'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (ADD, ("f",)),
        ("__global__ void a(int n) {}\nvoid __global__ b() {}", ("a", "b")),
        ("__global__ void __launch_bounds__(sizeof(int) * 4, (2)) a(int n) {}", ("a",)),
        ("template <typename T>\n__global__ static void\n  a\n  (T* p) { g(p); }", ("a",)),
        ("// __global__ void no()\n/* __global__ void no() */ __global__ void a();", ("a",)),
        ("__global__ void a(); __global__ void a() {}", ("a",)),
        ('const char* s = "__global__ void no()"; void h();', ()),
        ("", ()),
    ],
)
def test_kernel_names(source: str, names: tuple[str, ...]) -> None:
    assert kernel_names(source) == names
