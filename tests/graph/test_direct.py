"""One operation on real operands: the second time its plan is found without a capture."""

from __future__ import annotations

import numpy as np
import pytest

import lazyarr as xp
from lazyarr._devices import parse_device
from lazyarr.graph import evaluate


def _plans(device):
    return evaluate.runtime(parse_device(device)).plans


def _direct_plans(device):
    return [key for key in _plans(device) if hasattr(key[0], "op") and len(key) in (3, 4)]


@pytest.mark.parametrize("flip", [False, True])
def test_operands_keep_their_order(kernel_device, flip):
    a, b = xp.asarray([5.0, 7.0, 9.0]), xp.asarray([1.0, 10.0, 100.0])
    if flip:
        a, b = b, a
    want = np.asarray(a) - np.asarray(b)
    for _ in range(3):
        result = a - b
        xp.evaluate(result)
        assert np.array_equal(np.asarray(result), want)


def test_an_operand_with_itself_and_others_share_nothing(kernel_device):
    shape = (2, 61)  # of no other test
    values = np.arange(122, dtype=np.float32).reshape(shape)
    a, b = xp.asarray(values), xp.asarray(values + 1)
    before = len(_direct_plans(kernel_device))
    for _ in range(2):
        for result, want in ((a * a, values * values), (a * b, values * (values + 1))):
            xp.evaluate(result)
            assert np.array_equal(np.asarray(result), want)
    assert len(_direct_plans(kernel_device)) == before + 2


def test_only_whole_kernels_without_further_arguments_are_kept(kernel_device):
    a = xp.asarray(np.arange(67, dtype=np.float32))
    before = len(_direct_plans(kernel_device))
    for _ in range(2):
        xp.evaluate(a + 1.5, a[1:] * a[:-1], xp.sum(a), (a + a) * a)
    assert len(_direct_plans(kernel_device)) == before


def test_a_written_operand_is_read_anew(kernel_device):
    a = xp.asarray(np.zeros(71))
    for n in range(4):
        result = -a
        xp.evaluate(result)
        assert np.array_equal(np.asarray(result), np.full(71, -float(n)))
        a += 1.0


def test_an_operand_on_the_host_is_uploaded_and_guarded(kernel_device):
    a = xp.asarray(np.ones(73))
    xp.evaluate(xp.sqrt(a), a + a)
    xp.evaluate(xp.sqrt(a))
    with a.host("w") as host:
        host[:] = 16.0
    with xp.transfer_guard("error"), pytest.raises(xp.TransferGuardError):
        xp.evaluate(xp.sqrt(a))
    xp.stats(reset=True)
    result = xp.sqrt(a)
    xp.evaluate(result)
    stats = xp.stats()
    assert (stats.h2d, stats.launches, stats.evaluations) == (1, 1, 1)
    assert np.array_equal(np.asarray(result), np.full(73, 4.0))


def test_a_trace_sees_it(kernel_device):
    a = xp.asarray(np.ones(79))
    for _ in range(2):
        xp.evaluate(a + a)
    with xp.trace() as trace:
        xp.evaluate(a + a)
    assert [e.kind for e in trace.events].count("kernel") == 1
