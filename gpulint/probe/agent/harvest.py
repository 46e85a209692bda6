"""Executed graphs, which TensorFlow returns once: passed to all sessions of the process."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from gpulint.probe.agent import active, graphs
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.operation_records import Copied
from gpulint.probe.agent.operations import Operations


class Harvest:
    """Counts nodes and copies of graphs. `compiled` are functions that XLA compiles, which have no graphs."""

    def __init__(self, internals: Internals, compiled: set[str]) -> None:
        self._internals = internals
        self._compiled = compiled
        self._keeps = False
        self._lock = threading.Lock()
        self._placed: Counter[graphs.GraphNode] = Counter()
        self._copied: Counter[Copied] = Counter()
        self.graphs: dict[str, graphs.Graph] = {}
        """Function → contents of its graphs."""

    def begin(self) -> None:
        """The runtime is up: start collecting graphs."""
        self._keeps = self._internals.keep_graphs()

    def fresh(self, operations: Operations) -> bool:
        """Whether a function ran whose graphs have not been taken yet."""
        return operations.fresh_functions and self._keeps

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
        if self._keeps and not active.SESSIONS:
            self._internals.drop_graphs()
