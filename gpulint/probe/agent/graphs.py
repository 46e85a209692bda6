"""Nodes of the graphs that were run: where each was asked for and where it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.operations import Created
from gpulint.probe.agent.places import Place

_FUNCTION = re.compile(r"__(?:inference|forward|backward)_(.+)_\d+$")
_CALLED = re.compile(r"^(?:(?:Stateful)?PartitionedCall(?:_\d+)?/)+")
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
    requested = {node.name: node.device for node in graph.pre_optimization_graph.node}
    final = [node for part in graph.partition_graphs for node in part.node]
    own = _own_graph((_CALLED.sub("", node.name) for node in final), graphs_of)
    placed: Counter[Placed] = Counter()
    copied: Counter[Copied] = Counter()
    if not own:
        return placed, copied
    for node in final:
        if node.op in _COPIES:
            attributes = node.attr
            source = short(attributes["send_device"].s.decode())
            target = short(attributes["recv_device"].s.decode())
            if source != target:
                copied[Copied(node.op, source, target)] += 1
        if node.op in _COPIES or node.op in _BOOKKEEPING:
            continue
        function, name = _original(node)
        found = created.get((function or own, name))
        asked = short(requested.get(node.name, ""))
        placed[Placed(found.place if found else None, node.op, asked, short(node.device), _layer(name))] += 1
    return placed, copied


def _original(node: Any) -> tuple[str, str]:
    """The function and the name that a node had before it was inlined into the graph; "" where it is in its own."""
    information = node.experimental_debug_info
    if information.original_func_names:
        function = _FUNCTION.match(information.original_func_names[0])
        return function[1] if function else "", information.original_node_names[0]
    return "", _CALLED.sub("", node.name)


def _own_graph(names: Iterable[str], graphs_of: Mapping[str, list[str]]) -> str:
    """The graph that most of these nodes were built in."""
    found = Counter(graph for name in names for graph in graphs_of.get(name, ()))
    return found.most_common(1)[0][0] if found else ""


def _layer(name: str) -> str:
    """The Keras layer, or the name scope, that a node belongs to."""
    name = _REPLICA.sub("", name).removeprefix("gradient_tape/").lstrip("/")
    return name.rpartition("/")[0]
