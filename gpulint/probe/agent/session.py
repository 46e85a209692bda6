"""The agent: what it watches while the program runs, and when it writes that down."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from gpulint.probe.agent import graphs
from gpulint.probe.agent.calls import Calls
from gpulint.probe.agent.device_memory import DeviceMemory
from gpulint.probe.agent.devices import short
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.operations import Operations
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.simulation import Simulation
from gpulint.probe.agent.simulation.pieces import Unsupported, missing
from gpulint.probe.agent.writer import Writer

INTERVAL = 1.0
"""Seconds between two times that the counts are written."""


@dataclass(frozen=True)
class Options:
    """What the parent asks for. `steps`: end the program after so many training steps, those of the warm-up not
    counted; 0 lets it run. `warmup`: steps until the program counts as warm. `simulate_gpus`: how many GPUs are
    simulated, 0 for none, with `simulate_memory` bytes each, 0 where that is not said."""

    capture: str
    steps: int = 0
    warmup: int = 3
    no_jit: bool = False
    simulate_gpus: int = 0
    simulate_memory: int = 0


class Session:
    """Watches one process from the import of TensorFlow to its end."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._writer = Writer(options.capture)
        self._places = Places()
        self._calls = Calls(self._writer, self._places, options.no_jit)
        self._operations: Operations | None = None
        self._internals: Internals | None = None
        self._tensorflow: Any = None
        self._keeps_graphs = False
        self._memory: DeviceMemory | None = None
        self._simulation: Simulation | None = None
        self._unsupported: set[tuple[str, str]] = set()
        self._phase = "build"
        self._steps = 0
        self._fresh: dict[tuple[str, Place | None], list[float]] = {}
        self._lock = threading.Lock()
        self._faults: set[tuple[str, str]] = set()
        self._stopped = threading.Event()
        self._traced: dict[str, int] = {}
        self._process = os.getpid()

    # --------------------------------------------------------------------------- starting

    def started(self, main: str) -> None:
        """The program is about to start."""
        version = ".".join(str(part) for part in sys.version_info[:3])
        self._writer.write("process", pid=self._process, python=version, main=main)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def refused(self) -> bool:
        """Whether the GPUs that are asked for cannot be simulated, which is then written down."""
        gpus, memory = self._options.simulate_gpus, self._options.simulate_memory
        if not gpus:
            return False
        self._writer.write("simulated", gpus=gpus, memory=memory or None)
        if reason := missing():
            self._writer.write("refused", reason=reason)
        return bool(reason)

    def imported(self, tensorflow: ModuleType) -> None:
        """TensorFlow has just been imported by the program. Ends it where GPUs cannot be simulated."""
        if self._options.simulate_gpus:
            self._simulation = Simulation(self._options.simulate_gpus, self._options.simulate_memory or None)
            try:
                self._simulation.install(tensorflow)
            except Unsupported as error:
                self._writer.write("refused", reason=str(error))
                raise SystemExit(2) from None
        try:
            self._arm(tensorflow)
        except Exception as error:
            self.fault("arming", error)

    def _arm(self, tensorflow: Any) -> None:
        self._tensorflow = tensorflow
        self._internals = Internals(self._simulation.told if self._simulation is not None else None)
        self._places.extract_stack = self._internals.extract_stack
        self._operations = Operations(
            self._internals, self._places, self.fault, self._became_live, self._stepped, self._variable_made
        )
        self._watch_threads()
        self._internals.watch_operations(self._operations)
        if not self._internals.is_live and self._simulation is None:
            tensorflow.debugging.set_log_device_placement(True)
        for name in self._calls.watch(tensorflow):
            self._internals.lost.append(("calls", name))
        for evidence, reason in self._internals.lost:
            self._writer.write("lost", evidence=evidence, reason=reason)
        simulation = self._simulation
        cuda = simulation.built_with_cuda if simulation is not None else bool(tensorflow.test.is_built_with_cuda())
        self._writer.write("tensorflow", tensorflow=tensorflow.__version__, keras=None, cuda=cuda)
        self._enter("build")
        threading.Thread(target=self._write_on, name="gpulint", daemon=True).start()

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
        limits = self._simulation.limits() if self._simulation is not None else {}
        self._writer.write("devices", physical=physical, logical=logical, limits=limits)

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

    def _stepped(self, function: str, place: Place | None, seconds: float) -> None:
        self._steps += 1
        if self._steps == 1:
            self._enter("warm-up")
        elif self._steps == self._options.warmup + 1:
            self._enter("steps")
        with self._lock:
            self._fresh.setdefault((function, place), []).append(seconds)
        if self._options.steps and self._steps >= self._options.warmup + self._options.steps:
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
            self._write_steps()
            self._write_functions(operations)
            self._write_memory()
            self._write_unsupported()
            if operations.fresh_functions and self._keeps_graphs:
                operations.fresh_functions = False
                self._write_graphs(operations)
        except Exception as error:
            self.fault("writing", error)

    def _write_operations(self, operations: Operations) -> None:
        rows = [
            [*self._numbered(ran.place), ran.op, ran.requested, ran.device, count]
            for ran, count in operations.take().items()
        ]
        if rows:
            self._writer.write("ops", rows=rows)

    def _write_steps(self) -> None:
        with self._lock:
            fresh, self._fresh = self._fresh, {}
        for (name, where), seconds in fresh.items():
            self._writer.write(
                "steps",
                name=name,
                where=where,
                count=len(seconds),
                seconds=round(sum(seconds), 6),
                slowest=round(max(seconds), 6),
            )

    def _write_functions(self, operations: Operations) -> None:
        for name, traces in list(operations.traces.items()):
            is_internal = name.startswith("__")  # the forward and backward halves of a function
            if not is_internal and self._traced.get(name) != len(traces):
                self._traced[name] = len(traces)
                where, device = operations.called_at[name]
                jit = name in self._calls.compiled
                self._writer.write("function", name=name, where=where, traces=len(traces), jit=jit, device=device)

    def _write_unsupported(self) -> None:
        found = self._simulation.unsupported() if self._simulation is not None else []
        if rows := [one for one in found if one not in self._unsupported]:
            self._unsupported.update(rows)
            self._writer.write("unsupported", rows=rows)

    def _write_graphs(self, operations: Operations) -> None:
        assert self._internals is not None
        placed: Counter[graphs.Placed] = Counter()
        copied: Counter[graphs.Copied] = Counter()
        for graph in self._internals.graphs():
            nodes, copies = graphs.nodes(graph, operations.created, operations.graphs_of)
            placed += nodes
            copied += copies
        if placed:
            rows = [
                [*self._numbered(node.place), node.op, node.requested, node.assigned, node.layer, count]
                for node, count in placed.items()
            ]
            self._writer.write("nodes", rows=rows)
        if copied:
            self._writer.write("copies", rows=[[*copy, count] for copy, count in copied.items()])

    def _numbered(self, place: Place | None) -> tuple[int | None, int]:
        return (self._writer.file(place[0]), place[1]) if place is not None else (None, 0)

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

    def ended(self, error: str | None) -> None:
        """The program has come to its end, or an exception has ended it."""
        self._stopped.set()
        if self._is_own:
            self.write_down()
            self._writer.write("exit", error=error)
