"""Programs embedded in other files: the cells of a notebook in order, files that cells write, the Python blocks of a
Markdown file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from gpulint.sources.cells import CellMap, Piece
from gpulint.sources.decoding import decode
from gpulint.sources.magics import Code, code_of
from gpulint.sources.markdown import python_blocks
from gpulint.sources.notebook import PYTHON_2, read_notebook
from gpulint.sources.pins import pinned
from gpulint.sources.source import Source
from gpulint.syntax.parse import CannotParse, parse
from gpulint.syntax.python_tree import python_tree

MAX_PATH = 255
"""Maximum length of the path of a file that a notebook writes: a longer one cannot exist."""


class Programs(NamedTuple):
    """The main program of a file, and those that it writes.

    A cell or block that is not Python is treated as empty, and listed in `broken` with its place in the program.
    `pinned` is the TensorFlow release, such as "2.3", that a notebook installs; "" if it names none.
    """

    main: Source
    written: tuple[Source, ...] = ()
    broken: tuple[tuple[Source, CannotParse], ...] = ()
    pinned: str = ""

    @property
    def all(self) -> tuple[Source, ...]:
        return self.main, *self.written

    def folders(self) -> Iterator[tuple[str, str]]:
        """(folder, name) of each written file, and of the folders between the notebook and it."""
        for source in self.written:
            path = source.path
            while path != self.main.path:
                folder, name = os.path.split(path)
                yield folder, name
                path = folder


def programs_of(path: str, data: bytes, language: str) -> Programs:
    """The programs in a file of one of the `sources.language.LANGUAGES`. Raises Undecodable."""
    if language == "ipynb":
        return of_notebook(path, data)
    if language == "markdown":
        return of_markdown(path, data)
    return Programs(decode(path, data))


def of_notebook(path: str, data: bytes) -> Programs:
    """A notebook's programs; their sources map rows to cells. Raises Undecodable.

    A file that `%%writefile` writes has a path below the notebook's, as if that were a directory. For a notebook in
    Python 2 only the first broken cell is listed. One in another language is empty.
    """
    notebook = read_notebook(path, data)
    main = _Joined(path)
    written: dict[str, _Joined] = {}
    earlier: list[_Joined] = []
    for cell in notebook.cells if notebook.is_python else ():
        code = code_of(cell.text) if cell.is_code else None
        if code is None or (code.file and (len(code.file) > MAX_PATH or not code.file.endswith(".py"))):
            continue
        joined = main
        if code.file:
            file = _below(path, code.file)
            if file in written and not code.appends:
                before = written.pop(file)
                before.path = _below(path, f"cell {before.pieces[0].cell + 1}/{code.file}")
                earlier.append(before)
            joined = written.setdefault(file, _Joined(file))
        joined.add(cell.index, code, tuple(_LINE_END.split(cell.text)))
    files = [(one, one.source(path, data)) for one in (main, *written.values(), *earlier)]
    broken = [(source, error) for one, source in files for error in one.broken]
    if notebook.language == PYTHON_2:
        broken = [
            (source, CannotParse(f"a notebook for Python 2: {error.message}", error.row, error.column))
            for source, error in broken[:1]
        ]
    releases = [release for cell in notebook.cells if cell.is_code and (release := pinned(cell.text)) is not None]
    return Programs(files[0][1], tuple(source for _, source in files[1:]), tuple(broken), *releases[-1:])


def of_markdown(path: str, data: bytes) -> Programs:
    """The Python blocks of a Markdown file as one program with the row numbers of the file.

    Raises Undecodable.
    """
    decoded = decode(path, data)
    lines = [""] * len(_LINE_END.split(decoded.text))
    broken = []
    blocks = tuple(python_blocks(decoded.text))
    for block in blocks:
        code = code_of("\n".join(block.lines))
        if code is None or code.file:
            continue
        if (error := error_in(code)) is not None:
            broken.append(CannotParse(error.message, block.row + error.row - 1, error.column))
            continue
        lines[block.row - 1 : block.row - 1 + len(code.lines)] = code.lines
        if code.in_block:
            lines[block.row - 2] = _HEADER
    source = Source(path, data, "\n".join(lines), decoded.encoding, blocks=blocks)
    return Programs(source, broken=tuple((source, error) for error in broken))


_LINE_END = re.compile(r"\r\n?|\n")

_HEADER = "if 1:"
"""Header in front of code that is indented as a whole."""


class _Joined:
    """The cells of one program. Cells that run are separated by a row; a written file is as on disk later."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.pieces: list[Piece] = []
        self.broken: list[CannotParse] = []
        self._lines: list[str] = []

    def add(self, cell: int, code: Code, original: tuple[str, ...]) -> None:
        error = error_in(code)
        if not code.file:
            self._lines.append(_HEADER if code.in_block and error is None else "")
        if error is not None and not any(map(_ASSIGNS_IN_R.match, code.lines)):
            self.broken.append(CannotParse(error.message, len(self._lines) + error.row, error.column))
        self.pieces.append(Piece(len(self._lines) + 1, cell, original, code.skipped))
        self._lines += code.lines if error is None else [""] * len(code.lines)

    def source(self, notebook: str, data: bytes) -> Source:
        text = "".join(f"{line}\n" for line in self._lines)
        return Source(self.path, data, text, "utf-8", CellMap(notebook, tuple(self.pieces)))


_ASSIGNS_IN_R = re.compile(r"[ \t]*[\w.$]+[ \t]*<-[ \t]")
"""Marks a cell for another kernel in notebooks that show the same in several languages, such as R."""


def error_in(code: Code) -> CannotParse | None:
    """Why code cannot be parsed alone, with rows relative to it; None for valid Python."""
    text = "\n".join([_HEADER, *code.lines] if code.in_block else code.lines)
    if python_tree(text) is None:
        try:
            parse(Source("", b"", text, "utf-8"))
        except CannotParse as error:
            return CannotParse(error.message, max(error.row - code.in_block, 1), error.column)
    return None


def is_kept(before: str, after: str) -> bool:
    """Whether a changed cell or block is still valid Python if it was, still starts at the margin if it did, and is not
    empty."""
    if before.strip() and not after.strip():
        return False
    old, new = code_of(before), code_of(after)
    if old is None or new is None:
        return old is new
    return new.in_block == old.in_block and (error_in(new) is None or error_in(old) is not None)


def _below(notebook: str, file: str) -> str:
    """The path below the notebook's that stands for a file written anywhere."""
    parts = [part for part in os.path.normpath(file).split(os.sep) if part not in ("", ".", "..", "~")]
    return os.path.join(notebook, *parts)
