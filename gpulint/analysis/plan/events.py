"""Events of a program that rules can query, in evaluation order.

Each event has a `site` (the expression that caused it) and a `where` (the scopes around it, the path, the calls that
led to it). One site can cause several events: one per caller, and one per outcome of a condition.

Events are equal only to themselves. Their classes have no generated methods but the constructor: creating the others
for every class would take a fifth of the time that a short run takes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from gpulint.analysis.domain.context import DeviceScope, Loop, Object, Strategy, Where
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.values.base import Arguments, Value
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.domain.values.functions import Function
from gpulint.analysis.domain.values.objects import Layer, Metric, Model, Optimizer, Tape, Variable
from gpulint.analysis.domain.values.tensors import PerReplica, Tensor
from gpulint.knowledge.devices import DeviceName
from gpulint.places import Site


@dataclass(eq=False, repr=False)
class Event:
    """Something that happens at `site`."""

    site: Site
    where: Where

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{one.name}={getattr(self, one.name)!r}' for one in fields(self))})"


# ------------------------------------------------------------------------------- devices


@dataclass(eq=False, repr=False)
class DeviceEntered(Event):
    """`with tf.device(argument):`. `scope.device` is None if the name is unknown or None."""

    argument: Value
    scope: DeviceScope


@dataclass(eq=False, repr=False)
class DeviceNamed(Event):
    """A device name that TensorFlow will parse: an argument of `tf.device`, `DeviceSpec` or a strategy.

    The site is that of the literal if there is one; `call` is the call that takes it. `device` is None if the text is
    malformed. `consumer` is the canonical name of the callee. `gpus` is the number of logical GPUs that the program's
    own configuration leaves, or None if it does not say.
    """

    text: str
    device: DeviceName | None
    consumer: str
    call: Site
    gpus: int | None


@dataclass(eq=False, repr=False)
class PhysicalNumberNamed(Event):
    """A device name is built with the number by which the visible GPUs are taken from the list of physical ones. The
    visible ones are numbered from 0. `text` is the name; `chosen` is where they are made visible."""

    text: str
    chosen: Site


@dataclass(eq=False, repr=False)
class OpCalled(Event):
    """A tensor op is called. `name` is its canonical name (`operator.add` for `+`, …). `inputs` are flattened one
    level: a list argument counts as its elements. `result` is the output tensor."""

    name: str
    inputs: tuple[Value, ...]
    result: Tensor
    dtype: str | None


# ----------------------------------------------------------------------------- strategies


@dataclass(eq=False, repr=False)
class StrategyBuilt(Event):
    """A strategy is created. `state` and `since` describe the runtime before, as in `RuntimeConfigured`."""

    strategy: Strategy
    arguments: Arguments
    state: str = "unknown"
    since: Site | None = None


@dataclass(eq=False, repr=False)
class StrategyUsed(Event):
    """A strategy is used. `how`: "scope", "entered", "run", "reduce", "distribute", "passed", "returned", "stored",
    "set" or "attribute" (any other attribute is read)."""

    strategy: Strategy
    how: str


@dataclass(eq=False, repr=False)
class ScopeMade(Event):
    """`strategy.scope()` is called."""

    strategy: Strategy


@dataclass(eq=False, repr=False)
class ScopeEntered(Event):
    """A scope is entered. `made` is the `.scope()` call. `escaped`: it is passed to code that may enter it."""

    strategy: Strategy
    made: Site
    escaped: bool


@dataclass(eq=False, repr=False)
class ScopeDropped(Event):
    """A call returns a scope that no code has entered, and its result is not used. `made` is the `.scope()` call."""

    strategy: Strategy
    made: Site


@dataclass(eq=False, repr=False)
class StrategyRun(Event):
    """`strategy.run(function, args)`. `arguments` are the elements of `args` and `kwargs`, or the batch passed as all
    of `args` (`args=next(iterator)`)."""

    strategy: Strategy
    function: Value
    arguments: tuple[Value, ...]
    argument_sites: tuple[Site, ...]


@dataclass(eq=False, repr=False)
class FunctionEntered(Event):
    """A function of the program is called, other than through `strategy.run`."""

    function: Function
    arguments: tuple[Value, ...]


@dataclass(eq=False, repr=False)
class FunctionHandedOver(Event):
    """A function of the program is passed to unknown code, which may call it."""

    function: Function


@dataclass(eq=False, repr=False)
class Reduction(Event):
    """`strategy.reduce(op, value)` or `replica_context.all_reduce(op, value)`."""

    strategy: Strategy | None
    operation: str
    value: Value


@dataclass(eq=False, repr=False)
class ReplicaValueRead(Event):
    """A per-replica value is used as if it were one tensor. `how`: "float", "int", "arithmetic", "op", "numpy",
    "metric", "assign", "print", "format", "bool" or "compare"."""

    value: PerReplica
    how: str


# ------------------------------------------------------------------------------ training


@dataclass(eq=False, repr=False)
class TensorRead(Event):
    """Eager code in a loop reads the content of a tensor, so that the host waits for it.

    `how` is "float", "int", "bool", "numpy" (the method), "array" (a NumPy function), "math" (a function of `math`),
    "min", "max", "sorted" (Python's functions), "print", "format" or "weights" (all weights of a model or layer). Under
    an unknown decorator, only those kinds are reported that raise an exception in traced code."""

    tensor: Tensor
    how: str


@dataclass(eq=False, repr=False)
class HostValueUsed(Event):
    """A value that the host read from tensors (at `reads`) is used by the host for more than logging: by a call of a
    function or method named `by`, or as the index `index` (`by` is "")."""

    reads: tuple[Site, ...]
    by: str
    index: Symbol | None = None


@dataclass(eq=False, repr=False)
class TensorKept(Event):
    """In a loop, a tensor is added to a container that was created outside all loops."""

    container: Items | Mapping
    tensor: Tensor


@dataclass(eq=False, repr=False)
class ContainerCleared(Event):
    """A list loses elements, or a variable, attribute or key that held a list or dict is overwritten."""

    container: Items | Mapping


@dataclass(eq=False, repr=False)
class ModelKept(Event):
    """In a loop, a model is added to a container."""

    model: Model


@dataclass(eq=False, repr=False)
class LibraryCalled(Event):
    """A library function that configures, saves or watches something (`knowledge.WATCHED`) is called. `name` is its
    canonical name.

    A method of a tracked library object (`knowledge.OBJECTS`) has the name `class.method` and the object as `receiver`.
    `is_private`: it belongs to TensorFlow's private copy of Keras 2.
    """

    name: str
    arguments: Arguments
    receiver: Object | None = None
    is_private: bool = False


@dataclass(eq=False, repr=False)
class HostRandomDrawn(Event):
    """A traced function draws a random number with Python's or NumPy's generator `name`: once, when it is traced."""

    name: str


@dataclass(eq=False, repr=False)
class PersonAwaited(Event):
    """In a loop, the program waits for a person: it shows a window until that is closed, or reads a line or a key."""


@dataclass(eq=False, repr=False)
class RemovedNameUsed(Event):
    """A public name is used that was removed in TensorFlow `since`. `replacement` is its present name.

    `of_object`: it is a method of an object of a library class. `of_library`: that class is the library's own, not one
    that the program derives from it.
    """

    name: str
    since: str
    replacement: str | None
    of_object: bool = False
    of_library: bool = False


@dataclass(eq=False, repr=False)
class ImportFailed(Event):
    """An import statement asks for a `name` that the project's `module` does not have. `file` is the path of the
    module."""

    module: str
    name: str
    file: str


# ------------------------------------------------------------------------------- models


@dataclass(eq=False, repr=False)
class ModelBuilt(Event):
    """A model is created. `parts` are the models that it is created from, as layers."""

    model: Model
    parts: tuple[Model, ...] = ()


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


# ------------------------------------------------------------------------------- data


@dataclass(eq=False, repr=False)
class DatasetBatched(Event):
    dataset: Dataset
    size: Value


@dataclass(eq=False, repr=False)
class SampleRead(Event):
    """Python calls a library function that reads a file or transforms an image, on the host. `name` is its canonical
    name."""

    name: str


@dataclass(eq=False, repr=False)
class DatasetConsumed(Event):
    """A finished pipeline is read. `how`: "fit", "evaluate" (also validation and prediction), "loop" (over which `loop`
    iterates), "next" or "elsewhere" (returned by a function that the program itself never calls)."""

    dataset: Dataset
    how: str
    loop: Site | None


@dataclass(eq=False, repr=False)
class TransformationDropped(Event):
    """The result of a dataset's method is not used. `name` is that of the method."""

    name: str


@dataclass(eq=False, repr=False)
class DatasetDistributed(Event):
    """A dataset is distributed. `how`: "experimental_distribute_dataset", "distribute_datasets_from_function" and so
    on."""

    strategy: Strategy
    dataset: Value
    how: str


@dataclass(eq=False, repr=False)
class GlobalSizeUsed(Event):
    """A size is treated as the size of the global batch: divided by the number of replicas, or passed as
    `global_batch_size` (`averages`)."""

    size: Value
    averages: bool = False


@dataclass(eq=False, repr=False)
class LoopEntered(Event):
    loop: Loop


# -------------------------------------------------------------------------------- runtime


@dataclass(eq=False, repr=False)
class RuntimeConfigured(Event):
    """A call that must precede the runtime's initialisation.

    `what` is a name of the knowledge table. `state` describes the runtime at that moment: "no", "driver", "maybe",
    "yes" or "unknown"; `since` is the site that initialised it. `against` is an earlier call that enabled memory growth
    on a GPU for which this one sets a limit, or vice versa. `repeats`: the same setting may already be in force. `gpus`
    is the number of logical GPUs before this call, as in `DeviceNamed`.
    """

    what: str
    arguments: Arguments
    device: Value | None
    state: str
    since: Site | None
    against: Site | None
    repeats: bool
    gpus: int | None


@dataclass(eq=False, repr=False)
class RuntimeInitialised(Event):
    """The first call that initialises the runtime (`state` "yes") or queries the driver ("driver", "maybe")."""

    state: str


@dataclass(eq=False, repr=False)
class ProcessStarted(Event):
    """`multiprocessing` or a pool of processes runs a function of the program in another process.

    `state` and `since` are as in `RuntimeConfigured`. `computes`: the function calls a model or a `tf.function`, or
    trains.
    """

    state: str
    since: Site | None
    computes: bool


@dataclass(eq=False, repr=False)
class EnvironmentSet(Event):
    """`os.environ[key] = value`, in any spelling.

    `state` and `since` are as in `RuntimeConfigured`. `option` is the type of a command-line option if the value is one
    that is a number. `repeats`: the variable already has this value.
    """

    key: str | None
    value: Value
    state: str
    since: Site | None
    option: str | None = None
    repeats: bool = False
