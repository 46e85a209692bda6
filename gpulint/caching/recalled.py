"""Texts of the files in which a cached run has findings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from gpulint.linting.provenance import Provenance
from gpulint.places import Span
from gpulint.settings import SettingsFinder
from gpulint.sources.decoding import Undecodable

if TYPE_CHECKING:
    from gpulint.linting.files import Files
    from gpulint.linting.finding import Finding
    from gpulint.sources.source import Source


class RecalledTexts:
    """Files as the cached run read them; those without findings are not read."""

    def __init__(self, finder: SettingsFinder) -> None:
        self._finder = finder

    @cached_property
    def _files(self) -> Files:
        from gpulint.linting.files import Files

        return Files(self._finder)

    def hold(self, findings: Iterable[Finding], provenance: Provenance) -> bool:
        """Whether the findings still fit: each place is inside its file, and no file has changed. Raises
        SettingsError."""
        spans = [span for one in findings for span in (one.span, *(related.span for related in one.related))]
        for path in {os.path.abspath(span.path) for span in spans}:
            try:
                self._files.load(path)
            except (OSError, Undecodable):
                pass  # this is the finding; `states` has noted the content, if any
            if self._files.states.of(path) != provenance.files.get(path):
                return False
        return all(self._files.has(span) for span in spans)

    def line(self, path: str, row: int, cell: int | None = None) -> str:
        return self._files.line(path, row, cell)

    def source(self, path: str) -> Source | None:
        return self._files.source(path)

    def in_file(self, span: Span) -> Span:
        return self._files.in_file(span) if span.cell is not None else span
