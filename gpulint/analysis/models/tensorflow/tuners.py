"""Hyperparameter searches: libraries that call a given function once per trial."""

from __future__ import annotations

from typing import NamedTuple

from gpulint.analysis.domain.context import Loop, Strategy, StrategyScope
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.values.base import NONE, Arguments, Unknown, Value, known
from gpulint.analysis.domain.values.functions import Bound
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.plan.events import LoopEntered
from gpulint.places import Site


class Search(NamedTuple):
    """Signature of a search: name of the first argument, the function, and name and position of the trial count."""

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
"""Package of the object and method → signature of the search."""


_TUNERS = frozenset(
    f"{package}.{home}{name}"
    for package in ("keras_tuner", "kerastuner")
    for home in ("", "tuners.")
    for name in ("BayesianOptimization", "GridSearch", "Hyperband", "RandomSearch")
)
"""Tuner classes, created with a function that builds a model or with a `HyperModel`."""


def run_trials(machine: Machine, name: str, arguments: Arguments, site: Site, result: Symbol) -> None:
    """Run one trial if the library function `name` is a search. Record the arguments if it is a tuner class."""
    if (search := _FUNCTIONS.get(name)) is not None:
        _run(machine, search, arguments, site)
    elif name in _TUNERS:
        machine.library_state.tuners[result] = arguments


def run_trials_of_method(machine: Machine, owner: Symbol, method: str, arguments: Arguments, site: Site) -> None:
    """Run one trial if `method` of an object that a package created is a search."""
    if (search := _METHODS.get((owner.package, method))) is not None:
        _run(machine, search, arguments, site)
    elif method == "search" and (tuner := machine.library_state.tuners.get(owner)) is not None:
        _tune(machine, tuner, arguments, site)


def _run(machine: Machine, search: Search, arguments: Arguments, site: Site) -> None:
    """Run one trial. It counts as an iteration of a loop unless the search has exactly one trial."""
    function = arguments.get(search.function, 0)
    if function is None:
        return
    context = machine.context
    loop = Loop(site, None, False, {}, start=machine.path, entry=machine.budget.taken, flags=len(context.flags))
    is_loop = known(arguments.get(*search.trials)) != 1
    trial = Arguments((Unknown(("trial", site)),))
    with machine.within(context._replace(loops=(*context.loops, loop)) if is_loop else context):
        if is_loop:
            machine.emit(LoopEntered(site, machine.where(), loop))
        machine.each(function, lambda option: machine.call(option, trial, site), site)


def _tune(machine: Machine, tuner: Arguments, given: Arguments, site: Site) -> None:
    """Run one trial of KerasTuner: build a model and fit it, or call the methods of the program's `HyperModel` for
    that.

    It is not an iteration of a loop, because each trial begins with `clear_session`.
    """
    hyperparameters = Unknown(("trial", site))

    def trial(hypermodel: Value) -> Value:
        build, fit = (_method(hypermodel, name) for name in ("build", "fit"))
        model = machine.call(build or hypermodel, Arguments((hyperparameters,)), site)
        if fit is not None:
            return machine.call(fit, Arguments((hyperparameters, model)).merged(given), site)
        return machine.each(model, lambda one: machine.call(Bound(one, "fit"), given, site), site)

    def under(strategy: Value) -> Value:
        context = machine.context
        if isinstance(strategy, Strategy):
            context = context._replace(scopes=(*context.scopes, StrategyScope(site, strategy)))
        with machine.within(context):
            return machine.each(tuner.get("hypermodel", 0) or NONE, trial, site)

    machine.each(tuner.get("distribution_strategy") or NONE, under, site)


def _method(owner: Value, name: str) -> Bound | None:
    """Method that the program's own class of an object defines, None for other objects."""
    found = owner.cls.find(name) if isinstance(owner, Instance) and owner.cls is not None else None
    return Bound(owner, found[0]) if found else None
