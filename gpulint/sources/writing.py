"""Atomic writing of files: readers see either the old or the new content."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable

from gpulint.sources.containment import is_below
from gpulint.sources.reading import read_file


class NotWritten(Exception):
    """The file is unchanged. The message is the reason, in one line."""


def replace_file(path: str, before: bytes | None, after: bytes, within: str = "", may_be_link: bool = True) -> None:
    """Replace the content `before` of the regular file at `path` by `after`. Raises NotWritten.

    None as `before` means any content, or no file. A link is followed only if `may_be_link`, and only to a file below
    the folder `within`, "" for anywhere.
    """
    try:
        target = os.path.realpath(path)
        if within and not is_below(target, os.path.realpath(within)):
            raise NotWritten(outside(path))

        def is_as_before() -> None:
            if os.path.realpath(path) != target or (os.path.islink(path) and not may_be_link):
                raise NotWritten(f"{path}: changed since it was checked; left as it is")
            if before is not None and _begins(target, len(before)) != before:
                raise NotWritten(f"{path}: changed since it was checked; left as it is")

        is_as_before()
        if os.path.lexists(target):
            if not stat.S_ISREG(os.lstat(target).st_mode):
                raise NotWritten(f"{path}: is not a regular file; left as it is")
            if not os.access(target, os.W_OK):
                raise NotWritten(f"{path}: is read-only; left as it is")
        put(target, after, is_as_before)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        kept = "; left as it is" if os.path.lexists(path) else ""
        raise NotWritten(f"{path}: cannot be written: {reason}{kept}") from None


def _begins(path: str, size: int) -> bytes | None:
    """Content of a file, None if it is larger than `size` bytes. Raises OSError."""
    try:
        return read_file(path, size or 1)
    except OSError as error:
        if error.errno == errno.EFBIG:
            return None
        raise


def write_output(path: str, text: str) -> None:
    """Write a report to the file that the user named. Raises NotWritten.

    The author of a project can have planted a link: it must not lead out of the working directory or, for a path
    elsewhere, out of the file's folder. Devices such as /dev/stdout are written to directly.
    """
    data = text.encode("utf-8", "replace")
    if not is_stream(path):
        replace_file(path, None, data, folder_of(path, "."))
        return
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise NotWritten(f"{path}: {error.strerror or error}") from None


def folder_of(path: str, *folders: str) -> str:
    """The first of some folders that contains a path, links not resolved; else the folder of the file itself."""
    absolute = os.path.abspath(path)
    above = (folder for folder in map(os.path.abspath, folders) if is_below(absolute, folder))
    return next(above, os.path.dirname(absolute))


def is_stream(path: str) -> bool:
    """Whether a path is a terminal or an open descriptor, which another file cannot replace."""
    return os.path.abspath(path).startswith(("/dev/", "/proc/"))


OUTSIDE = "is a link to a file outside the project; left as it is"


def outside(path: str) -> str:
    """Message for a file that a link leads out of its folder."""
    return f"{path}: {OUTSIDE}"


def put(path: str, content: bytes, last: Callable[[], None] = lambda: None) -> None:
    """Replace the content of the file at `path`, following a link. Raises OSError.

    The bytes are written to a temporary file next to it, flushed to disk, and renamed over it. Mode and, if permitted,
    owner are kept; hard links to the file keep the old bytes. `last` is called right before the rename: if it raises,
    the file is unchanged.
    """
    import tempfile  # milliseconds, which a run that writes nothing saves

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
        last()
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _flush_directory(directory)


def _give(path: str, status: os.stat_result) -> None:
    """Copy owner and group of the old file as far as permitted."""
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(path, status.st_uid, status.st_gid)
            os.chmod(path, stat.S_IMODE(status.st_mode))


def _flush_directory(directory: str) -> None:
    """Make the rename survive a power failure, if the system can flush a directory."""
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    """The umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
