"""Minimizers of other packages: they call a given function of the weights once or several times per step."""

from __future__ import annotations

from typing import NamedTuple

from gpulint.analysis.domain.context import Loop
from gpulint.analysis.domain.traversal import leaves_on
from gpulint.analysis.domain.values.base import Arguments, Unknown, Value, known
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import function_of
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow import foreign_objects, gradients, host_sync
from gpulint.analysis.plan import events
from gpulint.places import Site


class Minimizer(NamedTuple):
    """Names of the arguments of a minimizer: the function, which comes first, the one that computes the gradient (name
    and position), and the limit of the number of steps."""

    function: str
    gradient: tuple[str, int | None] = ("", None)
    steps: str = ""


_OF_SCIPY = {
    "minimize": Minimizer("fun", ("jac", 4)),
    "least_squares": Minimizer("fun", ("jac", 2)),
    "fmin_l_bfgs_b": Minimizer("func", ("fprime", 2), "maxiter"),
    "fmin_bfgs": Minimizer("f", ("fprime", 2), "maxiter"),
    "fmin_cg": Minimizer("f", ("fprime", 2), "maxiter"),
    "fmin_ncg": Minimizer("f", ("fprime", 2), "maxiter"),
    "fmin_tnc": Minimizer("func", ("fprime", 2), "maxfun"),
}

_OF_PROBABILITY = Minimizer("value_and_gradients_function", steps="max_iterations")

_MINIMIZERS = {
    **{f"scipy.optimize.{name}": one for name, one in _OF_SCIPY.items()},
    **{
        f"tensorflow_probability.{home}optimizer.{name}_minimize": _OF_PROBABILITY
        for home in ("", "python.")
        for name in ("bfgs", "lbfgs")
    },
}


def run_step(machine: Machine, name: str, arguments: Arguments, site: Site) -> None:
    """Run one step if the library function `name` is a minimizer. The step counts as an iteration of a loop, in which
    the gradients that the program computes are applied."""
    if (minimizer := _MINIMIZERS.get(name)) is None:
        return
    functions = (arguments.get(minimizer.function, 0), arguments.get(*minimizer.gradient))
    context = machine.context
    loop = Loop(site, _steps(minimizer, arguments), False, {}, start=machine.path, entry=machine.budget.taken)
    loop = loop._replace(flags=len(context.flags))
    with machine.within(context._replace(loops=(*context.loops, loop))):
        machine.emit(events.LoopEntered(site, machine.where(), loop))
        given = Arguments((_weights(name, site), *_further(machine, arguments)))
        results = [
            machine.each(function, lambda one: machine.call(one, given, site), site)
            for function in functions
            if function is not None and function_of(machine.choose(function)) is not None
        ]
        for result in results:
            for leaf in leaves_on(machine.path, result):
                host_sync.use_host_value(machine, leaf, site)
        found = tuple(one for result in results for one in gradients.gradients_given(machine, result))
        if found:
            optimizer = foreign_objects.optimizer(machine, site)
            machine.emit(events.GradientsApplied(site, machine.where(), optimizer, found, False))


def _weights(name: str, site: Site) -> Value:
    """The weights that a minimizer passes to the function: one array, or one tensor."""
    if name.startswith("scipy."):
        return Unknown(("call", ("external", "numpy.array"), ("weights", site)))
    return Tensor(site)


def _further(machine: Machine, arguments: Arguments) -> tuple[Value, ...]:
    """Further arguments of the function (`args=`)."""
    further = arguments.get("args")
    given = machine.choose(further) if further is not None else None
    if isinstance(given, Items):
        return given.items or ()
    return (given,) if given is not None else ()


def _steps(minimizer: Minimizer, arguments: Arguments) -> Value | None:
    """Iterable that stands for the steps of a minimizer. It has known elements if the program limits their number."""
    options = arguments.get("options")
    limit = arguments.get(minimizer.steps) if minimizer.steps else None
    if isinstance(options, Mapping):
        limit = options.entries.get("maxiter")
    count = known(limit)
    if not isinstance(count, int) or not 0 <= count <= MAX_COUNTED:
        return None
    return Items("list", tuple(Unknown(("step", number)) for number in range(count)), None, ("steps", count))


MAX_COUNTED = 10
"""Maximum number of steps that are counted: more are many."""
