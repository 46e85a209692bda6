"""From paths to findings."""

from __future__ import annotations

import gc
import hashlib
import os
import re
import sys
import threading
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from gpulint.analysis import Plan, Project, analyse
from gpulint.linting.dispatch import Raised, reports_of, without_explained
from gpulint.linting.finding import Finding, Related
from gpulint.linting.fixes import with_fixes
from gpulint.linting.prose import Prose
from gpulint.linting.selection import Catalogue, Selection
from gpulint.linting.silence import silence
from gpulint.places import Site, Span
from gpulint.rewriting.fix import Edit, Offer
from gpulint.settings import Settings, SettingsFinder
from gpulint.sources.decoding import Undecodable, decode
from gpulint.sources.source import Source
from gpulint.syntax import ir
from gpulint.syntax.enclosing import contexts
from gpulint.syntax.parse import CannotParse

SYNTAX_ERROR = "GPU001"
"""The code of files that cannot be read or parsed; it cannot be turned off."""

STACK_BYTES = 512 * 1024 * 1024
"""Stack of the thread that checks: the interpreter recurses over calls and expressions. Only touched pages count."""

RECURSION_LIMIT = 60_000
"""Python frames on that stack."""

_SPEAKS_OF_TENSORFLOW = re.compile(rb"tensorflow|keras", re.IGNORECASE)


@dataclass(slots=True)
class CheckResult:
    """What a run found. `errors` are faults of gpulint itself or of a rule, one line each, with tracebacks.

    `programs` are, by path, the checked files by which a file came to its findings: itself and what imports it.
    """

    findings: list[Finding] = field(default_factory=list)
    suppressed: list[Finding] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    programs: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    files: int = 0
    analysed: int = 0


class Checker:
    """One run over a set of files."""

    def __init__(self, finder: SettingsFinder, catalogue: Catalogue) -> None:
        self._finder = finder
        self._catalogue = catalogue
        self._selections: dict[Settings, Selection] = {}
        self._projects: dict[tuple[str, ...], Project] = {}
        self._sources: dict[str, Source | None] = {}
        self._given: dict[str, bytes] = {}
        self._result = CheckResult()
        self._raised: list[Raised] = []
        self._prose = Prose(self._read, self._syntax)

    def check(self, files: Sequence[str], given: Mapping[str, bytes] | None = None) -> CheckResult:
        """Check files by path; `given` is the content, by path, of those that are not on disk as they are.

        Raises SettingsError.
        """
        shown = {os.path.abspath(path): path for path in files}
        self._given = {os.path.abspath(path): data for path, data in (given or {}).items()}
        for path in shown:
            self._selection(path)
        on_deep_stack(lambda: self._run(list(shown)))
        by_file: dict[str, list[Raised]] = defaultdict(list)
        for raised in without_explained(self._raised):
            by_file[raised.report.site.path].append(raised)
        found = [finding for path in shown for finding in self._placed(path, by_file[path], shown)]
        found += [self._shown(finding, shown) for finding in self._result.findings]
        found.sort(key=lambda one: (one.span.path, one.span.row, one.span.column, one.code, one.message))
        self._result.findings = self._fingerprinted(found)
        self._result.files = len(shown)
        self._result.programs = {
            shown[path]: {shown[program] for program in programs}
            for path, programs in self._result.programs.items()
            if path in shown
        }
        return self._result

    def plan(self, source: Source, settings: Settings) -> Plan:
        """The whole Plan of one file. Raises CannotParse."""
        absolute = replace(source, path=os.path.abspath(source.path))
        self._sources[absolute.path] = absolute
        return on_deep_stack(lambda: analyse(absolute, self._project(settings), settings.target_tensorflow))

    def source(self, path: str) -> Source | None:
        """A file as it was read; None where it was not, or could not be."""
        return self._sources.get(os.path.abspath(path))

    # ---------------------------------------------------------------------------- running

    def _run(self, paths: Iterable[str]) -> None:
        for path in paths:
            try:
                self._check_file(path)
            except RecursionError:
                self._unreadable(path, "the program is nested too deeply to analyse", 1, 1)
            except Exception as error:  # the edge of the run: one file's fault is said, and the others go on
                message = f"{path}: internal error: {type(error).__name__}: {error}"
                self._result.errors.append((message, traceback.format_exc()))

    def _check_file(self, path: str) -> None:
        source = self._read(path, report=True)
        if source is None or not _SPEAKS_OF_TENSORFLOW.search(source.data):
            return
        settings = self._finder.of_file(path)
        selection = self._selection(path)
        self._result.analysed += 1
        try:
            plan = analyse(source, self._project(settings), settings.target_tensorflow, selection.subjects_of(path))
        except CannotParse as error:
            self._unreadable(path, error.message, error.row, error.column)
            return
        raised = reports_of(plan, selection.rules_of(path))
        for one in raised:
            self._result.programs[one.report.site.path].add(path)
        self._raised += raised
        plan.release()

    def _read(self, path: str, report: bool = False) -> Source | None:
        """A file's source, None where it cannot be read; with `report` that is said."""
        if path in self._sources and not (report and self._sources[path] is None):
            return self._sources[path]
        self._sources[path] = None
        try:
            self._sources[path] = decode(path, self._bytes(path))
        except OSError as error:
            if report:
                self._unreadable(path, f"cannot be read: {error.strerror or error}", 1, 1)
        except Undecodable as error:
            if report:
                self._unreadable(path, error.message, error.row, error.column)
        return self._sources[path]

    def _bytes(self, path: str) -> bytes:
        if (data := self._given.get(path)) is not None:
            return data
        with open(path, "rb") as file:
            return file.read()

    def _unreadable(self, path: str, message: str, row: int, column: int) -> None:
        rule = self._catalogue.rule(SYNTAX_ERROR)
        assert rule is not None, "the shipped pack has it"
        self._result.findings.append(
            Finding(
                rule.code,
                rule.name,
                rule.severity,
                Span(path, row, column, row, column + 1),
                message,
                rule.why,
                rule.instead,
                noqa_row=row,
            )
        )

    def _selection(self, path: str) -> Selection:
        settings = self._finder.of_file(path)
        if settings not in self._selections:
            self._selections[settings] = Selection(self._catalogue, settings)
        return self._selections[settings]

    def _project(self, settings: Settings) -> Project:
        roots = tuple(os.path.join(settings.root, directory) for directory in settings.src)
        if roots not in self._projects:
            from pathlib import Path

            self._projects[roots] = Project([Path(root) for root in roots], self._read)
        return self._projects[roots]

    # --------------------------------------------------------------------------- placing

    def _placed(self, path: str, raised: list[Raised], shown: dict[str, str]) -> list[Finding]:
        """The findings of one file, with positions, after suppressions."""
        source = self._sources.get(path)
        if source is None:
            return []
        selection = self._selection(path)
        off = selection.ignored_in(path)
        found: dict[tuple[Span, str], Finding] = {}
        offers: dict[tuple[Span, str], Offer | None] = {}
        if raised:
            contexts = self._contexts(path, [one.report.site.node for one in raised])
            spans = self._spans([site for one in raised for site in one.sites])
            for one in raised:
                said = one.report.unless
                if one.rule.code in off or one.report.site not in spans:
                    continue
                if said is not None and self._prose.has(said, spans):
                    continue
                finding = _finding(one, spans, contexts, selection)
                key = (finding.span, finding.code)
                if key not in found or found[key].confidence.value > finding.confidence.value:
                    found[key], offers[key] = finding, one.report.fix
        kept, suppressed = silence(list(found.values()), source, selection, self._catalogue)
        self._result.suppressed += [self._shown(finding, shown) for finding in suppressed]
        kept = [finding for finding in kept if finding.code not in off]
        fixed, errors = on_deep_stack(lambda: with_fixes(kept, offers, source, selection.fixable))
        self._result.errors += errors
        return [self._shown(finding, shown) for finding in fixed]

    def _syntax(self, path: str) -> ir.Module | None:
        """The module as it was analysed."""
        return self._project(self._finder.of_file(path)).syntax_of(path)

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
            source = self._read(path)
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
            source = self._sources.get(os.path.abspath(finding.span.path))
            text = " ".join(_text_of(source, finding.span).split()) if source else ""
            path = os.path.relpath(finding.span.path, self._finder.of_file(finding.span.path).root)
            base = "\0".join((finding.code, path.replace(os.sep, "/"), finding.context, text))
            counts[base] += 1
            digest = hashlib.sha256(f"{base}\0{counts[base]}".encode(errors="replace")).hexdigest()[:16]
            result.append(replace(finding, fingerprint=digest))
        return result


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


def _text_of(source: Source, span: Span) -> str:
    lines = source.text.splitlines()[span.row - 1 : span.end_row]
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
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # handed on to the caller's thread
            failure.append(error)

    before_size, before_limit = threading.stack_size(STACK_BYTES), sys.getrecursionlimit()
    thresholds = gc.get_threshold()
    try:
        sys.setrecursionlimit(RECURSION_LIMIT)
        gc.set_threshold(*COLLECTOR)
        thread = threading.Thread(target=run, name=_THREAD)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before_size)
        sys.setrecursionlimit(before_limit)
        gc.set_threshold(*thresholds)
    if failure:
        raise failure[0]
    return outcome[0]


_THREAD = "gpulint"

COLLECTOR = (10_000_000, 5, 50)
"""Garbage collector thresholds of a run: with the defaults it walks the syntax again and again."""
