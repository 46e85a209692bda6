"""A report as what the editor is told: diagnostics by document, each time only what is new."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lsprotocol import types
from pygls.workspace import PositionCodec

from gpulint.linting.finding import Finding
from gpulint.places import Span
from gpulint.server.analyst import Report
from gpulint.server.buffers import Snapshot
from gpulint.server.diagnostics import diagnostic
from gpulint.server.folders import Folders
from gpulint.server.positions import Ruler
from gpulint.sources.decoding import Undecodable
from gpulint.sources.notebook import read_notebook


class Told(NamedTuple):
    """What the editor is told of one document. `version` is None for one that is not open."""

    uri: str
    version: int | None
    diagnostics: list[types.Diagnostic]


class View:
    """A report in the terms of the protocol."""

    def __init__(self, report: Report, folders: Folders, codec: PositionCodec) -> None:
        self.report = report
        self._folders = folders
        self._codec = codec
        self._rulers: dict[tuple[str, int | None], Ruler] = {}

    @property
    def snapshot(self) -> Snapshot:
        return self.report.snapshot

    def ruler(self, path: str, cell: int | None = None) -> Ruler:
        """The positions of a file's text, or of that of a cell."""
        if (path, cell) not in self._rulers:
            self._rulers[path, cell] = Ruler(self.snapshot.text(path, cell), self._codec)
        return self._rulers[path, cell]

    def location(self, span: Span) -> types.Location:
        """A span as a place of the protocol: in a notebook that is not open, in the text of its file."""
        span = self._placed(span)
        return types.Location(self.snapshot.uri(span.path, span.cell), self.ruler(span.path, span.cell).range(span))

    def _placed(self, span: Span) -> Span:
        if span.cell is None or span.path in self.snapshot.buffers:
            return span
        try:
            notebook = read_notebook(span.path, self.snapshot.data(span.path))
        except (OSError, Undecodable):
            return Span(span.path, 1, 1, 1, 1)  # it was there a moment ago
        start = notebook.place(span.cell, span.row, span.column)
        return Span(span.path, *start, *notebook.place(span.cell, span.end_row, span.end_column))

    def diagnostic(self, finding: Finding) -> types.Diagnostic:
        """A finding as a diagnostic."""
        folder = self._folders.at(self._folders.root_of(finding.span.path))
        return diagnostic(finding, folder.catalogue, self.location)

    def diagnostics(self, path: str, cell: int | None = None) -> list[types.Diagnostic]:
        """All diagnostics of a file, or of a cell of an open notebook."""
        return [self.diagnostic(finding) for finding in self.findings(path, cell)]

    def findings(self, path: str, cell: int | None = None) -> Iterable[Finding]:
        """All findings of a file, or of a cell; none where it was not checked.

        What is said of a notebook as a whole is said in its first cell.
        """
        found = self.report.findings.get(path, ())
        return found if cell is None else [one for one in found if (one.span.cell or 0) == cell]

    def told(self) -> Iterator[Told]:
        """What there is to say of each document: open ones, and others that were checked."""
        buffers = self.snapshot.buffers
        for path in dict.fromkeys((*self.report.findings, *buffers)):
            if path not in buffers:
                yield Told(self.snapshot.uri(path), None, self.diagnostics(path))
        for path, cell in self.snapshot.places.values():
            document = buffers[path].document(cell)
            yield Told(document.uri, document.version, self.diagnostics(path, cell))


def identity(diagnostics: list[types.Diagnostic]) -> str:
    """The same for the same diagnostics."""
    return hashlib.sha256(repr(diagnostics).encode()).hexdigest()[:16]
