"""Hand-written kernels over flagged elements: ``kernels/run_flags.cuh`` and ``run_emit.cuh``.

Owns how each is specialised; ``graph.runs`` owns shapes and arguments. Only the flags depend on a
dtype: what is emitted is known by the width of its elements.
"""

from __future__ import annotations

import functools
from typing import Final

from .. import _dtypes as dt
from .._kernel_files import kernel_text
from .emit import prelude
from .handwritten import item_type
from .key import DType, TextKey
from .sorting import equal

FLAG_THREADS: Final = 512
EMIT_THREADS: Final = 128
WORD: Final = 32  # flags a thread
TILE: Final = WORD * FLAG_THREADS  # elements whose flags are counted together
PART: Final = WORD * EMIT_THREADS  # and that a block writes

_MODES: Final = ("values", "positions", "starts", "inverse")


def flags_key(dtype: DType, heads: bool) -> TextKey:
    """Return the kernel that flags elements: the heads of runs, or what is not zero."""
    zero = {"c": "in[i].re == 0 && in[i].im == 0"}.get(dtype.kind, "in[i] == 0")
    flag = f"i == 0 || !({equal(dtype, 'in[i]', 'in[i - 1]')})" if heads else f"!({zero})"
    definitions = [
        f"typedef {dt.c_type(dtype)} LZ_T;",
        f"#define LZ_FLAG(in, i) ({flag})",
        f"#define LZ_BYTES {int(dtype.itemsize == 1 and not heads)}",
        f"#define LZ_THREADS {FLAG_THREADS}",
    ]
    text = f"{prelude(True)}{chr(10).join(definitions)}\n{kernel_text('run_flags.cuh')}"
    return TextKey("runs flags", "lz_run_flags", text)


@functools.cache
def emit_key(mode: str, width: int) -> TextKey:
    """Return the kernel that writes what belongs to flagged elements.

    ``mode`` is ``values``, flagged elements of a width; ``positions``, where they are; ``starts``,
    positions with the array's length behind them; ``inverse``, each element's run at the place that
    an operand names.
    """
    definitions = [
        item_type(width) if mode == "values" else "typedef long long LZ_T;",
        f"#define LZ_MODE {_MODES.index(mode)}",
        f"#define LZ_GROUP {max(1, 4 // width) if mode == 'values' else 1}",
        f"#define LZ_TILE_WORDS {TILE // WORD}",
        f"#define LZ_THREADS {EMIT_THREADS}",
    ]
    text = f"{chr(10).join(definitions)}\n{kernel_text('run_emit.cuh')}"
    function = {"starts": "positions"}.get(mode, mode)
    return TextKey(f"runs {mode}", f"lz_run_{function}", text)
