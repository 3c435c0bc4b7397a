"""Hand-written scans, ``kernels/scan*.cuh``: how each form is specialised.

``graph.scans`` chooses between them, and owns shapes and arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .. import _dtypes as dt
from .._kernel_files import kernel_text
from .emit import prelude
from .key import TextKey

if TYPE_CHECKING:
    from ..graph.optable import ReduceSpec

THREADS: Final = 256
WARPS: Final = THREADS // 32
SMALL_THREADS: Final = 128  # of blocks that scan short chains
GROUP: Final = 32  # tiles whose results are folded together
NEIGHBOURS: Final = 32  # columns of a tile that is not staged
HEADER_WORDS: Final = 2  # of the look-back's memory, before its slots
_FEW_CHUNKS: Final = 4  # of a warp, as long as rows have not all the warps of a block
_MOST_IN_A_VECTOR: Final = 8
_SPAN_BYTES: Final = 1 << 14

INITIAL: Final = {"sum": 0, "prod": 1}  # the initial values


def widest(spec: ReduceSpec) -> int:
    """Return the bytes of an element or of an accumulator, whichever has more."""
    return max(spec.in_dtype.itemsize, spec.out_dtype.itemsize)


def chunk(spec: ReduceSpec) -> int:
    """Return how many elements of a row a warp takes at a time."""
    return 32 * _vector(spec)


def tile(spec: ReduceSpec) -> int:
    """Return how many elements of a row a block takes at most."""
    return WARPS * _most_chunks(spec) * chunk(spec)


def thread_rows(spec: ReduceSpec, n: int, width: int) -> int:
    """Return how many rows of a column a thread takes, in tiles of ``width`` columns."""
    rows = 8 if widest(spec) == 16 else 16
    more = n > THREADS // width * rows and widest(spec) <= 4
    return 2 * rows if more else rows


def span(spec: ReduceSpec) -> int:
    """Return how many elements a block of short chains holds in shared memory."""
    return _SPAN_BYTES // widest(spec)


def slot_words(spec: ReduceSpec) -> int:
    """Return the 64-bit words by which a tile publishes one accumulator."""
    return max(spec.out_dtype.itemsize // 4, 1)


def row_shape(spec: ReduceSpec, n: int) -> tuple[int, int]:
    """Return by how many warps, and chunks of each, a row of at most a tile is held."""
    chunks = -(-n // chunk(spec))
    warps = 1
    while warps < WARPS and warps * _FEW_CHUNKS < chunks:
        warps *= 2
    return warps, -(-chunks // warps)


def rows_key(spec: ReduceSpec, initial: bool, n: int) -> TextKey:
    """Return the scan of rows of at most a tile."""
    return _rows(spec, initial, False, *row_shape(spec, n))


def long_rows_key(spec: ReduceSpec, initial: bool) -> TextKey:
    """Return the scan of rows longer than a tile."""
    return _rows(spec, initial, True, WARPS, _most_chunks(spec))


def columns_key(
    spec: ReduceSpec, initial: bool, rows: int, staged: bool, look_back: bool
) -> TextKey:
    """Return the scan down columns by tiles, with so many rows a thread.

    ``staged``: a tile has fewer than ``NEIGHBOURS`` columns.
    """
    return _key(
        "lz_scan_long_columns" if look_back else "lz_scan_columns",
        "scan_columns.cuh",
        spec,
        initial,
        f"#define LZ_ROWS {rows}",
        f"#define LZ_WIDTH {NEIGHBOURS}",
        f"#define LZ_STAGED {int(staged)}",
        f"#define LZ_LOOK_BACK {int(look_back)}",
    )


def walk_key(spec: ReduceSpec, initial: bool) -> TextKey:
    """Return the scan in which a thread walks down a column."""
    return _key("lz_scan_walk", "scan_walk.cuh", spec, initial)


def small_key(spec: ReduceSpec, initial: bool) -> TextKey:
    """Return the scan of chains that a block holds several of in shared memory."""
    return _key("lz_scan_small", "scan_small.cuh", spec, initial, f"#define LZ_SPAN {span(spec)}")


def _most_chunks(spec: ReduceSpec) -> int:
    """Return how many chunks a warp takes: more bytes in flight outlast the wait for a prefix."""
    return 8 if widest(spec) in (4, 8) else 4


def _vector(spec: ReduceSpec) -> int:
    return min(_MOST_IN_A_VECTOR, 16 // widest(spec))


def _rows(spec: ReduceSpec, initial: bool, look_back: bool, warps: int, chunks: int) -> TextKey:
    return _key(
        "lz_scan_long" if look_back else "lz_scan_rows",
        "scan_rows.cuh",
        spec,
        initial,
        f"#define LZ_VECTOR {_vector(spec)}",
        f"#define LZ_CHUNKS {chunks}",
        f"#define LZ_WARPS {warps}",
        f"#define LZ_LOOK_BACK {int(look_back)}",
    )


def _key(function: str, file: str, spec: ReduceSpec, initial: bool, *more: str) -> TextKey:
    accumulator = spec.acc_c_type
    definitions = [
        f"typedef {dt.c_type(spec.in_dtype)} LZ_T;",
        f"typedef {accumulator} LZ_A;",
        f"#define LZ_LOAD(x) {spec.load.format(x='x', k='0')}",
        f"#define LZ_COMBINE(p, q) {spec.combine.format(a='p', b='q')}",
        f"#define LZ_INITIAL {int(initial)}",
        f"#define LZ_FIRST {_first(spec) if initial else spec.identity}",
        f"#define LZ_THREADS {SMALL_THREADS if function == 'lz_scan_small' else THREADS}",
        f"#define LZ_GROUP {GROUP}",
        f"#define LZ_HEADER {HEADER_WORDS}",
        *more,
    ]
    texts = [prelude(True), *[f"{line}\n" for line in definitions]]
    texts += [kernel_text("scan.cuh"), "\n", kernel_text(file)]
    return TextKey(f"scan {spec.op.name}", function, "".join(texts))


def _first(spec: ReduceSpec) -> str:
    """Return the initial value as a C expression."""
    value = INITIAL[spec.op.name]
    if spec.out_dtype.kind != "c":
        return f"(({spec.acc_c_type}){value})"
    part = dt.c_type(dt.real_of(spec.out_dtype))
    return f"lz_complex(({part}){value}, ({part})0)"
