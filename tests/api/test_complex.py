"""Complex functions: the standard's special cases, branch cuts, no overflow on the way."""

from __future__ import annotations

import cmath
import itertools
import math
from typing import Any

import numpy as np
import pytest

import lazyarr as xp

from ..property.support import same_bits

# The standard's lists, one case a line: real part, imaginary part -> the parts of the result.
# Operands: fin, pos and nz stand for some finite, positive, nonzero finite numbers, 0 for both
# zeros, any for everything. Results: a leading ~ leaves the sign open, cis is infinity times
# cos(b) and sin(b), cis0 zero times them.
CASES = {
    "acos": """
        0 +0 -> pi/2 -0
        0 nan -> pi/2 nan
        fin inf -> pi/2 -inf
        nz nan -> nan nan
        -inf pos -> pi -inf
        inf pos -> +0 -inf
        -inf inf -> 3pi/4 -inf
        inf inf -> pi/4 -inf
        inf nan -> nan ~inf
        -inf nan -> nan ~inf
        nan fin -> nan nan
        nan inf -> nan -inf
        nan nan -> nan nan""",
    "acosh": """
        0 +0 -> +0 pi/2
        fin inf -> inf pi/2
        nz nan -> nan nan
        +0 nan -> nan ~pi/2
        -inf pos -> inf pi
        inf pos -> inf +0
        -inf inf -> inf 3pi/4
        inf inf -> inf pi/4
        inf nan -> inf nan
        -inf nan -> inf nan
        nan fin -> nan nan
        nan inf -> inf nan
        nan nan -> nan nan""",
    "asinh": """
        +0 +0 -> +0 +0
        pos inf -> inf pi/2
        fin nan -> nan nan
        inf pos -> inf +0
        inf inf -> inf pi/4
        nan +0 -> nan +0
        nan nz -> nan nan
        nan inf -> ~inf nan
        nan nan -> nan nan""",
    "atanh": """
        +0 +0 -> +0 +0
        +0 nan -> +0 nan
        1 +0 -> inf +0
        pos inf -> +0 pi/2
        nz nan -> nan nan
        inf pos -> +0 pi/2
        inf inf -> +0 pi/2
        inf nan -> +0 nan
        nan fin -> nan nan
        nan inf -> ~0 pi/2
        nan nan -> nan nan""",
    "cosh": """
        +0 +0 -> 1 +0
        +0 inf -> nan ~0
        +0 nan -> nan ~0
        nz inf -> nan nan
        nz nan -> nan nan
        inf +0 -> inf +0
        inf nz -> cis cis
        inf inf -> ~inf nan
        inf nan -> inf nan
        nan 0 -> nan ~0
        nan nz -> nan nan
        nan nan -> nan nan""",
    "exp": """
        0 +0 -> 1 +0
        fin inf -> nan nan
        fin nan -> nan nan
        inf +0 -> inf +0
        -inf fin -> cis0 cis0
        inf nz -> cis cis
        -inf inf -> ~0 ~0
        inf inf -> ~inf nan
        -inf nan -> ~0 ~0
        inf nan -> ~inf nan
        nan +0 -> nan +0
        nan nz -> nan nan
        nan nan -> nan nan""",
    "expm1": """
        0 +0 -> +0 +0
        fin inf -> nan nan
        fin nan -> nan nan
        inf +0 -> inf +0
        -inf fin -> -1 cis0
        inf nz -> cis cis
        -inf inf -> -1 ~0
        inf inf -> ~inf nan
        -inf nan -> -1 ~0
        inf nan -> ~inf nan
        nan +0 -> nan +0
        nan nz -> nan nan
        nan nan -> nan nan""",
    "log": """
        -0 +0 -> -inf pi
        +0 +0 -> -inf +0
        fin inf -> inf pi/2
        fin nan -> nan nan
        -inf pos -> inf pi
        inf pos -> inf +0
        -inf inf -> inf 3pi/4
        inf inf -> inf pi/4
        inf nan -> inf nan
        -inf nan -> inf nan
        nan fin -> nan nan
        nan inf -> inf nan
        nan nan -> nan nan""",
    "log1p": """
        -1 +0 -> -inf +0
        fin inf -> inf pi/2
        fin nan -> nan nan
        -inf pos -> inf pi
        inf pos -> inf +0
        -inf inf -> inf 3pi/4
        inf inf -> inf pi/4
        inf nan -> inf nan
        -inf nan -> inf nan
        nan fin -> nan nan
        nan inf -> inf nan
        nan nan -> nan nan""",
    "sinh": """
        +0 +0 -> +0 +0
        +0 inf -> ~0 nan
        +0 nan -> ~0 nan
        pos inf -> nan nan
        pos nan -> nan nan
        inf +0 -> inf +0
        inf pos -> cis cis
        inf inf -> ~inf nan
        inf nan -> ~inf nan
        nan +0 -> nan +0
        nan nz -> nan nan
        nan nan -> nan nan""",
    "sqrt": """
        0 +0 -> +0 +0
        any inf -> inf inf
        fin nan -> nan nan
        -inf pos -> +0 inf
        inf pos -> inf +0
        -inf nan -> nan ~inf
        inf nan -> inf nan
        nan fin -> nan nan
        nan nan -> nan nan""",
    "tanh": """
        +0 +0 -> +0 +0
        nz inf -> nan nan
        +0 inf -> +0 nan
        nz nan -> nan nan
        +0 nan -> +0 nan
        inf pos -> 1 +0
        inf inf -> 1 ~0
        inf nan -> 1 ~0
        nan +0 -> nan +0
        nan nz -> nan nan
        nan nan -> nan nan""",
    "sign": """
        0 0 -> +0 +0
        nan any -> nan nan
        any nan -> nan nan""",
}
# Odd functions, whose lists give the first quadrant alone.
ODD = {"asinh", "atanh", "sinh", "tanh"}
# f(z) = -i g(i z), except cos(z) = cosh(i z).
TURNED = {"sin": "sinh", "cos": "cosh", "tan": "tanh", "asin": "asinh", "atan": "atanh"}

FINITE = [-3.5, -1.0, -0.25, -0.0, 0.0, 0.25, 1.0, 2.5]
OPERANDS = {
    "0": [0.0, -0.0], "+0": [0.0], "-0": [-0.0], "inf": [math.inf], "-inf": [-math.inf],
    "nan": [math.nan], "1": [1.0], "-1": [-1.0], "fin": FINITE,
    "pos": [v for v in FINITE if v > 0], "nz": [v for v in FINITE if v != 0],
    "any": [*FINITE, math.inf, -math.inf, math.nan],
}  # fmt: skip
RESULTS = {
    "0": 0.0, "+0": 0.0, "-0": -0.0, "1": 1.0, "-1": -1.0, "inf": math.inf, "-inf": -math.inf,
    "nan": math.nan, "pi": math.pi, "pi/2": math.pi / 2, "pi/4": math.pi / 4,
    "3pi/4": 3 * math.pi / 4,
}  # fmt: skip
DTYPES = [xp.complex64, xp.complex128]


def cases(name: str) -> list[tuple[complex, str, str]]:
    """Return every input of a function's list with its two results."""
    found = []
    for line in CASES[name].strip().splitlines():
        operands, results = line.split("->")
        a, b = operands.split()
        for pair in itertools.product(OPERANDS[a], OPERANDS[b]):
            found.append((complex(*pair), *results.split()))
    return found


def fits(got: float, want: str, b: float, part: Any) -> bool:
    if want.startswith("cis"):
        wanted = (0.0 if want == "cis0" else math.inf) * part(b)
        return same(got, math.copysign(0.0, b) if wanted != wanted else wanted)
    wanted = RESULTS[want.lstrip("~")]
    return same(abs(got), wanted) if want.startswith("~") else same(got, wanted)


def same(got: float, want: float) -> bool:
    if math.isnan(want):
        return math.isnan(got)
    close = math.isclose(got, want, rel_tol=1e-6)
    return close and math.copysign(1, got) == math.copysign(1, want)


def apply(name: str, values: Any, dtype: Any) -> Any:
    return np.asarray(getattr(xp, name)(xp.asarray(np.asarray(values, dtype))))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_special_cases(device: str, name: str, dtype: Any) -> None:
    listed = cases(name)
    for z, (_, re, im), w in zip(
        [z for z, _, _ in listed],
        listed,
        apply(name, [z for z, _, _ in listed], dtype),
        strict=True,
    ):
        right = fits(float(w.real), re, z.imag, math.cos) and fits(
            float(w.imag), im, z.imag, math.sin
        )
        assert right, f"{name}({z!r}) is {w!r}, not {re} + {im} j"


GRID = np.asarray([complex(a, b) for a, b in itertools.product(OPERANDS["any"], OPERANDS["any"])])


def same_but_for_open_signs(a: Any, b: Any) -> Any:
    """Compare parts with their signs; by size alone where a part is NaN and leaves signs open."""
    both = np.stack([a.real, a.imag]), np.stack([b.real, b.imag])
    sizes = np.isclose(np.abs(both[0]), np.abs(both[1]), rtol=1e-6, atol=0, equal_nan=True)
    signs = np.signbit(both[0]) == np.signbit(both[1])
    return (sizes & (signs | np.isnan(both[0]).any(0))).all(0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", [*CASES, *TURNED, "log2", "log10", "square"])
def test_conjugates(device: str, name: str, dtype: Any) -> None:
    z = GRID if name != "sign" else GRID[GRID != 0]  # the sign of 0 is +0 + 0j
    good = same_but_for_open_signs(apply(name, z.conj(), dtype), apply(name, z, dtype).conj())
    infinite = np.isinf(z.real) & ~np.isfinite(z.imag)  # signs of zeros are open there too
    assert good[~infinite].all(), z[~infinite][~good[~infinite]]


@pytest.mark.parametrize("name", sorted(ODD))
def test_odd_functions(device: str, name: str) -> None:
    good = same_but_for_open_signs(
        apply(name, -GRID, xp.complex128), -apply(name, GRID, xp.complex128)
    )
    infinite = np.isinf(GRID.real) & ~np.isfinite(GRID.imag)
    assert good[~infinite].all(), GRID[~infinite][~good[~infinite]]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", TURNED)
def test_functions_of_a_turned_argument(device: str, name: str, dtype: Any) -> None:
    turned = np.empty_like(GRID)
    turned.real, turned.imag = -GRID.imag, GRID.real
    w = apply(TURNED[name], turned, dtype)
    want = w.copy()
    if name != "cos":
        want.real, want.imag = w.imag, -w.real
    good = same_but_for_open_signs(apply(name, GRID, dtype), want)
    # signs of zeros are open where one part is infinite and the other one is NaN
    infinite = ~np.isfinite(GRID.real) & ~np.isfinite(GRID.imag)
    assert good[~infinite].all(), GRID[~infinite][~good[~infinite]]


# Where the cuts are: points on them, and the direction across.
CUTS: dict[str, tuple[list[float], bool]] = {
    "sqrt": ([-1.0, -3e5, -1e-5], False),
    "log": ([-1.0, -3e5, -1e-5], False),
    "log2": ([-1.0, -3e5], False),
    "log10": ([-1.0, -3e5], False),
    "log1p": ([-1.5, -3e5], False),
    "asin": ([1.5, -1.5, 3e5, -3e5], False),
    "acos": ([1.5, -1.5, 3e5, -3e5], False),
    "acosh": ([0.5, -0.5, -1.5, -3e5], False),
    "atanh": ([1.5, -1.5, 3e5, -3e5], False),
    "asinh": ([1.5, -1.5, 3e5, -3e5], True),
    "atan": ([1.5, -1.5, 3e5, -3e5], True),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", CUTS)
def test_branch_cuts_are_continuous_from_the_side_of_the_zero(
    device: str, name: str, dtype: Any
) -> None:
    where, imaginary = CUTS[name]
    for x, side in itertools.product(where, (1.0, -1.0)):
        zero, small = math.copysign(0.0, side), math.copysign(1e-30, side)
        pairs = [(zero, x), (small, x)] if imaginary else [(x, zero), (x, small)]
        on, beside = apply(name, [complex(*p) for p in pairs], dtype)
        assert cmath.isclose(on, beside, rel_tol=1e-5), (x, side, on, beside)
        other = apply(name, [complex(-zero, x) if imaginary else complex(x, -zero)], dtype)[0]
        assert not cmath.isclose(on, other, rel_tol=1e-5), (x, side, on, other)


BIG, TINY = 1.7e308, 5e-324
EXTREMES = [
    ("sqrt", complex(BIG, BIG), complex(1.4325106506453e154, 5.9336534076494e153)),
    ("sqrt", complex(TINY, TINY), complex(2.4420823446e-162, 1.0115436273e-162)),
    ("sqrt", complex(-4 * TINY, 0.0), complex(0.0, 4.4456303486e-162)),
    ("log", complex(BIG, BIG), complex(710.0734104835, math.pi / 4)),
    ("log", complex(TINY, -TINY), complex(-744.0934983, -math.pi / 4)),
    ("log2", complex(0.0, 8.0), complex(3.0, 2.2661800709)),
    ("exp", complex(720.0, 1e-10), complex(math.inf, 4.920700930264e302)),
    ("exp", complex(1000.0, 1e-300), complex(math.inf, 1.97007111401e134)),
    ("exp", complex(710.0, 1.5), complex(1.580265382986e307, math.inf)),
    ("sinh", complex(710.3, 0.5), complex(1.323209118921e308, 7.228724362506e307)),
    ("cosh", complex(-710.3, 0.5), complex(1.323209118921e308, -7.228724362506e307)),
    ("sinh", complex(-720.0, 1e-20), complex(-math.inf, 2.460350465132e292)),
    ("tanh", complex(400.0, 1.0), complex(1.0, 0.0)),
    ("tan", complex(1.0, -300.0), complex(1.7e-261, -1.0)),
    ("abs", complex(BIG / 2, BIG / 2), 1.2020815280171e308),
    ("sign", complex(BIG, -BIG), complex(0.5**0.5, -(0.5**0.5))),
    ("sign", complex(TINY, TINY), complex(0.5**0.5, 0.5**0.5)),
    ("reciprocal", complex(BIG, BIG), complex(2.9411764705882e-309, -2.9411764705882e-309)),
    ("reciprocal", complex(1e-200, 1e-200), complex(5e199, -5e199)),
    ("reciprocal", complex(math.inf, math.inf), complex(0.0, -0.0)),
    ("acos", complex(1e200, 1e200), complex(math.pi / 4, -461.5566)),
    ("asin", complex(1e-300, 1e-300), complex(1e-300, 1e-300)),
    ("acosh", complex(BIG, BIG), complex(710.7665576641, math.pi / 4)),
    ("asinh", complex(-BIG, TINY), complex(-710.4199840738, 0.0)),
    ("atanh", complex(1e200, 1e200), complex(5e-201, math.pi / 2)),
    ("atanh", complex(1.0, 1e-200), complex(230.6051, math.pi / 4)),
    ("atanh", complex(1e-300, 1e-300), complex(1e-300, 1e-300)),
    ("log1p", complex(1e-200, 1e-210), complex(1e-200, 1e-210)),
    ("log1p", complex(BIG, BIG), complex(710.0734104835, math.pi / 4)),
    ("expm1", complex(1e-200, 1e-210), complex(1e-200, 1e-210)),
    ("expm1", complex(-1000.0, 1.0), complex(-1.0, 0.0)),
]


@pytest.mark.parametrize(("name", "z", "want"), EXTREMES)
def test_nothing_overflows_or_underflows_on_the_way(
    device: str, name: str, z: complex, want: complex
) -> None:
    got = apply(name, [z], xp.complex128)[0]
    for a, b in ((got.real, complex(want).real), (got.imag, complex(want).imag)):
        assert a == b or abs(b) < 1e-250 or math.isclose(a, b, rel_tol=1e-4), got


def test_division_at_the_ends_of_the_range(device: str) -> None:
    for a, b, want in [
        (complex(BIG, BIG), complex(BIG, BIG), 1 + 0j),
        (complex(TINY, TINY), complex(TINY, TINY), 1 + 0j),
        (complex(1e-310, 1e-310), complex(1e-310, -1e-310), 1j),
        (complex(BIG, 1.0), complex(2.0, 1e-300), complex(BIG / 2, 0.5)),
        (complex(3e-300, 4e-300), complex(1e-300, 1e-300), 3.5 + 0.5j),
        (complex(3.0, 6.0), complex(3.0, 0.0), 1 + 2j),
        (complex(3.0, 6.0), complex(0.0, 3.0), 2 - 1j),
        (complex(1.0, -1.0), complex(-0.0, 0.0), complex(-math.inf, math.inf)),
        (complex(1.0, 2.0), complex(math.inf, math.inf), 0j),
        (complex(math.inf, 1.0), complex(2.0, 0.0), complex(math.inf, 0.5)),
    ]:
        got = complex(np.asarray(xp.divide(xp.asarray([a]), xp.asarray([b])))[0])
        assert got == want or cmath.isclose(got, want, rel_tol=1e-15), (a, b, got)
    infinite = complex(np.asarray(xp.asarray([complex(math.inf, 3.0)]) / xp.asarray([1 + 1j]))[0])
    assert cmath.isinf(infinite)
    assert cmath.isnan(complex(np.asarray(xp.asarray([0j]) / xp.asarray([0j]))[0]))


def test_a_power_of_two_is_a_square(kernel_device: str) -> None:
    z = xp.asarray([1 + 2j, -3 + 1j])
    for two in (2, 2.0):
        assert "square" in xp.explain(z**two)
        np.testing.assert_array_equal(np.asarray(z**two), [-3 + 4j, 8 - 6j])
    assert "pow" in xp.explain(z**3)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_powers(device: str, dtype: Any) -> None:
    z = xp.asarray([1 + 2j, -3 + 1j, 0j, 2 + 0j], dtype=dtype)
    for n in (0, 1, 2, 3, 5):
        want = np.asarray([complex(v) ** n for v in (1 + 2j, -3 + 1j, 0j, 2 + 0j)], dtype)
        np.testing.assert_array_equal(np.asarray(z**n), want)
    one = np.asarray(xp.pow(xp.asarray([0j, complex(math.nan, 1), complex(math.inf, 0)]), 0))
    np.testing.assert_array_equal(one, [1, 1, 1])
    back = np.asarray(xp.pow(xp.asarray([2j, 1 + 1j], dtype=dtype), -2))
    np.testing.assert_allclose(back, [-0.25, -0.5j], rtol=1e-6, atol=1e-7)
    root = np.asarray(xp.pow(xp.asarray([complex(-4, 0.0), complex(-4, -0.0)], dtype=dtype), 0.5))
    np.testing.assert_allclose(root, [2j, -2j], rtol=1e-6, atol=1e-6)
    far = np.asarray(xp.pow(xp.asarray([1e160j, 1e-160 + 0j]), -2))
    np.testing.assert_allclose(far, [complex(-1e-320, 0), 1e320], rtol=1e-3, atol=1e-320)
    assert np.isinf(np.asarray(xp.pow(xp.asarray([0j]), -1))[0])


@pytest.mark.parametrize("name", ["multiply", "divide", "square", "reciprocal", "sign", "sqrt"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_same_bits_as_on_the_cpu(kernel_device: str, name: str, dtype: Any) -> None:
    rng = np.random.default_rng(3)
    parts = rng.standard_normal((2, 2, 500)) * 10.0 ** rng.integers(-150, 150, (2, 2, 500))
    with np.errstate(over="ignore"):
        a, b = (parts[:, 0] + 1j * parts[:, 1]).astype(dtype)
    a[: len(GRID)], b[-len(GRID) :] = GRID.astype(dtype), GRID.astype(dtype)
    operands = [a] if name in ("square", "reciprocal", "sign", "sqrt") else [a, b]
    on_cpu, on_device = (
        np.asarray(getattr(xp, name)(*[xp.asarray(v, device=where) for v in operands]))
        for where in ("cpu", kernel_device)
    )
    assert same_bits(on_device, on_cpu)


def test_reductions(device: str) -> None:
    z = np.asarray([1 + 2j, -3 + 0.5j, 0.25 - 1j, 2 - 2j])
    x = xp.asarray(z)
    np.testing.assert_allclose(complex(xp.sum(x)), z.sum())
    np.testing.assert_allclose(complex(xp.prod(x)), z.prod())
    np.testing.assert_allclose(complex(xp.mean(x)), z.mean())
    sums = np.asarray(xp.sum(xp.exp(xp.reshape(x, (2, 2))), axis=0))
    np.testing.assert_allclose(sums, np.exp(z.reshape(2, 2)).sum(0), rtol=1e-14)


def test_a_chain_of_complex_functions_is_one_kernel(kernel_device: str) -> None:
    z = np.linspace(0.1, 1, 100) * (1 + 0.5j)
    x = xp.asarray(z)
    xp.stats(reset=True)
    y = xp.abs(xp.exp(xp.log(x) * 2) / xp.sqrt(x) - xp.tanh(x))
    xp.evaluate(y)
    assert xp.stats().launches == 1
    want = np.abs(np.exp(np.log(z) * 2) / np.sqrt(z) - np.tanh(z))
    np.testing.assert_allclose(np.asarray(y), want, rtol=1e-13)
