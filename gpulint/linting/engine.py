"""From paths to findings."""

from __future__ import annotations

import gc
import hashlib
import os
import re
import threading
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

from gpulint.analysis import Plan, Project, analyse
from gpulint.analysis.modules import Outlines
from gpulint.analysis.paths import forget as forget_conditions
from gpulint.analysis.questions import is_test
from gpulint.analysis.reach import imported_paths
from gpulint.linting.dispatch import (
    Raised,
    reports_of,
    without_answered,
    without_explained,
    without_guessed,
    without_repeated,
)
from gpulint.linting.examined import Candidate, Examined, Memory
from gpulint.linting.files import Files
from gpulint.linting.finding import Finding, Related, Silenced
from gpulint.linting.fixes import Writer
from gpulint.linting.importers import Importers
from gpulint.linting.own_codes import SYNTAX_ERROR
from gpulint.linting.portions import portions
from gpulint.linting.prose import Prose
from gpulint.linting.provenance import MadeFrom
from gpulint.linting.result import CheckResult
from gpulint.linting.selection import Catalogue, Selection
from gpulint.linting.silence import names_us, silence
from gpulint.places import Site, Span
from gpulint.rewriting.fix import Edit, Fix
from gpulint.settings import Settings, SettingsFinder
from gpulint.sources.decoding import Undecodable
from gpulint.sources.source import Source
from gpulint.sources.suppressions import Comments, comments_in
from gpulint.syntax import ir
from gpulint.syntax.embedded import Programs
from gpulint.syntax.enclosing import contexts, enclosing
from gpulint.syntax.parse import CannotParse, syntax_error
from gpulint.syntax.stack import ProcessSetting, on_stack

TOO_DEEP = "the program is nested too deeply to analyse"

STACK_BYTES = 512 * 1024 * 1024
"""Stack of the thread that checks: the interpreter recurses over calls and expressions. Only touched pages count."""

RECURSION_LIMIT = 60_000
"""Python frames on that stack."""

MAX_ASKED = 24
"""Files without a word of TensorFlow that are asked whether they import one that has."""

_SET_IN_ENVIRONMENT = re.compile(rb"\b(?:TF_[A-Z]|CUDA_VISIBLE_DEVICES)")
"""Environment variables that TensorFlow reads."""


_CALLS = re.compile(rb"^(?:[\w.]+ *= *)?[\w.]+\(", re.MULTILINE)
"""A call in the body of a module."""


def runs_something(data: bytes) -> bool:
    """Whether a file may have code that trains by what it imports."""
    return b"__main__" in data or b"def " in data or _CALLS.search(data) is not None


def speaks_of_tensorflow(data: bytes) -> bool:
    """Whether a file's content is about TensorFlow at all: others are not looked at."""
    lowered = data.lower()
    return b"tensorflow" in lowered or b"keras" in lowered or _sets_up(data)


def imports_tensorflow(data: bytes) -> bool:
    """Whether a file imports TensorFlow or what is built on it, or sets it up, so that those who import it use it."""
    return _IMPORT.search(data) is not None or _sets_up(data)


_IMPORT = re.compile(
    rb"^[ \t]*(?:from|import)[ \t](?:[\w, \t]*?\b)??(?:\w*keras\w*|tensorflow\w*|tf_\w+|horovod)\b", re.MULTILINE
)


def _sets_up(data: bytes) -> bool:
    """Whether a file sets something in the environment that TensorFlow reads."""
    named = (b"TF_" in data or b"CUDA_" in data) and _SET_IN_ENVIRONMENT.search(data) is not None
    return named and any(word in data for word in (b"environ", b"putenv", b"%env", b"export"))


Examine = Callable[[Sequence[tuple[str, ...]], Collection[str], Mapping[str, bytes]], Iterable[Examined]]
"""What the files of portions give, given all that are checked and the content of those that are not as on disk."""


class Checker:
    """One run over a set of files.

    `outlines` are those of files that others have looked at. With `edits` the fixes of findings have their edits.
    """

    def __init__(
        self, finder: SettingsFinder, catalogue: Catalogue, outlines: Outlines | None = None, edits: bool = True
    ) -> None:
        self._outlines = outlines if outlines is not None else {}
        self._finder = finder
        self._catalogue = catalogue
        self._edits = edits
        self._selections: dict[Settings, Selection] = {}
        self._result = CheckResult()
        self._raised: list[tuple[Examined, Raised]] = []
        self._present = ""
        self._parsing: Callable[[str], None] = lambda path: None
        self._open({})

    def _open(self, given: Mapping[str, bytes]) -> None:
        """Forget all files that were read; `given` is the content of those that are not as on disk."""
        self._projects: dict[tuple[str, ...], Project] = {}
        self._importing: dict[str, bool] = {}
        """Whether a file imports TensorFlow, by path."""
        self._comments: dict[str, Comments] = {}
        self.files = Files(self._finder)
        self.files.given = given
        self._prose = Prose(self.files.read, self._syntax)

    def check(
        self,
        files: Sequence[str],
        given: Mapping[str, bytes] | None = None,
        examine: Examine | None = None,
        memory: Memory | None = None,
    ) -> CheckResult:
        """Check files by path; `given` is the content, by path, of those that are not on disk as they are.

        Without `examine` the files are examined here. `memory` knows what some of the files on disk give. All findings
        come from one content of each file, whatever happens to it meanwhile. Raises SettingsError.
        """
        shown = {os.path.abspath(path): path for path in files}
        contents = {os.path.abspath(path): data for path, data in (given or {}).items()}
        self.files.given = contents
        for path in shown:
            self._selection(path)
        known = [
            part
            for path in shown
            if memory and (part := memory.examined(path, shown.keys())) is not None and self._is_in_place(part)
        ]
        remembered = {part.path for part in known}
        fresh = self._examined_by(examine, [path for path in shown if path not in remembered], shown, contents)
        while torn := self._torn([*known, *fresh], shown):
            contents = {**contents, **torn}
            self._open(contents)
            known = [part for part in known if torn.keys().isdisjoint(part.readings)]
            kept = [part for part in fresh if torn.keys().isdisjoint(part.readings)]
            settled = {part.path for part in (*known, *kept)}
            again = [path for path in shown if path not in settled]
            fresh = [*kept, *self._examined_by(examine, again, shown, contents)]
        parts = [*known, *fresh]
        result = self._settled(shown, parts)
        for part in fresh:  # what was given up by one process may have been read by another
            if part.made_from is not None and not self.files.given_up.isdisjoint(part.made_from.files):
                part.made_from = None
        result.remembered = sum(part.analysed for part in known)
        if memory is not None:
            memory.keep(files, result, self._all_made_from(shown, parts), fresh)
        return result

    def _examined_by(
        self, examine: Examine | None, paths: Sequence[str], shown: Collection[str], given: Mapping[str, bytes]
    ) -> list[Examined]:
        split = portions(paths)
        if examine is not None:
            return list(examine(split, shown, given))
        return [part for portion in split for part in self.examine(portion, shown, given)]

    def _is_in_place(self, part: Examined) -> bool:
        """Whether all findings and comments that were remembered are in their files."""
        found = [*part.unreadable, *(one.finding for one in part.candidates)]
        spans = {span for one in found for span in (one.span, *(related.span for related in one.related))}
        for path, comments in part.comments.items():
            spans |= {Span(path, *one.place) for one in comments.suppressions}
            spans |= {Span(path, *one.place) for one in comments.troubles}
        return all(map(self.files.has, spans))

    def _torn(self, parts: Sequence[Examined], shown: Collection[str]) -> dict[str, bytes]:
        """Files that were read with different contents, by several processes or here, where their rows are shown: the
        content that counts for the whole run. A file that has vanished counts as empty."""
        states: dict[str, set[str]] = defaultdict(set)
        for part in parts:
            for path, state in part.readings.items():
                states[path].add(state)
        lost = {part.path for part in parts if part.lost}
        for path in states.keys() & {path for part in parts for path in _reported_in(part)} - lost:
            if path in shown:
                self.files.read(path)
                states[path].add(self.files.states.of(path))
        torn: dict[str, bytes] = {}
        for path in (path for path, several in states.items() if len(several) > 1):
            try:
                torn[path] = self._finder.of_file(path).read(path)
            except OSError:
                torn[path] = b""
        return torn

    def _all_made_from(self, shown: Collection[str], parts: Iterable[Examined]) -> MadeFrom | None:
        """What the present result was made from. None where something went wrong."""
        made_from = {part.path: part.made_from for part in parts}
        known = [one for path in shown if (one := made_from.get(path)) is not None]
        return MadeFrom.all_of(known) if len(known) == len(shown) and not self._result.errors else None

    def examine(
        self,
        paths: Sequence[str],
        shown: Collection[str],
        given: Mapping[str, bytes],
        begun: Callable[[str], None] = lambda path: None,
        parsing: Callable[[str], None] = lambda path: None,
    ) -> list[Examined]:
        """What the programs in each file give for the files in `shown`, whatever was examined before. All paths are
        absolute.

        `begun` is called with each path before anything is done with it; `parsing` with that of each file that is
        parsed as something imports it, and then with that of the program.
        """
        self.files.given, self._raised, self._parsing = given, [], parsing
        return on_deep_stack(lambda: self._all_examined(paths, shown, begun))

    def _all_examined(
        self, paths: Sequence[str], shown: Collection[str], begun: Callable[[str], None]
    ) -> list[Examined]:
        examined = [self._examined(path, begun) for path in paths]
        by_program: dict[str, list[tuple[Examined, Raised]]] = defaultdict(list)
        for part, raised in self._raised:
            by_program[raised.report.site.path].append((part, raised))
        for path, own in by_program.items():
            source = self.files.read(path)
            if source is not None and source.file in shown:
                begun(source.file)
                try:
                    self._place(source, own)
                except Exception as error:  # as in `_examined`
                    _fault(own[0][0], source.file, error)
                    for part, _ in own:
                        part.made_from = None
            elif source is not None:
                for part, _ in own:
                    part.elsewhere.add(source.file)
        return examined

    def give_up(self, paths: Iterable[str]) -> None:
        """Never read these files: whatever does that may not survive it."""
        for path in paths:
            self.files.give_up(path)
            self._importing.pop(path, None)

    def load(self, path: str, data: bytes | None = None) -> Programs:
        """The programs in a file; `data` is its content where that is not on disk as it is.

        Raises OSError, Undecodable and SettingsError.
        """
        absolute = os.path.abspath(path)
        if data is not None:
            self.files.given = {**self.files.given, absolute: data}
        return self.files.load(absolute)

    def programs(self, path: str) -> Programs | None:
        """The programs in a file, None where it cannot be read."""
        return self.files.loaded(os.path.abspath(path))

    def plan(self, source: Source) -> Plan:
        """The whole Plan of a program that was loaded. Raises CannotParse and SettingsError."""
        settings = self._finder.of_file(source.file)
        try:
            return on_deep_stack(lambda: analyse(source, self._project(settings), self.files.target(source.file)))
        except RecursionError:
            raise CannotParse(TOO_DEEP) from None

    # ---------------------------------------------------------------------------- running

    def _examined(self, path: str, begun: Callable[[str], None]) -> Examined:
        """What the programs in a file give. Nothing of it comes from files that were examined before."""
        begun(path)
        self._present = path
        for project in self._projects.values():
            project.forget()
        forget_conditions()
        part = Examined(path)
        try:
            is_final = self._check_file(path, part)
            part.readings = self._readings(path)
            if is_final:
                part.made_from = self._made_from(path, part.readings)
        except RecursionError:
            self._unreadable(part, _point(path), TOO_DEEP)
        except MemoryError:
            reason = "it takes more memory than there is, or than `max-file-memory` allows"
            self._unreadable(part, _point(path), reason)
        except Exception as error:  # the edge of the run: one file's fault is said, and the others go on
            _fault(part, path, error)
        return part

    @contextmanager
    def _watched(self, source: Source) -> Iterator[None]:
        """Says that a file is parsed that the present program imports, and when that is done."""
        if source.file == self._present:
            yield
            return
        self._parsing(source.file)
        try:
            yield
        finally:
            self._parsing(self._present)

    def _check_file(self, path: str, part: Examined) -> bool:
        """Find out what a file gives; whether it would be the same another time."""
        try:
            programs = self.files.load(path)
        except OSError as error:
            self._unreadable(part, _point(path), f"cannot be read: {error.strerror or error}")
            return False
        except Undecodable as error:
            self._unreadable(part, _point(path, error.row, error.column), error.message)
            return True
        for source, broken in programs.broken:
            what = "block" if source.cells is None else "cell"
            self._cannot_parse(part, source, broken, f"nothing in this {what} was checked", f"mend the {what}")
        if names_us(programs.all):
            part.comments[path] = self._comments_in(path)
        if speaks_of_tensorflow(programs.main.data) or self._uses_tensorflow(programs.main):
            part.analysed = 1
            for source in programs.all:
                self._check_program(part, source)
        elif programs.main.cells is None and programs.main.blocks is None:
            if (unparsed := syntax_error(programs.main)) is not None:
                self._cannot_parse(part, programs.main, unparsed)
        return True

    def _uses_tensorflow(self, source: Source) -> bool:
        """Whether a file runs something and imports, itself or by others, a file of the project that imports
        TensorFlow, as the `main.py` and the trainers beside the modules of a model do."""
        if not runs_something(source.data):
            return False
        project = self._project(self._finder.of_file(source.file))
        asked = [source.path]
        for path in asked:
            for imported in sorted(imported_paths(project, path).difference(asked)):
                if self._imports_tensorflow(imported):
                    return True
                asked.append(imported)
            if len(asked) > MAX_ASKED:
                break
        return False

    def _imports_tensorflow(self, path: str) -> bool:
        if path not in self._importing:
            read = self.files.read(path)
            self._importing[path] = read is not None and imports_tensorflow(read.data)
        return self._importing[path]

    def _check_program(self, part: Examined, source: Source) -> None:
        settings = self._finder.of_file(source.file)
        selection = self._selection(source.file)
        subjects = selection.subjects_of(source.file)
        try:
            plan = analyse(source, self._project(settings), self.files.target(source.file), subjects)
        except CannotParse as error:
            self._cannot_parse(part, source, error)
            return
        raised = reports_of(plan, selection.rules_of(source.file))
        for site in {*(one.report.site for one in raised), *plan.borrowed}:
            reached = self.files.read(site.path)
            part.reached.add(reached.file if reached is not None else site.path)
        self._raised += [(part, one) for one in raised]
        part.stopped |= self._stopped(plan.bounds)
        if not is_test(source.file):
            part.called |= plan.followed
            if plan.followed:
                part.passed |= {event.site for event in plan.events if event.site.path != plan.path}
        plan.release()

    def _readings(self, path: str) -> dict[str, str]:
        """States of the files that the present file was examined with, its own included."""
        files = {path}
        for consulted in self._project(self._finder.of_file(path)).consulted:
            source = self.files.read(consulted)
            files.add(source.file if source is not None else consulted)
        return {one: self.files.states.of(one) for one in files}

    def _made_from(self, path: str, readings: dict[str, str]) -> MadeFrom | None:
        """What the present file was examined with; None where that is not all that it could be."""
        settings = self._finder.of_file(path)
        project = self._project(settings)
        if not project.consulted.isdisjoint(self.files.given_up):
            return None
        return MadeFrom(readings, {_roots(settings): dict(project.finder.asked)})

    def _cannot_parse(
        self, part: Examined, source: Source, error: CannotParse, why: str = "", instead: str = ""
    ) -> None:
        span = self.files.in_cell(_point(source.path, error.row, error.column))
        self._unreadable(part, span, error.message, why, instead)

    def _unreadable(self, part: Examined, span: Span, message: str, why: str = "", instead: str = "") -> None:
        part.unreadable.append(unreadable(self._catalogue, span, message, why, instead))

    def _selection(self, path: str) -> Selection:
        settings = self._finder.of_file(path)
        if settings not in self._selections:
            self._selections[settings] = Selection(self._catalogue, settings)
        return self._selections[settings]

    def _project(self, settings: Settings) -> Project:
        roots = _roots(settings)
        if roots not in self._projects:
            from pathlib import Path

            self._projects[roots] = Project(
                [Path(root) for root in roots], self.files.read, self.files.written, self._watched, self._outlines
            )
        return self._projects[roots]

    # --------------------------------------------------------------------------- placing

    def _place(self, source: Source, raised: list[tuple[Examined, Raised]]) -> None:
        """Make candidates of the reports about one program, with positions in its file."""
        selection = self._selection(source.file)
        off = selection.ignored_in(source.file)
        contexts = self._contexts(source.path, [one.report.site.node for _, one in raised])
        spans = self._spans([site for _, one in raised for site in one.sites])
        in_cells = {site: self.files.in_cell(span) for site, span in spans.items()}
        writer = Writer(source)
        for part, _ in raised:
            part.comments[source.file] = self._comments_in(source.file)
        for part, one in raised:
            report, said = one.report, one.report.unless
            if one.rule.code in off or report.site not in spans:
                continue
            if said is not None and self._prose.has(said, spans):
                continue
            finding = _finding(one, in_cells, contexts, selection)
            offer: Fix | None = None
            fault: tuple[str, str] | None = None
            if report.fix is not None and one.rule.code in selection.fixable:
                offer = fix = report.fix.unwritten
                if self._edits:
                    fix, fault = writer.written(report.fix, one.rule.code)
                finding = replace(finding, fix=fix)
            part.candidates.append(
                Candidate(
                    finding,
                    report.site,
                    one.places,
                    report.supersedes,
                    report.is_all,
                    one.entry,
                    fault,
                    report.is_answer,
                    offer,
                )
            )

    def _settled(self, shown: dict[str, str], parts: Sequence[Examined]) -> CheckResult:
        """What the parts of a run come to."""
        by_file: dict[str, list[Candidate]] = defaultdict(list)
        candidates: list[Candidate] = []
        called: set[Site] = set()
        passed: set[Site] = set()
        found: list[Finding] = []
        comments: dict[str, Comments] = {}
        lost = {part.path: part.lost for part in parts if part.lost}
        answered = {part.path for part in parts}
        lost |= dict.fromkeys(shown.keys() - answered, "nobody said what came of it; it was not checked")
        self.give_up(lost)
        found += [
            self._shown(unreadable(self._catalogue, _point(path), reason), shown)
            for path, reason in lost.items()
            if path in shown
        ]
        order = {path: number for number, path in enumerate(shown)}
        for part in sorted(parts, key=lambda part: order.get(part.path, 0)):
            candidates += [one for one in part.candidates if one.finding.span.path in shown]
            called |= part.called
            passed |= part.passed
            for path in part.reached & shown.keys():
                self._result.programs.setdefault(shown[path], set()).add(shown[part.path])
            found += [self._shown(finding, shown) for finding in part.unreadable]
            self._result.errors += part.errors
            self._result.analysed += part.analysed
            self._result.stopped |= part.stopped
            comments |= part.comments
        candidates = self._asked_for(without_answered(candidates), shown)
        told = without_explained(without_guessed(candidates, called, passed, self._catalogue), self._catalogue)
        for candidate in without_repeated(told, self._catalogue):
            by_file[candidate.finding.span.path].append(candidate)
        for path in shown:
            if path in by_file or path in comments:
                found += self._kept(path, by_file[path], comments.get(path, Comments()), shown)
        silenced = self._result.suppressed
        digests = self._fingerprints(sorted((*found, *(one.finding for one in silenced)), key=_order))
        self._result.findings = [replace(one, fingerprint=digests[one]) for one in sorted(found, key=_order)]
        self._result.suppressed = [
            Silenced(replace(finding, fingerprint=digests[finding]), reason) for finding, reason in silenced
        ]
        self._result.files = len(shown)
        return self._result

    def _asked_for(self, candidates: list[Candidate], shown: dict[str, str]) -> list[Candidate]:
        """Reports without those about names of a release in files that are imported only where it is another one."""
        about = [one for one in candidates if self._catalogue.asks_release(one.finding.code)]
        importers = Importers(
            shown, self.files.data, self.files.source, lambda path: self._project(self._finder.of_file(path))
        )
        elsewhere = on_deep_stack(lambda: importers.only_on_check({one.site.path for one in about}))
        return [
            one
            for one in candidates
            if one.site.path not in elsewhere or not self._catalogue.asks_release(one.finding.code)
        ]

    def _kept(self, path: str, candidates: list[Candidate], comments: Comments, shown: dict[str, str]) -> list[Finding]:
        """The findings of one file, each once, after suppressions."""
        sources = self.files.programs(path)
        if not sources:
            return []
        selection = self._selection(path)
        off = selection.ignored_in(path)
        found: dict[tuple[int | None, int, int, str], Candidate] = {}
        for candidate in candidates:
            finding = candidate.finding
            key = _start(finding)
            if key not in found or found[key].finding.confidence.value > finding.confidence.value:
                found[key] = candidate
        findings = [one.finding for one in found.values()]
        kept, suppressed = silence(findings, comments, sources, selection, self._catalogue)
        self._result.suppressed += [Silenced(self._shown(finding, shown), reason) for finding, reason in suppressed]
        result = []
        writer = Writer(sources[0])
        for finding in kept:
            chosen = found.get(_start(finding))
            if chosen is not None and chosen.fault is not None:
                self._result.errors.append(chosen.fault)
            fix = finding.fix if finding.code in selection.fixable else None
            if chosen is None and fix is not None:  # it is about a comment: other fixes were written for their blocks
                fix = on_deep_stack(partial(writer.of_comment, fix)) if self._edits else replace(fix, edits=())
            if finding.code not in off:
                result.append(self._shown(replace(finding, fix=fix), shown))
        return result

    def _comments_in(self, path: str) -> Comments:
        """The suppression comments of a file, read once for all programs that it is reported by."""
        if path not in self._comments:
            self._comments[path] = comments_in(self.files.programs(path), self._catalogue.code)
        return self._comments[path]

    def _syntax(self, path: str) -> ir.Module | None:
        """The module as it was analysed."""
        source = self.files.read(path)
        return self._project(self._finder.of_file(source.file)).syntax_of(path) if source is not None else None

    def _stopped(self, bounds: Iterable[tuple[str, Site]]) -> set[tuple[str, Site]]:
        """The bounds that were reached, each with the function that its place is in, or, where a program ran out of
        steps, is."""
        stopped: set[tuple[str, Site]] = set()
        by_path: dict[str, list[tuple[str, Site]]] = defaultdict(list)
        for bound, site in bounds:
            by_path[site.path if bound != "steps" else ""].append((bound, site))
        for path, reached in by_path.items():
            if not path or (syntax := self._syntax(path)) is None:
                stopped.update(reached)
                continue
            definitions = enclosing(syntax, {site.node for _, site in reached})
            for bound, site in reached:
                around = definitions[site.node]
                stopped.add((bound, Site(path, around[-1].number if around else 0)))
        return stopped

    def _contexts(self, path: str, nodes: list[int]) -> dict[int, str]:
        syntax = self._syntax(path)
        return contexts(syntax, nodes) if syntax is not None else {}

    def _spans(self, sites: Iterable[Site]) -> dict[Site, Span]:
        from gpulint.syntax.spans import spans

        wanted: dict[str, set[int]] = defaultdict(set)
        for site in sites:
            wanted[site.path].add(site.node)
        placed: dict[Site, Span] = {}
        for path, nodes in wanted.items():
            source = self.files.read(path)
            if source is not None:
                placed |= {Site(path, node): span for node, span in spans(source, nodes).items()}
        return placed

    @staticmethod
    def _shown(finding: Finding, shown: dict[str, str]) -> Finding:
        """A finding with paths as the user gave them, others relative to the working directory."""

        def display(span: Span) -> Span:
            return span._replace(path=shown.get(span.path) or _relative(span.path))

        related = tuple(Related(display(one.span), one.message) for one in finding.related)
        fix = finding.fix
        if fix is not None:
            fix = replace(fix, edits=tuple(Edit(display(edit.span), edit.content) for edit in fix.edits))
        return replace(finding, span=display(finding.span), related=related, fix=fix)

    def _fingerprints(self, found: Iterable[Finding]) -> dict[Finding, str]:
        """Fingerprints of findings: of rule, path, enclosing definition, text of the span, and a count. Those that are
        silenced count as well: what a comment silences lends its fingerprint to no other."""
        counts: Counter[str] = Counter()
        result = {}
        for finding in found:
            span = finding.span
            text = " ".join(_text_of(self.files.lines(os.path.abspath(span.path), span.cell), span).split())
            path = os.path.relpath(span.path, self._finder.of_file(span.path).root)
            base = "\0".join((finding.code, path.replace(os.sep, "/"), finding.context, text))
            counts[base] += 1
            digest = hashlib.sha256(f"{base}\0{counts[base]}".encode(errors="replace")).hexdigest()[:16]
            result[finding] = digest
        return result


def unreadable(catalogue: Catalogue, span: Span, message: str, why: str = "", instead: str = "") -> Finding:
    """The finding for a file, or a part of one, that could not be analysed; `why` and `instead` are the rule's own."""
    rule = catalogue.rule(SYNTAX_ERROR)
    assert rule is not None, "the shipped pack has it"
    why, instead = why or rule.why, instead or rule.instead
    return Finding(rule.code, rule.name, rule.severity, span, message, why, instead, noqa_row=span.row)


def _reported_in(part: Examined) -> Iterator[str]:
    """The files whose rows are shown with what a part gave."""
    yield from part.comments
    yield from (candidate.finding.span.path for candidate in part.candidates)
    yield from (finding.span.path for finding in part.unreadable)


def _roots(settings: Settings) -> tuple[str, ...]:
    """The directories in which a file's imports are looked for."""
    return tuple(os.path.join(settings.root, directory) for directory in settings.src)


def _fault(part: Examined, path: str, error: Exception) -> None:
    """Note a fault of gpulint, or of a rule, with a file."""
    message = f"{path}: internal error: {type(error).__name__}: {error}"
    part.errors.append((message, traceback.format_exc()))


def _point(path: str, row: int = 1, column: int = 1) -> Span:
    return Span(path, row, column, row, column + 1)


def _finding(raised: Raised, spans: dict[Site, Span], contexts: dict[int, str], selection: Selection) -> Finding:
    rule, report = raised.rule, raised.report
    related = tuple(Related(spans[site], message) for site, message in dict.fromkeys(report.related) if site in spans)
    span = spans[report.site]
    return Finding(
        rule.code,
        rule.name,
        selection.severity(rule),
        span,
        report.message,
        report.why or rule.why,
        report.instead or rule.instead,
        report.confidence,
        related,
        contexts.get(report.site.node, ""),
        noqa_row=span.row,
    )


def _start(finding: Finding) -> tuple[int | None, int, int, str]:
    """Where a finding begins in its file, and its code: programs that know more of a place may tell of a part of it."""
    return finding.span.cell, finding.span.row, finding.span.column, finding.code


def _order(finding: Finding) -> tuple[str, int, int, int, str, str]:
    span = finding.span
    cell = span.cell if span.cell is not None else -1
    return span.path, cell, span.row, span.column, finding.code, finding.message


def _text_of(lines: Sequence[str], span: Span) -> str:
    lines = lines[span.row - 1 : span.end_row]
    if not lines:
        return ""
    if len(lines) == 1:
        return lines[0][span.column - 1 : span.end_column - 1]
    return "\n".join((lines[0][span.column - 1 :], *lines[1:-1], lines[-1][: span.end_column - 1]))


def _relative(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


T = TypeVar("T")


def collecting_seldom() -> AbstractContextManager[None]:
    """Within it the garbage collector hardly ever runs: a program's memory is freed without it, and each time it does
    it walks all syntax again."""
    return _collector.changed(lambda present: COLLECTOR)


def on_deep_stack(work: Callable[[], T]) -> T:
    """Run `work` on a thread with a large stack and hand on what it gives or raises."""
    if threading.current_thread().name == _THREAD:
        return work()
    with collecting_seldom():
        return on_stack(work, STACK_BYTES, RECURSION_LIMIT, _THREAD)


_THREAD = "gpulint"

COLLECTOR = (10_000_000, 5, 50)
"""Garbage collector thresholds of a run."""

_collector: ProcessSetting[tuple[int, int, int]] = ProcessSetting(
    gc.get_threshold, lambda each: gc.set_threshold(*each)
)
