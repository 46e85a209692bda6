"""Attributes that the `build` method of a layer or model assigns, which Keras calls before the first call."""

from __future__ import annotations

from functools import lru_cache

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.values.base import Unknown, Value
from gpulint.analysis.domain.values.functions import Function
from gpulint.analysis.domain.values.objects import Layer, Model
from gpulint.syntax import ir, walk


def attribute(receiver: Object, name: str) -> Value | None:
    """Value of an attribute that is still None and that `build` assigns. None for any other attribute."""
    if not isinstance(receiver, (Layer, Model)) or receiver.cls is None:
        return None
    found = receiver.cls.find("build")
    if found is None or not isinstance(found[0], Function) or name not in _assigned(found[0].definition):
        return None
    return Unknown(("attribute", receiver.symbol, name))


@lru_cache(maxsize=256)
def _assigned(definition: ir.FunctionDef | ir.Lambda) -> frozenset[str]:
    """Attributes of its first parameter that a method assigns."""
    assigned = (node for node in walk.below(definition) if isinstance(node, ir.Assign))
    return frozenset(
        target.name
        for node in assigned
        for target in node.targets
        if isinstance(target, ir.Attribute) and isinstance(target.value, ir.Name) and target.value.id == "self"
    )
