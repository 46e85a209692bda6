"""Giving a Plan's events to the rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, NamedTuple

from gpulint.analysis import Plan
from gpulint.analysis.domain.context import entry_point
from gpulint.analysis.domain.path_conditions import has_one_replica
from gpulint.analysis.plan.events import Event
from gpulint.analysis.queries.moments import hides_all_gpus
from gpulint.linting.examined import Candidate
from gpulint.linting.finding import Finding
from gpulint.linting.rule import Report, Rule
from gpulint.linting.selection import Catalogue
from gpulint.places import Site


class Raised(NamedTuple):
    """A report and the rule that made it; `entry` is the function that was run without a known caller to find it,
    `places` those of the events that it is about, none where it is about what that function gives to its callers."""

    rule: type[Rule]
    report: Report
    places: tuple[Site, ...] = ()
    entry: Site | None = None

    @property
    def sites(self) -> Iterator[Site]:
        """Every place that it speaks of."""
        yield self.report.site
        for site, _ in self.report.related:
            yield site
        if self.report.unless is not None:
            yield from self.report.unless.sites


def reports_of(plan: Plan, rules: Iterable[type[Rule]]) -> list[Raised]:
    """What the rules have to say of a plan."""
    if not plan.events:
        return []
    hidden = hides_all_gpus(plan)
    instances = [rule() for rule in rules if not (hidden and rule.about_cost)]
    listeners: dict[str, list[tuple[Rule, Callable[..., Any]]]] = defaultdict(list)
    for instance in instances:
        for event_name, name in instance.subscriptions().items():
            listeners[event_name].append((instance, getattr(instance, name)))
    raised: list[Raised] = []
    happenings = _Happenings(plan)
    for event in plan.events:
        if (listening := listeners.get(type(event).__name__)) is None:
            continue
        graph_mode, alone = event.where.graph_mode, has_one_replica(event.where.path)
        for instance, method in listening:
            if (instance.in_graph_mode or not graph_mode) and (instance.in_one_replica or not alone):
                entry = entry_point(event.where, plan.path)
                for report in method(event, plan) or ():
                    raised.append(Raised(type(instance), report, happenings.places(report, event.site), entry))
    for instance in instances:
        for report in instance.on_end(plan):
            place = report.happens_at or report.site
            entry = happenings.entry(place)
            places = happenings.places(report, place) if place != entry else ()
            raised.append(Raised(type(instance), report, places, entry))
    return raised


class _Happenings:
    """The events of a plan by their place."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._at: dict[Site, list[Event]] = defaultdict(list)
        for event in plan.events:
            self._at[event.site].append(event)
        self._entries: dict[Site, Site | None] = {}

    def places(self, report: Report, place: Site) -> tuple[Site, ...]:
        """Where something happens that a report is about: what makes it true, and what it says must change."""
        return (place,) if report.site == place or report.site not in self._at else (place, report.site)

    def entry(self, place: Site) -> Site | None:
        """The one entry point from which a place is reached."""
        if place not in self._entries:
            entries = {entry_point(event.where, self._plan.path) for event in self._at.get(place, ())}
            self._entries[place] = entries.pop() if len(entries) == 1 else None
        return self._entries[place]


def without_guessed(
    candidates: list[Candidate], called: Container[Site], passed: Container[Site], catalogue: Catalogue
) -> list[Candidate]:
    """Reports of a run without those of functions run with unknown arguments that another file does call, and in whose
    calls the same happens: what these lead to has been reported where they were run. Names are wrong whoever calls."""
    return [
        one
        for one in candidates
        if one.entry not in called
        or not all(place in passed for place in one.places)
        or catalogue.holds_whoever_calls(one.finding.code)
    ]


def without_answered(candidates: list[Candidate]) -> list[Candidate]:
    """Reports of a run without those that the same rule answers for another program, and without the answers."""
    answered = {(one.site, one.finding.code) for one in candidates if one.is_answer}
    return [one for one in candidates if (one.site, one.finding.code) not in answered]


def without_explained(candidates: list[Candidate], catalogue: Catalogue) -> list[Candidate]:
    """Reports of a run without those at places that a rule which they yield to has explained, and of a file of which
    one says all there is to say without the others."""
    explained: dict[Site, set[str]] = defaultdict(set)
    all_of: dict[str, Site] = {}
    for one in candidates:
        for site in (one.site, *one.supersedes):
            explained[site].add(one.finding.code)
        if one.is_all:
            all_of[one.site.path] = min(one.site, all_of.get(one.site.path, one.site))
    return [
        one
        for one in candidates
        if explained[one.site].isdisjoint(catalogue.yields_to(one.finding.code))
        and (one.site.path not in all_of or (one.is_all and one.site == all_of[one.site.path]))
    ]


def without_repeated(candidates: list[Candidate], catalogue: Catalogue) -> list[Candidate]:
    """Reports of a run with only the first of a row of those rules that say their piece once a row."""
    first: dict[tuple[object, ...], int] = {}
    for one in candidates:
        column = one.finding.span.column
        first[_row(one.finding)] = min(column, first.get(_row(one.finding), column))
    return [
        one
        for one in candidates
        if not catalogue.is_once_a_row(one.finding.code) or first[_row(one.finding)] == one.finding.span.column
    ]


def _row(finding: Finding) -> tuple[object, ...]:
    return (finding.code, finding.span.path, finding.span.cell, finding.span.row)
