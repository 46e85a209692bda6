"""Context managers of Python that have not been entered."""

from __future__ import annotations

from typing import Any

from gpulint.analysis.domain.values.base import Arguments, Value
from gpulint.places import Site


class Manager(Value):
    """A context manager that has not been entered."""

    __slots__ = ("site", "state")

    def __init__(self, site: Site) -> None:
        self.site = site
        self.state: dict[str, Any] = {}


class GeneratorManager(Manager):
    """A call of a function decorated with `contextlib.contextmanager`."""

    __slots__ = ("arguments", "function")

    def __init__(self, site: Site, function: Value, arguments: Arguments) -> None:
        super().__init__(site)
        self.function = function
        self.arguments = arguments


class NullManager(Manager):
    """`contextlib.nullcontext` and similar managers. `value` is what `as` binds, `suppressed` are names of errors."""

    __slots__ = ("suppressed", "value")

    def __init__(self, site: Site, value: Value, suppressed: tuple[str, ...] = ()) -> None:
        super().__init__(site)
        self.value = value
        self.suppressed = suppressed


class ExitStackManager(Manager):
    """A `contextlib.ExitStack`."""

    __slots__ = ()
