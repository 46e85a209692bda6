"""Lines of a terminal: words are wrapped, never broken."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from gpulint.output.escapes import printable, printable_block

NARROWEST, DEFAULT, WIDEST = 80, 120, 200
"""Columns of a report: at least, where the terminal's are unknown, at most."""


_BREAKS = re.compile(r"(?<!\d) | (?!(?:[%×]|(?:[mµ]?s|min|h|B|[KMGT]iB)\b))")
"""Where a line may end: not between a number and its unit."""


def columns_of(terminal: int) -> int:
    """Columns of a report on a terminal."""
    return max(NARROWEST, min(terminal, WIDEST))


def clean(text: str) -> str:
    """One line of text without control characters."""
    return printable(" ".join(text.split()))


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns; a longer word has a line of its own."""
    lines: list[str] = []
    for word in _BREAKS.split(clean(text)):
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def block(text: str, width: int, first: str = "", rest: str | None = None) -> Iterator[str]:
    """A paragraph that begins with `first`; further lines begin with `rest`, by default as many blanks."""
    after = " " * cell_len(first) if rest is None else rest
    for number, line in enumerate(wrapped(text, width - max(cell_len(first), cell_len(after)))):
        yield (first if number == 0 else after) + line


def beside(text: str, aside: str, width: int, first: str = "") -> Iterator[str]:
    """A paragraph with a short text at the right edge of its first line."""
    if not aside:
        yield from block(text, width, first)
        return
    aside = clean(aside)
    room = width - cell_len(first) - cell_len(aside) - 2
    lines = wrapped(text, room)
    gap = max(room - cell_len(lines[0]), 0) + 2
    yield first + lines[0] + " " * gap + aside
    for line in lines[1:]:
        yield " " * cell_len(first) + line


def columns(rows: Sequence[Sequence[str]], width: int, numbers: frozenset[int] = frozenset()) -> Iterator[str]:
    """Rows with aligned cells, two blanks apart; `numbers` are right-aligned. If they are too wide, the first cell of
    each row has a line of its own."""
    for lines in rows_of_columns(rows, width, numbers):
        yield from lines


def rows_of_columns(
    rows: Sequence[Sequence[str]], width: int, numbers: frozenset[int] = frozenset()
) -> Iterator[list[str]]:
    """The lines of each row, as `columns` aligns them."""
    if not rows:
        return
    widths = [max(cell_len(row[place]) for row in rows) for place in range(len(rows[0]))]
    is_narrow = sum(widths) + 2 * (len(widths) - 1) > width
    for row in rows:
        cells = [_padded(cell, widths[place], place in numbers) for place, cell in enumerate(row)]
        if is_narrow:
            rest = block("  ".join(cell for cell in row[1:] if cell), width, "  ") if any(row[1:]) else ()
            yield [row[0], *rest]
        else:
            yield ["  ".join(cells).rstrip()]


def printed(lines: Iterable[Text], color: bool, width: int) -> str:
    """Lines as a terminal shows them, with nothing that a CI system obeys: wrapping can put any word first."""
    written = StringIO()
    console = Console(
        file=written, width=width, force_terminal=color, no_color=not color, highlight=False, legacy_windows=False
    )
    for line in lines:
        line.plain = printable_block(line.plain)
        console.print(line, soft_wrap=True)
    return written.getvalue()


def _padded(cell: str, width: int, is_number: bool) -> str:
    blanks = " " * (width - cell_len(cell))
    return blanks + cell if is_number else cell + blanks
