"""Manipulation functions against NumPy, on every device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarr as xp

SOURCE = np.arange(24.0).reshape(2, 3, 4)


def check(got: Any, want: Any) -> None:
    want = np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(np.asarray(got), want)


VIEWS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "expand_dims": (lambda x: xp.expand_dims(x, 1), lambda x: np.expand_dims(x, 1)),
    "expand_dims of two": (
        lambda x: xp.expand_dims(x, (0, -1)),
        lambda x: np.expand_dims(x, (0, -1)),
    ),
    "squeeze": (
        lambda x: xp.squeeze(x[:1, :, :1], (0, -1)),
        lambda x: np.squeeze(x[:1, :, :1], (0, -1)),
    ),
    "flip": (lambda x: xp.flip(x), np.flip),
    "flip of an axis": (lambda x: xp.flip(x, axis=-1), lambda x: np.flip(x, -1)),
    "permute_dims": (
        lambda x: xp.permute_dims(x, (2, 0, -2)),
        lambda x: np.transpose(x, (2, 0, 1)),
    ),
    "moveaxis": (lambda x: xp.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1)),
    "moveaxis of two": (
        lambda x: xp.moveaxis(x, (0, 2), (1, 0)),
        lambda x: np.moveaxis(x, (0, 2), (1, 0)),
    ),
    "reshape": (lambda x: xp.reshape(x, (4, -1)), lambda x: np.reshape(x, (4, -1))),
    "reshape of a view": (
        lambda x: xp.reshape(x[:, 1:], (2, 8)),
        lambda x: x[:, 1:].reshape(2, 8),
    ),
    "unstack": (lambda x: xp.unstack(x, axis=1)[2], lambda x: x[:, 2]),
    "matrix_transpose": (lambda x: xp.matrix_transpose(x), lambda x: x.swapaxes(1, 2)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_show_and_write_the_array(device: str, name: str) -> None:
    ours, numpys = VIEWS[name]
    source = SOURCE.copy()
    x = xp.asarray(source)
    y = ours(x)
    check(y, numpys(source))
    y[...] = -1.0
    numpys(source)[...] = -1.0
    check(x, source)
    x += 1
    check(y, numpys(source + 1))


def test_views_cost_no_kernel(kernel_device: str) -> None:
    x = xp.asarray(SOURCE)
    xp.evaluate(x + 1)
    xp.stats(reset=True)
    for ours, _ in VIEWS.values():
        ours(x)
    assert xp.stats().launches == 0


@pytest.mark.parametrize("shape", [(24,), (6, 4), (2, 1, 3, 4), (-1, 2)])
def test_reshape_of_what_is_not_in_order(device: str, shape: tuple[int, ...]) -> None:
    x = xp.asarray(SOURCE)
    check(xp.reshape(x.mT, shape), SOURCE.swapaxes(1, 2).reshape(shape))
    check(xp.reshape(xp.flip(x), shape), np.flip(SOURCE).reshape(shape))
    y = xp.reshape(x, shape, copy=True)
    y[...] = 0.0
    check(x, SOURCE)
    with pytest.raises(ValueError, match="copy=False"):
        xp.reshape(x.mT, (24,), copy=False)


def test_reshape_of_pending_and_empty(device: str) -> None:
    x = xp.asarray(SOURCE) * 2
    check(xp.reshape(x, (4, 6)) + 1, (SOURCE * 2).reshape(4, 6) + 1)
    check(xp.sum(xp.reshape(x + 1, (6, 4)), axis=0), (SOURCE * 2 + 1).reshape(6, 4).sum(0))
    check(xp.reshape(xp.ones((0, 3)), (3, 0, 2)), np.ones((3, 0, 2)))
    check(xp.reshape(xp.asarray(3.0), (1, 1)), np.full((1, 1), 3.0))


def test_broadcasting(device: str) -> None:
    x = xp.asarray([[1.0], [2.0]])
    y = xp.broadcast_to(x, (3, 2, 4))
    check(y, np.broadcast_to([[1.0], [2.0]], (3, 2, 4)))
    with pytest.raises(ValueError, match="read-only"):
        y[0] = 1.0
    a, b = xp.broadcast_arrays(x, xp.ones((1, 3)))
    assert a.shape == b.shape == (2, 3)
    assert xp.broadcast_arrays() == ()
    assert xp.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    assert xp.broadcast_shapes() == ()
    with pytest.raises(ValueError, match="broadcast"):
        xp.broadcast_shapes((2,), (3,))
    with pytest.raises(ValueError, match="broadcast"):
        xp.broadcast_to(x, (3, 2))


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_concat(device: str, axis: Any) -> None:
    parts = [SOURCE, SOURCE[:, :, ::-1] + 1, SOURCE * 2]
    check(xp.concat([xp.asarray(p) for p in parts], axis=axis), np.concatenate(parts, axis=axis))


def test_concat_promotes_and_skips_nothing(device: str) -> None:
    parts = [np.ones((2, 1), np.int8), np.zeros((2, 0), np.int8), np.full((2, 3), 7, np.uint8)]
    got = xp.concat([xp.asarray(p) for p in parts], axis=1)
    check(got, np.concatenate(parts, axis=1))
    alone = xp.ones(3)
    copy = xp.concat([alone])
    copy[0] = 5.0
    check(alone, np.ones(3))
    x = xp.asarray(SOURCE)
    check(xp.concat([x, x]), np.concatenate([SOURCE, SOURCE]))
    check(xp.concat([xp.zeros((0, 2)), xp.zeros((0, 2))]), np.zeros((0, 2)))


def test_concat_is_one_kernel_a_part(kernel_device: str) -> None:
    x = xp.asarray(SOURCE)
    xp.evaluate(x + 0)
    xp.stats(reset=True)
    with xp.transfer_guard("error"):
        xp.evaluate(xp.concat([x + 1, x * 2, x], axis=2))
    assert xp.stats().launches == 3


@pytest.mark.parametrize("axis", [0, 1, 3, -1, -2])
def test_stack(device: str, axis: int) -> None:
    parts = [SOURCE, SOURCE + 1]
    check(xp.stack([xp.asarray(p) for p in parts], axis=axis), np.stack(parts, axis=axis))
    check(xp.stack([xp.asarray(1), xp.asarray(2)]), np.array([1, 2]))


@pytest.mark.parametrize(
    ("shift", "axis"),
    [
        (1, None),
        (-30, None),
        (1, 0),
        (5, 2),
        ((1, -1), (0, 2)),
        ((1, 1), (2, 2)),
        (2, (0, 1)),
        (0, 1),
    ],
)
def test_roll(device: str, shift: Any, axis: Any) -> None:
    check(xp.roll(xp.asarray(SOURCE), shift, axis=axis), np.roll(SOURCE, shift, axis))
    check(xp.roll(xp.asarray(SOURCE).mT, 1), np.roll(SOURCE.swapaxes(1, 2), 1))


@pytest.mark.parametrize("counts", [(), (2,), (1, 2, 3), (2, 1, 1, 2), (0, 1, 1)])
def test_tile(device: str, counts: tuple[int, ...]) -> None:
    check(xp.tile(xp.asarray(SOURCE), counts), np.tile(SOURCE, counts))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_repeat(device: str, axis: Any) -> None:
    x = xp.asarray(SOURCE)
    for count in (0, 1, 3):
        check(xp.repeat(x, count, axis=axis), np.repeat(SOURCE, count, axis))
    length = SOURCE.size if axis is None else SOURCE.shape[axis]
    counts = np.arange(length) % 3
    check(xp.repeat(x, xp.asarray(counts), axis=axis), np.repeat(SOURCE, counts, axis))
    check(xp.repeat(x, xp.asarray([2]), axis=axis), np.repeat(SOURCE, 2, axis))
    nothing = xp.zeros(length, dtype=xp.uint8)
    check(xp.repeat(x, nothing, axis=axis), np.repeat(SOURCE, 0, axis))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "int64", "uint64"])
def test_repeat_by_counts_on_the_device(device: str, dtype: str) -> None:
    source = np.arange(3000.0)
    counts = (np.arange(3000) * 7 % 5 * (np.arange(3000) % 11 > 3)).astype(dtype)
    want = counts[::-1].astype(np.int64)
    x, n = xp.asarray(source) + 0, xp.flip(xp.asarray(counts)) | 0
    check(xp.repeat(x, n), np.repeat(source, want))
    check(xp.repeat(x[:3], n[-3:]), np.repeat(source[:3], want[-3:]))


def test_repeat_refuses_counts_that_only_the_device_knows(device: str) -> None:
    x, n = xp.arange(3), xp.arange(3) - 1
    with pytest.raises(ValueError, match="negative"):
        xp.repeat(x, n)
    with pytest.raises(ValueError, match="negative"):
        xp.repeat(x, n[:1])
    check(xp.repeat(x, n + 1), [1, 2, 2])


def test_tile_and_repeat_are_lazy(kernel_device: str) -> None:
    x = xp.asarray(SOURCE)
    xp.stats(reset=True)
    y = xp.tile(x, (2, 1, 1)) + xp.repeat(x, 2, axis=0)
    assert xp.stats().launches == 0
    check(y, np.tile(SOURCE, (2, 1, 1)) + np.repeat(SOURCE, 2, 0))


def test_unstack(device: str) -> None:
    parts = xp.unstack(xp.asarray(SOURCE), axis=-1)
    assert isinstance(parts, tuple) and len(parts) == 4
    for n, part in enumerate(parts):
        check(part, SOURCE[..., n])
    with pytest.raises(ValueError, match="axis"):
        xp.unstack(xp.asarray(1.0))


ERRORS: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "squeeze of a long axis": (ValueError, lambda x: xp.squeeze(x, 1)),
    "squeeze of no axis": (IndexError, lambda x: xp.squeeze(x, 3)),
    "expand_dims too far": (IndexError, lambda x: xp.expand_dims(x, 4)),
    "expand_dims twice": (ValueError, lambda x: xp.expand_dims(x, (1, 1))),
    "flip of no axis": (IndexError, lambda x: xp.flip(x, axis=3)),
    "permute_dims of too few": (ValueError, lambda x: xp.permute_dims(x, (0, 1))),
    "permute_dims twice": (ValueError, lambda x: xp.permute_dims(x, (0, 1, 1))),
    "moveaxis of unequal": (ValueError, lambda x: xp.moveaxis(x, (0, 1), 0)),
    "reshape to another size": (ValueError, lambda x: xp.reshape(x, (5, 5))),
    "reshape with two unknowns": (ValueError, lambda x: xp.reshape(x, (-1, -1))),
    "concat of nothing": (ValueError, lambda x: xp.concat([])),
    "concat of other shapes": (ValueError, lambda x: xp.concat([x, x[:, 1:]])),
    "concat of no axis": (IndexError, lambda x: xp.concat([x, x], axis=3)),
    "concat of other kinds": (
        TypeError,
        lambda x: xp.concat([x, xp.ones((2, 3, 4), dtype=xp.int8)]),
    ),
    "stack of other shapes": (ValueError, lambda x: xp.stack([x, x[:1]])),
    "roll of unequal": (ValueError, lambda x: xp.roll(x, (1, 2), axis=0)),
    "tile by less than nothing": (ValueError, lambda x: xp.tile(x, (-1,))),
    "repeat by less than nothing": (ValueError, lambda x: xp.repeat(x, -1)),
    "repeat by a fraction": (TypeError, lambda x: xp.repeat(x, 1.5)),
    "repeat by too few": (ValueError, lambda x: xp.repeat(x, xp.asarray([1, 2]))),
    "repeat by negative counts": (ValueError, lambda x: xp.repeat(x, xp.asarray([1, -1]), axis=0)),
    "repeat by floats": (TypeError, lambda x: xp.repeat(x, xp.ones(3), axis=1)),
    "a NumPy array": (TypeError, lambda x: xp.flip(SOURCE)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_come_at_the_call(device: str, name: str) -> None:
    error, call = ERRORS[name]
    with pytest.raises(error):
        call(xp.asarray(SOURCE))


def test_devices_do_not_mix(kernel_device: str) -> None:
    with pytest.raises(ValueError, match="to_device"):
        xp.concat([xp.ones(2), xp.ones(2, device="cpu")])


def test_broadcast_results_are_read_only(device: str) -> None:
    x = xp.zeros((5,), device=device)
    for b in (xp.broadcast_to(x, (2, 5)), xp.broadcast_to(x, (5,)), xp.broadcast_arrays(x, x)[0]):
        for write in (b, b[0, ...] if b.ndim == 2 else b[1:]):
            with pytest.raises(ValueError, match="read-only"):
                write[...] = 1.0
            with pytest.raises(ValueError, match="read-only"):
                write[xp.asarray([0], device=device)] = 1.0
            with pytest.raises(ValueError, match="read-only"), write.host("rw"):
                pass
    check(x, np.zeros(5))
    copy = xp.asarray(xp.broadcast_to(x, (2, 5)), copy=True)
    copy[0, 0] = 1.0
    assert float(xp.sum(copy)) == 1.0
