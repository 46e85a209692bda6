"""Effects of an import: state and configuration of the runtime, environment, dtype policy, calls of libraries."""

from __future__ import annotations

from typing import NamedTuple

from gpulint.analysis.domain.values.base import Value
from gpulint.analysis.plan.events import EnvironmentSet, LibraryCalled
from gpulint.places import Site


class ImportEffects(NamedTuple):
    """Effects of importing a module.

    `state` and `since` describe the runtime. `environment` holds what every import sets, in order. `is_graph`: the
    import switches the program to TensorFlow 1's graph mode. `calls` are those of library functions by the module and
    by what it imports, whose results its importers may use.
    """

    state: str = "no"
    since: Site | None = None
    environment: tuple[EnvironmentSet, ...] = ()
    configuration: tuple[tuple[str, Value], ...] = ()
    policy: Value | None = None
    is_graph: bool = False
    calls: tuple[LibraryCalled, ...] = ()
