"""Where a path is from a folder, by name alone."""

from __future__ import annotations

import os


def is_below(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder or inside it. To resolve links, pass real paths."""
    path, folder = os.path.normcase(path), os.path.normcase(folder)
    return path == folder or path.startswith(os.path.join(folder, ""))


def relative_to(path: str, folder: str = ".") -> str:
    """A path relative to a folder. On Windows, one on another drive stays absolute."""
    try:
        return os.path.relpath(path, folder)
    except ValueError:
        return os.path.abspath(path)
