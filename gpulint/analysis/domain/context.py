"""Where execution stands: the scopes around a place, the loops, the way it was reached."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from gpulint.analysis.domain.path_conditions import EVERYWHERE, Path
from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.values.base import Value
from gpulint.analysis.domain.values.functions import UserClass
from gpulint.knowledge.devices import DeviceName
from gpulint.places import Site


class DeviceScope(NamedTuple):
    """An entered `tf.device`. `device` is None for `tf.device(None)` and where the name is not known;
    `chosen` is true where the program picks it at run time (a loop, a flag, what the machine has)."""

    site: Site
    device: DeviceName | None
    chosen: bool


class StrategyScope(NamedTuple):
    """An entered `strategy.scope()`."""

    site: Site
    strategy: Strategy


class Replica(NamedTuple):
    """The inside of a function that `strategy.run` was given."""

    site: Site
    """The `run` call."""
    strategy: Strategy


class Loop(NamedTuple):
    """A loop around the place.

    `unrolled`: its elements are known and it was gone through one by one. `names` are what its target binds;
    `start` is the path at the start of the present round. A method that Keras calls for every batch counts as a
    loop that `is_batches`. `entry` tells one run of the loop from the next, `turn` the rounds of it that are gone
    through, of which there are `turns`; `flags` and `handlers` count what is around it; `is_traced`: it is inside a
    `tf.function`.
    """

    site: Site
    iterable: Value | None
    unrolled: bool
    names: tuple[str, ...] = ()
    start: Path = EVERYWHERE
    is_batches: bool = False
    entry: int = 0
    turn: int = 0
    turns: int = 1
    flags: int = 0
    handlers: int = 0
    is_traced: bool = False
    goes_on: Sequence[tuple[int, Path]] = ()
    """Turns and the paths on which they ended where another may follow."""


class Context(NamedTuple):
    """What surrounds a place, outermost first. Immutable; entering something makes a new one."""

    devices: tuple[DeviceScope, ...] = ()
    scopes: tuple[StrategyScope, ...] = ()
    replica: Replica | None = None
    traced: Site | None = None
    """Where the function was wrapped in tf.function, inside a traced body."""
    mapped: Site | None = None
    """Where a pipeline was given the function, inside one of its functions."""
    jitted: Site | None = None
    """The same of the innermost function around the place that XLA compiles (`jit_compile=True`), with all that it
    calls."""
    maybe_traced: bool = False
    """Inside a function behind a decorator that gpulint does not know."""
    decorated: Site | None = None
    """The innermost of these functions."""
    maybe_scoped: bool = False
    """Inside a context manager that is not known and may be a strategy's scope."""
    loops: tuple[Loop, ...] = ()
    guards: tuple[Site, ...] = ()
    """Conditions (`if`, conditional expressions) around the place whose outcome is unknown, within `loops`."""
    flags: tuple[Site, ...] = ()
    """Conditions around the place of which the outcome is known, but only of this round or this setting: a mere name,
    a remainder."""
    handlers: tuple[frozenset[str], ...] = ()
    """Exception names that enclosing `try` statements catch, after which the program goes on."""

    @property
    def may_be_traced(self) -> bool:
        """Whether the place is inside a `tf.function`, or may be."""
        return self.traced is not None or self.maybe_traced

    @property
    def may_be_eager(self) -> bool:
        """Whether nothing but a decorator that is not known may trace what happens here."""
        return self.traced is None and (self.decorated is not None or not self.maybe_traced)

    @property
    def strategy(self) -> Strategy | None:
        """The strategy in force here, entered or through a replica function."""
        if self.replica is not None:
            return self.replica.strategy
        return self.scopes[-1].strategy if self.scopes else None

    @property
    def is_outside(self) -> bool:
        """Whether no strategy is in force for certain."""
        return self.strategy is None and not self.maybe_scoped

    @property
    def device(self) -> DeviceScope | None:
        """The innermost device scope."""
        return self.devices[-1] if self.devices else None

    def catches(self, errors: Collection[str]) -> bool:
        """Whether a handler around it names one of these errors, and the program goes on after it."""
        return any(not names.isdisjoint(errors) for names in self.handlers)

    @property
    def is_on_cpu(self) -> bool:
        """Whether the innermost device scope names a CPU: what is called there, a `tf.function` too, is done there (run
        on 2.21)."""
        return self.device is not None and self.device.device is not None and self.device.device.is_cpu


class Caller(NamedTuple):
    """One call on the way to a place; a linked list that ends at the entry point with None."""

    site: Site | None
    """The call, or None for an entry point."""
    function: str
    """Name of the function that was entered; "" for a module."""
    parent: Caller | None
    known: bool
    """False where an entry point is a function that nobody in the program calls: what holds at its
    start is not known."""
    depth: int = 0
    loops: int = 0
    """How many loops are around the call."""
    definition: Site | None = None
    """The function that was entered."""


class Where(NamedTuple):
    """Everything about the moment of an event but its place."""

    context: Context
    path: Path
    caller: Caller
    graph_mode: bool = False
    """In a file of TF1 graph-mode code."""
    assured: Path = EVERYWHERE
    """Conditions that held wherever the program, or the loop, went on: what `assert`, and branches that raise or end
    the loop, have seen to so far."""
    demands: frozenset[tuple[Path, Path]] = frozenset()
    """What the program has demanded so far, or else it ends with an error: paths and what was demanded on each."""

    @property
    def demanded(self) -> Path:
        """The conditions of the path without which the program has ended with an error: none of them chooses."""
        return EVERYWHERE.union(*(what for path, what in self.demands if path <= self.path and what <= self.path))


NOWHERE = Where(Context(), EVERYWHERE, Caller(None, "", None, True))


def entry_point(where: Where, path: str) -> Site | None:
    """The function that nobody in the file at `path` calls and that a moment is reached from; None where the file's own
    body leads there. What another file wraps around it, or calls it from, is run for others as well."""
    if where.caller.known:
        return None
    called = [one.definition for one in reversed(list(callers(where.caller))) if one.definition is not None]
    return next((one for one in called if one.path == path), called[0] if called else None)


def callers(caller: Caller | None) -> Iterator[Caller]:
    """From the innermost call outwards, the entry point last."""
    while caller is not None:
        yield caller
        caller = caller.parent


class Object(Value):
    """Something made at a place, with attributes. `cls` is the program's own class of it, if any;
    `library` the canonical name of the library class it is an instance of, if any. `is_private`: that class is one of
    TensorFlow's private copy of Keras 2; None where it is not known which of the two it is of."""

    __slots__ = ("attributes", "blame", "cls", "is_private", "library", "seen", "site", "where")

    def __init__(self, site: Site, where: Where = NOWHERE, library: str = "", cls: UserClass | None = None) -> None:
        self.site = site
        self.where = where
        self.library = library
        self.cls = cls
        self.is_private: bool | None = cls is not None and cls.is_private
        self.attributes: dict[str, Any] = {}
        self.blame: Site | None = None
        """The call to change if it was made in the wrong place: in the innermost function around it that
        could see a strategy. None where no function could."""
        self.seen: Strategy | None = None
        """That strategy."""

    @property
    def symbol(self) -> Symbol:
        return symbol(("object", self.site, self.serial))


class Strategy(Object):
    """A `tf.distribute.Strategy`. `kind` as in the knowledge table; `devices` are the literal device
    strings that it was given (None where unknown or left to TensorFlow). `alone`: the program leaves itself one
    GPU, or gives it one device, so that there is one replica."""

    __slots__ = ("alone", "devices", "kind")

    def __init__(
        self, site: Site, where: Where, library: str, kind: str, devices: Value | None, alone: bool = False
    ) -> None:
        super().__init__(site, where, library)
        self.kind = kind
        self.devices = devices
        self.alone = alone

    @property
    def is_multi_replica(self) -> bool:
        """Whether it is of a kind that trains on several replicas."""
        return self.kind in MULTI_REPLICA


MULTI_REPLICA = frozenset({"mirrored", "multi_worker", "central_storage", "parameter_server", "tpu"})
