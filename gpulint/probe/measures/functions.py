"""The functions of a program's files, by their rows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.sources.decoding import Undecodable
from gpulint.sources.notebook import SUFFIX, read_notebook


class Function(NamedTuple):
    """A function by its name and the rows of its body."""

    name: str
    first: int
    last: int


class Functions:
    """The functions in the source text that a capture contains."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._known: dict[tuple[str, int | None], tuple[Function, ...]] = {}

    def within(self, path: str, cell: int | None) -> tuple[Function, ...]:
        """The functions of a file or cell."""
        if (path, cell) not in self._known:
            self._known[path, cell] = tuple(_functions(self._text(path, cell)))
        return self._known[path, cell]

    def around(self, where: Where) -> list[Function]:
        """The functions that contain a line, innermost last."""
        found = [one for one in self.within(where.path, where.cell) if one.first <= where.row <= one.last]
        return sorted(found, key=lambda one: one.first)

    def _text(self, path: str, cell: int | None) -> str:
        kept = self._capture.sources.get(path)
        text = kept.text if kept is not None else None
        if text is None or cell is None:
            return text or ""
        try:
            return read_notebook(path, text.encode()).cells[cell].text if path.endswith(SUFFIX) else text
        except (Undecodable, IndexError):
            return ""


def _functions(text: str) -> Iterator[Function]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Function(node.name, node.body[0].lineno, node.end_lineno or node.body[-1].lineno)
