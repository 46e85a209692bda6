"""Models, layers, optimizers, gradients and `tf.function`."""

from __future__ import annotations

from dataclasses import dataclass

from gpulint.analysis.domain.context import Object, Strategy
from gpulint.analysis.domain.values.base import Arguments, Value
from gpulint.analysis.domain.values.objects import Layer, Metric, Model, Optimizer, Tape, Variable
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.plan.events.base import Event
from gpulint.places import Site


@dataclass(eq=False, repr=False)
class ModelBuilt(Event):
    """A model is created. `parts` are the models that it is created from, as layers; `arguments` are those of a library
    function that builds a whole network."""

    model: Model
    parts: tuple[Model, ...] = ()
    arguments: Arguments | None = None


@dataclass(eq=False, repr=False)
class LayerBuilt(Event):
    layer: Layer
    arguments: Arguments


@dataclass(eq=False, repr=False)
class OptimizerBuilt(Event):
    optimizer: Optimizer


@dataclass(eq=False, repr=False)
class VariableBuilt(Event):
    """`tf.Variable(…)`."""

    variable: Variable
    arguments: Arguments


@dataclass(eq=False, repr=False)
class MetricBuilt(Event):
    metric: Metric


@dataclass(eq=False, repr=False)
class ModelCompiled(Event):
    model: Model
    arguments: Arguments


@dataclass(eq=False, repr=False)
class LossCompiled(Event):
    """A model under a strategy with several replicas is compiled with a loss of the program that returns `result`."""

    model: Model
    strategy: Strategy
    result: Value


@dataclass(eq=False, repr=False)
class EagerModeSet(Event):
    """`model.run_eagerly = value`."""

    model: Model
    value: Value


@dataclass(eq=False, repr=False)
class AttributeSet(Event):
    """An attribute of an optimizer is set, or one of a layer or model to a variable or a list of variables."""

    owner: Object
    name: str
    value: Value


@dataclass(eq=False, repr=False)
class OutputTrained(Event):
    """The output of a layer, or its softmax or sigmoid, is part of a loss: as an output of a model that is fitted, or
    in the program's own loss. `through` are the layers behind it that only reshape it."""

    layer: Layer
    through: tuple[Layer, ...] = ()


@dataclass(eq=False, repr=False)
class ModelFitted(Event):
    """`model.fit(…)`. `data` is its first argument; `batch_size` is the argument as passed."""

    model: Model
    data: Value | None
    batch_size: Value | None
    arguments: Arguments


@dataclass(eq=False, repr=False)
class UnknownFitted(Event):
    """`fit` is called on an unknown object, which may be a model."""


@dataclass(eq=False, repr=False)
class ModelCalled(Event):
    """A model is called on data, or its variables are read.

    `how`: "call", "predict", "evaluate", "predict_on_batch", "test_on_batch", "variables" or "train_on_batch". `built`
    describes its variables: "no" if it has none yet, "outside" if they were created with no strategy in force, "" if
    neither is known.
    """

    model: Model
    how: str
    arguments: Arguments
    built: str = ""


@dataclass(eq=False, repr=False)
class NetworkCalled(Event):
    """A layer of the program that consists of several layers is called, perhaps as a network of its own."""

    model: Layer
    arguments: Arguments


@dataclass(eq=False, repr=False)
class WeightsUsed(Event):
    """The weights of a model or layer are read, set, saved or loaded as a whole. `how`: "get_weights", "set_weights",
    "save", "save_weights", "load_weights" or "clone_model". `are_got`: the new weights are computed from the result of
    `get_weights`. `are_computed`: they are computed from the variables of a model."""

    owner: Model | Layer
    how: str
    arguments: Arguments
    are_got: bool = False
    are_computed: bool = False


@dataclass(eq=False, repr=False)
class WeightAssigned(Event):
    """`assign` is called on an unknown element of the weights that a loop iterates over."""


MOVES = frozenset({"assign_add", "assign_sub", "scatter_add", "scatter_sub"})
"""Methods that change a variable by the amount passed."""


@dataclass(eq=False, repr=False)
class StateUpdated(Event):
    """A variable or metric is updated by `method`: `assign`, `assign_add`, `update_state` and so on.

    `gradient` is the gradient passed for a variable, if it is one. `by_number`: the argument is a number spelled out in
    the program, and the update is
    in eager code or unconditional in its function.
    """

    target: Variable | Metric
    method: str
    gradient: Tensor | None = None
    by_number: bool = False

    @property
    def is_move(self) -> bool:
        """Whether the update adds a gradient to a variable, or subtracts it, also by `w.assign(w - rate * g)`."""
        given = self.gradient.gradient if self.gradient is not None else None
        if given is None:
            return False
        return self.method in MOVES or (self.method == "assign" and not given.accumulated and not given.summands)


@dataclass(eq=False, repr=False)
class GradientTaken(Event):
    """A gradient is computed.

    `policy` is the global dtype policy in force. `written`: for a persistent tape, the sites in this function that take
    a gradient of a tape of that name, on any path. `is_of_moved`: the gradient is with respect to something that an
    earlier iteration's gradient was added to, such as an image being optimised. `by` is what it is taken with respect
    to.
    """

    loss: Value
    result: Value
    tape: Tape | None
    policy: Value
    written: tuple[Site, ...] = ()
    is_of_moved: bool = False
    by: Value | None = None


@dataclass(eq=False, repr=False)
class GradientsApplied(Event):
    """`optimizer.apply_gradients(…)`, `.apply(…)` or `.minimize(…)`.

    `gradients` are the known gradient tensors. `reduced_already`: aggregation over replicas is switched off.
    `accumulators` are the variables whose values are applied as gradients. `creates`: the optimizer has not been built,
    so that this call creates its variables.
    """

    optimizer: Object
    gradients: tuple[Tensor, ...]
    reduced_already: bool
    accumulators: tuple[Variable, ...] = ()
    creates: bool = False


@dataclass(eq=False, repr=False)
class FunctionTraced(Event):
    """`tf.function` is applied. `jit` is its `jit_compile` argument."""

    function: Value
    jit: Value


@dataclass(eq=False, repr=False)
class TracedCalled(Event):
    """A `tf.function` is called from outside any other one."""

    function: Value
    jit: Value
    wrapped_at: Site
    arguments: Arguments
    has_signature: bool
