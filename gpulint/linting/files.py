"""The files of a run, each read once: programs, rows, cells."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from gpulint.linting.provenance import States
from gpulint.linting.result import Target
from gpulint.places import Span
from gpulint.settings import SettingsFinder
from gpulint.sources.decoding import Undecodable, decode
from gpulint.sources.language import language_of
from gpulint.sources.notebook import Notebook, read_notebook
from gpulint.sources.source import Source
from gpulint.syntax.embedded import Programs, programs_of

_LINE_END = re.compile(r"\r\n?|\n")
"""Line ends of Python; `str.splitlines` also splits at form feeds and others."""


class Files:
    """Files by absolute path."""

    def __init__(self, finder: SettingsFinder) -> None:
        self._finder = finder
        self.states = States(finder)
        self.given: Mapping[str, bytes] = {}
        """The content of files that differ from the disk."""
        self._programs: dict[str, Programs] = {}
        self._sources: dict[str, Source | None] = {}
        self.given_up: set[str] = set()
        """Files that must not be read."""
        self.bytes_read = 0
        self._notebooks: dict[str, Notebook] = {}
        self._lines: dict[str, dict[int | None, Sequence[str]]] = {}
        self.written: dict[str, set[str]] = defaultdict(set)
        """The names of files that notebooks write, by folder."""

    def load(self, path: str) -> Programs:
        """The programs in a file. Raises OSError, Undecodable and SettingsError."""
        if path not in self._programs:
            language = language_of(path, self._finder.of_file(path).extension)
            programs = self._programs[path] = programs_of(path, self._bytes(path), language)
            self._sources |= {path: None, **{source.path: source for source in programs.all}}
            for folder, name in programs.folders():
                self.written[folder].add(name)
        return self._programs[path]

    def target(self, path: str) -> Target:
        """The TensorFlow release of a file: one that its notebook installs wins over the default.

        Raises OSError, Undecodable and SettingsError.
        """
        settings = self._finder.of_file(path)
        installed = "" if settings.target_asked else self.load(path).pinned
        return Target(installed, path) if installed else Target(settings.target_tensorflow, settings.target_origin)

    def knows_release(self, path: str) -> bool:
        """Whether `target` follows from the user, the project or the notebook. Raises as `target` does."""
        return self._finder.of_file(path).knows_release or bool(self.load(path).pinned)

    def read(self, path: str) -> Source | None:
        """The source of a program, None if it cannot be read."""
        if path not in self._sources:
            try:
                self.load(path)
            except (OSError, Undecodable):
                self._sources[path] = None  # reported when the file itself is checked
        return self._sources[path]

    def give_up(self, path: str) -> None:
        """Never read a file."""
        self.given_up.add(path)
        self._sources[path] = None
        self._programs.pop(path, None)

    def let_go(self, path: str) -> None:
        """Forget a file; the next request reads it again."""
        self._notebooks.pop(path, None)
        self._lines.pop(path, None)
        if path not in self.given_up:
            for source in self.programs(path):
                self._sources.pop(source.path, None)
            self._sources.pop(path, None)
            self._programs.pop(path, None)

    def _bytes(self, path: str) -> bytes:
        if (data := self.given.get(path)) is None:
            data = self._finder.of_file(path).read(path)
        self.states.note(path, data)
        self.bytes_read += len(data)
        return data

    def loaded(self, path: str) -> Programs | None:
        """The programs in a file, None if it cannot be read."""
        self.read(path)
        return self._programs.get(path)

    def programs(self, path: str) -> tuple[Source, ...]:
        """The programs of a file, () if it cannot be read."""
        loaded = self.loaded(path)
        return loaded.all if loaded is not None else ()

    def source(self, path: str) -> Source | None:
        """The main program of a file, None if it cannot be read."""
        programs = self.loaded(os.path.abspath(path))
        return programs.main if programs is not None else None

    def data(self, path: str) -> bytes:
        """The content of a file, b"" if it cannot be read. A file that was not read before is not kept in memory."""
        is_new = path not in self._sources
        source = self.source(path)
        if is_new:
            self.let_go(path)
        return source.data if source is not None else b""

    def line(self, path: str, row: int, cell: int | None = None) -> str:
        """The text of a row (from 1) of a file or of one of its cells, "" if there is none."""
        lines = self.lines(os.path.abspath(path), cell)
        return lines[row - 1] if row <= len(lines) else ""

    def lines(self, path: str, cell: int | None = None) -> Sequence[str]:
        """The lines of a file, or of one of its cells as written; () if there are none."""
        if path not in self._lines:
            self._lines[path] = dict(self._split(path))
        return self._lines[path].get(cell, ())

    def _split(self, path: str) -> Iterator[tuple[int | None, Sequence[str]]]:
        """(cell, lines) of a file and of its cells; the file's own lines have cell None."""
        programs = self.programs(path)
        if not programs:
            return
        main = programs[0]
        if main.cells is None:
            text = main.text if main.blocks is None else decode(path, main.data).text
            yield None, _LINE_END.split(text)
            return
        yield None, self._notebook(path).text.split("\n")
        yield from ((piece.cell, piece.lines) for one in reversed(programs) if one.cells for piece in one.cells.pieces)

    def has(self, span: Span) -> bool:
        """Whether a span is inside its file or cell. Just behind the last row or column counts: syntax errors point
        there. True for a file that cannot be read: none of its rows are shown."""
        path = os.path.abspath(span.path)
        lines = self.lines(path, span.cell)
        if not self.programs(path):
            return True
        return span.end_row <= max(len(lines), 1) + 1 and all(
            column <= len(lines[row - 1] if row <= len(lines) else "") + 2
            for row, column in ((span.row, span.column), (span.end_row, span.end_column))
        )

    def in_cell(self, span: Span) -> Span:
        """A span of a program as the user sees it: in a notebook, relative to its cell."""
        source = self._sources.get(span.path)
        return source.cells.in_cell(span) if source is not None and source.cells is not None else span

    def in_file(self, span: Span) -> Span:
        """A span in a cell converted to rows and columns of the notebook's file; others are unchanged."""
        if span.cell is None:
            return span
        notebook = self._notebook(os.path.abspath(span.path))
        start = notebook.place(span.cell, span.row, span.column)
        return Span(span.path, *start, *notebook.place(span.cell, span.end_row, span.end_column))

    def _notebook(self, path: str) -> Notebook:
        """The parsed notebook."""
        if path not in self._notebooks:
            self._notebooks[path] = read_notebook(path, self.programs(path)[0].data)
        return self._notebooks[path]
