"""Values that containers keep alive: tensors in device memory, and models."""

from __future__ import annotations

from collections.abc import Iterable

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.values.base import Value
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.objects import Model
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.plan import events
from gpulint.places import Site

MAX_HELD = 3
"""Maximum nesting of program objects between a container and a model it keeps."""


def container_grown(machine: Machine, container: Items | Mapping, value: Value, site: Site) -> None:
    """Record that a value is added to a container.

    A tensor stays in memory if the container was created outside the loops.
    """
    if not machine.context.loops or machine.context.traced is not None:
        return
    parts: Iterable[Value] = (value,)
    if isinstance(value, Items) and value.items is not None:
        parts = value.items
    elif isinstance(value, Items) and value.element is not None:
        parts = (value.element,)
    elif isinstance(value, Mapping) and value.entries:
        parts = value.entries.values()
    for part in parts:
        options = [option for _, option in alternatives(part, machine.path)]
        tensors_kept = [one for one in options if isinstance(one, Tensor) and _fills_memory(one)]
        if len(tensors_kept) == len(options):
            kept = next(filter(_is_number, tensors_kept), tensors_kept[0])
            machine.emit(events.TensorKept(site, machine.where(), container, kept))
        else:
            models_kept(machine, part, site)


def _is_number(tensor: Tensor) -> bool:
    """Whether a tensor is one number. What is a number on one path is one on the others, too."""
    return tensor.reduced is not None and tensor.reduced.is_number


def _fills_memory(tensor: Tensor) -> bool:
    """Whether a tensor occupies device memory."""
    return not (tensor.shape_of or tensor.from_data or tensor.on_host)


def models_kept(machine: Machine, value: Value, site: Site, depth: int = MAX_HELD) -> None:
    """Record that a value is added to a container: the models in it stay in memory on purpose."""
    if isinstance(value, Model):
        machine.emit(events.ModelKept(site, machine.where(), value))
    if isinstance(value, Object) and depth:
        for held in (*value.attributes.values(), *value.facts.values()):
            if isinstance(held, Object):
                models_kept(machine, held, site, depth - 1 if held.cls is not None else 0)
