"""Replaces calls of functions in a graph by their bodies, as the runtime does before it optimizes the graph, and loops
of training steps by one step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from gpulint.estimate.agent.names import GRADIENT, UPDATES
from gpulint.estimate.agent.pieces import Pieces

_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
LOOPS = frozenset({"While", "StatelessWhile"})
CONDITIONS = frozenset({"If", "StatelessIf"})
_DATASETS = frozenset({"ReduceDataset", "ScanDataset"})
"""Loops over datasets (`for x, y in dataset` in a `tf.function`), whose function takes their state, then an element."""

_FINITE = frozenset({"IsFinite", "IsInf", "IsNan"})
"""Operations that ask whether numbers are finite."""


class Inlined:
    """Inlines all calls of a GraphDef, in place. `result` and `control` name what stands for a tensor and for an
    operation of the graph as it was.

    A loop that computes gradients and updates variables, such as that of `steps_per_execution` or of an epoch, is a
    call of its body: the graph is that of one training step. So is a condition of which one branch trains, one that
    applies gradients if they are finite, and one that asks whether variables are initialized: TensorFlow's functions
    that create variables have two traces behind one, of which the first serves the first call only.
    """

    def __init__(self, pieces: Pieces, definition: Any) -> None:
        self._pieces = pieces
        self._library = {one.signature.name: one for one in definition.library.function}
        self._tensors: dict[str, str] = {}
        self._ends: dict[str, str] = {}
        self._trains = cache(self._does_train)
        self.is_in_loop = False
        """Whether the graph is one iteration of a loop."""
        self._enter(definition)
        while any(node.op in _CALLS and _called(node) in self._library for node in definition.node):
            self._pass(definition)
            self._enter(definition)

    def result(self, tensor: str) -> str:
        """The tensor `NODE:OUTPUT` that replaces another one of that form."""
        while tensor in self._tensors:
            tensor = self._tensors[tensor]
        return tensor

    def control(self, operation: str) -> str:
        """The operation after which a replaced one has run."""
        while operation in self._ends:
            operation = self._ends[operation]
        return operation

    def _enter(self, definition: Any) -> None:
        """Replace loops and conditions that train by a call of the function that trains."""
        for node in list(definition.node):
            if node.op in LOOPS and self._trains(node.attr["body"].func.name):
                self._call(node, "body", "T", "T", skipped=0)
                self.is_in_loop = True
            elif node.op in _DATASETS and self._trains(_called(node)):
                self._iterate(definition, node)
                self.is_in_loop = True
            elif node.op in CONDITIONS:
                branches = [one for one in ("then_branch", "else_branch") if self._trains(node.attr[one].func.name)]
                if len(branches) == 1 or (branches and _asks_whether_initialized(definition, node)):
                    self._call(node, branches[0], "Tin", "Tout", skipped=1)
                elif (branch := self._applying(definition, node)) is not None:
                    self._apply(definition, node, branch)

    def _call(self, node: Any, role: str, taken: str, given: str, skipped: int) -> None:
        """Turn a node into a call of its function in a role, without its first inputs."""
        made = self._pieces.node_proto.NodeDef(name=node.name, op="StatefulPartitionedCall", device=node.device)
        made.input.extend(node.input[skipped:])
        made.attr["f"].func.CopyFrom(node.attr[role].func)
        made.attr["Tin"].CopyFrom(node.attr[taken])
        made.attr["Tout"].CopyFrom(node.attr[given])
        node.CopyFrom(made)

    def _applying(self, definition: Any, node: Any) -> str | None:
        """The branch of a condition that applies gradients where they are finite, such as those of a scaled loss. None
        if the condition asks something else: a step that applies gradients now and then does not always launch that."""
        if not _asks_whether_finite(definition, node):
            return None
        updates = {role: self._updates(node.attr[role].func.name) for role in ("then_branch", "else_branch")}
        return max(updates, key=lambda role: updates[role]) if len(set(updates.values())) > 1 else None

    def _apply(self, definition: Any, node: Any, role: str) -> None:
        """Turn a condition into a call of a branch that waits, as the branch does, until the condition is known."""
        resource = self._pieces.dtypes.resource.as_datatype_enum
        known = definition.node.add(name=f"{node.name}/_gpulint_known", op="IdentityN", device=node.device)
        predicate, *given = [name for name in node.input if not name.startswith("^")]
        for index, kind in enumerate(node.attr["Tin"].list.type):
            if kind != resource:
                known.input.append(given[index])
                known.attr["T"].list.type.append(kind)
                given[index] = f"{known.name}:{len(known.input) - 1}"
        if not known.input:
            known.Clear()
            known.name, known.op, known.device = f"{node.name}/_gpulint_known", "NoOp", node.device
        known.input.append(f"^{predicate.partition(':')[0]}")
        controls = [name for name in node.input if name.startswith("^")]
        self._call(node, role, "Tin", "Tout", skipped=1)
        node.input[:] = [*given, *controls, f"^{known.name}"]

    def _iterate(self, definition: Any, node: Any) -> None:
        """Turn a loop over a dataset into a call of its function for one element of an iterator."""
        function = self._library[_called(node)]
        dataset, *given = [name for name in node.input if not name.startswith("^")]
        states = len(node.attr["Tstate"].list.type)
        arguments = function.signature.input_arg
        elements = range(states, len(arguments) - (len(given) - states))
        shapes = [function.arg_attr[index].attr["_output_shapes"].list.shape for index in elements]
        unknown = self._pieces.shapes.TensorShape(None).as_proto()
        iterator = definition.node.add(name=f"{node.name}/_gpulint_iterator", op="IteratorV2", device=node.device)
        iterator.attr["container"].s = iterator.attr["shared_name"].s = b""
        element = definition.node.add(name=f"{node.name}/_gpulint_next", op="IteratorGetNext", device=node.device)
        element.input.append(iterator.name)
        for added in (iterator, element):
            added.attr["output_types"].list.type.extend(arguments[index].type for index in elements)
            added.attr["output_shapes"].list.shape.extend(shape[0] if shape else unknown for shape in shapes)
        made = self._pieces.node_proto.NodeDef(name=node.name, op="StatefulPartitionedCall", device=node.device)
        made.input.extend([*given[:states], *(f"{element.name}:{index}" for index in range(len(elements)))])
        made.input.extend([*given[states:], *(name for name in node.input if name.startswith("^"))])
        made.attr["f"].func.CopyFrom(node.attr["f"].func)
        made.attr["Tin"].list.type.extend(one.type for one in arguments)
        made.attr["Tout"].list.type.extend(one.type for one in function.signature.output_arg)
        if node.op == "ScanDataset":  # its readers must read the dataset after the call
            passed = definition.node.add(name=f"{node.name}/_gpulint_dataset", op="Identity", device=node.device)
            passed.input.extend([dataset, f"^{node.name}"])
            passed.attr["T"].type = self._pieces.dtypes.variant.as_datatype_enum
            for reader in definition.node:
                for index, name in enumerate(reader.input):
                    if name.partition(":")[0] == node.name:
                        reader.input[index] = passed.name
        node.CopyFrom(made)

    def _does_train(self, name: str) -> bool:
        """Whether a function, with those that it calls, computes gradients and updates variables."""
        nodes = list(self._reached(name))
        return any(GRADIENT.search(node.name) for node in nodes) and any(node.op.startswith(UPDATES) for node in nodes)

    def _updates(self, name: str) -> int:
        """Operations of a function, with those that it calls, that update variables."""
        return sum(node.op.startswith(UPDATES) for node in self._reached(name))

    def _reached(self, name: str) -> Iterator[Any]:
        """The operations of a function and of those that it calls."""
        seen = {name}
        pending = [name]
        while pending:
            function = self._library.get(pending.pop())
            for node in function.node_def if function is not None else ():
                yield node
                called = {value.func.name for value in node.attr.values() if value.WhichOneof("value") == "func"}
                pending += called - seen
                seen |= called

    def _pass(self, definition: Any) -> None:
        inlined = self._pieces.graph_proto.GraphDef()
        for node in definition.node:
            if node.op in _CALLS and _called(node) in self._library:
                inlined.node.extend(self._body(node))
            else:
                inlined.node.add().CopyFrom(node)
        for node in inlined.node:
            for index, name in enumerate(node.input):
                node.input[index] = self._input(name)
        del definition.node[:]
        definition.node.extend(inlined.node)

    def _input(self, name: str) -> str:
        if name.startswith("^"):
            return f"^{self.control(name[1:])}"
        plain = self.result(name if ":" in name else f"{name}:0")
        return plain.removesuffix(":0")

    def _body(self, call: Any) -> list[Any]:
        """The nodes of the called function, renamed below the name of the call, and one that runs after all of them."""
        function = self._library[_called(call)]
        body, tensors = self._pieces.from_definition.function_def_to_graph_def(function)
        prefix = f"{call.name}/"
        given = [name for name in call.input if not name.startswith("^")]
        before = [name for name in call.input if name.startswith("^")]
        arguments = dict(zip((one.name for one in function.signature.input_arg), given, strict=True))
        nodes = [node for node in body.node if node.name not in arguments]
        for node in nodes:
            node.input[:] = [_renamed(name, prefix, arguments) for name in node.input]
            node.name = f"{prefix}{node.name}"
            if before and not any(name.startswith((prefix, f"^{prefix}")) for name in node.input):
                node.input.extend(before)
        end = self._pieces.node_proto.NodeDef(name=f"{prefix}_gpulint_end", op="NoOp", device=call.device)
        end.input.extend(f"^{prefix}{name}" for name in function.control_ret.values())
        for index, one in enumerate(function.signature.output_arg):
            source = _renamed(tensors.get(function.ret[one.name], function.ret[one.name]), prefix, arguments)
            self._tensors[f"{call.name}:{index}"] = _tensor(source)
            producer = source.partition(":")[0]
            if f"^{producer}" not in end.input:
                end.input.append(f"^{producer}")
        self._ends[call.name] = end.name
        return [*nodes, end]


def _called(node: Any) -> str:
    return str(node.attr["f"].func.name)


def _asks_whether_initialized(definition: Any, condition: Any) -> bool:
    """Whether a condition holds where variables are initialized."""
    nodes = {node.name: node for node in definition.node}
    pending, kinds = [condition.input[0]], set()
    while pending:
        node = nodes[pending.pop().partition(":")[0]]
        kinds.add(node.op)
        if node.op in ("LogicalAnd", "Identity"):
            pending += [name for name in node.input if not name.startswith("^")]
    return "VarIsInitializedOp" in kinds and kinds <= {"VarIsInitializedOp", "LogicalAnd", "Identity", "Const"}


def _asks_whether_finite(definition: Any, condition: Any) -> bool:
    """Whether a condition depends on gradients by whether they are finite."""
    nodes = {node.name: node for node in definition.node}
    pending, seen = [condition.input[0]], set()
    while pending:
        name = pending.pop().partition(":")[0]
        if name in seen:
            continue
        seen.add(name)
        node = nodes[name]
        if node.op in _FINITE:
            return True
        if not GRADIENT.search(name):
            pending += [one for one in node.input if not one.startswith("^")]
    return False


def _tensor(name: str) -> str:
    return name if ":" in name else f"{name}:0"


def _renamed(name: str, prefix: str, arguments: Mapping[str, str]) -> str:
    """An input of a node of the body as an input of the graph."""
    is_control = name.startswith("^")
    plain = name[is_control:]
    operation = plain.partition(":")[0]
    if operation in arguments:
        given = arguments[operation]
        return f"^{given.partition(':')[0]}" if is_control else given
    return f"{'^' * is_control}{prefix}{plain}"
