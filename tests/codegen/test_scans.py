"""The scan kernels: how they are chosen, as GPUs compile them, and the look-back by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr import _dtypes as dt
from lazyarr.codegen import scans
from lazyarr.graph import evaluate
from lazyarr.graph.optable import REDUCE_OPS, ReduceSpec
from lazyarr.runtime import nvrtc
from tests.runtime.test_nvrtc import needs_nvrtc

SUM = REDUCE_OPS["sum"]
FLOAT = SUM.resolve(dt.float32)
DOUBLE = SUM.resolve(dt.float64)
WIDTHS = {
    1: SUM.resolve(dt.int8, dt.int8),
    2: SUM.resolve(dt.uint16, dt.uint16),
    4: FLOAT,
    8: SUM.resolve(dt.int8),
    16: REDUCE_OPS["prod"].resolve(dt.complex64, dt.complex128),
}


def forms(spec: ReduceSpec, initial: bool) -> list[Any]:
    """Return the key of every kernel for a reduction."""
    lengths = [scans.chunk(spec), 5 * scans.chunk(spec), scans.tile(spec)]
    keys = [scans.rows_key(spec, initial, n) for n in lengths]
    keys += [scans.long_rows_key(spec, initial), scans.walk_key(spec, initial)]
    keys += [scans.small_key(spec, initial)]
    for staged in (False, True):
        few, more = (scans.thread_rows(spec, n, 32) for n in (1, 10_000))
        keys.append(scans.columns_key(spec, initial, few, staged, False))
        keys.append(scans.columns_key(spec, initial, more, staged, True))
    return keys


@needs_nvrtc
@pytest.mark.parametrize("width", WIDTHS)
def test_nvrtc_takes_every_width(width: int) -> None:
    keys = forms(WIDTHS[width], initial=width in (2, 16))
    assert len({key.text for key in keys}) == len(keys)
    for key in keys:
        assert f".text.{key.function}\0".encode() in nvrtc.compile_cubin(key.text, "sm_90")


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_100"])
def test_nvrtc_takes_the_widest_for_other_architectures(arch: str) -> None:
    for key in forms(WIDTHS[16], initial=True)[1::2]:
        assert nvrtc.compile_cubin(key.text, arch)


def kernel_of(shape: tuple[int, ...], axis: int, dtype: Any = xp.float32) -> str:
    """Return the function that scans a shape."""
    with xp.default_device("sim"):
        x = xp.empty(shape, dtype=dtype)
        xp.evaluate(x)
        total = xp.cumulative_sum(x, axis=axis)
        _, plan, _ = evaluate.plan_for([total._cell.value])
    assert len(plan.steps) == 1
    return str(plan.steps[0][0].key.function)


@pytest.mark.parametrize(
    ("shape", "axis", "function"),
    [
        ((1,), 0, "lz_scan_small"),
        ((9, 64), 1, "lz_scan_small"),
        ((9, 65), 1, "lz_scan_rows"),
        ((9, 8192), 1, "lz_scan_rows"),
        ((9, 8193), 1, "lz_scan_long"),
        ((1 << 20,), 0, "lz_scan_long"),
        ((600, 3), 0, "lz_scan_columns"),
        ((100, 31), 0, "lz_scan_small"),
        ((1 << 20, 2), 0, "lz_scan_long_columns"),
        ((16, 32), 0, "lz_scan_walk"),
        ((128, 32), 0, "lz_scan_columns"),
        ((256, 32), 0, "lz_scan_columns"),
        ((257, 32), 0, "lz_scan_long_columns"),
        ((2, 40, 65_536), 1, "lz_scan_walk"),
    ],
)
def test_which_kernel(shape: tuple[int, ...], axis: int, function: str) -> None:
    assert kernel_of(shape, axis) == function


def test_the_shape_of_rows() -> None:
    for n in (1, 128, 129, 512, 513, 1025, 4096, 4097, 8192):
        warps, chunks = scans.row_shape(FLOAT, n)
        assert warps in (1, 2, 4, 8)
        assert warps * chunks * scans.chunk(FLOAT) >= n
        assert (warps * (chunks - 1)) * scans.chunk(FLOAT) < n
    assert scans.row_shape(FLOAT, scans.tile(FLOAT)) == (8, 8)


# The look-back by itself. The simulator runs blocks one after another, so that there every total
# is published when it is looked for: what is found on the way back, these tests lay out by hand.

LOOK_BACK = """
extern "C" __global__ void look_back(LZ_A* out, unsigned long long* state, long long chain,
                                     long long chains, long long tile, long long tiles, LZ_A own) {
  const LzChain slots(state, chain, chains, tiles);
  const int place = (int)(tile % LZ_GROUP);
  if (threadIdx.x == 0) lz_publish_tile(slots, tile, own);
  LZ_A sum = own;
  if (place > 0) sum = FOLD;
  out[threadIdx.x] = lz_before_tile<READER>(slots, tile, own, sum);
}
"""
READERS = {
    "warp": ("LzWarpReader", "LzWarpReader::fold_tiles(slots, tile - place, place)"),
    "thread": ("LzThreadReader", "lz_fold_slots(slots, tile - place, place)"),
}


class LookBack:
    """The memory of a look-back, and a kernel that does it for one tile."""

    def __init__(self, reader: str, spec: ReduceSpec, chains: int, tiles: int) -> None:
        if reader == "warp":
            key = scans.long_rows_key(spec, False)
        else:
            key = scans.columns_key(spec, False, 16, False, True)
        name, fold = READERS[reader]
        text = key.text + LOOK_BACK.replace("FOLD", fold).replace("READER", name)
        self.function = xp.SourceModule(text, no_extern_c=True).get_function("look_back")
        self.threads = 32 if reader == "warp" else 1
        self.dtype = spec.out_dtype
        self.words = scans.slot_words(spec)
        self.sizes = (chains, tiles)
        groups = (tiles - 1) // scans.GROUP
        size = chains * (tiles + 2 * groups)
        self.slots = np.zeros((size, self.words), np.uint64)
        # By kind: places of the slots of tiles, groups and totals, then chains.
        self.tiles = np.arange(tiles * chains).reshape(tiles, chains)
        self.groups = tiles * chains + np.arange(groups * chains).reshape(groups, chains)
        self.totals = self.groups + groups * chains

    def put(self, place: Any, value: float) -> None:
        words = np.asarray([value], self.dtype).view(np.uint32)
        self.slots[int(place)] = np.uint64(1 << 32) | words.astype(np.uint64)

    def get(self, place: Any) -> float | None:
        """Return what is published at a place, or None."""
        words = self.slots[int(place)]
        if not np.all(words >> np.uint64(32) == 1):
            assert not words.any()
            return None
        return float(words.astype(np.uint32).view(self.dtype)[0])

    def run(self, chain: int, tile: int, own: float) -> float:
        header = np.zeros(scans.HEADER_WORDS, np.uint64)
        state = xp.asarray(np.concatenate([header, self.slots.reshape(-1)]))
        out = xp.zeros(self.threads, dtype=self.dtype)
        chains, tiles = self.sizes
        numbers = [np.int64(v) for v in (chain, chains, tile, tiles)]
        self.function(
            xp.Out(out), xp.InOut(state), *numbers, self.dtype.type(own),
            grid=(1,), block=(self.threads,),
        )  # fmt: skip
        self.slots = np.array(state)[scans.HEADER_WORDS :].reshape(self.slots.shape)
        got = np.unique(np.asarray(out))
        assert got.size == 1
        return float(got[0])


@pytest.mark.parametrize("spec", [FLOAT, DOUBLE], ids=["float32", "float64"])
@pytest.mark.parametrize("reader", READERS)
def test_the_way_back_does_not_change_a_bit(
    kernel_device: str, reader: str, spec: ReduceSpec
) -> None:
    tiles, chain, group, tile = 32 * 8, 1, 5, 32 * 5
    values = np.random.default_rng(0).uniform(-1, 1, 8).astype(spec.out_dtype)
    want = values[0]
    for value in values[1:group]:
        want = spec.out_dtype.type(want + value)
    results = []
    for nearest in range(group):  # the last group whose total is published
        memory = LookBack(reader, spec, 3, tiles)
        for g in range(nearest + 1, group):
            memory.put(memory.groups[g, chain], values[g])
        memory.put(memory.totals[nearest, chain], np.cumsum(values, dtype=spec.out_dtype)[nearest])
        for g in range(7):  # the neighbours' slots do not matter
            memory.put(memory.totals[g, 0], 99)
            memory.put(memory.groups[g, 2], 99)
        results.append(memory.run(chain, tile, 0.25))
        assert memory.get(memory.tiles[tile, chain]) == 0.25
    assert results == [float(want)] * group


@pytest.mark.parametrize("reader", READERS)
def test_what_a_tile_publishes(kernel_device: str, reader: str) -> None:
    places = 4 if reader == "thread" else 32  # a thread waits for four slots at most
    memory = LookBack(reader, FLOAT, 2, 70)
    memory.put(memory.totals[0, 0], 1000)
    for k in range(31):
        memory.put(memory.tiles[32 + k, 0], k)
    for k in (0, 1, places - 1):
        memory.slots[memory.tiles[32 + k, 0]] = 0
        assert memory.run(0, 32 + k, k) == 1000 + k * (k - 1) // 2
        published = memory.get(memory.tiles[32 + k, 0])
        assert published == (k if k < 31 else None)
    if places == 32:  # the last tile of a group publishes for all later groups
        assert memory.get(memory.groups[1, 0]) == 496
        assert memory.get(memory.totals[1, 0]) == 1496
    else:
        assert memory.get(memory.groups[1, 0]) is None
    assert memory.run(0, 0, 5) == 5  # of the first tile, nothing that may be used
    assert memory.get(memory.tiles[0, 0]) == 5
    assert memory.get(memory.tiles[0, 1]) is None


def test_the_last_tile_publishes_nothing(kernel_device: str) -> None:
    memory = LookBack("warp", FLOAT, 1, 32)
    for k in range(31):
        memory.put(memory.tiles[k, 0], 1)
    before = memory.slots.copy()
    assert memory.run(0, 31, 9) == 31
    np.testing.assert_array_equal(memory.slots, before)
