"""The result of a run: one line a row while it runs, the table, JSON."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import platform
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.compare import Record

_PEERS = ("cupy", "torch", "jax", "cublas")
_PACKAGES = ("lazyarr", "numpy", "pycuda", "cupy-cuda13x", "torch", "jax")


def line(record: Record) -> str:
    """Return a row as printed while the program runs."""
    ours = record.times["lazyarr"]
    ratios = " ".join(f"{name} {ratio:.2f}" for name, ratio in record.ratios.items())
    missed = f"  MISSED {', '.join(record.missed)}" if record.missed else ""
    return (
        f"{record.name:<32} {record.dtype:<8} 2^{record.elements.bit_length() - 1:<3}"
        f"{ours.best:9.4f} ms {record.share:5.2f} | {ratios}{missed}"
    )


def environment(commit: str) -> dict[str, Any]:
    """Return date, GPU, commit and versions."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    date = datetime.date.today().isoformat()
    return {"date": date, "gpu": _gpu(), "commit": commit, "versions": versions}


def _gpu() -> str:
    """Return the name of the GPU and the driver's version, or ``none``."""
    if shutil.which("nvidia-smi") is None:
        return "none"
    return subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def markdown(result: dict[str, Any]) -> str:
    """Return the table of a result, as ``--out`` writes it."""
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    ceilings = ", ".join(f"{name} {rate:.0f} GB/s" for name, rate in result["ceilings"].items())
    out = [
        f"# Figures of {result['date']}",
        "",
        f"GPU: {result['gpu']}. Commit {result['commit']}. {versions}.",
        "",
        f"The driver's device-to-device copy, read and written: {ceilings}.",
        "",
        "Times are medians of five rounds, in ms of the device (JAX: wall time of queued calls; it "
        "is compared with our wall time). *Share*: of the ceiling, which is the copy's rate for "
        "the same bytes, or (p) a plain hand-written kernel of the same mix. A peer's figure is "
        "its time over ours. *Spread*: (largest - smallest) / median.",
        "",
        "| row | dtype | elements | ms | wall ms | spread | kernels | share | bar | "
        + " | ".join(_PEERS)
        + " | missed |",
        "|---" * (10 + len(_PEERS)) + "|",
    ]
    for row in result["rows"]:
        ours = row["times"]["lazyarr"]
        best = ours["wall"] if ours["device"] is None else ours["device"]
        plain = " (p)" if row["ceiling"] != "copy" else ""
        bar = "" if row["bar"] is None else row["bar"]
        peers = " | ".join(
            f"{row['ratios'][name]:.2f}" if name in row["ratios"] else "" for name in _PEERS
        )
        out.append(
            f"| {row['name']} | {row['dtype']} | 2^{row['elements'].bit_length() - 1} | {best:.4f} "
            f"| {ours['wall']:.4f} | {ours['spread']:.2f} | {row['launches']} "
            f"| {row['share']:.3f}{plain} | {bar} | {peers} | {', '.join(row['missed'])} |"
        )
    out += ["", "## Programs, host time, transfers", "", "| row | figure | against | bar |"]
    out.append("|---|---|---|---|")
    for row in result["programs"]:
        against = ", ".join(f"{name} {value:.3f}" for name, value in row["against"].items())
        out.append(
            f"| {row['name']} | {row['value']:.3f} {row['unit']} | {against} | {row['bar']} |"
        )
    if result["failed"]:
        out += ["", "## Failed", ""] + [f"- {text}" for text in result["failed"]]
    return "\n".join(out) + "\n"


def write(result: dict[str, Any], folder: Path) -> Path:
    """Write table and JSON; return the JSON's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result['date']}.json"
    path.write_text(json.dumps(result) + "\n")
    path.with_suffix(".md").write_text(markdown(result))
    return path


def summary(records: Iterable[Record]) -> str:
    """Return the rows that miss a bar, or say that none does."""
    missed = [line(record) for record in records if record.missed]
    return "\n".join([f"{len(missed)} rows miss a bar", *missed])
