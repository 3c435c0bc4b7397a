"""The disk cache: many processes, damaged files, unusable directories, the size limit."""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from lazyarr import _config
from lazyarr.runtime import cache as cache_module
from lazyarr.runtime.cache import DiskCache, open_cache
from tests.processes import exit_code, forked

LIMIT = 1 << 20
NOBODY = 65534
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away and mount")


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
    (tmp_path / ".lazyarr-old").write_bytes(b"x")
    os.utime(tmp_path / ".lazyarr-old", (0, 0))
    (tmp_path / ".lazyarr-new").write_bytes(b"x")
    tmp_path.chmod(0o700)
    cache.put(b"key", b"data")
    assert {f.name for f in files(tmp_path)} == {".lazyarr-new", cache_module._name(b"key")}


def test_what_is_no_entry_is_never_removed(tmp_path: Path) -> None:
    """Somebody may name a directory that holds other things, their home for example."""
    tmp_path.chmod(0o700)
    others = [tmp_path / "thesis.txt", tmp_path / ".tmp-1", tmp_path / ("a" * 64)]
    for path in others:
        path.write_bytes(bytes(5000))
        os.utime(path, (0, 0))
    cache = fresh(tmp_path, limit=10_000)
    assert cache.is_empty()
    for i in range(20):
        cache.put(b"%d" % i, bytes(1000))
    assert [path.read_bytes() for path in others] == [bytes(5000)] * 3
    entries = [f for f in files(tmp_path) if f not in others]
    assert 0 < sum(f.stat().st_size for f in entries) <= 10_000


def test_a_cache_knows_whether_it_is_empty(tmp_path: Path) -> None:
    cache = fresh(tmp_path / "c")
    assert cache.is_empty()
    (tmp_path / "c" / ".lazyarr-left").write_bytes(b"x")
    (tmp_path / "c" / "README").write_bytes(b"x")
    assert cache.is_empty()
    cache.put(b"key", b"data")
    assert not cache.is_empty()
    assert not fresh(tmp_path / "c").is_empty()
    memory = DiskCache(None, 100)
    assert memory.is_empty()
    memory.put(b"key", b"data")
    assert not memory.is_empty()


def given_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a path another user's, as far as the cache can tell."""
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.stat(path).st_uid + 1)


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
    given_away(tmp_path / "c", monkeypatch)
    memory_only(fresh(tmp_path / "c"), "belongs to another user")


@root
def test_a_link_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir(mode=0o700)
    os.lchown(tmp_path / "c", NOBODY, NOBODY)
    memory_only(fresh(tmp_path / "c"), "belongs to another user")


def test_an_own_link_to_an_own_directory_is_followed(tmp_path: Path) -> None:
    (tmp_path / "c").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir(mode=0o700)
    fresh(tmp_path / "c").put(b"key", b"data")
    assert fresh(tmp_path / "real").get(b"key") == b"data"


def linked(entry: Path) -> None:
    entry.rename(entry.parent / "elsewhere")
    entry.symlink_to(entry.parent / "elsewhere")


def queued(entry: Path) -> None:
    entry.unlink()
    os.mkfifo(entry)


def too_large(entry: Path) -> None:
    with entry.open("ab") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize(
    "change",
    [
        linked,
        queued,
        too_large,
        lambda entry: entry.chmod(0o622),
        pytest.param(lambda entry: os.chown(entry, NOBODY, NOBODY), marks=root),
    ],
    ids=["link", "fifo", "a terabyte", "writable by others", "of another user"],
)
def test_an_entry_that_cannot_be_trusted_is_not_read(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    """Also where the directory was swapped after it was looked at."""
    fresh(tmp_path / "c").put(b"key", b"data")
    (file,) = files(tmp_path / "c")
    change(file)
    cache = fresh(tmp_path / "c")
    assert cache.get(b"key") is None
    cache.put(b"key", b"again")
    assert fresh(tmp_path / "c").get(b"key") == b"again"


@root
@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_a_directory_of_roots_is_read_by_others(tmp_path: Path, mode: int) -> None:
    """What an image brings along. Nobody but root can have put anything there."""
    place = Path(tempfile.mkdtemp(prefix="lazyarr-test-"))
    try:
        place.chmod(0o755)
        fresh(place).put(b"key", b"data")
        files(place)[0].chmod(0o644)
        place.chmod(mode)

        def as_nobody() -> bool:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            cache = fresh(place)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = cache.get(b"key")
                cache.put(b"two", b"2")
                cache.put(b"three", b"3")
            right = found == (b"data" if mode == 0o755 else None)
            return right and cache.get(b"two") == b"2" and len(caught) == 1

        assert exit_code(forked(as_nobody)) == 0
        assert len(files(place)) == 1
    finally:
        shutil.rmtree(place)


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


@root
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(tmp_path / "c")]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        cache = fresh(tmp_path / "c")
        cache.put(b"small", b"data")
        with pytest.warns(RuntimeWarning, match="No space left") as caught:
            cache.put(b"large", bytes(100_000))
            cache.put(b"larger", bytes(200_000))
        assert len(caught) == 1
        assert [f.name for f in files(tmp_path / "c")] == [cache_module._name(b"small")]
        assert cache.get(b"large") == bytes(100_000)
        assert fresh(tmp_path / "c").get(b"small") == b"data"
    finally:
        subprocess.run(["umount", str(tmp_path / "c")], check=True)


def test_a_limit_on_file_sizes(tmp_path: Path) -> None:
    def limited() -> bool:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        cache = fresh(tmp_path / "c")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            cache.put(b"key", bytes(100_000))
        return cache.get(b"key") == bytes(100_000) and len(caught) == 1

    assert exit_code(forked(limited)) == 0
    assert files(tmp_path / "c") == []


def test_writers_that_are_killed(tmp_path: Path) -> None:
    """Wherever a writer is killed, what others find is whole."""
    keys = [b"%d" % i for i in range(4)]

    def write_for_ever() -> None:
        while True:
            for key in keys:
                fresh(tmp_path / "c", 1 << 30).put(key, key * 500_000)

    for round_ in range(12):
        child = forked(write_for_ever)
        time.sleep(0.002 + 0.004 * round_)
        os.kill(child, signal.SIGKILL)
        assert exit_code(child) == -signal.SIGKILL
        reader = fresh(tmp_path / "c", 1 << 30)
        for key in keys:
            assert reader.get(key) in (None, key * 500_000)
    assert all(reader.get(key) for key in keys)  # none was found damaged, or it would be gone
    names = {cache_module._name(key) for key in keys}
    assert all(f.name in names or f.name.startswith(".lazyarr-") for f in files(tmp_path / "c"))


def test_many_adders_keep_to_the_limit(tmp_path: Path) -> None:
    """A process that is below the limit by its own count sees what the others added."""
    limit = 320_000
    caches = [fresh(tmp_path / "c", limit) for _ in range(8)]
    most = 0
    for i in range(100):
        for n, cache in enumerate(caches):
            cache.put(b"%d %d" % (i, n), bytes(1000))
        most = max(most, sum(f.stat().st_size for f in files(tmp_path / "c")))
    assert most <= limit * (1 + len(caches) / 32)


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
