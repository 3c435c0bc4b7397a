"""Copies of pageable memory in page-locked chunks, against a port that is late on purpose."""

from __future__ import annotations

import numpy as np
import pytest

from lazyarr.runtime import staging
from lazyarr.runtime.base import HostBytes

SIZE = 1000


class Arrival:
    """An event that does its copy when somebody waits for it, and what was queued before."""

    def __init__(self, port: LatePort, number: int) -> None:
        self._port = port
        self._number = number

    def synchronize(self) -> None:
        self._port.run(self._number + 1)

    def done(self) -> bool:
        return self._port.finished > self._number

    def milliseconds_since(self, earlier: object) -> float:
        return 0.0


class LatePort:
    """Device memory behind a stream that does nothing before it must."""

    def __init__(self, nbytes: int) -> None:
        self.memory = np.zeros(nbytes, np.uint8)
        self.queued: list[tuple[HostBytes, HostBytes]] = []
        self.finished = 0
        self.most_waiting = 0

    def send(self, destination: int, chunk: HostBytes) -> Arrival:
        return self._queue(self.memory[destination : destination + chunk.nbytes], chunk)

    def fetch(self, chunk: HostBytes, source: int) -> Arrival:
        return self._queue(chunk, self.memory[source : source + chunk.nbytes])

    def _queue(self, destination: HostBytes, source: HostBytes) -> Arrival:
        self.queued.append((destination, source))
        self.most_waiting = max(self.most_waiting, len(self.queued) - self.finished)
        return Arrival(self, len(self.queued) - 1)

    def run(self, until: int) -> None:
        for destination, source in self.queued[self.finished : until]:
            destination[:] = source
        self.finished = max(self.finished, until)


@pytest.mark.parametrize("nbytes", [1, SIZE - 1, SIZE, SIZE + 1, 5 * SIZE, 7 * SIZE + 3])
@pytest.mark.parametrize("count", [1, 2])
def test_chunks_go_both_ways(nbytes: int, count: int) -> None:
    data = np.random.default_rng(0).integers(0, 256, nbytes).astype(np.uint8)
    chunks = [np.zeros(SIZE, np.uint8) for _ in range(count)]
    port = LatePort(nbytes + 8)
    staging.upload(port, chunks, 8, source := data.copy())
    source[:] = 0  # it was read
    port.run(len(port.queued))
    np.testing.assert_array_equal(port.memory[8:], data)
    assert len(port.queued) == -(-nbytes // SIZE)
    assert port.most_waiting <= count

    back = np.zeros(nbytes, np.uint8)
    port.queued, port.finished = [], 0
    staging.download(port, chunks, back, 8)
    np.testing.assert_array_equal(back, data)
    assert port.finished == len(port.queued) == -(-nbytes // SIZE)


def test_the_bus_is_busy_while_the_host_copies() -> None:
    port = LatePort(10 * SIZE)
    staging.download(
        port, [np.zeros(SIZE, np.uint8) for _ in range(2)], np.zeros(10 * SIZE, np.uint8), 0
    )
    assert port.most_waiting == 2
