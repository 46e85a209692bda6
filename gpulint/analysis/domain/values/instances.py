"""Instances of the program's own classes, and their attributes as a dict."""

from __future__ import annotations

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.symbolic import symbol
from gpulint.analysis.domain.values.base import Value


class Instance(Object):
    """An instance of a user class that is of no more specific kind."""

    __slots__ = ()


class AttributeDict(Value):
    """Attributes of an object of the program as a dict: `vars(options)`, `options.__dict__`."""

    __slots__ = ("owner", "symbol")

    def __init__(self, owner: Object) -> None:
        self.owner = owner
        self.symbol = symbol(("attribute", owner.symbol, "__dict__"))
