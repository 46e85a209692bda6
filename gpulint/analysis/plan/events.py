"""What happens in a program that the rules can ask about, in evaluation order.

Each event has a `site` (the expression that did it) and a `where` (the scopes around it, the path, the way it
was reached). One place can give several events: for each caller, and for each way a condition can go.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpulint.analysis.domain.context import DeviceScope, Loop, Object, Strategy, Where
from gpulint.analysis.domain.values.base import Arguments, Value
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.domain.values.functions import Function
from gpulint.analysis.domain.values.objects import Layer, Metric, Model, Optimizer, Tape, Variable
from gpulint.analysis.domain.values.tensors import PerReplica, Tensor
from gpulint.knowledge.devices import DeviceName
from gpulint.places import Site


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens at `site`."""

    site: Site
    where: Where


# ------------------------------------------------------------------------------- devices


@dataclass(frozen=True, slots=True)
class DeviceEntered(Event):
    """`with tf.device(argument):`. `scope.device` is None where the name is not known or None."""

    argument: Value
    scope: DeviceScope


@dataclass(frozen=True, slots=True)
class DeviceNamed(Event):
    """A device is named where TensorFlow will parse it: in `tf.device`, `DeviceSpec`, a strategy's
    devices. The site is that of the literal where there is one, `call` the call that takes it.

    `device` is None where the text is malformed; `consumer` is the canonical name of the callee; `gpus` is the
    number of logical GPUs that the program's own configuration leaves, None where it does not say.
    """

    text: str
    device: DeviceName | None
    consumer: str
    call: Site
    gpus: int | None


@dataclass(frozen=True, slots=True)
class OpCalled(Event):
    """A tensor op, by canonical name (`operator.add` for `+` …), with its inputs flattened one level
    (a list argument counts as its elements) and the tensor it gives."""

    name: str
    inputs: tuple[Value, ...]
    result: Tensor
    dtype: str | None


# ----------------------------------------------------------------------------- strategies


@dataclass(frozen=True, slots=True)
class StrategyBuilt(Event):
    """`state`, `since`: what was known of the runtime before, as in RuntimeConfigured."""

    strategy: Strategy
    arguments: Arguments
    state: str = "unknown"
    since: Site | None = None


@dataclass(frozen=True, slots=True)
class StrategyUsed(Event):
    """`how`: "scope", "entered", "run", "reduce", "distribute", "passed", "returned", "stored", "set" or
    "attribute" (anything read off it)."""

    strategy: Strategy
    how: str


@dataclass(frozen=True, slots=True)
class ScopeMade(Event):
    """`strategy.scope()` was called."""

    strategy: Strategy


@dataclass(frozen=True, slots=True)
class ScopeEntered(Event):
    """A scope was entered; `made` is the `.scope()` call. `escaped`: handed to code that may enter it."""

    strategy: Strategy
    made: Site
    escaped: bool


@dataclass(frozen=True, slots=True)
class ScopeDropped(Event):
    """A call gives a scope that nobody has entered, and its result is not used. `made` is the `.scope()` call."""

    strategy: Strategy
    made: Site


@dataclass(frozen=True, slots=True)
class StrategyRun(Event):
    """`strategy.run(function, args)`. `arguments` are what `args` and `kwargs` hold, or the batch that is given as the
    whole of them (`args=next(iterator)`)."""

    strategy: Strategy
    function: Value
    arguments: tuple[Value, ...]
    argument_sites: tuple[Site, ...]


@dataclass(frozen=True, slots=True)
class FunctionEntered(Event):
    """A function of the program is called (not through `strategy.run`)."""

    function: Function
    arguments: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class FunctionHandedOver(Event):
    """A function of the program is given to something that is not known, which may call it."""

    function: Function


@dataclass(frozen=True, slots=True)
class Reduction(Event):
    """`strategy.reduce(op, value)` or `replica_context.all_reduce(op, value)`."""

    strategy: Strategy | None
    operation: str
    value: Value


@dataclass(frozen=True, slots=True)
class ReplicaValueRead(Event):
    """A per-replica value is used as if it were one tensor: `how` is "float", "int", "arithmetic", "op", "numpy",
    "metric", "assign", "print", "format", "bool" or "compare"."""

    value: PerReplica
    how: str


# ------------------------------------------------------------------------------ training


@dataclass(frozen=True, slots=True)
class TensorRead(Event):
    """In a loop of eager code the program asks for the content of a tensor, so the host waits for it. `how` is
    "float", "int", "bool", "numpy", "print" or "format"; behind a decorator that is not known one of those that raise
    where code is traced."""

    tensor: Tensor
    how: str


@dataclass(frozen=True, slots=True)
class HostValueUsed(Event):
    """What was read from tensors at `reads` goes on the host to something that is no mere log: a call of a
    function or method named `by`, an index ("")."""

    reads: tuple[Site, ...]
    by: str


@dataclass(frozen=True, slots=True)
class TensorKept(Event):
    """In a loop a tensor is added to a container that was made outside all loops."""

    container: Items | Mapping
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class ContainerCleared(Event):
    """A list loses elements, or something else is put where a list or dict was."""

    container: Items | Mapping


@dataclass(frozen=True, slots=True)
class ModelKept(Event):
    """In a loop a model is added to a container."""

    model: Model


@dataclass(frozen=True, slots=True)
class LibraryCalled(Event):
    """A library function is called that configures, saves or watches something (`knowledge.WATCHED`), by canonical
    name; a method of a library object that is followed (`knowledge.OBJECTS`) as `class.method`, with it as
    `receiver`."""

    name: str
    arguments: Arguments
    receiver: Object | None = None


@dataclass(frozen=True, slots=True)
class PersonAwaited(Event):
    """In a loop the program waits for somebody: it shows a window until that is closed, or asks for a line or a key."""


@dataclass(frozen=True, slots=True)
class RemovedNameUsed(Event):
    """A public name is used that is gone since TensorFlow `since` (`replacement`: what it is called now).
    `of_object`: a method, of an object of such a class; `of_library`: and of none that the program derives from it."""

    name: str
    since: str
    replacement: str | None
    of_object: bool = False
    of_library: bool = False


# ------------------------------------------------------------------------------- models


@dataclass(frozen=True, slots=True)
class ModelBuilt(Event):
    model: Model


@dataclass(frozen=True, slots=True)
class LayerBuilt(Event):
    layer: Layer
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class OptimizerBuilt(Event):
    optimizer: Optimizer


@dataclass(frozen=True, slots=True)
class VariableBuilt(Event):
    variable: Variable


@dataclass(frozen=True, slots=True)
class MetricBuilt(Event):
    metric: Metric


@dataclass(frozen=True, slots=True)
class ModelCompiled(Event):
    model: Model
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class EagerModeSet(Event):
    """`model.run_eagerly = value`."""

    model: Model
    value: Value


@dataclass(frozen=True, slots=True)
class OutputTrained(Event):
    """What a layer gives goes into a loss as it is: as an output of a model that is fitted, or by hand. `through`: the
    layers behind it that only give it another shape."""

    layer: Layer
    through: tuple[Layer, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelFitted(Event):
    """`model.fit(…)`; `data` is its first argument; `batch_size` as given."""

    model: Model
    data: Value | None
    batch_size: Value | None
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class UnknownFitted(Event):
    """`fit` is called on something that is not known: it may be a model."""


@dataclass(frozen=True, slots=True)
class ModelCalled(Event):
    """A model is called on data, or asked for gradients' variables. `how`: "call", "predict", "evaluate",
    "predict_on_batch", "test_on_batch", "variables", "train_on_batch". `built` says of its variables: "no" where it has
    none yet, "outside" where they were made with no strategy in force, "" where neither is known."""

    model: Model
    how: str
    arguments: Arguments
    built: str = ""


@dataclass(frozen=True, slots=True)
class WeightsUsed(Event):
    """The weights of a model or layer are read, set, saved or loaded as a whole: `get_weights`, `set_weights`,
    `save`, `save_weights`, `load_weights`, `clone_model` (`how`). `are_got`: what is set is computed from what
    `get_weights` gave."""

    owner: Model | Layer
    how: str
    arguments: Arguments
    are_got: bool = False


MOVES = frozenset({"assign_add", "assign_sub", "scatter_add", "scatter_sub"})
"""Methods that move a variable by what they are given."""


@dataclass(frozen=True, slots=True)
class StateUpdated(Event):
    """A variable or metric changes: `assign`, `assign_add`, `update_state` … (`method`). `gradient` is the
    gradient that a variable is given, if it is one; `by_number`: it is given a number that stands in the program,
    by eager code or whenever a function is called."""

    target: Variable | Metric
    method: str
    gradient: Tensor | None = None
    by_number: bool = False

    @property
    def is_move(self) -> bool:
        """Whether a variable is moved by a gradient."""
        return self.gradient is not None and self.method in MOVES


@dataclass(frozen=True, slots=True)
class GradientTaken(Event):
    """`policy` is the global dtype policy then in force; `written` are the places in the function that take a gradient
    of a tape of that name, on whatever path, where the tape is persistent. `is_of_moved`: of something that the
    gradient of an earlier round was added to, as an image that is optimised. `by` is what it is taken by."""

    loss: Value
    result: Value
    tape: Tape | None
    policy: Value
    written: tuple[Site, ...] = ()
    is_of_moved: bool = False
    by: Value | None = None


@dataclass(frozen=True, slots=True)
class GradientsApplied(Event):
    """`optimizer.apply_gradients(…)`, `.apply(…)` or `.minimize(…)`. `gradients` are the gradient tensors that
    are known, `reduced_already` says that aggregation over replicas was switched off, `accumulators` are the
    variables whose values are applied as gradients."""

    optimizer: Object
    gradients: tuple[Tensor, ...]
    reduced_already: bool
    accumulators: tuple[Variable, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionTraced(Event):
    """`tf.function` is applied. `jit` is its `jit_compile` argument."""

    function: Value
    jit: Value


@dataclass(frozen=True, slots=True)
class TracedCalled(Event):
    """A `tf.function` is called (from outside any other one)."""

    function: Value
    jit: Value
    wrapped_at: Site
    arguments: Arguments
    has_signature: bool


# ------------------------------------------------------------------------------- data


@dataclass(frozen=True, slots=True)
class DatasetBatched(Event):
    dataset: Dataset
    size: Value


@dataclass(frozen=True, slots=True)
class DatasetConsumed(Event):
    """A finished pipeline is read. `how`: "fit", "evaluate" (validation and prediction too), "loop" (`loop` is the
    loop), "next", "elsewhere" (a function that nobody in the program calls returns it)."""

    dataset: Dataset
    how: str
    loop: Site | None


@dataclass(frozen=True, slots=True)
class DatasetDistributed(Event):
    """`how`: "experimental_distribute_dataset", "distribute_datasets_from_function", …"""

    strategy: Strategy
    dataset: Value
    how: str


@dataclass(frozen=True, slots=True)
class GlobalSizeUsed(Event):
    """A size is treated as that of the global batch: divided by the replica count, or given as
    `global_batch_size`."""

    size: Value


@dataclass(frozen=True, slots=True)
class LoopEntered(Event):
    loop: Loop


# -------------------------------------------------------------------------------- runtime


@dataclass(frozen=True, slots=True)
class RuntimeConfigured(Event):
    """A call that must come before the runtime is initialised. `what` as in the knowledge table;
    `state` is what is known of the runtime at that moment: "no", "driver", "maybe", "yes" or
    "unknown"; `since` the place that initialised it. `against` is an earlier call that set growth on the
    same GPU where this one sets a limit, or the other way round; `repeats` says that this can be what is in force.
    `gpus` is as in DeviceNamed, before this call."""

    what: str
    arguments: Arguments
    device: Value | None
    state: str
    since: Site | None
    against: Site | None
    repeats: bool
    gpus: int | None


@dataclass(frozen=True, slots=True)
class RuntimeInitialised(Event):
    """The first call that initialises the runtime (`state` "yes") or asks the driver ("driver", "maybe")."""

    state: str


@dataclass(frozen=True, slots=True)
class EnvironmentSet(Event):
    """`os.environ[key] = value` in any spelling. `state`, `since` as in RuntimeConfigured. `option` is the type of
    number that an option of the command line is, where that is the value; `repeats`: the program has set the same
    before."""

    key: str | None
    value: Value
    state: str
    since: Site | None
    option: str | None = None
    repeats: bool = False
