"""The agent: what it watches while the program runs, and when it writes that down."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from gpulint.probe.agent import graphs
from gpulint.probe.agent.calls import Calls
from gpulint.probe.agent.device_memory import DeviceMemory
from gpulint.probe.agent.devices import short
from gpulint.probe.agent.environment import Environment
from gpulint.probe.agent.functions import FunctionWriter
from gpulint.probe.agent.gradients import Gradients
from gpulint.probe.agent.guard import guarded
from gpulint.probe.agent.inputs import Inputs
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.kernels import Kernels
from gpulint.probe.agent.models import Models
from gpulint.probe.agent.operations import Copied, Operations
from gpulint.probe.agent.placed import PlacedWriter
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.reads import Reads
from gpulint.probe.agent.replicas import Replicas
from gpulint.probe.agent.steps import Steps
from gpulint.probe.agent.tally import Tally
from gpulint.probe.agent.writer import Writer

INTERVAL = 1.0
"""Seconds between two times that the counts are written."""

MAX_MODULES = 500
"""Modules of the program that are told of."""


@dataclass(frozen=True)
class Options:
    """What the parent asks for. `steps`: end the program after so many training steps, those of the warm-up not
    counted; 0 lets it run. `warmup`: steps until the program counts as warm."""

    capture: str
    steps: int = 0
    warmup: int = 3
    no_jit: bool = False


class Session:
    """Watches one process from the import of TensorFlow to its end."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._writer = Writer(options.capture)
        self._places = Places()
        self._calls = Calls(self._writer, self._places, options.no_jit)
        self._environment = Environment(self._writer)
        self._models = Models(self._writer, self._places, self.fault)
        self._replicas = Replicas(self._places, self.fault)
        self._reads = Reads(self._places, self.fault)
        self._inputs: Inputs | None = None
        self._placed: PlacedWriter | None = None
        self._tallies: list[Tally] = [self._models.calls, self._replicas.calls, self._reads.seen]
        self._operations: Operations | None = None
        self._internals: Internals | None = None
        self._tensorflow: Any = None
        self._keeps_graphs = False
        self._memory: DeviceMemory | None = None
        self._phase = "build"
        self._steps = Steps()
        self._functions = FunctionWriter(self._writer, self._calls)
        self._faults: set[tuple[str, str]] = set()
        self._stopped = threading.Event()
        self._inner_told = 0
        self._process = os.getpid()

    # --------------------------------------------------------------------------- starting

    def started(self, main: str) -> None:
        """The program is about to start."""
        version = ".".join(str(part) for part in sys.version_info[:3])
        self._writer.write("process", pid=self._process, python=version, main=main)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def imported(self, tensorflow: ModuleType) -> None:
        """TensorFlow has just been imported by the program."""
        try:
            self._arm(tensorflow)
        except Exception as error:
            self.fault("arming", error)

    def keras_imported(self, keras: ModuleType) -> None:
        """Keras has just been imported, by the program or by TensorFlow."""
        try:
            self._models.imported(keras)
        except Exception as error:
            self.fault("Keras", error)

    def _arm(self, tensorflow: Any) -> None:
        self._tensorflow = tensorflow
        self._internals = Internals()
        self._places.extract_stack = self._internals.extract_stack
        self._operations = Operations(
            self._internals,
            self._places,
            self.fault,
            self._became_live,
            self._stepped,
            self._variable_made,
            self._batch_found,
        )
        self._operations.compiled = self._calls.compiled
        cuda = bool(tensorflow.test.is_built_with_cuda())
        self._placed = PlacedWriter(self._writer, tensorflow, Kernels(self._internals, cuda))
        self._inputs = Inputs(self._internals, self._places, self.fault, lambda: self._steps.taken)
        self._tallies.append(self._inputs.seen)
        self._watch_threads()
        self._internals.watch_operations(self._operations)
        if not self._internals.is_live:
            tensorflow.debugging.set_log_device_placement(True)
        for name in self._calls.watch(tensorflow):
            self._internals.lost.append(("calls", name))
        self._watch_more(tensorflow)
        for evidence, reason in self._internals.lost:
            self._writer.write("lost", evidence=evidence, reason=reason)
        self._writer.write("tensorflow", tensorflow=tensorflow.__version__, keras=None, cuda=cuda)
        self._enter("build")
        threading.Thread(target=self._write_on, name="gpulint", daemon=True).start()

    def _watch_more(self, tensorflow: Any) -> None:
        """What only some checks need: where it fails, these are without evidence."""
        internals, inputs = self._internals, self._inputs
        assert internals is not None and inputs is not None
        watches: tuple[tuple[str, Callable[[Any], None]], ...] = (
            ("environment", self._environment.watch),
            ("replicas", self._replicas.watch),
            ("eager steps", Gradients(self._places, self.fault, self._stepped).watch),
            ("reads by the host", lambda _: self._reads.watch(internals)),
            ("waits for input", lambda _: inputs.watch()),
        )
        for evidence, watch in watches:
            try:
                watch(tensorflow)
            except (AttributeError, StopIteration) as error:
                internals.lost.append((evidence, str(error)))

    def _watch_threads(self) -> None:
        """TensorFlow calls back for the thread that asked only: have each new thread ask, too."""
        bootstrap = getattr(threading.Thread, "_bootstrap_inner", None)
        internals, operations = self._internals, self._operations
        if bootstrap is None or internals is None or operations is None:
            return

        def watched(thread: threading.Thread) -> None:
            if thread.name != "gpulint":
                try:
                    internals.watch_operations(operations)
                except Exception as error:
                    self.fault("threads", error)
            bootstrap(thread)

        threading.Thread._bootstrap_inner = watched  # type: ignore[attr-defined]

    def _became_live(self) -> None:
        assert self._internals is not None
        self._keeps_graphs = self._internals.keep_graphs()
        self._memory = DeviceMemory(self._tensorflow, lambda: True)
        config = self._tensorflow.config
        physical = [
            short(device.name.replace("physical_device:", "device:")) for device in config.list_physical_devices()
        ]
        logical = [short(device.name) for device in config.list_logical_devices()]
        assert self._operations is not None
        self._operations.several_devices = len(logical) > 1
        self._writer.write("devices", physical=physical, logical=logical)
        self._environment.tell("runtime")

    # ---------------------------------------------------------------------------- running

    def _enter(self, phase: str) -> None:
        self._write_memory()
        self._phase = phase
        self._writer.write("phase", name=phase)
        if self._memory is not None:
            self._memory.reset_peaks()

    def _write_memory(self) -> None:
        if self._memory is not None and (devices := self._memory.sample()):
            self._writer.write("memory", phase=self._phase, devices=devices)

    def _variable_made(self, fields: dict[str, Any]) -> None:
        self._writer.write("variable", **fields)

    def _batch_found(self, place: Place | None, size: int) -> None:
        """A dataset is divided among replicas: the size of the batches that it gives, -1 where it gives no such."""
        self._writer.write("batch", where=place, size=size)

    def _stepped(self, function: str, place: Place | None, seconds: float) -> None:
        taken = self._steps.taken + 1
        try:
            if taken == 1:
                self._enter("warm-up")
            elif taken == self._options.warmup + 1:
                self._enter("steps")
            self._steps.add(function, place, seconds, self._operations.eager if self._operations else 0)
            if self._inputs is not None:
                self._inputs.stepped(place)
        except Exception as error:
            self.fault("steps", error)
        if self._options.steps and taken >= self._options.warmup + self._options.steps:
            raise SystemExit(0)

    def _write_on(self) -> None:
        while not self._stopped.wait(INTERVAL):
            self.write_down()

    def write_down(self) -> None:
        """Write what was counted since the last time."""
        operations = self._operations
        if operations is None or not self._is_own:
            return
        try:
            self._write_operations(operations)
            for tally in self._tallies:
                tally.write(self._writer)
            self._steps.write(self._writer)
            self._functions.write(operations)
            self._write_memory()
            if operations.fresh_functions and self._keeps_graphs:
                operations.fresh_functions = False
                self._write_graphs(operations)
        except Exception as error:
            self.fault("writing", error)

    def _write_operations(self, operations: Operations) -> None:
        assert self._placed is not None
        ran, copied = operations.take()
        self._placed.operations(ran)
        self._placed.copies(copied)
        asked = operations.inner_devices
        if len(asked) > self._inner_told:
            self._inner_told = len(asked)
            rows = [[*self._writer.numbered(place), name, device] for name, place, device in list(asked)]
            self._writer.write("inner", rows=rows)

    def _write_graphs(self, operations: Operations) -> None:
        assert self._internals is not None and self._placed is not None
        built = graphs.Built(operations.created, operations.graphs_of, operations.is_training)
        placed: Counter[graphs.Placed] = Counter()
        copied: Counter[Copied] = Counter()
        for graph in self._internals.graphs():
            nodes, copies = graphs.nodes(graph, built)
            placed += nodes
            copied += copies
        self._placed.nodes(placed)
        self._placed.copies(copied)

    # ----------------------------------------------------------------------------- ending

    @property
    def _is_own(self) -> bool:
        """Whether this is still the process that was watched first, not a fork of it."""
        return os.getpid() == self._process

    def _forked(self) -> None:
        self._stopped.set()
        self._writer.abandon()

    def fault(self, where: str, error: BaseException) -> None:
        """Something in the agent went wrong: it is told of once, and the program goes on."""
        text = f"{type(error).__name__}: {error}"
        if (where, text) not in self._faults:
            self._faults.add((where, text))
            self._writer.write("fault", where=where, error=text)

    def ended(self, error: str | None, raised: BaseException | None = None) -> None:
        """The program has come to its end, or an exception, `raised`, has ended it."""
        self._stopped.set()
        if self._is_own:
            self.write_down()
            self._environment.tell("end")
            self._writer.write("modules", paths=self._places.modules()[:MAX_MODULES])
            where = guarded("the error", self.fault, self._places.of)(raised) if raised else None
            self._writer.write("exit", error=error, where=where)
