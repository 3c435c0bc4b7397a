"""Copies whose fastest axis changes: every tile, aligned lines and others, further axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr.codegen.handwritten import Tile, transpose_key, transpose_tile
from lazyarr.runtime import nvrtc
from tests.runtime.test_nvrtc import needs_nvrtc

TILES = {Tile(32, 32, 256), Tile(64, 64, 256), Tile(64, 64, 512), Tile(32, 128, 512)}


@pytest.mark.sanitize
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((128, 64), (1, 0)), ((200, 67), (1, 0)), ((33, 40), (1, 0)), ((131, 3, 66), (2, 1, 0))],
)
def test_tiles(kernel_device: str, dtype: str, shape: Any, axes: Any) -> None:
    host = np.random.default_rng(1).integers(0, 200, shape).astype(dtype)
    x = xp.asarray(host)
    xp.prefetch(x)
    xp.stats(reset=True)
    moved = xp.asarray(xp.permute_dims(x, axes), copy=True)
    xp.evaluate(moved)
    assert xp.stats().launches == 1
    np.testing.assert_array_equal(np.asarray(moved), host.transpose(axes))


def test_the_tile_follows_size_and_alignment() -> None:
    chosen = {
        transpose_tile(itemsize, rows, columns, aligned)
        for itemsize in (1, 2, 4, 8, 16)
        for rows in (32, 64, 1000)
        for columns in (32, 64, 1000)
        for aligned in (True, False)
    }
    assert chosen == TILES
    assert transpose_tile(4, 1000, 1000, aligned=False) == Tile(32, 128, 512)
    assert transpose_tile(4, 1000, 1000, aligned=True) == Tile(64, 64, 512)


@needs_nvrtc
@pytest.mark.parametrize("tile", sorted(TILES))
def test_nvrtc_takes_every_tile(tile: Tile) -> None:
    for itemsize in (1, 2, 4, 8) if tile.rows > 32 else (4, 16):
        if tile.columns * (tile.rows + 1) * itemsize <= 48 << 10:
            assert nvrtc.compile_cubin(transpose_key(itemsize, 2, tile).text, "sm_90")
