"""Operations in graphs: the runtime's graphs name logical CPUs, the program sees GPUs."""

from __future__ import annotations

import weakref
from typing import Any

from gpulint.probe.agent.simulation.kernels import Types
from gpulint.probe.agent.simulation.names import Names
from gpulint.probe.agent.simulation.pieces import Pieces
from gpulint.probe.agent.simulation.placing import Placing
from gpulint.probe.agent.simulation.suspending import Suspendable

ASKED = "_gpulint_asked"
"""Node attribute with the requested device, for nodes placed elsewhere."""

_ENDS = ("send_device", "recv_device")


class Graphs(Suspendable):
    """Wraps the device properties of graph operations."""

    def __init__(self, names: Names, placing: Placing, pieces: Pieces) -> None:
        self._names = names
        self._placing = placing
        self._pieces = pieces
        self._asked: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        """Operations placed elsewhere than requested → the requested device."""
        self._strict: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        """Operations in TensorFlow 1 graphs, placed elsewhere as with soft placement → their device without it."""

    def install(self) -> None:
        """Installs all wrappers."""
        operation, graph = self._pieces.ops.Operation, self._pieces.ops.Graph
        device_of, put, finish = operation.device.fget, operation._set_device_from_string, graph._create_op_helper
        names = self._names

        def device(op: Any) -> str:
            asked = self._asked.get(op)
            return names.seen(device_of(op)) if asked is None else asked

        def set_device(op: Any, asked: str) -> None:
            if self.is_suspended:
                put(op, asked)
                return
            if not names.gpus:
                self._pieces.count_devices()
            real = self._real(op, asked) if names.says_kind(asked) else asked
            put(op, real)
            self._remember(op, asked, real)
            self._leave_to_session(op, asked, real)

        def create(made: Any, op: Any, compute_device: bool = True) -> None:
            finish(made, op, compute_device)
            if names.gpus and not self.is_suspended and not device_of(op) and self._belongs_to_host(op):
                put(op, "/device:CPU:0")
                self._remember(op, "", "/device:CPU:0")

        self._pieces.ops.SymbolicTensor.device = property(lambda tensor: tensor.op.device)
        operation.device = property(device, doc=operation.device.__doc__)
        operation._set_device_from_string = set_device
        graph._create_op_helper = create
        self._sessions(put)

    def _sessions(self, put: Any) -> None:
        """In TensorFlow 1 the session decides whether placement is soft. If it is not, the runtime gets names of
        missing devices and raises its own error."""
        session = self._pieces.client.BaseSession
        extend = session._extend_graph

        def extended(made: Any) -> None:
            for op in [op for op in self._strict if op.graph is made.graph]:
                real = self._strict.pop(op)  # only once: an operation cannot change after a session has used it
                if not made._config.allow_soft_placement:
                    put(op, real)
            extend(made)

        session._extend_graph = extended

    def translate(self, graph: Any) -> None:
        """Translates the device names in a RunMetadata graph (FunctionGraphs) to the program's: requested ones
        before partitioning, actual ones after it, and those of transfers."""
        seen = self._names.seen
        before = graph.pre_optimization_graph
        for nodes in (before.node, *(function.node_def for function in before.library.function)):
            for node in nodes:
                node.device = node.attr[ASKED].s.decode() if ASKED in node.attr else seen(node.device)
        for piece in graph.partition_graphs:
            for node in piece.node:
                node.device = seen(node.device)
                for end in _ENDS:
                    if end in node.attr:
                        node.attr[end].s = seen(node.attr[end].s.decode()).encode()

    def _remember(self, op: Any, asked: str, real: str) -> None:
        if self._names.seen(real) == asked:
            self._asked.pop(op, None)
            return
        self._asked[op] = asked
        value = self._pieces.attribute_value.AttrValue(s=asked.encode())
        op._set_attr(ASKED, value)

    def _leave_to_session(self, op: Any, asked: str, real: str) -> None:
        self._strict.pop(op, None)
        if not op.graph.building_function and (strict := self._real(op, asked, False)) != real:
            self._strict[op] = strict

    def _real(self, op: Any, asked: str, soft: bool | None = None) -> str:
        """An operation on a resource runs where that is, regardless of kernels. In a TensorFlow 1 graph placement is
        soft unless a session says otherwise."""
        if soft is None:
            soft = not op.graph.building_function or self._pieces.is_soft()
        if self._has_resource(op):
            return self._names.real(asked, True, soft)
        return self._placing.place(op.type, self._types_of(op), asked, soft).device

    def _belongs_to_host(self, op: Any) -> bool:
        """Whether it has no GPU kernel and its device depends on nothing else: no resource and no neighbour."""
        if self._placing.place(op.type, self._types_of(op), "").device or self._has_resource(op):
            return False
        return bool(op.colocation_groups() == [f"loc:@{op.name}".encode()])

    def _has_resource(self, op: Any) -> bool:
        return any(one.dtype == self._pieces.dtypes.resource for one in op.inputs)

    def _types_of(self, op: Any) -> Any:
        def types(attributes: tuple[str, ...]) -> Types:
            return tuple((name, self._of_attribute(op, name)) for name in attributes)

        return types

    def _of_attribute(self, op: Any, name: str) -> tuple[str, ...]:
        try:
            value = op.get_attr(name)
            return tuple(self._placing.type_name(one) for one in (value if isinstance(value, list) else [value]))
        except (TypeError, ValueError):
            return ()
