"""Classes of libraries: instance tests, and members of modules that are picked at run time."""

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
    """Whether a library object is an instance of a class, None where that is unknown."""
    if isinstance(kind, UserClass):
        return False if _is_exact(value.library) else None
    if isinstance(kind, LibraryName) and value.library and not value.library.startswith(LEGACY_OPTIMIZERS):
        is_base = kind.name in _BASES and isinstance(value, _BASES[kind.name])
        return True if is_base or value.library == kind.name else None
    return None


def _is_exact(library: str) -> bool:
    """Whether a library object that the program creates is of exactly that class and of no subclass."""
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
"""Library classes that others, perhaps the program's own, derive from → type of value of their instances."""


def any_member(module: LibraryName) -> LibraryName | None:
    """Representative of a module's members where the program picks one at run time, None for other modules."""
    return LibraryName(_ALIKE[module.name], module.package) if module.name in _ALIKE else None


_ALIKE = {
    "tensorflow.keras.applications": "tensorflow.keras.applications.ResNet50",
    "tensorflow.keras.optimizers": "tensorflow.keras.optimizers.Optimizer",
}
"""Modules → representative of their members. Programs choose among these by an option, and all are of one kind."""


def from_star(modules: Sequence[str], name: str) -> LibraryName | None:
    """Library name that star imports of these modules may have bound to `name`, None for no known one.

    Modules of unknown libraries may bind any of the usual names.
    """
    for module in modules:
        dotted = canonical(f"{module}.{name}")
        if fact(dotted) is not None:
            return LibraryName(dotted)
    if any(module.partition(".")[0] not in sys.stdlib_module_names for module in modules):
        return LibraryName(_USUAL[name]) if name in _USUAL else None
    return None


_USUAL = {"np": "numpy", "plt": "matplotlib.pyplot", "tf": "tensorflow"}
"""Usual meanings of names that a program binds nowhere but may get by star import from an unknown library."""
