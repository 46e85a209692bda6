"""Effects of importing a module: state and configuration of the runtime, environment, dtype policy, calls of
libraries."""

from __future__ import annotations

from gpulint.analysis.domain.context import Caller
from gpulint.analysis.domain.values.base import Constant, known
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow import device_runtime
from gpulint.analysis.plan.events import EnvironmentSet, LibraryCalled
from gpulint.analysis.plan.import_effects import ImportEffects
from gpulint.places import Site


def effects_of(machine: Machine) -> ImportEffects:
    """Effects of the module that was run."""
    state, since = machine.library_state.runtime["state"], machine.library_state.runtime["since"]
    policy = machine.library_state.policy["global"]
    return ImportEffects(
        str(state.value) if isinstance(state, Constant) else "no",
        since.value if isinstance(since, Constant) and isinstance(since.value, Site) else None,
        tuple(
            event
            for event in machine.plan.events
            if isinstance(event, EnvironmentSet) and event.key is not None and not event.where.path
        ),
        tuple(machine.library_state.configuration.items()),
        policy if known(policy) != "float32" else None,
        known(machine.library_state.policy["is_graph"]) is True,
        (
            *machine.plan.calls_of_imports.values(),
            *(event for event in machine.plan.events if isinstance(event, LibraryCalled)),
        ),
    )


def configure_as_imported(machine: Machine) -> None:
    """Reset the configuration to that of an imported file. A caller of a function that the program itself never calls
    has imported the file, so the configuration made by the main program is missing there."""
    if machine.library_state.imported_with is None:
        return
    for what in machine.library_state.configuration:
        machine.state.write(
            machine.library_state.configuration, what, machine.library_state.imported_with.get(what, Constant(()))
        )


def replay_initialisation(machine: Machine, left: ImportEffects, path: str) -> None:
    """Apply a module's initialisation of the runtime, whenever the module was run."""
    if left.state != "no":
        device_runtime.initialise(machine, left.state, left.since or Site(path, 0))


def replay_calls(machine: Machine, left: ImportEffects) -> None:
    """Make a module's calls of libraries known to the program, whenever the module was run."""
    for event in left.calls:
        machine.plan.calls_of_imports.setdefault(event.site, event)


def replay(machine: Machine, left: ImportEffects, site: Site) -> None:
    """Apply a module's other effects on the process at the import statement that runs it."""
    before = machine.where()
    where = before._replace(caller=Caller(site, "", before.caller, before.caller.known, before.caller.depth + 1))
    for event in left.environment:
        device_runtime.environment_set(machine, Constant(event.key), event.value, event.site, where)
    for what, settings in left.configuration:
        machine.state.write(machine.library_state.configuration, what, settings)
    if left.policy is not None:
        machine.state.write(machine.library_state.policy, "global", left.policy)
    if left.is_graph:
        machine.state.write(machine.library_state.policy, "is_graph", Constant(True))
