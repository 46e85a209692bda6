"""Library objects that were created outside the program."""

from __future__ import annotations

from gpulint.analysis.domain.context import Context, Object, StrategyScope, Where
from gpulint.analysis.domain.values.base import LibraryName, Value
from gpulint.analysis.domain.values.objects import Model, Optimizer, Variable
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow import objects
from gpulint.knowledge import fact
from gpulint.knowledge.facts import Kind
from gpulint.knowledge.names import PRIVATE
from gpulint.places import Site


def instance_of(machine: Machine, meant: LibraryName, site: Site) -> Value | None:
    """Representative of the instances of a library class, None where nothing useful is known of them."""
    if meant.name == "tensorflow.Tensor":
        return Tensor(site)
    known = fact(meant.name)
    made: Object | None = None
    if known is not None and known.kind is Kind.MODEL:
        made = Model(site, _elsewhere(machine), meant.name)
    elif meant.name in _OPTIMIZERS:
        made = optimizer(machine, site)
    elif known is not None and known.kind is Kind.OPTIMIZER:
        made = Optimizer(site, _elsewhere(machine), meant.name)
    if made is not None:
        made.is_private = meant.package == PRIVATE
    return made


def model(machine: Machine, site: Site, scopes: tuple[StrategyScope, ...] = ()) -> Model:
    """Model of any class, created outside the program; in these scopes, if it is known."""
    where = _elsewhere(machine)
    made = Model(site, where._replace(context=where.context._replace(scopes=scopes)), "tensorflow.keras.Model")
    made.is_private = None
    return made


def pretrained(machine: Machine, site: Site) -> Model:
    """Model that a class of `transformers` loads, here and now."""
    made = objects.make_model(machine, site, "tensorflow.keras.Model")
    made.is_private = None
    return made


def optimizer(machine: Machine, site: Site) -> Optimizer:
    """Optimizer of any class, created outside the program."""
    made = Optimizer(site, _elsewhere(machine), "tensorflow.keras.optimizers.Optimizer")
    made.scales = made.is_private = None
    return made


def variable(machine: Machine, site: Site) -> Variable:
    """Variable created outside the program."""
    return Variable(site, _elsewhere(machine))


def _elsewhere(machine: Machine) -> Where:
    """Where an object passed to the program was created: perhaps in a strategy scope."""
    now = machine.where()
    return Where(Context(maybe_scoped=True), now.path, now.caller, now.graph_mode)


_OPTIMIZERS = frozenset({"tensorflow.keras.optimizers.Optimizer", "tensorflow.keras.optimizers.legacy.Optimizer"})
