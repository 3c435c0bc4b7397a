"""The rows, a file a chapter. ``ALL`` is every case, in the order of the table."""

from benchmarks.cases import (
    chains,
    indexing,
    movement,
    products,
    reductions,
    rows,
    scans,
    sorting,
)
from benchmarks.cases.case import Case

ALL: tuple[Case, ...] = (
    *chains.CASES,
    *reductions.CASES,
    *rows.CASES,
    *movement.CASES,
    *scans.CASES,
    *indexing.CASES,
    *sorting.CASES,
    *products.CASES,
)
