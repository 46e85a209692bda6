"""Records on disk that may vanish, be torn or be written by somebody else at any moment.

A record is a file of its own: the digest of its content, a line feed, the content in JSON. It is written beside its
place and renamed over it, so that a reader finds a whole record or none, whoever is killed; what does not match its
digest counts as absent. JSON, and nothing that could run code when it is read: whoever wrote a project can have put
files into its cache.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from typing import Any

from gpulint.sources.states import digest

MAX_BYTES = 256 * 1024 * 1024
"""Size of a cache above which the records that were used longest ago are deleted."""

MAX_AGE = 30 * 86_400
"""Seconds after which a record that nobody used is deleted."""

BETWEEN_PRUNINGS = 86_400
"""Seconds in which a cache is pruned, and a record's use noted, once at most."""

_IGNORE = b"# Made by gpulint.\n*\n"
_TAG = b"""Signature: 8a477f597d28d172789f06886806bc55
# This file says that the directory is a cache, which gpulint made.
# See https://bford.info/cachedir/
"""
_MARKERS = {".gitignore": _IGNORE, "CACHEDIR.TAG": _TAG}
_PRUNED = "pruned"


class Store:
    """Records by name below a directory. `series` stands for everything that makes records of one name comparable.

    Once writing failed nothing more is written; `trouble` says why.
    """

    def __init__(self, directory: str, series: str) -> None:
        self.directory = directory
        self.trouble = ""
        self._records = os.path.join(directory, series)
        self._is_ready = False

    def get(self, name: str) -> Any:
        """The content of a record, None where there is none."""
        path = self._path(name)
        try:
            with open(path, "rb") as file:
                written, _, content = file.read().partition(b"\n")
                used = os.fstat(file.fileno()).st_mtime
            if written.decode() != digest(content):
                return None
            found = json.loads(content)
        except (OSError, ValueError, RecursionError):
            return None
        if time.time() - used > BETWEEN_PRUNINGS:
            with contextlib.suppress(OSError):
                os.utime(path)
        return found

    def put(self, name: str, content: Any) -> None:
        """Write a record. Raises TypeError and ValueError for what JSON cannot hold."""
        data = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
        if self.trouble:
            return
        try:
            if not self._is_ready:
                self._make_ready()
            path = self._path(name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            _replace(path, b"%b\n%b" % (digest(data).encode(), data))
        except OSError as error:
            self.trouble = f"{self.directory}: {error.strerror or error}"

    def prune(self) -> None:
        """Delete what nobody used for long, and what is too much; once a day at most, and only after a `put`."""
        marker = os.path.join(self.directory, _PRUNED)
        if not self._is_ready or self.trouble or time.time() - _modified(marker) < BETWEEN_PRUNINGS:
            return
        with contextlib.suppress(OSError):
            _replace(marker, b"")
            prune(self.directory)

    def _path(self, name: str) -> str:
        return os.path.join(self._records, name[:2], f"{name}.json")

    def _make_ready(self) -> None:
        os.makedirs(self._records, exist_ok=True)
        for name, content in _MARKERS.items():
            path = os.path.join(self.directory, name)
            if not os.path.exists(path):
                _replace(path, content)
        self._is_ready = True


def prune(directory: str, max_bytes: int = MAX_BYTES, max_age: float = MAX_AGE) -> None:
    """Delete records below a cache's directory: those unused for `max_age` seconds, then, beginning with those that
    were used longest ago, what exceeds `max_bytes`. Files that a killed run left go with the first."""
    now = time.time()
    files = sorted(((status.st_mtime, status.st_size, path) for path, status in _files(directory)), reverse=True)
    reached = 0
    for used, size, path in files:
        reached += size
        is_torn = not path.endswith(".json") and now - used > BETWEEN_PRUNINGS
        if now - used > max_age or reached > max_bytes or is_torn:
            with contextlib.suppress(OSError):
                os.unlink(path)
    for folder, _, _ in os.walk(directory, topdown=False):
        if folder != directory:
            with contextlib.suppress(OSError):  # it is not empty
                os.rmdir(folder)


def is_cache(directory: str) -> bool:
    """Whether a directory is one that gpulint made for its records."""
    try:
        with open(os.path.join(directory, ".gitignore"), "rb") as file:
            return file.read() == _IGNORE
    except OSError:
        return False


def _files(directory: str) -> Iterator[tuple[str, os.stat_result]]:
    for folder, _, names in os.walk(directory):
        for name in names:
            if folder == directory and name in (*_MARKERS, _PRUNED):
                continue
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                yield path, os.stat(path, follow_symlinks=False)


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0


def _replace(path: str, data: bytes) -> None:
    """Put a file in place of another. It need not last through a power cut: a torn one is no record."""
    temporary = f"{path}.{os.urandom(8).hex()}"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
