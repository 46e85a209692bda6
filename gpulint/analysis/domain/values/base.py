"""Values of any kind: what is known of a value, and nothing more special."""

from __future__ import annotations

from itertools import count
from typing import Any, ClassVar, NamedTuple

from gpulint.analysis.domain.path_conditions import Path
from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.knowledge.names import PRIVATE
from gpulint.places import Site

_SERIALS = count(1)


class Value:
    """Base of all abstract values."""

    __slots__ = ("_serial",)

    is_its_copy: ClassVar[bool] = False
    """Whether `list()` of it is represented by itself."""

    is_plain: ClassVar[bool] = False
    """Whether a function that is given nothing else does nothing of note."""

    def is_like(self, other: Value) -> bool:
        """Whether it can stand for another value where there are too many to follow each."""
        return False

    def renamed(self, name: str) -> Value:
        """It, after it went through a variable, an attribute or a key of that name."""
        return self

    @property
    def call_key(self) -> tuple[Any, ...] | None:
        """What tells arguments of one kind apart where their symbols say too much; None for the symbol."""
        return None

    @property
    def serial(self) -> int:
        """A number that no other value has or will have, unlike `id`, which the next one may get."""
        try:
            return self._serial
        except AttributeError:
            self._serial: int = next(_SERIALS)
            return self._serial


class Unknown(Value):
    """Anything. `symbol` names it, so that two tests of it agree."""

    __slots__ = ("symbol",)

    is_plain = True

    def __init__(self, name: Any) -> None:
        self.symbol = symbol(name)


class Constant(Value):
    """A value of a builtin type that the source spells out.

    `named` are the variables and parameters that it went through; `origin` is where the literal stands;
    `is_default` says that it is the default of a parameter, which callers can override; `is_passed` that a caller
    gave it as an argument.
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
        """It, after it went through a variable, an attribute or a key of that name: whole numbers remember it."""
        return self.through(name) if type(self.value) is int and name not in self.named else self

    def through(self, name: str) -> Constant:
        """It, after it went through one more variable, parameter, attribute or key."""
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
    """A string of which only some parts are known (an f-string, a concatenation): None for the others, and for a string
    of more than MAX_PARTS."""

    __slots__ = ("parts", "symbol")

    is_plain = True

    def __init__(self, parts: tuple[str | None, ...], name: Any) -> None:
        self.parts = parts if len(parts) <= MAX_PARTS else (None,)
        self.symbol = symbol(name)


MAX_PARTS = 100
"""Most parts of a string that are kept."""


class Union(Value):
    """One of several values, each with the path on which it is the one."""

    __slots__ = ("alternatives", "chosen")

    def __init__(self, alternatives: tuple[tuple[Path, Value], ...]) -> None:
        self.alternatives = alternatives
        self.chosen: dict[Path, Value | None] = {}
        """What of it is possible on paths that were asked for, None for all of it."""


class LibraryName(Value):
    """A name of a library, by its canonical dotted name: a module, class, function or constant. `package` is the one
    that the program had it from (Keras stands under TensorFlow, whichever it is imported from)."""

    __slots__ = ("name", "package", "symbol")

    def __init__(self, name: str, package: str = "") -> None:
        self.name = name
        self.package = package or name.partition(".")[0]
        self.symbol = symbol(("external", name))

    @property
    def is_private(self) -> bool:
        """Whether it is of TensorFlow's private copy of Keras 2."""
        return self.package == PRIVATE and self.name.startswith("tensorflow.keras.")


class Folder(Value):
    """A package of the project that is a folder without a file of its own, by its dotted name."""

    __slots__ = ("dotted", "symbol")

    def __init__(self, dotted: str) -> None:
        self.dotted = dotted
        self.symbol = symbol(("external", dotted))


class Imported(Value):
    """A project module, or a name of one (`attribute`), that is not read before it is used."""

    __slots__ = ("attribute", "dotted", "path")

    def __init__(self, path: str, dotted: str, attribute: str | None) -> None:
        self.path = path
        self.dotted = dotted
        self.attribute = attribute


class Arguments(NamedTuple):
    """What a call passes. `open` is true when a `*` or `**` of unknown content is among it."""

    positional: tuple[Value, ...] = ()
    keywords: dict[str, Value] = {}  # noqa: RUF012 - a NamedTuple default, never written
    open: bool = False
    sites: dict[str | int, Site] = {}  # noqa: RUF012
    handed_on: dict[str, Site] = {}  # noqa: RUF012
    """Where callers wrote the keywords that come of the function's own `**` parameter."""

    @property
    def written(self) -> dict[str, Site]:
        """Where each keyword was written, here or by a caller."""
        return {**self.handed_on, **{key: site for key, site in self.sites.items() if isinstance(key, str)}}

    def get(self, name: str, position: int | None = None) -> Value | None:
        """The argument of that keyword, or at that position."""
        if name in self.keywords:
            return self.keywords[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return None

    def of(self, name: str, params: tuple[str, ...]) -> Value | None:
        """The argument for the parameter `name`, given the names of the positional ones."""
        return self.get(name, params.index(name) if name in params else None)

    def all(self) -> tuple[Value, ...]:
        return (*self.positional, *self.keywords.values())

    def with_receiver(self, receiver: Value) -> Arguments:
        """The arguments of a method, its receiver first."""
        sites: dict[Any, Site] = {key + 1 if isinstance(key, int) else key: site for key, site in self.sites.items()}
        return self._replace(positional=(receiver, *self.positional), sites=sites)

    def merged(self, more: Arguments) -> Arguments:
        """The arguments of a partial, then those of its call."""
        return Arguments(
            self.positional + more.positional,
            {**self.keywords, **more.keywords},
            self.open or more.open,
            more.sites,
        )


def known(value: Value | None) -> object:
    """The Python value of a constant, or Ellipsis where it is not known."""
    return value.value if isinstance(value, Constant) else ...


def symbol_of(value: Value) -> Symbol:
    """A structural name of a value, for conditions about it."""
    own = getattr(value, "symbol", None)
    return own if isinstance(own, Symbol) else symbol(("value", value.serial))
