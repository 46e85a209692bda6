"""Methods of Keras models and optimizers, and of `tf.GradientTape`."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from gpulint.analysis.domain.completion import PathEnds
from gpulint.analysis.domain.context import Replica
from gpulint.analysis.domain.symbolic_patterns import ONE_EXAMPLE, is_single
from gpulint.analysis.domain.traversal import leaves_on
from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, Unknown, Value, known, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.domain.values.functions import Bound, Function, Partial, Traced
from gpulint.analysis.domain.values.object_facts import ObjectFact
from gpulint.analysis.domain.values.objects import Layer, Loss, Model, Optimizer, Tape
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow import (
    api_removals,
    device_runtime,
    dtype_policy,
    escape,
    gradients,
    host_sync,
    keras_callbacks,
    keras_loaders,
    objects,
    tensors,
    tf_data,
)
from gpulint.analysis.models.tensorflow.model_parts import is_of_weights
from gpulint.analysis.plan import events
from gpulint.knowledge import method_params
from gpulint.knowledge.facts import Fact, Kind
from gpulint.places import Site

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
"""Model methods that compute the compiled loss, with their parameters. `compiled_loss` is Keras 2's."""

WEIGHTS = frozenset({"get_weights", "set_weights", "save", "save_weights", "load_weights"})
"""Methods of models and layers that read or write all their weights."""


def weights_used(machine: Machine, owner: Model | Layer, name: str, arguments: Arguments, site: Site) -> None:
    """Emit `WeightsUsed` for `owner.name(…)`, where `name` is one of `WEIGHTS`.

    A Keras callback that gets the weights reads them. Other loops pass them on more often than not.
    """
    given = arguments.all() if name == "set_weights" else ()
    new = [symbol_of(one) for value in given for one in leaves_on(machine.path, value)]
    are_got, are_computed = any("get_weights" in one.words for one in new), any(map(is_of_weights, new))
    machine.emit(events.WeightsUsed(site, machine.where(), owner, name, arguments, are_got, are_computed))
    if name == "get_weights" and any(loop.is_batches for loop in machine.context.loops):
        host_sync.read_tensor(machine, Tensor(site), "weights", site)


def model_method(machine: Machine, model: Model, name: str, arguments: Arguments, site: Site) -> Value:
    """Result of `model.name(…)` where the method is Keras's own."""
    api_removals.arguments(machine, model, f"tensorflow.keras.Model.{name}", arguments, site)
    if name == "compile":
        return _compile(machine, model, arguments, site)
    if name in _FITS:
        return _fit(machine, model, arguments, site)
    if name in _USES:
        device_runtime.initialise(machine, "yes", site)
        objects.model_used(machine, model, _USES[name], arguments, site)
        if name in ("predict", "evaluate"):
            tf_data.consume(machine, machine.choose(arguments.get("x", 0) or NONE), "evaluate", site, None)
        if _USES[name] == "call":
            return tensors.derived(machine, site, arguments.all())
        given = leaves_on(machine.path, arguments.get("x", 0) or NONE)
        return Unknown(("used", site, *((ONE_EXAMPLE,) if name == "predict" and any(map(is_single, given)) else ())))
    if name in _LOSSES:
        predicted = arguments.of("y_pred", _LOSSES[name])
        dtype_policy.in_loss(machine, [predicted] if predicted is not None else [], site)
        return tensors.derived(machine, site, arguments.all())
    if name in WEIGHTS:
        weights_used(machine, model, name, arguments, site)
    elif name == "add" and arguments.positional:
        layer = machine.choose(arguments.positional[0])
        dtype_policy.added(machine, model, layer)
        if objects.has_shape(layer):
            objects.variables_built(machine, model)
    elif name == "add_weight":
        objects.variables_built(machine, model)
    elif name == "build":
        objects.variables_built(machine, model, is_known=model.cls is None)
    elif name == "get_layer":
        layer = Layer(model.site, model.where, "tensorflow.keras.layers.Layer")
        layer.is_private = model.is_private
        layer.facts[ObjectFact.MODEL] = model
        return layer
    for value in arguments.all():
        escape.escape(machine, value, "passed", site)
    return Unknown(("call", ("attribute", model.symbol, name), site))


def _compile(machine: Machine, model: Model, arguments: Arguments, site: Site) -> Value:
    machine.emit(events.ModelCompiled(site, machine.where(), model, arguments))
    device_runtime.initialise(machine, "yes", site)
    optimizer = arguments.of("optimizer", method_params(Kind.MODEL, "compile") or ("optimizer",))
    machine.state.write(model.facts, ObjectFact.COMPILED, Constant(site))
    loss = arguments.of("loss", method_params(Kind.MODEL, "compile"))
    if loss is None and arguments.open:
        loss = Unknown(("loss", site))
    machine.state.write(model.facts, ObjectFact.LOSS, loss or NONE)
    _try_losses(machine, model, loss, site)
    if optimizer is not None:
        machine.state.write(model.facts, ObjectFact.OPTIMIZER, optimizer)
    return NONE


def _try_losses(machine: Machine, model: Model, losses: Value | None, site: Site) -> None:
    """Call the program's own losses as `fit` does, if their gradients are summed over replicas."""
    strategy = model.where.context.strategy
    if strategy is None or not strategy.is_multi_replica:
        return
    for loss in leaves_on(machine.path, losses or NONE):
        function: Value | None = loss if isinstance(loss, (Function, Partial, Bound)) else None
        if isinstance(loss, Loss) and loss.cls is not None and (found := loss.cls.find("call")) is not None:
            function = Bound(loss, found[0])
        if function is not None:
            given = Arguments((Tensor(site), Tensor(site)))
            with machine.within(machine.context._replace(traced=site, loops=())), suppress(PathEnds):
                result = machine.call(function, given, site)
                machine.emit(events.LossCompiled(site, machine.where(), model, strategy, result))


def _fit(machine: Machine, model: Model, arguments: Arguments, site: Site) -> Value:
    device_runtime.initialise(machine, "yes", site)
    if isinstance(optimizer := model.facts.get(ObjectFact.OPTIMIZER), Optimizer):
        objects.optimizer_built(machine, optimizer)
    data = machine.choose(arguments.of("x", _FIT_PARAMS) or arguments.get("generator") or NONE)
    size = arguments.of("batch_size", _FIT_PARAMS)
    keras_callbacks.call_callbacks(machine, model, arguments, site)
    machine.emit(events.ModelFitted(site, machine.where(), model, data, size, arguments))
    keras_loaders.prepare_batch(machine, data, site)
    tf_data.consume(machine, data, "fit", site, None)
    if (validation := arguments.get("validation_data")) is not None:
        tf_data.consume(machine, machine.choose(validation), "evaluate", site, None)
    if model.cls is None:
        dtype_policy.fitted(machine, model, site)
    if model.cls is not None and (step := model.cls.find("train_step") or model.cls.find("call")) is not None:
        _train_step(machine, model, step[0], data, site)
    return Unknown(("history", site))


def _train_step(machine: Machine, model: Model, step: Value, data: Value, site: Site) -> None:
    """Trace `train_step`, or Keras's own step around `call`, under the strategy that the model was created in."""
    strategy = model.where.context.strategy
    here = machine.context
    replica = Replica(site, strategy) if strategy is not None and strategy.is_multi_replica else here.replica
    element = data.element if isinstance(data, Dataset) and data.element is not None else Tensor(site)
    with machine.within(here._replace(traced=site, replica=replica, loops=())):
        result = machine.call_method(model, step, Arguments((element,)), site)
        if step is not None and model.cls is not None and model.cls.find("train_step") is None:
            machine.state.write(model.facts, ObjectFact.OUTPUTS, machine.choose(result))
            dtype_policy.fitted(machine, model, site)


def optimizer_method(machine: Machine, optimizer: Optimizer, name: str, arguments: Arguments, site: Site) -> Value:
    """Result of `optimizer.name(…)`."""
    if name in ("apply_gradients", "apply"):
        skipped = arguments.get("experimental_aggregate_gradients") or arguments.get("skip_gradients_aggregation")
        aggregated = skipped is None
        given = arguments.get("grads_and_vars", 0) or arguments.get("grads", 0)
        found, sums = gradients.gradients_given(machine, given), gradients.accumulators_in(given)
        if found and not gradients.within(given):
            made_of = tuple(leaves_on(machine.path, given or NONE))
            machine.emit(
                events.OpCalled(site, machine.where(), "tensorflow.convert_to_tensor", made_of, found[0], None)
            )
        creates = objects.is_unbuilt(optimizer)
        machine.emit(events.GradientsApplied(site, machine.where(), optimizer, found, not aggregated, sums, creates))
        objects.optimizer_built(machine, optimizer)
        return NONE
    if name == "minimize":
        return _minimize(machine, optimizer, arguments, site)
    if name in ("build", "load_own_variables", "set_weights"):
        objects.optimizer_built(machine, optimizer)
    if name in ("compute_gradients", "_compute_gradients"):
        gradient = gradients.within(_computed(machine, arguments, site))
        pair = Items("tuple", (*gradient[:1], Unknown(("variable", site))))
        return Items("list", None, pair, ("gradients and variables", site))
    if name == "get_gradients":
        loss = machine.choose(arguments.get("loss", 0) or NONE)
        return gradients.take(machine, loss, arguments.get("params", 1), site)
    if name in ("get_scaled_loss", "scale_loss", "get_unscaled_gradients") and arguments.positional:
        given = arguments.positional[0]
        return given if name == "get_unscaled_gradients" else machine.each(given, partial(_scaled, site), site)
    return Unknown(("call", ("attribute", optimizer.symbol, name), site))


def _scaled(site: Site, loss: Value) -> Value:
    """Loss multiplied by a loss scale."""
    if not isinstance(loss, Tensor):
        return Unknown(("scaled", symbol_of(loss)))
    return Tensor(site, loss.device, loss.dtype, loss.reduced, loss.gradient, loss.scope, scaled=True)


def _minimize(machine: Machine, optimizer: Optimizer, arguments: Arguments, site: Site) -> Value:
    gradient = _computed(machine, arguments, site)
    found, creates = gradients.within(gradient), objects.is_unbuilt(optimizer)
    machine.emit(events.GradientsApplied(site, machine.where(), optimizer, found, False, creates=creates))
    objects.optimizer_built(machine, optimizer)
    return NONE


def _computed(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Gradients that an optimizer takes of a loss: with the program's tape, or its own if the loss is a function."""
    loss = machine.choose(arguments.get("loss", 0) or NONE)
    tape = next((one for one in map(machine.choose, arguments.all()) if isinstance(one, Tape)), None)
    if isinstance(loss, (Function, Traced, Bound)):
        tape = Tape(site, machine.where(), False)
        loss = machine.choose(machine.call(loss, Arguments(), site))
    return gradients.take(machine, loss, arguments.get("var_list", 1), site, tape)


def tape_method(machine: Machine, tape: Tape, name: str, arguments: Arguments, site: Site) -> Value:
    """Result of `tape.name(…)`. An `output_gradients` argument is converted to tensors."""
    if name in gradients.METHODS:
        loss = machine.choose(arguments.get("target", 0) or NONE)
        if name == "gradient" and (given := arguments.get("output_gradients", 2)) is not None:
            tensors.call_op(machine, "tensorflow.convert_to_tensor", Fact(Kind.OP), Arguments((given,), {}), site)
        if known(arguments.get("experimental_use_pfor")) is False:  # gradients are taken one by one (run on 2.21)
            tape.is_persistent = False
        if machine.frame.caller != tape.where.caller:  # a function that has the tape may be called again
            tape.is_persistent = False
        return gradients.take(machine, loss, arguments.get("sources", 1), site, tape)
    if name in ("watch", "reset", "stop_recording"):
        return NONE
    return Unknown(("call", ("attribute", tape.symbol, name), site))
