"""Conversion between rows and columns of gpulint and positions of the editor."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from lsprotocol import types
from pygls.workspace import PositionCodec

from gpulint.places import Span

_LINE_END = re.compile(r"\r\n?|\n")
"""Line ends of the protocol and of Python; `str.splitlines` also splits at form feeds and others."""


class Ruler:
    """The positions in one text, in the client's units."""

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self._codec = codec
        self.lines: Sequence[str] = _LINE_END.split(text)
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        self._wide: dict[int, Sequence[int]] = {}

    def range(self, span: Span) -> types.Range:
        """A span as a range, clipped to the text."""
        return types.Range(self.position(span.row, span.column), self.position(span.end_row, span.end_column))

    def position(self, row: int, column: int) -> types.Position:
        """A row and column, from 1, as a position."""
        if row > len(self.lines):
            row, column = len(self.lines), len(self.lines[-1]) + 1
        units = self._units(row - 1)
        return types.Position(row - 1, units[min(column, len(units)) - 1])

    def place(self, position: types.Position) -> tuple[int, int]:
        """A position as a row and column, from 1; a position inside a character is moved before it."""
        if position.line >= len(self.lines):
            return len(self.lines), len(self.lines[-1]) + 1
        return position.line + 1, bisect_right(self._units(position.line), position.character)

    def _units(self, line: int) -> Sequence[int]:
        """Offsets, in the client's units, of each character of a line and of its end."""
        text = self.lines[line]
        if text.isascii():
            return range(len(text) + 1)
        if line not in self._wide:
            self._wide[line] = [0, *accumulate(map(self._codec.client_num_units, text))]
        return self._wide[line]

    def offset(self, position: types.Position) -> int:
        """A position as an index of the text."""
        row, column = self.place(position)
        return self._starts[row - 1] + column - 1
