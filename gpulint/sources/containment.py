"""Which folder a path is in, by its name alone."""

from __future__ import annotations

import os


def is_below(path: str, folder: str) -> bool:
    """Whether an absolute path is that of a folder or of something in it. To look through links, pass real paths."""
    path, folder = os.path.normcase(path), os.path.normcase(folder)
    return path == folder or path.startswith(os.path.join(folder, ""))
