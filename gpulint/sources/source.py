"""One file as text, with what is needed to write it back as it was."""

from __future__ import annotations

from dataclasses import dataclass

from gpulint.sources.cells import CellMap


@dataclass(frozen=True, slots=True)
class Source:
    """A decoded Python file, or a program that stands in the cells of a notebook.

    `data` are the bytes as found; `text` is what they mean under the file's declared encoding, without a
    byte-order mark and with the line ends untouched. The text of a notebook is that of its cells one after the other,
    magics masked; `cells` tells them apart, and `path` is that of the file that the program would be.
    """

    path: str
    data: bytes
    text: str
    encoding: str
    cells: CellMap | None = None

    @property
    def file(self) -> str:
        """The path of the file in which it stands."""
        return self.path if self.cells is None else self.cells.notebook
