"""Searches for good settings: other libraries that call the function they are given once for each trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpulint.analysis.contexts import Loop
from gpulint.analysis.events import LoopEntered
from gpulint.analysis.values import Arguments, Unknown, known
from gpulint.places import Site

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter


class Search(NamedTuple):
    """How a search is called: the name of its first argument, the function, and name and position of the number of
    trials."""

    function: str
    trials: tuple[str, int]


_FUNCTIONS = {
    "hyperopt.fmin": Search("fn", ("max_evals", 3)),
    "hyperopt.fmin.fmin": Search("fn", ("max_evals", 3)),
    **{
        f"skopt.{home}{name}": Search("func", ("n_calls", 3))
        for home in ("", "optimizer.")
        for name in ("gp_minimize", "forest_minimize", "gbrt_minimize", "dummy_minimize")
    },
}

_METHODS = {("optuna", "optimize"): Search("func", ("n_trials", 1))}
"""The same of methods, by the package that made the object."""


def called(interp: Interpreter, name: str, arguments: Arguments, site: Site) -> None:
    """A library function of that dotted name is called."""
    if (search := _FUNCTIONS.get(name)) is not None:
        _run(interp, search, arguments, site)


def method_called(interp: Interpreter, package: str, method: str, arguments: Arguments, site: Site) -> None:
    """A method is called of something that a package made."""
    if (search := _METHODS.get((package, method))) is not None:
        _run(interp, search, arguments, site)


def _run(interp: Interpreter, search: Search, arguments: Arguments, site: Site) -> None:
    """One trial, which counts as a round of a loop unless there is one alone."""
    function = arguments.get(search.function, 0)
    if function is None:
        return
    context = interp.context
    loop = Loop(site, None, False, start=interp.path, entry=interp.steps, flags=len(context.flags))
    is_loop = known(arguments.get(*search.trials)) != 1
    trial = Arguments((Unknown(("trial", site)),))
    with interp.within(context._replace(loops=(*context.loops, loop)) if is_loop else context):
        if is_loop:
            interp.emit(LoopEntered(site, interp.where(), loop))
        interp.each(function, lambda option: interp.call(option, trial, site), site)
