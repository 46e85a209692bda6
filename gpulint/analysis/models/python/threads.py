"""What runs beside the program: functions that threads and processes are given, and classes of its own that are one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from gpulint.analysis.domain.completion import PathEnds
from gpulint.analysis.domain.context import Context
from gpulint.analysis.domain.values.base import Arguments, Unknown, Value
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.engine.calls import handed_on
from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site

THREADS = frozenset({"threading.Thread", "threading.Timer"})
PROCESSES = frozenset({"multiprocessing.Process", "multiprocessing.process.Process", "multiprocessing.context.Process"})


def run_target(machine: Machine, name: str, arguments: Arguments, site: Site) -> None:
    """A thread or a process is made of the function `target`, and so started with its `args` and `kwargs`."""
    function = arguments.get("target", 1)
    if function is None:
        return
    given = handed_on(machine, arguments.get("args", 3), arguments.get("kwargs", 4))
    _beside(machine, function, lambda option: machine.call(option, given, site), site, name in PROCESSES)


def starts(receiver: Instance, name: str) -> bool:
    """Whether `receiver.name()` starts an instance of a class of the program that is a thread or a process."""
    return (
        name == "start" and receiver.cls is not None and not (THREADS | PROCESSES).isdisjoint(receiver.cls.libraries())
    )


def run_started(machine: Machine, receiver: Instance, site: Site) -> None:
    """Such an instance does what its `run` does."""
    if receiver.cls is not None and (body := receiver.cls.find("run")) is not None:
        is_process = not PROCESSES.isdisjoint(receiver.cls.libraries())
        run, none = body[0], Arguments()
        _beside(machine, run, lambda option: machine.call_method(receiver, option, none, site), site, is_process)


def _beside(machine: Machine, function: Value, call: Callable[[Value], Value], site: Site, is_process: bool) -> None:
    """Call a function without the scopes and loops around: threads enter their own. Whether the runtime has started
    by then is not known. What a process changes the others do not see."""
    context, runtime = machine.context, dict(machine.library_state.runtime)
    mark = machine.state.mark()
    machine.context = Context()
    machine.state.write(machine.library_state.runtime, "state", Unknown(("runtime",)))
    with suppress(PathEnds):
        machine.each(function, call, site)
    machine.context = context
    if is_process:
        machine.state.take_back(mark)
    else:
        for key, value in runtime.items():
            machine.state.write(machine.library_state.runtime, key, value)
