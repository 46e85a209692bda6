"""Why a rule does not report a place: the condition of the rule that decided, or what silenced the report."""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from types import CodeType, FrameType
from typing import Any, NamedTuple

from gpulint.analysis import Plan
from gpulint.analysis.queries.moments import hides_all_gpus
from gpulint.linting.conditions import Moment, deciding, docstrings_of_constants, explained
from gpulint.linting.deep_stack import on_deep_stack
from gpulint.linting.dispatch import reports_of
from gpulint.linting.engine import Checker
from gpulint.linting.finding import Finding, SuppressedBy
from gpulint.linting.result import CheckResult
from gpulint.linting.rule import Rule
from gpulint.linting.selection import Selection
from gpulint.places import Site, Span
from gpulint.sources.source import Source
from gpulint.syntax.spans import spans

MAX_NODES = 1_000_000
"""Maximum number of nodes of the file whose places are computed."""


MAX_PROGRAMS = 8
"""Maximum number of other programs in which the row is looked at."""


class Asked(NamedTuple):
    """The question: a rule, and a row of a file that was checked, or of a notebook's cell, counted from 0."""

    rule: type[Rule]
    path: str
    row: int
    cell: int | None = None


def why_not(
    asked: Asked, checker: Checker, selection: Selection, result: CheckResult, known: Collection[Finding] = ()
) -> list[str]:
    """Lines that answer why a check with this result has no finding of the rule on the row. `selection` is that of the
    file, `known` are findings in the baseline. Raises CannotParse if the file does not parse."""
    rule, path = asked.rule, asked.path
    here = [one for one in result.findings if _is_at(one.span, asked)]
    if found := next((one for one in here if one.code == rule.code), None):
        said = "found there, and is in the baseline" if found in known else "reported there"
        return [f"{rule.code} is {said}: {found.message}"]
    for one in result.suppressed:
        span = one.finding.span
        if one.finding.code == rule.code and _is_at(span, asked):
            what = "an explanation" if one.by is SuppressedBy.EXPLANATION else "a suppression comment"
            return [f"{what} suppresses it" + (f": {one.reason}" if one.reason else "")]
    if (reason := _off(rule, path, selection)) is not None:
        return [reason]
    source = checker.load(path).main
    if (row := _row_in_program(asked, source)) is None:
        if asked.cell is not None:
            return ["the notebook has no such cell of Python, or the cell no such row"]
        return [f"the file has only rows 1 to {len(source.text.splitlines())}"]
    if source.blocks is not None and not any(block.row <= row < block.behind for block in source.blocks):
        return ["the row is in none of the file's Python blocks"]
    if (told := _explained(asked, result)) is not None:
        return [told]
    places = spans(source, range(min(MAX_NODES, len(source.text))))
    sites = {Site(source.path, node) for node, span in places.items() if span.row <= row <= span.end_row}
    search = _Search(asked, sites, checker, result, [])
    for program in _programs(asked, source, checker, result):
        if decided := _decided(program, search):
            return decided
    return list(_undecided(rule, search.seen))


def _programs(asked: Asked, source: Source, checker: Checker, result: CheckResult) -> Iterator[Source]:
    """The program in the file, and those of the checked files that reach it."""
    yield source
    reaching = next((found for path, found in result.programs.items() if _is_same(path, asked.path)), ())
    for path in islice(sorted(reaching), MAX_PROGRAMS):
        if not _is_same(path, asked.path):
            yield checker.load(path).main


def _explained(asked: Asked, result: CheckResult) -> str | None:
    """That the row explains a finding of the rule which is reported elsewhere, None if it does not."""
    for one in result.findings:
        if one.code == asked.rule.code and any(_is_at(related.span, asked) for related in one.related):
            same = os.path.abspath(one.span.path) == os.path.abspath(asked.path)
            where = _row(one.span) if same else f"{one.span.path}:{one.span.row}"
            return f"it explains the finding of {one.code} on {where}"
    return None


def _is_same(path: str, other: str) -> bool:
    return os.path.abspath(path) == os.path.abspath(other)


def _is_at(span: Span, asked: Asked) -> bool:
    return _is_same(span.path, asked.path) and span.cell == asked.cell and span.row <= asked.row <= span.end_row


def _row(span: Span) -> str:
    """A row in words."""
    return f"row {span.row}" if span.cell is None else f"row {span.row} of cell {span.cell + 1}"


def _row_in_program(asked: Asked, source: Source) -> int | None:
    """The row in the text of the program, None if it has no such row."""
    if asked.cell is None or source.cells is None:
        return asked.row if 1 <= asked.row <= len(source.text.splitlines()) else None
    row = source.cells.row(asked.cell, asked.row) if asked.row > 0 else None
    if row is None:
        return None
    piece = source.cells.piece(row)
    return row if piece.cell == asked.cell and row < piece.row + piece.rows else None


def _off(rule: type[Rule], path: str, selection: Selection) -> str | None:
    """Why the rule does not check the file at all, None if it does."""
    if rule.code not in selection.codes:
        return f"{rule.code} is off: " + ("it is not selected" if rule.on_by_default else "it is off by default")
    if rule.code in selection.ignored_in(os.path.abspath(path)):
        return f"`per-file-ignores` turns {rule.code} off in this file"
    if rule not in selection.rules_of(path):
        return f"{rule.code} skips test files, and this one is named like a test"
    return None


class _Seen(NamedTuple):
    """What programs do on the row, and which events the rule looks at in them."""

    events: list[tuple[str, bool]]
    """The kinds of the events there, and whether they are in graph mode."""
    kinds: set[str]
    limits: set[str]
    does_nothing: bool


class _Search(NamedTuple):
    """The search for what decided about a row that a check with this result did not report.

    `sites` are those on the row, `seen` gets what each program without a decision does there.
    """

    asked: Asked
    sites: set[Site]
    checker: Checker
    result: CheckResult
    seen: list[_Seen]


def _decided(program: Source, search: _Search) -> list[str]:
    """What decided about the row in a program, nothing if the rule did not consider it."""
    plan = search.checker.plan(program)
    try:
        return on_deep_stack(lambda: list(_of_plan(plan, search)))
    finally:
        plan.release()


def _of_plan(plan: Plan, search: _Search) -> Iterator[str]:
    rule, sites = search.asked.rule, search.sites
    if rule.is_performance and hides_all_gpus(plan):
        yield f"{rule.code} is about speed and memory, and the program hides all GPUs"
        return
    trace = _Trace(rule, sites)
    reports = trace.during(lambda: reports_of(plan, [rule], search.checker.files.read))
    if any(one.report.site in sites for one in reports):
        yield from _withdrawn(search)
    elif decision := trace.decision():
        yield f"{rule.code} considered it and left it out: {decision[0]}"
        yield from decision[1:]
    else:
        events = [(type(event).__name__, event.where.graph_mode) for event in plan.events if event.site in sites]
        search.seen.append(_Seen(events, trace.kinds, {limit for limit, _ in plan.bounds}, not plan.events))


def _undecided(rule: type[Rule], seen: Sequence[_Seen]) -> Iterator[str]:
    """Lines about a row that the rule did not consider in any program."""
    events = [event for one in seen for event in one.events]
    if all(one.does_nothing for one in seen):
        yield "the program does nothing with TensorFlow"
    elif not events:
        yield "the analysis saw nothing happen on this row: it is not reached, or has no meaning for GPUs"
    else:
        yield f"on this row: {', '.join(sorted({kind for kind, _ in events}))}"
        if all(graph_mode for _, graph_mode in events) and not rule.in_graph_mode:
            yield f"it runs in TensorFlow 1's graph mode, which {rule.code} leaves out"
    if kinds := sorted({*rule.subscriptions(), *(kind for one in seen for kind in one.kinds)}):
        yield f"{rule.code} looks at {', '.join(kinds)}"
    for limit in sorted(set().union(*(one.limits for one in seen))):
        yield f"the program was not followed to its end: limit of {limit}"


def _withdrawn(search: _Search) -> Iterator[str]:
    """Why a report of the rule was dropped after all."""
    asked, result = search.asked, search.result
    rule = asked.rule
    if rule.code in result.withheld:
        yield (
            f"{rule.code} depends on the TensorFlow release, and nothing names that of this project "
            f"(`--extend-select {rule.code}` shows it)"
        )
        return
    for one in result.findings:
        if one.code in rule.yields_to and _is_at(one.span, asked):
            yield f"{one.code} is reported there instead"
            return
    if rule.once_a_file:
        for one in result.findings:
            if one.code == rule.code and os.path.abspath(one.span.path) == os.path.abspath(asked.path):
                yield f"it is one of the places of the finding on {_row(one.span)}"
                return
    words = rule.needed_names()
    text = search.checker.load(asked.path).main.text
    if words is not None and not any(word.strip(".(") in text for word in words):
        yield f"gpulint analyses a program for {rule.code} only if it has one of: {', '.join(sorted(words))}"
        return
    yield f"{rule.code} reports it for unknown callers only: the calls in other checked files do not cause it"


class _Trace:
    """Records which lines of a rule run while it looks at one of the sites, and the kinds of events that it reads."""

    def __init__(self, rule: type[Rule], sites: set[Site]) -> None:
        self.kinds: set[str] = set()
        self._sites = sites
        self._module = rule.__module__
        self._file = inspect.getsourcefile(rule) or ""
        with open(self._file, encoding="utf-8") as file:
            self._tree = ast.parse(file.read())
        self._headers = {
            node.lineno for node in ast.walk(self._tree) if isinstance(node, (ast.For, ast.While, ast.FunctionDef))
        }
        """Lines of loop headers, on which names still have the values of the iteration before."""
        self._moments: dict[CodeType, Moment] = {}
        """The last line of each function that ran with one of the sites, the latest function last."""

    def during(self, run: Callable[[], list[Any]]) -> list[Any]:
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            return run()
        finally:
            sys.settrace(before)

    def _called(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code is Rule.all.__code__:
            self.kinds.update(kind.__name__ for kind in frame.f_locals["kinds"])
        return self._line if frame.f_code.co_filename == self._file else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        if (
            event == "line"
            and frame.f_lineno not in self._headers
            and any(self._is_about(value) for value in list(frame.f_locals.values()))
        ):
            self._moments.pop(frame.f_code, None)
            self._moments[frame.f_code] = Moment.of(frame)
        return self._line

    def _is_about(self, value: object) -> bool:
        if isinstance(value, Site):
            return value in self._sites
        if isinstance(value, tuple) and len(value) < 10:
            return any(self._is_about(part) for part in value)
        return getattr(value, "site", None) in self._sites

    def decision(self) -> list[str]:
        """The condition of the rule that decided last, and what its names stand for; nothing if it never looked at the
        sites. A method that receives events decides, not what computes for it."""
        receiving = sorted(self._moments, key=lambda code: code.co_name.startswith("on_"))
        for code in reversed(receiving):
            moment = self._moments[code]
            if (found := _condition(self._tree, moment.line)) is not None:
                test, holds = deciding(*found, moment)
                where = f"{os.path.basename(self._file)}:{found[0].lineno}"
                shown = f"`{ast.unparse(test)}` is {'true' if holds else 'false'} ({where})"
                return [shown, *explained(test, moment, docstrings_of_constants(self._module))]
        return []


def _condition(tree: ast.AST, line: int) -> tuple[ast.expr, bool] | None:
    """The condition on a line, which was false if nothing ran after it, or else the one above the line, which held."""
    found: tuple[ast.expr, bool] | None = None
    for node in ast.walk(tree):  # outer nodes first
        if isinstance(node, ast.If):
            if node.test.lineno <= line <= (node.test.end_lineno or node.test.lineno):
                found = node.test, False
            elif any(one.lineno <= line <= (one.end_lineno or one.lineno) for one in node.body):
                found = node.test, True
        elif isinstance(node, ast.comprehension) and node.ifs:
            if node.ifs[0].lineno <= line <= (node.ifs[-1].end_lineno or line):
                found = node.ifs[-1], False
        elif isinstance(node, ast.Return) and node.value is not None:
            if node.lineno <= line <= (node.end_lineno or node.lineno) and isinstance(
                node.value, (ast.BoolOp, ast.Compare, ast.UnaryOp)
            ):
                found = node.value, False
    return found
