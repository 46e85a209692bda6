"""Nodes of the graphs that were run: where each was asked for and where it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.operations import Created, graph_of
from gpulint.probe.agent.places import Place

_ONEDNN = re.compile(r"^_Mkl(?:Native)?(?=[A-Z])")
_REPLICA = re.compile(r"(?:^|/)replica_\d+(?=/)")
_COPIES = frozenset({"_Send", "_HostSend"})
_ENDS = frozenset({"_Arg", "_Retval", "_DeviceArg", "_DeviceRetval", "Placeholder"})
_BOOKKEEPING = frozenset({"_Arg", "_Retval", "_DeviceArg", "_DeviceRetval", "_Recv", "_HostRecv", "NoOp"})


class Placed(NamedTuple):
    """A node, as far as it is told of: nodes that are alike are counted together."""

    place: Place | None
    op: str
    requested: str
    assigned: str
    layer: str


class Copied(NamedTuple):
    """A transfer between devices."""

    op: str
    source: str
    target: str


class Graph(NamedTuple):
    """What the graphs of one function hold, those of all its traces together."""

    placed: Counter[tuple[str, str]]
    """(op, assigned device) → how many nodes."""
    copied: Counter[Copied]


def nodes(
    graph: Any,
    created: Mapping[tuple[str, str], Created],
    graphs_of: Mapping[str, list[str]],
    sizes: Mapping[str, int],
    awaited: Sequence[str],
) -> tuple[str, Counter[Placed], Counter[Copied]]:
    """The function that a graph is of, its nodes after partitioning, and the copies in it. `graphs_of` are the graphs
    that have a node of a name, `sizes` says how many nodes each has, `awaited` are the functions of which a graph was
    run and not seen yet, in order. A graph that is like none is that of one eager operation, which is counted as such:
    its name is ""."""
    final = [node for part in graph.partition_graphs for node in part.node]
    inner = {_ONEDNN.sub("", node.name) for node in graph.pre_optimization_graph.node if node.op not in _ENDS}
    own = _own_graph(inner, graphs_of, sizes, awaited)
    placed: Counter[Placed] = Counter()
    copied: Counter[Copied] = Counter()
    if not own:
        return own, placed, copied
    requested = {own: {node.name: node.device for node in graph.pre_optimization_graph.node}}
    for function in graph.pre_optimization_graph.library.function:
        requested[_short(function.signature.name)] = {node.name: node.device for node in function.node_def}
    for node in final:
        if node.op in _COPIES:
            source, target = (short(node.attr[end].s.decode()) for end in ("send_device", "recv_device"))
            if source != target:
                copied[Copied(node.op, source, target)] += 1
        if node.op in _COPIES or node.op in _BOOKKEEPING:
            continue
        function, name = _original(node, own, requested)
        found = created.get((function, name))
        asked = short(requested.get(function, {}).get(name, ""))
        op = _ONEDNN.sub("", node.op)
        placed[Placed(found.place if found else None, op, asked, short(node.device), _layer(name))] += 1
    return own, placed, copied


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


def _own_graph(
    names: Collection[str],
    graphs_of: Mapping[str, Collection[str]],
    sizes: Mapping[str, int],
    awaited: Sequence[str],
) -> str:
    """The graph that these nodes were built in: TensorFlow does not say.

    It has most of them, and least besides; but what nothing needs may have been left out, as most of a step of Keras.
    Functions that do the same have the same names: then it is the one that is awaited, as graphs come in the order in
    which they are run.
    """
    shared = Counter(graph for name in names for graph in graphs_of.get(name, ()))
    if not shared:
        return ""
    alike = {graph: count / (len(names) + sizes[graph] - count) for graph, count in shared.items()}
    if len(names) == 1 and max(alike.values()) < 1:
        return ""  # an eager operation: a function has an Identity for what it returns
    order = {graph: -place for place, graph in reversed(list(enumerate(awaited, 1)))}
    never = -len(awaited) - 1

    def rank(graph: str) -> tuple[float, ...]:
        is_same = alike[graph] >= ALIKE
        return shared[graph], is_same, graph in order, alike[graph], order.get(graph, never)

    return max(shared, key=rank)


def _layer(name: str) -> str:
    """The Keras layer, or the name scope, that a node belongs to."""
    name = _REPLICA.sub("", name).removeprefix("gradient_tape/").lstrip("/")
    return name.rpartition("/")[0]
