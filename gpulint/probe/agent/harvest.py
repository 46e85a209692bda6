"""Executed graphs, which TensorFlow returns once: passed to all sessions of the process."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent import active, graphs
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.internals import ASYNCHRONOUS, Internals
from gpulint.probe.agent.operation_records import Copied
from gpulint.probe.agent.operations import Operations
from gpulint.probe.capture.evidence import GRAPHS, HOLDERS


class Harvest:
    """Counts nodes and copies of graphs. `compiled` are functions that XLA compiles, which have no graphs.

    Graphs are no longer taken once that could wait for operations of the program, as it would hold the GIL, which these
    operations may need; nor are sizes of tensors asked for where that waits. `on_lost` is called with what is lost and
    the reason.
    """

    def __init__(self, internals: Internals, compiled: set[str], on_lost: Callable[[str, str], None]) -> None:
        self._internals = internals
        self._compiled = compiled
        self._on_lost = on_lost
        self._keeps = False
        self._waits = ""
        """Why taking graphs could wait."""
        self._lock = threading.Lock()
        self._placed: Counter[graphs.GraphNode] = Counter()
        self._copied: Counter[Copied] = Counter()
        self.graphs: dict[str, graphs.Graph] = {}
        """Function → contents of its graphs."""

    def watch(self, hooks: Hooks) -> None:
        """Notes the first asynchronous executor before it exists."""
        if (executors := self._internals.executors) is None:
            return
        create = executors.new_executor

        @functools.wraps(create)
        def created(enable_async: bool, *arguments: Any, **keywords: Any) -> Any:
            if enable_async:
                self._internals.has_asynchronous = True
                self._waits = self._waits or ASYNCHRONOUS
            return create(enable_async, *arguments, **keywords)

        hooks.replace(executors, "new_executor", created)

    def begin(self) -> None:
        """The runtime is up: start collecting graphs."""
        self._keeps = self._internals.keep_graphs()
        if self._internals.may_wait == ASYNCHRONOUS:
            self._internals.has_asynchronous = True
        self._stop_if_it_waits()

    def fresh(self, operations: Operations) -> bool:
        """Whether a function ran whose graphs have not been taken yet, and can be."""
        self._stop_if_it_waits()
        return operations.fresh_functions and self._keeps

    def _stop_if_it_waits(self) -> None:
        if self._internals.has_unknown_sizes:
            self._on_lost(HOLDERS, ASYNCHRONOUS)
        if self._keeps and (reason := self._waits or self._internals.may_wait):
            self._keeps = False
            self._internals.drop_graphs(waits=True)
            self._on_lost(GRAPHS, reason)

    def of_all(self, operations: Operations) -> None:
        """Passes graphs executed since the last call to every session."""
        with active.HARVEST:
            operations.fresh_functions = False
            for graph in self._internals.graphs():
                for session in active.SESSIONS:
                    session.take_graph(graph)

    def add(self, graph: Any, operations: Operations) -> None:
        """Counts the nodes and copies of an executed graph."""
        awaited = [name for name in operations.awaited if name not in self._compiled]
        built = graphs.Built(
            operations.created,
            operations.graphs_of,
            operations.sizes,
            awaited,
            operations.is_training,
            operations.names_gradients,
            operations.called_under,
        )
        own, placed, copied = graphs.nodes(graph, built)
        if not own:
            return
        if own in awaited:
            operations.awaited.remove(own)
        known = self.graphs.setdefault(own, graphs.Graph(Counter(), Counter()))
        for node, count in placed.items():
            known.placed[node.op, node.assigned] += count
        known.copied.update(copied)
        with self._lock:
            self._placed.update(placed)
            self._copied.update(copied)

    def take(self) -> tuple[Counter[graphs.GraphNode], Counter[Copied]]:
        """Counts since the last call."""
        with self._lock:
            taken = self._placed, self._copied
            self._placed, self._copied = Counter(), Counter()
        return taken

    def end(self) -> None:
        """Stops collecting graphs unless another session needs them."""
        self._stop_if_it_waits()
        if self._keeps and not active.SESSIONS:
            self._internals.drop_graphs(waits=False)
