"""From paths to findings."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress

from gpulint.analysis import Plan, analyse
from gpulint.analysis.project.parsed import Parsed
from gpulint.linting.consistency import is_in_place, run_provenance, torn
from gpulint.linting.deep_stack import on_deep_stack
from gpulint.linting.examined import Examined, Memory
from gpulint.linting.examiner import TOO_DEEP, Examiner
from gpulint.linting.files import Files
from gpulint.linting.merging import Merger
from gpulint.linting.nearest import Importing, importers
from gpulint.linting.portions import portions
from gpulint.linting.result import CheckResult
from gpulint.linting.selection import Catalogue, Selections
from gpulint.linting.workspace import Workspace
from gpulint.settings import SettingsFinder
from gpulint.sources.source import Source
from gpulint.syntax.embedded import Programs
from gpulint.syntax.parse import CannotParse

Examine = Callable[[Sequence[tuple[str, ...]], Collection[str], Mapping[str, bytes]], Iterable[Examined]]
"""Examines the files of portions, given all files to check and the content of those that differ from the disk."""


class Checker:
    """One run over a set of files.

    `parsed` has what earlier runs have parsed. With `edits` the fixes of findings have their edits.
    """

    def __init__(
        self, finder: SettingsFinder, catalogue: Catalogue, parsed: Parsed | None = None, edits: bool = True
    ) -> None:
        self._parsed = parsed if parsed is not None else Parsed()
        self._finder = finder
        self._catalogue = catalogue
        self._edits = edits
        self._selections = Selections(finder, catalogue)
        self._open({})

    def _open(self, given: Mapping[str, bytes]) -> None:
        """Forget all files that were read; `given` is the content of those that differ from the disk."""
        self._workspace = Workspace(self._finder, self._catalogue, self._parsed, given)
        self._examiner = Examiner(self._workspace, self._catalogue, self._selections, self._edits)

    @property
    def files(self) -> Files:
        """The files as they were read."""
        return self._workspace.files

    def check(
        self,
        files: Sequence[str],
        given: Mapping[str, bytes] | None = None,
        examine: Examine | None = None,
        memory: Memory | None = None,
    ) -> CheckResult:
        """Check files by path; `given` is the content, by path, of those that differ from the disk.

        `examine` analyses them elsewhere; by default this process does. `memory` knows what some files on disk give.
        All findings come from one content of each file, even if it changes meanwhile. Raises SettingsError.
        """
        shown = {os.path.abspath(path): path for path in files}
        contents = {os.path.abspath(path): data for path, data in (given or {}).items()}
        self.files.given = contents
        for path in shown:
            self._selections.of(path)
        known = [
            part
            for path in shown
            if memory and (part := memory.examined(path, shown.keys())) is not None and is_in_place(part, self.files)
        ]
        remembered = {part.path for part in known}
        fresh = self._examined_by(examine, [path for path in shown if path not in remembered], shown, contents)
        while changed := torn([*known, *fresh], shown, self.files, self._finder):
            contents = {**contents, **changed}
            self._open(contents)
            known = [part for part in known if changed.keys().isdisjoint(part.readings)]
            kept = [part for part in fresh if changed.keys().isdisjoint(part.readings)]
            settled = {part.path for part in (*known, *kept)}
            again = [path for path in shown if path not in settled]
            fresh = [*kept, *self._examined_by(examine, again, shown, contents)]
        parts = [*known, *fresh]
        lost = {part.path: part.lost for part in parts if part.lost}
        lost |= dict.fromkeys(
            shown.keys() - {part.path for part in parts}, "no process reported a result; it was not checked"
        )
        self.give_up(lost)
        result = Merger(self._workspace, self._catalogue, self._selections, self._edits, shown).merge(parts, lost)
        for part in fresh:  # another process may have read a file that one gave up
            if part.provenance is not None and not self.files.given_up.isdisjoint(part.provenance.files):
                part.provenance = None
        result.remembered = sum(part.analysed for part in known)
        if memory is not None:
            memory.keep(files, result, run_provenance(shown, parts) if not result.errors else None, fresh)
        return result

    def _examined_by(
        self, examine: Examine | None, paths: Sequence[str], shown: Collection[str], given: Mapping[str, bytes]
    ) -> list[Examined]:
        split = portions(paths)
        if examine is not None:
            return list(examine(split, shown, given))
        return [part for portion in split for part in self.examine(portion, shown, given)]

    def examine(
        self,
        paths: Sequence[str],
        shown: Collection[str],
        given: Mapping[str, bytes],
        begun: Callable[[str], None] = lambda path: None,
        parsing: Callable[[str], None] = lambda path: None,
    ) -> list[Examined]:
        """Results of the programs in each file for the files in `shown`, independent of what was examined before. All
        paths are absolute.

        `begun` is called with each path before anything is done with it; `parsing` with that of each imported file
        before it is parsed, and then with that of the program again.
        """
        self.files.given, self._workspace.parsing = given, parsing
        return on_deep_stack(lambda: self._examiner.examine(paths, shown, begun))

    def give_up(self, paths: Iterable[str]) -> None:
        """Never read these files: a process that does may not survive it."""
        for path in paths:
            self.files.give_up(path)
            self._examiner.forget(path)

    def load(self, path: str, data: bytes | None = None) -> Programs:
        """The programs in a file; `data` is its content if that differs from the disk.

        Raises OSError, Undecodable and SettingsError.
        """
        absolute = os.path.abspath(path)
        if data is not None:
            self.files.given = {**self.files.given, absolute: data}
        return self.files.load(absolute)

    def loaded(self, path: str) -> Programs | None:
        """The programs in a file, None if it cannot be read."""
        return self.files.loaded(os.path.abspath(path))

    def importers(self, path: str, files: Iterable[str]) -> list[str]:
        """The nearest of some files, all given by absolute path, that import a file. Raises SettingsError."""
        found = []
        for one in files:
            with suppress(OSError):
                found.append(Importing(one, self._finder.of_file(one).read(one)))
        return importers([path], found, self._workspace.project(path))

    def plan(self, source: Source) -> Plan:
        """The whole Plan of a program that was loaded. Raises CannotParse and SettingsError."""
        project = self._workspace.project(source.file)
        try:
            return on_deep_stack(lambda: analyse(source, project, self.files.target(source.file).release))
        except RecursionError:
            raise CannotParse(TOO_DEEP) from None
