"""What a fix changes, as a unified diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from gpulint.fixing.text import rows_of
from gpulint.sources.notebook import read_notebook
from gpulint.sources.source import Source

NO_LINE_END = "\\ No newline at end of file\n"


def difference(path: str, before: Source, after: Source) -> str:
    """A unified diff with three rows of context that `patch` understands, "" where nothing changes.

    Of a notebook it is one of each cell that changes, to be read.
    """
    if before.cells is None:
        return "".join(_rows(path, before.text, after.text))
    old, new = (read_notebook(one.file, one.data).cells for one in (before, after))
    return "".join(
        row
        for one, other in zip(old, new, strict=True)
        for row in _rows(f"{path}:cell {one.index + 1}", one.text, other.text)
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
