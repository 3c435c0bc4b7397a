"""Hand-written kernels that sort and search: ``kernels/sort_*.cuh`` and ``search.cuh``.

Owns how each is specialised; ``graph.sorting`` owns shapes and arguments. The sorting kernels know
the width of the elements and whether they are floats: all such dtypes, and both directions, share a
kernel.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from .. import _dtypes as dt
from .._kernel_files import kernel_text
from .emit import prelude
from .handwritten import WORDS
from .key import DType, TextKey

_INFINITIES: Final = {1: "0", 2: "0", 4: "0x7f800000u", 8: "0x7ff0000000000000ull"}
RADIX: Final = 256
WARP_LIMIT: Final = 128  # the longest row that a warp sorts
BLOCK_LIMIT: Final = 4096  # and a block in shared memory
BLOCK_THREADS: Final = 256


class Pass(NamedTuple):
    """A block of a pass of the radix sort: its threads, the elements of each, blocks on an SM."""

    threads: int
    items: int
    blocks: int


class Carried(NamedTuple):
    """The bytes of what a radix sort carries: of its counts, and of the indices of ``argsort``."""

    counts: int
    indices: int


def flip_of(dtype: DType, descending: bool) -> int:
    """Return the bits to turn over in an element's key: ``flip`` of the kernels."""
    ones = (1 << 8 * dtype.itemsize) - 1
    sign = (ones >> 1) + 1 if dtype.kind == "i" else 0
    return sign ^ (ones if descending else 0)


def _sort_text(file: str, dtype: DType, pairs: bool, threads: int, items: int, *more: str) -> str:
    width = dtype.itemsize
    out = "long long" if pairs else WORDS[width]
    definitions = [
        f"#define LZ_WORD {WORDS[width]}",
        f"#define LZ_KEY {WORDS[max(width, 4)]}",
        f"#define LZ_FLOATING {int(dtype.kind == 'f')}",
        f"#define LZ_INFINITY {_INFINITIES[width]}",
        f"#define LZ_PAIRS {int(pairs)}",
        f"#define LZ_OUT {out}",
        f"#define LZ_THREADS {threads}",
        f"#define LZ_ITEMS {items}",
        *more,
    ]
    text = "\n".join(definitions)
    return f"{text}\n{kernel_text('sort_key.cuh')}\n{kernel_text(file)}"


def _name(pairs: bool) -> str:
    return "argsort" if pairs else "sort"


def _items(length: int, of: int) -> int:
    """Return the power of two of items that a group of ``of`` threads needs for a length."""
    items = 1
    while items * of < length:
        items *= 2
    return items


def warp_sort_key(dtype: DType, pairs: bool, length: int) -> TextKey:
    """Return the kernel that sorts rows of at most ``WARP_LIMIT`` elements."""
    text = _sort_text("sort_warp.cuh", dtype, pairs, BLOCK_THREADS, _items(length, 32))
    return TextKey(_name(pairs), "lz_sort_warp", text)


def block_sort_key(dtype: DType, pairs: bool, length: int) -> TextKey:
    """Return the kernel that sorts rows of at most ``BLOCK_LIMIT`` elements."""
    items = _items(length, BLOCK_THREADS)
    text = _sort_text("sort_block.cuh", dtype, pairs, BLOCK_THREADS, items)
    return TextKey(_name(pairs), "lz_sort_block", text)


def pass_of(width: int, carried: Carried, pairs: bool) -> Pass:
    """Return the block of a pass: the tile fits static shared memory."""
    if width == 8 or (pairs and carried.indices == 8):
        return Pass(384, 12, 3)
    return Pass(384, 23, 2) if pairs else Pass(512, 20, 2)


def radix_sort_keys(
    dtype: DType, pairs: bool, carried: Carried
) -> tuple[TextKey, TextKey, TextKey]:
    """Return the kernels that sort long rows: counting, planning, and one pass."""
    block = pass_of(dtype.itemsize, carried, pairs)
    text = _sort_text(
        "sort_radix.cuh",
        dtype,
        pairs,
        block.threads,
        block.items,
        f"#define LZ_BLOCKS {block.blocks}",
        f"#define LZ_COUNT {WORDS[carried.counts]}",
        f"#define LZ_INDEX {WORDS[carried.indices]}",
    )
    name = _name(pairs)
    return (
        TextKey(f"{name} counts", "lz_sort_count", text),
        TextKey(f"{name} plan", "lz_sort_plan", text),
        TextKey(f"{name} pass", "lz_sort_pass", text),
    )


_LESS: Final = {
    "f": "a < b || (b != b && a == a)",  # NaN comes last, as in sort
    "c": "lz_less_part(a.re, b.re) || (!lz_less_part(b.re, a.re) && lz_less_part(a.im, b.im))",
}
_LESS_PART: Final = (
    "template <class F> LZ_FN bool lz_less_part(F a, F b) { return a < b || (b != b && a == a); }\n"
)


def equal(dtype: DType, a: str, b: str) -> str:
    """Return the CUDA C that says whether two elements of a dtype are equal."""
    return f"lz_eq({a}, {b})" if dtype.kind == "c" else f"{a} == {b}"


def search_key(name: str, dtype: DType) -> TextKey:
    """Return a binary search for elements of a dtype: ``searchsorted`` or ``isin``."""
    definitions = [
        f"typedef {dt.c_type(dtype)} LZ_T;",
        f"LZ_FN bool lz_less(LZ_T a, LZ_T b) {{ return {_LESS.get(dtype.kind, 'a < b')}; }}",
        f"LZ_FN bool lz_equal(LZ_T a, LZ_T b) {{ return {equal(dtype, 'a', 'b')}; }}",
    ]
    part = _LESS_PART if dtype.kind == "c" else ""
    text = f"{prelude(True)}{part}{chr(10).join(definitions)}\n{kernel_text('search.cuh')}"
    return TextKey(name, f"lz_{name}", text)
