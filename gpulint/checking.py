"""The checks of one run of the command: from the cache, in worker processes, or here.

Modules that a fully cached run does not need are imported late.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gpulint.linting.result import CheckResult
from gpulint.places import Span
from gpulint.settings import Settings, SettingsFinder

if TYPE_CHECKING:
    from gpulint.caching.cache import Cache
    from gpulint.linting.pack import Sources
    from gpulint.linting.selection import Catalogue, Selection
    from gpulint.sources.source import Source


class Texts(Protocol):
    """The files of a check, as it read them."""

    def line(self, path: str, row: int, cell: int | None = None, /) -> str:
        """The text of a row (from 1) of a file or of one of its cells, "" if there is none."""

    def source(self, path: str, /) -> Source | None:
        """The main program of a file, None if it could not be read."""

    def in_file(self, span: Span, /) -> Span:
        """A span in a cell converted to rows and columns of the notebook's file; others are unchanged."""


class Checked(NamedTuple):
    """The result of a check, and the files as it read them."""

    result: CheckResult
    texts: Texts


Check = Callable[[Sequence[str], Mapping[str, bytes]], Checked]
"""Checks files by path; those with a given content are not read from disk."""


@dataclass
class Checking:
    """Checks the files of a run.

    `settings` are those of the working directory, which name the rules; `installed` says whether installed packs are
    used. `given` are contents that are not on disk. `cache_directory` is "" for the one in the settings, None for no
    cache. With `edits` the fixes of findings have their edits. `progress` is told how many files were
    analysed, and how many there are.
    """

    finder: SettingsFinder
    settings: Settings
    installed: bool = True
    given: Mapping[str, bytes] = field(default_factory=dict)
    jobs: int = 1
    cache_directory: str | None = None
    edits: bool = True
    progress: Callable[[int, int], None] = lambda done, total: None

    def __call__(self, paths: Sequence[str], contents: Mapping[str, bytes]) -> Checked:
        """Raises SettingsError and PackError."""
        known = {**self.given, **contents}
        memory = self.cache if not known else None
        if memory is not None and (recalled := memory.result(paths)) is not None:
            return Checked(*recalled)
        from gpulint.linting.engine import Checker
        from gpulint.linting.workers import FORKS, Workers, is_small

        catalogue = self.catalogue
        processes = 1 if known or is_small(paths) else self.jobs
        workers = None
        if FORKS or processes > 1:
            workers = Workers(processes, self.finder, catalogue, self._rules, self.edits, progress=self.progress)
        checker = Checker(self.finder, catalogue, edits=self.edits)
        try:
            return Checked(checker.check(paths, known, workers, memory), checker.files)
        finally:
            self.progress(len(paths), len(paths))

    @cached_property
    def catalogue(self) -> Catalogue:
        """All rules. Raises PackError, and SettingsError if the settings name an unknown one."""
        from gpulint.linting.selection import Catalogue, Selection

        catalogue = Catalogue.load(self._rules)
        Selection(Catalogue(catalogue.pack, catalogue.is_complete), self.finder.asked)  # names the option in an error
        Selection(catalogue, self.settings)
        return catalogue

    @property
    def selection(self) -> Selection:
        """The rules enabled in the working directory. Raises as `catalogue` does."""
        from gpulint.linting.selection import Selection

        return Selection(self.catalogue, self.settings)

    @cached_property
    def cache(self) -> Cache | None:
        """Raises as `catalogue` does if there are plug-in rules."""
        if self.cache_directory is None:
            return None
        from gpulint.caching.cache import Cache
        from gpulint.caching.identity import identity
        from gpulint.linting.pack import SHIPPED, has_installed

        plugins = set()
        if self._rules.folders or (self.installed and has_installed()):
            plugins = {rule.__module__ for rule in self.catalogue.pack if not rule.__module__.startswith(f"{SHIPPED}.")}
        return Cache(self.finder, identity(sys.modules[name] for name in plugins), self.cache_directory, self.edits)

    @property
    def _rules(self) -> Sources:
        from gpulint.linting.pack import Sources

        return Sources.of(self.settings, self.installed)
