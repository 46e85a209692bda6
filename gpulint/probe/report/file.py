"""Writes reports to files atomically."""

from __future__ import annotations

import errno
import os
import tempfile

from gpulint.sources.containment import is_below
from gpulint.sources.writing import OUTSIDE, folder_of, is_stream, put


def check_writable(path: str) -> None:
    """Raises OSError if a file cannot be written, before the program runs. The file is unchanged."""
    directory = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if is_stream(path):
        return
    require_own(path)
    with tempfile.TemporaryFile(dir=directory):
        pass


def write(path: str, text: str) -> None:
    """Replaces the file's content. Raises OSError, and then the old content is still there.

    A lone surrogate, which stands for a byte of a name that is not UTF-8, is written as a backslash escape. Devices
    such as /dev/stdout are written to directly.
    """
    data = text.encode("utf-8", "backslashreplace")
    if is_stream(path):
        with open(path, "wb") as file:
            file.write(data)
        return
    write_bytes(path, data)


def write_bytes(path: str, data: bytes) -> None:
    """Replaces the file's content. Raises OSError, and then the old content is still there."""
    require_own(path)
    put(path, data)


def require_own(path: str) -> None:
    """Refuse what the author of a project can have planted: a pipe or device, and a link that leads out of the working
    directory or, for a path elsewhere, out of the file's folder. Raises OSError."""
    if not is_below(os.path.realpath(path), os.path.realpath(folder_of(path, "."))):
        raise OSError(errno.EPERM, OUTSIDE, path)
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(errno.EPERM, "is not a regular file; left as it is", path)
