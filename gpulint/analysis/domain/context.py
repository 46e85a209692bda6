"""Program points: the scopes and loops around a statement, and the calls that lead to it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from gpulint.analysis.domain.path_conditions import EVERYWHERE, Path
from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.values.base import Value
from gpulint.analysis.domain.values.functions import UserClass
from gpulint.analysis.domain.values.object_facts import ObjectFact
from gpulint.knowledge.devices import DeviceName
from gpulint.places import Site


# Objects come first: mypyc needs the class of a field before it can build a NamedTuple.
class Object(Value):
    """An object created at a site, with attributes.

    `cls` is its class if the program defines it. `library` is the canonical name of the library class that it is an
    instance of, or "". `is_private`: that class belongs to TensorFlow's private copy of Keras 2; None if it is unknown
    which of the two copies.
    """

    __slots__ = ("attributes", "blame", "cls", "facts", "is_private", "library", "seen", "site", "where")

    def __init__(self, site: Site, where: Where | None = None, library: str = "", cls: UserClass | None = None) -> None:
        self.site = site
        self.where: Where = where if where is not None else NOWHERE
        self.library = library
        self.cls = cls
        self.is_private: bool | None = cls is not None and cls.is_private
        self.attributes: dict[str, Any] = {}
        self.facts: dict[ObjectFact, Any] = {}
        self.blame: Site | None = None
        """The call to change if the object was created in the wrong place: the one in the innermost function around it
        that could see a strategy. None if no function could."""
        self.seen: Strategy | None = None
        """The strategy that this function could see."""

    @property
    def symbol(self) -> Symbol:
        return symbol(("object", self.site, self.serial))


class Strategy(Object):
    """A `tf.distribute.Strategy`.

    `kind` is "mirrored", "multi_worker", "central_storage", "parameter_server", "tpu", "one_device" or "default" (the
    result of `get_strategy` outside of every scope). `devices` are the literal device strings passed to it, or None if
    they are unknown or left to TensorFlow. `alone`: the program makes only one GPU visible or passes one device, so
    that there is one replica.
    """

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
        """Whether strategies of this kind train on several replicas."""
        return self.kind in MULTI_REPLICA


MULTI_REPLICA = frozenset({"mirrored", "multi_worker", "central_storage", "parameter_server", "tpu"})


class DeviceScope(NamedTuple):
    """An entered `tf.device`.

    `device` is None for `tf.device(None)` and for an unknown name. `chosen` is true if the program selects the device
    at run time (by a loop, a flag or the devices of the machine).
    """

    site: Site
    device: DeviceName | None
    chosen: bool


class StrategyScope(NamedTuple):
    """An entered `strategy.scope()`."""

    site: Site
    strategy: Strategy


class Replica(NamedTuple):
    """The body of a function passed to `strategy.run`."""

    site: Site
    """The `run` call."""
    strategy: Strategy


class Loop(NamedTuple):
    """A loop around the present statement.

    `unrolled`: the elements are known and the loop is executed once per element. `names` are the variables that its
    target binds. `start` is the path at the start of the present iteration. `is_batches`: the "loop" is a method that
    Keras calls for every batch. `entry` identifies one execution of the loop. `iteration` is the index of the present
    iteration among the `iterations` that are analysed. `flags` and `handlers` are how many of the context's flags and
    handlers enclose the loop. `is_traced`: the loop is inside a `tf.function`.
    """

    site: Site
    iterable: Value | None
    unrolled: bool
    counters: dict[Site, tuple[int, int] | None]
    """Sites where numbers are incremented or decremented in this execution of the loop, also by functions it calls.
    Each has the start and the step of its counter, None if they are unknown."""
    names: tuple[str, ...] = ()
    start: Path = EVERYWHERE
    is_batches: bool = False
    entry: int = 0
    iteration: int = 0
    iterations: int = 1
    flags: int = 0
    handlers: int = 0
    is_traced: bool = False
    continuations: Sequence[tuple[int, Path]] = ()
    """Iterations that another one may follow, each with the path on which it ended."""
    before: Path = EVERYWHERE
    """The path before the loop."""


class Flag(NamedTuple):
    """A condition whose outcome is known. `is_setting`: it tests only names and attributes, so that all iterations in
    which they keep their values have the outcome, rather than a remainder or what the first use creates."""

    site: Site
    is_setting: bool


class Context(NamedTuple):
    """Scopes, loops and conditions around a statement, outermost first. Immutable: entering a scope creates a new
    context."""

    devices: tuple[DeviceScope, ...] = ()
    scopes: tuple[StrategyScope, ...] = ()
    replica: Replica | None = None
    traced: Site | None = None
    """Inside a traced body, the site where the function was wrapped in `tf.function`."""
    mapped: Site | None = None
    """Inside a function of a `tf.data` pipeline, the site where it was passed to the pipeline."""
    jitted: Site | None = None
    """Inside a function that XLA compiles (`jit_compile=True`) or one that it calls, the site where the innermost such
    function was wrapped."""
    maybe_traced: bool = False
    """Inside a function with an unknown decorator, which may trace it."""
    decorated: Site | None = None
    """Definition of the innermost function with such a decorator."""
    maybe_scoped: bool = False
    """Inside an unknown context manager, which may be a strategy's scope."""
    loops: tuple[Loop, ...] = ()
    guards: tuple[Site, ...] = ()
    """Conditions (`if` statements, conditional expressions) around the statement and within `loops` whose outcome is
    unknown."""
    flags: tuple[Flag, ...] = ()
    """Conditions around the statement whose outcome is known, but only for this iteration or this setting."""
    handlers: tuple[frozenset[str], ...] = ()
    """Names of the exceptions caught by each enclosing `try` statement after which the program continues."""

    @property
    def may_be_traced(self) -> bool:
        """Whether the statement is, or may be, inside a `tf.function`."""
        return self.traced is not None or self.maybe_traced

    @property
    def may_be_eager(self) -> bool:
        """Whether nothing traces this code, except perhaps an unknown decorator."""
        return self.traced is None and (self.decorated is not None or not self.maybe_traced)

    @property
    def strategy(self) -> Strategy | None:
        """Strategy in force here, whether its scope was entered or this is a replica function."""
        if self.replica is not None:
            return self.replica.strategy
        return self.scopes[-1].strategy if self.scopes else None

    @property
    def is_outside(self) -> bool:
        """Whether no strategy can be in force."""
        return self.strategy is None and not self.maybe_scoped

    @property
    def device(self) -> DeviceScope | None:
        """Innermost device scope."""
        return self.devices[-1] if self.devices else None

    def catches(self, errors: Collection[str]) -> bool:
        """Whether an enclosing handler catches one of these errors, after which the program continues."""
        return any(not names.isdisjoint(errors) for names in self.handlers)

    @property
    def is_on_cpu(self) -> bool:
        """Whether the innermost device scope names a CPU. Ops and `tf.function` calls inside it run on the CPU (run on
        2.21)."""
        return self.device is not None and self.device.device is not None and self.device.device.is_cpu


class Caller(NamedTuple):
    """One call in the call stack: a linked list from the innermost call to the entry point, whose `parent` is None."""

    site: Site | None
    """The call expression; None for an entry point."""
    function: str
    """Name of the called function; "" for a module."""
    parent: Caller | None
    known: bool
    """False if the entry point is a function that the program itself never calls, so that the conditions at its start
    are unknown."""
    depth: int = 0
    loops: int = 0
    """Number of loops around the call."""
    definition: Site | None = None
    """Definition of the called function."""


class Where(NamedTuple):
    """Circumstances of an event except its site: context, path and caller."""

    context: Context
    path: Path
    caller: Caller
    graph_mode: bool = False
    """The file is TF1 graph-mode code."""
    assumed: Path = EVERYWHERE
    """Conditions that hold whenever the program, or the loop, continues to this point: established by `assert` and by
    branches that raise or leave the loop."""
    requirements: frozenset[tuple[Path, Path]] = frozenset()
    """Conditions that the program has required so far, ending with an error otherwise: pairs of a path and what was
    required on it."""

    @property
    def required(self) -> Path:
        """Conditions of the path without which the program would have ended with an error. None of them is a choice
        between two ways to continue."""
        return EVERYWHERE.union(*(what for path, what in self.requirements if path <= self.path and what <= self.path))


NOWHERE = Where(Context(), EVERYWHERE, Caller(None, "", None, True))


def entry_point(where: Where, path: str) -> Site | None:
    """Function in the file at `path` that the program itself never calls and through which this point is reached.

    Functions of other files around it are skipped, since they run for other callers as well; without a function in that
    file, the result is the outermost function. None if the point is reached from the body of a file.
    """
    if where.caller.known:
        return None
    called = [one.definition for one in reversed(list(callers(where.caller))) if one.definition is not None]
    return next((one for one in called if one.path == path), called[0] if called else None)


def callers(caller: Caller | None) -> Iterator[Caller]:
    """Iterate over the call stack, from the innermost call to the entry point."""
    while caller is not None:
        yield caller
        caller = caller.parent
