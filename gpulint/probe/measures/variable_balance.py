"""Whether every device of a mirrored strategy has all variables. Sizes are bytes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpulint.probe.capture.records import Strategy, Variable
from gpulint.probe.measures.memory import Outcome

MIRRORED = frozenset({"MirroredStrategy", "MultiWorkerMirroredStrategy"})
"""Strategies that keep a copy of each variable on every replica's device."""

_REPLICA = re.compile(r"/replica_\d+")


@dataclass(frozen=True, slots=True)
class VariableBalance:
    """Bytes of variables on each device of a mirrored strategy, which must be equal."""

    strategy: Strategy
    verdict: Outcome
    reason: str
    sizes: dict[str, int]
    uneven: tuple[Variable, ...]
    """One of each variable that a device lacks or has in another size."""

    threshold = 0


def variable_balance(strategy: Strategy, variables: Iterable[Variable]) -> VariableBalance | None:
    """Whether a mirrored strategy has every variable on each of its devices. None for other strategies.

    Scalars are skipped: Keras creates counters and rates on one device when it saves a model.
    """
    if strategy.cls not in MIRRORED or len(strategy.devices) < 2:
        return None
    sizes = dict.fromkeys(strategy.devices, 0)
    own = [one for one in variables if one.device in sizes]
    for variable in own:
        sizes[variable.device] += variable.bytes
    if not own:
        return VariableBalance(strategy, "inconclusive", "no variable was seen on its devices", sizes, ())
    alone = tuple(uneven(own, strategy.devices))
    return VariableBalance(strategy, "fail" if alone else "pass", "", sizes, alone)


def uneven(variables: Iterable[Variable], devices: Sequence[str]) -> list[Variable]:
    """One of each variable, scalars excluded, that a device lacks or has in another number. Variables without a name of
    their own share one: their sizes tell them apart."""
    groups: defaultdict[tuple[str, int], list[Variable]] = defaultdict(list)
    for variable in variables:
        if variable.shape:
            groups[_REPLICA.sub("", variable.name), variable.bytes].append(variable)
    found: list[Variable] = []
    for group in groups.values():
        on = Counter(one.device for one in group)
        if any(on[device] != on[devices[0]] for device in devices):
            found.append(group[0])
    return found
