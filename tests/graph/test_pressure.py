"""Memory under pressure: arrays that spill and come back, limits, and the error when all fails."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazyarr as xp
from lazyarr import _config
from lazyarr.graph.evaluate import runtime

from ..property.support import check

N = 1024
SIZE = 8 * N
INCREMENT = """
extern "C" __global__ void inc(double* p, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) p[i] += 1.0;
}
extern "C" __global__ void copy(const double* p, double* q, double* r, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) { q[i] = p[i]; r[i] = -p[i]; }
}
extern "C" __global__ void add(double* p, double* q, double* r, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) { p[i] += 1.0; q[i] += 2.0; r[i] += 3.0; }
}
extern "C" __global__ void sum(const double* p, const double* q, double* r, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) r[i] = p[i] + q[i];
}
"""


@pytest.fixture
def limited(kernel_device: str) -> Iterator[Any]:
    """Return a function that leaves room for so many arrays of ``SIZE`` bytes more."""
    gc.collect()
    xp.set_memory_limit(0)  # what other tests left goes first
    xp.set_memory_limit(None)

    def limit(arrays: float) -> int:
        xp.synchronize()
        bound = xp.memory_info().used + int(arrays * SIZE)
        xp.set_memory_limit(bound)
        return bound

    yield limit
    xp.set_memory_limit(None)
    xp.synchronize()


def made(count: int, start: int = 0) -> tuple[list[xp.Array], list[Any]]:
    """Return arrays that a kernel computed, and what they hold."""
    wanted = [np.arange(N) * 1.5 + k for k in range(start, start + count)]
    arrays = [xp.asarray(w - 1) + 1 for w in wanted]
    for x in arrays:
        xp.evaluate(x)
    return arrays, wanted


def spilled(arrays: list[xp.Array]) -> list[bool]:
    return [x._cell.value.real.ptr == 0 for x in arrays]


# What goes, and how it comes back.


def test_more_than_fits_is_spilled_and_right(limited: Any) -> None:
    bound = limited(8)
    arrays, wanted = made(12)
    assert any(spilled(arrays))
    assert [x.location for x in arrays] == ["device"] * 12
    for _ in range(2):
        for x, w in zip(arrays, wanted, strict=True):
            check(x * 2, w * 2)
    for x, w in zip(arrays, wanted, strict=True):
        check(x, w)
    info = xp.memory_info()
    assert info.limit == bound
    assert info.used <= bound
    assert info.spilled > 0


@pytest.mark.parametrize("by", ["an operation", "a kernel", "a library"])
def test_what_was_used_last_stays(limited: Any, kernel_device: str, by: str) -> None:
    cusolver = kernel_device == "cuda" and by == "a library"
    limited(2000 if cusolver else 20)  # it works in 6 MiB
    arrays, _ = made(8)
    del arrays[7]
    inc = xp.SourceModule(INCREMENT).get_function("inc")
    order = [3, 1, 0, 2, 6, 4, 5]
    for k in order:
        if by == "a kernel":
            inc(arrays[k], np.int64(N), grid=(4,))
        elif by == "a library":
            xp.linalg.qr(xp.reshape(arrays[k], (N, 1)))
            xp.evaluate(xp.zeros(1) + 1)
        else:
            xp.evaluate(arrays[k] + 1)
    xp.synchronize()
    gone = []
    for _ in range(5):
        xp.set_memory_limit(xp.memory_info().used - SIZE // 2)
        gone.append([k for k, away in enumerate(spilled(arrays)) if away])
    for away in gone:
        assert set(away) == set(order[: len(away)])
    for before, after in zip(gone, gone[1:], strict=False):
        assert 0 < len(before) < len(after)


def test_counts_and_bytes_are_apart_from_those_of_copies(limited: Any) -> None:
    limited(20)
    arrays, wanted = made(4)
    xp.stats(reset=True)
    spilled_before = xp.memory_info().spilled
    xp.set_memory_limit(0)
    s = xp.stats()
    assert all(spilled(arrays))
    assert s.bytes_spilled == s.spills * SIZE == xp.memory_info().spilled - spilled_before
    assert s.spills >= 4
    assert (s.h2d, s.d2h, s.bytes_h2d, s.bytes_d2h, s.returns, s.bytes_returned) == (0,) * 6
    xp.set_memory_limit(None)
    xp.evaluate(arrays[0] + 1)
    s = xp.stats()
    assert (s.returns, s.bytes_returned, s.h2d, s.d2h) == (1, SIZE, 0, 0)
    check(arrays[1], wanted[1])  # the host has the bytes: no copy
    assert xp.stats() == s


def test_what_the_host_has_is_not_copied(limited: Any) -> None:
    limited(20)
    x = xp.asarray(np.arange(N) * 1.0)
    y = xp.asarray(np.arange(N) * 2.0) + 0
    xp.evaluate(x + 1, y)
    np.asarray(y)
    xp.stats(reset=True)
    with xp.trace() as t:
        xp.set_memory_limit(0)
    assert (x.location, y.location) == ("host", "device")
    assert spilled([x, y]) == [True, True]
    assert xp.stats().bytes_spilled == 0
    assert xp.stats().spills >= 2
    assert {(e.kind, e.name, e.nbytes) for e in t} == {("spill", "no copy", 0)}
    xp.set_memory_limit(None)
    check(x + y, np.arange(N) * 3.0)
    s = xp.stats()
    assert (s.returns, s.bytes_returned, s.h2d) == (2, 2 * SIZE, 0)


def test_a_trace_shows_both_ways(limited: Any) -> None:
    limited(20)
    (x,), (w,) = made(1)
    with xp.trace() as t:
        xp.set_memory_limit(0)
        xp.set_memory_limit(None)
        check(x + 1, w + 1)
    moves = [(e.name, e.nbytes) for e in t if e.kind == "spill"]
    assert moves.count(("d2h", SIZE)) >= 1
    assert moves.count(("h2d", SIZE)) == 1
    assert "device memory is short" in str(t)


def test_verdicts_do_not_depend_on_spills(limited: Any) -> None:
    limited(20)
    (x, y), (w, _) = made(2)
    z = xp.asarray(np.ones(N))
    xp.evaluate(z + 1)  # on both sides
    xp.set_memory_limit(0)
    xp.set_memory_limit(None)
    assert all(spilled([x, y, z]))
    with xp.transfer_guard("error"):
        with pytest.raises(xp.TransferGuardError, match="device to host"):
            np.asarray(x)  # although the host has the bytes
        xp.evaluate(x + z)
        check(z, np.ones(N))
        check(y.get(), np.asarray(y.get()))
        assert "array" not in repr(y).lower() or "values" not in repr(y)
    assert not any(spilled([x, z]))
    check(x, w)


def test_writes_and_moves_of_what_is_spilled(limited: Any) -> None:
    limited(20)
    arrays, wanted = made(8)
    xp.set_memory_limit(0)
    xp.set_memory_limit(None)
    a, b, c, d, e, f, g, h = arrays
    a[3:5] = 7.0
    wanted[0][3:5] = 7.0
    b[...] = 2.0
    wanted[1][...] = 2.0
    with c.host("rw") as view:
        view[0] = 9.0
    wanted[2][0] = 9.0
    with d.host("w") as view:
        view[:] = 4.0
    wanted[3][:] = 4.0
    xp.prefetch(e)
    assert spilled([e, f]) == [False, True]
    xp.prefetch(f, to="host")
    assert f.location == "host"
    g += 1
    wanted[6] += 1
    kept = np.asarray(h)
    h[0] = -1.0
    assert kept[0] == wanted[7][0]
    wanted[7][0] = -1.0
    assert float(e[3]) == wanted[4][3]
    for x, w in zip(arrays, wanted, strict=True):
        check(x + 0, w)
        check(x, w)


def test_a_spilled_array_that_dies_or_is_overwritten_costs_nothing(limited: Any) -> None:
    limited(20)
    (x, y), _ = made(2)
    xp.set_memory_limit(0)
    xp.set_memory_limit(None)
    xp.stats(reset=True)
    del y
    k = xp.SourceModule(INCREMENT).get_function("copy")
    z = xp.asarray(np.arange(N) * 1.0)
    k(xp.In(z), xp.Out(x), xp.Out(xp.empty_like(z)), np.int64(N), grid=(4,))
    check(x, np.arange(N) * 1.0)
    assert xp.stats().returns == 0


def test_users_kernels_take_what_is_spilled(limited: Any) -> None:
    limited(8)
    arrays, wanted = made(14)
    inc = xp.SourceModule(INCREMENT).get_function("inc")
    for _ in range(2):
        for x, w in zip(arrays, wanted, strict=True):
            inc(x, np.int64(N), grid=(4,))
            w += 1
    for x, w in zip(arrays, wanted, strict=True):
        check(x, w)
    assert xp.stats().returns > 0


def test_arguments_of_one_kernel_do_not_spill_each_other(limited: Any) -> None:
    limited(20)
    arrays, wanted = made(8)
    module = xp.SourceModule(INCREMENT)
    total, add = module.get_function("sum"), module.get_function("add")
    xp.set_memory_limit(0)
    limited(3.5)
    a, b, c = arrays[:3]
    xp.evaluate(arrays[3] + 1, arrays[4] + 1, arrays[5] + 1)  # used later than the three
    add(a, b, c, np.int64(N), grid=(4,))
    for k in range(3):
        wanted[k] += k + 1
    xp.evaluate(arrays[3] + 1, arrays[4] + 1, arrays[5] + 1)
    total(xp.In(a), xp.In(b), xp.Out(c), np.int64(N), grid=(4,))
    wanted[2] = wanted[0] + wanted[1]
    for x, w in zip(arrays, wanted, strict=True):
        check(x, w)


def test_operands_of_a_library_call_do_not_spill_each_other(limited: Any) -> None:
    limited(20)
    a = xp.reshape(xp.asarray(np.eye(32) * 2.0) * 1, (32, 32))
    b = xp.asarray(np.arange(1024.0).reshape(32, 32)) * 1
    xp.evaluate(a, b)
    xp.set_memory_limit(0)
    limited(2.5)
    with pytest.raises(xp.OutOfMemoryError):
        xp.linalg.solve(a, b)
    limited(4.5)
    x = xp.linalg.solve(a, b)
    check(x, np.arange(1024.0).reshape(32, 32) / 2)


def test_control_reads_of_what_is_spilled(limited: Any) -> None:
    limited(20)
    index = xp.astype(xp.asarray(np.arange(4)) * 1, xp.int64)
    xp.evaluate(index)
    (x,), (w,) = made(1)
    xp.set_memory_limit(0)
    xp.set_memory_limit(None)
    check(xp.take(x, index), w[:4])
    x[index] = 0.0
    w[:4] = 0.0
    check(x, w)
    xp.set_memory_limit(0)
    xp.set_memory_limit(None)
    check(x[x > 5], w[w > 5])
    assert int(xp.nonzero(x)[0].shape[0]) == N - 4


# What stays.


def test_what_is_in_use_stays(limited: Any) -> None:
    limited(20)
    (x, y, z), (w, _, _) = made(3)
    xp.set_memory_limit(xp.memory_info().used)
    with y.host("rw") as view, pytest.raises(xp.OutOfMemoryError, match="used by what runs now"):
        view[0] = 1.0
        xp.evaluate(xp.concat([x] * 3))  # reads x, which cannot go
    assert not spilled([x])[0]
    check(x, w)
    del z


def test_shared_arrays_stay(limited: Any) -> None:
    limited(20)
    x, w = (made(1)[n][0] for n in (0, 1))
    from lazyarr.graph import share

    share.hold(x._cell.value)
    xp.set_memory_limit(0)
    assert not spilled([x])[0]
    with pytest.raises(xp.OutOfMemoryError, match="shared with others outside the library: 1"):
        xp.evaluate(xp.ones(N) * 2)
    share.release(x._cell.value)
    xp.set_memory_limit(0)
    assert spilled([x])[0]
    xp.set_memory_limit(None)
    check(x, w)


# When nothing helps.


def test_the_error_says_who_has_what(limited: Any) -> None:
    limited(20)
    with xp.trace():
        (x,), _ = made(1)
    big = xp.reshape(xp.asarray(np.ones(4 * N)), (4, N)) * 2
    xp.evaluate(big)
    bound = limited(1)
    with pytest.raises(xp.OutOfMemoryError) as caught:
        xp.evaluate(xp.zeros(bound))
    text = str(caught.value)
    assert isinstance(caught.value, MemoryError)
    assert f"cannot allocate {8 * bound} bytes: its limit is {bound} bytes" in text
    assert f"{4 * SIZE} bytes, float64 (4, {N}): could go" in text
    assert f"{SIZE} bytes, float64 ({N},), made at {__file__}" in text
    assert not spilled([x, big])[1]  # a hopeless request moves nothing


def test_errors_leave_everything_readable(limited: Any) -> None:
    limited(6)
    arrays, wanted = made(9)
    inc = xp.SourceModule(INCREMENT).get_function("copy")
    pending = [arrays[0] + arrays[1], xp.reshape(arrays[2], (1, N)) + xp.zeros((9, 1))]
    out, other = xp.empty_like(arrays[0]), xp.empty(3 * N)
    out[...] = 5.0
    big_out = xp.zeros(7 * N) + 1
    for _ in range(2):
        with pytest.raises(xp.OutOfMemoryError):
            xp.evaluate(*pending)
        with pytest.raises(xp.OutOfMemoryError):
            inc(xp.In(arrays[2]), xp.Out(out), xp.Out(big_out), np.int64(N), grid=(4,))
        with pytest.raises(xp.OutOfMemoryError):
            other[::2] = (xp.zeros(9 * N) + arrays[3][0])[: 3 * N // 2] * 2.0
        with pytest.raises(xp.OutOfMemoryError):
            xp.concat(arrays)
    check(out, np.full(N, 5.0))
    xp.set_memory_limit(0)
    limited(2.5)
    with pytest.raises(xp.OutOfMemoryError):  # there is room for one of the two results
        inc(xp.In(arrays[2]), xp.Out(arrays[3]), xp.Out(arrays[4]), np.int64(N), grid=(4,))
    xp.set_memory_limit(None)
    check(big_out, np.ones(7 * N))
    check(pending[0], wanted[0] + wanted[1])
    check(pending[1], np.broadcast_to(wanted[2], (9, N)).copy())
    for x, w in zip(arrays, wanted, strict=True):
        check(x, w)


def test_garbage_in_cycles_is_found(limited: Any) -> None:
    limited(2.5)
    (x,), _ = made(1)
    from lazyarr.graph import share

    share.hold(x._cell.value)  # cannot be spilled, only collected
    gc.disable()
    try:
        cycle: list[Any] = [x]
        cycle.append(cycle)
        del x, cycle
        check(xp.asarray(np.zeros(N)) + 1, np.ones(N))
    finally:
        gc.enable()


def test_a_host_without_memory(
    limited: Any, kernel_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kernel_device == "cuda":
        pytest.skip("the methods of a compiled backend cannot be replaced")
    limited(20)
    (x, y), (w, _) = made(2)
    bound = limited(0.5)
    backend = runtime(x.device).backend

    def full(nbytes: int) -> Any:
        raise MemoryError("no")

    monkeypatch.setattr(backend, "host_buffer", full)
    with pytest.raises(xp.OutOfMemoryError, match="the host has no memory"):
        xp.evaluate(xp.zeros(N) + 1)
    monkeypatch.undo()
    assert xp.memory_info().used <= bound
    check(x, w)
    check(xp.zeros(N) + 1, np.ones(N))
    del y


def test_one_value_after_another_if_not_all_at_once(limited: Any) -> None:
    limited(6)
    arrays, wanted = made(9)
    results = [x * 2 for x in arrays]
    xp.evaluate(*results)
    nested = [x + 1 for x in arrays]
    while len(nested) > 1:
        nested = [a + b for a, b in zip(nested[::2], nested[1::2], strict=False)] + (
            nested[-1:] if len(nested) % 2 else []
        )
    target = xp.asarray(np.zeros((2, N)))
    target[1] = (arrays[0] + arrays[1]) * (arrays[2] + arrays[3]) + (arrays[4] - arrays[5])
    for x, w in zip(results, wanted, strict=True):
        check(x, w * 2)
    assert float(nested[0][0]) == sum(w[0] + 1 for w in wanted)
    check(target[1], (wanted[0] + wanted[1]) * (wanted[2] + wanted[3]) + (wanted[4] - wanted[5]))


def test_operands_are_computed_first_if_all_together_do_not_fit(limited: Any) -> None:
    limited(20)
    arrays, wanted = made(9)
    limited(-1)

    def sums(a: Any, k: int) -> Any:
        return a[k] + a[k + 1] + a[k + 2]

    for also in (False, True):
        x = xp.where(sums(arrays, 0) > 1000, sums(arrays, 3), sums(arrays, 6))
        y = xp.where(sums(arrays, 3) > 1000, sums(arrays, 6), sums(arrays, 0))
        xp.evaluate(*[x, y][: 1 + also])
        check(x, np.where(sums(wanted, 0) > 1000, sums(wanted, 3), sums(wanted, 6)))
        check(y, np.where(sums(wanted, 3) > 1000, sums(wanted, 6), sums(wanted, 0)))
    xp.set_memory_limit(None)
    pending = [xp.where(sums(arrays, 0) > k, sums(arrays, 3), sums(arrays, 6)) for k in (500, 600)]
    assert pending[0]._cell.value.real is None  # without a limit, all nine are little
    xp.set_memory_limit(0)
    limited(8)
    xp.evaluate(*pending)
    for k, x in zip((500, 600), pending, strict=True):
        check(x, np.where(sums(wanted, 0) > k, sums(wanted, 3), sums(wanted, 6)))


def test_what_is_stored_is_computed_first_if_it_does_not_fit_beside(limited: Any) -> None:
    limited(20)
    arrays, wanted = made(3)
    target = xp.asarray(np.zeros((5, N))) + 1
    xp.evaluate(target)
    xp.set_memory_limit(0)
    limited(7.5)
    target[1] = arrays[0] + arrays[1] + arrays[2]
    check(target[1], wanted[0] + wanted[1] + wanted[2])
    check(target[2], np.ones(N))


def test_a_limit_bounds_laziness(limited: Any) -> None:
    limited(20)
    arrays, _ = made(1)
    works = []
    for limit in (8 * SIZE, 40 * SIZE, None):
        xp.set_memory_limit(limit)
        works.append(arrays[0]._cell.value.work)
    assert works == [31, 7, 1]
    xp.set_memory_limit(0)
    xp.set_memory_limit(None)
    assert spilled(arrays) == [True]
    assert arrays[0]._cell.value.work == 1


# Limits.


def test_limits_are_checked(kernel_device: str) -> None:
    with pytest.raises(ValueError, match="negative"):
        xp.set_memory_limit(-1)
    with pytest.raises(TypeError):
        xp.set_memory_limit(1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cpu"):
        xp.set_memory_limit(1, device="cpu")
    assert xp.memory_info().limit is None


def test_the_limit_of_the_environment() -> None:
    assert _config.read_config({"LAZYARR_MEMORY_LIMIT": "3M"}).memory_limit == 3 << 20
    assert _config.read_config({}).memory_limit is None
    with pytest.raises(ValueError, match="LAZYARR_MEMORY_LIMIT"):
        _config.read_config({"LAZYARR_MEMORY_LIMIT": "much"})


def test_a_device_takes_its_limit_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    monkeypatch.setattr(_config, "config", replace(_config.config, memory_limit=3 * SIZE))
    with xp.default_device("sim:7"):
        assert xp.memory_info().limit == 3 * SIZE
        arrays, wanted = made(5)
        for x, w in zip(arrays, wanted, strict=True):
            check(x, w)
        assert xp.memory_info().peak <= 3 * SIZE
        xp.set_memory_limit(None)


def test_lowering_the_limit_spills_at_once(limited: Any) -> None:
    limited(20)
    arrays, _ = made(4)
    bound = limited(-2)
    assert xp.memory_info().used <= bound
    assert 2 <= sum(spilled(arrays)) <= 4


@pytest.mark.cuda
def test_a_device_that_is_really_full() -> None:
    with xp.default_device("cuda"):
        backend = runtime(xp.zeros(1).device).backend
        with backend.batch():
            backend.free_cached()
            taken = []
            while backend.memory_info().free > 3 << 29:
                taken.append(backend.allocate(1 << 28))
        try:
            xp.stats(reset=True)
            arrays = [xp.full(1 << 25, float(k)) * 1 for k in range(6)]  # 1.5 GiB
            for _ in range(3):  # fused, made, read again
                for k, x in enumerate(arrays):
                    assert float(xp.sum(x)) == k * (1 << 25)
            s = xp.stats()
            assert s.bytes_spilled > 1 << 28
            assert s.bytes_returned > 1 << 28
            with pytest.raises(xp.OutOfMemoryError, match="bytes are free"):
                xp.evaluate(xp.zeros(1 << 28) + 1)
            assert float(xp.max(arrays[5])) == 5.0
        finally:
            for memory in taken:
                backend.release(memory)


# Programs.


@given(st.data())
def test_programs_whose_arrays_do_not_fit(kernel_device: str, data: Any) -> None:
    """Random programs over 1.5 times what the limit allows equal NumPy's, and end."""
    gc.collect()
    inc = xp.SourceModule(INCREMENT).get_function("inc")
    xp.set_memory_limit(xp.memory_info().used + 8 * SIZE)
    try:
        arrays, models = made(12)
        pick = st.integers(0, 11)
        for _ in range(data.draw(st.integers(10, 40))):
            what = data.draw(st.sampled_from("aabbcdefghi"))
            i, j, k = data.draw(pick), data.draw(pick), data.draw(pick)
            if what == "a":
                arrays[i] = arrays[j] + arrays[k]
                models[i] = models[j] + models[k]
            elif what == "b":
                arrays[i] = (arrays[j] - 0.5) * 0.5
                models[i] = (models[j] - 0.5) * 0.5
            elif what == "c":
                arrays[i][j * 10 : 500 + k] = arrays[k][: 500 + k - j * 10]
                models[i] = models[i].copy()
                models[i][j * 10 : 500 + k] = models[k][: 500 + k - j * 10].copy()
            elif what == "d":
                check(arrays[i], models[i], "read")
            elif what == "e":
                inc(arrays[i], np.int64(N), grid=(4,))
                models[i] = models[i] + 1
            elif what == "f":
                with arrays[i].host("rw") as h:
                    h[j] = k
                models[i] = models[i].copy()
                models[i][j] = k
            elif what == "g":
                assert float(arrays[i][j]) == models[i][j]
            elif what == "h":
                xp.prefetch(arrays[i], arrays[j], to=data.draw(st.sampled_from(["device", "host"])))
            else:
                xp.evaluate(*arrays[: k + 1])
        for x, m in zip(arrays, models, strict=True):
            check(x, m, "end")
        assert xp.memory_info().used <= xp.memory_info().limit
    finally:
        xp.set_memory_limit(None)


def test_threads_spill_for_each_other(limited: Any) -> None:
    limited(14)

    def work(seed: int) -> bool:
        arrays, wanted = made(4, seed * 100)
        for step in range(6):
            k = (seed + step) % 4
            arrays[k] = arrays[k] + arrays[k - 1]
            wanted[k] = wanted[k] + wanted[k - 1]
            xp.evaluate(arrays[k])
        return all(bool(np.array_equal(x.get(), w)) for x, w in zip(arrays, wanted, strict=True))

    device = xp.zeros(1).device

    def on_device(seed: int) -> bool:
        with xp.default_device(device):
            return work(seed)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(on_device, range(8))) == [True] * 8


def test_devices_have_limits_of_their_own(kernel_device: str) -> None:
    other = "sim:6"
    x = xp.asarray(np.arange(N) * 1.0) + 1
    y = xp.asarray(np.arange(N) * 2.0, device=other) + 1
    xp.evaluate(x, y)
    xp.set_memory_limit(0, device=other)
    try:
        assert spilled([x, y]) == [False, True]
        assert xp.memory_info(other).limit == 0
        assert xp.memory_info(kernel_device).limit is None
        check(y, np.arange(N) * 2.0 + 1)
    finally:
        xp.set_memory_limit(None, device=other)
