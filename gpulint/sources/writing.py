"""Writing a file so that whoever reads it finds the old bytes or the new ones, never others."""

from __future__ import annotations

import os
import stat
import tempfile


class NotWritten(Exception):
    """The file is as it was. The message is one line that says why."""


def replace_file(path: str, before: bytes | None, after: bytes) -> None:
    """Put `after` in place of `before` in the file at `path`, a link being followed. Raises NotWritten.

    None stands for whatever is there, or nothing. The bytes go to a temporary file beside it, are flushed to the disk
    and renamed over it; the mode stays.
    """
    try:
        target = os.path.realpath(path)
        mode = None
        if before is not None:
            with open(target, "rb") as file:
                if file.read() != before:
                    raise NotWritten(f"{path}: changed since it was checked; left as it is")
        if os.path.exists(target):
            if not os.access(target, os.W_OK):
                raise NotWritten(f"{path}: is read-only; left as it is")
            mode = stat.S_IMODE(os.stat(target).st_mode)
        _swap(target, after, mode)
    except OSError as error:
        raise NotWritten(f"{path}: cannot be written: {error.strerror or error}") from None


def _swap(target: str, content: bytes, mode: int | None) -> None:
    handle, temporary = tempfile.mkstemp(prefix=".gpulint-", suffix=".tmp", dir=os.path.dirname(target))
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode if mode is not None else 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    """The mode bits that new files do not get; there is no way to read them but to set them."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
