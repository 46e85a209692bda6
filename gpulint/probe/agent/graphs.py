"""Nodes of the graphs that were run: where each was asked for and where it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.operations import Created, graph_of
from gpulint.probe.agent.places import Place

_ONEDNN = re.compile(r"^_Mkl(?:Native)?(?=[A-Z])")
_REPLICA = re.compile(r"(?:^|/)replica_\d+(?=/)")
_COPIES = frozenset({"_Send", "_HostSend"})
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


def nodes(
    graph: Any, created: Mapping[tuple[str, str], Created], graphs_of: Mapping[str, list[str]]
) -> tuple[Counter[Placed], Counter[Copied]]:
    """The nodes of one graph after partitioning, and the copies in it. `graphs_of` are the graphs that have a node of
    a name. A graph of which no node is known is that of one eager operation, which is counted as such."""
    final = [node for part in graph.partition_graphs for node in part.node]
    own = _own_graph((node.name for node in graph.pre_optimization_graph.node), graphs_of)
    placed: Counter[Placed] = Counter()
    copied: Counter[Copied] = Counter()
    if not own:
        return placed, copied
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
    return placed, copied


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


def _own_graph(names: Iterable[str], graphs_of: Mapping[str, list[str]]) -> str:
    """The graph that most of these nodes were built in."""
    found = Counter(graph for name in names for graph in graphs_of.get(name, ()))
    return found.most_common(1)[0][0] if found else ""


def _layer(name: str) -> str:
    """The Keras layer, or the name scope, that a node belongs to."""
    name = _REPLICA.sub("", name).removeprefix("gradient_tape/").lstrip("/")
    return name.rpartition("/")[0]
