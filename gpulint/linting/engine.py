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
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from gpulint.analysis import Plan, Project, analyse
from gpulint.analysis.questions import is_test
from gpulint.linting.dispatch import Candidate, Raised, reports_of, without_explained, without_guessed
from gpulint.linting.files import Files
from gpulint.linting.finding import Finding, Related, Silenced
from gpulint.linting.fixes import Offered, with_fixes
from gpulint.linting.portions import portions
from gpulint.linting.prose import Prose
from gpulint.linting.selection import Catalogue, Selection
from gpulint.linting.silence import silence
from gpulint.places import Site, Span
from gpulint.rewriting.fix import Edit
from gpulint.settings import NEWEST_TENSORFLOW, Settings, SettingsFinder
from gpulint.sources.decoding import Undecodable
from gpulint.sources.language import language_of
from gpulint.sources.source import Source
from gpulint.syntax import ir
from gpulint.syntax.embedded import Programs
from gpulint.syntax.enclosing import contexts, enclosing
from gpulint.syntax.parse import CannotParse
from gpulint.syntax.stack import ProcessSetting, on_stack

SYNTAX_ERROR = "GPU001"
"""The code of files that cannot be read or parsed; it cannot be turned off."""

TOO_DEEP = "the program is nested too deeply to analyse"

STACK_BYTES = 512 * 1024 * 1024
"""Stack of the thread that checks: the interpreter recurses over calls and expressions. Only touched pages count."""

RECURSION_LIMIT = 60_000
"""Python frames on that stack."""

_SPEAKS_OF_TENSORFLOW = re.compile(rb"(?i:tensorflow|keras)|\b(?:TF_[A-Z]|CUDA_VISIBLE_DEVICES)")
"""Names, or environment variables that TensorFlow reads."""


def speaks_of_tensorflow(data: bytes) -> bool:
    """Whether a file's content is about TensorFlow at all: others are not looked at."""
    return _SPEAKS_OF_TENSORFLOW.search(data) is not None


@dataclass(slots=True)
class CheckResult:
    """What a run found. `errors` are faults of gpulint itself or of a rule, one line each, with tracebacks.

    `stopped` are the bounds of the analysis that were reached, each with the function of that place. `programs` are,
    by path, the checked files by which a file came to its findings, or might have come to others:
    itself and those that import it.
    """

    findings: list[Finding] = field(default_factory=list)
    suppressed: list[Silenced] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    programs: dict[str, set[str]] = field(default_factory=dict)
    files: int = 0
    analysed: int = 0
    stopped: set[tuple[str, Site]] = field(default_factory=set)


@dataclass(slots=True)
class Examined:
    """What some programs gave: what they and their imports are reported for, which functions of other files they call,
    and what went wrong with them."""

    candidates: list[Candidate] = field(default_factory=list)
    called: set[Site] = field(default_factory=set)
    programs: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The programs that reach into a file: those that are reported for it, and those that call its functions."""
    unreadable: list[Finding] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    analysed: int = 0
    stopped: set[tuple[str, Site]] = field(default_factory=set)
    """Bounds of the analysis that were reached, each with the function in which that was, or the start of the file."""
    answered: set[str] = field(default_factory=set)
    """The files that were examined, whatever came of it."""
    lost: dict[str, str] = field(default_factory=dict)
    """The files that nobody may read any more, and why."""


class Checker:
    """One run over a set of files."""

    def __init__(self, finder: SettingsFinder, catalogue: Catalogue) -> None:
        self._finder = finder
        self._catalogue = catalogue
        self._selections: dict[Settings, Selection] = {}
        self._projects: dict[tuple[str, ...], Project] = {}
        self._files = Files(finder)
        self._result = CheckResult()
        self._examined = Examined()
        self._raised: list[Raised] = []
        self._prose = Prose(self._files.read, self._syntax)
        self._present = ""
        self._parsing: Callable[[str], None] = lambda path: None

    def check(
        self,
        files: Sequence[str],
        given: Mapping[str, bytes] | None = None,
        examine: Callable[[Sequence[tuple[str, ...]], Collection[str]], Iterable[Examined]] | None = None,
    ) -> CheckResult:
        """Check files by path; `given` is the content, by path, of those that are not on disk as they are.

        `examine` says, in order, what portions of the files give, given all that are checked; without it that is
        found out here. Raises SettingsError.
        """
        shown = {os.path.abspath(path): path for path in files}
        contents = {os.path.abspath(path): data for path, data in (given or {}).items()}
        self._files.given = contents
        for path in shown:
            self._selection(path)
        split = portions(list(shown))
        if examine is not None:
            parts = list(examine(split, shown.keys()))
        else:
            parts = [self.examine(portion, shown, contents) for portion in split]
        return self._settled(shown, parts)

    def examine(
        self,
        paths: Sequence[str],
        shown: Collection[str],
        given: Mapping[str, bytes],
        begun: Callable[[str], None] = lambda path: None,
        parsing: Callable[[str], None] = lambda path: None,
    ) -> Examined:
        """What programs give for the files in `shown`, whatever was examined before. All paths are absolute.

        `begun` is called with each path before anything is done with it; `parsing` with that of each file that is
        parsed as something imports it, and then with that of the program.
        """
        self._files.given, self._raised, self._examined, self._parsing = given, [], Examined(), parsing
        self._forget()
        on_deep_stack(lambda: self._run(paths, begun))
        by_program: dict[str, list[Raised]] = defaultdict(list)
        for raised in self._raised:
            by_program[raised.report.site.path].append(raised)
        for path, own in by_program.items():
            source = self._files.read(path)
            if source is not None and source.file in shown:
                begun(source.file)
                try:
                    self._examined.candidates += self._candidates(source, own)
                except Exception as error:  # as in `_run`
                    self._fault(source.file, error)
        return self._examined

    def give_up(self, paths: Iterable[str]) -> None:
        """Never read these files: whatever does that may not survive it."""
        for path in paths:
            self._files.give_up(path)

    def selected(self) -> Selection:
        """The rules that are on in the working directory. Raises SettingsError."""
        return self._selection(os.path.abspath("*"))

    def load(self, path: str, data: bytes | None = None) -> Programs:
        """The programs in a file; `data` is its content where that is not on disk as it is.

        Raises OSError, Undecodable and SettingsError.
        """
        absolute = os.path.abspath(path)
        if data is not None:
            self._files.given = {**self._files.given, absolute: data}
        return self._files.load(absolute)

    def programs(self, path: str) -> Programs | None:
        """The programs in a file, None where it cannot be read."""
        return self._files.loaded(os.path.abspath(path))

    def plan(self, source: Source) -> Plan:
        """The whole Plan of a program that was loaded. Raises CannotParse and SettingsError."""
        settings = self._finder.of_file(source.file)
        try:
            return on_deep_stack(lambda: analyse(source, self._project(settings), self._target(source, settings)))
        except RecursionError:
            raise CannotParse(TOO_DEEP) from None

    def line(self, path: str, row: int, cell: int | None = None) -> str:
        """The text of a row (from 1) of a file that was read, or of a cell of it; "" where there is none."""
        lines = self._files.lines(os.path.abspath(path), cell)
        return lines[row - 1] if row <= len(lines) else ""

    def source(self, path: str) -> Source | None:
        """The program that a file is, as it was read; None where it could not be."""
        programs = self.programs(path)
        return programs.main if programs is not None else None

    def in_file(self, span: Span) -> Span:
        """A span in a notebook's cell at its rows and columns of the notebook's file; any other as it is."""
        return self._files.in_file(span)

    # ---------------------------------------------------------------------------- running

    def _run(self, paths: Iterable[str], begun: Callable[[str], None]) -> None:
        for path in paths:
            begun(path)
            self._present = path
            try:
                self._check_file(path)
            except (RecursionError, MemoryError) as error:
                deep = isinstance(error, RecursionError)
                reason = (
                    "the program is nested too deeply to analyse"
                    if deep
                    else "it takes more memory than there is, or than `max-file-memory` allows"
                )
                self._unreadable(_point(path), reason)
                self._forget()
            except Exception as error:  # the edge of the run: one file's fault is said, and the others go on
                self._fault(path, error)
                self._forget()
            self._examined.answered.add(path)

    def _fault(self, path: str, error: Exception) -> None:
        message = f"{path}: internal error: {type(error).__name__}: {error}"
        self._examined.errors.append((message, traceback.format_exc()))

    def _forget(self) -> None:
        """Forget what programs made of modules that they share."""
        for project in self._projects.values():
            project.forget()

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

    def _check_file(self, path: str) -> None:
        try:
            programs = self._files.load(path)
        except OSError as error:
            self._unreadable(_point(path), f"cannot be read: {error.strerror or error}")
            return
        except Undecodable as error:
            self._unreadable(_point(path, error.row, error.column), error.message)
            return
        for source, broken in programs.broken:
            part = "block" if source.cells is None else "cell"
            self._cannot_parse(source, broken, f"nothing in this {part} was checked", f"mend the {part}")
        if speaks_of_tensorflow(programs.main.data):
            self._examined.analysed += 1
            for source in programs.all:
                self._check_program(source)

    def _check_program(self, source: Source) -> None:
        settings = self._finder.of_file(source.file)
        selection = self._selection(source.file)
        subjects = selection.subjects_of(source.file)
        try:
            plan = analyse(source, self._project(settings), self._target(source, settings), subjects)
        except CannotParse as error:
            self._cannot_parse(source, error)
            return
        raised = reports_of(plan, selection.rules_of(source.file))
        for site in {*(one.report.site for one in raised), *plan.borrowed}:
            reached = self._files.read(site.path)
            self._examined.programs[reached.file if reached is not None else site.path].add(source.file)
        self._raised += raised
        self._examined.stopped |= {(bound, self._function_at(bound, site)) for bound, site in plan.bounds}
        if plan.is_complete and not is_test(source.file):
            self._examined.called |= plan.borrowed
        plan.release()

    def _target(self, source: Source, settings: Settings) -> str:
        """The release that a program is for: a notebook that installs one knows better than the default."""
        pinned = self._files.load(source.file).pinned
        return pinned if pinned and settings.target_tensorflow == NEWEST_TENSORFLOW else settings.target_tensorflow

    def _cannot_parse(self, source: Source, error: CannotParse, why: str = "", instead: str = "") -> None:
        span = self._files.in_cell(_point(source.path, error.row, error.column))
        self._unreadable(span, error.message, why, instead)

    def _unreadable(self, span: Span, message: str, why: str = "", instead: str = "") -> None:
        self._examined.unreadable.append(unreadable(self._catalogue, span, message, why, instead))

    def _selection(self, path: str) -> Selection:
        settings = self._finder.of_file(path)
        if settings not in self._selections:
            self._selections[settings] = Selection(self._catalogue, settings)
        return self._selections[settings]

    def _project(self, settings: Settings) -> Project:
        roots = tuple(os.path.join(settings.root, directory) for directory in settings.src)
        if roots not in self._projects:
            from pathlib import Path

            self._projects[roots] = Project(
                [Path(root) for root in roots], self._files.read, self._files.written, self._watched
            )
        return self._projects[roots]

    # --------------------------------------------------------------------------- placing

    def _candidates(self, source: Source, raised: list[Raised]) -> list[Candidate]:
        """The reports about one program, with positions in its file."""
        selection = self._selection(source.file)
        off = selection.ignored_in(source.file)
        contexts = self._contexts(source.path, [one.report.site.node for one in raised])
        spans = self._spans([site for one in raised for site in one.sites])
        in_cells = {site: self._files.in_cell(span) for site, span in spans.items()}
        found: list[Candidate] = []
        for one in raised:
            said = one.report.unless
            if one.rule.code in off or one.report.site not in spans:
                continue
            if said is not None and self._prose.has(said, spans):
                continue
            found.append(Candidate(_finding(one, in_cells, contexts, selection), one.report, one.entry))
        return found

    def _settled(self, shown: dict[str, str], parts: Iterable[Examined]) -> CheckResult:
        """What the parts of a run come to."""
        by_file: dict[str, list[Candidate]] = defaultdict(list)
        candidates: list[Candidate] = []
        called: set[Site] = set()
        found: list[Finding] = []
        answered: set[str] = set()
        lost: dict[str, str] = {}
        for part in parts:
            candidates += part.candidates
            called |= part.called
            for path, programs in part.programs.items():
                if path in shown:
                    self._result.programs.setdefault(shown[path], set()).update(shown[one] for one in programs)
            found += [self._shown(finding, shown) for finding in part.unreadable]
            self._result.errors += part.errors
            self._result.analysed += part.analysed
            self._result.stopped |= part.stopped
            answered |= part.answered
            lost |= part.lost
        lost |= dict.fromkeys(shown.keys() - answered - lost.keys(), "nobody said what came of it; it was not checked")
        self.give_up(lost)
        found += [
            self._shown(unreadable(self._catalogue, _point(path), reason), shown)
            for path, reason in lost.items()
            if path in shown
        ]
        for candidate in without_explained(without_guessed(candidates, called), self._catalogue):
            by_file[candidate.finding.span.path].append(candidate)
        for path in shown:
            found += self._kept(path, by_file[path], shown)
        self._result.findings = self._fingerprinted(sorted(found, key=_order))
        self._result.files = len(shown)
        return self._result

    def _kept(self, path: str, candidates: list[Candidate], shown: dict[str, str]) -> list[Finding]:
        """The findings of one file, each once and with its fix, after suppressions."""
        sources = self._files.programs(path)
        if not sources:
            return []
        selection = self._selection(path)
        off = selection.ignored_in(path)
        found: dict[tuple[Span, str], Finding] = {}
        offers: dict[tuple[Span, str], Offered] = {}
        for finding, report, _ in candidates:
            key = (finding.span, finding.code)
            if key not in found or found[key].confidence.value > finding.confidence.value:
                found[key], offers[key] = finding, Offered(report.fix, report.site.path)
        kept, suppressed = silence(list(found.values()), sources, selection, self._catalogue)
        self._result.suppressed += [Silenced(self._shown(finding, shown), reason) for finding, reason in suppressed]
        kept = [finding for finding in kept if finding.code not in off]
        is_markdown = language_of(path, self._finder.of_file(path).extension) == "markdown"
        fixable = frozenset[str]() if is_markdown else selection.fixable
        fixed, errors = on_deep_stack(lambda: with_fixes(kept, offers, sources, fixable))
        self._result.errors += errors
        return [self._shown(finding, shown) for finding in fixed]

    def _syntax(self, path: str) -> ir.Module | None:
        """The module as it was analysed."""
        source = self._files.read(path)
        return self._project(self._finder.of_file(source.file)).syntax_of(path) if source is not None else None

    def _function_at(self, bound: str, site: Site) -> Site:
        """The function that a place is in, or, where a program ran out of steps, is."""
        if bound == "steps" or (syntax := self._syntax(site.path)) is None:
            return site
        around = enclosing(syntax, [site.node])[site.node]
        return Site(site.path, around[-1].number if around else 0)

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
            source = self._files.read(path)
            if source is not None:
                for node, span in on_deep_stack(lambda s=source, n=nodes: spans(s, n)).items():  # type: ignore[misc]
                    placed[Site(path, node)] = span
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

    def _fingerprinted(self, found: list[Finding]) -> list[Finding]:
        """Findings with fingerprints: of rule, path, enclosing definition, text of the span, and a count."""
        counts: Counter[str] = Counter()
        result = []
        for finding in found:
            span = finding.span
            text = " ".join(_text_of(self._files.lines(os.path.abspath(span.path), span.cell), span).split())
            path = os.path.relpath(span.path, self._finder.of_file(span.path).root)
            base = "\0".join((finding.code, path.replace(os.sep, "/"), finding.context, text))
            counts[base] += 1
            digest = hashlib.sha256(f"{base}\0{counts[base]}".encode(errors="replace")).hexdigest()[:16]
            result.append(replace(finding, fingerprint=digest))
        return result


def unreadable(catalogue: Catalogue, span: Span, message: str, why: str = "", instead: str = "") -> Finding:
    """The finding for a file, or a part of one, that could not be analysed; `why` and `instead` are the rule's own."""
    rule = catalogue.rule(SYNTAX_ERROR)
    assert rule is not None, "the shipped pack has it"
    why, instead = why or rule.why, instead or rule.instead
    return Finding(rule.code, rule.name, rule.severity, span, message, why, instead, noqa_row=span.row)


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


def on_deep_stack(work: Callable[[], T]) -> T:
    """Run `work` on a thread with a large stack and hand on what it gives or raises."""
    if threading.current_thread().name == _THREAD:
        return work()
    with _collector.changed(lambda present: COLLECTOR):
        return on_stack(work, STACK_BYTES, RECURSION_LIMIT, _THREAD)


_THREAD = "gpulint"

COLLECTOR = (10_000_000, 5, 50)
"""Garbage collector thresholds of a run: with the defaults it walks the syntax again and again."""

_collector: ProcessSetting[tuple[int, int, int]] = ProcessSetting(
    gc.get_threshold, lambda each: gc.set_threshold(*each)
)
