"""Writes a report to a file atomically."""

from __future__ import annotations

import os
import tempfile

from gpulint.sources.writing import put


def check_writable(path: str) -> None:
    """Raises OSError if a file cannot be written, before the program runs. The file is unchanged."""
    directory = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise IsADirectoryError(21, os.strerror(21), path)
    if _is_stream(path):
        return
    with tempfile.TemporaryFile(dir=directory):
        pass


def write(path: str, text: str) -> None:
    """Replaces the file's content. Raises OSError, and then the old content is still there.

    A lone surrogate, which stands for a byte of a name that is not UTF-8, is written as a backslash escape. Special
    files such as /dev/stdout are written to directly.
    """
    data = text.encode("utf-8", "backslashreplace")
    if _is_stream(path):
        with open(path, "wb") as file:
            file.write(data)
        return
    put(path, data)


def _is_stream(path: str) -> bool:
    """Whether it is a pipe, a terminal or an open descriptor, which cannot be replaced by another file."""
    return path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path))
