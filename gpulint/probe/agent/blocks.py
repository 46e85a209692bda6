"""What runs while a block of the program does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.graphs import Copied, Graph

_ON_HOST = frozenset({"int32", "resource", "string", "variant"})
"""Types of tensors that TensorFlow keeps in host memory wherever they are said to be."""


@dataclass(slots=True, eq=False)
class Block:
    """A `with` statement about what runs in it, in any thread."""

    ran: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(op, device) → how many eager operations ran."""
    copied: Counter[Copied] = field(default_factory=Counter)
    """Inputs of eager operations that came from another device."""
    called: dict[str, str] = field(default_factory=dict)
    """Function → the device that it ran on."""

    def add(self, op: str, inputs: Any, device: str) -> None:
        """An eager operation ran."""
        self.ran[op, device] += 1
        for tensor in {id(one): one for one in inputs or ()}.values():
            source = short(getattr(tensor, "device", None) or "")
            if source and device and source != device and _dtype(tensor) not in _ON_HOST:
                self.copied[Copied(op, source, device)] += 1


def placed(
    block: Block, graphs: Mapping[str, Graph], compiled: Collection[str]
) -> tuple[Counter[tuple[str, str]], str]:
    """(op, device) of what ran in a block, and what is missing: functions of which no graph was seen. A function that
    XLA compiles is one operation on the device of its results."""
    found = Counter(block.ran)
    unseen = []
    for name, device in block.called.items():
        if name in graphs:
            found.update(graphs[name].placed)
        elif name in compiled and device:
            found[f"`{name}`, compiled by XLA", device] += 1
        else:
            unseen.append(f"`{name}`")
    return found, missing(unseen)


def copied(block: Block, graphs: Mapping[str, Graph]) -> tuple[Counter[Copied], str]:
    """Transfers between devices in a block, and what is missing. Inside of a function that XLA compiles there are
    some, too, that nobody sees."""
    found = Counter(block.copied)
    for name in block.called.keys() & graphs.keys():
        found.update(graphs[name].copied)
    return found, missing([f"`{name}`" for name in block.called if name not in graphs])


def missing(functions: list[str]) -> str:
    """What is said of functions of which no graph was seen."""
    return f"no graph was seen of {', '.join(sorted(functions))}" if functions else ""


def _dtype(tensor: Any) -> str:
    return str(getattr(getattr(tensor, "dtype", None), "name", ""))
