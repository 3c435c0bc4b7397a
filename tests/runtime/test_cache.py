"""The disk cache: many processes, damaged files, unusable directories, the size limit."""

from __future__ import annotations

import errno
import multiprocessing
import os
import warnings
from pathlib import Path

import pytest

from lazyarr import _config
from lazyarr.runtime import cache as cache_module
from lazyarr.runtime.cache import DiskCache, open_cache

LIMIT = 1 << 20


def fresh(directory: Path, limit: int = LIMIT) -> DiskCache:
    """Another process's view of the same directory."""
    return DiskCache(str(directory), limit)


def files(directory: Path) -> list[Path]:
    return sorted(directory.iterdir())


def test_an_entry_outlives_the_process(tmp_path: Path) -> None:
    fresh(tmp_path / "c").put(b"key", b"data")
    assert fresh(tmp_path / "c").get(b"key") == b"data"
    assert fresh(tmp_path / "c").get(b"other") is None


def test_a_new_directory_is_private(tmp_path: Path) -> None:
    fresh(tmp_path / "a" / "c").put(b"key", b"data")
    assert (tmp_path / "a" / "c").stat().st_mode & 0o777 == 0o700
    assert [f.stat().st_mode & 0o077 for f in files(tmp_path / "a" / "c")] == [0]


def test_a_warm_look_up_opens_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh(tmp_path / "c").put(b"key", b"data")
    cache = fresh(tmp_path / "c")
    assert cache.get(b"key") == b"data"
    monkeypatch.setattr(cache, "_read", lambda key: pytest.fail("touched the disk"))
    assert cache.get(b"key") == b"data"


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:10],
        lambda content: content[:-1],
        lambda content: content + b"x",
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: b"X" + content[1:],
    ],
    ids=["empty", "header cut", "data cut", "longer", "bit flipped", "other format"],
)
def test_a_damaged_entry_is_ignored_and_removed(tmp_path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    fresh(tmp_path / "c").put(b"key", b"data")
    (file,) = files(tmp_path / "c")
    file.write_bytes(damage(file.read_bytes()))
    cache = fresh(tmp_path / "c")
    assert cache.get(b"key") is None
    assert files(tmp_path / "c") == []
    cache.put(b"key", b"again")
    assert fresh(tmp_path / "c").get(b"key") == b"again"


def test_the_whole_key_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_name", lambda key: "collision")
    fresh(tmp_path / "c").put(b"one", b"1")
    assert fresh(tmp_path / "c").get(b"two") is None


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    cache = fresh(tmp_path / "c", limit=10_000)
    for i in range(8):
        cache.put(b"%d" % i, bytes(1000))
    for age, file in enumerate(files(tmp_path / "c")):
        os.utime(file, (age, age))
    old = [cache_module._name(b"%d" % i) for i in range(8)]
    for i in range(4):  # a look-up by another process counts as a use
        assert fresh(tmp_path / "c").get(b"%d" % i) is not None
    for i in range(8, 12):
        cache.put(b"%d" % i, bytes(1000))
    left = {f.name for f in files(tmp_path / "c")}
    assert sum(f.stat().st_size for f in files(tmp_path / "c")) <= 10_000
    assert set(old[:4]) <= left
    assert not set(old[4:]) <= left


def test_an_entry_above_the_limit_stays_in_memory(tmp_path: Path) -> None:
    cache = fresh(tmp_path / "c", limit=100)
    cache.put(b"key", bytes(1000))
    assert cache.get(b"key") == bytes(1000)
    assert files(tmp_path / "c") == []


def test_a_temporary_file_left_by_a_crash_goes(tmp_path: Path) -> None:
    cache = fresh(tmp_path)
    (tmp_path / ".tmp-old").write_bytes(b"x")
    os.utime(tmp_path / ".tmp-old", (0, 0))
    (tmp_path / ".tmp-new").write_bytes(b"x")
    tmp_path.chmod(0o700)
    cache.put(b"key", b"data")
    assert {f.name for f in files(tmp_path)} == {".tmp-new", cache_module._name(b"key")}


def test_a_cache_knows_whether_it_is_empty(tmp_path: Path) -> None:
    cache = fresh(tmp_path / "c")
    assert cache.is_empty()
    (tmp_path / "c" / ".tmp-left").write_bytes(b"x")
    assert cache.is_empty()
    cache.put(b"key", b"data")
    assert not cache.is_empty()
    assert not fresh(tmp_path / "c").is_empty()
    memory = DiskCache(None, 100)
    assert memory.is_empty()
    memory.put(b"key", b"data")
    assert not memory.is_empty()


def memory_only(cache: DiskCache, text: str) -> None:
    """The cache works within the process, and warns once."""
    with pytest.warns(RuntimeWarning, match=text):
        cache.put(b"key", b"data")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.get(b"key") == b"data"
        cache.put(b"two", b"data")
        assert cache.get(b"three") is None


def test_a_directory_writable_by_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c").chmod(0o777)
    memory_only(fresh(tmp_path / "c"), "writable by other users")
    assert files(tmp_path / "c") == []


def test_another_users_directory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c").mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(tmp_path).st_uid + 1)
    memory_only(fresh(tmp_path / "c"), "belongs to another user")


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"")
    memory_only(fresh(tmp_path / "c"), "not a directory")
    memory_only(fresh(tmp_path / "c" / "d"), "memory only")


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    memory_only(fresh(tmp_path / "c"), "No space left")
    assert files(tmp_path / "c") == []


def _hammer(directory: str, seed: int) -> None:
    for round_ in range(20):
        cache = DiskCache(directory, 30_000)
        for i in range(10):
            key = b"%d" % i
            found = cache.get(key)
            if found is not None and found != key * 2000:
                os._exit(3)
            if (i + round_ + seed) % 3 == 0:
                cache.put(key, key * 2000)


def test_many_processes(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_hammer, args=(str(tmp_path / "c"), i)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert not [f for f in files(tmp_path / "c") if f.name.startswith(".tmp-")]


def test_open_cache_follows_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"LAZYARR_CACHE_DIR": str(tmp_path / "c"), "LAZYARR_CACHE_SIZE": "1M"}
    monkeypatch.setattr(_config, "config", _config.read_config(environ))
    cache = open_cache()
    assert cache is open_cache()
    cache.put(b"key", b"data")
    assert len(files(tmp_path / "c")) == 1
    monkeypatch.setattr(_config, "config", _config.read_config({**environ, "LAZYARR_CACHE": "0"}))
    assert open_cache().get(b"key") is None


def test_config_reads_every_variable() -> None:
    config = _config.read_config(
        {
            "LAZYARR_DEVICE": "cuda:1",
            "LAZYARR_COMPILER": "nvcc",
            "LAZYARR_CACHE": "0",
            "LAZYARR_CACHE_DIR": "/tmp/x",
            "LAZYARR_CACHE_SIZE": "512MiB",
            "LAZYARR_EAGER": "1",
            "LAZYARR_CXX": "g++-12",
            "LAZYARR_DEBUG": "1",
            "LAZYARR_SIM": "1",
            "LAZYARR_PINNED_BUDGET": "2g",
        }
    )
    assert config == _config.Config(
        device="cuda:1",
        compiler="nvcc",
        cache=False,
        cache_dir="/tmp/x",
        cache_size=512 << 20,
        eager=True,
        cxx="g++-12",
        debug=True,
        sim=True,
        pinned_budget=2 << 30,
    )


def test_config_defaults() -> None:
    read = _config.read_config
    assert read({"HOME": "/h"}) == _config.Config(cache_dir="/h/.cache/lazyarr")
    assert read({"HOME": "/h", "XDG_CACHE_HOME": "/x"}).cache_dir == "/x/lazyarr"
    assert read({"HOME": "/h", "XDG_CACHE_HOME": "x"}).cache_dir == "/h/.cache/lazyarr"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LAZYARR_CACHE", "maybe"),
        ("LAZYARR_COMPILER", "gcc"),
        ("LAZYARR_DEBUG", "yep"),
        ("LAZYARR_CACHE_SIZE", "-1"),
        ("LAZYARR_PINNED_BUDGET", "G"),
    ],
)
def test_config_names_a_wrong_variable(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=name):
        _config.read_config({name: value})
