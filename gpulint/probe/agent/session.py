"""The agent: what it watches while the program runs, and when it writes records."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from gpulint.probe.agent import active, models
from gpulint.probe.agent.calls import Calls
from gpulint.probe.agent.costs import Costs
from gpulint.probe.agent.device_memory import DeviceMemory
from gpulint.probe.agent.devices import names_of, short
from gpulint.probe.agent.eager_costs import EagerCosts
from gpulint.probe.agent.forks import Forks
from gpulint.probe.agent.functions import FunctionWriter
from gpulint.probe.agent.graphs import Graph
from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.harvest import Harvest
from gpulint.probe.agent.holders import Holders
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.inline import Inline
from gpulint.probe.agent.internals import REMOTE, Internals
from gpulint.probe.agent.kernels import Kernels
from gpulint.probe.agent.launches import Launches
from gpulint.probe.agent.memory_samples import MEASURED, MemoryWriter
from gpulint.probe.agent.observers import Observers
from gpulint.probe.agent.operations import Operations
from gpulint.probe.agent.options import Options
from gpulint.probe.agent.placed import PlacedWriter
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.position import Position
from gpulint.probe.agent.profile import Profile
from gpulint.probe.agent.samples import Samples
from gpulint.probe.agent.self_test import silent
from gpulint.probe.agent.simulation import Simulation
from gpulint.probe.agent.simulation.pieces import Unsupported, missing
from gpulint.probe.agent.states import LAUNCH, STATES, States
from gpulint.probe.agent.states import OWN as OWN_STATE
from gpulint.probe.agent.steps import Again, Steps
from gpulint.probe.agent.threads import OWN, watch_threads
from gpulint.probe.agent.tracing import Tracings
from gpulint.probe.agent.unwatched import Unwatched
from gpulint.probe.agent.variables import Variables
from gpulint.probe.agent.writer import Writer
from gpulint.probe.capture.evidence import BEFORE, FUNCTIONS, GRAPHS, LAUNCHES, OPERATIONS, PROFILE, SESSIONS, TRACES
from gpulint.probe.tracing.handover import directory_of

LAST = 2.0
"""Seconds that the end of the program waits for pending writes."""

TIMED = 4
"""Counted operations that are timed between two writes."""

RATE = 8_000
"""Bytes a second that records of eager operations may take: long ones are written less often."""

MEMORY_SAMPLES = 4
"""How often in each interval the thread that writes asks whether a sample of the memory is due."""

INTERVAL = 1.0
"""Seconds between two writes of the counts."""

MAX_MODULES = 500
"""Limit of recorded modules of the program."""

LOGGED = frozenset({OPERATIONS, GRAPHS})
"""Evidence in whose place TensorFlow's placement log can be read."""


class Session:
    """Watches one process from the import of TensorFlow to its end."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._writer = Writer(options.capture)
        self.fault = Guard(self._note_fault)
        """Receives a failure of the agent: it is recorded once, and the program continues."""
        self._costs = Costs(self.fault)
        self._places = Places()
        self._hooks = Hooks()
        self._calls = Calls(self._writer, self._places, self._hooks, options.no_jit)
        self._placements: PlacedWriter | None = None
        self._operations: Operations | None = None
        self._internals: Internals | None = None
        self._tensorflow: Any = None
        self._harvest: Harvest | None = None
        self._memory = MemoryWriter(self._writer)
        self._simulation: Simulation | None = None
        self._holders = Holders()
        self._again = Again(step=0)  # when the next training step is to be examined
        self._last_step = options.warmup + options.steps if options.steps else 0
        """The training step after which the program is ended, 0 for none."""
        self._states = States()
        self._steps = Steps(self._states, self._places)
        self._launches = Launches(self._places, self._states)
        self._tracings = Tracings(self._places, self._states, self.fault, self._calls.compiled)
        self._samples = Samples(self._places, self._states, self.fault)
        self._eager_costs = EagerCosts(self._states, options.warmup + 1)
        self._observers = Observers(
            self._writer,
            self._places,
            self._hooks,
            self.fault,
            self._states,
            self._stepped,
            self._takes_gradients,
            lambda: self._steps.taken,
            lambda: self._operations.eager if self._operations is not None else 0,
            self._holders,
            self._steps.passes,
        )
        self._variables = Variables(
            lambda: self._steps.taken + self._observers.calls, self._variable_made, self._holders
        )
        self._functions = FunctionWriter(self._writer, self._calls, self._launches.called)
        self._profile = Profile(
            directory_of(options.capture),
            options.warmup,
            options.profile_steps,
            lambda reason: self._writer.write("lost", evidence=PROFILE, reason=reason),
            self.fault,
            lambda: (self._steps.taken, self._steps.ended),
        )
        self._position = Position(self._places)
        self._unwatched = Unwatched(self._places, self._hooks, self.fault, lambda *lost: self._lose(lost))
        self._profile.places = self._rows_of_nodes
        self._profile.on_log = lambda own: self._writer.write("profiling", own=own)
        self._profile.on_begin, self._profile.on_end = self._begin_spans, self._end_spans
        self._operations_due = 0.0
        """When eager operations are written again."""
        self._faults: set[tuple[str, str]] = set()
        self._lost: set[tuple[str, str]] = set()
        """Evidence that is lost, and why."""
        self._stopped = threading.Event()
        self._inner_told = self._loops_told = 0
        self._forks = Forks(options.capture)
        self._writing: threading.Thread | None = None
        self._unwatch_threads: Callable[[], None] | None = None
        self.inline = Inline(self._places, self, self._writer.write, self.fault)
        """Records expectations stated in the program."""

    @property
    def places(self) -> Places:
        """Finds the line of the user's code that is running."""
        return self._places

    # --------------------------------------------------------------------------- starting

    def started(self, main: str) -> None:
        """The program is about to start."""
        version = ".".join(str(part) for part in sys.version_info[:3])
        self._writer.write("process", pid=os.getpid(), python=version, main=main)
        try:
            self._writer.keep(os.path.abspath(main))  # keep the text that runs; the name of a module is not a file
        except Exception as error:
            self.fault("source", error)
        active.add(self)

    @property
    def awaited(self) -> Mapping[str, Callable[[ModuleType], None]]:
        """Module → callback once the program has imported it."""
        return {"tensorflow": self.imported, **dict.fromkeys(models.NAMES, self.keras_imported)}

    def refused(self) -> bool:
        """Whether requested GPUs cannot be simulated, which is then recorded."""
        gpus, memory = self._options.simulate_gpus, self._options.simulate_memory
        if not gpus:
            return False
        self._writer.write("simulated", gpus=gpus, memory=memory or None)
        if reason := missing():
            self._writer.write("refused", reason=reason)
        return bool(reason)

    def imported(self, tensorflow: ModuleType) -> None:
        """The program has just imported TensorFlow. Ends it if GPUs cannot be simulated."""
        if self._options.simulate_gpus:
            memory = self._options.simulate_memory or None
            self._simulation = Simulation(self._options.simulate_gpus, memory, self._refuse)
            try:
                self._simulation.install(tensorflow)
            except Unsupported as error:
                self._writer.write("refused", reason=str(error))
                raise SystemExit(2) from None
        if self._forks.is_fork:
            self._forks.tell()
            return
        try:
            self._arm(tensorflow)
        except Exception as error:
            self.fault("arming", error)
        if self._options.extension:
            import_module(self._options.extension).extend(
                tensorflow, self._places, self._simulation, self._options.extension_settings
            )

    def _refuse(self, reason: str) -> NoReturn:
        """The program begins something that simulated GPUs cannot do."""
        place = self._places.here()
        at = f"{os.path.basename(place[0])}:{place[1]}: " if place is not None else ""
        self._writer.write("refused", reason=f"{at}{reason}")
        raise SystemExit(2)

    def not_imported(self, name: str, error: BaseException) -> None:
        """The import of TensorFlow or Keras, which is installed, has failed."""
        self._writer.write("lost", evidence=name, reason=f"it could not be imported: {type(error).__name__}: {error}")

    def keras_imported(self, keras: ModuleType) -> None:
        """Keras has just been imported, by the program or by TensorFlow."""
        try:
            self._places.is_library(keras)
            self._observers.keras_imported(keras)
            self._unwatched.keras_imported(keras)
        except Exception as error:
            self.fault("Keras", error)

    def _arm(self, tensorflow: Any) -> None:
        """Each observer by itself: what one of them misses costs the others nothing."""
        self._places.is_library(tensorflow)
        self._tensorflow = tensorflow
        self._internals = internals = Internals(self._simulation.translate if self._simulation is not None else None)
        self._places.extract_stack = internals.extract_stack
        self._profile.refused = lambda: internals.cannot_trace
        self._operations = Operations(
            self._internals,
            self._places,
            self.fault,
            self._became_live,
            self._stepped,
            self._variables.made,
            self.harvest,
            self._batch_found,
            self._calls.traces_compiled,
            self._tracings.first_run,
            self._tracings.containing,
            self._holders,
            self._steps.passes,
        )
        self._operations.compiled = self._calls.compiled
        self._operations.called_from = partial(self._states.place_in, LAUNCH)
        self._harvest = harvest = Harvest(self._internals, self._calls.compiled, self._lose_what_waits)
        simulation = self._simulation
        cuda = simulation.built_with_cuda if simulation is not None else bool(tensorflow.test.is_built_with_cuda())
        self._writer.write("tensorflow", tensorflow=tensorflow.__version__, keras=None, cuda=cuda)
        self._placements = PlacedWriter(self._writer, tensorflow, Kernels(self._internals, cuda, simulation))
        self._lose(*internals.lost)
        observers: tuple[tuple[str, Callable[[], None]], ...] = (
            (OPERATIONS, self._watch_operations),
            (GRAPHS, lambda: harvest.watch(self._hooks)),
            ("placement log", self._log_placements),
            (PROFILE, self._watch_profiler),
            (LAUNCHES, self._watch_functions),
            (TRACES, self._watch_traces),
            ("calls", lambda: self._lose(*(("calls", name) for name in self._calls.watch(tensorflow)))),
            (SESSIONS, lambda: self._unwatched.watch(tensorflow)),
            ("observers", lambda: self._observers.watch(tensorflow, internals)),
        )
        for evidence, watch in observers:
            try:
                watch()
            except Exception as error:
                self._lose((evidence, f"{type(error).__name__}: {error}"))
        self._lose(*internals.lost)
        self._operations.look_alive()
        self._enter("build")
        self._writing = threading.Thread(target=self._write_on, name=OWN, daemon=True)
        self._writing.start()

    def _lose(self, *lost: tuple[str, str]) -> None:
        for evidence, reason in lost:
            if (evidence, reason) not in self._lost:
                self._lost.add((evidence, reason))
                self._writer.write("lost", evidence=evidence, reason=reason)

    def _lose_what_waits(self, evidence: str, reason: str) -> None:
        self._lose((evidence, reason))
        if reason is REMOTE:
            self._lose((FUNCTIONS, "TensorFlow does not report those that a coordinator schedules"))

    def _watch_operations(self) -> None:
        assert self._internals is not None and self._operations is not None
        if not self._internals.is_live:
            self._lose(*silent(self._internals, self._tensorflow))
        self._unwatch_threads = watch_threads(self._internals, self._operations, self.fault)
        self._internals.watch_operations(self._operations.callback)
        self._internals.watch_requests(self._hooks)

    def _log_placements(self) -> None:
        """TensorFlow prints a line for each eager operation, which takes as long as half the operation, and cannot
        stop once the runtime is up."""
        assert self._internals is not None
        if self._internals.is_live:
            self._lose((BEFORE, "TensorFlow was already in use when watching began"))
        elif self._options.log and self._simulation is None:
            if instead := LOGGED.intersection(evidence for evidence, _ in self._lost):
                self._writer.write("logging", instead_of=sorted(instead))  # before TensorFlow prints the first line
                self._tensorflow.debugging.set_log_device_placement(True)

    def _watch_profiler(self) -> None:
        if self._options.profile_steps:
            self._profile.watch(self._tensorflow.profiler.experimental, self._hooks)

    def _watch_functions(self) -> None:
        assert self._internals is not None
        self._launches.runs_eagerly = self._tensorflow.config.functions_run_eagerly
        self._launches.watch(self._hooks, *self._internals.functions)
        self._launches.on_begun += [self._tracings.began, self._observers.function_began]
        self._tracings.on_traced = guarded("traces", self.fault, self._observers.function_traced)
        self._launches.on_ended += [self._tracings.ended, self._observers.function_ended]
        if self._internals.runtime is not None:
            self._eager_costs.watch(self._internals.runtime)
        if self._internals.tells_operations:
            self._launches.on_first = guarded(FUNCTIONS, self.fault, self._first_function)

    def _watch_traces(self) -> None:
        assert self._internals is not None
        if self._internals.compilation is not None:
            self._tracings.watch(self._internals.compilation, self._hooks)

    def _first_function(self) -> None:
        """A `tf.function` was called, whose trace was seen, or none ever will be."""
        assert self._operations is not None
        if not self._tensorflow.executing_eagerly() or sys.exc_info()[0] is not None:
            return
        self._launches.on_first = None
        is_known = any(evidence == FUNCTIONS for evidence, _ in self._lost)
        if not (is_known or self._operations.traces or self._tensorflow.config.functions_run_eagerly()):
            self._lose((FUNCTIONS, "a call of one was not seen"))

    def _became_live(self) -> None:
        assert self._internals is not None and self._operations is not None
        if self._harvest is not None:
            guarded(GRAPHS, self.fault, self._harvest.begin)()
        self._memory.begin(DeviceMemory(self._tensorflow, lambda: True))
        config = self._tensorflow.config
        logical = [short(device.name) for device in config.list_logical_devices()]
        simulation = self._simulation
        self._operations.several_devices = len(logical) > 1
        self._writer.write(
            "devices",
            physical=names_of(config.list_physical_devices()),
            visible=names_of(config.get_visible_devices()),
            logical=logical,
            limits=simulation.limits() if simulation is not None else {},
            growth=simulation.growth if simulation is not None else self._internals.growth,
        )
        self._observers.moment("runtime")

    # ---------------------------------------------------------------------------- running

    def _enter(self, phase: str) -> None:
        if self._operations is not None:
            self._write_operations(self._operations)
            self._steps.write(self._writer)
        self._memory.write()
        self._writer.write("phase", name=phase)
        self._memory.enter(phase)

    def _variable_made(self, fields: dict[str, Any]) -> None:
        callers = [self._writer.numbered(place) for place in fields.pop("callers")]
        self._writer.write("variable", **fields, callers=callers)

    def _batch_found(self, place: Place | None, size: int) -> None:
        """A dataset is divided among replicas: its batch size, -1 if it has none."""
        self._writer.write("batch", where=place, size=size)

    def _stepped(self, function: str, place: Place | None, ended: float, seconds: float) -> None:
        """Called in every training step, so it only counts and leaves the rest to `_look`, which is called rarely."""
        assert self._operations is not None
        states, steps, again = self._states, self._steps, self._again
        is_own = states.enter(OWN_STATE)
        try:
            if steps.taken <= self._options.warmup:
                self._warms_up(steps.taken + 1)
            eager = self._operations.eager
            taken = steps.add(function, place, ended, seconds, eager)
            states.stepped(eager)
            if taken >= again.step or ended >= again.time:
                self._look(taken, ended)
        except Exception as error:
            self.fault("steps", error)
        finally:
            if is_own:
                states.leave()

    def _begin_spans(self) -> None:
        self._states.on_span = lambda state, began, ended: self._profile.spent(STATES[state], began, ended)

    def _end_spans(self) -> None:
        self._states.on_span = None
        self._profile.spent(STATES[self._states.state], self._states.since, time.perf_counter())

    def _rows_of_nodes(self) -> dict[str, tuple[int, int]]:
        """Node → file number and row, where its name is that of one line only; none without a GPU, whose kernels are
        named after nodes."""
        places: dict[str, Place | None] = {}
        if self._operations is not None and self._tensorflow.config.list_physical_devices("GPU"):
            for (_, name), created in list(self._operations.created.items()):
                place = created.place
                places[name] = place if places.get(name, place) == place else None
        return {name: (self._writer.file(place[0], *place[2:]), place[1]) for name, place in places.items() if place}

    def _takes_gradients(self, graph: Any) -> None:
        if self._operations is not None:
            self._operations.takes_gradients(graph)

    def _warms_up(self, taken: int) -> None:
        """Step number `taken` has ended, at the latest the first after the warm-up."""
        assert self._operations is not None
        if taken == self._options.warmup + 1:
            self._samples.start()
            self._enter(MEASURED)
            self._holders.begin()
            self._operations.kept.begin(taken)
        elif taken == 1:
            self._enter("warm-up")

    def _look(self, taken: int, now: float) -> None:
        """A step has ended that is to be examined."""
        assert self._operations is not None
        try:
            again = self._profile.stepped(taken, now)
            for other in (
                self._memory.stepped(taken, now),
                self._operations.stepped(taken),
                self._eager_costs.stepped(taken),
            ):
                again = again.or_(other)
        except Exception as error:
            self.fault("steps", error)
            again = Again(step=taken + 1)
        if self._last_step:
            if taken >= self._last_step:
                raise SystemExit(0)
            again = again.or_(Again(step=self._last_step))
        self._again = again

    def _write_on(self) -> None:
        sample_memory = guarded("memory", self.fault, self._memory.write_on)
        for number in itertools.count(1):
            if self._stopped.wait(INTERVAL / MEMORY_SAMPLES):
                return
            sample_memory()
            if number % MEMORY_SAMPLES:
                continue
            self._profile.look(self._operations is not None and bool(self._operations.loops))
            if self._operations is not None:
                self._operations.to_time = TIMED
            self._costs.note_thread()
            self.write_down()
            guarded("position", self.fault, self._position.write)(self._writer)

    def write_down(self) -> None:
        """Writes the counts since the last time."""
        operations = self._operations
        if operations is None or self._forks.is_fork:
            return
        try:
            if time.monotonic() >= self._operations_due or self._stopped.is_set():
                self._write_operations(operations)
            self._observers.write()
            self._forks.after_start.write(self._writer)
            self._steps.write(self._writer)
            self._write_time()
            self.harvest()
            self._functions.write(operations, self.graphs)
            operations.kept.write(self._writer)
            self._memory.write_on()
            self._holders.write(self._writer)
            self._write_graphs()
            self.inline.write_down()
            self._costs.write(self._writer, operations, last=self._stopped.is_set())
        except Exception as error:
            self.fault("writing", error)

    def _write_time(self) -> None:
        self._states.write(self._writer)
        self._tracings.write(self._writer)
        self._eager_costs.write(self._writer)
        self._samples.write(self._writer)

    def _write_operations(self, operations: Operations) -> None:
        assert self._placements is not None
        written = self._writer.written
        ran, copied = operations.take()
        self._placements.operations(ran)
        self._placements.copies(copied)
        self._operations_due = time.monotonic() + (self._writer.written - written) / RATE
        for name, place in list(operations.loops.items())[self._loops_told :]:
            self._writer.write("loop", function=name, where=place)
            self._loops_told += 1
        asked = operations.inner_devices
        if len(asked) > self._inner_told:
            self._inner_told = len(asked)
            rows = [[*self._writer.numbered(place), name, device] for name, place, device in list(asked)]
            self._writer.write("inner", rows=rows)

    @property
    def operations(self) -> Operations | None:
        return self._operations

    @property
    def compiled(self) -> set[str]:
        return self._calls.compiled

    @property
    def graphs(self) -> Mapping[str, Graph]:
        """Function → contents of its graphs."""
        return self._harvest.graphs if self._harvest is not None else {}

    def harvest(self) -> None:
        """Takes the graphs executed since the last time, for every session: TensorFlow returns each once."""
        if self._operations is not None and self._harvest is not None and not self._forks.is_fork:
            if self._harvest.fresh(self._operations):
                self._harvest.of_all(self._operations)

    def take_graph(self, graph: Any) -> None:
        """A graph was executed."""
        if self._operations is not None and self._harvest is not None:
            self._harvest.add(graph, self._operations)

    def _write_graphs(self) -> None:
        if self._placements is not None and self._harvest is not None:
            placed, copied = self._harvest.take()
            self._placements.nodes(placed)
            self._placements.copies(copied)

    # ----------------------------------------------------------------------------- ending

    def forks(self) -> None:
        """This process has forked; the fork is not watched."""
        if self._tensorflow is not None and not self._forks.becomes_another:
            self._forks.tell()
            if self._internals is not None and self._internals.is_live:
                self._forks.after_start.count(self._places.here())

    def forked(self) -> None:
        """This process is a fork of the watched one."""
        self._stopped.set()
        self._writer.abandon()

    def _note_fault(self, where: str, error: BaseException) -> None:
        text = f"{type(error).__name__}: {error}"
        if (where, text) not in self._faults:
            self._faults.add((where, text))
            self._writer.write("fault", where=where, error=text)

    def ended(self, raised: BaseException | None) -> None:
        """The program has ended, by itself or with an exception."""
        self._stopped.set()
        if not self._forks.is_fork:
            self._await_writing(LAST)
            self._profile.end()
            self._eager_costs.end()
            self._samples.stop()
            guarded("waits for input", self.fault, self._observers.close)()
            self._states.close()
            self.inline.look_again()
            self.write_down()
            guarded("memory", self.fault, self._memory.write)()
            self.inline.write_down()  # even if TensorFlow was never imported
            self._observers.moment("end")
            self._writer.write("modules", paths=self._places.modules()[:MAX_MODULES])
            error = f"{type(raised).__name__}: {raised}" if raised is not None else None
            where = guarded("the error", self.fault, self._places.of)(raised) if raised is not None else None
            frames = guarded("the error", self.fault, self._places.frames_of)(raised) if raised is not None else None
            self._writer.write("exit", error=error, where=where, frames=frames or [])

    def _await_writing(self, seconds: float | None = None) -> None:
        """Waits for the current write, whose counts are already taken."""
        if self._writing is not None and self._writing is not threading.current_thread():
            self._writing.join(seconds)

    def leaves(self) -> None:
        """The program exits through `os._exit`."""
        if self._stopped.is_set():
            self.write_down()
        else:
            self.ended(None)

    def disarm(self) -> None:
        """Stops watching, and restores TensorFlow and Python. Called after `ended`."""
        active.remove(self)
        self._await_writing()
        self._hooks.put_back()
        if self._operations is not None and self._internals is not None:
            self._operations.close()
            self._internals.forget_operations(self._operations.callback)
            if self._unwatch_threads is not None:
                self._unwatch_threads()
            if self._harvest is not None:
                self._harvest.end()
        self._writer.close()
