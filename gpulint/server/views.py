"""Diagnostics by document, of which only the changes are sent to the editor."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from lsprotocol import types
from pygls.workspace import PositionCodec

from gpulint.linting.finding import Finding
from gpulint.places import Span
from gpulint.server.buffers import Snapshot
from gpulint.server.diagnostics import diagnostic
from gpulint.server.folders import Folders
from gpulint.server.positions import Ruler
from gpulint.server.session import SnapshotResult
from gpulint.sources.decoding import Undecodable
from gpulint.sources.notebook import Notebook, read_notebook


class Told(NamedTuple):
    """The diagnostics of one document. `version` is None if it is not open."""

    uri: str
    version: int | None
    diagnostics: list[types.Diagnostic]


class View:
    """A result in the terms of the protocol."""

    def __init__(self, report: SnapshotResult, folders: Folders, codec: PositionCodec) -> None:
        self.report = report
        self._folders = folders
        self._codec = codec
        self._rulers: dict[tuple[str, int | None], Ruler] = {}
        self._notebooks: dict[str, Notebook] = {}

    @property
    def snapshot(self) -> Snapshot:
        return self.report.snapshot

    def ruler(self, path: str, cell: int | None = None) -> Ruler:
        """The positions in the text of a file or cell."""
        if (path, cell) not in self._rulers:
            self._rulers[path, cell] = Ruler(self.snapshot.text(path, cell), self._codec)
        return self._rulers[path, cell]

    def location(self, span: Span) -> types.Location:
        """A span as a location of the protocol; in a notebook that is not open, in the text of its file."""
        span = self._placed(span)
        return types.Location(self.snapshot.uri(span.path, span.cell), self.ruler(span.path, span.cell).range(span))

    def _placed(self, span: Span) -> Span:
        if span.cell is None or span.path in self.snapshot.buffers:
            return span
        try:
            if span.path not in self._notebooks:
                self._notebooks[span.path] = read_notebook(span.path, self.snapshot.data(span.path))
            notebook = self._notebooks[span.path]
        except (OSError, Undecodable):
            return Span(span.path, 1, 1, 1, 1)  # it existed a moment ago
        start = notebook.place(span.cell, span.row, span.column)
        return Span(span.path, *start, *notebook.place(span.cell, span.end_row, span.end_column))

    def diagnostic(self, finding: Finding) -> types.Diagnostic:
        """A finding as a diagnostic."""
        folder = self._folders.at(self._folders.root_of(finding.span.path))
        return diagnostic(finding, folder.catalogue, self.location)

    def diagnostics(self, path: str, cell: int | None = None) -> list[types.Diagnostic]:
        """All diagnostics of a file or of a cell of an open notebook."""
        return [self.diagnostic(finding) for finding in self.findings(path, cell)]

    def findings(self, path: str, cell: int | None = None) -> Iterable[Finding]:
        """All findings of a file or cell, none if it was not checked.

        Findings about a notebook as a whole belong to its first cell.
        """
        found = self.report.findings.get(path, ())
        return found if cell is None else [one for one in found if (one.span.cell or 0) == cell]

    def told(self) -> Iterator[Told]:
        """The diagnostics of each document that was checked, open or not."""
        buffers = self.snapshot.buffers
        for path in self.report.findings:
            if path not in buffers:
                yield Told(self.snapshot.uri(path), None, self.diagnostics(path))
        for path, cell in self.snapshot.places.values():
            if path in self.report.findings:
                document = buffers[path].document(cell)
                yield Told(document.uri, document.version, self.diagnostics(path, cell))


class Published:
    """The diagnostics last sent for each document, by URI."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int | None, str]] = {}

    def keep(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> str:
        """Note the diagnostics sent for a version of a document; an identifier, the same for equal diagnostics."""
        self._last[uri] = version, _identity(diagnostics)
        return self._last[uri][1]

    def forget(self, uri: str) -> None:
        self._last.pop(uri, None)

    def news(self, told: list[Told], is_gone: Callable[[str], bool], pulled: bool) -> list[Told]:
        """The documents whose diagnostics changed, and empty ones for documents that no longer exist.

        Unless the client pulls diagnostics, new versions of documents are included, and everything returned is noted.
        """
        known = {one.uri for one in told}
        gone = [Told(uri, None, []) for uri in self._last if uri not in known and is_gone(uri)]
        news = []
        for one in (*told, *gone):
            version, identity = self._last.get(one.uri, (None, ""))
            if identity != _identity(one.diagnostics) or (not pulled and version != one.version):
                news.append(one)
        if not pulled:
            for one in news:
                self.keep(*one)
        for one in gone:
            self.forget(one.uri)
        return news


def _identity(diagnostics: list[types.Diagnostic]) -> str:
    return hashlib.sha256(repr(diagnostics).encode()).hexdigest()[:16]
