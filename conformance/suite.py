"""A checkout of array-api-tests at the pinned commit, with the standard's text as its submodule."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

SUITE_URL = "https://github.com/data-apis/array-api-tests"
SUITE_COMMIT = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"  # 2026-04-03
SPEC_COMMIT = "5f847a3858875c682ae901aa22b0413bf24be9da"  # its submodule ``array-api``
STANDARD = "2025.12"


class SuiteError(RuntimeError):
    """No usable checkout of the suite; the text says what to do."""


class Suite(NamedTuple):
    """A checkout, and what it was found to hold."""

    path: Path
    commit: str
    spec_commit: str

    def deviations(self) -> list[str]:
        """Say in what this checkout differs from the pinned one."""
        pairs = [
            ("array-api-tests", self.commit, SUITE_COMMIT),
            ("array-api", self.spec_commit, SPEC_COMMIT),
        ]
        return [f"{name} is at {got}, not {pin}" for name, got, pin in pairs if got != pin]


def find(given: Path | None) -> Suite:
    """Return the given checkout, or one in the cache directory that is cloned if need be."""
    path = given.resolve() if given is not None else _cached()
    spec = path / "array-api"
    if not (path / "array_api_tests").is_dir():
        raise SuiteError(f"{path} is not a checkout of {SUITE_URL}")
    if not (spec / "spec").is_dir():
        raise SuiteError(
            f"{spec} is empty: run 'git submodule update --init array-api' in {path}, "
            f"or put a checkout of array-api there"
        )
    return Suite(path, _commit(path), _commit(spec))


def _cached() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(base) / "lazyarr" / f"array-api-tests-{SUITE_COMMIT[:12]}"
    try:
        if not (path / ".git").exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            _git("clone", "--quiet", SUITE_URL, str(path))
        if _commit(path) != SUITE_COMMIT:
            _git("-C", str(path), "checkout", "--quiet", SUITE_COMMIT)
        _git("-C", str(path), "submodule", "--quiet", "update", "--init", "array-api")
    except SuiteError as error:
        raise SuiteError(
            f"{error}\nWithout a network, give a checkout of {SUITE_URL} at {SUITE_COMMIT} "
            f"with its submodule array-api: --suite PATH"
        ) from None
    return path


def _commit(path: Path) -> str:
    return _git("-C", str(path), "rev-parse", "HEAD")


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise SuiteError("git is not installed") from None
    except subprocess.CalledProcessError as error:
        raise SuiteError(f"{' '.join(command)}: {error.stderr.strip()}") from None
    return done.stdout.strip()
