"""Uses of public names that TensorFlow no longer has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulint.analysis.events import RemovedNameUsed
from gpulint.analysis.values import Dataset, Layer, Model, Object, Optimizer, Strategy, Value
from gpulint.knowledge.names import public_name
from gpulint.knowledge.removed import is_importable, method_since, replacement, since
from gpulint.places import Site

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter

_CLASSES: tuple[tuple[type, str], ...] = (
    (Model, "tensorflow.keras.Model"),
    (Layer, "tensorflow.keras.layers.Layer"),
    (Optimizer, "tensorflow.keras.Optimizer"),
    (Strategy, "tensorflow.distribute.Strategy"),
    (Dataset, "tensorflow.data.Dataset"),
)
"""The class whose methods a value has where its own is not in the table."""


def named(interp: Interpreter, name: str, site: Site) -> bool:
    """A dotted name is read; whether it is gone."""
    gone = since(name)
    if gone is not None:
        interp.emit(RemovedNameUsed(site, interp.where(), name, gone, replacement(name)))
    return gone is not None


def imported(interp: Interpreter, dotted: str, site: Site) -> None:
    """A module or a name of one is imported: the outermost part of it that is gone counts."""
    public = public_name(dotted)
    if public is None:
        return
    parts = public.split(".")
    for length in range(2, len(parts) + 1):
        if is_importable(".".join(parts[:length])):
            return
        if named(interp, ".".join(parts[:length]), site):
            return


def method(interp: Interpreter, receiver: Value, name: str, site: Site) -> None:
    """A method of a library object is read."""
    classes = [receiver.library] if isinstance(receiver, Object) else []
    if isinstance(receiver, Optimizer) and receiver.scales:
        classes.insert(0, "tensorflow.keras.optimizers.LossScaleOptimizer")
    classes += [library for kind, library in _CLASSES if isinstance(receiver, kind)]
    for library in classes:
        if (gone := method_since(library, name)) is not None:
            interp.emit(RemovedNameUsed(site, interp.where(), f"{library}.{name}", gone, None, True))
            return
