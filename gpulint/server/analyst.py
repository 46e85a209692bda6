"""Checking what the editor holds. Everything here runs on one thread, one thing after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpulint.analysis import Project
from gpulint.linting.engine import Checker, on_deep_stack
from gpulint.linting.examined import Examined
from gpulint.linting.finding import Finding, Related
from gpulint.linting.result import CheckResult
from gpulint.server.buffers import Snapshot
from gpulint.server.folders import Folder, Folders
from gpulint.server.importers import Importers
from gpulint.server.predictions import Predictions, predict
from gpulint.settings import Settings, SettingsError
from gpulint.sources.discovery import is_left_out
from gpulint.syntax.parse import CannotParse


class Superseded(Exception):
    """A check that nobody waits for any more."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a snapshot came to: findings by path, with absolute paths in them.

    `problems` are faults of the user's settings, `faults` those of gpulint or a rule with their tracebacks; each is
    one line.
    """

    snapshot: Snapshot
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    faults: tuple[tuple[str, str], ...] = ()


class Analyst:
    """Checks snapshots, and keeps what the next one can use."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._importers: dict[str, Importers] = {}

    def check(self, snapshot: Snapshot, is_wanted: Callable[[], bool], everything: bool = False) -> Report:
        """Check the open files, or all files of the workspace, as parts of the programs that they belong to.

        Raises Superseded once `is_wanted` says no.
        """
        findings: dict[str, tuple[Finding, ...]] = {}
        problems: dict[str, None] = {}
        faults: list[tuple[str, str]] = []
        open_files: dict[str, list[str]] = {root: [] for root in self._folders.roots} if everything else {}
        for path in snapshot.buffers:
            open_files.setdefault(self._folders.root_of(path), []).append(path)
        for root, paths in open_files.items():
            try:
                folder = self._folders.at(root)
                shown = [path for path in paths if not (folder.is_workspace and is_left_out(path, folder.finder))]
                if everything and folder.is_workspace:
                    shown = list(dict.fromkeys([*shown, *self._importers_in(folder).files(snapshot)]))
                result = self._checked(folder, shown, snapshot, is_wanted)
            except SettingsError as error:
                problems[str(error)] = None
                continue
            findings |= _by_path(shown, result)
            faults += result.errors
        return Report(snapshot, findings, tuple(problems), tuple(faults))

    def predictions(self, snapshot: Snapshot, path: str) -> Predictions | None:
        """What is predicted of the places of a file; None where it is no program that can be read.

        Raises SettingsError.
        """
        settings = self._folders.at(self._folders.root_of(path)).finder.of_file(path)
        source = snapshot.source(path)
        if source is None:
            return None
        project = _project(settings, snapshot)
        try:
            return on_deep_stack(lambda: predict(source, project, settings.target_tensorflow))
        except CannotParse:
            return None

    def forget_files(self) -> None:
        """Look for files again: some came or went."""
        self._importers.clear()

    def _checked(
        self, folder: Folder, shown: Sequence[str], snapshot: Snapshot, is_wanted: Callable[[], bool]
    ) -> CheckResult:
        """The findings of some files of a folder, found by them and by what imports them."""
        programs = list(shown)
        if folder.is_workspace and shown:
            project = _project(folder.finder.of_directory(folder.root), snapshot)
            programs += self._importers_in(folder).of(shown, snapshot, project)
        given = {path: buffer.data for path, buffer in snapshot.buffers.items()}
        checker = Checker(folder.finder, folder.catalogue)

        def begun(path: str) -> None:
            if not is_wanted():
                raise Superseded

        def examine(portions: Sequence[tuple[str, ...]], among: Collection[str]) -> list[Examined]:
            return [part for portion in portions for part in checker.examine(portion, among, given, begun)]

        return checker.check(programs, given, examine)

    def _importers_in(self, folder: Folder) -> Importers:
        if folder.root not in self._importers:
            self._importers[folder.root] = Importers(folder)
        return self._importers[folder.root]


def _project(settings: Settings, snapshot: Snapshot) -> Project:
    return Project([Path(settings.root, directory) for directory in settings.src], snapshot.source)


def _by_path(paths: Sequence[str], result: CheckResult) -> dict[str, tuple[Finding, ...]]:
    """The findings of each file, with absolute paths of related places too."""
    found: dict[str, list[Finding]] = {path: [] for path in paths}
    for finding in result.findings:
        if finding.span.path in found:
            related = tuple(
                Related(one.span._replace(path=os.path.abspath(one.span.path)), one.message) for one in finding.related
            )
            found[finding.span.path].append(replace(finding, related=related))
    return {path: tuple(findings) for path, findings in found.items()}
