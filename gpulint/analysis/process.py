"""What importing a module leaves in the process: the runtime's state and configuration, environment, policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpulint.analysis import runtime
from gpulint.analysis.contexts import Caller
from gpulint.analysis.events import EnvironmentSet
from gpulint.analysis.values import Constant, Value, known
from gpulint.places import Site

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter


class Left(NamedTuple):
    """`state` and `since` are those of the runtime. `environment` has what every import sets, in its order."""

    state: str = "no"
    since: Site | None = None
    environment: tuple[EnvironmentSet, ...] = ()
    configuration: tuple[tuple[str, Value], ...] = ()
    policy: Value | None = None


def left_by(interp: Interpreter) -> Left:
    """What the module that was run has done to the process."""
    state, since = interp.runtime["state"], interp.runtime["since"]
    policy = interp.policy["global"]
    return Left(
        str(state.value) if isinstance(state, Constant) else "no",
        since.value if isinstance(since, Constant) and isinstance(since.value, Site) else None,
        tuple(
            event
            for event in interp.plan.events
            if isinstance(event, EnvironmentSet) and event.key is not None and not event.where.path
        ),
        tuple(interp.configuration.items()),
        policy if known(policy) != "float32" else None,
    )


def as_imported(interp: Interpreter) -> None:
    """Whoever calls a function that the program itself never calls imports the file: what the main program configures
    is not configured there."""
    if interp.imported_with is None:
        return
    for what in interp.configuration:
        interp.state.write(interp.configuration, what, interp.imported_with.get(what, Constant(())))


def initialised(interp: Interpreter, left: Left, path: str) -> None:
    """A module has been run, whenever that was: the runtime is as it left it."""
    if left.state != "no":
        runtime.initialised(interp, left.state, left.since or Site(path, 0))


def imported(interp: Interpreter, left: Left, site: Site) -> None:
    """An import statement runs a module here: what that does to the process is done here."""
    before = interp.where()
    where = before._replace(caller=Caller(site, "", before.caller, before.caller.known, before.caller.depth + 1))
    for event in left.environment:
        runtime.environment_set(interp, Constant(event.key), event.value, event.site, where)
    for what, settings in left.configuration:
        interp.state.write(interp.configuration, what, settings)
    if left.policy is not None:
        interp.state.write(interp.policy, "global", left.policy)
