"""One run of the suite in a process of its own, and its result as plain data."""

from __future__ import annotations

import datetime
import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from conformance.suite import STANDARD, Suite, SuiteError

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("lazyarr", "numpy", "array-api-compat", "hypothesis", "pytest")
OUTCOMES = {
    "passed": "passed",
    "failed": "failed",
    "error": "errors",
    "skipped": "skipped",
    "xfailed": "xfailed",
    "xpassed": "xpassed",
}
NEEDED = {"ndindex": "ndindex", "hypothesis": "hypothesis", "pytest_jsonreport": "json-report"}


class Options(NamedTuple):
    """What the command line chooses."""

    device: str
    module: str
    max_examples: int
    keyword: str | None
    workers: int
    derandomize: bool


def run(suite: Suite, options: Options) -> dict[str, Any]:
    """Run the suite and return its result, ready for JSON."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise SuiteError(f"not installed: {', '.join(missing)}; pip install '.[conformance]'")
    with tempfile.TemporaryDirectory(prefix="lazyarr-conformance-") as directory:
        report_path = Path(directory) / "report.json"
        start = time.monotonic()
        code = subprocess.run(
            _command(options, report_path), cwd=suite.path, env=_environment(options, directory)
        ).returncode
        seconds = time.monotonic() - start
        if not report_path.exists():
            raise SuiteError(f"pytest ended with status {code} and left no report")
        report = json.loads(report_path.read_text(encoding="utf-8"))
    return {
        "device": options.device,
        "module": options.module,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "standard": STANDARD,
        "suite_commit": suite.commit,
        "spec_commit": suite.spec_commit,
        "max_examples": options.max_examples,
        "keyword": options.keyword,
        "seconds": round(seconds, 1),
        "pytest_status": code,
        "versions": _versions(options.module),
        "hardware": _hardware(options),
        **_summarise(report),
    }


def _command(options: Options, report: Path) -> list[str]:
    command = [sys.executable, "-m", "pytest", "array_api_tests", "-q", "--tb=short"]
    command += ["-p", "no:cacheprovider", "--disable-deadline"]
    command += ["--json-report", f"--json-report-file={report}"]
    command += ["--json-report-omit", "log", "streams", "keywords", "traceback", "warnings"]
    command += [f"--max-examples={options.max_examples}"]
    if options.derandomize:
        command.append("--derandomize")
    if options.keyword:
        command += ["-k", options.keyword]
    if options.workers > 1:
        command += ["-n", str(options.workers)]
    return command


def _environment(options: Options, scratch: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": options.module,
        "ARRAY_API_TESTS_VERSION": STANDARD,
        "HYPOTHESIS_STORAGE_DIRECTORY": scratch,
        "LAZYARR_DEVICE": options.device,
        "PYTHONPATH": path,
    }


def _versions(module: str) -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in dict.fromkeys([module.replace("_", "-"), *PACKAGES]):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _hardware(options: Options) -> str:
    """Describe what the tests ran on; a GPU by the words that lazyarr has for it."""
    if options.module == "lazyarr":
        from lazyarr.runtime import select

        for name, available, detail in select.survey():
            if available and name.split(":")[0] == options.device.split(":")[0]:
                return str(detail)
    return f"{platform.machine()} {platform.system()}"


def _summarise(report: dict[str, Any]) -> dict[str, Any]:
    chapters: dict[str, dict[str, int]] = {}
    failed = []
    broken = [c for c in report.get("collectors", []) if c["outcome"] == "failed"]
    cases = report.get("tests", []) + [{**c, "outcome": "error"} for c in broken]
    for case in cases:
        outcome = OUTCOMES[case["outcome"]]
        chapter = chapters.setdefault(_chapter(case["nodeid"]), dict.fromkeys(OUTCOMES.values(), 0))
        chapter[outcome] += 1
        if outcome in ("failed", "errors"):
            failed.append({"id": case["nodeid"], "outcome": outcome, "message": _message(case)})
    totals = {key: sum(chapter[key] for chapter in chapters.values()) for key in OUTCOMES.values()}
    return {
        "totals": totals,
        "chapters": dict(sorted(chapters.items())),
        "failed": sorted(failed, key=lambda item: item["id"]),
    }


def _chapter(nodeid: str) -> str:
    return Path(nodeid.split("::")[0]).stem.removeprefix("test_")


def _message(case: dict[str, Any]) -> str:
    """Return the first line of what went wrong, cut to a readable length."""
    for phase in ("setup", "call", "teardown"):
        crash = case.get(phase, {}).get("crash")
        if crash:
            lines = [line for line in crash["message"].splitlines() if line.strip()]
            return lines[0][:160] if lines else ""
    return str(case.get("longrepr", "")).strip().rpartition("\n")[2][:160]
