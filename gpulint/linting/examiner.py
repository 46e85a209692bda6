"""Analysing the programs in files, one file at a time."""

from __future__ import annotations

import traceback
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

from gpulint.analysis import analyse
from gpulint.analysis.domain.path_conditions import forget as forget_conditions
from gpulint.analysis.queries.moments import is_test
from gpulint.linting.consistency import provenance_of, readings
from gpulint.linting.dispatch import Raised, reports_of
from gpulint.linting.examined import Examined
from gpulint.linting.placing import Placing
from gpulint.linting.rule import Rule
from gpulint.linting.screening import Screen
from gpulint.linting.selection import Catalogue, Selections
from gpulint.linting.silence import may_have_directives
from gpulint.linting.unreadable import point, unreadable
from gpulint.linting.workspace import Workspace
from gpulint.places import Site, Span
from gpulint.sources.decoding import Undecodable
from gpulint.sources.source import Source
from gpulint.syntax.parse import CannotParse, syntax_error

TOO_DEEP = "the program is nested too deeply to analyse"


class Examiner:
    """Turns files of a workspace into `Examined`, with candidates at their places. With `edits` their fixes have
    edits."""

    def __init__(self, workspace: Workspace, catalogue: Catalogue, selections: Selections, edits: bool) -> None:
        self._workspace = workspace
        self._files = workspace.files
        self._catalogue = catalogue
        self._selections = selections
        self._screen = Screen(workspace.files, workspace.project)
        self._placing = Placing(workspace, selections, edits)

    def forget(self, path: str) -> None:
        """Read a file that must not be read any more as one that is missing."""
        self._screen.forget(path)

    def examine(self, paths: Sequence[str], shown: Collection[str], begun: Callable[[str], None]) -> list[Examined]:
        """Results of the programs in each file for the files in `shown`, independent of what was examined before.

        `begun` is called with each path before anything is done with it.
        """
        reports: list[tuple[Examined, Raised]] = []
        examined = [self._examined(path, begun, reports) for path in paths]
        by_program: dict[str, list[tuple[Examined, Raised]]] = defaultdict(list)
        for part, raised in reports:
            by_program[raised.report.site.path].append((part, raised))
        for path, own in by_program.items():
            source = self._files.read(path)
            if source is not None and source.file in shown:
                begun(source.file)
                try:
                    self._placing.place(source, own)
                except Exception as error:  # as in `_examined`
                    _note_fault(own[0][0], source.file, error)
                    for part, _ in own:
                        part.provenance = None
            elif source is not None:
                for part, _ in own:
                    part.elsewhere.add(source.file)
        return examined

    def _examined(self, path: str, begun: Callable[[str], None], reports: list[tuple[Examined, Raised]]) -> Examined:
        """Results of the programs in a file, without candidates. `reports` receives the reports that still need a
        place."""
        begun(path)
        self._workspace.begin(path)
        forget_conditions()
        part = Examined(path)
        try:
            is_final = self._check_file(path, part, reports)
            part.readings = readings(self._workspace, path)
            if is_final:
                part.provenance = provenance_of(self._workspace, path, part.readings)
        except RecursionError:
            self._note_unreadable(part, point(path), TOO_DEEP)
        except MemoryError:
            reason = "it takes more memory than there is, or than `max-file-memory` allows"
            self._note_unreadable(part, point(path), reason)
        except Exception as error:  # a fault of gpulint or of a rule costs this file only
            _note_fault(part, path, error)
        return part

    def _check_file(self, path: str, part: Examined, reports: list[tuple[Examined, Raised]]) -> bool:
        """Fill in `part`. Returns whether another attempt would have the same result."""
        try:
            programs = self._files.load(path)
        except OSError as error:
            self._note_unreadable(part, point(path), f"cannot be read: {error.strerror or error}")
            return False
        except Undecodable as error:
            self._note_unreadable(part, point(path, error.row, error.column), error.message)
            return True
        for source, broken in programs.broken:
            what = "block" if source.cells is None else "cell"
            self._note_unparsable(part, source, broken, f"nothing in this {what} was checked", f"fix the {what}")
        if may_have_directives(programs.all):
            part.comments[path] = self._workspace.comments(path)
        if self._screen.is_relevant(programs.main):
            part.analysed, part.target = 1, self._files.target(path)
            part.uses = self._screen.uses(programs.all)
            for source in programs.all:
                self._check_program(part, source, reports)
        elif programs.main.cells is None and programs.main.blocks is None:
            if (unparsed := syntax_error(programs.main)) is not None:
                self._note_unparsable(part, programs.main, unparsed)
        return True

    def _check_program(self, part: Examined, source: Source, reports: list[tuple[Examined, Raised]]) -> None:
        selection = self._selections.of(source.file)
        project, target = self._workspace.project(source.file), self._files.target(source.file).release
        subjects = selection.subjects_of(source.file, self._files.knows_release(source.file))
        try:
            plan = analyse(source, project, target, subjects)
        except CannotParse as error:
            self._note_unparsable(part, source, error)
            return
        raised = reports_of(plan, selection.rules_of(source.file), self._files.read)
        for site in {*(one.report.site for one in raised), *plan.called_elsewhere}:
            reached = self._files.read(site.path)
            part.reached.add(reached.file if reached is not None else site.path)
        reports += [(part, one) for one in raised]
        part.stopped |= self._stopped(plan.bounds)
        if not is_test(source.file):
            part.called |= plan.completed
            if plan.completed:
                part.passed |= {event.site for event in plan.events if event.site.path != plan.path}
        plan.release()

    def _stopped(self, bounds: Iterable[tuple[str, Site]]) -> set[tuple[str, Site]]:
        """The bounds that were reached, each with the function that contains its place; a program that ran out of steps
        keeps the place itself."""
        stopped: set[tuple[str, Site]] = set()
        by_path: dict[str, list[tuple[str, Site]]] = defaultdict(list)
        for bound, site in bounds:
            by_path[site.path if bound != "steps" else ""].append((bound, site))
        for path, reached in by_path.items():
            if not path or (enclosing := self._workspace.enclosing(path)) is None:
                stopped.update(reached)
                continue
            for bound, site in reached:
                around = enclosing.of(site.node)
                stopped.add((bound, Site(path, around[-1].number if around else 0)))
        return stopped

    def _note_unparsable(
        self, part: Examined, source: Source, error: CannotParse, why: str = "", instead: str = ""
    ) -> None:
        span = self._files.in_cell(point(source.path, error.row, error.column))
        self._note_unreadable(part, span, error.message, why, instead)

    def _note_unreadable(self, part: Examined, span: Span, message: str, why: str = "", instead: str = "") -> None:
        part.unreadable.append(unreadable(self._catalogue, span, message, why, instead))


def _rule_at_fault(error: Exception) -> str:
    """Code of the rule whose method raised; "" if none did."""
    held = (frame.f_locals.get("self") for frame, _ in traceback.walk_tb(error.__traceback__))
    return next((one.code for one in held if isinstance(one, Rule)), "")


def _note_fault(part: Examined, path: str, error: Exception) -> None:
    """Note a fault of gpulint, or of a rule, with a file."""
    rule = _rule_at_fault(error)
    where = f" in {rule}" if rule else ""
    message = f"{path}: internal error{where}: {type(error).__name__}: {error}"
    part.errors.append((message, traceback.format_exc()))
