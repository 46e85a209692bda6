"""Giving a Plan's events to the rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from gpulint.analysis import Plan
from gpulint.analysis.paths import has_one_replica
from gpulint.analysis.questions import hides_all_gpus
from gpulint.linting.finding import Finding
from gpulint.linting.rule import Report, Rule
from gpulint.linting.selection import Catalogue
from gpulint.places import Site


class Raised(NamedTuple):
    """A report and the rule that made it."""

    rule: type[Rule]
    report: Report

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
    for event in plan.events:
        if (listening := listeners.get(type(event).__name__)) is None:
            continue
        graph_mode, alone = event.where.graph_mode, has_one_replica(event.where.path)
        for instance, method in listening:
            if (instance.in_graph_mode or not graph_mode) and (instance.in_one_replica or not alone):
                raised += [Raised(type(instance), report) for report in method(event, plan) or ()]
    for instance in instances:
        raised += [Raised(type(instance), report) for report in instance.on_end(plan)]
    return raised


class Reported(Protocol):
    """What a run reports somewhere."""

    @property
    def finding(self) -> Finding: ...
    @property
    def report(self) -> Report: ...


R = TypeVar("R", bound=Reported)


def without_explained(reported: Sequence[R], catalogue: Catalogue) -> list[R]:
    """What a run reports without what stands at places that a rule which it yields to has explained."""
    explained: dict[Site, set[str]] = defaultdict(set)
    for one in reported:
        for site in (one.report.site, *one.report.supersedes):
            explained[site].add(one.finding.code)
    return [one for one in reported if explained[one.report.site].isdisjoint(catalogue.yields_to(one.finding.code))]
