"""The program as rules see it beside the event at hand: its other events, and its LibCST nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpulint.analysis import Plan
from gpulint.analysis.domain.path_conditions import has_one_replica
from gpulint.analysis.plan.events import Event
from gpulint.places import Site
from gpulint.sources.source import ReadSource
from gpulint.syntax.parse import CannotParse, with_tree

if TYPE_CHECKING:
    import libcst


class Program:
    """One program; `read` gives the source of a file, None if it cannot be read."""

    def __init__(self, plan: Plan, read: ReadSource) -> None:
        self._plan = plan
        self._read = read
        self._origins: dict[str, list[Any]] = {}

    def events(self, kinds: tuple[type[Event], ...], in_graph_mode: bool, in_one_replica: bool) -> Iterator[Event]:
        """The events of some kinds, in evaluation order, without those of graph mode and of paths with one replica
        unless they are asked for."""
        found: Iterable[Event] = self._plan.events if len(kinds) > 1 else self._by_kind.get(kinds[0], ())
        for event in found:
            if type(event) not in kinds:
                continue
            if (in_graph_mode or not event.where.graph_mode) and (
                in_one_replica or not has_one_replica(event.where.path)
            ):
                yield event

    def node(self, site: Site) -> libcst.CSTNode | None:
        """The node at a site; None if LibCST cannot parse the file, or if it has no node for it, as for the index of
        `a[i, j]`. A file is parsed when its first node is asked for."""
        if site.path not in self._origins:
            self._origins[site.path] = self._parsed(site.path)
        origins = self._origins[site.path]
        found = origins[site.node] if site.node < len(origins) else None
        return None if isinstance(found, tuple) else found

    def name_of(self, site: Site) -> str:
        """The variable to which a statement assigns the value at a site, "" if there is none."""
        import libcst

        value = self.node(site)
        for one in self._origins.get(site.path, ()) if value is not None else ():
            if isinstance(one, libcst.Assign) and one.value is value and len(one.targets) == 1:
                target = one.targets[0].target
                return target.value if isinstance(target, libcst.Name) else ""
        return ""

    @cached_property
    def _by_kind(self) -> dict[type[Event], list[Event]]:
        kinds: dict[type[Event], list[Event]] = defaultdict(list)
        for event in self._plan.events:
            kinds[type(event)].append(event)
        return dict(kinds)

    def _parsed(self, path: str) -> list[Any]:
        from gpulint.syntax.lower import lower

        source = self._read(path)
        if source is None:
            return []
        try:
            return with_tree(source, lambda tree: lower(tree, path).origins)
        except CannotParse:
            return []
