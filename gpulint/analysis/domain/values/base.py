"""Base classes of values, and values of no particular family."""

from __future__ import annotations

from itertools import count
from typing import Any, ClassVar, NamedTuple

from gpulint.analysis.domain.path_conditions import Path
from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.knowledge.names import PRIVATE
from gpulint.places import Site

_SERIALS = count(1)


def new_serial() -> int:
    """A serial number that is greater than all before."""
    return next(_SERIALS)


class Value:
    """Base of all abstract values."""

    __slots__ = ("_serial",)

    is_its_copy: ClassVar[bool] = False
    """Whether the value also represents `list(value)`."""

    is_plain: ClassVar[bool] = False
    """Whether a function called with only such arguments has no effect of interest."""

    def is_like(self, other: Value) -> bool:
        """Whether this value can represent `other` if there are too many values to follow each."""
        return False

    def renamed(self, name: str) -> Value:
        """The value after assignment to a variable, an attribute or a key called `name`."""
        return self

    @property
    def call_key(self) -> tuple[Any, ...] | None:
        """Key that distinguishes arguments of this kind in call summaries where symbols are too specific; None to use
        the symbol."""
        return None

    @property
    def serial(self) -> int:
        """Serial number, never reused, unlike `id`."""
        try:
            return self._serial
        except AttributeError:
            self._serial: int = new_serial()
            return self._serial


class Unknown(Value):
    """An unknown value. `symbol` names it, so that two tests of it agree."""

    __slots__ = ("symbol",)

    is_plain = True

    def __init__(self, name: Any) -> None:
        self.symbol = symbol(name)


class Constant(Value):
    """A value of a built-in type spelled out in the source.

    `named` are the variables and parameters that it passed through. `origin` is the site of the literal. `is_default`:
    it is the default of a parameter, which callers can override. `is_passed`: a caller passed it as an argument.
    """

    __slots__ = ("_symbol", "is_default", "is_passed", "named", "origin", "value")

    is_plain = True

    def __init__(
        self,
        value: object,
        origin: Site | None = None,
        named: tuple[str, ...] = (),
        is_default: bool = False,
    ) -> None:
        self.value = value
        self.origin = origin
        self.named = named
        self.is_default = is_default
        self.is_passed = False
        self._symbol: Symbol | None = None

    def renamed(self, name: str) -> Constant:
        """The value after assignment to `name`. Only integers record it."""
        return self.through(name) if type(self.value) is int and name not in self.named else self

    def through(self, name: str) -> Constant:
        """The value after one more variable, parameter, attribute or key."""
        passed_on = Constant(self.value, self.origin, (*self.named[:7], name))
        passed_on.is_passed = self.is_passed
        return passed_on

    @property
    def symbol(self) -> Symbol:
        if self._symbol is None:
            self._symbol = symbol(("constant", type(self.value).__name__, self.value))
        return self._symbol


NONE = Constant(None)

TRUE = Constant(True)

FALSE = Constant(False)


class PartialString(Value):
    """A string known in part (an f-string, a concatenation). Unknown parts are None. A string with more than
    `MAX_PARTS` parts is wholly unknown."""

    __slots__ = ("parts", "symbol")

    is_plain = True

    def __init__(self, parts: tuple[str | None, ...], name: Any) -> None:
        self.parts = parts if len(parts) <= MAX_PARTS else (None,)
        self.symbol = symbol(name)


MAX_PARTS = 100
"""Maximum number of parts kept per string."""


class Union(Value):
    """One of several values, each with the path on which it applies."""

    __slots__ = ("alternatives", "chosen")

    def __init__(self, alternatives: tuple[tuple[Path, Value], ...]) -> None:
        self.alternatives = alternatives
        self.chosen: dict[Path, Value | None] = {}
        """Cache of `store.choose`: the possible alternatives by path, None if all are possible."""


class LibraryName(Value):
    """A module, class, function or constant of a library, by its canonical dotted name.

    `package` is the package that the program imported it from. Canonical names of Keras start with `tensorflow.`,
    whichever package they are imported from.
    """

    __slots__ = ("name", "package", "symbol")

    def __init__(self, name: str, package: str = "") -> None:
        self.name = name
        self.package = package or name.partition(".")[0]
        self.symbol = symbol(("external", name))

    @property
    def is_private(self) -> bool:
        """Whether it belongs to TensorFlow's private copy of Keras 2."""
        return self.package == PRIVATE and self.name.startswith("tensorflow.keras.")


class Folder(Value):
    """A namespace package of the project (a folder without `__init__.py`), by its dotted name."""

    __slots__ = ("dotted", "symbol")

    def __init__(self, dotted: str) -> None:
        self.dotted = dotted
        self.symbol = symbol(("external", dotted))


class Imported(Value):
    """A project module, or a name in one (`attribute`), that is not loaded until it is used."""

    __slots__ = ("attribute", "dotted", "path")

    def __init__(self, path: str, dotted: str, attribute: str | None) -> None:
        self.path = path
        self.dotted = dotted
        self.attribute = attribute


class Arguments(NamedTuple):
    """Arguments of a call. `open`: they include a `*` or `**` argument with unknown content."""

    positional: tuple[Value, ...] = ()
    keywords: dict[str, Value] = {}  # noqa: RUF012 - a NamedTuple default, never written
    open: bool = False
    sites: dict[str | int, Site] = {}  # noqa: RUF012
    handed_on: dict[str, Site] = {}  # noqa: RUF012
    """Sites where callers wrote the keywords that are forwarded from the function's own `**` parameter."""
    spread: Value | None = None
    """Value of an argument with a `*` whose length is unknown, if it is the only argument."""
    mapped: Value | None = None
    """Value of an argument with a `**` whose keys are not all known."""

    @property
    def written(self) -> dict[str, Site]:
        """Sites where the keywords were written, here or by a caller."""
        return {**self.handed_on, **{key: site for key, site in self.sites.items() if isinstance(key, str)}}

    def get(self, name: str, position: int | None = None) -> Value | None:
        """Argument with this keyword or at this position."""
        if name in self.keywords:
            return self.keywords[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return None

    def of(self, name: str, params: tuple[str, ...]) -> Value | None:
        """Argument for the parameter `name`, given the names of the positional parameters."""
        return self.get(name, params.index(name) if name in params else None)

    def all(self) -> tuple[Value, ...]:
        return (*self.positional, *self.keywords.values())

    def with_receiver(self, receiver: Value) -> Arguments:
        """Arguments of a method call, with the receiver first."""
        sites: dict[Any, Site] = {key + 1 if isinstance(key, int) else key: site for key, site in self.sites.items()}
        return self._replace(positional=(receiver, *self.positional), sites=sites)

    def merged(self, more: Arguments) -> Arguments:
        """Arguments of a partial followed by those of its call."""
        return Arguments(
            self.positional + more.positional,
            {**self.keywords, **more.keywords},
            self.open or more.open,
            more.sites,
        )


def known(value: Value | None) -> object:
    """Python value of a constant, or Ellipsis if it is unknown."""
    return value.value if isinstance(value, Constant) else ...


def symbol_of(value: Value) -> Symbol:
    """Structural name of a value, for conditions about it."""
    own = getattr(value, "symbol", None)
    return own if isinstance(own, Symbol) else symbol(("value", value.serial))
