"""Reductions of one row space, and what lies between and after them, in one kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lazyarr as xp
from lazyarr._devices import parse_device
from lazyarr.codegen.key import PassesKey
from lazyarr.graph import evaluate
from tests.property.support import eager


@pytest.fixture
def launches(kernel_device: str) -> Iterator[Callable[[], int]]:
    """Count launches since the last call."""
    xp.stats(reset=True)
    yield lambda: xp.stats(reset=True).launches


def random(*shape: int, seed: int = 0, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def softmax(x: Any, axis: int = -1, np: Any = xp) -> Any:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def layer_norm(x: Any, weight: Any, bias: Any, np: Any = xp) -> Any:
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * weight + bias


# Lengths below and above each number of lanes; whole vectors, and ends of them.
LENGTHS = [2, 3, 31, 32, 64, 1000, 1023, 1024, 1027, 4096]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_is_one_kernel(launches: Any, length: int, dtype: Any) -> None:
    a = random(5, length, dtype=dtype)
    y = softmax(xp.asarray(a))
    xp.evaluate(y)
    assert launches() == 1
    tolerance = 1e-6 if dtype == np.float32 else 1e-14
    np.testing.assert_allclose(np.asarray(y), softmax(a, np=np), rtol=tolerance, atol=0)


def test_softmax_of_long_rows_is_one_kernel(launches: Any) -> None:
    a = random(512, 8200, dtype=np.float32)
    y = softmax(xp.asarray(a))
    xp.evaluate(y)
    assert launches() == 1
    np.testing.assert_allclose(np.asarray(y), softmax(a, np=np), rtol=3e-6, atol=0)


@pytest.mark.parametrize("shape", [(7, 33), (2, 3, 200), (1, 40), (64,)])
def test_layer_norm_is_one_kernel(launches: Any, shape: tuple[int, ...]) -> None:
    a, w, b = random(*shape), random(shape[-1], seed=1), random(shape[-1], seed=2)
    y = layer_norm(xp.asarray(a), xp.asarray(w), xp.asarray(b))
    xp.evaluate(y)
    assert launches() == 1
    np.testing.assert_allclose(np.asarray(y), layer_norm(a, w, b, np=np), rtol=1e-10, atol=1e-12)


def test_a_norm_and_a_softmax_after_it_are_one_kernel(launches: Any) -> None:
    a, w, b = random(6, 80), random(80, seed=1), random(80, seed=2)
    y = softmax(layer_norm(xp.asarray(a), xp.asarray(w), xp.asarray(b)))
    xp.evaluate(y)
    assert launches() == 1
    np.testing.assert_allclose(np.asarray(y), softmax(layer_norm(a, w, b, np=np), np=np), rtol=1e-9)


def test_the_variance_is_one_kernel_and_its_mean_another_output(launches: Any) -> None:
    a = random(9, 70)
    x = xp.asarray(a)
    mean = xp.mean(x, axis=1)
    variance = xp.mean((x - mean[:, None]) ** 2, axis=1)
    xp.evaluate(mean, variance)
    assert launches() == 1
    np.testing.assert_allclose(np.asarray(mean), a.mean(1), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(variance), a.var(1), rtol=1e-12)
    xp.evaluate(xp.std(x, axis=1))
    assert launches() == 1


@pytest.mark.parametrize("axes", [(0, 1), (1, 2), (0, 2), (2,), (0, 1, 2)])
def test_any_axes(launches: Any, axes: tuple[int, ...]) -> None:
    a = random(4, 6, 10)
    x = xp.asarray(a)
    total = xp.sum(x, axis=axes, keepdims=True)
    y = x / total + xp.max(x * total, axis=axes, keepdims=True)
    xp.evaluate(y)
    if 2 in axes:  # else columns are read faster, kernel by kernel
        assert launches() == 1
    s = a.sum(axes, keepdims=True)
    want = a / s + (a * s).max(axes, keepdims=True)
    np.testing.assert_allclose(np.asarray(y), want, rtol=1e-9)


def test_what_each_row_has_once_may_be_asked_for(launches: Any) -> None:
    a = random(8, 50)
    x = xp.asarray(a)
    norm = xp.sqrt(xp.sum(x * x, axis=1, keepdims=True)) + 1
    y = x / norm
    largest = xp.argmax(y, axis=1)
    xp.evaluate(norm, largest)
    assert launches() == 1
    want = np.sqrt((a * a).sum(1, keepdims=True)) + 1
    np.testing.assert_allclose(np.asarray(norm), want, rtol=1e-12)
    assert np.array_equal(np.asarray(largest), (a / want).argmax(1))
    # not asked for so far; computed from what is there
    xp.evaluate(y)
    assert launches() == 1
    np.testing.assert_allclose(np.asarray(y), a / want, rtol=1e-12)


def test_what_was_computed_once_is_stored_the_second_time(launches: Any) -> None:
    a = random(8, 50)
    x = xp.asarray(a)
    total = xp.sum(x, axis=1, keepdims=True)
    xp.evaluate(x / total)
    xp.evaluate(x * total)
    assert launches() == 2
    xp.evaluate(total)
    assert launches() == 0
    np.testing.assert_allclose(np.asarray(total), a.sum(1, keepdims=True), rtol=1e-12)


def test_nothing_outside_lies_in_between(launches: Any) -> None:
    #   x --- sum(rows) --- cumulative sum of it (a kernel of its own) --- x * that, summed by rows
    a = random(6, 40)
    x = xp.asarray(a)
    total = xp.sum(x, axis=1)
    before = xp.cumulative_sum(total)
    y = xp.sum(x * before[:, None] + total[:, None], axis=1)
    xp.evaluate(y)
    assert launches() == 3
    s = a.sum(1)
    want = (a * np.cumsum(s)[:, None] + s[:, None]).sum(1)
    np.testing.assert_allclose(np.asarray(y), want, rtol=1e-9)


def test_rows_of_another_space_do_not_join(launches: Any) -> None:
    a = random(12, 12)
    x = xp.asarray(a)
    rows = xp.sum(x, axis=1)
    wrong = x * rows[None, :]  # of the row sums, along the columns
    xp.evaluate(xp.sum(wrong, axis=1))
    assert launches() == 2
    y = xp.sum(x * xp.sum(x, axis=1)[None, :], axis=1)
    np.testing.assert_allclose(np.asarray(y), (a * a.sum(1)[None, :]).sum(1), rtol=1e-9)


def test_a_column_of_the_array_itself_beside_the_array(launches: Any) -> None:
    a = random(6, 30)
    x = xp.asarray(a)
    first = xp.exp(x[:, :1]) + xp.sum(x, axis=1, keepdims=True)  # reads x by rows
    y = x * first + x
    xp.evaluate(y)
    assert launches() == 1
    want = a * (np.exp(a[:, :1]) + a.sum(1, keepdims=True)) + a
    np.testing.assert_allclose(np.asarray(y), want, rtol=1e-9)


def test_reversed_rows_and_row_weights(launches: Any) -> None:
    a, w = random(7, 36), random(14, seed=3)
    x, weight = xp.asarray(a)[::-1, ::-2], xp.asarray(w)[::2]
    y = x - xp.max(x, axis=1, keepdims=True) * weight[:, None] + weight[:, None]
    z = xp.sum(y * y, axis=1) * weight
    xp.evaluate(y, z)
    assert launches() == 1
    b, v = a[::-1, ::-2], w[::2]
    want = b - b.max(1, keepdims=True) * v[:, None] + v[:, None]
    np.testing.assert_allclose(np.asarray(y), want, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(z), (want * want).sum(1) * v, rtol=1e-12)


def test_index_functions_and_other_dtypes(launches: Any) -> None:
    x = xp.arange(200)
    most = xp.max(x % 7, axis=0, keepdims=True)
    y = xp.where(x % 7 == most, xp.astype(x, xp.float32), -1.0)
    xp.evaluate(y)
    assert launches() == 1
    n = np.arange(200)
    assert np.array_equal(np.asarray(y), np.where(n % 7 == 6, n.astype(np.float32), -1))
    a = random(30, 40) > 1
    mask = xp.asarray(a)
    either = xp.any(mask, axis=1, keepdims=True) & (xp.eye(30, 40, dtype=xp.int8) == 1)
    xp.evaluate(either)
    assert launches() == 1
    assert np.array_equal(np.asarray(either), a.any(1, keepdims=True) & (np.eye(30, 40) == 1))


def test_columns_are_left_to_kernels_that_read_columns(launches: Any) -> None:
    a = random(40, 50)
    y = softmax(xp.asarray(a), axis=0)
    xp.evaluate(y)
    assert launches() == 3
    np.testing.assert_allclose(np.asarray(y), softmax(a, 0, np=np), rtol=1e-12)


def test_long_rows_are_left_to_kernels_that_share_a_row(launches: Any) -> None:
    a = random(2, 9000)
    y = softmax(xp.asarray(a))
    xp.evaluate(y)
    assert launches() == 3
    np.testing.assert_allclose(np.asarray(y), softmax(a, np=np), rtol=1e-12)


def test_a_write_in_place_takes_its_right_side_from_memory(kernel_device: str) -> None:
    a = random(5, 60)
    x = xp.asarray(a)
    x[:, 1:] = softmax(x)[:, :-1]
    want = a.copy()
    want[:, 1:] = softmax(a, np=np)[:, :-1]
    np.testing.assert_allclose(np.asarray(x), want, rtol=1e-12)


@pytest.mark.parametrize("length", [3, 50, 1500])
def test_bits_are_those_of_single_kernels(kernel_device: str, length: int) -> None:
    a, w, b = random(6, length), random(length, seed=1), random(length, seed=2)

    def program() -> list[Any]:
        x = xp.asarray(a)
        y = layer_norm(x, xp.asarray(w), xp.asarray(b))
        z = y / xp.sqrt(xp.sum(y * y, axis=1, keepdims=True))
        return [y, z, xp.sum(z, axis=1), xp.argmin(z * y, axis=1)]

    xp.stats(reset=True)
    together = program()
    xp.evaluate(*together)
    launched = xp.stats(reset=True).launches
    with eager():
        single = program()
    assert launched == 1 < xp.stats().launches
    for one, other in zip(together, single, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_many_wide_accumulators(launches: Any) -> None:
    # each exchanges 16 bytes a thread through shared memory, which they share
    a = random(3, 2000)[:, ::2]
    x = xp.asarray(a)
    found = [xp.argmax(x * k, axis=1) for k in range(1, 13)]
    first = xp.astype(found[0], xp.float64)
    later = [xp.argmin(x + first[:, None] * k, axis=1) for k in range(12)]
    xp.evaluate(*found, *later)
    assert launches() == 1
    for k in range(12):
        assert np.array_equal(np.asarray(found[k]), (a * (k + 1)).argmax(1))
        assert np.array_equal(np.asarray(later[k]), (a + a.argmax(1)[:, None] * k).argmin(1))
    columns = [xp.argmax(xp.asarray(random(300, 40, seed=k)), axis=0) for k in range(9)]
    xp.evaluate(*columns)
    for k, column in enumerate(columns):
        assert np.array_equal(np.asarray(column), random(300, 40, seed=k).argmax(0))


def test_an_explanation_names_the_kernel(kernel_device: str) -> None:
    text = xp.explain(softmax(xp.asarray(random(4, 100))))
    assert "1 kernel" in text
    assert "exp" in text
    assert "max" in text


def test_its_keys_leave_shapes_out(kernel_device: str) -> None:
    kernels = evaluate.runtime(parse_device(kernel_device)).kernels
    counts = []
    for rows, length in ((3, 260), (5, 300), (9, 264)):
        xp.evaluate(softmax(xp.asarray(random(rows, length, dtype=np.float32)) * 3))
        counts.append(sum(isinstance(k, PassesKey) for k in kernels))
    assert counts[0] >= 1
    assert counts == counts[:1] * 3


def test_kernels_over_two_spaces_do_not_wait_for_each_other(launches: Any) -> None:
    a, b = random(8, 40), random(8, 50)
    x, y = xp.asarray(a), xp.asarray(b)
    sx, sy = xp.sum(x, axis=1)[:, None], xp.sum(y, axis=1)[:, None]
    first, second = (x - sx) * sy, (y - sy) * sx
    text = xp.explain(first + sy)
    assert "sum" in text
    xp.evaluate(first, second)
    assert launches() <= 4
    s, t = a.sum(1)[:, None], b.sum(1)[:, None]
    np.testing.assert_allclose(np.asarray(first), (a - s) * t, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(second), (b - t) * s, rtol=1e-9)


def test_vectors_of_two_lengths_that_need_each_other(kernel_device: str) -> None:
    a, b = random(40), random(50)
    x, y = xp.asarray(a), xp.asarray(b)
    p, q = xp.max(x), xp.max(y)
    total = xp.sum(xp.exp(x - p) * q) + xp.sum(xp.exp(y - q) * p)
    want = (np.exp(a - a.max()) * b.max()).sum() + (np.exp(b - b.max()) * a.max()).sum()
    np.testing.assert_allclose(float(total), want, rtol=1e-12)


def test_three_spaces_in_a_ring(kernel_device: str) -> None:
    arrays = [random(6, n, seed=n) for n in (30, 40, 50)]
    rows = [xp.asarray(a) for a in arrays]
    sums = [xp.sum(x, axis=1)[:, None] for x in rows]
    results = [(rows[k] - sums[k]) * sums[(k + 1) % 3] for k in range(3)]
    xp.evaluate(*results)
    totals = [a.sum(1)[:, None] for a in arrays]
    for k in range(3):
        want = (arrays[k] - totals[k]) * totals[(k + 1) % 3]
        np.testing.assert_allclose(np.asarray(results[k]), want, rtol=1e-9)


def test_what_comes_before_the_first_pass_is_in_the_kernel(launches: Any) -> None:
    a = random(6, 60)
    y = softmax(xp.asarray(a) * 2.0 + 1)
    xp.evaluate(y)
    assert launches() == 1
    np.testing.assert_allclose(np.asarray(y), softmax(a * 2.0 + 1, np=np), rtol=1e-12)


def test_kernels_have_a_size(kernel_device: str) -> None:
    a = random(4, 33)
    x = xp.asarray(a)
    results = [x * c - xp.max(x * c, axis=1, keepdims=True) for c in range(70)]
    sums = [xp.sum(x * c, axis=1) for c in range(150)]
    xp.evaluate(*results, *sums)
    for c in (0, 1, 69):
        want = a * c - (a * c).max(1, keepdims=True)
        np.testing.assert_allclose(np.asarray(results[c]), want, rtol=1e-12)
        np.testing.assert_allclose(np.asarray(sums[c]), (a * c).sum(1), rtol=1e-9, atol=1e-12)
    kernels = evaluate.runtime(parse_device(kernel_device)).kernels
    assert max(len(k.body) for k in kernels if hasattr(k, "body")) <= 400
