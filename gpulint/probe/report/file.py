"""Writing a report to a file: whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile


def check_writable(path: str) -> None:
    """Raises OSError where a file cannot be written, before a program is run for it; the file stays as it is."""
    directory = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise IsADirectoryError(21, os.strerror(21), path)
    if _is_stream(path):
        return
    with tempfile.TemporaryFile(dir=directory):
        pass


def write(path: str, text: str) -> None:
    """Puts the text in the place of what is there. Raises OSError, and then what was there still is.

    A lone surrogate, which stands for a byte of a name that is no UTF-8, is written as a backslash escape. What is no
    regular file, such as /dev/stdout, is written to as it is.
    """
    data = text.encode("utf-8", "backslashreplace")
    if _is_stream(path):
        with open(path, "wb") as file:
            file.write(data)
        return
    target = os.path.realpath(path)
    partial = f"{target}.{os.getpid()}.partial"
    try:
        with open(partial, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(partial, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(partial, target)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise


def _is_stream(path: str) -> bool:
    """A pipe, a terminal, or what stands for an open file: nothing that another file could take the place of."""
    return path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path))
