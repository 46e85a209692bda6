"""Results for each file, kept while nothing that they were computed from changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from gpulint.caching.cache import Cache
from gpulint.caching.present import Present
from gpulint.linting.examined import Examined
from gpulint.linting.provenance import Provenance
from gpulint.linting.result import CheckResult

MAX_PARTS = 500
"""Maximum number of files whose results are kept in memory."""


class Parts:
    """Results by absolute path, those used last at the end."""

    def __init__(self) -> None:
        self._parts: dict[str, Examined] = {}

    def keep(self, parts: Iterable[Examined]) -> None:
        """Store results that another attempt would repeat."""
        for part in parts:
            self._parts.pop(part.path, None)
            if part.provenance is not None and not part.errors:
                self._parts[part.path] = part
        for path in list(self._parts)[: max(len(self._parts) - MAX_PARTS, 0)]:
            del self._parts[path]

    def get(self, path: str) -> Examined | None:
        """The last result of a file, None if it is not known."""
        if (part := self._parts.pop(path, None)) is not None:
            self._parts[path] = part
        return part


class ServerMemory:
    """The `Memory` of one check: results in this process, and on disk where `cache` is given.

    `needed` are files whose findings the results must have, besides those that a run shows.
    """

    def __init__(self, parts: Parts, present: Present, needed: frozenset[str], cache: Cache | None) -> None:
        self._parts = parts
        self._present = present
        self._needed = needed
        self._cache = cache

    def examined(self, path: str, shown: Collection[str]) -> Examined | None:
        """The result for a file, None if it is not known."""
        part, needed = self._parts.get(path), self._needed.union(shown)
        if part is not None and part.provenance is not None and self._present.agrees_with(part.provenance):
            return part if part.elsewhere.isdisjoint(needed) else None
        return self._cache.examined(path, needed) if self._cache is not None else None

    def keep(
        self, files: Sequence[str], result: CheckResult, provenance: Provenance | None, fresh: Sequence[Examined]
    ) -> None:
        """Write the results of files to the disk; those in memory were kept when they were computed."""
        if self._cache is not None and fresh:
            self._cache.keep(files, result, None, fresh)
