"""Writing a file so that whoever reads it finds the old bytes or the new ones, never others."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile


class NotWritten(Exception):
    """The file is as it was. The message is one line that says why."""


def replace_file(path: str, before: bytes | None, after: bytes) -> None:
    """Put `after` in place of `before` in the file at `path`, a link being followed. Raises NotWritten.

    None stands for whatever is there, or nothing.
    """
    try:
        target = os.path.realpath(path)
        if before is not None:
            with open(target, "rb") as file:
                if file.read() != before:
                    raise NotWritten(f"{path}: changed since it was checked; left as it is")
        if os.path.exists(target) and not os.access(target, os.W_OK):
            raise NotWritten(f"{path}: is read-only; left as it is")
        put(target, after)
    except OSError as error:
        raise NotWritten(f"{path}: cannot be written: {error.strerror or error}; left as it is") from None


def put(path: str, content: bytes) -> None:
    """Put `content` in place of what is in the file at `path`, a link being followed. Raises OSError.

    The bytes go to a temporary file beside it, are flushed to the disk and renamed over it. Mode and, where that is
    allowed, owner stay; hard links to the file keep the old bytes.
    """
    target = os.path.realpath(path)
    directory = os.path.dirname(target)
    status = os.stat(target) if os.path.exists(target) else None
    handle, temporary = tempfile.mkstemp(prefix=".gpulint-", suffix=".tmp", dir=directory)
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, stat.S_IMODE(status.st_mode) if status is not None else 0o666 & ~_umask())
        if status is not None:
            _give(temporary, status)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _flush_directory(directory)


def _give(path: str, status: os.stat_result) -> None:
    """The owner and group of the old file, as far as this user may give them."""
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(path, status.st_uid, status.st_gid)
            os.chmod(path, stat.S_IMODE(status.st_mode))


def _flush_directory(directory: str) -> None:
    """Make the rename last through a power cut, where the system lets a directory be flushed."""
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    """The mode bits that new files do not get; there is no way to read them but to set them."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
