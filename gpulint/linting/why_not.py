"""Why a rule does not report a place: the condition of the rule that decided, or what silenced the report."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from gpulint.analysis import Plan
from gpulint.analysis.queries.moments import hides_all_gpus
from gpulint.linting.deep_stack import on_deep_stack
from gpulint.linting.dispatch import reports_of
from gpulint.linting.engine import Checker
from gpulint.linting.finding import Finding, SuppressedBy
from gpulint.linting.result import CheckResult
from gpulint.linting.rule import Rule
from gpulint.linting.rule_trace import RuleTrace
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
        rows = len(source.text.splitlines())
        return [f"the file has only {rows} row{'s' if rows > 1 else ''}"]
    if source.blocks is not None and not any(block.row <= row < block.behind for block in source.blocks):
        return ["the row is in none of the file's Python blocks"]
    if (told := _explained(asked, result)) is not None:
        return [told]
    places = spans(source, range(min(MAX_NODES, len(source.text))))
    sites = {Site(source.path, node) for node, span in places.items() if span.row <= row <= span.end_row}
    search = _Search(asked, sites, checker, result, [], selection.rules_of(path))
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

    `sites` are those on the row, `seen` gets what each program without a decision does there. `rules` are those that
    check the file.
    """

    asked: Asked
    sites: set[Site]
    checker: Checker
    result: CheckResult
    seen: list[_Seen]
    rules: Sequence[type[Rule]]


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
    trace = RuleTrace(rule, sites)
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
        yield f"in this program, {rule.code} looked for {', '.join(kinds)}"
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
    if (other := _of_all(search)) is not None:
        yield f"{other.code} on {_row(other.span)} is about the whole file and takes the place of all other findings"
        return
    yield f"{rule.code} reports it for unknown callers only: the calls in other checked files do not cause it"


def _of_all(search: _Search) -> Finding | None:
    """The finding that a rule reports in place of all others in the file, None if there is none."""
    found = {one.code: one for one in search.result.findings if _is_same(one.span.path, search.asked.path)}
    rules = [rule for rule in search.rules if rule.code in found]
    plan = search.checker.plan(search.checker.load(search.asked.path).main)
    try:
        reports = reports_of(plan, rules, search.checker.files.read)
    finally:
        plan.release()
    return next((found[one.rule.code] for one in reports if one.report.is_all), None)
