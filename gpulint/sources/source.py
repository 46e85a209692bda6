"""A file as text, with what is needed to write it back unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpulint.sources.cells import CellMap
from gpulint.sources.markdown import Block
from gpulint.sources.spelling import as_read


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

    @property
    def words(self) -> bytes:
        """The bytes of the file, with its text where that spells words in another way: in another encoding, in letters
        that Python normalises, by the escapes of a notebook's JSON. For a search that must not miss a word."""
        is_plain = (
            self.data.isascii() and self.encoding in _LIKE_ASCII and (self.cells is None or b"\\u" not in self.data)
        )
        return self.data if is_plain else self.data + b"\n" + as_read(self.text).encode("utf-8", "surrogatepass")


_LIKE_ASCII = frozenset({"ascii", "iso-8859-1", "utf-8", "utf-8-sig"})
"""Encodings in which a byte below 128 is the character of ASCII, by their names in `tokenize`."""


ReadSource = Callable[[str], "Source | None"]
"""Gives the program at a path, None if it cannot be read."""
