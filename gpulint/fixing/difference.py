"""What a fix changes, as a unified diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from gpulint.fixing.contents import texts_of
from gpulint.rewriting.text import rows_of
from gpulint.sources.source import Source

NO_LINE_END = "\\ No newline at end of file\n"


def difference(path: str, before: Source, after: Source) -> str:
    """A unified diff with three rows of context that `patch` understands, "" where nothing changes.

    Of a notebook it is one of each cell that changes, to be read.
    """
    new = texts_of(after)
    return "".join(
        row
        for cell, text in texts_of(before).items()
        for row in _rows(path if cell is None else f"{path}:cell {cell + 1}", text, new[cell])
    )


def _quoted(name: str) -> str:
    """A file's name in the head of a diff; one that is no line of text is in quotes, as git and `patch` have it."""
    if all(char.isprintable() for char in name) and not name.startswith('"'):
        return name
    encoded = name.encode("utf-8", "surrogateescape")
    chars = [chr(one) if 32 <= one < 127 and chr(one) not in '"\\' else f"\\{one:03o}" for one in encoded]
    return f'"{"".join(chars)}"'


def _rows(path: str, before: str, after: str) -> Iterator[str]:
    name = _quoted(path)
    for row in difflib.unified_diff(rows_of(before), rows_of(after), name, name):
        yield row if row.endswith(("\n", "\r")) else f"{row}\n{NO_LINE_END}"
