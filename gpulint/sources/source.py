"""A file as text, with what is needed to write it back unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpulint.sources.cells import CellMap
from gpulint.sources.markdown import Block


@dataclass(frozen=True, slots=True)
class Source:
    """A decoded Python file, or a program in a notebook or Markdown file.

    `data` are the bytes of the file; `text` is their text in the declared encoding, without a byte-order mark and with
    original line ends. The text of a notebook is the concatenation of its cells with magics masked; `cells` maps rows
    to cells, and `path` is that of the program as a file. The text of a Markdown file consists of its Python `blocks`
    at their rows; all other rows are empty.
    """

    path: str
    data: bytes
    text: str
    encoding: str
    cells: CellMap | None = None
    blocks: tuple[Block, ...] | None = None

    @property
    def file(self) -> str:
        """The path of the file that contains it."""
        return self.path if self.cells is None else self.cells.notebook


ReadSource = Callable[[str], "Source | None"]
"""Gives the program at a path, None if it cannot be read."""
