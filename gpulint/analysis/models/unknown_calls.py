"""Calls of unknown values, whose symbols may identify an optimizer, a model, a logger or a parser of options."""

from __future__ import annotations

from gpulint.analysis.domain.identifiers import words
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.symbolic_patterns import is_at_index, is_iterated
from gpulint.analysis.domain.values.base import NONE, Arguments, Unknown, Value, known, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.functions import function_of
from gpulint.analysis.domain.values.objects import Layer, Model, Optimizer
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models import library_methods
from gpulint.analysis.models.python import command_line_options, dataclass_fields, host_random, loggers, threads
from gpulint.analysis.models.tensorflow import (
    api_removals,
    escape,
    foreign_objects,
    generator_sources,
    gradients,
    host_sync,
    keras_loaders,
    keras_names,
    keras_training,
    model_parts,
    object_calls,
    objects,
    tensors,
    tf_data,
    tuners,
)
from gpulint.analysis.plan.events import MOVES, FunctionHandedOver, UnknownFitted, WeightAssigned
from gpulint.knowledge import OTHER_LIBRARIES
from gpulint.places import Site

_OTHER_LEARNERS = frozenset(
    {"catboost", "category_encoders", "imblearn", "lightgbm", "rl", "scipy", "sklearn", "statsmodels", "torch", "umap"}
    | {"xgboost"}
)
"""Packages whose `fit` does not train a Keras model."""


_AUGMENTERS = frozenset({"albumentations", "imgaug"})
"""Packages whose objects transform images when they are called."""


def call_unknown(machine: Machine, function: Value, arguments: Arguments, site: Site) -> Value:
    """Result of calling a value of which only the symbol is known."""
    for value in arguments.all():
        escape.escape(machine, value, "passed", site)
        if (given := function_of(value)) is not None:
            machine.emit(FunctionHandedOver(site, machine.where(), given))
    called = symbol_of(function)
    if (made := dataclass_fields.of_named_tuple(machine, called, arguments, site)) is not None:
        return made
    method = called.parts[-1] if called.parts[0] == "attribute" else ""
    if called.package in _AUGMENTERS:
        generator_sources.record_call(machine, called.origin, site)
        keras_loaders.record_call(machine, called.origin, site)
    host_sync.pass_host_values(machine, method, arguments, site, _last_name(called.parts[1]) if method else "")
    if method == "step" and len(arguments.positional) == 1:
        host_sync.step_environment(machine, arguments, site)
    if method == "add_argument":
        command_line_options.add_option(machine, arguments)
    if method:
        api_removals.unknown_method(machine, called, method, site)
        api_removals.unknown_arguments(machine, called, method, arguments, site)
        api_removals.property_called(machine, called, site)
        tuners.run_trials_of_method(machine, symbol(called.parts[1]), method, arguments, site)
        threads.run_in_pool(machine, symbol(called.parts[1]), method, arguments, site)
        host_random.method_called(machine, symbol(called.parts[1]), method, site)
        loggers.method_called(machine, symbol(called.parts[1]), method, arguments, site)
        if method == "as_dataset" and loggers.is_made_by(symbol(called.parts[1]), "tensorflow_datasets."):
            return tf_data.source(machine, _OF_TFDS, OTHER_LIBRARIES[_OF_TFDS], arguments, site)
        if method in _OF_DISTRIBUTIONS and loggers.is_made_by(symbol(called.parts[1]), "tensorflow_probability."):
            return Tensor(site)
        if method == "numpy" and isinstance(number := tensors.as_number(Unknown(called.parts[1])), Tensor):
            return tensors.tensor_method(machine, number, method, site)
        if method == "numpy" and model_parts.is_weight(symbol(called.parts[1])):
            tensors.read_at(machine, Unknown(called.parts[1]), method, site)
            return host_sync.host_value(site, method)
        if method in keras_training.WEIGHTS and model_parts.is_layer(symbol(called.parts[1])):
            layer = Layer(site, machine.where(), "tensorflow.keras.layers.Layer")
            keras_training.weights_used(machine, layer, method, arguments, site)
    if method in ("apply", "apply_gradients"):
        _applied(machine, called, arguments, site)
    elif method in MOVES:
        _moved(machine, method, arguments, site)
    elif method == "assign" and _is_weight(symbol(called.parts[1])):
        machine.emit(WeightAssigned(site, machine.where()))
    model = machine.library_state.models.get(called)
    if model is None and method != "predict" and _is_of_keras(machine, called, arguments, site):
        model = machine.library_state.models[called] = foreign_objects.model(machine, site)
    if model is not None:
        return object_calls.call_object(machine, model, arguments, site)
    if (model := _model(machine, called, method, arguments, site)) is not None:
        return library_methods.call_library_method(machine, model, method, arguments, site)
    if (
        method == "load_weights"
        and called.package not in _OTHER_LEARNERS
        and not _is_of_other_format(machine, arguments)
    ):
        machine.library_state.models.setdefault(symbol(called.parts[1]), foreign_objects.model(machine, site))
    if method == "fit" and called.package not in _OTHER_LEARNERS:
        machine.emit(UnknownFitted(site, machine.where()))
        tf_data.consume(machine, machine.choose(arguments.get("x", 0) or NONE), "fit", site, None)
    return Unknown(("call", called, tuple(symbol_of(value) for value in arguments.all())))


_OF_TFDS = "tensorflow_datasets.load"
"""Function that returns what `as_dataset` of a builder does."""

_OF_DISTRIBUTIONS = frozenset(
    {"cdf", "cross_entropy", "entropy", "kl_divergence", "log_cdf", "log_prob", "mean", "mode", "prob", "quantile"}
    | {"sample", "stddev", "variance"}
)
"""Methods of TensorFlow Probability distributions that return tensors."""


def _is_weight(name: Symbol) -> bool:
    """Whether a symbol is an element of something that a loop iterates over, or that it indexes, and whose name says
    that it has weights."""
    if not is_iterated(name):
        if not is_at_index(name):
            return False
        name = symbol(name.parts[1])
    return any(words(one) & _WEIGHTS for one in name.words)


_WEIGHTS = frozenset({"parameters", "params", "variables", "vars", "weights"})


def _applied(machine: Machine, called: Symbol, arguments: Arguments, site: Site) -> None:
    """Treat an unknown object that applies gradients as an optimizer if a tape of the program computed them."""
    if gradients.gradients_given(machine, arguments.get("grads_and_vars", 0) or arguments.get("updates")):
        optimizer = machine.library_state.optimizers.setdefault(called, foreign_objects.optimizer(machine, site))
        keras_training.optimizer_method(machine, optimizer, "apply_gradients", arguments, site)


def _moved(machine: Machine, method: str, arguments: Arguments, site: Site) -> None:
    """Treat an unknown object to which a gradient is added as a variable."""
    given = [option for _, option in alternatives(arguments.get("value", 0) or NONE, machine.path)]
    if gradients.within(Items("list", tuple(given))):
        objects.state_updated(machine, foreign_objects.variable(machine, site), method, site, given)


def _model(machine: Machine, called: Symbol, method: str, arguments: Arguments, site: Site) -> Model | None:
    """Model that an unknown object is taken for, because it is or was used as only Keras models are: compiled with an
    optimizer and a loss, trained on a batch or with arguments of Keras's `fit`, or asked to predict for a tensor, with
    `verbose`, for what Keras has prepared, or under a name that only networks have."""
    if method not in _OF_MODELS:
        return None
    owner = symbol(called.parts[1])
    given = arguments.keywords.keys()
    is_keras = (
        method in keras_names.OF_KERAS_ALONE
        or (method == "compile" and ("run_eagerly" in given or {"optimizer", "loss"} <= given))
        or (method == "compile" and called.package not in _OTHER_LEARNERS and _is_optimizer(machine, arguments))
        or (method == "fit" and called.package not in _OTHER_LEARNERS and keras_names.is_keras_fit(given))
        or (
            method == "predict"
            and called.package not in _OTHER_LEARNERS
            and (
                "verbose" in given
                or keras_names.is_of_keras(machine, site)
                or any(map(_is_of_tensorflow, arguments.all()))
                or (_is_named_model(machine, owner) and any(map(_is_example, arguments.all())))
                or not _NETWORKS.isdisjoint(words(_last_name(owner)))
            )
        )
    )
    if is_keras and _is_of_torch(arguments):
        return None
    known = machine.library_state.models.get(owner)
    scopes = machine.context.scopes if method == "compile" else ()  # a model must be compiled where it was created
    if is_keras and (known is None or (scopes and known.where.context.scopes != scopes)):
        known = machine.library_state.models[owner] = foreign_objects.model(machine, site, scopes)
    return known


def _is_optimizer(machine: Machine, arguments: Arguments) -> bool:
    """Whether an object is compiled with an optimizer of Keras, or of a package of optimizers for Keras."""
    given = arguments.get("optimizer", 0)
    options = alternatives(given, machine.path) if given is not None else ()
    return bool(options) and all(
        isinstance(one, Optimizer) or symbol_of(one).origin.startswith(_OPTIMIZERS) for _, one in options
    )


_OPTIMIZERS = ("keras.optimizers.", "tensorflow.keras.optimizers.", "tensorflow_addons.optimizers.")


def _is_of_keras(machine: Machine, called: Symbol, arguments: Arguments, site: Site) -> bool:
    """Whether an unknown value that is called is a model which the file trains elsewhere as only Keras models are."""
    if called.package in _OTHER_LEARNERS or not keras_names.is_of_keras(machine, site):
        return False
    return not _is_of_torch(arguments)


def _is_of_other_format(machine: Machine, arguments: Arguments) -> bool:
    """Whether weights are loaded from a file of another library."""
    return any(keras_names.is_of_other_library(known(machine.choose(value))) for value in arguments.all())


def _is_of_torch(arguments: Arguments) -> bool:
    return any(word.startswith("torch.") for value in arguments.all() for word in symbol_of(value).words)


def _is_of_tensorflow(value: Value) -> bool:
    """Whether a value is a tensor, or what a function of TensorFlow or Keras returned."""
    called = symbol_of(value).parts
    return isinstance(value, Tensor) or (called[0] == "call" and symbol(called[1]).package in _TENSORFLOW)


_TENSORFLOW = frozenset({"keras", "tensorflow"})


def _is_named_model(machine: Machine, owner: Symbol) -> bool:
    """Whether a value is called a model, in a file that uses no other library with models."""
    return "model" in words(_last_name(owner)) and _OTHER_LEARNERS.isdisjoint(machine.frame.module.syntax.words)


def _is_example(value: Value) -> bool:
    """Whether a value is one example of a dataset as a batch: `np.expand_dims(image.numpy(), 0)`."""
    name = symbol_of(value).parts
    if name[0] != "call" or symbol(name[1]).parts != ("external", "numpy.expand_dims"):
        return False
    if len(name[2]) < 2 or symbol(name[2][1]).parts != ("constant", "int", 0):
        return False
    read = symbol(name[2][0]).parts
    method = symbol(read[1]).parts if read[0] == "call" else ()
    return method[:1] == ("attribute",) and method[2] == "numpy" and is_iterated(symbol(method[1]))


_NETWORKS = frozenset({"autoencoder", "decoder", "discriminator", "encoder", "gan", "generator", "vae"})
"""Words in the names of networks. No model of another library that predicts is called so."""

_OF_MODELS = keras_names.OF_KERAS_ALONE | frozenset({"compile", "evaluate", "fit", "predict", "save"})


def _last_name(name: object) -> str:
    """Last part of a value's name, from its symbol: `logger` for `self.logger` and for a parameter. "" for others."""
    last = name.parts[-1] if isinstance(name, Symbol) and name.parts[0] in ("attribute", "field", "parameter") else ""
    return last if isinstance(last, str) else ""
