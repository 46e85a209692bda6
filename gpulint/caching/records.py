"""Conversion of results to plain lists for JSON, and back.

Reading checks every value: a record with any fault raises `Malformed` and is treated as missing. Edits of fixes are not
stored: a fix is only ever applied to the text that it was computed from.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import replace
from enum import Enum
from typing import Any, TypeVar

from gpulint.confidence import Confidence
from gpulint.linting.examined import Candidate, Examined
from gpulint.linting.finding import Finding, Related, Severity, Silenced, SuppressedBy
from gpulint.linting.provenance import Provenance
from gpulint.linting.result import CheckResult, Target
from gpulint.places import Site, Span
from gpulint.rewriting.fix import Applicability, Fix
from gpulint.sources.modules import Lookup
from gpulint.sources.suppressions import Comments, Suppression, Trouble

Plain = Any
"""Any JSON value."""

T = TypeVar("T")
E = TypeVar("E", bound=Enum)


class Malformed(ValueError):
    """A record in a form that gpulint does not write."""


# ----------------------------------------------------------------------------------- checked values


def _text(plain: Plain) -> str:
    if type(plain) is not str:
        raise Malformed
    return plain


def _matching(pattern: str) -> Callable[[Plain], str]:
    compiled = re.compile(pattern)

    def read(plain: Plain) -> str:
        if compiled.fullmatch(_text(plain)) is None:
            raise Malformed
        return str(plain)

    return read


_code = _matching(r"[A-Z]{1,4}[0-9]{3}")
_rule_name = _matching(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_fingerprint = _matching(r"(?:[0-9a-f]{16})?")
_kind = _matching("ignore|disable|enable|file-ignore|noqa")
_trouble = _matching("unknown|malformed|unmatched")


def _integer(plain: Plain, least: int = 0) -> int:
    if type(plain) is not int or plain < least:
        raise Malformed
    return plain


def _flag(plain: Plain) -> bool:
    if type(plain) is not bool:
        raise Malformed
    return plain


def _list(plain: Plain, length: int | None = None) -> list[Plain]:
    if type(plain) is not list or (length is not None and len(plain) != length):
        raise Malformed
    return plain


def _several(plain: Plain, read: Callable[[Plain], T]) -> list[T]:
    return [read(one) for one in _list(plain)]


def _member(kind: type[E], plain: Plain) -> E:
    try:
        return kind(plain)
    except ValueError:
        raise Malformed from None


def _optional(plain: Plain, read: Callable[[Plain], T]) -> T | None:
    return None if plain is None else read(plain)


# ------------------------------------------------------------------------------------ what was read


def of_provenance(provenance: Provenance) -> Plain:
    return [
        provenance.files,
        [
            [roots, [[*lookup, found] for lookup, found in lookups.items()]]
            for roots, lookups in provenance.lookups.items()
        ],
    ]


def to_provenance(plain: Plain) -> Provenance:
    """Raises Malformed."""
    files, several = _list(plain, 2)
    if type(files) is not dict:
        raise Malformed
    lookups: dict[tuple[str, ...], dict[Lookup, str | None]] = {}
    for one in _list(several):
        roots, found = _list(one, 2)
        lookups[tuple(_several(roots, _text))] = {
            Lookup(_text(name), _text(directory)): _optional(path, _text)
            for name, directory, path in (_list(each, 3) for each in _list(found))
        }
    return Provenance({_text(path): _text(state) for path, state in files.items()}, lookups)


# --------------------------------------------------------------------------------------- a whole run


def of_result(result: CheckResult) -> Plain:
    return [
        [_of_finding(one) for one in result.findings],
        [[_of_finding(one.finding), one.reason, one.by.value] for one in result.suppressed],
        {path: sorted(programs) for path, programs in result.programs.items()},
        result.files,
        result.analysed,
        result.using,
        sorted(result.stopped),
        list(result.withheld.items()),
        list(result.targets.items()),
        result.notes,
    ]


def to_result(plain: Plain, files: Collection[str]) -> CheckResult:
    """The result of a run over `files`, as the user gave them. Raises Malformed, also for a finding in another file."""
    found, silenced, programs, number, analysed, using, stopped, withheld, targets, notes = _list(plain, 10)
    if type(programs) is not dict:
        raise Malformed
    result = CheckResult(
        _several(found, _to_finding),
        [
            Silenced(_to_finding(one), _text(reason), _member(SuppressedBy, by))
            for one, reason, by in (_list(each, 3) for each in _list(silenced))
        ],
        programs={_text(path): set(_several(several, _text)) for path, several in programs.items()},
        files=_integer(number),
        analysed=_integer(analysed),
        using=_integer(using),
        remembered=_integer(analysed),
        stopped=_to_stopped(stopped),
        targets={_to_target(target): _integer(count) for target, count in (_list(each, 2) for each in _list(targets))},
        withheld={_text(code): _integer(count) for code, count in (_list(each, 2) for each in _list(withheld))},
        notes=_several(notes, _text),
    )
    reported = {one.span.path for one in (*result.findings, *(one.finding for one in result.suppressed))}
    if not set(files).issuperset(reported.union(result.programs, *result.programs.values())):
        raise Malformed
    return result


# ---------------------------------------------------------------------------------------- one file


def of_examined(one: Examined) -> Plain:
    return [
        one.path,
        [
            [
                _of_finding(replace(candidate.finding, fix=candidate.offer)),
                candidate.site,
                candidate.places,
                candidate.supersedes,
                candidate.is_all,
                candidate.entry,
                candidate.retracts,
                candidate.justified,
            ]
            for candidate in one.candidates
        ],
        sorted(one.called),
        _of_places(one.passed),
        sorted(one.reached),
        sorted(one.elsewhere),
        [_of_finding(finding) for finding in one.unreadable],
        one.analysed,
        one.uses,
        one.target,
        sorted(one.stopped),
        [[path, *(list(map(_of_fields, each)) for each in comments)] for path, comments in one.comments.items()],
    ]


def to_examined(plain: Plain, known: Collection[str]) -> Examined:
    """`known` are the files that the result was computed from: a finding or comment in another one raises Malformed.
    Paths are absolute."""
    path, candidates, called, passed, reached, elsewhere, unreadable, analysed, uses, target, stopped, comments = _list(
        plain, 12
    )
    made = Examined(
        _text(path),
        _several(candidates, _to_candidate),
        set(_several(called, _to_site)),
        {site for each in _list(passed) for site in _to_places(each)},
        set(_several(reached, _text)),
        set(_several(elsewhere, _text)),
        _several(unreadable, _to_finding),
        analysed=_integer(analysed),
        uses=_flag(uses),
        target=_optional(target, _to_target),
        stopped=_to_stopped(stopped),
        comments={
            _text(file): Comments(tuple(_several(several, _to_suppression)), tuple(_several(troubles, _to_trouble)))
            for file, several, troubles in (_list(each, 3) for each in _list(comments))
        },
    )
    reported = {one.span.path for one in (*made.unreadable, *(candidate.finding for candidate in made.candidates))}
    if not set(known).issuperset(reported.union(made.comments)):
        raise Malformed
    return made


def _to_candidate(plain: Plain) -> Candidate:
    reported, site, places, supersedes, is_all, entry, retracts, justified = _list(plain, 8)
    finding = _to_finding(reported)
    return Candidate(
        finding,
        _to_site(site),
        tuple(_several(places, _to_site)),
        tuple(_several(supersedes, _to_site)),
        _flag(is_all),
        _optional(entry, _to_site),
        retracts=_flag(retracts),
        offer=finding.fix,
        justified=_text(justified),
    )


def _of_places(places: set[Site]) -> Plain:
    """Node numbers, grouped by file."""
    nodes: dict[str, list[int]] = defaultdict(list)
    for path, node in sorted(places):
        nodes[path].append(node)
    return list(nodes.items())


def _to_places(plain: Plain) -> list[Site]:
    file, nodes = _list(plain, 2)
    path = _text(file)
    return [Site(path, _integer(node)) for node in _list(nodes)]


def _to_site(plain: Plain) -> Site:
    path, node = _list(plain, 2)
    return Site(_text(path), _integer(node))


def _to_target(plain: Plain) -> Target:
    release, origin = _list(plain, 2)
    return Target(_text(release), _text(origin))


def _to_stopped(plain: Plain) -> set[tuple[str, Site]]:
    return {(_text(bound), _to_site(site)) for bound, site in (_list(each, 2) for each in _list(plain))}


def _of_fields(one: Suppression | Trouble) -> Plain:
    return [getattr(one, name) for name in type(one).__dataclass_fields__]


def _to_suppression(plain: Plain) -> Suppression:
    row, column, end_column, kind, codes, first, last, reason, cell = _list(plain, 9)
    return Suppression(
        _integer(row, 1),
        _integer(column, 1),
        _integer(end_column, 1),
        _kind(kind),
        _optional(codes, lambda several: tuple(_several(several, _code))),
        _integer(first, 1),
        _integer(last, 1),
        _text(reason),
        _optional(cell, _integer),
    )


def _to_trouble(plain: Plain) -> Trouble:
    row, column, end_column, what, message, cell = _list(plain, 6)
    return Trouble(
        _integer(row, 1),
        _integer(column, 1),
        _integer(end_column, 1),
        _trouble(what),
        _text(message),
        _optional(cell, _integer),
    )


# --------------------------------------------------------------------------------------- a finding


def _of_finding(one: Finding) -> Plain:
    fix = one.fix
    return [
        one.code,
        one.name,
        one.severity.value,
        one.span,
        one.message,
        one.why,
        one.instead,
        one.confidence.value,
        [[related.span, related.message] for related in one.related],
        one.context,
        one.fingerprint,
        one.noqa_row,
        fix and [fix.applicability.value, fix.message, fix.group],
        one.cost,
        one.no_fix,
    ]


def _to_finding(plain: Plain) -> Finding:
    code, name, severity, span, message, why, instead, confidence, related, context, mark, row, fix, cost, no_fix = (
        _list(plain, 15)
    )
    return Finding(
        _code(code),
        _rule_name(name),
        _member(Severity, severity),
        _to_span(span),
        _text(message),
        _text(why),
        _text(instead),
        _member(Confidence, confidence),
        tuple(Related(_to_span(place), _text(text)) for place, text in (_list(each, 2) for each in _list(related))),
        _text(context),
        _fingerprint(mark),
        _integer(row),
        _optional(fix, _to_fix),
        _text(cost),
        _text(no_fix),
    )


def _to_fix(plain: Plain) -> Fix:
    applicability, message, group = _list(plain, 3)
    return Fix(_member(Applicability, applicability), _text(message), (), _text(group))


def _to_span(plain: Plain) -> Span:
    path, row, column, end_row, end_column, cell = _list(plain, 6)
    span = Span(
        _text(path),
        _integer(row, 1),
        _integer(column, 1),
        _integer(end_row, 1),
        _integer(end_column, 1),
        _optional(cell, _integer),
    )
    if (span.end_row, span.end_column) < (span.row, span.column):
        raise Malformed
    return span
