"""Nodes of the graphs that were run: where each was asked for and where it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.operations import GRADIENT, Copied, Created, graph_of, is_of_pipeline
from gpulint.probe.agent.places import INPUT, REDUCTION, Place

_ONEDNN = re.compile(r"^_Mkl(?:Native)?(?=[A-Z])")
_REPLICA = re.compile(r"(?:^|/)replica_(\d+)(?=/)")
_COPIES = frozenset({"_Send", "_HostSend"})
_ENDS = frozenset({"_Arg", "_Retval", "_DeviceArg", "_DeviceRetval", "Placeholder"})
_ARRIVALS = {"_Recv": "_Send", "_HostRecv": "_HostSend"}
_SOURCES = frozenset({*_ARRIVALS, "_Arg", "_DeviceArg", "Const", "ReadVariableOp", "Identity", "IteratorGetNext"})
"""Nodes whose device says nothing of where the program computes."""
_COLLECTIVES = ("Collective", "Nccl")
_TYPES = ("T", "SrcT", "dtype")
_BOOKKEEPING = frozenset({"_Arg", "_Retval", "_DeviceArg", "_DeviceRetval", "_Recv", "_HostRecv", "NoOp"})


STEP, PIPELINE, INITIALISATION = "step", INPUT, "initialisation"
"""Parts of a program: a function that takes gradients, one that tf.data calls for its elements, and one that gives
variables their first values."""

INITIALISERS = frozenset({"initialize_variables"})
"""Functions of TensorFlow's own, one for each function that makes variables."""


class Placed(NamedTuple):
    """A node, as far as it is told of: nodes that are alike are counted together. `dtype` is that of its first input,
    as a number, 0 for none; `part` is STEP, PIPELINE, INITIALISATION or ""; `replica` is that of a strategy that runs
    it, from 0."""

    place: Place | None
    op: str
    requested: str
    assigned: str
    layer: str
    dtype: int
    part: str
    replica: int


class Built(NamedTuple):
    """What is known of the graphs that the program built."""

    created: Mapping[tuple[str, str], Created]
    """(graph, node) → what was built there."""
    graphs_of: Mapping[str, list[str]]
    """Node → the graphs that have one of that name."""
    sizes: Mapping[str, int]
    """Graph → how many nodes it has."""
    awaited: Sequence[str]
    """The functions of which a graph was run and not seen yet, in order."""
    is_training: Callable[[str], bool]
    """Whether a graph takes gradients."""
    names_gradients: bool = True
    """Whether nodes that compute them have names of their own."""


class Graph(NamedTuple):
    """What the graphs of one function hold, those of all its traces together."""

    placed: Counter[tuple[str, str]]
    """(op, assigned device) → how many nodes."""
    copied: Counter[Copied]


def nodes(graph: Any, built: Built) -> tuple[str, Counter[Placed], Counter[Copied]]:
    """The function that a graph is of, its nodes after partitioning, and the copies in it. A graph that is like none is
    that of one eager operation, which is counted as such: its name is ""."""
    inner = {_ONEDNN.sub("", node.name) for node in graph.pre_optimization_graph.node if node.op not in _ENDS}
    own = _own_graph(inner, built)
    placed: Counter[Placed] = Counter()
    if not own:
        return own, placed, Counter()
    part = _part(own, built, graph)
    requested = {own: {node.name: node.device for node in graph.pre_optimization_graph.node}}
    for function in graph.pre_optimization_graph.library.function:
        requested[_short(function.signature.name)] = {node.name: node.device for node in function.node_def}

    def reduces(node: Any) -> bool:
        found = built.created.get(_original(node, own, requested))
        return node.op.startswith(_COLLECTIVES) or (found is not None and found.part == REDUCTION)

    def told(node: Any) -> Placed:
        function, name = _original(node, own, requested)
        found = built.created.get((function, name))
        asked = short(requested.get(function, {}).get(name, ""))
        op = _ONEDNN.sub("", node.op)
        place = found.place if found else None
        of = PIPELINE if found is not None and found.part == INPUT else part
        return Placed(place, op, asked, short(node.device), _layer(name), _dtype(node), of, _replica(name))

    for node in (node for piece in graph.partition_graphs for node in piece.node):
        if node.op not in _COPIES and node.op not in _BOOKKEEPING:
            placed[told(node)] += 1
    sizes = _sizes(graph, own, requested, built)
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
            is_reduction or part == INITIALISATION,
        )
        for kind, source, target, name, needed, mixed, is_reduction in _transfers(graph, told, reduces)
    )
    return own, placed, copied


def _transfers(
    graph: Any, told: Callable[[Any], Placed], reduces: Callable[[Any], bool]
) -> Iterator[tuple[str, str, str, str, Placed | None, bool, bool]]:
    """The transfers between devices in a graph: kind of the sending node, both devices, name, and the first node that
    reads what came, as far as it has a place, with whether it reads from its own device, too, and whether all that read
    it are of a strategy's reduction."""
    for piece in graph.partition_graphs:
        by_name = {node.name: node for node in piece.node}
        readers: dict[str, tuple[Placed, bool]] = {}
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
    """The node that an input comes from, "" for one that is only waited for."""
    return "" if name.startswith("^") else name.partition(":")[0]


def _sizes(graph: Any, own: str, requested: Mapping[str, Mapping[str, str]], built: Built) -> dict[str, int]:
    """Bytes of what is sent, by the name of the transfer, where they are known."""
    found = {}
    for piece in graph.partition_graphs:
        by_name = {node.name: node for node in piece.node}
        for node in piece.node:
            if node.op in _COPIES and (sent := by_name.get(node.input[0])) is not None:
                created = built.created.get(_original(sent, own, requested))
                if created is not None and created.size is not None:
                    found[node.attr["tensor_name"].s.decode()] = created.size
    return found


def _dtype(node: Any) -> int:
    """The dtype of a node's first input, by the name that its attribute has in most operations; 0 where it has none."""
    return next((node.attr[name].type for name in _TYPES if name in node.attr), 0)


def _original(node: Any, own: str, requested: Mapping[str, Mapping[str, str]]) -> tuple[str, str]:
    """The function and the name that a node had before it was inlined into the graph.

    TensorFlow notes them on the node; where a rewriting (oneDNN's) has lost them, they are told by the name, which
    has that of the call before it: `PartitionedCall/MatMul`, `cond/then/_0/cond/MatMul`.
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
    """The name of the graph that a function was made of."""
    return graph_of(function) or function


ALIKE = 0.9
"""Share of the names of both from which on two graphs are the same one."""


def _own_graph(names: Collection[str], built: Built) -> str:
    """The graph that these nodes were built in: TensorFlow does not say.

    It has most of them, and least besides; but what nothing needs may have been left out, as most of a step of Keras.
    Functions that do the same have the same names: then it is the one that is awaited, as graphs come in the order in
    which they are run.
    """
    shared = Counter(graph for name in names for graph in built.graphs_of.get(name, ()))
    if not shared:
        return ""
    alike = {graph: count / (len(names) + built.sizes[graph] - count) for graph, count in shared.items()}
    if len(names) == 1 and max(alike.values()) < 1:
        return ""  # an eager operation: a function has an Identity for what it returns
    order = {graph: -place for place, graph in reversed(list(enumerate(built.awaited, 1)))}
    never = -len(built.awaited) - 1

    def rank(graph: str) -> tuple[float, ...]:
        is_same = alike[graph] >= ALIKE
        return shared[graph], is_same, graph in order, alike[graph], order.get(graph, never)

    return max(shared, key=rank)


def _replica(name: str) -> int:
    """The replica that a node belongs to: the first has no mark."""
    found = _REPLICA.search(name)
    return int(found[1]) if found else 0


def _layer(name: str) -> str:
    """The Keras layer, or the name scope, that a node belongs to."""
    name = _REPLICA.sub("", name).removeprefix("gradient_tape/").lstrip("/")
    return name.rpartition("/")[0]
