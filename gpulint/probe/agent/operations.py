"""Observes operations as they run and as graphs are built, with the user's line."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from threading import get_ident
from time import perf_counter
from typing import Any, TypeAlias

from gpulint.probe.agent.blocks import Block
from gpulint.probe.agent.devices import short
from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.holders import LARGE, Holder, Holders, group_of_tensor
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.kept import Kept, Origin
from gpulint.probe.agent.operation_records import (
    EAGER_COPY,
    GRADIENT,
    SHARING,
    Copied,
    Created,
    Ran,
    graph_of,
    is_of_pipeline,
)
from gpulint.probe.agent.passes import Passes
from gpulint.probe.agent.places import INPUT, Place, Places
from gpulint.probe.agent.sites import UNCHECKED, Located, Seen, Sites
from gpulint.probe.agent.steps import Again, OnStep

_Key: TypeAlias = "tuple[Place | None, str, str, str, int, str]"
"""The fields of `Ran`."""

_LOOP = "ReduceDataset"
"""The operation of a loop over a dataset inside a `tf.function`, and of `Dataset.reduce`."""

_LOOKED_AT = frozenset({"VarHandleOp", "ComputeBatchSize"})
"""Operations that are examined on every run."""

QUESTION = "IteratorGetModelProto"
"""The operation by which the agent queries iterators; programs do not run it."""

_ON_HOST = frozenset({0, 7, 20, 21})
"""`DataType` numbers that are not copied between devices: none, strings, resources and variants."""

_RESOURCE = 20
_INTEGERS = frozenset({3, 9})
MOST_TIMED = 1_000
"""Timed operations kept."""

_SMALL = 1024
"""Bytes up to which integers count as shapes and the like, which kernels read from host memory."""


class Operations:
    """TensorFlow's callback for each eager operation, function call and graph node.

    Only counts and looks things up; runs no operation, and raises nothing except what `on_step` raises to end the
    program. `on_first_run` is called when a trace has run for the first time, with the function and its line;
    `containing` gets the names of functions that contain one that XLA compiles. `on_live` is called once the runtime is
    up; `on_rebuilt` before a graph replaces one of the same name that has run and was not taken yet.
    """

    def __init__(
        self,
        internals: Internals,
        places: Places,
        on_fault: Guard,
        on_live: Callable[[], None],
        on_step: OnStep,
        on_variable: Callable[[Any, Any, Any, str, list[Place | None]], None],
        on_rebuilt: Callable[[], None],
        on_batch: Callable[[Place | None, int], None],
        on_compiled: Callable[[str], None],
        on_first_run: Callable[[str, Place | None], None],
        containing: set[str],
        holders: Holders,
        passes: Passes,
    ) -> None:
        self._internals = internals
        self._places = places
        self._on_fault, self._on_live, self._on_step, self._on_variable = on_fault, on_live, on_step, on_variable
        self._on_rebuilt = on_rebuilt
        self._on_batch, self._on_compiled = on_batch, on_compiled
        self._on_first_run = on_first_run
        self._containing = containing
        self._holders = holders
        self.several_devices = False
        """Whether the runtime has more than one device, so that copies are possible."""
        self.kept = Kept()
        """Tensors that outlive their training step."""
        self._note_kept = guarded("tensors that are kept", on_fault, self._keep)
        self.eager = 0
        """Eager operations so far, without those by which a strategy divides its input."""
        self.compiled: set[str] = set()
        """Names of functions that XLA compiles, each as a whole for one device."""
        self.inner_devices: set[tuple[str, Place | None, str]] = set()
        """(compiled function, line, device) for devices requested inside."""
        self.loops: dict[str, Place | None] = {}
        """Function → line where it loops over a dataset: TensorFlow returns no graph of the loop's body."""
        self._sites: Sites[_Key] = Sites(internals, places.known)
        self._lock = threading.Lock()
        self._ran: dict[_Key, int] = {}
        """The fields of `Ran` → count."""
        self._copied: Counter[Copied] = Counter()
        self.created: dict[tuple[str, str], Created] = {}
        """(graph, node) → the node as created."""
        self.graphs_of: dict[str, list[str]] = {}
        """Node → graphs with a node of that name."""
        self.sizes: Counter[str] = Counter()
        """Graph → number of nodes, without arguments."""
        self._building: dict[str, int] = {}
        """Graph → id of the latest graph of that name."""
        self.traces: dict[str, dict[str, float]] = {}
        """Function → traces that ran → first run of each, in seconds since the epoch."""
        self.runs: Counter[str] = Counter()
        """Function → its runs from Python, but for training steps."""
        self.awaited: list[str] = []
        """Functions with a trace that ran and whose graph has not been taken, in order."""
        self.called_at: dict[str, tuple[Place | None, str]] = {}
        """Function → line of its first call, and the device it ran on."""
        self.called_from: Callable[[], Place | None] = lambda: None
        """Returns the line that calls a function in this thread, None if it is not known: finding it takes longer."""
        self.called_under: dict[str, str] = {}
        """Function → device that was requested around the call whose graph was built last, "" for none."""
        self._training: set[str] = set()
        """Functions with a graph that takes gradients."""
        self._takes: set[str] = set()
        """Functions whose latest graph takes gradients: Keras uses one name for training and evaluation."""
        self.names_gradients = False
        """Whether named gradient nodes have been seen."""
        self._trains: dict[str, bool] = {}
        """Trace → whether it takes gradients."""
        self._steps: dict[tuple[str | bytes, str | None], str] = {}
        """(trace, requested device) → function, for training steps already examined."""
        self._instances: set[tuple[str, str | None]] = set()
        """(trace, requested device) of the functions that ran: each has a graph of its own, even if it is not traced
        again."""
        self._last: dict[str, tuple[float, float]] = {}
        """Function → when its last step ended, and the agent's own time by then."""
        self._passes = passes
        self._is_live = False
        self._blocks: tuple[Block, ...] = ()
        """The running blocks."""
        self._looks_at_all = False
        """Whether every operation is looked at closely."""
        self._look_guarded = guarded("operations", on_fault, self._look)
        self.is_over = False
        """Whether watching is over: threads that still call back are unregistered."""
        self.fresh_functions = False
        """Whether a trace ran whose graphs have not been taken."""
        self.to_time = 0
        """Number of operations whose counting is to be timed."""
        self._timed: deque[float] = deque(maxlen=MOST_TIMED)
        self._each = self.counting_seconds = 0.0
        """Seconds of counting one operation, and of all so far, as estimated from those that were timed."""
        self._counted = 0
        on_fault.own = self._own
        self.callback = self._counting()
        """To be registered with TensorFlow."""

    def _counting(self) -> Callable[..., Any]:
        """The callback for TensorFlow. Counts eager operations of known sites, and passes on everything else.
        Variables are faster than attributes, and functions than objects that can be called."""
        near, depths, closer = self._sites.near, self._sites.depths, self._closer
        requested, dtype_of = self._internals.requested, self._internals.dtype_of_tensor
        get_frame, get_thread = sys._getframe, get_ident

        def called(
            op: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None, above: int = 0
        ) -> Any:
            seen = None
            device = ""
            if graph is None:
                try:
                    for depth in depths[op]:
                        frame, thread = get_frame(depth + above), get_thread()
                        name, dtype = requested[thread], dtype_of(inputs[0]) if inputs else 0
                        if self.several_devices and outputs:
                            device = outputs[0].device
                        seen = near.get((id(frame.f_code), frame.f_lasti, thread, op, name, device, dtype))
                        if seen is not None:
                            if seen.count & UNCHECKED and not (device and _are_apart(inputs, device)):
                                seen.count += 1
                                if seen.is_counted:
                                    self.eager += 1
                                return None
                            break
                except (KeyError, ValueError):
                    pass  # an operation, a thread or a depth that was not met before
                except Exception as error:
                    self._on_fault("operations", error)
            return closer(op, inputs, attrs, outputs, op_name, graph, seen, above)

        return called

    def _closer(
        self,
        op: str | bytes,
        inputs: Any,
        attrs: Any,
        outputs: Any,
        op_name: Any,
        graph: Any,
        guess: Seen[_Key] | None,
        above: int,
    ) -> Any:
        """Counts an operation at its site, if that is known, and a training step; looks closely at everything else.
        `guess` and `above`: as in `Sites.find`."""
        located = None
        if graph is None and not self._looks_at_all:
            if (function := self._steps.get((op, self._internals.requested.get(get_ident())))) is not None:
                began = perf_counter()
                place = self.called_from() or self._places.here(3)
                if (step := self._step(function, place, began)) is not None:
                    self._on_step(*step)
                self._on_fault.spent += perf_counter() - began
                return None
            try:
                device = outputs[0].device if self.several_devices and outputs else ""
                seen, located = self._sites.find(op, inputs, device, guess, above + 1)
                if self._looks_at_all:  # another thread began a block meanwhile
                    self._sites.depths.clear()
                elif seen is not None and not (device and _are_apart(inputs, device)):
                    seen.count += 1
                    self.eager += seen.is_counted
                    if self.to_time and seen is guess:
                        self._time(seen, op, inputs, attrs, outputs)
                    return None
            except (KeyError, ValueError):
                pass  # a file that was not met before
            except Exception as error:
                self._on_fault("operations", error)
        return self._look_guarded(op, inputs, attrs, outputs, op_name, graph, located)

    def _time(self, seen: Seen[_Key], *operation: Any) -> None:
        """Measures what it takes to count an operation, which was counted before."""
        self.to_time -= 1
        began = perf_counter()
        self.callback(*operation, above=3)
        self._timed.append(perf_counter() - began)
        seen.count -= 1
        self.eager -= seen.is_counted
        self._each = sorted(self._timed)[len(self._timed) // 4]  # the slow ones waited for a processor

    def _look_at_all(self) -> None:
        """Look closely at every operation, if anything needs that now."""
        with self._lock:  # another thread may begin a block meanwhile
            self._looks_at_all = bool(self.kept.is_looking or self._blocks or self.is_over)
            if self._looks_at_all:
                self._sites.depths.clear()

    def stepped(self, taken: int) -> Again:
        """Record the end of step number `taken`."""
        again = self.kept.stepped(taken)
        self._look_at_all()
        return again

    def begin(self, block: Block) -> None:
        """Begin a block. It is informed of every operation until it ends."""
        self._blocks = (*self._blocks, block)
        self._look_at_all()

    def end(self, block: Block) -> bool:
        """End a block. Returns whether it was running."""
        running = self._blocks
        self._blocks = tuple(one for one in running if one is not block)
        self._look_at_all()
        return len(self._blocks) < len(running)

    def close(self) -> None:
        """Stop watching. Threads that still call back are unregistered when they do."""
        self.is_over = True
        self._look_at_all()

    def _own(self) -> float:
        self.counting_seconds += (self.eager - self._counted) * self._each
        self._counted = self.eager
        return self._on_fault.spent + self.counting_seconds

    def _look(
        self,
        op_type: str | bytes,
        inputs: Any,
        attrs: Any,
        outputs: Any,
        op_name: Any,
        graph: Any,
        located: Located | None = None,
    ) -> Any:
        """Looks closely at an operation or node. `located`: its site, if nothing is known of it yet."""
        passed_on = outputs if graph is not None and self._internals.calls_others_back else None
        if self.is_over:
            self._internals.forget_operations(self.callback)
            return passed_on
        step = None
        try:
            if isinstance(op_type, bytes):  # gradient functions have names of bytes
                op_type = op_type.decode()
            if graph is not None:
                self._built(op_type, op_name, outputs, graph)
            else:
                step = self._executed(op_type, inputs, attrs, outputs, op_name, located)
        except Exception as error:
            self._on_fault("operations", error)
        if step is not None:
            self._on_step(*step)
        if self.kept.is_looking and graph is None:
            self._note_kept(op_type, outputs)
        return passed_on

    def take(self) -> tuple[Counter[Ran], Counter[Copied]]:
        """Eager operations and their copies since the last call."""
        with self._lock:
            ran, self._ran = self._ran, {}
            copied, self._copied = self._copied, Counter()
            for key, count in self._sites.take():
                ran[key] = ran.get(key, 0) + count
        return Counter({Ran(*key): count for key, count in ran.items()}), copied

    def is_training(self, function: str) -> bool:
        """Whether a function, or one inside it, takes gradients."""
        return function in self._training

    # ------------------------------------------------------------------------------ eager

    def look_alive(self, runs: bool = False) -> None:
        """Reports once that the runtime is up, as it is when it `runs` something."""
        if not self._is_live and (runs or self._internals.is_live):
            self._is_live = True
            self._on_live()

    def _executed(
        self,
        op_type: str,
        inputs: Any,
        attrs: Any,
        outputs: Any,
        op_name: Any,
        located: Located | None,
    ) -> tuple[str, Place | None, float, float] | None:
        if not self._is_live:
            self.look_alive(runs=True)
        if (function := graph_of(op_type)) is not None:
            for block in self._blocks:
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
        if outputs and self._internals.elements_of(outputs[0]) >= LARGE and op_type not in SHARING:
            self._hold(op_type, outputs, place)
        copied = []
        if self.several_devices and outputs and device:
            copied = list(self._copies(op_type, inputs, outputs[0].device, place, requested))
        key = (place, op_type, requested, device, dtype, part)
        self._count(key)
        if copied:
            with self._lock:
                self._copied.update(copied)
        elif located is not None and op_type not in _LOOKED_AT:
            self._sites.remember(located, key, is_counted=part != INPUT)
        for block in self._blocks:
            block.add(op_type, device, copied)
        return None

    def _hold(self, op: str, outputs: Any, place: Place | None) -> None:
        """Large tensors, which live as long as Python refers to them."""
        for one in outputs:
            if self._internals.elements_of(one) >= LARGE:
                self._holders.add(
                    one, Holder(short(one.device), group_of_tensor(op), place, op), self._internals.bytes_of(one)
                )

    def _count(self, key: _Key) -> None:
        with self._lock:
            self.eager += key[-1] != INPUT
            self._ran[key] = self._ran.get(key, 0) + 1

    def _device_of_resource(self, inputs: Any) -> str:
        """Device of an operation without outputs: that of its variable or iterator."""
        return next((short(one.device) for one in inputs or () if self._internals.dtype_of(one) == _RESOURCE), "")

    def _copies(self, op: str, inputs: Any, device: str, place: Place | None, requested: str) -> Iterator[Copied]:
        """Transfers that an eager operation on a device needs: each tensor is copied once."""
        dtype_of = self._internals.dtype_of
        apart = {id(tensor): tensor for tensor in inputs or () if tensor.device != device}
        if not apart:
            return
        mixed = len({tensor.device for tensor in inputs if dtype_of(tensor) not in _ON_HOST}) > 1
        for tensor in apart.values():
            dtype, size = dtype_of(tensor), self._internals.bytes_of(tensor)
            if dtype not in _ON_HOST and (dtype not in _INTEGERS or size > _SMALL):
                source, target = short(tensor.device), short(device)
                yield Copied(place, EAGER_COPY, source, target, op, requested, size, False, mixed)

    def _function_ran(self, function: str, trace: str, outputs: Any) -> tuple[str, Place | None, float, float] | None:
        self.runs[function] += 1
        traces = self.traces.get(function)
        if traces is None or trace not in traces:
            self.traces.setdefault(function, {})[trace] = time.time()
            self.awaited.append(function)
            self.fresh_functions = True
            self._on_first_run(function, self._places.here(4))
            self.called_at.setdefault(function, (self._places.here(4), _device_of(outputs)))
            self._trains[trace] = function in self._takes
        instance = trace, self._internals.requested.get(get_ident())
        if instance not in self._instances:
            self._instances.add(instance)
            self.fresh_functions = True
            self.called_under[function] = short(self._internals.requested_device)
            if function not in self.awaited:
                self.awaited.append(function)
        if outputs and any(self._internals.elements_of(one) >= LARGE for one in outputs):
            self._hold(function, outputs, self._places.here(4))
        if not self._trains[trace]:
            return None
        self._steps[instance] = function
        self._sites.depths[trace] = ()  # nothing above a function is looked for
        return self._step(function, self._places.here(4), perf_counter())

    def _step(self, function: str, place: Place | None, now: float) -> tuple[str, Place | None, float, float] | None:
        """A function that takes gradients has ended. Returns the arguments of `on_step` if it was a training step, not
        the share of another GPU in one."""
        if not self._passes.begins_step(function, place, function, self._internals.requested.get(get_ident(), "")):
            return None
        own = self._own()
        before, own_before = self._last.get(function, (now, own))
        self._last[function] = now, own
        return function, place, now, max(0.0, now - before - (own - own_before))

    def _keep(self, op_type: str | bytes, outputs: Any) -> None:
        """Records the tensors created in a sampled step."""
        dtype_of = self._internals.dtype_of
        tensors = [(one, self._internals.bytes_of(one)) for one in outputs or () if dtype_of(one) not in _ON_HOST]
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
                self._contains(graph)
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
            # Handles of variables have full device names; `tf.device` sets partial ones.
            self.inner_devices.add((own, place, short(device)))

    def _contains(self, graph: Any) -> None:
        """Marks a graph that XLA compiles, and the graphs around it."""
        while (name := getattr(graph, "name", None)) is not None:
            self._containing.add(name)
            graph = getattr(graph, "outer_graph", None)

    def _loops(self, graph: Any, place: Place | None) -> None:
        while (name := getattr(graph, "name", None)) is not None and not is_of_pipeline(name):
            self.loops.setdefault(name, place)
            graph = getattr(graph, "outer_graph", None)

    def takes_gradients(self, graph: Any) -> None:
        """Marks a graph that takes gradients, and the graphs around it, as training steps."""
        while (name := getattr(graph, "name", None)) is not None and name not in self._takes:
            self._training.add(name)
            self._takes.add(name)
            graph = getattr(graph, "outer_graph", None)

    def _forward(self, graph: str, name: str) -> Place | None:
        """Line of the operation whose gradient a node computes: its name is a prefix of the node's."""
        while name:
            if (forward := self.created.get((graph, name))) is not None:
                return forward.place
            name = name.rpartition("/")[0]
        return None


def _device_of(outputs: Any) -> str:
    """Device of an operation, from its first output; "" if it has none."""
    return short(outputs[0].device) if outputs and getattr(outputs[0], "device", None) else ""


def _are_apart(inputs: Any, device: str) -> bool:
    """Whether an input is on another device than this one."""
    for one in inputs:  # noqa: SIM110 (for each eager operation: a generator takes twice as long)
        if one.device != device:
            return True
    return False


def _size(outputs: Any) -> int | None:
    """Bytes of the first output, None if its shape is unknown."""
    shape = outputs[0].shape if outputs else None
    elements = shape.num_elements() if shape is not None else None
    return int(elements) * int(outputs[0].dtype.size) if elements is not None else None
