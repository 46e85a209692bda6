"""Operations as they are run and as graphs are built, each with the user's line."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.places import Place, Places

if TYPE_CHECKING:
    from gpulint.probe.agent.blocks import Block

_FUNCTION = re.compile(r"__(?:inference|forward|backward)_(.+)_\d+$")
_GRADIENT = "gradient_tape/"


def graph_of(function: str) -> str | None:
    """The name of the graph that a trace was made of: `step` of `__inference_step_31`; None for other names."""
    found = _FUNCTION.match(function)
    return found[1] if found else None


class Created(NamedTuple):
    """A node of a graph that was built: its kind, the line that built it and the one of its forward operation."""

    op: str
    place: Place | None


class Ran(NamedTuple):
    """Eager operations of one kind at one place."""

    place: Place | None
    op: str
    requested: str
    device: str


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
        on_step: Callable[[str, Place | None, float], None],
        on_variable: Callable[[dict[str, Any]], None],
        on_rebuilt: Callable[[], None],
    ) -> None:
        self._internals = internals
        self._places = places
        self._on_fault, self._on_live, self._on_step, self._on_variable = on_fault, on_live, on_step, on_variable
        self._on_rebuilt = on_rebuilt
        self._lock = threading.Lock()
        self._ran: Counter[Ran] = Counter()
        self.created: dict[tuple[str, str], Created] = {}
        """(graph, node) → what was built there."""
        self.graphs_of: dict[str, list[str]] = {}
        """Node → the graphs that have one of that name."""
        self.sizes: Counter[str] = Counter()
        """Graph → how many nodes it has, arguments left out."""
        self._building: dict[str, int] = {}
        """Graph → which one of that name is being built, or was built last."""
        self.traces: dict[str, set[str]] = {}
        """Function → the names of its traces that were run."""
        self.awaited: list[str] = []
        """The functions of which a trace was run and its graph has not been looked at, in order."""
        self.called_at: dict[str, tuple[Place | None, str]] = {}
        """Function → where it was first called, and the device that it ran on."""
        self._training: set[str] = set()
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
    ) -> None:
        if self.is_over:
            self._internals.forget_operations(self)
            return
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

    def take(self) -> Counter[Ran]:
        """The eager operations since the last call."""
        with self._lock:
            taken, self._ran = self._ran, Counter()
        return taken

    # ------------------------------------------------------------------------------ eager

    def look_alive(self) -> None:
        """Say, once, that the runtime is initialised, where it is."""
        if not self._is_live and self._internals.is_live:
            self._is_live = True
            self._on_live()

    def _executed(
        self, op_type: str, inputs: Any, attrs: Any, outputs: Any, op_name: Any
    ) -> tuple[str, Place | None, float] | None:
        self.look_alive()
        place = self._places.here(3)
        device = short(outputs[0].device) if outputs and getattr(outputs[0], "device", None) else ""
        if (function := graph_of(op_type)) is not None:
            for block in self.blocks:
                block.called[function] = device
            return self._function_ran(function, op_type, place, device)
        for block in self.blocks:
            block.add(op_type, inputs, device)
        if op_type == "VarHandleOp":
            self._variable(op_name, attrs, device, place)
        ran = Ran(place, op_type, short(self._internals.requested_device), device)
        with self._lock:
            self._ran[ran] += 1
        return None

    def _function_ran(
        self, function: str, trace: str, place: Place | None, device: str
    ) -> tuple[str, Place | None, float] | None:
        traces = self.traces.setdefault(function, set())
        if trace not in traces:
            traces.add(trace)
            self.awaited.append(function)
            self.fresh_functions = True
        self.called_at.setdefault(function, (place, device))
        if function not in self._training:
            return None
        now = time.perf_counter()
        before = self._last.get(function)
        self._last[function] = now
        return function, place, now - before if before is not None else 0.0

    def _variable(self, name: Any, attrs: Any, device: str, place: Place | None) -> None:
        given = dict(zip(attrs[::2], attrs[1::2])) if attrs else {}  # noqa: B905
        dtype, shape = given.get("dtype"), given.get("shape")
        sizes = list(shape.as_list()) if shape is not None and getattr(shape, "rank", None) is not None else []
        size = getattr(dtype, "size", 0)
        for length in sizes:
            size *= length if length is not None else 0
        self._on_variable(
            {
                "name": str(name or given.get("debug_name") or given.get("shared_name") or "").rstrip("/"),
                "shape": [length if length is not None else -1 for length in sizes],
                "dtype": str(getattr(dtype, "name", dtype)),
                "bytes": size,
                "device": device,
                "where": place,
            }
        )

    # ----------------------------------------------------------------------------- graphs

    def _built(self, op_type: str, op_name: Any, outputs: Any, graph: Any) -> None:
        own = getattr(graph, "name", "")
        name = op_name if op_name is not None else (outputs[0].op.name if outputs else None)
        if name is None:
            return
        name = str(name).rstrip("/")
        place = None
        if name.startswith(_GRADIENT):
            self._takes_gradients(graph)
            place = self._forward(own, name[len(_GRADIENT) :])
        if self._building.get(own) != id(graph):
            self._building[own] = id(graph)
            if own in self.awaited:
                self._on_rebuilt()
        if (own, name) not in self.created:
            self.graphs_of.setdefault(name, []).append(own)
            self.sizes[own] += op_type != "Placeholder"
        self.created[own, name] = Created(op_type, place or self._places.here(3))

    def _takes_gradients(self, graph: Any) -> None:
        """Calls of a graph that takes gradients, or of one that it is part of, are training steps."""
        while (name := getattr(graph, "name", None)) is not None and name not in self._training:
            self._training.add(name)
            graph = getattr(graph, "outer_graph", None)

    def _forward(self, graph: str, name: str) -> Place | None:
        """The place of the operation whose gradient a node computes: its name is the beginning of the node's."""
        while name:
            if (forward := self.created.get((graph, name))) is not None:
                return forward.place
            name = name.rpartition("/")[0]
        return None
