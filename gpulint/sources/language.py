"""The language of files, by extension."""

from __future__ import annotations

import os
from collections.abc import Iterable

LANGUAGES = ("python", "ipynb", "markdown")

BY_EXTENSION = {"ipynb": "ipynb", "md": "markdown", "markdown": "markdown", "py": "python", "pyi": "python"}
"""Default languages of extensions."""


def is_markdown(path: str) -> bool:
    """Whether the extension of a file is one of Markdown's."""
    return BY_EXTENSION.get(_extension(path)) == "markdown"


def _extension(path: str) -> str:
    return os.path.splitext(path)[1].removeprefix(".").lower()


def language_of(path: str, extensions: Iterable[tuple[str, str]]) -> str:
    """The language of a file, as the settings map extensions (without a dot) to languages."""
    extension = _extension(path)
    return dict(extensions).get(extension) or ("ipynb" if extension == "ipynb" else "python")
