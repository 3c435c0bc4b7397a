"""Which tests cover which field case: ``python -m tests.traps.field_cases`` writes the page.

A test of case n is called ``test_n_...`` (two digits at least), somewhere under ``tests/``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "field-cases.md"

CASES: dict[int, str] = {
    1: "Persistent device data between kernel launches (the seed)",
    2: "Read-only kernel arguments are copied back",
    4: "Guard judges the same explicit copy differently when a cached host copy exists",
    5: "Guard fires for arrays that never leave the host",
    7: "Later edits of the NumPy source leak into the array, depending on its size",
    8: "Upload races with a later host write",
    10: "Download at a tenth of the bus",
    11: "Uploading a strided host array is dramatically slower",
    13: "A pipeline silently falls back to the host half way",
    14: "X on the device, y on the host",
    16: "Truth value of a lazy comparison is always true, or syncs secretly",
    17: "A reader built before a write sees the write",
    19: "Two equal constants share one buffer",
    20: "t[:3] *= 10 is applied twice",
    22: "Assigning a permutation of itself",
    23: "Negative-stride slice as the target of a fused expression",
    25: "Sparse updates dropped",
    26: "Integer in the middle of a slice assignment",
    28: "The fused chain has another dtype than the unfused one",
    29: "An integer literal inside a fused chain truncates everything",
    31: "Simplifier folds x*0 and x-x",
    32: "Constants 0.0 and -0.0 share a cache entry",
    34: "Accumulating loop builds a kernel with too many inputs",
    35: "Kernel parameter space overflows",
    37: "Time-stepping without reading anything grows without limit",
    38: "RecursionError on a deep graph",
    40: "Evaluating everything at once needs every intermediate at once",
    41: "Endless loop when evaluating under memory pressure",
    43: "Shifting an array into itself",
    44: "x += x.T",
    46: "Normalising by its own last column",
    47: "Shifted in-place arithmetic",
    49: "Index array is a view of the target",
    50: "Mask computed from the array that is being changed",
    52: "A raw kernel ignores the view",
    53: "Negative strides start before the pointer",
    55: "Views of views forget that they are strided",
    56: "Reshape of size 0 to size 1",
    58: "Broadcast input walks out of bounds in a user kernel",
    59: "Transposed copy at half bandwidth",
    61: "Indexing an array with an empty axis divides by zero",
    62: "Empty arrays in set, sort and cumulative functions",
    64: "Indexing a 0-d array, or with too many indices",
    65: "bool with a Python bool becomes integer",
    67: "Scalar that does not fit",
    68: "A 0-d array must not lose its say in promotion",
    70: "result_type with scalars and dtypes",
    71: "Sum and cumulative-sum accumulator",
    73: "Left-over corners: integer division by zero and negative integer powers",
    74: "sign(nan)",
    76: "Signs of zero",
    77: "0j ** 0j",
    79: "Complex exp and log at infinities",
    80: "Overflow inside abs and complex division",
    82: "NaN in argsort",
    83: "Stability, also when large, also descending",
    85: "unique_inverse shape",
    86: "searchsorted with NaN and mixed dtypes",
    88: "A bad index kills the whole process",
    89: "Negative indices in take_along_axis",
    91: "Boolean mask assignment shapes",
    92: "Mask combined with an integer (NumPy extra, asked for by image code)",
    94: "The last element of 2^31+1 is wrong",
    95: "32-bit fast path chosen from size instead of extent",
    97: "Product of the shape overflows 64 bits",
    98: "One scalar written into an 8 GB array fails to compile",
    100: "axis=() must not hand back the input itself",
    101: "Singular matrix: error, inf or nan depending on the path",
    103: "FFT of a Fortran-ordered or strided input",
    104: "irfft destroys its input",
    106: "Read-only NumPy arrays cannot cross",
    107: "from_dlpack(copy=True) on the same device",
    109: "Stream numbers",
    110: "asarray from a foreign array",
    112: "strides: None, missing or spelled out",
    113: "A synchronise per kernel argument",
    115: "NumPy array on the left",
    116: "Unknown right operand must get its chance",
    118: "device= ignored by a creation function",
    119: "Devices must compare and hash",
    121: "Private context fights with torch",
    122: "Worker thread has no current context",
    124: "Device stack shared between threads",
    125: "Pool reuses memory before another stream has finished",
    127: "Crash or noise at interpreter exit",
    128: "Failed context switch leaves things broken",
    130: "Out of memory although enough is free",
    131: "Fragmentation: 6 GiB free, 4 GiB refused",
    133: "Greedy preallocation starves the neighbours",
    134: "Wish: spill instead of dying",
    136: "Home directory read-only, missing, or full",
    137: "Same compile twice, or a compile per value",
    139: "Compile errors nobody can read",
    140: "Wrong argument kinds to a kernel",
    142: "The download gets blamed for the compute",
    143: "Array of another device",
}

# Cases without a test, each with the reason.
REASONS: dict[int, str] = {}

# Where lazyarr's answer differs from the report's, or a part of it is shown elsewhere.
NOTES: dict[int, str] = {
    1: "the report's n and 1000 launches on a GPU; fewer on `sim`",
    16: "`cpu` copies nothing",
    37: "10,000 steps, flat memory and time; 1,000 on `cpu`, which is eager",
    41: "`cpu` is eager: the array that does not fit fails as it is made",
    49: "NumPy itself still gives the odd answer",
    59: "tests have the values; rates are under docs/benchmarks",
    73: "lazyarr's answer: 0 for `//`, `%` by zero; negative powers of integers are truncated to 0",
    101: "no switch for NaN: `xp.linalg` always raises, at the call where the input is there",
    115: "lazyarr's answer: a lazyarr array, the NumPy operand uploaded (counted and guarded)",
    109: "host memory has no streams: None and -1 only",
}

_HEAD = """# Field cases

What went wrong for users of neighbouring libraries (reports about CuPy, PyCUDA, JAX, torch, Numba,
MLX, tinygrad, NumPy and others), each as a test here. Devices are those a test runs on where they
are: `cuda` needs a GPU, and *slow* tests `--slow`. This page is written by
`python -m tests.traps.field_cases`, and `tests/traps/test_field_cases.py` fails when it is out of
date or a case has neither a test nor a reason.

"""


class Found(NamedTuple):
    """One test: the case, its file below ``tests/``, its name, and where it runs."""

    case: int
    file: str
    name: str
    devices: str


def tests() -> list[Found]:
    """Return every test of a field case, by case, file and place in the file."""
    found: list[Found] = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        found += _tests_of(path)
    return sorted(found, key=lambda test: test.case)


def _tests_of(path: Path) -> Iterator[Found]:
    text = path.read_text()
    if not re.search(r"^def test_\d+_", text, re.MULTILINE):
        return
    functions = {f.name: f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef)}
    for name, function in functions.items():
        number = re.match(r"test_(\d+)_", name)
        if number is not None:
            file = path.relative_to(ROOT / "tests").as_posix()
            yield Found(int(number[1]), file, name, _devices(function, functions))


def _devices(function: ast.FunctionDef, functions: dict[str, ast.FunctionDef]) -> str:
    marks = {ast.unparse(mark).removeprefix("pytest.mark.") for mark in function.decorator_list}
    slow = " (slow)" if "slow" in marks else ""
    if "cuda" in marks:
        return "cuda" + slow
    names = _fixtures(function, functions)
    if "kernel_device" in names:
        return "sim, cuda" + slow
    if "device" in names:
        return "cpu, sim, cuda" + slow
    return ("sim" if "sim" in ast.unparse(function) else "host") + slow


def _fixtures(function: ast.FunctionDef, functions: dict[str, ast.FunctionDef]) -> set[str]:
    """Return the names of a test's fixtures, those of fixtures in its file included."""
    names = {argument.arg for argument in function.args.args}
    for name in list(names & functions.keys()):
        names |= _fixtures(functions[name], functions)
    return names


def page() -> str:
    """Return the text of docs/field-cases.md."""
    by_case: dict[int, list[Found]] = {}
    for test in tests():
        by_case.setdefault(test.case, []).append(test)
    covered = sum(case in by_case for case in CASES)
    lines = [
        f"{len(CASES)} cases: {covered} with tests, "
        f"{sum(case in REASONS for case in CASES)} with a reason instead.",
        "",
        "| case | what went wrong | tests | devices |",
        "|---|---|---|---|",
    ]
    for case, title in CASES.items():
        if case in REASONS:
            rows = [(f"none: {REASONS[case]}", "")]
        else:
            rows = [(f"{t.file}: `{t.name}`", t.devices) for t in by_case.get(case, [])]
        for k, (test, devices) in enumerate(rows):
            first = (str(case), title) if k == 0 else ("", "")
            lines.append(f"| {first[0]} | {first[1]} | {test} | {devices} |")
    lines += ["", "Notes:", ""]
    lines += [f"- {case}: {note}" for case, note in sorted(NOTES.items())]
    return _HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
