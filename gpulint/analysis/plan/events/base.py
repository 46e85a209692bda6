"""The base class of all events."""

from __future__ import annotations

from dataclasses import dataclass, fields

from gpulint.analysis.domain.context import Where
from gpulint.places import Site


@dataclass(eq=False, repr=False)
class Event:
    """Something that happens at `site`."""

    site: Site
    where: Where

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{one.name}={getattr(self, one.name)!r}' for one in fields(self))})"
