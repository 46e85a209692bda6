"""A report as what the editor is told: diagnostics by document, each time only what is new."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from lsprotocol import types
from pygls.workspace import PositionCodec

from gpulint.linting.finding import Finding
from gpulint.places import Span
from gpulint.server.analyst import Report
from gpulint.server.buffers import Snapshot
from gpulint.server.diagnostics import diagnostic
from gpulint.server.folders import Folders
from gpulint.server.positions import Ruler


class View:
    """A report in the terms of the protocol."""

    def __init__(self, report: Report, folders: Folders, codec: PositionCodec) -> None:
        self.report = report
        self._folders = folders
        self._codec = codec
        self._rulers: dict[str, Ruler] = {}

    @property
    def snapshot(self) -> Snapshot:
        return self.report.snapshot

    def ruler(self, path: str) -> Ruler:
        """The positions of a file's text."""
        if path not in self._rulers:
            self._rulers[path] = Ruler(self.snapshot.text(path), self._codec)
        return self._rulers[path]

    def location(self, span: Span) -> types.Location:
        """A span as a place of the protocol."""
        return types.Location(self.snapshot.uri(span.path), self.ruler(span.path).range(span))

    def diagnostic(self, finding: Finding) -> types.Diagnostic:
        """A finding as a diagnostic."""
        folder = self._folders.at(self._folders.root_of(finding.span.path))
        return diagnostic(finding, folder.catalogue, self.location)

    def diagnostics(self, path: str) -> list[types.Diagnostic]:
        """All diagnostics of a file."""
        return [self.diagnostic(finding) for finding in self.report.findings.get(path, ())]

    def findings(self, path: str) -> Iterable[Finding]:
        """All findings of a file; none where it was not checked."""
        return self.report.findings.get(path, ())


def identity(diagnostics: list[types.Diagnostic]) -> str:
    """The same for the same diagnostics."""
    return hashlib.sha256(repr(diagnostics).encode()).hexdigest()[:16]
