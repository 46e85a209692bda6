"""The program's variables, each with its owner: a layer, an optimizer or neither."""

from __future__ import annotations

import gc
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpulint.estimate.graph import Group


@dataclass(frozen=True, slots=True)
class Owned:
    """A variable of TensorFlow with its owner."""

    variable: Any
    group: Group
    is_trainable: bool
    layer: str
    copies: int
    """Replicas that have a copy of it."""


class Inventory:
    """All variables that are alive, by the identity of their handles."""

    def __init__(self) -> None:
        self.optimizers: list[Any] = []
        owners: dict[int, tuple[Group, bool, str]] = {}
        sizes: dict[int, int] = {}
        found: list[Any] = [one for one in gc.get_objects() if _kinds_of(one)]
        for one in found:
            kinds = _kinds_of(one)
            if "Optimizer" in kinds:
                self.optimizers.append(one)
                for part in _parts(_list(one, "variables")):
                    owners[id(part.handle)] = "slots", False, ""
            elif "Layer" in kinds:
                trainable = {id(part.handle) for part in _parts(_list(one, "trainable_weights"))}
                weights = [id(part.handle) for part in _parts(_list(one, "weights"))]
                path = str(getattr(one, "path", None) or getattr(one, "name", ""))
                for handle in weights:  # of all layers with the variable, the innermost has the fewest weights
                    if len(weights) <= sizes.get(handle, len(weights)):
                        sizes[handle] = len(weights)
                        owners[handle] = "weights", handle in trainable, path
        copies = {
            id(part.handle): len(one._values)
            for one in found
            if "DistributedVariable" in _kinds_of(one)
            for part in _parts([one])
        }
        self.known: dict[int, Owned] = {}
        """Identity of a handle → the variable, in the order in which they were created: memory is laid out by that."""
        parts = [part for one in found if "BaseResourceVariable" in _kinds_of(one) for part in _parts([one])]
        for part in sorted(parts, key=_age):
            is_trainable = bool(part.trainable)
            default: tuple[Group, bool, str] = "weights" if is_trainable else "other", is_trainable, ""
            group, is_trainable, layer = owners.get(id(part.handle), default)
            self.known[id(part.handle)] = Owned(part, group, is_trainable, layer, copies.get(id(part.handle), 1))

    def trained(self) -> set[int]:
        """Identities of the handles of variables for which an optimizer has been built."""
        return {id(part.handle) for one in self.optimizers for part in _parts(_list(one, "_trainable_variables"))}

    def untrained(self) -> list[Any]:
        """The trainable variables without an optimizer, in the order in which they were created."""
        trained = self.trained()
        return [one.variable for identity, one in self.known.items() if one.is_trainable and identity not in trained]


def _age(part: Any) -> int:
    """Variables are numbered as they are created; 0 if the number is unknown."""
    number = str(getattr(part, "_unique_id", "")).rpartition("_")[2]
    return int(number) if number.isdecimal() else 0


def _kinds_of(value: object) -> frozenset[str]:
    kind: Any = type(value)
    return _kinds(kind)


@cache
def _kinds(kind: Hashable) -> frozenset[str]:
    """The kind of a class, from the library classes among its bases."""
    found = set()
    for base in getattr(kind, "__mro__", ()):
        if str(base.__module__).partition(".")[0] in ("keras", "tf_keras", "tensorflow"):
            if base.__name__ in ("Layer", "BaseResourceVariable", "DistributedVariable"):
                found.add(base.__name__)
            if base.__name__ in ("BaseOptimizer", "OptimizerV2", "_BaseOptimizer"):
                found.add("Optimizer")
    return frozenset(found)


def _list(owner: Any, name: str) -> Iterable[Any]:
    try:
        value = getattr(owner, name)
        return list(value() if callable(value) else value)
    except Exception:  # a property of the program's own class
        return []


def _parts(variables: Iterable[Any]) -> Iterator[Any]:
    """TensorFlow's variables: Keras 3 wraps them, strategies have one for each replica."""
    for one in variables:
        inner = getattr(one, "_value", None) if type(one).__module__.startswith("keras.") else one
        values = getattr(inner, "_values", None)
        for part in values if isinstance(values, (tuple, list)) else (inner,):
            if part is not None and _has_handle(part):
                yield part


def _has_handle(part: Any) -> bool:
    try:
        return part.handle is not None
    except Exception:  # not created yet
        return False
