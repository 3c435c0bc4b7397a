"""The cache of compiled binaries: a dictionary in the process, files under it.

Owns the file format and the directory. Imports ``_config`` alone. Any number of processes may share
a directory: an entry is written to a temporary file and renamed, and read back with its checksum
and its whole key compared. A cache that cannot be used costs speed, never an error: it then keeps
its entries in memory, and says so at most once.

Whoever can write an entry has this user's rights, since it will run. So directory and entry must
belong to this user (or to root, who may do anything) and be writable by nobody else. Files that are
not entries by their name are never touched.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import struct
import tempfile
import time
import warnings

from lazyarr import _config

_MAGIC = b"lazyarr-binary\n"
_VERSION = 1
_PREFIX = "lazyarr-"  # of entries
_HEADER = struct.Struct(f"<{len(_MAGIC)}sIQQ32s")  # magic, version, key size, data size, checksum
_TEMPORARY = ".lazyarr-"
_STALE_SECONDS = 3600.0
_KEEP_SHARE = 0.8  # removal goes down to this share, so that it is not needed at every put
_LOOK_SHARE = 1 / 32  # after adding so much of the limit: see what other processes added
_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_OPEN |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class DiskCache:
    """Binaries by key. Safe to use from many threads and many processes at once.

    ``directory`` None keeps entries in memory only. ``limit`` bounds the bytes on disk, which many
    processes that add at once may exceed for a while; the least recently used entries go first. The
    first look-up of a key in a process may read a file; later ones do not touch the disk. Entries
    of a directory that may be read and not written are used.
    """

    def __init__(self, directory: str | None, limit: int) -> None:
        self._memory: dict[bytes, bytes] = {}
        self._path = directory
        self._checked = False
        self._writable = True
        self._limit = limit
        # Bytes on disk before more is to be counted; None: they were never counted.
        self._room: float | None = None

    def get(self, key: bytes) -> bytes | None:
        """Return the data stored under ``key``, or None."""
        data = self._memory.get(key)
        if data is None:
            data = self._read(key)
            if data is not None:
                self._memory[key] = data
        return data

    def put(self, key: bytes, data: bytes) -> None:
        """Store ``data`` under ``key``; for this process only where the disk refuses."""
        self._memory[key] = data
        directory = self._directory()
        size = _HEADER.size + len(key) + len(data)
        if directory is None or not self._writable or size > self._limit:
            return
        header = _HEADER.pack(_MAGIC, _VERSION, len(key), len(data), _checksum(key, data))
        try:
            _write(directory, _name(key), header + key + data)
            self._make_room(directory, size)
        except OSError as error:
            self._give_up(f"cannot write to {directory}: {error}")

    def is_empty(self) -> bool:
        """Whether no entry can be found in it: the next program will be compiled."""
        if self._memory:
            return False
        directory = self._directory()
        if directory is None:
            return True
        try:
            with os.scandir(directory) as listing:
                return not any(item.name.startswith(_PREFIX) for item in listing)
        except OSError:
            return True

    def _directory(self) -> str | None:
        """Return the directory, made and checked at the first call, or None: memory only."""
        if not self._checked:
            self._checked = True
            if self._path is not None:
                try:
                    reason = _prepare(self._path)
                    if not reason and not os.access(self._path, os.W_OK):
                        self._writable = False
                        self._warn(f"new kernels in memory only: {self._path} is not writable")
                except OSError as error:
                    reason = str(error)
                if reason:
                    self._give_up(reason)
        return self._path

    def _give_up(self, reason: str) -> None:
        if self._path is not None:
            self._path = None
            self._warn(f"compiled kernels in memory only: {reason}")

    def _warn(self, text: str) -> None:
        warnings.warn(
            f"lazyarr keeps {text} "
            "(LAZYARR_CACHE_DIR chooses another directory, LAZYARR_CACHE=0 silences this)",
            RuntimeWarning,
            stacklevel=2,
        )

    def _read(self, key: bytes) -> bytes | None:
        directory = self._directory()
        if directory is None:
            return None
        path = os.path.join(directory, _name(key))
        try:
            content = _content(path, self._limit)
        except OSError:  # none there, most of the time
            return None
        data = _parse(content, key)
        with contextlib.suppress(OSError):  # another process removed it, or the disk is read-only
            if data is None:
                os.unlink(path)
            else:
                os.utime(path)  # marks it as used
        return data

    def _make_room(self, directory: str, added: int) -> None:
        """Count ``added`` bytes; above the limit remove the entries used longest ago."""
        if self._room is not None:
            self._room -= added
            if self._room >= 0:
                return
        entries = _scan(directory)
        total = sum(size for _, size, _ in entries)
        if total > self._limit:
            for _, size, path in sorted(entries):
                if total <= self._limit * _KEEP_SHARE:
                    break
                _remove(path)
                total -= size
        self._room = min(self._limit - total, self._limit * _LOOK_SHARE)


def _prepare(path: str) -> str:
    """Make the directory if need be. Return why it cannot be trusted, or an empty string."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    status = os.stat(path)
    if not stat.S_ISDIR(status.st_mode):
        return f"{path} is not a directory"
    if hasattr(os, "geteuid"):
        if not _is_ours(status) or not _is_ours(os.lstat(path)):
            return f"{path} belongs to another user"
        if status.st_mode & _BY_OTHERS:
            return f"{path} is writable by other users"
    if not os.access(path, os.R_OK | os.X_OK):
        return f"{path} is not readable"
    return ""


def _is_ours(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid in (os.geteuid(), 0)


def _content(path: str, limit: int) -> bytes:
    """Return the content of an entry's file; none for a file that cannot be trusted.

    Looks at the file that is open: the directory may not be the one any more that was checked.
    """
    with open(os.open(path, _OPEN), "rb") as file:
        status = os.fstat(file.fileno())
        regular = stat.S_ISREG(status.st_mode) and status.st_size <= limit
        if not regular or not _is_ours(status):
            return b""
        if hasattr(os, "geteuid") and status.st_mode & _BY_OTHERS:
            return b""
        return file.read()


def _name(key: bytes) -> str:
    return _PREFIX + hashlib.sha256(key).hexdigest()


def _checksum(key: bytes, data: bytes) -> bytes:
    digest = hashlib.sha256(key)
    digest.update(data)
    return digest.digest()


def _parse(content: bytes, key: bytes) -> bytes | None:
    """Return the data of a file's content, or None if it is damaged or under another key."""
    if len(content) < _HEADER.size:
        return None
    magic, version, key_size, data_size, checksum = _HEADER.unpack_from(content)
    if magic != _MAGIC or version != _VERSION:
        return None
    if len(content) != _HEADER.size + key_size + data_size:
        return None
    start = _HEADER.size + key_size
    data = content[start:]
    if content[_HEADER.size : start] != key or _checksum(key, data) != checksum:
        return None
    return data


def _write(directory: str, name: str, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=directory)
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, os.path.join(directory, name))
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _scan(directory: str) -> list[tuple[float, int, str]]:
    """Return (time of use, size, path) of every entry, and remove temporaries left by a crash."""
    entries = []
    with os.scandir(directory) as listing:
        for item in listing:
            try:
                status = item.stat(follow_symlinks=False)
            except OSError:
                continue
            if not stat.S_ISREG(status.st_mode):
                continue
            stale = time.time() - status.st_mtime > _STALE_SECONDS
            if item.name.startswith(_PREFIX):
                entries.append((status.st_mtime, status.st_size, item.path))
            elif stale and item.name.startswith(_TEMPORARY):
                _remove(item.path)
    return entries


@functools.cache
def _open(directory: str | None, limit: int) -> DiskCache:
    return DiskCache(directory, limit)


def open_cache() -> DiskCache:
    """Return the process's cache for the current configuration."""
    config = _config.config
    return _open(config.cache_dir if config.cache else None, config.cache_size)
