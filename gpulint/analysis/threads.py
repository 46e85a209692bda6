"""What runs beside the program: functions that threads and processes are given, and classes of its own that are one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from gpulint.analysis.contexts import Context
from gpulint.analysis.control import Halts
from gpulint.analysis.values import Arguments, Instance, Unknown, Value
from gpulint.places import Site

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter

THREADS = frozenset({"threading.Thread", "threading.Timer"})
PROCESSES = frozenset({"multiprocessing.Process", "multiprocessing.process.Process", "multiprocessing.context.Process"})


def made(interp: Interpreter, name: str, arguments: Arguments, site: Site) -> None:
    """A thread or a process is made of the function `target`, and so started with its `args` and `kwargs`."""
    function = arguments.get("target", 1)
    if function is None:
        return
    from gpulint.analysis.calls import handed_on

    given = handed_on(interp, arguments.get("args", 3), arguments.get("kwargs", 4))
    _beside(interp, function, lambda option: interp.call(option, given, site), site, name in PROCESSES)


def starts(receiver: Instance, name: str) -> bool:
    """Whether `receiver.name()` starts an instance of a class of the program that is a thread or a process."""
    return (
        name == "start" and receiver.cls is not None and not (THREADS | PROCESSES).isdisjoint(receiver.cls.libraries())
    )


def started(interp: Interpreter, receiver: Instance, site: Site) -> None:
    """Such an instance does what its `run` does."""
    from gpulint.analysis.calls import call_method

    if receiver.cls is not None and (body := receiver.cls.find("run")) is not None:
        is_process = not PROCESSES.isdisjoint(receiver.cls.libraries())
        run, none = body[0], Arguments()
        _beside(interp, run, lambda option: call_method(interp, receiver, option, none, site), site, is_process)


def _beside(interp: Interpreter, function: Value, call: Callable[[Value], Value], site: Site, is_process: bool) -> None:
    """Call a function without the scopes and loops around: threads enter their own. Whether the runtime has started
    by then is not known. What a process changes the others do not see."""
    context, runtime = interp.context, dict(interp.runtime)
    mark = interp.state.mark()
    interp.context = Context()
    interp.state.write(interp.runtime, "state", Unknown(("runtime",)))
    with suppress(Halts):
        interp.each(function, call, site)
    interp.context = context
    if is_process:
        interp.state.take_back(mark)
    else:
        for key, value in runtime.items():
            interp.state.write(interp.runtime, key, value)
