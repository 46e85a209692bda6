"""TOML text, read within limits, and the rows on which its keys are."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import Any

from gpulint.sources.reading import read_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_PARTS = 20
"""Maximum number of parts of a key: tomllib takes quadratic time and memory."""

_TEXTS = re.compile(
    r"""\"{3}(?:[^"\\]+|\\.|"(?!""))*(?:"{3,5}|\\?\Z)|'{3}(?:[^']+|'(?!''))*(?:'{3,5}|\Z)"""
    r"""|"(?:[^"\\\n]+|\\[^\n])*"?|'[^'\n]*'?|\#[^\n]*""",
    re.DOTALL,
)
"""Strings and comments. One without an end takes the rest, so that the time is linear."""

_LONG_KEY = re.compile(rf"(?<![\w-])[\w-]+(?:[ \t]*\.[ \t]*[\w-]+){{{MAX_PARTS}}}")


def _has_long_key(text: str) -> bool:
    return _LONG_KEY.search(_TEXTS.sub("s", text)) is not None


def parsed(text: str) -> dict[str, Any]:
    """The table that a TOML document is. Raises ValueError."""
    if _has_long_key(text):
        raise ValueError(f"a key has more than {MAX_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("arrays or tables are nested too deeply") from None


class KeyPlaces:
    """Places of the keys of a configuration file, for messages: `path:row`, or `path` where the row is unknown."""

    def __init__(self, path: str, data: bytes = b"") -> None:
        self.path = path
        self._data = data

    def of(self, key: str) -> str:
        for number, line in _own_lines(self.path, self._data):
            if _has(line.lstrip(), key):
                return f"{self.path}:{number}"
        return self.path


def _has(line: str, key: str) -> bool:
    """Whether a line is the header of a table with this name or assigns to this key. A regular expression would take
    seconds to compile for a key as long as the largest file."""
    if line.startswith("["):
        before, found, _ = line.rpartition(f"{key}]")
        return bool(found) and not (before[-1:].isalnum() or before.endswith("_"))
    line = line.removeprefix("'").removeprefix('"')
    return line.startswith(key) and line[len(key) :].lstrip("'\" \t").startswith("=")


def _own_lines(path: str, data: bytes) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file that can be gpulint's: other tools use the same keys in pyproject.toml."""
    is_own = True
    for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
        if line.startswith("[") and os.path.basename(path) == "pyproject.toml":
            is_own = line.startswith(("[tool.gpulint", "[tool]"))
        if is_own:
            yield number, line


def row_of(path: str, *parts: str) -> int:
    """The first row of a configuration file that contains all of `parts`, 0 if there is none."""
    try:
        data = read_file(path)
    except OSError:
        return 0
    return next((row for row, line in _own_lines(path, data) if all(part in line for part in parts)), 0)
