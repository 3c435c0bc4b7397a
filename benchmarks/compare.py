"""Measuring one case at one size: inputs, the check of the results, the times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

import lazyarr as xp
from benchmarks import ceilings
from benchmarks.cases.case import Case
from benchmarks.measure import Timing, compare
from benchmarks.peers import Ours

# Sets of inputs take turns, so that none is still in the L2 cache (60 MB on an H200).
_ROTATED_BYTES = 160 << 20
_MOST_SETS = 24
_CHECKED_BY_NUMPY = 1 << 20  # elements; above, by a peer on the GPU
_OURS = Ours()


@dataclass
class Record:
    """The figures of one case at one size: times in ms, ``share`` of the ceiling."""

    name: str
    dtype: str
    elements: int
    times: dict[str, Timing]
    traffic: int
    share: float
    ceiling: str
    launches: int
    bar: float | None = None  # against the ceiling
    ahead: dict[str, float] = field(default_factory=dict)  # bars against peers
    error: str = ""

    @property
    def ratios(self) -> dict[str, float]:
        """Return each peer's time over ours."""
        ours = self.times["lazyarr"]
        return {
            name: (time.wall / ours.wall if time.device is None else time.device / ours.best)
            for name, time in self.times.items()
            if name not in ("lazyarr", "plain kernel")
        }

    @property
    def missed(self) -> list[str]:
        """Return which bars do not hold."""
        found = [f"ceiling {self.bar}"] if self.bar is not None and self.share < self.bar else []
        ratios = self.ratios
        return found + [
            f"{name} {bar}" for name, bar in self.ahead.items() if ratios.get(name, bar) < bar
        ]

    def data(self) -> dict[str, Any]:
        return {**asdict(self), "ratios": self.ratios, "missed": self.missed}


def copy_rate(n: int, dtype: str, make: Any) -> float:
    """Return bytes read and written per millisecond by the driver's copy of ``n`` elements."""
    sets = _sets(make, n, dtype)
    time = compare({"copy": ceilings.copy(sets)})["copy"]
    assert time.device is not None
    return float(2 * sets[0][0].nbytes / time.device)


def _sets(make: Any, n: int, dtype: str) -> list[tuple[Any, ...]]:
    first = make(n, dtype, 0)
    nbytes = sum(x.nbytes for x in first)
    count = max(1, min(_MOST_SETS, -(-_ROTATED_BYTES // nbytes)))
    return [first, *(make(n, dtype, seed) for seed in range(1, count))]


def measure(case: Case, dtype: str, n: int, libraries: Sequence[Any], rate: float) -> Record:
    """Check and time a case. ``rate`` is the copy's, in bytes a millisecond."""
    sets = _sets(case.inputs, n, dtype)
    launches = check(case, sets[0], libraries, n)
    programs = {"lazyarr": _OURS.program(case.run, _own(case, _OURS, sets))}
    for library in libraries:
        function = _function(case, library)
        if function is not None:
            programs[library.name] = library.program(function, _own(case, library, sets))
    if case.plain:
        programs["plain kernel"] = ceilings.plain(case.plain, sets)
    times = compare(programs)
    traffic = case.traffic(sets[0])
    ours = times["lazyarr"].best
    least = times["plain kernel"].best if case.plain else traffic / rate
    largest = n == max(case.sizes)
    record = Record(
        case.name,
        dtype,
        n,
        times,
        traffic,
        least / ours,
        "plain kernel" if case.plain else "copy",
        launches,
        bar=case.share if largest else None,
        ahead=dict(case.ahead),
    )
    del programs, sets
    for library in (_OURS, *libraries):
        library.free()
    return record


def _function(case: Case, library: Any) -> Any:
    if library.only_special:
        return case.special.get(library.name)
    return case.special.get(library.name, case.run)


def _own(case: Case, library: Any, sets: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the inputs as a library's arrays.

    They are copies: what is stored to must be its own, and memory that others may write to is
    computed with at once.
    """
    if library is _OURS and not case.writes:
        return sets
    return [tuple(library.array(_OURS.copy(x)) for x in arrays) for arrays in sets]


def check(case: Case, inputs: tuple[Any, ...], libraries: Sequence[Any], n: int) -> int:
    """Compare our result with NumPy's, or a peer's for large arrays. Return our launches."""
    mine = inputs
    if case.writes:
        mine = (_OURS.copy(inputs[0]), *inputs[1:])
    xp.stats(reset=True)
    result = case.run(xp, *mine)
    result = mine[0] if result is None else result
    ours = result if type(result) is tuple else (result,)
    xp.evaluate(*ours)
    counts = xp.stats()
    if (counts.h2d, counts.d2h) != (0, 0):
        raise AssertionError(f"{case.name}: copies between host and device: {counts}")
    if case.launches is not None and counts.launches != case.launches:
        raise AssertionError(f"{case.name}: {counts.launches} kernels, not {case.launches}")
    cupy = next((found for found in libraries if found.name == "cupy"), None)
    if n > _CHECKED_BY_NUMPY and cupy is not None and "cupy" not in case.special:
        arrays = _own(case, cupy, [inputs])[0]
        expected = case.run(cupy.module, *arrays)
        expected = arrays[0] if expected is None else expected
        for got, want in zip(ours, _tuple(expected), strict=True):
            _on_gpu(case, cupy.library, cupy.array(got), want)
    elif n <= _CHECKED_BY_NUMPY:
        host = [np.array(x) for x in inputs]
        expected = case.run(np, *host)
        expected = host[0] if expected is None else expected
        for got, want in zip(ours, _tuple(expected), strict=True):
            np.testing.assert_allclose(
                np.asarray(got), want, case.tolerance, case.tolerance, err_msg=case.name
            )
    return counts.launches


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if type(value) is tuple else (value,)


def _on_gpu(case: Case, cupy: Any, got: Any, want: Any) -> None:
    if got.shape != want.shape:
        raise AssertionError(f"{case.name}: shape {got.shape}, CuPy's is {want.shape}")
    exact = want.dtype.kind in "biu"
    same = (
        (got == want).all() if exact else cupy.allclose(got, want, case.tolerance, case.tolerance)
    )
    if not bool(same):
        raise AssertionError(f"{case.name}: differs from CuPy's result")
