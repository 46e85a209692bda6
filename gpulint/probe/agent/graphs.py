"""Nodes of executed graphs: requested and actual device."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.operation_records import GRADIENT, Copied, Created, graph_of, is_of_pipeline
from gpulint.probe.agent.places import INPUT, REDUCTION, Place

_ONEDNN = re.compile(r"^_Mkl(?:Native)?(?=[A-Z])")
_REPLICA = re.compile(r"(?:^|/)replica_(\d+)(?=/)")
_COPIES = frozenset({"_Send", "_HostSend"})
_ENDS = frozenset({"_Arg", "_Retval", "_DeviceArg", "_DeviceRetval", "Placeholder"})
_ARRIVALS = {"_Recv": "_Send", "_HostRecv": "_HostSend"}
_SOURCES = frozenset({*_ARRIVALS, "_Arg", "_DeviceArg", "Const", "ReadVariableOp", "Identity", "IteratorGetNext"})
"""Nodes whose device does not show where the program computes."""
_COLLECTIVES = ("Collective", "Nccl")
_TYPES = ("T", "SrcT", "dtype")
_BOOKKEEPING = frozenset({"_Arg", "_Retval", "_DeviceArg", "_DeviceRetval", "_Recv", "_HostRecv", "NoOp"})


STEP, PIPELINE, INITIALISATION = "step", INPUT, "initialisation"
"""Parts of a program: a function that takes gradients, one that tf.data calls for its elements, and one that
initialises variables."""

INITIALISERS = frozenset({"initialize_variables"})
"""TensorFlow's own functions, one for each function that creates variables."""


class GraphNode(NamedTuple):
    """Equal nodes, counted together. `dtype` is that of the first input, as a number, 0 for none; `part` is STEP,
    PIPELINE, INITIALISATION or ""; `replica` is the strategy's replica that runs it, from 0."""

    place: Place | None
    op: str
    requested: str
    assigned: str
    layer: str
    dtype: int
    part: str
    replica: int


class Built(NamedTuple):
    """The graphs that the program built, as far as they are known."""

    created: Mapping[tuple[str, str], Created]
    """(graph, node) → the node as created."""
    graphs_of: Mapping[str, list[str]]
    """Node → graphs with a node of that name."""
    sizes: Mapping[str, int]
    """Graph → number of nodes."""
    awaited: Sequence[str]
    """Functions that ran and whose graph has not been taken yet, in order."""
    is_training: Callable[[str], bool]
    """Whether a graph takes gradients."""
    names_gradients: bool = True
    """Whether nodes that compute gradients have names of their own."""
    called_under: Mapping[str, str] = {}
    """Graph → device requested around the call of the function, for the nodes without one of their own."""


class Graph(NamedTuple):
    """Contents of one function's graphs, all traces together."""

    placed: Counter[tuple[str, str]]
    """(op, assigned device) → number of nodes."""
    copied: Counter[Copied]


def nodes(graph: Any, built: Built) -> tuple[str, Counter[GraphNode], Counter[Copied]]:
    """The function that a graph belongs to, its nodes after partitioning, and its copies. A graph that matches none
    is that of one eager operation, which is counted elsewhere: its name is ""."""
    inner = {_ONEDNN.sub("", node.name) for node in graph.pre_optimization_graph.node if node.op not in _ENDS}
    own = _own_graph(inner, built)
    placed: Counter[GraphNode] = Counter()
    if not own:
        return own, placed, Counter()
    part, around = _part(own, built, graph), built.called_under.get(own, "")
    on_host = around.rpartition("/")[2].startswith("CPU")
    requested = {own: {node.name: node.device for node in graph.pre_optimization_graph.node}}
    for function in graph.pre_optimization_graph.library.function:
        requested[_short(function.signature.name)] = {node.name: node.device for node in function.node_def}

    def reduces(node: Any) -> bool:
        found = built.created.get(_original(node, own, requested))
        return node.op.startswith(_COLLECTIVES) or (found is not None and found.part == REDUCTION)

    def told(node: Any) -> GraphNode:
        function, name = _original(node, own, requested)
        found = built.created.get((function, name))
        assigned = short(node.device)
        asked = short(requested.get(function, {}).get(name, "")) or (around if on_host and assigned == around else "")
        op = _ONEDNN.sub("", node.op)
        place = found.place if found else None
        of = PIPELINE if found is not None and found.part == INPUT else part
        return GraphNode(place, op, asked, assigned, _layer(name), _dtype(node), of, _replica(name))

    for node in (node for piece in graph.partition_graphs for node in piece.node):
        if node.op not in _COPIES and node.op not in _BOOKKEEPING:
            placed[told(node)] += 1
    sizes = _sizes(graph, own, requested, built)
    from_input = _from_input(graph, own, requested, built)
    copied = Counter(
        Copied(
            needed.place if needed else None,
            kind,
            source,
            target,
            needed.op if needed else "",
            needed.requested if needed else "",
            sizes.get(name),
            part == STEP,
            mixed,
            is_reduction or part == INITIALISATION or name in from_input,
        )
        for kind, source, target, name, needed, mixed, is_reduction in _transfers(graph, told, reduces)
    )
    return own, placed, copied


def _transfers(
    graph: Any, told: Callable[[Any], GraphNode], reduces: Callable[[Any], bool]
) -> Iterator[tuple[str, str, str, str, GraphNode | None, bool, bool]]:
    """Transfers between devices in a graph: kind of the sending node, source, target, name of the transfer, and the
    first reader with a known line, whether that also reads from its own device, and whether all readers belong to a
    strategy's reduction."""
    for piece in graph.partition_graphs:
        by_name = {node.name: node for node in piece.node}
        readers: dict[str, tuple[GraphNode, bool]] = {}
        computing: set[str] = set()
        for node in piece.node:
            given = [by_name[name] for name in map(_given, node.input) if name in by_name]
            received = [one.name for one in given if one.op in _ARRIVALS]
            if received and not reduces(node):
                computing.update(received)
            for name in received:
                if name not in readers or readers[name][0].place is None:
                    beside = any(one.op not in _SOURCES for one in given) and GRADIENT not in node.name
                    readers[name] = told(node), beside
        for node in piece.node:
            if node.op in _ARRIVALS:
                source, target = (short(node.attr[end].s.decode()) for end in ("send_device", "recv_device"))
                if source != target:
                    edge = node.attr["tensor_name"].s.decode()
                    needed = readers.get(node.name, (None, False))
                    yield _ARRIVALS[node.op], source, target, edge, *needed, node.name not in computing


def _part(own: str, built: Built, graph: Any) -> str:
    if built.is_training(own) and (_takes_gradients(graph) or not built.names_gradients):
        return STEP
    if own in INITIALISERS:
        return INITIALISATION
    return PIPELINE if is_of_pipeline(own) else ""


def _takes_gradients(graph: Any) -> bool:
    """Functions of one name need not all do so."""
    whole = graph.pre_optimization_graph
    functions = (one.node_def for one in whole.library.function)
    return any(GRADIENT in node.name for nodes in (whole.node, *functions) for node in nodes)


def _given(name: str) -> str:
    """The node that an input comes from, "" for a control input."""
    return "" if name.startswith("^") else name.partition(":")[0]


def _sent(graph: Any) -> Iterator[tuple[str, str, Any]]:
    """Name of each transfer, the input that it sends, and the node that computes this."""
    for piece in graph.partition_graphs:
        by_name = {node.name: node for node in piece.node}
        for node in piece.node:
            if node.op in _COPIES:
                given = node.input[0]
                if (sent := by_name.get(given.removeprefix("^").partition(":")[0])) is not None:
                    yield node.attr["tensor_name"].s.decode(), given, sent


def _sizes(graph: Any, own: str, requested: Mapping[str, Mapping[str, str]], built: Built) -> dict[str, int]:
    """Bytes of each transfer by name, where known: of a node's first output."""
    created = {
        name: built.created.get(_original(sent, own, requested))
        for name, given, sent in _sent(graph)
        if given == sent.name
    }
    return {name: one.size for name, one in created.items() if one is not None and one.size is not None}


_LOWERED = re.compile(r"/(?:output|pivot_[ft])/_\d+(?:/.*)?$")
"""Ends of the names of the nodes that a conditional becomes before it runs."""


def _from_input(graph: Any, own: str, requested: Mapping[str, Mapping[str, str]], built: Built) -> set[str]:
    """Names of the transfers of what a distributed iterator returns: a replica's batch may come through another
    replica's device, since the last batch is taken in a conditional."""
    found = set()
    for name, _, sent in _sent(graph):
        function, node = _original(sent, own, requested)
        created = built.created.get((function, _LOWERED.sub("", node)))
        if created is not None and created.part == INPUT:
            found.add(name)
    return found


def _dtype(node: Any) -> int:
    """Dtype of a node's first input, from the attribute that most operations use; 0 if there is none."""
    return next((node.attr[name].type for name in _TYPES if name in node.attr), 0)


def _original(node: Any, own: str, requested: Mapping[str, Mapping[str, str]]) -> tuple[str, str]:
    """Function and name of a node before it was inlined into the graph.

    TensorFlow records them on the node. Where a rewriter (oneDNN's) dropped them, they follow from the name, which
    begins with the name of the call: `PartitionedCall/MatMul`, `cond/then/_0/cond/MatMul`.
    """
    information = node.experimental_debug_info
    if information.original_func_names:
        return _short(information.original_func_names[0]), information.original_node_names[0]
    name = node.name
    if name in requested[own]:
        return own, name
    rest = name
    while "/" in rest:
        rest = rest.partition("/")[2]
        for function, devices in requested.items():
            if function != own and rest in devices:
                return function, rest
    return own, name


def _short(function: str) -> str:
    """The graph name that a function was created from."""
    return graph_of(function) or function


ALIKE = 0.9
"""Share of common node names from which two graphs are the same one."""


def _own_graph(names: Collection[str], built: Built) -> str:
    """The graph that these nodes were built in, which TensorFlow does not record.

    It is the graph with most of these nodes and fewest others; unused nodes may have been pruned, as most of a Keras
    step. Functions that do the same have equal names: then it is the awaited one, as graphs arrive in the order of
    execution.
    """
    shared = Counter(graph for name in names for graph in built.graphs_of.get(name, ()))
    if not shared:
        return ""
    alike = {graph: count / (len(names) + built.sizes[graph] - count) for graph, count in shared.items()}
    if len(names) == 1 and max(alike.values()) < 1:
        return ""  # an eager operation: functions have an Identity for their result
    order = {graph: -place for place, graph in reversed(list(enumerate(built.awaited, 1)))}
    never = -len(built.awaited) - 1

    def rank(graph: str) -> tuple[float, ...]:
        is_same = alike[graph] >= ALIKE
        return shared[graph], is_same, graph in order, alike[graph], order.get(graph, never)

    return max(shared, key=rank)


def _replica(name: str) -> int:
    """The replica of a node; the first has no marker."""
    found = _REPLICA.search(name)
    return int(found[1]) if found else 0


def _layer(name: str) -> str:
    """The Keras layer, or the name scope, of a node."""
    name = _REPLICA.sub("", name).removeprefix("gradient_tape/").lstrip("/")
    return name.rpartition("/")[0]
