"""The abstract machine: frames, paths, forks, limits and events.

It depends on neither Python's syntax nor any library. `Interpreter` adds Python; `LibrarySemantics` adds the libraries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from gpulint.analysis.domain.completion import ABRUPT, NORMAL, Exhausted, PathEnds
from gpulint.analysis.domain.context import Caller, Context, Object, Where
from gpulint.analysis.domain.library_state import LibraryState
from gpulint.analysis.domain.module_scope import ModuleScope
from gpulint.analysis.domain.path_conditions import (
    EVERYWHERE,
    MAX_CONDITIONS,
    Condition,
    Path,
    compatible,
    one_of,
)
from gpulint.analysis.domain.store import Changes, Outcome, State, choose, common_path, join
from gpulint.analysis.domain.truth import truth
from gpulint.analysis.domain.values.base import Arguments, Constant, Union, Unknown, Value, known, new_serial
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.effects import Effect
from gpulint.analysis.domain.values.functions import (
    ContextManagerFunction,
    Descriptor,
    Function,
    Traced,
    UserClass,
    same,
)
from gpulint.analysis.engine.budget import CHARACTERS_PER_STEP, ELEMENTS_PER_STEP, Budget, Thrift
from gpulint.analysis.engine.call_summaries import CallSummary, FunctionProfile
from gpulint.analysis.engine.library import LibrarySemantics
from gpulint.analysis.plan.events import Event, FunctionEntered, FunctionHandedOver, LoopEntered, OpCalled
from gpulint.analysis.plan.plan import Plan
from gpulint.analysis.project.modules import Project, release
from gpulint.places import Site
from gpulint.syntax import ir

MAX_FORKS = 8
"""Maximum number of alternatives for which one statement is run separately. The others are treated as one."""


class Frame:
    """One activation of a function, a class body or a module."""

    __slots__ = (
        "arguments",
        "branches",
        "caller",
        "closure",
        "context",
        "declared",
        "definition",
        "enters",
        "exits",
        "is_given_up",
        "is_relevant",
        "locals",
        "mark",
        "module",
        "on_yield",
        "parent",
        "path",
        "receiver",
        "returns_here",
        "yield_sources",
        "yielded",
    )

    def __init__(
        self,
        module: ModuleScope,
        local_names: dict[str, Any],
        closure: tuple[dict[str, Any], ...],
        caller: Caller,
        parent: Frame | None,
        definition: ir.FunctionDef | ir.Lambda | ir.ClassDef | None = None,
        receiver: Value | None = None,
    ) -> None:
        self.module = module
        self.locals = local_names
        self.closure = closure
        self.caller = caller
        self.parent = parent
        self.definition = definition
        self.receiver = receiver
        self.declared: dict[str, dict[str, Any]] = {}
        self.exits: list[tuple[Outcome, Value, Context]] = []
        self.mark = 0
        self.path: Path = EVERYWHERE
        self.context = Context()
        self.branches = 0
        self.enters = False
        """Whether it enters context managers by hand, which stay entered after it."""
        self.is_given_up = False
        """Whether it took too many steps, so that the rest of it was not run."""
        self.arguments = Arguments()
        """Arguments of the call."""
        self.is_relevant = True
        """Whether the function may lead to something that a rule asks about."""
        self.returns_here = False
        """Whether it has a single exit, whose state is the present one."""
        self.on_yield: Callable[[Value], None] | None = None
        self.yielded: list[tuple[Path, Value]] = []
        self.yield_sources: tuple[Value, ...] = ()
        """Datasets that the loops around its `yield` expressions iterate over."""

    def entry(self) -> Frame:
        """This module's frame as the start of a call chain without known callers."""
        return Frame(self.module, self.locals, (), Caller(None, "", None, False), None)


class LoopRecord:
    """Exits of the loop that is being run."""

    __slots__ = ("breaks", "continues", "mark")

    def __init__(self, mark: int) -> None:
        self.mark = mark
        self.breaks: list[Outcome] = []
        self.continues: list[Outcome] = []


class Machine(ABC):
    """Runs one program (a file as it would be run or imported) and writes its events to a `Plan`."""

    def __init__(
        self, project: Project, scope: ModuleScope, plan: Plan, library: Callable[[Machine], LibrarySemantics]
    ) -> None:
        self.project = project
        self.plan = plan
        self.events: list[Event] = []
        plan.events = self.events
        self.library = library(self)
        self.library_state = LibraryState()
        self.state = State()
        self.path: Path = EVERYWHERE
        self.assumed: Path = EVERYWHERE
        self.requirements: frozenset[tuple[Path, Path]] = frozenset()
        self.context = Context()
        self.entry_points = 0
        """Number of entry points begun so far."""
        self.budget = Budget()
        self.is_relevant: Callable[[Function], bool] = lambda function: True
        """Whether a function may lead to something that a rule asks about."""
        self.effects: list[Effect] = []
        """Stateful ops so far."""
        self.loops: list[LoopRecord] = []
        self.active: list[object] = []
        self.entered: set[int] = set()
        self.executions: dict[Any, list[CallSummary]] = {}
        self.branches = 0
        """Number of forks and loops around the present statement. State changes inside one are undone at its end."""
        self.diverged: list[tuple[Outcome, Context]] = []
        """Paths that ended with different scopes open and are not joined yet."""
        self.import_depth = 0
        self.imported: set[str] = set()
        self.histories: defaultdict[tuple[int, ...], FunctionProfile] = defaultdict(FunctionProfile)
        """Runs of each function definition, keyed by id."""
        self.event_count = 0
        """Number of events so far, without those for functions entered or handed over."""
        self.significant_event_count = 0
        """Number of these events without those for ops called and loops entered."""
        self.operations = 0
        """Number of ops called so far, without those that only compute shapes; see `Step.operations`."""
        self.instances: dict[int, tuple[Value, Changes]] = {}
        """Class that only entry points use → the shared instance, and the changes made by creating it."""
        self.filled: Changes = {}
        """Changes by entry points that others depend on."""
        self.module_frame = Frame(scope, scope.globals, (), Caller(None, "", None, True), None)
        self.frame = self.module_frame

    def release(self) -> None:
        """Undo the program's changes to shared modules, and clear references that form cycles: functions refer to the
        scopes that contain them, and only the garbage collector could free them."""
        self.state.take_back(0)
        self.plan.is_sealed = False
        self.events.clear()
        self.plan.events = ()
        self.instances.clear()
        self.filled.clear()
        self.executions.clear()
        for cls in self.plan.classes.values():
            cls.namespace.clear()
        release(self.module_frame.module)
        self.plan.release = _nothing

    # ------------------------------------------------------------------ places and events

    def site(self, node: ir.Node) -> Site:
        module = self.frame.module
        site = module.sites.get(node.number)
        if site is None:
            site = module.sites[node.number] = Site(module.path, node.number)
        return site

    def where(self) -> Where:
        graph_mode = self.frame.module.graph_mode or self._is_switched
        return Where(self.context, self.path, self.frame.caller, graph_mode, self.assumed, self.requirements)

    @property
    def _is_switched(self) -> bool:
        """Whether the program has switched to graph mode, whichever branch it took to this point."""
        state = self.library_state.policy["is_graph"]
        return known(state) is True or (isinstance(state, Union) and known(self.choose(state)) is True)

    def emit(self, event: Event) -> None:
        self.events.append(event)
        if type(event) not in (FunctionEntered, FunctionHandedOver):
            self.event_count += 1
            self.operations += type(event) is OpCalled and not event.result.shape_of
            self.significant_event_count += type(event) not in (OpCalled, LoopEntered)

    # --------------------------------------------------------------------- running syntax

    @abstractmethod
    def evaluate(self, node: ir.Expr) -> Value:
        """Value of an expression on the present path."""

    @abstractmethod
    def execute(self, block: Sequence[ir.Statement]) -> int:
        """Run statements until one does not fall through."""

    @abstractmethod
    def call(self, function: Value, arguments: Arguments, site: Site) -> Value:
        """Result of calling a value that is not a `Union`. Raises `PathEnds` if no path returns."""

    @abstractmethod
    def call_method(self, receiver: Value, method: Value, arguments: Arguments, site: Site) -> Value:
        """Result of calling a function of a class with its receiver as the first argument."""

    @abstractmethod
    def call_function(
        self, function: Function, arguments: Arguments, site: Site, receiver: Value | None = None
    ) -> Value:
        """Result of running a function's body in the caller's context."""

    @abstractmethod
    def get_attribute(self, receiver: Value, name: str, node: ir.Node) -> Value:
        """Value of `receiver.name`, where the receiver is not a `Union`. Raises `PathEnds` for None, which has no such
        attribute."""

    @abstractmethod
    def instantiate_unknown(self, owner: UserClass, site: Site) -> Value:
        """Instance of a class that the program itself does not instantiate, constructed from unknown arguments."""

    @abstractmethod
    def annotated(self, annotation: ir.Expr | None, module: ModuleScope, site: Site) -> Value | None:
        """Value that a type annotation stands for, where nothing else is known; None if it does not help."""

    @abstractmethod
    def run_module(self, path: str, dotted: str, site: Site | None = None) -> ModuleScope | None:
        """Import a module of the project; None if it cannot be read.

        Its effects on the process are applied to the program if the statement that first imports it is at `site`.
        """

    def run_out(self) -> None:
        """Handle the exhaustion of steps. Raises `Exhausted` where a call or the program is abandoned."""
        self.budget.extend()
        self.plan.reached("steps", Site(self.plan.path, 0))
        self.plan.is_complete = self.plan.is_complete and self.budget.thrift is not Thrift.NO_CALLS

    def spend(self, steps: int) -> None:
        """Count work that takes more time than the evaluation of one expression. Raises `Exhausted`, as `run_out`."""
        self.budget.taken += steps
        if self.budget.taken > self.budget.limit:
            self.run_out()

    def spend_on(self, container: Value) -> None:
        """Count the work of copying or searching a container or string."""
        if isinstance(container, Items) and container.items is not None:
            self.spend(len(container.items) // ELEMENTS_PER_STEP)
        elif isinstance(container, Mapping):
            self.spend(len(container.entries) // ELEMENTS_PER_STEP)
        elif isinstance(container, Constant) and isinstance(container.value, (str, bytes)):
            self.spend(len(container.value) // CHARACTERS_PER_STEP)

    @contextmanager
    def within(self, context: Context) -> Iterator[None]:
        """Run a block in another context. A path that ends in the block does not end around it."""
        before, self.context = self.context, context
        try:
            yield
        except PathEnds:
            pass
        self.context = before

    @contextmanager
    def speculate(self, steps: int) -> Iterator[None]:
        """Run a block to see what it does, for at most `steps` steps. They do not count towards the limit, and changes
        of state are undone."""
        path, context, branches, active = self.path, self.context, self.branches, len(self.active)
        limits = self.budget.lend(steps)
        mark = self.state.mark()
        try:
            yield
        except (PathEnds, Exhausted):
            pass
        self.state.take_back(mark)
        self.path, self.context, self.branches, self.diverged = path, context, branches, []
        del self.active[active:]
        self.budget.take_back(limits)

    def join_diverged(self) -> None:
        """Join paths that left different scopes open, at the end of the function or block that the scopes belong to."""
        if self.diverged:
            diverged, self.diverged = self.diverged, []
            self.state.join([outcome for outcome, _ in diverged], self.path)

    def made_since(self, mark: int) -> Changes:
        """Changes since a mark, except those to the process, whose state is the caller's."""
        process = self.library_state.process
        return {key: one for key, one in self.state.changes_since(mark).items() if key[0] not in process}

    def frame_for(self, function: Function, caller: Caller, receiver: Value | None) -> Frame:
        """A frame for one activation of a function."""
        frame = Frame(function.module, {}, function.closure, caller, self.frame, function.definition, receiver)
        frame.is_relevant = self.budget.thrift is not Thrift.SHORT_CALLS or self.is_relevant(function)
        return frame

    def owner_of(self, frame: Frame) -> UserClass | None:
        """The class whose body defines the function of a frame."""
        if not isinstance(frame.receiver, Object) or frame.receiver.cls is None:
            return None
        return _defining_class(frame.receiver.cls, frame.definition)

    # --------------------------------------------------------------------- paths and forks

    def choose(self, value: Value) -> Value:
        """The alternatives of a value that are possible on the present path."""
        return value if type(value) is not Union else choose(value, self.path)

    def assume(self, guard: Path) -> None:
        """Record conditions that hold wherever the loop continues, unless an exception is caught inside it."""
        loops = self.context.loops
        if guard and len(self.context.handlers) == (loops[-1].handlers if loops else 0):
            self.assumed |= guard

    def require(self, path: Path, guard: Path) -> None:
        """Record a condition without which the program ends with an error on a path, unless a handler may catch it."""
        if not guard <= path and not self.context.handlers:
            self.requirements |= {(path, guard - path)}

    def fork(self, arms: list[tuple[Path, Callable[[], int]]]) -> int:
        """Run each arm from the present state on its own path, then join the changes.

        Arms whose path contradicts the present one are not run. Falls through if an arm does.
        """
        base, before = self.path, self.context
        possible = [(guard, run) for guard, run in arms if compatible(base, guard)]
        if len(possible) == 1:
            guard, run = possible[0]
            if len(arms) > 1:
                self.path |= guard
            return run()
        outcomes: list[Outcome] = []
        contexts: list[Context] = []
        since = new_serial()
        for guard, run in possible:
            mark = self.state.mark()
            self.path, self.context = base | guard, before
            if self._runs(run):
                changes = self.state.changes_since(mark)
                if self.diverged:
                    for outcome, context in self.diverged:
                        outcomes.append(Outcome(outcome.path, {**changes, **outcome.changes}))
                        contexts.append(context)
                else:
                    outcomes.append(Outcome(self.path, changes))
                    contexts.append(self.context)
            self.diverged = []
            self.state.take_back(mark)
        self.path, self.context = base, before
        if not outcomes:
            return ABRUPT
        self.path = common_path(outcomes) if len(base) < MAX_CONDITIONS else base
        if any(context != contexts[0] for context in contexts):
            self.diverged = list(zip(outcomes, contexts, strict=True))
        else:
            self.state.join(outcomes, base, since)
            self.context = contexts[0]
        return NORMAL

    def _runs(self, run: Callable[[], int]) -> bool:
        """Run one arm and return whether it falls through. If the arm's path ends inside an expression, its frames,
        calls and loops are removed."""
        frame, active, loops, branches = self.frame, len(self.active), len(self.loops), self.branches
        self.branches += 1
        try:
            return run() == NORMAL
        except PathEnds:
            self.frame = frame
            del self.active[active:], self.loops[loops:]
            return False
        finally:
            self.branches = branches

    def return_value(self, value: Value) -> None:
        """Return a value from the present function."""
        frame = self.frame
        always = not frame.exits and self.branches == frame.branches
        changes = {} if always else self.state.changes_since(frame.mark)
        frame.exits.append((Outcome(self.path, changes), value, self.context))
        frame.returns_here = always

    def split(self, test: Value) -> tuple[Path | None, Path | None]:
        """The paths on which a test holds and on which it fails; None for one that is impossible."""
        yes: list[Path] = []
        no: list[Path] = []
        for guard, holds in truth(test, self.path):
            if holds is not False:
                yes.append(guard)
            if holds is not True:
                no.append(guard)
        if len(yes) > 1 or len(no) > 1:
            return _compound(yes, no)
        return (yes[0] if yes else None), (no[0] if no else None)

    def each(self, value: Value, use: Callable[[Value], Value], place: ir.Node | Site) -> Value:
        """Apply `use` to each alternative of a value on its own path, and join the results.

        Raises `PathEnds` if it ends every path.
        """
        if type(value) is Union:
            value = choose(value, self.path)
        if type(value) is not Union:
            return use(value)
        ways = list(value.alternatives)
        if all(same(option, ways[0][1]) for _, option in ways):
            return use(ways[0][1])
        if len(ways) > MAX_FORKS:
            ways = _grouped(value, same)
        if len(ways) > MAX_FORKS:
            ways = _grouped(value, _are_of_one_kind)
        if len(ways) > MAX_FORKS:  # the last one that is run represents the others
            before, (_, last) = ways[: MAX_FORKS - 1], ways[MAX_FORKS - 1]
            ways = [*before, (frozenset({one_of([guard for guard, _ in before]).negation}), last)]
        base = self.path
        name = ("joined", place.node if isinstance(place, Site) else place.number)
        joined = self.either([(guard, partial(use, option)) for guard, option in ways], name)
        self.assume(self.path - base)
        return joined

    def either(self, arms: Sequence[tuple[Path, Callable[[], Value]]], name: tuple[Any, ...]) -> Value:
        """Joined results of several arms, each on its own path. Raises `PathEnds` if every path ends."""
        results: list[tuple[Path, Value]] = []

        def arm(guard: Path, value: Callable[[], Value]) -> Callable[[], int]:
            def run() -> int:
                results.append((guard, value()))
                return NORMAL

            return run

        if self.fork([(guard, arm(guard, value)) for guard, value in arms]) == ABRUPT:
            raise PathEnds
        joined = join(results, name)
        return joined if isinstance(joined, Value) else Unknown(name)

    def fresh(self, name: str, site: Site) -> Condition:
        """A condition for a choice at `site` about which nothing is known."""
        return Condition(name, site)


def _nothing() -> None:
    """Replacement of `Plan.release` after the release."""


def _defining_class(cls: UserClass, definition: object) -> UserClass | None:
    for one in cls.classes:
        for value in one.namespace.values():
            while isinstance(value, (Traced, Descriptor, ContextManagerFunction)):
                value = value.function
            if isinstance(value, Function) and value.definition is definition:
                return one
    return None


def _are_of_one_kind(one: Value, other: Value) -> bool:
    return one.is_like(other) or same(one, other)


def _grouped(value: Union, are_alike: Callable[[Value, Value], bool]) -> list[tuple[Path, Value]]:
    """Alternatives of a value, with those that are alike merged."""
    groups: list[tuple[list[Path], Value]] = []
    for path, option in value.alternatives:
        paths = next((paths for paths, other in groups if are_alike(other, option)), None)
        if paths is None:
            groups.append(([path], option))
        else:
            paths.append(path)
    return [
        (
            paths[0] if len(paths) == 1 else frozenset.intersection(*paths) | {one_of(paths)},
            option,
        )
        for paths, option in groups
    ]


def _compound(yes: list[Path], no: list[Path]) -> tuple[Path | None, Path | None]:
    """Paths for a test that can hold or fail in several ways."""
    if not yes or not no:
        only = yes or no
        common = frozenset.intersection(*only)
        return (common, None) if yes else (None, common)
    is_yes = one_of(yes)
    return frozenset.intersection(*yes) | {is_yes}, frozenset.intersection(*no) | {is_yes.negation}
