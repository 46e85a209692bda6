"""Instances of the program's own classes."""

from __future__ import annotations

from gpulint.analysis.domain.context import Object


class Instance(Object):
    """An instance of a user class that is of no more specific kind."""

    __slots__ = ()
