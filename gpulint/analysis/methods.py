"""Methods of library objects and builtin values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulint.analysis import (
    builtin,
    datasets,
    distribution,
    effects,
    events,
    host,
    managers,
    members,
    tensors,
    threads,
    training,
)
from gpulint.analysis.state import alternatives
from gpulint.analysis.values import (
    NONE,
    Arguments,
    Constant,
    Dataset,
    Instance,
    Items,
    Layer,
    Loss,
    Manager,
    Mapping,
    Metric,
    Model,
    Namespace,
    Optimizer,
    PerReplica,
    Strategy,
    Super,
    Tape,
    Tensor,
    Text,
    Traced,
    Unknown,
    UserClass,
    Value,
    Variable,
    symbol_of,
)
from gpulint.knowledge import fact
from gpulint.knowledge.facts import Kind
from gpulint.places import Site

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter

_UPDATES = frozenset({*events.MOVES, "assign", "scatter_update"})


def call(interp: Interpreter, receiver: Value, name: str, arguments: Arguments, site: Site) -> Value:
    """`receiver.name(…)` where the method is the library's."""
    if isinstance(receiver, Super):
        receiver = receiver.receiver
        if name == "__init__":
            given = tensors.flattened(map(interp.choose, arguments.all()))
            if isinstance(receiver, Model) and (arguments.open or any(map(members.has_shape, given))):
                members.built(interp, receiver, is_known=not arguments.open)
            return NONE
    if isinstance(receiver, Strategy):
        return distribution.method(interp, receiver, name, arguments, site)
    if isinstance(receiver, Model):
        return training.model_method(interp, receiver, name, arguments, site)
    if isinstance(receiver, Optimizer):
        return training.optimizer_method(interp, receiver, name, arguments, site)
    if isinstance(receiver, Tape):
        return training.tape_method(interp, receiver, name, arguments, site)
    if isinstance(receiver, Dataset):
        return datasets.method(interp, receiver, name, arguments, site)
    if isinstance(receiver, (Tensor, PerReplica)):
        return tensors.method(interp, receiver, name, site)
    if isinstance(receiver, Variable):
        return _variable(interp, receiver, name, arguments, site)
    if isinstance(receiver, Metric):
        return _metric(interp, receiver, name, arguments, site)
    if isinstance(receiver, Instance):
        effects.of_object(interp, receiver, name, site)
        if threads.starts(receiver, name):
            threads.started(interp, receiver, site)
        if receiver.library:
            interp.emit(events.LibraryCalled(site, interp.where(), f"{receiver.library}.{name}", arguments, receiver))
        return Unknown(("call", ("attribute", receiver.symbol, name), site))
    if isinstance(receiver, Manager):
        return _manager(interp, receiver, name, arguments, site)
    if isinstance(receiver, (Constant, Text, Items, Mapping, Namespace)):
        return builtin.method(interp, receiver, name, arguments, site)
    if isinstance(receiver, (Layer, Loss)) and name in ("__call__", "call"):
        return interp.call(receiver, arguments, site)
    if isinstance(receiver, Layer) and name in training.WEIGHTS:
        training.weights_used(interp, receiver, name, arguments, site)
    if isinstance(receiver, Traced) and name == "get_concrete_function":
        return receiver
    if isinstance(receiver, UserClass):
        return _of_class(interp, receiver, name, arguments, site)
    for value in arguments.all():
        members.escaped(interp, value, "passed", site)
    return Unknown(
        (
            "call",
            ("attribute", symbol_of(receiver), name),
            tuple(symbol_of(value) for value in arguments.all()),
        )
    )


def _variable(interp: Interpreter, receiver: Variable, name: str, arguments: Arguments, site: Site) -> Value:
    if name in _UPDATES:
        for value in arguments.all():
            tensors.read_at(interp, value, "assign", site)
        given = alternatives(arguments.positional[0], interp.path) if arguments.positional else []
        members.updated(interp, receiver, name, site, (value for _, value in given))
        return receiver
    if name == "numpy":
        tensors.read_at(interp, receiver, name, site)
        return host.fetched(site, name)
    if name in ("read_value", "value", "sparse_read"):
        content = tensors.derived(interp, site, ())
        if isinstance(content, Tensor):
            content.state = receiver
        return content
    return Unknown(("call", ("attribute", receiver.symbol, name), site))


def _metric(interp: Interpreter, receiver: Metric, name: str, arguments: Arguments, site: Site) -> Value:
    if name in ("update_state", "update_on_batch"):
        for value in arguments.all():
            tensors.read_at(interp, value, "metric", site)
        members.updated(interp, receiver, name, site)
        return NONE
    if name == "result":
        return Tensor(site)
    if name in ("add_weight", "add_variable"):
        return members.make_variable(interp, site, tensors.named_dtype(arguments.get("dtype")))
    return Unknown(("call", ("attribute", receiver.symbol, name), site))


def _manager(interp: Interpreter, receiver: Manager, name: str, arguments: Arguments, site: Site) -> Value:
    if name == "__enter__":
        return managers.enter_by_hand(interp, receiver, site)
    if name == "__exit__":
        managers.pop(interp, receiver)
        return NONE
    if name == "close":
        managers.close(interp, receiver)
        return NONE
    if name == "enter_context" and arguments.positional:
        managers.opened(interp, receiver)
        return interp.each(
            arguments.positional[0],
            lambda option: managers.enter_by_hand(interp, option, site),
            site,
        )
    return Unknown(("call", ("attribute", symbol_of(receiver), name), site))


def _of_class(interp: Interpreter, receiver: UserClass, name: str, arguments: Arguments, site: Site) -> Value:
    """A class method that comes from the library (`MyModel.from_config(…)`)."""
    kinds = {known.kind for library in receiver.libraries() if (known := fact(library)) is not None}
    if Kind.MODEL in kinds and name in ("from_config", "from_pretrained", "load"):
        return members.make_model(interp, site, receiver.libraries()[0], receiver)
    return Unknown(("call", ("class", receiver.module.path, receiver.name), name, site))
