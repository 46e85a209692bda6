"""Running the rules on the events of a Plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from gpulint.analysis import Plan
from gpulint.analysis.domain.context import entry_point
from gpulint.analysis.domain.path_conditions import has_one_replica
from gpulint.analysis.plan.events import Event
from gpulint.analysis.queries.moments import without_gpus
from gpulint.linting.program import Program
from gpulint.linting.rule import Report, Rule
from gpulint.places import Site
from gpulint.sources.source import ReadSource


class Raised(NamedTuple):
    """A report and its rule. `entry` is the function that was run without a known caller, `places` are the sites of the
    events that the report is about; none if it is about what that function returns to its callers."""

    rule: type[Rule]
    report: Report
    places: tuple[Site, ...] = ()
    entry: Site | None = None

    @property
    def shown(self) -> Iterator[Site]:
        """Every place that its finding shows."""
        yield self.report.site
        for site, _ in self.report.related:
            yield site

    @property
    def sites(self) -> Iterator[Site]:
        """Every site whose position or comments it needs."""
        yield from self.shown
        if self.report.unless is not None:
            yield from self.report.unless.sites


def reports_of(plan: Plan, rules: Iterable[type[Rule]], read: ReadSource) -> list[Raised]:
    """The reports of rules on one program; `read` gives the source of a file."""
    if not plan.events:
        return []
    hidden = without_gpus(plan)
    instances = [rule() for rule in rules if not (None in hidden and rule.is_performance)]
    program = Program(plan, read)
    for instance in instances:
        instance.bind(program)
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
        for report in instance.on_end(plan) or ():
            place = report.happens_at or report.site
            entry = happenings.entry(place)
            places = happenings.places(report, place) if place != entry else ()
            raised.append(Raised(type(instance), report, places, entry))
    return [one for one in raised if not (one.entry in hidden and one.rule.is_performance)]


class _Happenings:
    """The events of a plan by site."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._at: dict[Site, list[Event]] = defaultdict(list)
        for event in plan.events:
            self._at[event.site].append(event)
        self._entries: dict[Site, Site | None] = {}

    def places(self, report: Report, place: Site) -> tuple[Site, ...]:
        """Sites of the events that a report is about: the one that causes it, and the one to change."""
        return (place,) if report.site == place or report.site not in self._at else (place, report.site)

    def entry(self, place: Site) -> Site | None:
        """The entry point from which a place is reached, None if there are several."""
        if place not in self._entries:
            entries = {entry_point(event.where, self._plan.path) for event in self._at.get(place, ())}
            self._entries[place] = entries.pop() if len(entries) == 1 else None
        return self._entries[place]
