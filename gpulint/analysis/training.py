"""Methods of Keras models, optimizers and of `tf.GradientTape`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gpulint.analysis import (
    callbacks,
    calls,
    datasets,
    events,
    gradients,
    members,
    precision,
    removed,
    runtime,
    tensors,
)
from gpulint.analysis.contexts import Replica
from gpulint.analysis.nesting import leaves_on
from gpulint.analysis.values import (
    NONE,
    Arguments,
    Bound,
    Constant,
    Dataset,
    Function,
    Layer,
    Model,
    Optimizer,
    Tape,
    Tensor,
    Traced,
    Unknown,
    Value,
    known,
    symbol_of,
)
from gpulint.knowledge import method_params
from gpulint.knowledge.facts import Fact, Kind
from gpulint.places import Site

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter

_FIT_PARAMS = ("x", "y", "batch_size", "epochs")
_FITS = frozenset({"fit", "fit_generator"})
_USES = {
    "predict": "predict",
    "predict_on_batch": "predict_on_batch",
    "predict_step": "predict_on_batch",
    "evaluate": "evaluate",
    "test_on_batch": "test_on_batch",
    "train_on_batch": "train_on_batch",
    "__call__": "call",
    "call": "call",
}

_LOSSES = {
    "compute_loss": ("x", "y", "y_pred", "sample_weight"),
    "compiled_loss": ("y_true", "y_pred", "sample_weight"),
}
"""Methods of models that compute the loss that they were compiled with; the second is Keras 2's."""

WEIGHTS = frozenset({"get_weights", "set_weights", "save", "save_weights", "load_weights"})
"""Methods of models and layers that read or write all their weights."""


def weights_used(interp: Interpreter, owner: Model | Layer, name: str, arguments: Arguments, site: Site) -> None:
    """`owner.name(…)`, one of `WEIGHTS`."""
    are_got = name == "set_weights" and any(
        "get_weights" in symbol_of(one).words for value in arguments.all() for one in leaves_on(interp.path, value)
    )
    interp.emit(events.WeightsUsed(site, interp.where(), owner, name, arguments, are_got))


def model_method(interp: Interpreter, model: Model, name: str, arguments: Arguments, site: Site) -> Value:
    """`model.name(…)` where the method is Keras's own."""
    removed.arguments(interp, model, f"tensorflow.keras.Model.{name}", arguments, site)
    if name == "compile":
        return _compile(interp, model, arguments, site)
    if name in _FITS:
        return _fit(interp, model, arguments, site)
    if name in _USES:
        runtime.initialised(interp, "yes", site)
        members.called(interp, model, _USES[name], arguments, site)
        if name in ("predict", "evaluate"):
            datasets.consumed(interp, interp.choose(arguments.get("x", 0) or NONE), "evaluate", site, None)
        return tensors.derived(interp, site, arguments.all()) if _USES[name] == "call" else Unknown(("used", site))
    if name in _LOSSES:
        predicted = arguments.of("y_pred", _LOSSES[name])
        precision.in_loss(interp, [predicted] if predicted is not None else [], site)
        return tensors.derived(interp, site, arguments.all())
    if name in WEIGHTS:
        weights_used(interp, model, name, arguments, site)
    elif name == "add" and arguments.positional:
        layer = interp.choose(arguments.positional[0])
        precision.added(interp, model, layer)
        if members.has_shape(layer):
            members.built(interp, model)
    elif name == "add_weight":
        members.built(interp, model)
    elif name == "build":
        members.built(interp, model, is_known=model.cls is None)
    elif name == "get_layer":
        layer = Layer(model.site, model.where, "tensorflow.keras.layers.Layer")
        layer.is_private = model.is_private
        layer.attributes[members.OF_MODEL] = model
        return layer
    for value in arguments.all():
        members.escaped(interp, value, "passed", site)
    return Unknown(("call", ("attribute", model.symbol, name), site))


def _compile(interp: Interpreter, model: Model, arguments: Arguments, site: Site) -> Value:
    interp.emit(events.ModelCompiled(site, interp.where(), model, arguments))
    runtime.initialised(interp, "yes", site)
    optimizer = arguments.of("optimizer", method_params(Kind.MODEL, "compile") or ("optimizer",))
    interp.state.write(model.attributes, ".compiled", Constant(site))
    loss = arguments.of("loss", method_params(Kind.MODEL, "compile"))
    if loss is None and arguments.open:
        loss = Unknown(("loss", site))
    interp.state.write(model.attributes, precision.LOSS, loss or NONE)
    if optimizer is not None:
        interp.state.write(model.attributes, ".optimizer", optimizer)
    return NONE


def _fit(interp: Interpreter, model: Model, arguments: Arguments, site: Site) -> Value:
    runtime.initialised(interp, "yes", site)
    data = interp.choose(arguments.of("x", _FIT_PARAMS) or arguments.get("generator") or NONE)
    size = arguments.of("batch_size", _FIT_PARAMS)
    callbacks.fitted(interp, model, arguments, site)
    interp.emit(events.ModelFitted(site, interp.where(), model, data, size, arguments))
    datasets.consumed(interp, data, "fit", site, None)
    if (validation := arguments.get("validation_data")) is not None:
        datasets.consumed(interp, interp.choose(validation), "evaluate", site, None)
    if model.cls is None:
        precision.fitted(interp, model, site)
    if model.cls is not None and (step := model.cls.find("train_step") or model.cls.find("call")) is not None:
        _train_step(interp, model, step[0], data, site)
    return Unknown(("history", site))


def _train_step(interp: Interpreter, model: Model, step: Value, data: Value, site: Site) -> None:
    """Keras traces `train_step`, or its own around `call`, under the strategy that the model was made in."""
    strategy = model.where.context.strategy
    here = interp.context
    replica = Replica(site, strategy) if strategy is not None and strategy.is_multi_replica else here.replica
    element = data.element if isinstance(data, Dataset) and data.element is not None else Tensor(site)
    with interp.within(here._replace(traced=site, replica=replica, loops=())):
        result = calls.call_method(interp, model, step, Arguments((element,)), site)
        if step is not None and model.cls is not None and model.cls.find("train_step") is None:
            interp.state.write(model.attributes, precision.OUTPUTS, interp.choose(result))
            precision.fitted(interp, model, site)


def optimizer_method(interp: Interpreter, optimizer: Optimizer, name: str, arguments: Arguments, site: Site) -> Value:
    """`optimizer.name(…)`."""
    if name in ("apply_gradients", "apply"):
        skipped = arguments.get("experimental_aggregate_gradients") or arguments.get("skip_gradients_aggregation")
        aggregated = skipped is None
        given = arguments.get("grads_and_vars", 0) or arguments.get("grads", 0)
        found, sums = gradients.given(interp, given), gradients.accumulators_in(given)
        if found and not gradients.within(given):
            made_of = tuple(leaves_on(interp.path, given or NONE))
            interp.emit(events.OpCalled(site, interp.where(), "tensorflow.convert_to_tensor", made_of, found[0], None))
        interp.emit(events.GradientsApplied(site, interp.where(), optimizer, found, not aggregated, sums))
        return NONE
    if name == "minimize":
        return _minimize(interp, optimizer, arguments, site)
    if name in ("get_scaled_loss", "scale_loss", "get_unscaled_gradients") and arguments.positional:
        given = arguments.positional[0]
        return given if name == "get_unscaled_gradients" else interp.each(given, partial(_scaled, site), site)
    return Unknown(("call", ("attribute", optimizer.symbol, name), site))


def _scaled(site: Site, loss: Value) -> Value:
    """A loss that a loss scale was put on."""
    if not isinstance(loss, Tensor):
        return Unknown(("scaled", symbol_of(loss)))
    return Tensor(site, loss.device, loss.dtype, loss.reduced, loss.gradient, loss.scope, scaled=True)


def _minimize(interp: Interpreter, optimizer: Optimizer, arguments: Arguments, site: Site) -> Value:
    loss = interp.choose(arguments.get("loss", 0) or NONE)
    if isinstance(loss, (Function, Traced, Bound)):
        loss = interp.choose(interp.call(loss, Arguments(), site))
    gradient = gradients.taken(interp, loss, arguments.get("var_list", 1), site)
    interp.emit(events.GradientsApplied(site, interp.where(), optimizer, gradients.within(gradient), False))
    return NONE


def tape_method(interp: Interpreter, tape: Tape, name: str, arguments: Arguments, site: Site) -> Value:
    """`tape.name(…)`. It makes tensors of what it is given as `output_gradients`."""
    if name in gradients.METHODS:
        loss = interp.choose(arguments.get("target", 0) or NONE)
        if name == "gradient" and (given := arguments.get("output_gradients", 2)) is not None:
            tensors.op(interp, "tensorflow.convert_to_tensor", Fact(Kind.OP), Arguments((given,), {}), site)
        if known(arguments.get("experimental_use_pfor")) is False:  # takes one gradient after the other (run on 2.21)
            tape.is_persistent = False
        if interp.frame.caller != tape.where.caller:  # a function that has the tape may be called again
            tape.is_persistent = False
        return gradients.taken(interp, loss, arguments.get("sources", 1), site, tape)
    if name in ("watch", "reset", "stop_recording"):
        return NONE
    return Unknown(("call", ("attribute", tape.symbol, name), site))
