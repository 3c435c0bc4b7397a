"""Creation functions against NumPy, on every device."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr._dtypes import ALL, NUMERIC


def same(got: Any, want: Any) -> None:
    """Check values, dtype and shape."""
    want = np.asarray(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_fills_of_every_dtype(device: str, dtype: Any) -> None:
    same(xp.zeros((2, 3), dtype=dtype), np.zeros((2, 3), dtype))
    same(xp.ones(4, dtype=dtype), np.ones(4, dtype))
    same(xp.full((), True, dtype=dtype), np.full((), True, dtype))
    x = xp.ones((2, 0), dtype=dtype)
    same(xp.zeros_like(x), np.zeros((2, 0), dtype))
    same(xp.ones_like(x, dtype=xp.int8), np.ones((2, 0), np.int8))
    assert xp.empty((3, 2), dtype=dtype).shape == xp.empty_like(xp.ones((3, 2))).shape


@pytest.mark.parametrize("value", [True, 3, 2.5, 1 + 2j, np.float32(1.5), np.uint8(7)])
def test_full_takes_the_dtype_of_its_value(device: str, value: Any) -> None:
    same(xp.full((2, 2), value), np.full((2, 2), value))
    same(xp.full_like(xp.zeros(3, dtype=xp.complex128), value), np.full(3, value, np.complex128))


def test_fills_cost_nothing_until_read(kernel_device: str) -> None:
    xp.stats(reset=True)
    x = xp.zeros((1 << 40,)) + xp.full((1 << 40,), 2.0)
    y = xp.arange(10) * 2 + xp.ones(10, dtype=xp.int64)
    assert x.shape == (1 << 40,)
    assert xp.stats().launches == 0
    same(y, np.arange(10) * 2 + 1)
    counts = xp.stats()
    assert (counts.launches, counts.h2d) == (1, 0)


def test_fill_errors(device: str) -> None:
    with pytest.raises(TypeError, match="cannot fill"):
        xp.full(3, 1.5, dtype=xp.int32)
    with pytest.raises(OverflowError):
        xp.full(3, 300, dtype=xp.uint8)
    with pytest.raises(OverflowError):
        xp.full(3, 2**63)
    with pytest.raises(ValueError, match="negative"):
        xp.zeros((2, -1))
    with pytest.raises(TypeError, match=r"shape .* 2\.5"):
        xp.zeros((2, 2.5))
    with pytest.raises(TypeError, match="broadcast_to"):
        xp.full(3, xp.asarray(1))
    with pytest.raises(TypeError, match="float16"):
        xp.zeros(3, dtype=np.float16)
    with pytest.raises(ValueError, match="unknown device"):
        xp.zeros(3, device="tpu")
    with pytest.raises(TypeError, match="asarray"):
        xp.zeros_like(np.zeros(3))  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
def test_arange_of_every_dtype(device: str, dtype: Any) -> None:
    same(xp.arange(3, 90, 7, dtype=dtype), np.arange(3, 90, 7).astype(dtype))


@pytest.mark.parametrize(
    "arguments",
    [
        (5,),
        (0,),
        (-3,),
        (2, 9),
        (9, 2),
        (9, 2, -2),
        (0.5, 4.2, 0.3),
        (1, 2, 0.25),
        (-1.0, -5.0, -1),
    ],
)
def test_arange(device: str, arguments: tuple[Any, ...]) -> None:
    want = np.arange(*arguments)
    start, _, step = (*arguments, 1)[:3] if len(arguments) > 1 else (0, 0, 1)
    # NumPy's own elements drift: it adds (start + step) - start
    same(xp.arange(*arguments), (start + step * np.arange(want.size)).astype(want.dtype))


def test_arange_at_the_ends_of_the_integers(device: str) -> None:
    same(xp.arange(2**64 - 3, 2**64, dtype=xp.uint64), np.arange(3, dtype=np.uint64) + (2**64 - 3))
    same(xp.arange(-(2**63), -(2**63) + 2), np.array([-(2**63), -(2**63) + 1]))
    with pytest.raises(OverflowError):
        xp.arange(0, 300, 100, dtype=xp.int8)
    with pytest.raises(ValueError, match="step"):
        xp.arange(0, 3, 0)
    with pytest.raises(ValueError, match="finite"):
        xp.arange(0.0, float("inf"))
    with pytest.raises(TypeError, match="bool"):
        xp.arange(3, dtype=xp.bool)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 7, 50])
@pytest.mark.parametrize("bounds", [(0, 1), (0.1, 0.7), (5.0, -3.0), (2, 2), (0.0, 5e-324)])
def test_linspace(device: str, bounds: Any, num: int, endpoint: bool) -> None:
    want = np.linspace(*bounds, num, endpoint=endpoint)
    same(xp.linspace(*bounds, num, endpoint=endpoint), want)
    same(
        xp.linspace(*bounds, num, endpoint=endpoint, dtype=xp.float32),
        np.linspace(*bounds, num, endpoint=endpoint, dtype=np.float32),
    )


def test_linspace_of_other_dtypes(device: str) -> None:
    same(xp.linspace(0, 9.5, 8, dtype=xp.int32), np.linspace(0, 9.5, 8, dtype=np.int32))
    same(xp.linspace(1j, 2 + 5j, 9), np.linspace(1j, 2 + 5j, 9))
    same(xp.linspace(0, 1, 5, dtype=xp.complex64), np.linspace(0, 1, 5).astype(np.complex64))
    with pytest.raises(ValueError, match="num"):
        xp.linspace(0, 1, -1)
    with pytest.raises(TypeError):
        xp.linspace(0, 1j, 3, dtype=xp.float64)


@pytest.mark.parametrize("k", [-9, -1, 0, 1, 2, 2**70])
@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (4, 1), (0, 3), (3, 0)])
def test_eye_and_triangles(device: str, shape: tuple[int, int], k: int) -> None:
    near = max(-100, min(k, 100))
    same(xp.eye(*shape, k=k), np.eye(*shape, k=near))
    same(xp.eye(shape[0], dtype=xp.complex64), np.eye(shape[0], dtype=np.complex64))
    want = np.arange(1, 2 * shape[0] * shape[1] + 1).reshape(2, *shape)
    x = xp.asarray(want)
    same(xp.tril(x, k=k), np.tril(want, near))
    same(xp.triu(x, k=k), np.triu(want, near))
    same(xp.triu(x.mT, k=k), np.triu(want.swapaxes(1, 2), near))


def test_triangle_is_one_kernel(kernel_device: str) -> None:
    x = xp.asarray(np.ones((3, 4)))
    xp.stats(reset=True)
    xp.evaluate(xp.tril(x + 1) * 2)
    assert xp.stats().launches == 1
    with pytest.raises(ValueError, match="axes"):
        xp.tril(xp.ones(3))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sizes", [(), (3,), (2, 3), (2, 1, 4)])
def test_meshgrid(device: str, sizes: tuple[int, ...], indexing: str) -> None:
    arrays = [np.arange(n) + 10 * n for n in sizes]
    got = xp.meshgrid(*[xp.asarray(a) for a in arrays], indexing=indexing)
    want = np.meshgrid(*arrays, indexing=indexing)
    assert isinstance(got, tuple) and len(got) == len(want)
    for x, y in zip(got, want, strict=True):
        same(x, y)
    if len(got) > 1:
        got[0][...] = 5  # a copy, not a read-only view
        same(got[0], np.full_like(want[0], 5))


def test_meshgrid_errors(device: str) -> None:
    with pytest.raises(ValueError, match="indexing"):
        xp.meshgrid(xp.ones(2), indexing="yx")
    with pytest.raises(ValueError, match="one-dimensional"):
        xp.meshgrid(xp.ones((2, 2)))


# asarray


@pytest.mark.parametrize(
    "obj",
    [
        True,
        5,
        2.5,
        1j,
        np.float32(3),
        np.uint64(2**64 - 1),
        [1, 2, 3],
        [[1, 2.5], [3, 4]],
        [],
        [[], []],
        (True, False),
        range(4),
        [1j, 2],
        [np.float32(1), np.float32(2)],
    ],
    ids=repr,
)
def test_asarray_of_python_objects(device: str, obj: Any) -> None:
    same(xp.asarray(obj), np.asarray(obj))
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray(obj, copy=False)


def test_asarray_converts(device: str) -> None:
    same(xp.asarray([1.7, -1.7], dtype=xp.int8), np.array([1, -1], np.int8))
    same(xp.asarray(3, dtype=xp.complex64), np.complex64(3))
    same(xp.asarray(np.array([1.5, np.nan, 1e30]), dtype=xp.int32), np.int32([1, 0, 2**31 - 1]))
    same(xp.asarray([2**64 - 1], dtype=xp.uint64), np.array([2**64 - 1], np.uint64))
    same(xp.asarray(1e300, dtype=xp.float32), np.float32(np.inf))
    same(xp.asarray(array.array("h", [1, 2])), np.array([1, 2], np.int16))
    same(xp.asarray(memoryview(b"ab")), np.array([97, 98], np.uint8))
    same(xp.asarray(b"ab"), np.array([97, 98], np.uint8))


@pytest.mark.parametrize(
    ("obj", "error"),
    [
        (2**63, OverflowError),
        ([0, 2**63], OverflowError),
        ([2**70], OverflowError),
        ("text", TypeError),
        (["a", "b"], TypeError),
        (None, TypeError),
        ([[1, 2], [3]], ValueError),
        (np.zeros(2, np.float16), TypeError),
        (np.array([None]), TypeError),
    ],
    ids=repr,
)
def test_asarray_errors(device: str, obj: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        xp.asarray(obj)


def test_complex_to_real_raises(device: str) -> None:
    for obj in (np.array([1j]), xp.asarray([1j])):
        with pytest.raises(TypeError, match="part"):
            xp.asarray(obj, dtype=xp.float64)
    with pytest.raises(TypeError):
        xp.asarray([1j], dtype=xp.float64)


SOURCES = {
    "c": np.arange(24.0).reshape(2, 3, 4),
    "fortran": np.asfortranarray(np.arange(12).reshape(3, 4)),
    "permuted": np.arange(24).reshape(2, 3, 4).transpose(1, 2, 0),
    "strided": np.arange(20)[::3],
    "backwards": np.arange(6)[::-1],
    "broadcast": np.broadcast_to(np.arange(3), (2, 3)),
    "empty": np.zeros((0, 3)),
    "0-d": np.array(7.0),
    "other byte order": np.arange(3, dtype=">i4"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_asarray_is_a_snapshot(device: str, name: str) -> None:
    source = SOURCES[name].copy(order="K") if name != "broadcast" else SOURCES[name]
    want = SOURCES[name].copy()
    xp.stats(reset=True)
    x = xp.asarray(source)
    assert x.location == "host"
    if name != "broadcast":
        source[...] = 99
    same(x, want.astype(want.dtype.newbyteorder("=")))
    same(x + 1, want.astype(want.dtype.newbyteorder("=")) + 1)
    assert xp.stats().h2d <= 1


def test_memory_order_is_kept(device: str) -> None:
    x = xp.asarray(SOURCES["fortran"])
    assert x.strides == SOURCES["fortran"].strides
    x[1, 2] = -1
    want = SOURCES["fortran"].copy()
    want[1, 2] = -1
    same(x, want)


@pytest.mark.parametrize("name", ["c", "fortran", "permuted", "0-d", "empty"])
def test_copy_false_shares_the_memory(device: str, name: str) -> None:
    source = SOURCES[name].copy(order="K")
    x = xp.asarray(source, copy=False)
    same(x, source)
    source[...] = 5
    same(x, source)
    same(x + 1, source + 1)
    source[...] = 6
    same(x * 2, source * 2)


def test_copy_false_writes_through_on_cpu() -> None:
    source = np.zeros(3)
    x = xp.asarray(source, copy=False, device="cpu")
    x[1] = 4.0
    x += 1
    np.testing.assert_array_equal(source, [1.0, 5.0, 1.0])


def test_copy_false_refuses(device: str) -> None:
    for name in ("strided", "backwards", "other byte order", "broadcast"):
        with pytest.raises(ValueError, match="copy=False"):
            xp.asarray(SOURCES[name], copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray(np.zeros(2), dtype=xp.float32, copy=False)
    fixed = np.zeros(2)
    fixed.flags.writeable = False
    x = xp.asarray(fixed, copy=False)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1


def test_asarray_of_arrays(device: str) -> None:
    x = xp.asarray([1, 2, 3])
    assert xp.asarray(x) is x
    assert xp.asarray(x, dtype=xp.int64) is x
    y = xp.asarray(x, copy=True)
    y[0] = 9
    same(x, np.array([1, 2, 3]))
    same(xp.asarray(x, dtype=xp.float32), np.array([1, 2, 3], np.float32))
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray(x, dtype=xp.float32, copy=False)
    same(xp.asarray([x[0], x[2]]), np.array([1, 3]))
    same(xp.asarray([[x[0], 2], [3, 4]]), np.array([[1, 2], [3, 4]]))
    same(xp.asarray([x, x + 1], dtype=xp.float32), np.array([[1, 2, 3], [2, 3, 4]], np.float32))
    with pytest.raises(TypeError, match="undefined"):
        xp.asarray([x[0], 2.5])


def test_asarray_moves_between_devices(device: str) -> None:
    x = xp.asarray([1.0, 2.0])
    y = xp.asarray(x, device="cpu", dtype=xp.float32)
    assert str(y.device) == "cpu"
    same(y, np.array([1, 2], np.float32))
    if device != "cpu":
        with pytest.raises(ValueError, match="copy=False"):
            xp.asarray(x, device="cpu", copy=False)


def test_scalars_are_never_copied(kernel_device: str) -> None:
    xp.stats(reset=True)
    xp.evaluate(xp.full(3, 2.0) + xp.asarray(2.0) * xp.asarray(np.float64(3)))
    assert xp.stats().h2d == 0


def test_asarray_of_a_list_that_contains_itself(device: str) -> None:
    endless: list[object] = [1]
    endless.append(endless)
    with pytest.raises(ValueError, match="nested deeper"):
        xp.asarray(endless)
