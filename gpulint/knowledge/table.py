"""The generated tables, each read when it is first needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pkgutil import get_data
from typing import Any

from gpulint.knowledge.facts import Fact, Initialises, Kind


def read(name: str) -> dict[str, Any]:
    """Content of a JSON file of this package. Importing `importlib.resources` would take longer than reading it."""
    table: dict[str, Any] = json.loads(get_data("gpulint.knowledge", name) or b"")
    return table


@lru_cache(maxsize=1)
def _api() -> dict[str, Any]:
    return read("api.json")


@lru_cache(maxsize=1)
def _kernels() -> dict[str, Any]:
    return read("kernels.json")


@lru_cache(maxsize=1)
def kernels() -> dict[str, list[str]]:
    """Canonical name → dtypes with a GPU kernel (empty: no GPU kernel at all), for functions that lack some."""
    return {f"tensorflow.{name}": dtypes for name, dtypes in _kernels()["gpu_dtypes"].items()}


@lru_cache(maxsize=1)
def op_kernels() -> dict[str, tuple[list[str], list[str]]]:
    """Op → dtypes of its first input with a GPU kernel, and those that such a kernel takes from host memory.

    An op that is missing runs on a GPU for any input, or is unknown.
    """
    table = read("gpu_kernels.json")
    types = [names.split() for names in table["types"]]
    known: dict[str, tuple[list[str], list[str]]] = {}
    for op, kernels_of_op in table["kernels"].items():
        if op not in table["first"] and kernels_of_op:
            continue
        attribute, argument = table["first"].get(op, ("", ""))
        device = {name for row, _ in kernels_of_op for name in types[row[attribute]]}
        host = {name for row, kept in kernels_of_op if argument in kept for name in types[row[attribute]]}
        known[op] = sorted(device), sorted(host)
    return known


@lru_cache(maxsize=1)
def aliases() -> dict[str, str]:
    """Aliases in the table → canonical names."""
    return {f"tensorflow.{alias}": f"tensorflow.{name}" for alias, name in _api()["aliases"].items()}


@lru_cache(maxsize=1)
def names_of_classes() -> dict[str, str]:
    """Last part → canonical name, for classes and model factories, which private module paths end in."""
    named = {
        name.rpartition(".")[2]: f"tensorflow.{name}"
        for name, (kind, _, _) in _api()["facts"].items()
        if kind in _CLASSES
    }
    from gpulint.knowledge.strategies import STRATEGIES

    return named | {name.rpartition(".")[2]: name for name in STRATEGIES}


_CLASSES = frozenset({"model", "layer", "optimizer", "loss", "metric", "model-factory"})

_INITIALISES = {
    "op": Initialises.YES,
    "reduction": Initialises.YES,
    "loss-function": Initialises.YES,
    "optimizer": Initialises.YES,
    "metric": Initialises.YES,
    "dataset": Initialises.YES,
    "model-factory": Initialises.YES,
}
"""Effect of each kind on the runtime (run on 2.16 and 2.21).

Unbuilt models, losses and layers have none, except layers with random state or tables of their own (detail "state").
Metrics have one, except those that create their variables when they are first updated (detail "late").
"""


def generated_names() -> Iterator[str]:
    """Every name in the generated table, canonical or not."""
    yield from _api()["facts"]
    yield from _api()["aliases"]


def generated(name: str) -> Fact | None:
    """Fact of a canonical name from the generated table."""
    if not name.startswith("tensorflow."):
        return None
    entry = _api()["facts"].get(name[len("tensorflow.") :])
    if entry is None:
        return None
    kind, detail, params = entry
    effects = {"state": Initialises.YES, "late": Initialises.NO}
    initialises = effects.get(detail) or _INITIALISES.get(kind, Initialises.NO)
    return Fact(Kind(kind), tuple(params), initialises, detail)
