"""Checking the editor's texts. Everything here runs on one thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpulint.analysis import Project
from gpulint.checking import Checked
from gpulint.discovery import is_left_out
from gpulint.fixing.rounds import Fixer
from gpulint.linting.deep_stack import on_deep_stack
from gpulint.linting.engine import Checker
from gpulint.linting.examined import Examined
from gpulint.linting.files import Files
from gpulint.linting.finding import Finding, Related
from gpulint.linting.result import CheckResult
from gpulint.server.buffers import Snapshot
from gpulint.server.file_predictions import FilePredictions, predictions_of
from gpulint.server.folders import Folder, Folders
from gpulint.server.importers import Importers
from gpulint.settings import Settings, SettingsError, SettingsFinder
from gpulint.sources.decoding import Undecodable


class Superseded(Exception):
    """The result of a check is no longer wanted."""


@dataclass(frozen=True, slots=True)
class SnapshotResult:
    """The result for a snapshot: findings by path, with absolute paths in them.

    `problems` are errors in the user's settings, `faults` those of gpulint or a rule with their tracebacks; each is one
    line.
    """

    snapshot: Snapshot
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    faults: tuple[tuple[str, str], ...] = ()


class Analyst:
    """Checks snapshots, and caches what the next one can reuse."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._importers: dict[str, Importers] = {}

    def check(self, snapshot: Snapshot, is_wanted: Callable[[], bool], everything: bool = False) -> SnapshotResult:
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
        return SnapshotResult(snapshot, findings, tuple(problems), tuple(faults))

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
        project = _project(finder.of_file(path), files)
        return on_deep_stack(lambda: predictions_of(programs, project, target))

    def fixed(self, snapshot: Snapshot, path: str) -> Mapping[int | None, str]:
        """The changed texts of an open file, or of its cells, after its safe fixes.

        Raises SettingsError.
        """
        folder = self._folders.at(self._folders.root_of(path))
        programs = [path, *self._importing(folder, [path], snapshot)]

        def check(paths: Sequence[str], contents: Mapping[str, bytes]) -> Checked:
            checker = Checker(folder.finder, folder.catalogue)
            return Checked(checker.check(paths, {**snapshot.contents, **contents}), checker.files)

        fixer = Fixer(check, lambda path: False, lambda finding: finding.span.path == path)
        return fixer.run(check(programs, {}), programs).texts(path)

    def forget_files(self) -> None:
        """Search for files again: some were created or deleted."""
        self._importers.clear()

    def _checked(
        self, folder: Folder, shown: Sequence[str], snapshot: Snapshot, is_wanted: Callable[[], bool]
    ) -> CheckResult:
        """The result for some files of a folder, analysed together with their importers."""
        programs = [*shown, *self._importing(folder, shown, snapshot)]
        given = snapshot.contents
        checker = Checker(folder.finder, folder.catalogue)

        def begun(path: str) -> None:
            if not is_wanted():
                raise Superseded

        def examine(
            portions: Sequence[tuple[str, ...]], among: Collection[str], contents: Mapping[str, bytes]
        ) -> list[Examined]:
            return [part for portion in portions for part in checker.examine(portion, among, contents, begun)]

        return checker.check(programs, given, examine)

    def _importing(self, folder: Folder, shown: Sequence[str], snapshot: Snapshot) -> list[str]:
        """The importers of some files of a folder."""
        if not folder.is_workspace or not shown:
            return []
        project = _project(folder.finder.of_directory(folder.root), _files(folder.finder, snapshot))
        return self._importers_in(folder).of(shown, snapshot, project)

    def _importers_in(self, folder: Folder) -> Importers:
        if folder.root not in self._importers:
            self._importers[folder.root] = Importers(folder)
        return self._importers[folder.root]


def _files(finder: SettingsFinder, snapshot: Snapshot) -> Files:
    """The files as the editor has them."""
    files = Files(finder)
    files.given = snapshot.contents
    return files


def _project(settings: Settings, files: Files) -> Project:
    return Project([Path(settings.root, directory) for directory in settings.src], files.read, files.written)


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
