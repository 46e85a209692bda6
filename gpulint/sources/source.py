"""One file as text, with what is needed to write it back as it was."""

from __future__ import annotations

from dataclasses import dataclass

from gpulint.sources.cells import CellMap
from gpulint.sources.markdown import Block


@dataclass(frozen=True, slots=True)
class Source:
    """A decoded Python file, or a program that stands in a notebook or Markdown file.

    `data` are the bytes as found; `text` is what they mean under the file's declared encoding, without a
    byte-order mark and with the line ends untouched. The text of a notebook is that of its cells one after the other,
    magics masked; `cells` tells them apart, and `path` is that of the file that the program would be. The text of a
    Markdown file is that of its Python `blocks`, each row where it is in the file; all other rows are empty.
    """

    path: str
    data: bytes
    text: str
    encoding: str
    cells: CellMap | None = None
    blocks: tuple[Block, ...] | None = None

    @property
    def file(self) -> str:
        """The path of the file in which it stands."""
        return self.path if self.cells is None else self.cells.notebook
