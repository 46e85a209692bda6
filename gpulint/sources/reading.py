"""Reading files of a project safely: regular files only, up to a size limit.

A repository can contain anything: pipes that nobody writes to, links to endless devices, files of terabytes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

PROJECT_FILE_BYTES = 1_000_000
"""Largest configuration file, requirements list, README, Dockerfile or `.gitignore` that is read."""


def read_file(path: str | os.PathLike[str], limit: int = PROJECT_FILE_BYTES, setting: str = "") -> bytes:
    """Content of the regular file at `path`; links are followed.

    `limit` is in bytes, 0 for none; `setting` names the setting that it comes from. Raises OSError, with the reason in
    `strerror`, for a larger file and for anything but a regular file.
    """
    try:
        _require(os.stat(path), stat.S_IFREG)  # opening a device can have side effects
        handle = os.open(path, os.O_RDONLY | _FLAGS)
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, str(error)) from None
    with open(handle, "rb") as file:
        _require(status := os.fstat(handle), stat.S_IFREG)
        size = status.st_size
        data = _present(file, min(limit or size, size) + 1)  # read() allocates this much at once
        if len(data) > size:  # the file grows, or the system does not know its size
            data += _present(file, limit + 1 - len(data) if limit else -1)
    if limit and len(data) > limit:
        raise OSError(errno.EFBIG, f"larger than {_in_words(limit)}" + (f" (`{setting}`)" if setting else ""))
    return data


def _present(file: BinaryIO, size: int) -> bytes:
    data: bytes | None = file.read(size)
    if data is None:  # such as /proc/kmsg, which is a regular file but waits for messages
        raise BlockingIOError(errno.EAGAIN, "has no content yet")
    return data


def open_stream(path: str) -> int:
    """A descriptor of the regular file or pipe at `path`. A named pipe that nobody writes to is at its end at once.

    Raises OSError, also for a device, which may be endless.
    """
    try:
        _require(os.stat(path), stat.S_IFREG, stat.S_IFIFO)
        handle = os.open(path, os.O_RDONLY | _FLAGS)
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, str(error)) from None
    if hasattr(os, "set_blocking"):
        os.set_blocking(handle, True)
    return handle


def lines_of(path: str, limit: int) -> Iterator[str]:
    """The lines of the text in the regular file or pipe at `path`; of one longer than `limit` characters, its
    beginning. Raises OSError."""
    with open(open_stream(path), encoding="utf-8", errors="replace") as file:
        while line := file.readline(limit):
            yield line
            while line and not line.endswith("\n"):
                line = file.readline(limit)


_FLAGS = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))
"""A file that becomes a pipe between the two checks must not block either."""


def _require(status: os.stat_result, *kinds: int) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if kind not in kinds:
        raise OSError(errno.EINVAL, "not a regular file")


def _in_words(size: int) -> str:
    return f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size:,} bytes"
