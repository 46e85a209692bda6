"""Lists, tuples, sets and dicts."""

from __future__ import annotations

from typing import Any

from gpulint.analysis.domain.context import Loop
from gpulint.analysis.domain.symbolic import symbol
from gpulint.analysis.domain.values.base import Value
from gpulint.places import Site


class Items(Value):
    """A tuple, list, set, range, zip … `items` when each element is known, else `element` stands for all of
    them (None: nothing is known). Lists that grow keep what they hold in `state` under "items"."""

    __slots__ = ("around", "is_endless", "joined", "kind", "over", "state", "symbol")

    is_plain = True

    def __init__(
        self,
        kind: str,
        items: tuple[Value, ...] | None = None,
        element: Value | None = None,
        name: Any = None,
        over: tuple[Value, ...] = (),
    ) -> None:
        self.kind = kind
        self.over = over
        """What it goes over, of `enumerate` and `zip`; of a generator the datasets of the loops around its `yield`."""
        self.around: tuple[Loop, ...] | None = None
        """The loops around the place where it was made; None where they are not known."""
        self.is_endless = False
        """A generator that goes on for ever."""
        self.joined: tuple[Items, Items] | None = None
        """Of `a + b`, both."""
        self.symbol = symbol(name) if name is not None else symbol(("value", self.serial))
        self.state: dict[str, Any] = {"items": items, "element": element}

    @property
    def items(self) -> tuple[Value, ...] | None:
        items: tuple[Value, ...] | None = self.state["items"]
        return items

    @property
    def element(self) -> Value | None:
        element: Value | None = self.state["element"]
        return element


class Mapping(Value):
    """A dict: values of known constant keys in `entries`; `complete` when there are no others."""

    __slots__ = ("around", "entries", "given", "makes_lists", "state", "symbol")

    is_plain = True

    def __init__(self, entries: dict[Any, Any], complete: bool, name: Any) -> None:
        self.entries: dict[Any, Any] = entries
        self.given: dict[str, tuple[Value, Site]] = {}
        """Of the `**` parameter of a function, what a call gave for it by keyword, and where."""
        self.around: tuple[Loop, ...] | None = None
        """The loops around the place where it was made; None where they are not known."""
        self.makes_lists = False
        """A `defaultdict(list)`."""
        self.state: dict[str, Any] = {"complete": complete}
        self.symbol = symbol(name)
