"""The cache of compiled binaries: a dictionary in the process, files under it.

Owns the file format and the directory. Imports ``_config`` alone. Any number of processes may share
a directory: an entry is written to a temporary file and renamed, and read back with its checksum
and its whole key compared. A cache that cannot be used costs speed, never an error: it then keeps
its entries in memory, and says so at most once.
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
_HEADER = struct.Struct(f"<{len(_MAGIC)}sIQQ32s")  # magic, version, key size, data size, checksum
_PREFIX = ".tmp-"
_STALE_SECONDS = 3600.0
_KEEP_SHARE = 0.8  # removal goes down to this share, so that it is not needed at every put


class DiskCache:
    """Binaries by key. Safe to use from many threads and many processes at once.

    ``directory`` None keeps entries in memory only. ``limit`` bounds the bytes on disk; the least
    recently used entries go first. The first look-up of a key in a process may read a file; later
    ones do not touch the disk.
    """

    def __init__(self, directory: str | None, limit: int) -> None:
        self._memory: dict[bytes, bytes] = {}
        self._path = directory
        self._checked = False
        self._limit = limit
        self._size: int | None = None  # bytes on disk: an estimate, corrected when entries go

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
        if directory is None or size > self._limit:
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
                return all(item.name.startswith(_PREFIX) for item in listing)
        except OSError:
            return True

    def _directory(self) -> str | None:
        """Return the directory, made and checked at the first call, or None: memory only."""
        if not self._checked:
            self._checked = True
            if self._path is not None:
                try:
                    reason = _prepare(self._path)
                except OSError as error:
                    reason = str(error)
                if reason:
                    self._give_up(reason)
        return self._path

    def _give_up(self, reason: str) -> None:
        if self._path is None:
            return
        self._path = None
        warnings.warn(
            f"lazyarr keeps compiled kernels in memory only: {reason} "
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
            with open(path, "rb") as file:
                content = file.read()
        except OSError:
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
        if self._size is not None:
            self._size += added
            if self._size <= self._limit:
                return
        entries = _scan(directory)
        total = sum(size for _, size, _ in entries)
        if total > self._limit:
            for _, size, path in sorted(entries):
                if total <= self._limit * _KEEP_SHARE:
                    break
                _remove(path)
                total -= size
        self._size = total


def _prepare(path: str) -> str:
    """Make the directory if need be. Return why it cannot be trusted, or an empty string."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    status = os.stat(path)
    if not stat.S_ISDIR(status.st_mode):
        return f"{path} is not a directory"
    if hasattr(os, "geteuid"):
        # A binary somebody else put there would run with this user's rights.
        if status.st_uid != os.geteuid() or os.lstat(path).st_uid not in (os.geteuid(), 0):
            return f"{path} belongs to another user"
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"{path} is writable by other users"
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return f"{path} is not writable"
    return ""


def _name(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()


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
    handle, temporary = tempfile.mkstemp(prefix=_PREFIX, dir=directory)
    try:
        with os.fdopen(handle, "wb") as file:
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
            if not item.name.startswith(_PREFIX):
                entries.append((status.st_mtime, status.st_size, item.path))
            elif time.time() - status.st_mtime > _STALE_SECONDS:
                _remove(item.path)
    return entries


@functools.cache
def _open(directory: str | None, limit: int) -> DiskCache:
    return DiskCache(directory, limit)


def open_cache() -> DiskCache:
    """Return the process's cache for the current configuration."""
    config = _config.config
    return _open(config.cache_dir if config.cache else None, config.cache_size)
