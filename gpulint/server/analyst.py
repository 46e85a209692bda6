"""Checking the editor's texts: what the analysis process does."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cache
from pathlib import Path

from gpulint.analysis import Project
from gpulint.analysis.project.parsed import Parsed
from gpulint.caching.cache import Cache
from gpulint.caching.identity import identity
from gpulint.caching.present import Present
from gpulint.checking import Checked
from gpulint.discovery import is_left_out
from gpulint.fixing.rounds import Fixer
from gpulint.linting.deep_stack import on_deep_stack
from gpulint.linting.engine import Checker
from gpulint.linting.examined import Examined
from gpulint.linting.files import Files
from gpulint.linting.finding import Finding, Related
from gpulint.linting.pack import SHIPPED
from gpulint.linting.result import CheckResult
from gpulint.linting.selection import Catalogue
from gpulint.linting.worker import Limits
from gpulint.server.buffers import Snapshot
from gpulint.server.file_predictions import FilePredictions, predictions_of
from gpulint.server.folders import Folder, Folders
from gpulint.server.importers import Importers
from gpulint.server.memory import Parts, ServerMemory
from gpulint.settings import Settings, SettingsError, SettingsFinder
from gpulint.sources.decoding import Undecodable

KEPT_CHARACTERS = 2_000_000
"""Total size of the files whose syntax is kept between checks: about 50,000 lines, 50 MB."""

FILES_BETWEEN_COLLECTIONS = 24
"""Number of files, imported ones included, after whose analysis to run the garbage collector. It takes some tenths of a
second."""


class Scope(IntEnum):
    """The files that the check of one file covers, narrowest first."""

    FILE = 1
    """The file as a program, with what it imports."""
    OPEN = 2
    """All open files as programs."""
    IMPORTERS = 3
    """All open files, and the files that import them."""
    WORKSPACE = 4
    """All files of the workspace."""


FoundByPath = Mapping[str, tuple[Finding, ...]]


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a check: the findings by path, with absolute paths in them, of each scope up to the wanted one.

    `problems` are errors in the user's settings, `faults` those of gpulint or a rule with their tracebacks; each is one
    line.
    """

    findings: Mapping[Scope, FoundByPath]
    problems: tuple[str, ...] = ()
    faults: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Order:
    """An order to check `paths` alone (`Scope.FILE`), or the open files and more.

    `lost` says, by path, why some files must not be read. A new `listing` asks to search for files again.
    """

    snapshot: Snapshot
    scope: Scope
    paths: tuple[str, ...] = ()
    lost: Mapping[str, str] = field(default_factory=dict)
    listing: int = 0


class Analyst:
    """Checks snapshots, and keeps what the next check can reuse.

    `begun` is called with the path and limits of each file before it is analysed, and may raise to end a check.
    """

    def __init__(self, folders: Folders, begun: Callable[[str, Limits], None]) -> None:
        self._folders = folders
        self._announce = begun
        self._importers: dict[str, Importers] = {}
        self._listing = 0
        self._parsed = Parsed(KEPT_CHARACTERS)
        self._parts: dict[str, Parts] = {}
        self._uncollected = 0
        """Files analysed since the last garbage collection."""

    def check(self, order: Order) -> Found:
        """Check files as parts of the programs that they belong to."""
        if order.listing != self._listing:
            self._listing = order.listing
            self._importers.clear()
        snapshot, scope = order.snapshot, order.scope
        findings: dict[Scope, dict[str, tuple[Finding, ...]]] = {one: {} for one in Scope if one <= scope}
        problems: dict[str, None] = {}
        faults: dict[tuple[str, str], None] = {}
        by_root: dict[str, list[str]] = {root: [] for root in self._folders.roots} if scope is Scope.WORKSPACE else {}
        for path in order.paths if scope is Scope.FILE else snapshot.buffers:
            by_root.setdefault(self._folders.root_of(path), []).append(path)
        for root, paths in by_root.items():
            try:
                folder = self._folders.at(root)
                shown = [path for path in paths if not (folder.is_workspace and is_left_out(path, folder.finder))]
                run = self._run(folder, order)
                for one, found in run.results(shown, scope).items():
                    findings[one] |= found
            except SettingsError as error:
                problems[str(error)] = None
                continue
            faults |= dict.fromkeys(run.faults)
        return Found(findings, tuple(problems), tuple(faults))

    def predictions(self, snapshot: Snapshot, path: str) -> FilePredictions | None:
        """The predictions for a file, None if it cannot be read.

        Raises SettingsError.
        """
        finder = self._folders.at(self._folders.root_of(path)).finder
        files = _files(finder, snapshot)
        try:
            programs, target = files.load(path).all, files.target(path).release
        except (OSError, Undecodable):
            return None
        settings = finder.of_file(path)
        self._begun(path, _limits(settings))
        project = _project(settings, files, self._parsed)
        return on_deep_stack(lambda: predictions_of(programs, project, target))

    def fixed(self, order: Order) -> Mapping[int | None, str]:
        """The changed texts of an open file, or of its cells, after its safe fixes: those that the last check of it and
        of its importers offered, and those that they make possible.

        Raises SettingsError.
        """
        (path,) = order.paths
        run = self._run(self._folders.at(self._folders.root_of(path)), order)
        importers = run.importers([path])
        programs = [path, *(one for one in importers if run.memory.examined(one, importers) is not None)]

        def check(paths: Sequence[str], contents: Mapping[str, bytes]) -> Checked:
            again = self._run(run.folder, order, contents)
            return Checked(again.check([one for one in paths if one == path]), again.checker.files)

        fixer = Fixer(check, lambda path: False, lambda finding: finding.span.path == path)
        return fixer.run(Checked(run.check(programs), run.checker.files), [path]).texts(path)

    def _run(self, folder: Folder, order: Order, contents: Mapping[str, bytes] | None = None) -> _Run:
        if folder.root not in self._importers:
            self._importers[folder.root] = Importers(folder)
        known = self._importers[folder.root], self._parsed, self._parts.setdefault(folder.root, Parts())
        return _Run(folder, order, contents or {}, *known, self._begun)

    def _begun(self, path: str, limits: Limits) -> None:
        self._announce(path, limits)
        self._uncollected += 1

    def tidy(self) -> None:
        """Free what earlier calls left behind: it has cycles, and the collector hardly runs by itself. To be called
        while nobody waits."""
        if self._uncollected >= FILES_BETWEEN_COLLECTIONS:
            self._uncollected = 0
            gc.collect()


class _Run:
    """The checks of one state of a folder. Raises SettingsError."""

    def __init__(
        self,
        folder: Folder,
        order: Order,
        contents: Mapping[str, bytes],
        importers: Importers,
        parsed: Parsed,
        parts: Parts,
        begun: Callable[[str, Limits], None],
    ) -> None:
        self.folder = folder
        self.checker = Checker(folder.finder, folder.catalogue, parsed)
        self.faults: list[tuple[str, str]] = []
        self._snapshot = order.snapshot
        self._lost = order.lost
        self._given = {**order.snapshot.contents, **contents}
        self._importers = importers
        self._parts = parts
        self._open = frozenset(order.snapshot.buffers)
        settings = folder.finder.of_directory(folder.root)
        self._limits = _limits(settings)
        self._begun = begun
        on_disk = None
        if order.scope >= Scope.IMPORTERS and folder.is_workspace:
            known = _identity(folder.catalogue)
            on_disk = Cache(folder.finder, known, edits=True, given=self._given)
        present = Present(folder.finder, self._given)
        self.memory = ServerMemory(parts, present, self._open, on_disk)
        self.checker.give_up(order.lost)

    def results(self, shown: Sequence[str], scope: Scope) -> Mapping[Scope, FoundByPath]:
        """The findings of some open files in a scope and in all narrower ones, and those of the folder's other files in
        the widest one."""
        found: dict[Scope, FoundByPath] = {}
        if scope is Scope.WORKSPACE and self.folder.is_workspace:
            every = list(dict.fromkeys([*shown, *self._importers.files(self._snapshot)]))
            found[scope] = _by_path(every, self.check(every))
        elif scope >= Scope.IMPORTERS:
            found[scope] = _by_path(shown, self.check([*shown, *self.importers(shown)]))
        if scope >= Scope.OPEN:
            found[Scope.OPEN] = _by_path(shown, self.check(shown))
        alone = [found[Scope.OPEN]] if len(shown) == 1 and scope >= Scope.OPEN else self._alone(shown)
        found[Scope.FILE] = {path: one for each in alone for path, one in each.items()}
        return found

    def _alone(self, shown: Sequence[str]) -> list[FoundByPath]:
        return [_by_path([path], self.check([path])) for path in shown]

    def check(self, paths: Sequence[str]) -> CheckResult:
        """The result for some files."""
        if not paths:
            return CheckResult()
        result = self.checker.check(paths, self._given, self._examine, self.memory)
        self.faults += result.errors
        return result

    def importers(self, shown: Sequence[str]) -> list[str]:
        """The importers of some files."""
        if not self.folder.is_workspace or not shown:
            return []
        finder = self.folder.finder
        project = _project(finder.of_directory(self.folder.root), _files(finder, self._snapshot), Parsed())
        return self._importers.of(shown, self._snapshot, project)

    def _examine(
        self, portions: Sequence[tuple[str, ...]], among: Collection[str], contents: Mapping[str, bytes]
    ) -> Iterable[Examined]:
        """Examine files one by one, and keep what each gives: the check can end before the next."""
        needed = self._open.union(among)
        found: list[Examined] = []
        for path in (path for portion in portions for path in portion):
            if path in self._lost:
                found.append(Examined(path, lost=self._lost[path]))
                continue
            parts = self.checker.examine((path,), needed, contents, self._at, self._at)
            self._parts.keep(parts)
            found += parts
        return found

    def _at(self, path: str) -> None:
        self._begun(path, self._limits)


def _limits(settings: Settings) -> Limits:
    return Limits(settings.max_file_seconds, settings.max_file_memory)


@cache
def _shipped_identity() -> str:
    return identity()


def _identity(catalogue: Catalogue) -> str:
    """The identity of what decides the findings of a catalogue's rules."""
    plugins = {rule.__module__ for rule in catalogue.pack if not rule.__module__.startswith(f"{SHIPPED}.")}
    return identity(sys.modules[name] for name in plugins) if plugins else _shipped_identity()


def _files(finder: SettingsFinder, snapshot: Snapshot) -> Files:
    """The files as the editor has them."""
    files = Files(finder)
    files.given = snapshot.contents
    return files


def _project(settings: Settings, files: Files, parsed: Parsed) -> Project:
    roots = [Path(settings.root, directory) for directory in settings.src]
    return Project(roots, files.read, files.written, parsed=parsed)


def _by_path(paths: Sequence[str], result: CheckResult) -> dict[str, tuple[Finding, ...]]:
    """The findings of each file, also with absolute paths of related places."""
    found: dict[str, list[Finding]] = {path: [] for path in paths}
    for finding in result.findings:
        if finding.span.path in found:
            related = tuple(
                Related(one.span._replace(path=os.path.abspath(one.span.path)), one.message) for one in finding.related
            )
            found[finding.span.path].append(replace(finding, related=related))
    return {path: tuple(findings) for path, findings in found.items()}
