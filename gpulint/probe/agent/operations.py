"""Operations as they are run and as graphs are built, each with the user's line."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.guard import guarded
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.kept import Kept, Origin
from gpulint.probe.agent.places import INPUT, Place, Places
from gpulint.probe.agent.steps import OnStep

if TYPE_CHECKING:
    from gpulint.probe.agent.blocks import Block

_FUNCTION = re.compile(r"__(?:inference|forward|backward)_(.+)_\d+$")
GRADIENT = "gradient_tape/"
"""What the names of nodes begin with that compute gradients."""


@lru_cache(maxsize=4096)
def graph_of(function: str) -> str | None:
    """The name of the graph that a trace was made of: `step` of `__inference_step_31`; None for other names."""
    found = _FUNCTION.match(function)
    return found[1] if found else None


def is_of_pipeline(graph: str) -> bool:
    """Whether a graph is of a function that tf.data calls: of `map`, `filter` and their like, not of a loop's body."""
    return _OF_PIPELINE.match(graph) is not None


class Created(NamedTuple):
    """A node of a graph that was built: its kind, the line that built it or its forward operation, the bytes of its
    first output, None where they are not known or there is nowhere to copy them to, and the part of a strategy's own
    work that it belongs to, "" for none."""

    op: str
    place: Place | None
    size: int | None = None
    part: str = ""


class Ran(NamedTuple):
    """Eager operations of one kind at one place, `part` being that of a strategy's own work, "" for none."""

    place: Place | None
    op: str
    requested: str
    device: str
    dtype: int
    part: str = ""


class Copied(NamedTuple):
    """Transfers between devices for an operation at one place, `op` being what needs them. `kind` is that of the node,
    `EAGER_COPY` outside graphs. `in_step`: in the graph of a training step. `mixed`: it also reads what was computed on
    another device than this. `reduces`: a strategy keeps there what it mirrors the same."""

    place: Place | None
    kind: str
    source: str
    target: str
    op: str
    requested: str
    size: int | None
    in_step: bool
    mixed: bool
    reduces: bool = False


_Key: TypeAlias = "tuple[Place | None, str, str, str, int, str]"
"""The fields of `Ran`."""

EAGER_COPY = "EagerCopy"

_LOOP = "ReduceDataset"
"""The operation that a loop over a dataset inside a `tf.function` is, and `Dataset.reduce`."""

_OF_PIPELINE = re.compile(r"^Dataset_(?!scan_scan_body)")

QUESTION = "IteratorGetModelProto"
"""The operation by which the agent asks iterators how they were used; no program runs it."""

_PLUMBING = frozenset({"OptionalGetValue", "OptionalHasValue"})
"""Operations by which Keras takes what a step gives: they are run where the step was called, on the same device."""

_ON_HOST = frozenset({0, 7, 20, 21})
"""`DataType` of what is not copied between devices with an operation: none, texts, resources and variants."""

_RESOURCE = 20
_INTEGERS = frozenset({3, 9})
_SMALL = 1024
"""Bytes up to which integers are shapes and the like, which kernels take from host memory."""


class Operations:
    """Called back by TensorFlow for each eager operation, each call of a function and each node of a graph.

    It counts and looks things up; it runs no operation and raises nothing but what `on_step` raises to end the
    program. `on_live` is called once, when the runtime has been initialised; `on_rebuilt` before a graph is built of
    which the last one of that name has run and was not looked at.
    """

    def __init__(
        self,
        internals: Internals,
        places: Places,
        on_fault: Callable[[str, BaseException], None],
        on_live: Callable[[], None],
        on_step: OnStep,
        on_variable: Callable[[Any, Any, Any, str, list[Place | None]], None],
        on_rebuilt: Callable[[], None],
        on_batch: Callable[[Place | None, int], None],
        on_compiled: Callable[[str], None],
    ) -> None:
        self._internals = internals
        self._places = places
        self._on_fault, self._on_live, self._on_step, self._on_variable = on_fault, on_live, on_step, on_variable
        self._on_rebuilt = on_rebuilt
        self._on_batch, self._on_compiled = on_batch, on_compiled
        self.several_devices = False
        """Whether the runtime has more than one device, so that something can be copied."""
        self.kept = Kept()
        """What outlives its training step."""
        self._note_kept = guarded("tensors that are kept", on_fault, self._keep)
        self.eager = 0
        """Eager operations so far, but for those by which a strategy divides its input."""
        self.compiled: set[str] = set()
        """Names of functions that XLA compiles, as a whole and on one device."""
        self.inner_devices: set[tuple[str, Place | None, str]] = set()
        """(compiled function, place, device) for the devices that it asks for inside."""
        self.loops: dict[str, Place | None] = {}
        """Function → where it loops over a dataset: TensorFlow gives no graph of what such a loop runs."""
        self._lock = threading.Lock()
        self._ran: dict[_Key, int] = {}
        """The fields of `Ran` → how often."""
        self._copied: Counter[Copied] = Counter()
        self.created: dict[tuple[str, str], Created] = {}
        """(graph, node) → what was built there."""
        self.graphs_of: dict[str, list[str]] = {}
        """Node → the graphs that have one of that name."""
        self.sizes: Counter[str] = Counter()
        """Graph → how many nodes it has, arguments left out."""
        self._building: dict[str, int] = {}
        """Graph → which one of that name is being built, or was built last."""
        self.traces: dict[str, dict[str, float]] = {}
        """Function → the names of its traces that were run → when each first was, in seconds since the epoch."""
        self.awaited: list[str] = []
        """The functions of which a trace was run and its graph has not been looked at, in order."""
        self.called_at: dict[str, tuple[Place | None, str]] = {}
        """Function → where it was first called, and the device that it ran on."""
        self._training: set[str] = set()
        """Functions of which a graph takes gradients."""
        self._takes: set[str] = set()
        """Those of which the last graph that was built does. Keras names what it trains and evaluates with alike."""
        self.names_gradients = False
        """Whether nodes that compute gradients have been seen by their names."""
        self._trains: dict[str, bool] = {}
        """Trace → whether it takes gradients."""
        self._steps: dict[str | bytes, str] = {}
        """Trace → its function, for those that are training steps and were looked at."""
        self._place: Place | None = None
        """Where the last training step was called."""
        self._plumbing: dict[str | bytes, _Key] = {}
        """Operation that belongs to each step from there → what is counted for it."""
        self._last: dict[str, float] = {}
        self._is_live = False
        self.blocks: tuple[Block, ...] = ()
        """The blocks that are being run."""
        self.is_over = False
        """Whether nothing is watched any more: threads that still call back are sent away."""
        self.fresh_functions = False
        """Whether a trace was run of which the graphs have not been looked at."""

    def __call__(
        self, op_type: str | bytes, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> Any:
        if graph is None and not self._looks_closely:  # as little as can be: this is in each training step
            if (function := self._steps.get(op_type)) is not None:
                self._on_step(*self._step(function, self._places.here(2)))
                return None
            if (key := self._plumbing.get(op_type)) is not None:
                self._count(key)
                return None
        passed_on = outputs if graph is not None and self._internals.calls_others_back else None
        if self.is_over:
            self._internals.forget_operations(self)
            return passed_on
        step = None
        try:
            if isinstance(op_type, bytes):  # gradients of functions come so
                op_type = op_type.decode()
            if graph is not None:
                self._built(op_type, op_name, outputs, graph)
            else:
                step = self._executed(op_type, inputs, attrs, outputs, op_name)
        except Exception as error:
            self._on_fault("operations", error)
        if step is not None:
            self._on_step(*step)
        if self.kept.is_looking and graph is None:
            self._note_kept(op_type, outputs)
        return passed_on

    @property
    def _looks_closely(self) -> bool:
        """Whether more is to be known of a step than that it was taken."""
        return self.is_over or self.kept.is_looking or bool(self.blocks)

    def take(self) -> tuple[Counter[Ran], Counter[Copied]]:
        """The eager operations since the last call, and the copies that they made."""
        with self._lock:
            ran, self._ran = self._ran, {}
            copied, self._copied = self._copied, Counter()
        return Counter({Ran(*key): count for key, count in ran.items()}), copied

    def is_training(self, function: str) -> bool:
        """Whether a function takes gradients, itself or in one that it contains."""
        return function in self._training

    # ------------------------------------------------------------------------------ eager

    def look_alive(self, runs: bool = False) -> None:
        """Say, once, that the runtime is initialised, where it is: it is where it `runs` something."""
        if not self._is_live and (runs or self._internals.is_live):
            self._is_live = True
            self._on_live()

    def _executed(
        self, op_type: str, inputs: Any, attrs: Any, outputs: Any, op_name: Any
    ) -> tuple[str, Place | None, float, float] | None:
        if not self._is_live:
            self.look_alive(runs=True)
        if (function := graph_of(op_type)) is not None:
            for block in self.blocks:
                block.called[function] = _device_of(outputs)
            return self._function_ran(function, op_type, outputs)
        if op_type == QUESTION:
            return None
        place, part = self._places.here_for(3)
        device = _device_of(outputs) or self._device_of_resource(inputs)
        if op_type == "VarHandleOp":
            self._on_variable(op_name, attrs, outputs[0], device, [place, *self._places.callers(3)])
        elif op_type == "ComputeBatchSize":
            self._on_batch(place, int(self._internals.value_of(outputs[0])))
        requested = short(self._internals.requested_device)
        dtype = self._internals.dtype_of(inputs[0]) if inputs else 0
        copied = []
        if self.several_devices and outputs and device:
            copied = list(self._copies(op_type, inputs, outputs[0].device, place, requested))
        key = (place, op_type, requested, device, dtype, part)
        self._count(key)
        if copied:
            with self._lock:
                self._copied.update(copied)
        if op_type in _PLUMBING and place == self._place and not self.several_devices:
            self._plumbing[op_type] = key
        for block in self.blocks:
            block.add(op_type, device, copied)
        return None

    def _count(self, key: _Key) -> None:
        with self._lock:
            self.eager += key[-1] != INPUT
            self._ran[key] = self._ran.get(key, 0) + 1

    def _device_of_resource(self, inputs: Any) -> str:
        """Where an operation without outputs is put: with its variable, or its iterator."""
        return next((short(one.device) for one in inputs or () if self._internals.dtype_of(one) == _RESOURCE), "")

    def _copies(self, op: str, inputs: Any, device: str, place: Place | None, requested: str) -> Iterator[Copied]:
        """The transfers that an eager operation on a device needs: each tensor is copied once."""
        dtype_of = self._internals.dtype_of
        apart = {id(tensor): tensor for tensor in inputs or () if tensor.device != device}
        if not apart:
            return
        mixed = len({tensor.device for tensor in inputs if dtype_of(tensor) not in _ON_HOST}) > 1
        for tensor in apart.values():
            dtype, size = dtype_of(tensor), _bytes(tensor)
            if dtype not in _ON_HOST and (dtype not in _INTEGERS or size > _SMALL):
                source, target = short(tensor.device), short(device)
                yield Copied(place, EAGER_COPY, source, target, op, requested, size, False, mixed)

    def _function_ran(self, function: str, trace: str, outputs: Any) -> tuple[str, Place | None, float, float] | None:
        traces = self.traces.get(function)
        if traces is None or trace not in traces:
            self.traces.setdefault(function, {})[trace] = time.time()
            self.awaited.append(function)
            self.fresh_functions = True
            self.called_at.setdefault(function, (self._places.here(4), _device_of(outputs)))
            self._trains[trace] = function in self._takes
        if not self._trains[trace]:
            return None
        self._steps[trace] = function
        return self._step(function, self._places.here(4))

    def _step(self, function: str, place: Place | None) -> tuple[str, Place | None, float, float]:
        """A training step has ended: what is told of it."""
        now = time.perf_counter()
        if place != self._place:
            self._place = place
            self._plumbing.clear()
        before = self._last.get(function, now)
        self._last[function] = now
        return function, place, now, now - before

    def _keep(self, op_type: str | bytes, outputs: Any) -> None:
        """Tell of what was made in a step that is looked at."""
        dtype_of = self._internals.dtype_of
        tensors = [(one, _bytes(one)) for one in outputs or () if dtype_of(one) not in _ON_HOST]
        if tensors:
            op = op_type.decode() if isinstance(op_type, bytes) else op_type
            self.kept.add(Origin(self._places.here(3), graph_of(op) or op, _device_of(outputs)), tensors)

    # ----------------------------------------------------------------------------- graphs

    def _built(self, op_type: str, op_name: Any, outputs: Any, graph: Any) -> None:
        own = getattr(graph, "name", "")
        name = op_name if op_name is not None else (outputs[0].op.name if outputs else None)
        if name is None:
            return
        name = str(name).rstrip("/")
        place = None
        if name.startswith(GRADIENT):
            self.names_gradients = True
            self.takes_gradients(graph)
            place = self._forward(own, name[len(GRADIENT) :])
        if self._building.get(own) != id(graph):
            self._building[own] = id(graph)
            self._takes.discard(own)
            if own in self.compiled:
                self._on_compiled(own)
            if own in self.awaited:
                self._on_rebuilt()
        if (own, name) not in self.created:
            self.graphs_of.setdefault(name, []).append(own)
            self.sizes[own] += op_type != "Placeholder"
        here, part = self._places.here_for(3)
        place = place or here
        if op_type == _LOOP:
            self._loops(graph, here)
        self.created[own, name] = Created(op_type, place, _size(outputs) if self.several_devices else None, part)
        if own in self.compiled and outputs and (device := outputs[0].device) and not device.startswith("/job:"):
            # Whole names come with the handles of variables; those that `tf.device` was given are partial.
            self.inner_devices.add((own, place, short(device)))

    def _loops(self, graph: Any, place: Place | None) -> None:
        while (name := getattr(graph, "name", None)) is not None and not is_of_pipeline(name):
            self.loops.setdefault(name, place)
            graph = getattr(graph, "outer_graph", None)

    def takes_gradients(self, graph: Any) -> None:
        """Calls of a graph that takes gradients, or of one that it is part of, are training steps."""
        while (name := getattr(graph, "name", None)) is not None and name not in self._takes:
            self._training.add(name)
            self._takes.add(name)
            graph = getattr(graph, "outer_graph", None)

    def _forward(self, graph: str, name: str) -> Place | None:
        """The place of the operation whose gradient a node computes: its name is the beginning of the node's."""
        while name:
            if (forward := self.created.get((graph, name))) is not None:
                return forward.place
            name = name.rpartition("/")[0]
        return None


def _device_of(outputs: Any) -> str:
    """The device of an operation, by its first output; "" where it has none."""
    return short(outputs[0].device) if outputs and getattr(outputs[0], "device", None) else ""


def _bytes(tensor: Any) -> int:
    """Bytes of an eager tensor."""
    return int(tensor.shape.num_elements() or 0) * int(tensor.dtype.size)


def _size(outputs: Any) -> int | None:
    """Bytes of the first output, None where its shape is not known."""
    shape = outputs[0].shape if outputs else None
    elements = shape.num_elements() if shape is not None else None
    return int(elements) * int(outputs[0].dtype.size) if elements is not None else None
