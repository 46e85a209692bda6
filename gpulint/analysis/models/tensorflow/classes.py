"""Classes of libraries: what is an instance of which, and what stands for any of a module's."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.values.base import LibraryName, Value
from gpulint.analysis.domain.values.functions import UserClass
from gpulint.analysis.domain.values.objects import Layer, Metric, Model, Optimizer
from gpulint.knowledge import LEGACY_OPTIMIZERS, canonical, fact
from gpulint.knowledge.facts import Kind


def is_instance(value: Object, kind: Value) -> bool | None:
    """Whether a library's object is of a class; None where that is not known."""
    if isinstance(kind, UserClass):
        return False if _is_exact(value.library) else None
    if isinstance(kind, LibraryName) and value.library and not value.library.startswith(LEGACY_OPTIMIZERS):
        is_base = kind.name in _BASES and isinstance(value, _BASES[kind.name])
        return True if is_base or value.library == kind.name else None
    return None


def _is_exact(library: str) -> bool:
    """Whether an object of a library class that the program was seen to make is of that class and of no other."""
    known = fact(library)
    return known is not None and known.kind in _CLASSES and library not in _BASES


_CLASSES = frozenset({Kind.LAYER, Kind.METRIC, Kind.MODEL, Kind.OPTIMIZER, Kind.STRATEGY})


_BASES: dict[str, type[Object]] = {
    "tensorflow.keras.Layer": Layer,
    "tensorflow.keras.Metric": Metric,
    "tensorflow.keras.Model": Model,
    "tensorflow.keras.Optimizer": Optimizer,
    "tensorflow.keras.layers.Layer": Layer,
    "tensorflow.keras.metrics.Metric": Metric,
    "tensorflow.keras.optimizers.Optimizer": Optimizer,
}
"""Classes of the library of which others are derived, in the program perhaps, and what stands for their objects."""


def any_member(module: LibraryName) -> LibraryName | None:
    """What stands for whichever member of a module the program picks at run time."""
    return LibraryName(_ALIKE[module.name], module.package) if module.name in _ALIKE else None


_ALIKE = {
    "tensorflow.keras.applications": "tensorflow.keras.applications.ResNet50",
    "tensorflow.keras.optimizers": "tensorflow.keras.optimizers.Optimizer",
}
"""Modules → a name that stands for any of theirs: those that programs choose by an option are all of one kind."""


def from_star(modules: Sequence[str], name: str) -> LibraryName | None:
    """What a name is that star imports of these modules may have bound: one that a library is known to have, or any
    has."""
    for module in modules:
        dotted = canonical(f"{module}.{name}")
        if fact(dotted) is not None:
            return LibraryName(dotted)
    if any(module.partition(".")[0] not in sys.stdlib_module_names for module in modules):
        return LibraryName(_USUAL[name]) if name in _USUAL else None
    return None


_USUAL = {"np": "numpy", "plt": "matplotlib.pyplot", "tf": "tensorflow"}
"""What these names are in a program that binds them nowhere and takes all of a library that is not known."""
