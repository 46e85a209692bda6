"""Unified diffs of fixes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpulint.fixing.contents import texts_of
from gpulint.output.escapes import is_command
from gpulint.rewriting.text import rows_of
from gpulint.sources.row_diff import Difference, differences
from gpulint.sources.source import Source

CONTEXT = 3
"""Rows of context before and after each change."""

NO_LINE_END = "\\ No newline at end of file\n"


def difference(path: str, before: Source, after: Source) -> str:
    """A unified diff that `patch` understands, "" if nothing changes.

    A notebook gets one diff for each changed cell, for reading only.
    """
    new = texts_of(after)
    return "".join(
        row
        for cell, text in texts_of(before).items()
        for row in _rows(path if cell is None else f"{path}:cell {cell + 1}", text, new[cell])
    )


def _quoted(name: str) -> str:
    """A file name in the header of a diff: quoted, as git and `patch` do, if it has control characters or if a CI
    system could read it as a command."""
    is_text = all(char.isprintable() for char in name)
    if is_text and not name.startswith('"') and not is_command(name):
        return name
    encoded = name.encode("utf-8", "surrogateescape")
    chars = [chr(one) if 32 <= one < 127 and chr(one) not in '"\\[' else f"\\{one:03o}" for one in encoded]
    return f'"{"".join(chars)}"'


def _rows(path: str, before: str, after: str) -> Iterator[str]:
    name = _quoted(path)
    old, new = rows_of(before), rows_of(after)
    for number, hunk in enumerate(_hunks(differences(old, new))):
        if number == 0:
            yield f"--- {name}\n+++ {name}\n"
        for row in _hunk(hunk, old, new):
            yield row if row.endswith(("\n", "\r")) else f"{row}\n{NO_LINE_END}"


def _hunks(changes: Sequence[Difference]) -> Iterator[list[Difference]]:
    """Changes in order, grouped where their context would touch."""
    hunk: list[Difference] = []
    for change in changes:
        if hunk and change.first - hunk[-1].last > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _hunk(changes: Sequence[Difference], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    before = min(changes[0].first, CONTEXT)
    behind = min(len(old) - changes[-1].last, CONTEXT)
    first, last = changes[0].first - before, changes[-1].last + behind
    start, end = changes[0].start - before, changes[-1].end + behind
    yield f"@@ -{_range(first, last)} +{_range(start, end)} @@\n"
    for change in changes:
        yield from (f" {row}" for row in old[first : change.first])
        yield from (f"-{row}" for row in old[change.first : change.last])
        yield from (f"+{row}" for row in new[change.start : change.end])
        first = change.last
    yield from (f" {row}" for row in old[first:last])


def _range(first: int, last: int) -> str:
    """A range of rows as in a hunk header: first row (the one before for an empty range) and count."""
    count = last - first
    return f"{first + 1}" if count == 1 else f"{first + (count > 0)},{count}"
