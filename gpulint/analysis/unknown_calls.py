"""Calls of what is not known: by its symbol it may still be an optimizer, a model, a logger, a parser of options."""

from __future__ import annotations

from gpulint.analysis import (
    datasets,
    elsewhere,
    escape,
    gradients,
    host,
    methods,
    options,
    removed,
    searches,
    tensors,
    training,
)
from gpulint.analysis.events import FunctionHandedOver, UnknownFitted
from gpulint.analysis.machine import Machine
from gpulint.analysis.symbols import Symbol, symbol
from gpulint.analysis.values import (
    NONE,
    Arguments,
    Layer,
    Model,
    Tensor,
    Unknown,
    Value,
    function_of,
    symbol_of,
)
from gpulint.places import Site

_OTHER_LEARNERS = frozenset(
    {"catboost", "category_encoders", "imblearn", "lightgbm", "scipy", "sklearn", "statsmodels", "umap", "xgboost"}
)
"""Packages whose `fit` trains no Keras model."""


def call(machine: Machine, function: Value, arguments: Arguments, site: Site) -> Value:
    """Result of calling a value of which nothing is known but its symbol."""
    for value in arguments.all():
        escape.escaped(machine, value, "passed", site)
        if (given := function_of(value)) is not None:
            machine.emit(FunctionHandedOver(site, machine.where(), given))
    called = symbol_of(function)
    method = called.parts[-1] if called.parts[0] == "attribute" else ""
    host.passed(machine, method, arguments, site, _last_name(called.parts[1]) if method else "")
    if method == "add_argument":
        options.added(machine, arguments)
    if method:
        removed.unknown_method(machine, called, method, site)
        removed.property_called(machine, called, site)
        searches.method_called(machine, symbol(called.parts[1]), method, arguments, site)
        _logged(machine, symbol(called.parts[1]), method, arguments, site)
        if method in _OF_DISTRIBUTIONS and _is_made_by(symbol(called.parts[1]), "tensorflow_probability."):
            return Tensor(site)
        if method == "numpy" and isinstance(number := tensors.as_number(Unknown(called.parts[1])), Tensor):
            return tensors.method(machine, number, method, site)
        if method == "numpy" and tensors.is_weight(symbol(called.parts[1])):
            host.read(machine, Tensor(site), method, site)
            return host.fetched(site, method)
        if method in training.WEIGHTS and tensors.is_layer(symbol(called.parts[1])):
            layer = Layer(site, machine.where(), "tensorflow.keras.layers.Layer")
            training.weights_used(machine, layer, method, arguments, site)
    if method == "apply_gradients":
        _applied(machine, called, arguments, site)
    model = _compiled(machine, called, method, arguments, site)
    if model is not None:
        return methods.call(machine, model, method, arguments, site)
    if method == "fit" and called.package not in _OTHER_LEARNERS:
        machine.emit(UnknownFitted(site, machine.where()))
        datasets.consumed(machine, machine.choose(arguments.get("x", 0) or NONE), "fit", site, None)
    return Unknown(("call", called, tuple(symbol_of(value) for value in arguments.all())))


def _logged(machine: Machine, owner: Symbol, method: str, arguments: Arguments, site: Site) -> None:
    """A logger prints what it is given, tensors by their values."""
    if method in _PRINTS and _is_made_by(owner, "logging.getLogger"):
        for value in arguments.all():
            tensors.read_at(machine, value, "print", site)


_PRINTS = frozenset({"critical", "error", "exception", "info", "log", "warning"})

_OF_DISTRIBUTIONS = frozenset(
    {"cdf", "cross_entropy", "entropy", "kl_divergence", "log_cdf", "log_prob", "mean", "mode", "prob", "quantile"}
    | {"sample", "stddev", "variance"}
)
"""Methods of distributions of TensorFlow Probability that give tensors."""


def _is_made_by(owner: Symbol, name: str) -> bool:
    """Whether a value is what calling a library function gave whose name begins like this."""
    called = symbol(owner.parts[1]) if owner.parts[0] == "call" else owner
    return called.parts[0] == "external" and str(called.parts[1]).startswith(name)


def _applied(machine: Machine, called: Symbol, arguments: Arguments, site: Site) -> None:
    """Something unknown applies gradients: an optimizer, if a tape of the program took them."""
    if gradients.given(machine, arguments.get("grads_and_vars", 0)):
        optimizer = machine.library_state.optimizers.setdefault(called, elsewhere.optimizer(machine, site))
        training.optimizer_method(machine, optimizer, "apply_gradients", arguments, site)


def _compiled(machine: Machine, called: Symbol, method: str, arguments: Arguments, site: Site) -> Model | None:
    """The model that something unknown is which is compiled as only Keras's are, here or before."""
    if method not in _OF_MODELS:
        return None
    owner = symbol(called.parts[1])
    given = arguments.keywords.keys()
    is_keras = method == "compile" and ("run_eagerly" in given or {"optimizer", "loss"} <= given)
    if is_keras and any(word.startswith("torch.") for value in arguments.all() for word in symbol_of(value).words):
        return None
    if is_keras and owner not in machine.library_state.models:
        machine.library_state.models[owner] = elsewhere.model(machine, site)
    return machine.library_state.models.get(owner)


_OF_MODELS = frozenset({"compile", "evaluate", "fit", "predict", "predict_on_batch", "save", "train_on_batch"})


def _last_name(name: object) -> str:
    """What a value is called, by its symbol: `logger` of `self.logger` and of a parameter."""
    last = name.parts[-1] if isinstance(name, Symbol) and name.parts[0] in ("attribute", "field", "parameter") else ""
    return last if isinstance(last, str) else ""
