"""Effects of an import on the process: the runtime's state and configuration, environment, policy."""

from __future__ import annotations

from typing import NamedTuple

from gpulint.analysis.domain.values.base import Value
from gpulint.analysis.plan.events import EnvironmentSet
from gpulint.places import Site


class ImportEffects(NamedTuple):
    """What importing a module leaves in the process.

    `state` and `since` are those of the runtime; `environment` has what every import sets, in order.
    """

    state: str = "no"
    since: Site | None = None
    environment: tuple[EnvironmentSet, ...] = ()
    configuration: tuple[tuple[str, Value], ...] = ()
    policy: Value | None = None
