"""Context managers of Python that are not entered yet."""

from __future__ import annotations

from typing import Any

from gpulint.analysis.domain.values.base import Arguments, Value
from gpulint.places import Site


class Manager(Value):
    """A context manager that is not entered yet."""

    __slots__ = ("site", "state")

    def __init__(self, site: Site) -> None:
        self.site = site
        self.state: dict[str, Any] = {}


class GeneratorManager(Manager):
    """A call of a function behind `contextlib.contextmanager`."""

    __slots__ = ("arguments", "function")

    def __init__(self, site: Site, function: Value, arguments: Arguments) -> None:
        super().__init__(site)
        self.function = function
        self.arguments = arguments


class NullManager(Manager):
    """`contextlib.nullcontext` and its like; `value` is what `as` binds."""

    __slots__ = ("value",)

    def __init__(self, site: Site, value: Value) -> None:
        super().__init__(site)
        self.value = value


class ExitStackManager(Manager):
    """A `contextlib.ExitStack`."""

    __slots__ = ()
