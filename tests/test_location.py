"""Where bytes are: location, ``host``, ``to_device``, ``prefetch`` (field cases 5, 7, 8, 14)."""

from __future__ import annotations

import numpy as np
import pytest

import lazyarr as xp
from lazyarr.graph import share

VALUES = np.arange(6, dtype=np.float32)


def away(device: str) -> str:
    """Return where results live on a device."""
    return "host" if device == "cpu" else "device"


def test_results_are_born_on_the_device(device: str) -> None:
    x = xp.asarray(VALUES)
    assert x.location == "host"
    y = x + 1
    assert y.location == away(device)
    xp.evaluate(y)
    assert y.location == away(device)
    assert x.location == "host"  # read by a kernel: both sides hold it


def test_a_read_copies_once(kernel_device: str) -> None:
    y = xp.asarray(VALUES) + 1
    xp.evaluate(y)
    xp.stats(reset=True)
    first = np.asarray(y)
    second = np.asarray(y)
    s = xp.stats()
    assert (s.d2h, s.bytes_d2h) == (1, 24)
    assert y.location == "device"
    assert not first.flags.writeable
    np.testing.assert_array_equal(first, second)


def test_get_is_an_own_copy(device: str) -> None:
    x = xp.asarray(VALUES)
    h = x.get()
    h[:] = -1
    np.testing.assert_array_equal(x.get(), VALUES)


def test_get_downloads_into_its_result(kernel_device: str) -> None:
    y = xp.asarray(VALUES) + 1
    xp.evaluate(y)
    xp.stats(reset=True)
    first, part = y.get(), y[1:3].get()
    s = xp.stats()
    assert (s.d2h, s.bytes_d2h, s.control) == (2, 32, 0)
    first[0] = part[0] = 99.0
    np.testing.assert_array_equal(y.get(), VALUES + 1)
    np.asarray(y)  # leaves a mirror
    xp.stats(reset=True)
    again = y.get()
    np.testing.assert_array_equal(y[::2].get(), (VALUES + 1)[::2])
    assert xp.stats().d2h == 0
    again[0] = 99.0
    np.testing.assert_array_equal(np.asarray(y), VALUES + 1)


def test_get_of_a_view_with_gaps(kernel_device: str) -> None:
    matrix = xp.asarray(np.arange(12.0).reshape(3, 4)) * 2
    expected = np.arange(0.0, 24.0, 2).reshape(3, 4)
    np.testing.assert_array_equal(matrix.T.get(), expected.T)
    got = matrix[:, 1:3].get()
    np.testing.assert_array_equal(got, expected[:, 1:3])
    got[0, 0] = 7.0
    np.testing.assert_array_equal(matrix.get(), expected)
    assert matrix[3:].get().shape == (0, 4)


@pytest.mark.parametrize("n", [4, 100, 100_000])
def test_asarray_is_a_snapshot(device: str, n: int) -> None:
    h = np.arange(float(n))
    x = xp.asarray(h)
    y = x + 1
    h[:] = -1.0
    assert float(x[0]) == 0.0
    assert float(y[0]) == 1.0


def test_an_upload_is_over_before_the_source_changes(device: str) -> None:
    h = np.ones(1 << 20, np.uint8)
    x = xp.asarray(h, copy=True)
    x1 = x * 1
    xp.evaluate(x1)
    h[:] = 0
    assert int(xp.min(x)) == 1
    assert int(xp.min(x1)) == 1


def test_each_array_is_uploaded_once(kernel_device: str) -> None:
    a = xp.ones((10, 4), dtype=xp.float64)
    y = xp.asarray(np.arange(10.0))
    xp.evaluate(a)
    xp.stats(reset=True)
    for _ in range(2):
        xp.evaluate(xp.matmul(a.T, y))
    assert xp.stats().h2d == 1


# host().


def test_host_r_reads(device: str) -> None:
    x = xp.asarray(VALUES) * 2
    with x.host() as h:
        np.testing.assert_array_equal(h, VALUES * 2)
        assert not h.flags.writeable
        x[0] = 50  # the open view keeps what it showed
        assert h[0] == 0
    assert x.location == away(device)


def test_host_rw_makes_the_host_authoritative(device: str) -> None:
    x = xp.asarray(VALUES) + 0
    with x.host("rw") as h:
        assert h.shape == x.shape
        h += 10
    assert x.location == "host"
    assert not h.flags.writeable
    np.testing.assert_array_equal(x.get(), VALUES + 10)
    np.testing.assert_array_equal((x * 2).get(), (VALUES + 10) * 2)


@pytest.mark.parametrize("mode", ["w", "rw"])
def test_host_of_a_view(device: str, mode: str) -> None:
    x = xp.reshape(xp.asarray(VALUES), (2, 3)) + 0
    view = x.T[::-1, 1:]
    with view.host(mode) as h:
        assert h.shape == (3, 1)
        assert h.strides == view.strides
        h[...] = [[7], [8], [9]]
    np.testing.assert_array_equal(x.get(), [[0, 1, 2], [9, 8, 7]])


def test_host_w_of_the_whole_reads_nothing(kernel_device: str) -> None:
    x = xp.asarray(VALUES) + 0
    xp.evaluate(x)
    pending = xp.asarray(VALUES) * 3
    xp.stats(reset=True)
    for y in (x, pending):
        with y.host("w") as h:
            h[...] = 1
        np.testing.assert_array_equal(y.get(), 1)
    s = xp.stats()
    assert (s.d2h, s.h2d, s.launches) == (0, 0, 0)


def test_operations_inside_host_run_at_the_call(kernel_device: str) -> None:
    x = xp.asarray(VALUES) + 0
    with x.host("rw") as h:
        h[0] = 100
        y = x * 2
        h[0] = 200
        z = x * 2
        h[0] = 300
        seen = np.asarray(x)
        h[0] = 400
    assert float(y[0]) == 200.0
    assert float(z[0]) == 400.0
    assert seen[0] == 300.0
    assert float(x[0]) == 400.0
    xp.stats(reset=True)
    w = x * 2  # lazy again
    assert xp.stats().launches == 0
    assert float(w[0]) == 800.0


def test_an_upload_inside_host_is_over_before_the_next_write(kernel_device: str) -> None:
    size = 8 << 20 if kernel_device == "cuda" else 1 << 12
    x = xp.asarray(np.zeros(size, np.uint8)) + 0
    with x.host("rw") as h:
        for n in range(1, 4):
            h[:] = n
            y = x * 1
            h[:] = 99
            assert (int(xp.min(y)), int(xp.max(y))) == (n, n)


def test_memory_held_elsewhere_is_written_and_old_readers_keep_theirs(kernel_device: str) -> None:
    x = xp.asarray(VALUES) + 0
    xp.evaluate(x)
    value = x._cell.value
    with share.device_lock(x._device):
        share.give_memory(value, "test")  # as an export does where memory is shared
        share.hold(value)
    seen = np.asarray(x)
    for mode in ("w", "rw"):
        with x.host(mode) as h:
            h[...] = 7
        assert x.location == "device"  # where the holder looks
        np.testing.assert_array_equal(x.get(), 7)
        np.testing.assert_array_equal(seen, VALUES)
    share.release(value)


def test_writes_inside_host_are_seen_by_both(device: str) -> None:
    x = xp.asarray(VALUES) + 0
    with x.host("rw") as h:
        h[0] = 50
        x[1] = 60
        x[2:4] = x[0:2] * 2
        np.testing.assert_array_equal(h, [50, 60, 100, 120, 4, 5])
        x += 1
        h[5] = 0
    np.testing.assert_array_equal(x.get(), [51, 61, 101, 121, 5, 0])


def test_readers_built_before_host_keep_their_values(device: str) -> None:
    x = xp.asarray(VALUES) + 0
    before = x * 2
    seen = np.asarray(x)
    with x.host("rw") as h:
        h[...] = -1
    np.testing.assert_array_equal(before.get(), VALUES * 2)
    np.testing.assert_array_equal(seen, VALUES)


def test_host_blocks_nest(device: str) -> None:
    x = xp.asarray(VALUES) + 0
    with x.host("rw") as outer, x[2:].host("rw") as inner:
        inner[0] = 9
        assert outer[2] == 9
        outer[3] = 8
        assert inner[1] == 8
    np.testing.assert_array_equal(x.get(), [0, 1, 9, 8, 4, 5])


def test_host_refuses(device: str) -> None:
    x = xp.asarray(VALUES)
    with pytest.raises(ValueError, match="'r', 'w' and 'rw'"):
        x.host("a")
    with pytest.raises(ValueError, match="broadcast"):
        xp.broadcast_to(x, (2, 6)).host("rw")
    with xp.broadcast_to(x, (2, 6)).host("r") as h:
        np.testing.assert_array_equal(h, [VALUES, VALUES])


def test_an_exception_inside_host_closes_it(kernel_device: str) -> None:
    x = xp.asarray(VALUES) + 0
    with pytest.raises(RuntimeError, match="stop"), x.host("rw") as h:
        h[0] = 5
        raise RuntimeError("stop")
    assert x.location == "host"
    xp.stats(reset=True)
    y = x + 1
    assert xp.stats().launches == 0
    assert float(y[0]) == 6.0


def test_host_of_an_empty_array(device: str) -> None:
    x = xp.zeros((0, 3))
    with x.host("rw") as h:
        assert h.shape == (0, 3)


# to_device and prefetch.


def test_to_the_same_device_settles(device: str) -> None:
    x = xp.asarray(VALUES)
    xp.stats(reset=True)
    assert x.to_device(device) is x
    assert x.location == away(device)
    assert xp.stats().h2d == (0 if device == "cpu" else 1)
    np.asarray(x)
    assert xp.stats().d2h == 0  # the host keeps a mirror


def test_to_another_device_copies(kernel_device: str) -> None:
    x = xp.reshape(xp.asarray(VALUES), (2, 3)).T * 2
    xp.evaluate(x)
    xp.stats(reset=True)
    y = x.to_device("cpu")
    assert (xp.stats().d2h, xp.stats().h2d) == (1, 0)
    assert str(y.device) == "cpu"
    z = y.to_device(kernel_device)
    assert (xp.stats().d2h, xp.stats().h2d) == (1, 1)
    assert z.location == "device"
    for each in (y, z):
        np.testing.assert_array_equal(each.get(), VALUES.reshape(2, 3).T * 2)
    y[0, 0] = 50
    z[0, 1] = 60
    np.testing.assert_array_equal(x.get(), VALUES.reshape(2, 3).T * 2)
    assert float(z[0, 0]) == 0.0
    with pytest.raises(ValueError, match="different devices"):
        x + y


def test_a_moved_array_does_not_follow_its_source(kernel_device: str) -> None:
    x = xp.asarray(VALUES) + 0
    y = x.to_device("cpu")
    x[0] = 9
    with x.host("rw") as h:
        h[1] = 9
    np.testing.assert_array_equal(y.get(), VALUES)


def test_between_simulated_devices() -> None:
    x = xp.asarray(VALUES, device="sim") + 1
    y = x.to_device("sim:1")
    assert str(y.device) == "sim:1"
    np.testing.assert_array_equal((y * 2).get(), (VALUES + 1) * 2)


def test_to_device_refuses_a_stream(device: str) -> None:
    with pytest.raises(ValueError, match="stream"):
        xp.asarray(VALUES).to_device(device, stream=1)


def test_prefetch(kernel_device: str) -> None:
    x = xp.asarray(VALUES)
    y = xp.asarray(VALUES) * 2
    z = xp.asarray(VALUES) * 3
    xp.stats(reset=True)
    xp.prefetch(x, y, z)
    assert (x.location, y.location, z.location) == ("device",) * 3
    assert xp.stats().launches == 1  # one evaluation for all
    assert xp.stats().h2d == 3
    xp.prefetch(x, y, to="host")
    assert (x.location, y.location) == ("host", "host")
    assert xp.stats().d2h == 1  # x was mirrored
    xp.stats(reset=True)
    np.asarray(y)
    xp.evaluate(x + y)
    s = xp.stats()
    assert (s.h2d, s.d2h) == (0, 0)


def test_prefetch_on_cpu_and_refusals(device: str) -> None:
    x = xp.asarray(VALUES)
    with pytest.raises(ValueError, match="'device' or 'host'"):
        xp.prefetch(x, to="gpu")
    with pytest.raises(TypeError, match="ndarray"):
        xp.prefetch(VALUES)
    xp.prefetch(x)
    assert x.location == away(device)
    xp.prefetch()


def test_device_and_location_are_apart(kernel_device: str) -> None:
    x = xp.asarray(VALUES)
    for side in ("device", "host"):
        xp.prefetch(x, to=side)
        assert str(x.device) == kernel_device
        assert x.location == side


def test_copy_false_shares_host_memory(device: str) -> None:
    h = np.arange(6.0)
    x = xp.asarray(h, copy=False)
    x[0] = 50
    assert h[0] == 50.0
    h[1] = 60
    y = x * 2
    h[1] = 70
    assert float(y[1]) == 120.0
    seen = np.asarray(x)
    x += 1
    np.testing.assert_array_equal(h, [51, 71, 3, 4, 5, 6])
    assert seen[0] == 50.0
    xp.prefetch(x)
    h[2] = 9
    assert float(x[2]) == 9.0
    with x.host("rw") as opened:
        opened[3] = 7
    assert h[3] == 7.0
    assert x.location == "host"
    x[...] = 0
    assert not h.any()


def test_host_memory_shared_by_copy_false_is_not_written_by_kernels(kernel_device: str) -> None:
    x = xp.asarray(np.zeros(4, np.float32), copy=False)
    f = xp.SourceModule("__global__ void f(float* p) { p[0] = 1.0f; }").get_function("f")
    with pytest.raises(ValueError, match="in use on the host"):
        f(x, block=1)
