"""Compiles the host path when a wheel is built.

The modules below are plain Python and run as such from a checkout; in a wheel mypyc makes them an
extension, which halves the time an operation takes on the host. Without a C compiler (or with
``LAZYARR_PURE=1``) the wheel holds them as Python: slower, and the same otherwise.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILED = (
    "lazyarr/_array.py",
    "lazyarr/_arguments.py",
    "lazyarr/_promotion.py",
    "lazyarr/codegen/launch.py",
    "lazyarr/graph/capture.py",
    "lazyarr/graph/evaluate.py",
    "lazyarr/graph/fuse.py",
    "lazyarr/graph/kernels.py",
    "lazyarr/graph/node.py",
    "lazyarr/graph/passes.py",
    "lazyarr/graph/views.py",
    "lazyarr/graph/write.py",
    "lazyarr/ledger.py",
    "lazyarr/runtime/cuda_objects.py",
    "lazyarr/runtime/pycuda_backend.py",
    "lazyarr/storage/storage.py",
)


class HostPathHook(BuildHookInterface[Any]):
    """Adds the extension modules to a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        if os.environ.get("LAZYARR_PURE") == "1":
            return
        folder = Path(tempfile.mkdtemp(prefix="lazyarr-build-"))
        try:
            built = _compile(Path(self.root), folder)
        except (Exception, SystemExit) as error:  # any failure leaves a working wheel
            self.app.display_warning(f"the host path stays uncompiled: {error}")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for path in built:
            build_data["force_include"][str(path)] = str(path.relative_to(folder / "lib"))


def _compile(root: Path, folder: Path) -> list[Path]:
    """Compile with mypyc into ``folder`` and return the extension modules."""
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    before = Path.cwd()
    os.chdir(root)
    try:
        # Without NumPy's stubs, which change from release to release: its types count as Any here.
        # That the types are right is for the checkout's own mypy run to say.
        config = folder / "mypy.ini"
        config.write_text("[mypy]\nignore_errors = True\nignore_missing_imports = True\n")
        options = ["--no-site-packages", f"--config-file={config}"]
        options.append(f"--cache-dir={folder / 'mypy'}")
        extensions = mypycify(
            [*options, *COMPILED], opt_level="3", debug_level="0", target_dir=str(folder / "c")
        )
        distribution = Distribution({"name": "lazyarr", "ext_modules": extensions})
        command = build_ext(distribution)
        command.build_lib = str(folder / "lib")
        command.build_temp = str(folder / "temp")
        command.ensure_finalized()
        command.run()
    finally:
        os.chdir(before)
    return sorted((folder / "lib").rglob("*.so")) + sorted((folder / "lib").rglob("*.pyd"))
