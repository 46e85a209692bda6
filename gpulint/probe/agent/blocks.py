"""Operations that run within a `with` block of the program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from gpulint.probe.agent.graphs import Graph
from gpulint.probe.agent.operation_records import Copied

Moved = tuple[str, str, str]
"""The operation that needs a transfer, or else the kind of node; source; target."""


@dataclass(slots=True, eq=False)
class Block:
    """A `with` statement that states an expectation of everything run in it, in any thread."""

    ran: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(op, device) → number of eager operations."""
    copied: Counter[Moved] = field(default_factory=Counter)
    """Inputs of eager operations that came from another device."""
    called: dict[str, str] = field(default_factory=dict)
    """Function → the device that it ran on."""

    def add(self, op: str, device: str, copied: Iterable[Copied]) -> None:
        """An eager operation ran, with the transfers it needed."""
        self.ran[op, device] += 1
        self.copied.update(map(_moved, copied))


def placed(
    block: Block, graphs: Mapping[str, Graph], compiled: Collection[str], loops: Collection[str]
) -> tuple[Counter[tuple[str, str]], str]:
    """(op, device) of everything run in a block, and what is missing: functions whose graph, or whose loop over a
    dataset, was not seen. A function that XLA compiles counts as one operation on the device of its results."""
    found = Counter(block.ran)
    unseen = []
    for name, device in block.called.items():
        if name in graphs:
            found.update(graphs[name].placed)
            unseen += _loop(name, loops)
        elif name in compiled and device:
            found[f"`{name}`, compiled by XLA", device] += 1
        else:
            unseen.append(f"`{name}`")
    return found, missing(unseen)


def copied(block: Block, graphs: Mapping[str, Graph], loops: Collection[str]) -> tuple[Counter[Moved], str]:
    """Transfers between devices in a block, and what is missing. Transfers inside functions that XLA compiles are
    not visible."""
    found = Counter(block.copied)
    for name in block.called.keys() & graphs.keys():
        for one, count in graphs[name].copied.items():
            found[_moved(one)] += count
    unseen = [f"`{name}`" for name in block.called if name not in graphs]
    return found, missing([*unseen, *(one for name in block.called for one in _loop(name, loops))])


def _loop(name: str, loops: Collection[str]) -> list[str]:
    return [f"the loop over a dataset in `{name}`"] if name in loops else []


def missing(functions: list[str]) -> str:
    """The text about functions whose graph was not seen."""
    return f"no graph was recorded for {', '.join(sorted(functions))}" if functions else ""


def _moved(one: Copied) -> Moved:
    return one.op or one.kind, one.source, one.target
