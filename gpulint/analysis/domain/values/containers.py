"""Lists, tuples, sets and dicts."""

from __future__ import annotations

from typing import Any

from gpulint.analysis.domain.context import Loop
from gpulint.analysis.domain.symbolic import symbol
from gpulint.analysis.domain.values.base import Value, new_serial
from gpulint.places import Site

CREATED: Any = object()
"""Key in the state of a container for a number that is greater than those of all containers before."""


class Items(Value):
    """A tuple, list, set, range, zip and so on.

    `items` are the elements if each is known; otherwise `element` represents all of them, and None means that nothing
    is known. `state` holds both, and the number of elements, so that lists can grow.
    """

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
        """Iterables behind it. For `enumerate` and `zip` their arguments; for a generator the datasets of the loops
        around its `yield`."""
        self.around: tuple[Loop, ...] | None = None
        """Loops around the site where it was created; None if they are unknown."""
        self.is_endless = False
        """Whether it is a generator that never ends."""
        self.joined: tuple[Items, Items] | None = None
        """Operands of the `a + b` that created it."""
        self.symbol = symbol(name) if name is not None else symbol(("value", self.serial))
        self.state: dict[Any, Any] = {"items": items, "element": element, "grown": None, CREATED: new_serial()}

    @property
    def items(self) -> tuple[Value, ...] | None:
        items: tuple[Value, ...] | None = self.state["items"]
        return items

    @property
    def element(self) -> Value | None:
        element: Value | None = self.state["element"]
        return element

    @property
    def grown(self) -> frozenset[tuple[object, int]] | None:
        """What added elements, each with their maximum number, where the elements are not known one by one; None if
        their number is unknown."""
        grown = self.state["grown"]
        return grown if isinstance(grown, frozenset) else None

    @property
    def most(self) -> int | None:
        """Maximum number of elements, where they are not known one by one; None if it is unknown."""
        return sum(count for _, count in self.grown) if self.grown is not None else None

    @most.setter
    def most(self, count: int | None) -> None:
        self.state["grown"] = frozenset({((), count)}) if count is not None else None


class Mapping(Value):
    """A dict. `entries` has the values of the known constant keys; `complete`: there are no other keys."""

    __slots__ = ("around", "entries", "given", "makes_lists", "state", "symbol")

    is_plain = True

    def __init__(self, entries: dict[Any, Any], complete: bool, name: Any) -> None:
        self.entries: dict[Any, Any] = entries
        self.given: dict[str, tuple[Value, Site]] = {}
        """For the `**` parameter of a function, the keyword arguments that it received and their sites."""
        self.around: tuple[Loop, ...] | None = None
        """Loops around the site where it was created; None if they are unknown."""
        self.makes_lists = False
        """Whether it is a `defaultdict(list)`."""
        self.state: dict[Any, Any] = {"complete": complete, CREATED: new_serial()}
        self.symbol = symbol(name)

    @property
    def is_complete(self) -> bool:
        """Whether `entries` has all keys. The state is None where branches differ."""
        return bool(self.state["complete"])
