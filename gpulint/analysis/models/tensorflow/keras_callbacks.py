"""Keras callbacks: the methods that `fit` calls, and at which point of training."""

from __future__ import annotations

from contextlib import suppress

from gpulint.analysis.domain.completion import PathEnds
from gpulint.analysis.domain.context import Loop
from gpulint.analysis.domain.traversal import leaves_on
from gpulint.analysis.domain.values.base import NONE, Arguments, Value
from gpulint.analysis.domain.values.functions import Function, UserClass
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.domain.values.objects import Model
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow import foreign_objects
from gpulint.analysis.plan.events import LoopEntered
from gpulint.places import Site

_LIBRARY = "tensorflow.keras.callbacks."

_OF_BATCHES = ("on_train_batch_begin", "on_batch_begin", "on_train_batch_end", "on_batch_end")
"""Methods that Keras calls for every training batch."""

_IN_ORDER = ("on_train_begin", "on_epoch_begin", *_OF_BATCHES, "on_epoch_end", "on_train_end")


def call_callbacks(machine: Machine, model: Model, arguments: Arguments, site: Site) -> None:
    """Call the callbacks of a model that is fitted."""
    for callback in leaves_on(machine.path, machine.choose(arguments.get("callbacks") or NONE)):
        if isinstance(callback, Instance) and callback.cls is not None and _is_callback(callback.cls):
            machine.state.write(callback.attributes, "model", model)
            for name in _IN_ORDER:
                found = callback.cls.find(name)
                if found is not None and isinstance(found[0], Function):
                    _call(machine, callback, callback.cls, found[0], site)


def _call(machine: Machine, callback: Instance, cls: UserClass, method: Function, site: Site) -> None:
    with machine.within(machine.context._replace(loops=())):
        enter_batch_method(machine, cls, method)
        machine.call_method(callback, method, Arguments((), {}, True), site)


def enter_batch_method(machine: Machine, cls: UserClass, method: Function) -> None:
    """Enter a loop over batches if `method` is one that Keras calls for every batch."""
    if method.name in _OF_BATCHES and _is_callback(cls):
        loop = Loop(method.definition_site, None, False, {}, is_batches=True)
        machine.context = machine.context._replace(loops=(loop,), guards=())
        machine.emit(LoopEntered(method.definition_site, machine.where(), loop))


def call_beginnings(machine: Machine, callback: Value, method: Function, site: Site) -> None:
    """Give a callback that is not passed to `fit` a model, and call the methods that Keras calls before the first
    batch."""
    if not isinstance(callback, Instance) or callback.cls is None or not _is_callback(callback.cls):
        return
    cls = callback.cls
    if "model" not in callback.attributes:
        machine.state.write(callback.attributes, "model", foreign_objects.model(machine, site))
    if method.name in _OF_BATCHES:
        for name in ("on_train_begin", "on_epoch_begin"):
            found = cls.find(name)
            if found is not None and isinstance(found[0], Function):
                with suppress(PathEnds):
                    _call(machine, callback, cls, found[0], site)


def _is_callback(cls: UserClass) -> bool:
    return any(name.startswith(_LIBRARY) for name in cls.libraries())
