"""The ``fft`` extension against NumPy."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazyarr as xp

NORMS = ["backward", "ortho", "forward"]
FLOATS = [xp.float32, xp.float64, xp.complex64, xp.complex128]
FROM_REAL = ("rfft", "ihfft")
ONE = ("fft", "ifft", "irfft", "hfft", *FROM_REAL)
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")


def sample(shape: Any, dtype: Any, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def check(got: Any, want: Any) -> None:
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    tol = (4e-5 if np.finfo(want.dtype).dtype == np.float32 else 1e-12) * max(
        1.0, float(np.max(np.abs(want), initial=0))
    )
    np.testing.assert_allclose(np.asarray(got), want, rtol=0, atol=tol)


LAYOUTS: dict[str, Any] = {
    "in order": xp.asarray,
    "Fortran": lambda a: xp.asarray(np.asfortranarray(a)),
    "permuted": lambda a: xp.permute_dims(xp.asarray(a.T.copy()), tuple(range(a.ndim))[::-1]),
    "backwards": lambda a: xp.flip(xp.asarray(np.flip(a).copy())),
    "doubly strided": lambda a: xp.asarray(np.repeat(a, 2, axis=-1))[..., ::2],
    "pending": lambda a: xp.asarray(a) * 1,
}


@given(st.data())
@pytest.mark.parametrize("name", ONE)
def test_along_one_axis(device: str, name: str, data: Any) -> None:
    shape = data.draw(st.sampled_from([(1,), (6,), (7,), (3, 4), (4, 1, 5), (2, 3, 4, 2), (3, 0)]))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    m = shape[axis]
    halved = name in ("irfft", "hfft")
    smallest = 1 if halved or m == 0 else 0
    n = data.draw(st.integers(1, 9) if m <= smallest else st.none() | st.integers(1, 9))
    dtype = data.draw(st.sampled_from(FLOATS[:2] if name in FROM_REAL else FLOATS))
    norm = data.draw(st.sampled_from(NORMS))
    a = sample(shape, dtype, data.draw(st.integers(0, 99)))
    x = LAYOUTS[data.draw(st.sampled_from(list(LAYOUTS)))](a)
    with xp.transfer_guard(d2h="error"):
        got = getattr(xp.fft, name)(x, n=n, axis=axis, norm=norm)
        xp.evaluate(got)
    padded = a if m else np.zeros_like(a, shape=(3, 1))  # NumPy reads beyond an empty axis
    check(got, getattr(np.fft, name)(padded, n=n, axis=axis, norm=norm))
    np.testing.assert_array_equal(np.asarray(x), a)


@given(st.data())
@pytest.mark.parametrize("name", SEVERAL)
def test_along_several_axes(device: str, name: str, data: Any) -> None:
    shape = data.draw(st.sampled_from([(5,), (3, 4), (4, 3, 5), (2, 3, 4, 2), (2, 3, 2, 3, 2)]))
    axes = data.draw(
        st.none()
        | st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True).flatmap(
            lambda chosen: st.sampled_from([chosen, [d - len(shape) for d in chosen]])
        )
    )
    s = None
    if axes is not None:
        s = data.draw(st.none() | st.tuples(*[st.integers(1, 5) for _ in axes]))
    dtype = data.draw(st.sampled_from(FLOATS[:2] if name == "rfftn" else FLOATS))
    norm = data.draw(st.sampled_from(NORMS))
    a = sample(shape, dtype, data.draw(st.integers(0, 99)))
    x = LAYOUTS[data.draw(st.sampled_from(list(LAYOUTS)))](a)
    with xp.transfer_guard(d2h="error"):
        got = getattr(xp.fft, name)(x, s=s, axes=axes, norm=norm)
        xp.evaluate(got)
    check(got, getattr(np.fft, name)(a, s=s, axes=axes, norm=norm))
    np.testing.assert_array_equal(np.asarray(x), a)


@pytest.mark.parametrize("n", [1, 2, 3, 16, 31, 97, 120, 1000, 1024])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_any_length(device: str, n: int, dtype: Any) -> None:
    a = sample((2, n), dtype)
    x = xp.asarray(a)
    check(xp.fft.fft(x), np.fft.fft(a))
    check(xp.fft.ifft(xp.fft.fft(x)), a.astype(np.result_type(dtype, np.complex64)))
    if a.dtype.kind == "f":
        check(xp.fft.irfft(xp.fft.rfft(x), n=n), a)
        check(xp.fft.hfft(xp.fft.ihfft(x), n=n), a)


def test_imaginary_parts_that_no_real_signal_has(device: str) -> None:
    for n in (6, 7):
        a = sample((3, 4), np.complex128)
        check(xp.fft.irfft(xp.asarray(a), n=n), np.fft.irfft(a, n=n))
        check(xp.fft.irfftn(xp.asarray(a), s=(3, n), axes=(0, 1)), np.fft.irfftn(a, (3, n), (0, 1)))


def test_minus_one_leaves_an_axis_as_it_is(device: str) -> None:
    a = sample((3, 4, 5), np.complex128)
    x = xp.asarray(a)
    check(xp.fft.fftn(x, s=(-1, 2), axes=(0, 2)), np.fft.fftn(a, (3, 2), (0, 2)))
    check(xp.fft.irfftn(x, s=(2, -1), axes=(0, 2)), np.fft.irfftn(a, (2, 8), (0, 2)))
    check(xp.fft.rfftn(xp.real(x), s=(-1, -1), axes=(0, 2)), np.fft.rfftn(a.real, axes=(0, 2)))


def test_no_axes(device: str) -> None:
    a = sample((3,), np.float32)
    x = xp.asarray(a)
    same = xp.fft.fftn(x, axes=())
    check(same, a.astype(np.complex64))
    y = xp.fft.ifftn(xp.asarray(a + 0j), axes=())
    y[0] = 0
    assert complex(xp.asarray(a + 0j)[0]) != 0
    check(xp.fft.fftn(xp.asarray(np.complex64(2))), np.asarray(np.complex64(2)))


# Laziness, calls, copies.


def on_device(a: Any) -> xp.Array:
    x = xp.asarray(a)
    xp.prefetch(x)
    return x


def test_a_transform_is_lazy_and_one_call(kernel_device: str) -> None:
    a = sample((4, 8), np.complex64)
    x = on_device(a)
    with xp.transfer_guard("error"):
        xp.evaluate(xp.abs(xp.fft.ifft(x * 2)))
        xp.stats(reset=True)
        y = xp.abs(xp.fft.ifft(x * 2))
        assert xp.stats().launches + xp.stats().library_calls == 0
        xp.evaluate(y)
    counts = xp.stats()
    # One kernel before; the factor 1/n fuses with what follows.
    assert (counts.launches, counts.library_calls, counts.evaluations) == (2, 1, 1)
    assert (counts.h2d, counts.d2h, counts.control) == (0, 0, 0)
    check(y, np.abs(np.fft.ifft(a * 2)))


@pytest.mark.parametrize(
    ("axes", "calls", "copies"),
    [((2,), 1, 0), ((1, 2), 1, 0), ((2, 0, 1), 1, 0), ((1,), 1, 2), ((0, 2), 1, 2)],
    ids=str,
)
def test_copies_only_where_axes_are_not_the_last(
    kernel_device: str, axes: Any, calls: int, copies: int
) -> None:
    x = on_device(sample((3, 4, 5), np.complex128))
    xp.stats(reset=True)
    xp.evaluate(xp.fft.fftn(x, axes=axes))
    counts = xp.stats()
    assert (counts.library_calls, counts.launches) == (calls, copies)


def test_moving_axes_converts_as_well(kernel_device: str) -> None:
    a = sample((3, 4), np.float32)
    x = on_device(a)
    xp.stats(reset=True)
    y = xp.abs(xp.fft.fft(x, axis=0))
    xp.evaluate(y)
    counts = xp.stats()
    assert (counts.library_calls, counts.launches) == (1, 2)
    check(y, np.abs(np.fft.fft(a, axis=0)))


def test_four_axes_are_two_calls(kernel_device: str) -> None:
    a = sample((2, 3, 4, 5), np.float64)
    x = on_device(a)
    xp.stats(reset=True)
    y = xp.fft.rfftn(x)
    xp.evaluate(y)
    assert xp.stats().library_calls == 2
    check(y, np.fft.rfftn(a))


def test_cropping_and_padding_stay_lazy(kernel_device: str) -> None:
    a = sample((3, 5), np.float32)
    x = on_device(a)
    xp.stats(reset=True)
    short, long = xp.fft.rfft(x, n=4), xp.fft.rfft(x + 1, n=9)
    assert xp.stats().launches == 0
    x[...] = 0  # results are those of the call
    check(short, np.fft.rfft(a, n=4))
    check(long, np.fft.rfft(a + 1, n=9))


def test_a_transform_is_in_trace_and_explanation(kernel_device: str) -> None:
    x = on_device(sample((4, 8), np.float64))
    y = xp.fft.rfft(x)
    assert "fft: a library call" in xp.explain(y)
    with xp.trace() as t:
        xp.evaluate(y)
    (event,) = [e for e in t if e.kind == "library"]
    assert (event.name, event.nbytes) == ("fft", 8 * 32 + 16 * 20)
    assert event.gpu_seconds is not None


def test_in_a_program(device: str) -> None:
    a = sample(64, np.float64)
    x = xp.asarray(a)
    spectrum = xp.fft.rfft(x)
    x *= 0.0
    spectrum[8:] = 0
    want = np.fft.rfft(a)
    want[8:] = 0
    check(xp.fft.irfft(spectrum), np.fft.irfft(want))


# Frequencies and shifts.


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("d", [1.0, 0.3, -2])
def test_frequencies(device: str, n: int, d: Any) -> None:
    for name in ("fftfreq", "rfftfreq"):
        got = getattr(xp.fft, name)(n, d=d)
        check(got, getattr(np.fft, name)(n, d))
        assert str(got.device) == device
        single = getattr(xp.fft, name)(n, d=d, dtype=xp.float32, device="cpu")
        assert str(single.device) == "cpu"
        np.testing.assert_array_equal(np.asarray(single), np.asarray(got).astype(np.float32))


@pytest.mark.parametrize("shape", [(1,), (4,), (5,), (3, 4), (0, 3)], ids=str)
def test_shifts(device: str, shape: Any) -> None:
    a = sample(shape, np.float32)
    x = xp.asarray(a)
    for axes in (None, 0, (len(shape) - 1,), ()):
        for name in ("fftshift", "ifftshift"):
            want = getattr(np.fft, name)(a, axes)
            np.testing.assert_array_equal(np.asarray(getattr(xp.fft, name)(x, axes=axes)), want)
        back = xp.fft.ifftshift(xp.fft.fftshift(x, axes=axes), axes=axes)
        np.testing.assert_array_equal(np.asarray(back), a)


# Errors.


@pytest.mark.parametrize("name", ONE + SEVERAL)
def test_wrong_arguments(device: str, name: str) -> None:
    function = getattr(xp.fft, name)
    x = xp.ones((3, 4), dtype=xp.float64 if name in (*FROM_REAL, "rfftn") else xp.complex128)
    several = name in SEVERAL
    length = {"s": (0,), "axes": (0,)} if several else {"n": 0}
    outside = {"axes": (2,)} if several else {"axis": 2}
    with pytest.raises(ValueError, match="at least 1 element"):
        function(x, **length)
    with pytest.raises(IndexError, match="axis"):
        function(x, **outside)
    with pytest.raises(ValueError, match="norm"):
        function(x, norm="none")
    with pytest.raises(TypeError, match="floating-point dtype, not int64"):
        function(xp.ones((3, 4), dtype=xp.int64))
    with pytest.raises(TypeError, match="lazyarr array"):
        function(np.ones((3, 4)))
    if several:
        with pytest.raises(ValueError, match="need axes="):
            function(x, s=(2, 2))
        with pytest.raises(ValueError, match="twice"):
            function(x, axes=(0, -2))
        with pytest.raises(ValueError, match="lengths"):
            function(x, s=(2,), axes=(0, 1))
    if name in (*FROM_REAL, "rfftn"):
        with pytest.raises(TypeError, match="real floating-point"):
            function(xp.ones((3, 4), dtype=xp.complex64))


def test_other_errors(device: str) -> None:
    for error, text, call in [
        (ValueError, "at least one axis", lambda: xp.fft.rfftn(xp.ones(3), axes=())),
        (ValueError, "at least one axis", lambda: xp.fft.irfftn(xp.asarray(1j))),
        (ValueError, "at least 1 element", lambda: xp.fft.irfft(xp.ones(1))),
        (ValueError, "at least 1 element", lambda: xp.fft.fft(xp.zeros(0))),
        (ValueError, "at least 1 element", lambda: xp.fft.fftfreq(0)),
        (TypeError, "n must be an integer", lambda: xp.fft.rfftfreq(2.5)),
        (ValueError, "distance", lambda: xp.fft.fftfreq(3, d=0)),
        (TypeError, "dtype", lambda: xp.fft.fftfreq(3, dtype=xp.complex64)),
        (IndexError, "axis", lambda: xp.fft.fftshift(xp.ones(3), axes=1)),
    ]:
        with pytest.raises(error, match=text):
            call()


@pytest.mark.parametrize("name", xp.fft.__all__)
def test_names_are_documented(name: str) -> None:
    assert inspect.getdoc(getattr(xp.fft, name))
