"""Records on disk that can vanish, be torn or be forged at any moment.

A record is a file: a keyed digest of its name and content, a line feed, the content as compressed JSON. It is written
to a temporary file and renamed, so that a reader finds a whole record or none even if the writer is killed. A record
that does not match its digest is treated as missing; a matching one requires the user's key.

The files of a cache directory:

    CACHEDIR.TAG   tells backup programs to skip the directory
    .gitignore     tells git to
    pruned         time of the last pruning
    SERIES/        records of one gpulint, Python and set of rules
        NAME.z

Only files of this form are ever deleted, links are never followed, and a directory with anything else in it is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import time
import zlib
from collections.abc import Iterator
from typing import Any

from gpulint.sources.reading import read_file

MAX_BYTES = 256 * 1024 * 1024
"""Size of a cache above which the least recently used records are deleted."""

MAX_AGE = 30 * 86_400
"""Seconds after which an unused record is deleted."""

BETWEEN_PRUNINGS = 86_400
"""Minimum seconds between prunings, and between updates of a record's time of use."""

_IGNORE = b"# Created by gpulint.\n*\n"
_TAG = b"""Signature: 8a477f597d28d172789f06886806bc55
# This file is a cache directory tag created by gpulint.
# For information about cache directory tags, see https://bford.info/cachedir/
"""
_MARKERS = {".gitignore": _IGNORE, "CACHEDIR.TAG": _TAG}
_PRUNED = "pruned"

_TEMPORARY = r"(?:\.[0-9a-f]{16})?"
_OWN_FILE = re.compile(rf"(?:{'|'.join(map(re.escape, (*_MARKERS, _PRUNED)))}){_TEMPORARY}")
_SERIES = re.compile(r"[0-9][0-9A-Za-z.+]*-[0-9a-f]{32}")
_RECORD = re.compile(rf"[0-9a-f]{{32}}\.z{_TEMPORARY}")


class Store:
    """Records by name, 32 hexadecimal digits, below a directory.

    `series` is the subdirectory of one identity, `key` the user's secret. A directory that is refused (`refusal` says
    why) is neither read nor written. After a failed write nothing more is written; `trouble` says why.
    """

    def __init__(self, directory: str, series: str, key: bytes) -> None:
        self.directory = directory
        self.refusal = refusal(directory)
        self.trouble = ""
        self._key = key
        self._records = os.path.join(directory, series)
        self._is_ready = False

    def get(self, name: str) -> Any:
        """Content of a record, None if there is none."""
        if self.refusal:
            return None
        path = self._path(name)
        try:
            written, _, content = read_file(path, MAX_BYTES).partition(b"\n")
            if written != self._digest(name, content):
                return None
            found = json.loads(zlib.decompress(content))
            if time.time() - os.stat(path).st_mtime > BETWEEN_PRUNINGS:
                os.utime(path)
        except (OSError, ValueError, RecursionError, zlib.error):
            return None
        return found

    def put(self, name: str, content: Any) -> None:
        """Write a record. Raises TypeError and ValueError for content that is not JSON."""
        data = zlib.compress(json.dumps(content, separators=(",", ":"), allow_nan=False).encode(), 1)
        if self.refusal or self.trouble:
            return
        try:
            if not self._is_ready:
                self._make_ready()
            _replace(self._path(name), b"%b\n%b" % (self._digest(name, data), data))
        except OSError as error:
            self.trouble = f"{self.directory}: {error.strerror or error}"

    def prune(self) -> None:
        """Delete unused records, and the oldest of too many; at most once a day, and only after a `put`."""
        marker = os.path.join(self.directory, _PRUNED)
        if not self._is_ready or self.trouble or time.time() - _modified(marker) < BETWEEN_PRUNINGS:
            return
        with contextlib.suppress(OSError):
            _replace(marker, b"")
            prune(self.directory)

    def _path(self, name: str) -> str:
        return os.path.join(self._records, f"{name}.z")

    def _digest(self, name: str, content: bytes) -> bytes:
        made = hashlib.blake2b(f"{os.path.basename(self._records)}/{name}\n".encode(), digest_size=16, key=self._key)
        made.update(content)
        return made.hexdigest().encode()

    def _make_ready(self) -> None:
        os.makedirs(self._records, exist_ok=True)
        for name, content in _MARKERS.items():
            path = os.path.join(self.directory, name)
            if not os.path.lexists(path):
                _replace(path, content)
        self._is_ready = True


def refusal(directory: str) -> str:
    """Why gpulint refuses a cache directory, "" if it may use it.

    It uses one that does not exist, is empty or holds nothing but files of gpulint.
    """
    try:
        if stat.S_ISLNK(os.lstat(directory).st_mode):
            return f"{directory} is a link; nothing is cached there"
        with os.scandir(directory) as entries:
            foreign = next((entry.name for entry in entries if not _is_own(entry)), None)
    except (FileNotFoundError, NotADirectoryError):  # the first `put` reports what is in the way
        return ""
    except (OSError, ValueError) as error:
        return f"{directory}: {getattr(error, 'strerror', None) or error}; nothing is cached there"
    if foreign is not None:
        return f"{directory} holds `{foreign}`, which is not gpulint's; nothing is cached there"
    return ""


def is_cache(directory: str) -> bool:
    """Whether a directory holds gpulint's files and no others."""
    return os.path.isdir(directory) and not refusal(directory) and bool(os.listdir(directory))


def prune(directory: str, max_bytes: int = MAX_BYTES, max_age: float = MAX_AGE) -> None:
    """Delete records unused for `max_age` seconds, then the least recently used ones beyond `max_bytes`. Files left
    behind by a killed run are deleted with the former."""
    now = time.time()
    files = sorted(((status.st_mtime, status.st_size, path) for path, status in _records(directory)), reverse=True)
    reached = 0
    for used, size, path in files:
        reached += size
        is_torn = not path.endswith(".z") and now - used > BETWEEN_PRUNINGS
        if now - used > max_age or reached > max_bytes or is_torn:
            with contextlib.suppress(OSError):
                os.unlink(path)
    for series in _all_series(directory):
        with contextlib.suppress(OSError):  # it is not empty
            os.rmdir(series)


def clean(directory: str) -> None:
    """Delete a cache, but no file that is not gpulint's, nor the directories around one."""
    if refusal(directory):
        return
    with contextlib.suppress(OSError):
        for path, _ in _records(directory):
            os.unlink(path)
        for series in _all_series(directory):
            with contextlib.suppress(OSError):  # it is not empty
                os.rmdir(series)
        for entry in os.scandir(directory):
            if _OWN_FILE.fullmatch(entry.name) and _is_own(entry):
                os.unlink(entry.path)
        os.rmdir(directory)


def _is_own(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a cache directory has a name and type that gpulint writes."""
    if _OWN_FILE.fullmatch(entry.name):
        return entry.is_file(follow_symlinks=False)
    return _SERIES.fullmatch(entry.name) is not None and entry.is_dir(follow_symlinks=False)


def _all_series(directory: str) -> list[str]:
    with os.scandir(directory) as entries:
        return [one.path for one in entries if _SERIES.fullmatch(one.name) and one.is_dir(follow_symlinks=False)]


def _records(directory: str) -> Iterator[tuple[str, os.stat_result]]:
    """Records of a cache directory, including half-written ones of a killed run."""
    for series in _all_series(directory):
        for entry in os.scandir(series):
            if _RECORD.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    yield entry.path, entry.stat(follow_symlinks=False)


def _modified(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0


def _replace(path: str, data: bytes) -> None:
    """Replace a file atomically. Not synced to disk: a record torn by a power failure does not match its digest."""
    temporary = f"{path}.{os.urandom(8).hex()}"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
