"""The abstract machine: frames, paths, forks, bounds and events.

It knows neither Python's syntax nor any library. `Interpreter` adds Python; `LibrarySemantics` adds the libraries.
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
from gpulint.analysis.domain.path_conditions import EVERYWHERE, Condition, Path, compatible, one_of
from gpulint.analysis.domain.store import Changes, Outcome, State, choose, common_path, join
from gpulint.analysis.domain.truth import truth
from gpulint.analysis.domain.values.base import Arguments, Union, Unknown, Value
from gpulint.analysis.domain.values.effects import Effect
from gpulint.analysis.domain.values.functions import (
    ContextManagerFunction,
    Descriptor,
    Function,
    Traced,
    UserClass,
    same,
)
from gpulint.analysis.engine.call_summaries import CallSummary, FunctionProfile
from gpulint.analysis.engine.library import LibrarySemantics
from gpulint.analysis.plan.events import Event, FunctionEntered, FunctionHandedOver, LoopEntered, OpCalled
from gpulint.analysis.plan.plan import Plan
from gpulint.analysis.project.modules import Project, release
from gpulint.places import Site
from gpulint.syntax import ir

MAX_STEPS = 30_000
"""Expressions and statements evaluated for one program before the rest of it is given up."""

MAX_ENTRY_STEPS = 20_000
"""The same for one entry point that nobody calls."""

MAX_STEPS_OF_ALL = 120_000
"""The same for a program and all its entry points."""

MAX_CALL_STEPS = 2_000
"""Steps of one call that are too many once the program's are used up: the call is given up in place of the program."""

EXTENSION = 5_000
"""Steps that the program gets then, or where no call took many."""

MAX_EXTENSIONS = 10
"""Extensions for one program."""

MAX_FORKS = 8
"""Ways in which one statement is run separately; the others are taken as one."""


class Frame:
    """One activation of a function, a class body or a module."""

    __slots__ = (
        "branches",
        "caller",
        "closure",
        "context",
        "declared",
        "definition",
        "enters",
        "exits",
        "goes_over",
        "is_given_up",
        "locals",
        "mark",
        "module",
        "on_yield",
        "parent",
        "path",
        "receiver",
        "returns_here",
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
        """It enters context managers by hand, which stay entered after it."""
        self.is_given_up = False
        """It took too many steps: the rest of it was not run."""
        self.returns_here = False
        """It has one way out, and the present state is the one there."""
        self.on_yield: Callable[[Value], None] | None = None
        self.yielded: list[tuple[Path, Value]] = []
        self.goes_over: tuple[Value, ...] = ()
        """The datasets that loops go over around what it yields."""

    def entry(self) -> Frame:
        """This module's frame as the start of a call chain of which nothing is known."""
        return Frame(self.module, self.locals, (), Caller(None, "", None, False), None)


class LoopRecord:
    """Ways out of the loop being run."""

    __slots__ = ("breaks", "continues", "mark")

    def __init__(self, mark: int) -> None:
        self.mark = mark
        self.breaks: list[Outcome] = []
        self.continues: list[Outcome] = []


class Machine(ABC):
    """Runs one program (a file as it would be run or imported) and writes its events to a Plan."""

    def __init__(
        self, project: Project, scope: ModuleScope, plan: Plan, library: Callable[[Machine], LibrarySemantics]
    ) -> None:
        self.project = project
        self.plan = plan
        self.library = library(self)
        self.library_state = LibraryState()
        self.state = State()
        self.path: Path = EVERYWHERE
        self.assured: Path = EVERYWHERE
        self.demands: frozenset[tuple[Path, Path]] = frozenset()
        self.context = Context()
        self.steps = 0
        self.step_limit = MAX_STEPS
        self.extensions = MAX_EXTENSIONS
        self.started: list[int] = []
        """For each call that is being run, the steps before it."""
        self.effects: list[Effect] = []
        """Stateful operations so far."""
        self.loops: list[LoopRecord] = []
        self.active: list[object] = []
        self.entered: set[int] = set()
        self.executions: dict[Any, list[CallSummary]] = {}
        self.branches = 0
        """Forks and loops around the present place: a state inside is taken back at their end."""
        self.diverged: list[tuple[Outcome, Context]] = []
        """Paths that ended with different scopes open and are not joined yet."""
        self.import_depth = 0
        self.imported: set[str] = set()
        self.histories: defaultdict[tuple[int, ...], FunctionProfile] = defaultdict(FunctionProfile)
        """The runs of each function definition, by id."""
        self.noted = 0
        """Events so far, other than that a function is entered or handed over."""
        self.happened = 0
        """Those of them that say more than that an operation is called or a loop is entered."""
        self.operations = 0
        """Operations so far that were called."""
        self.instances: dict[int, tuple[Value, Changes]] = {}
        """For each class that only entry points use, the instance that they share and what making it changed."""
        self.filled: Changes = {}
        """What entry points changed that others read."""
        self.module_frame = Frame(scope, scope.globals, (), Caller(None, "", None, True), None)
        self.frame = self.module_frame

    def release(self) -> None:
        """Take back what the program changed in modules that others share, and let go of what only the garbage
        collector would find: functions know the scopes that they are in."""
        self.state.take_back(0)
        self.plan.events.clear()
        self.instances.clear()
        self.filled.clear()
        self.executions.clear()
        for cls in self.plan.classes.values():
            cls.namespace.clear()
        release(self.module_frame.module)
        self.plan.release = _nothing

    # ------------------------------------------------------------------ places and events

    def site(self, node: ir.Node) -> Site:
        return Site(self.frame.module.path, node.number)

    def where(self) -> Where:
        graph_mode = self.frame.module.graph_mode
        return Where(self.context, self.path, self.frame.caller, graph_mode, self.assured, self.demands)

    def emit(self, event: Event) -> None:
        self.plan.events.append(event)
        if type(event) not in (FunctionEntered, FunctionHandedOver):
            self.noted += 1
            self.operations += type(event) is OpCalled
            self.happened += type(event) not in (OpCalled, LoopEntered)

    # --------------------------------------------------------------------- running syntax

    @abstractmethod
    def evaluate(self, node: ir.Expr) -> Value:
        """Value of an expression on the present path."""

    @abstractmethod
    def execute(self, block: Sequence[ir.Statement]) -> int:
        """Run statements until one does not fall through."""

    @abstractmethod
    def call(self, function: Value, arguments: Arguments, site: Site) -> Value:
        """Result of calling a value that is no join. Raises Halts where no path returns."""

    @abstractmethod
    def call_method(self, receiver: Value, method: Value, arguments: Arguments, site: Site) -> Value:
        """Result of calling a function of a class with its receiver first."""

    @abstractmethod
    def call_function(
        self, function: Function, arguments: Arguments, site: Site, receiver: Value | None = None
    ) -> Value:
        """Result of running a function's body in the caller's context."""

    @abstractmethod
    def get_attribute(self, receiver: Value, name: str, node: ir.Node) -> Value:
        """`receiver.name` of a value that is no join. Raises Halts for None, which has none."""

    @abstractmethod
    def instantiate_unknown(self, owner: UserClass, site: Site) -> Value:
        """Instance of a class that the program itself does not instantiate, constructed from unknown arguments."""

    @abstractmethod
    def run_module(self, path: str, dotted: str, site: Site | None = None) -> ModuleScope | None:
        """Import a module of the project; None where it cannot be read.

        Its effect on the process becomes the program's, where the statement that first imports it stands at `site`.
        """

    def goes_on(self, taken: int, site: Site | None) -> bool:
        """Whether the program goes on after a call that took too many steps: what the call gives is not known then.

        So a network that is built at length does not hide the loop that trains it.
        """
        if taken < MAX_CALL_STEPS or not self.extensions:
            return False
        self._extend(site or Site(self.plan.path, 0))
        self.plan.is_complete = False
        return True

    def _extend(self, site: Site) -> None:
        self.extensions -= 1
        self.step_limit = self.steps + EXTENSION
        self.plan.reached("steps", site)

    def run_out(self) -> None:
        """The steps are used up: go on if no single call took many of them. Raises Exhausted."""
        first = self.started[0] if self.started else 0
        one = any(
            self.steps - started >= MAX_CALL_STEPS and started - first >= MAX_CALL_STEPS for started in self.started
        )
        if one or not self.extensions:
            raise Exhausted
        self._extend(Site(self.plan.path, 0))

    @contextmanager
    def within(self, context: Context) -> Iterator[None]:
        """Run something in another context: where a path ends in it, nothing around it does."""
        before, self.context = self.context, context
        try:
            yield
        except PathEnds:
            pass
        self.context = before

    @contextmanager
    def speculate(self, steps: int) -> Iterator[None]:
        """Run something for what it shows: it may take so many steps, which count for nobody, and changes nothing."""
        path, context, branches, active = self.path, self.context, self.branches, len(self.active)
        limit, extensions, started = self.step_limit, self.extensions, self.steps
        self.step_limit, self.extensions = min(limit, self.steps + steps), 0
        mark = self.state.mark()
        try:
            yield
        except (PathEnds, Exhausted):
            pass
        self.state.take_back(mark)
        self.path, self.context, self.branches, self.diverged = path, context, branches, []
        del self.active[active:]
        self.step_limit, self.extensions = limit + self.steps - started, extensions

    def join_diverged(self) -> None:
        """Join paths that left different scopes open, at the end of what the scopes belong to."""
        if self.diverged:
            diverged, self.diverged = self.diverged, []
            self.state.join([outcome for outcome, _ in diverged], self.path)

    def made_since(self, mark: int) -> Changes:
        """What has changed since a mark, but for the process: that is as whoever calls has it."""
        process = self.library_state.process
        return {key: one for key, one in self.state.changes_since(mark).items() if key[0] not in process}

    def frame_for(self, function: Function, caller: Caller, receiver: Value | None) -> Frame:
        """A frame for one activation of a function."""
        return Frame(function.module, {}, function.closure, caller, self.frame, function.definition, receiver)

    def owner_of(self, frame: Frame) -> UserClass | None:
        """The class whose body defined the function of a frame, looked for through the frames around it."""
        if not isinstance(frame.receiver, Object) or frame.receiver.cls is None:
            return None
        return _defining_class(frame.receiver.cls, frame.definition)

    # --------------------------------------------------------------------- paths and forks

    def choose(self, value: Value) -> Value:
        """What of a value is possible on the present path."""
        return value if type(value) is not Union else choose(value, self.path)

    def assume(self, guard: Path) -> None:
        """Remember what holds wherever the loop goes on, unless an exception is caught inside it."""
        loops = self.context.loops
        if guard and len(self.context.handlers) == (loops[-1].handlers if loops else 0):
            self.assured |= guard

    def require(self, path: Path, guard: Path) -> None:
        """Remember what the program ends with an error without on a path, unless that may be caught."""
        if not guard <= path and not self.context.handlers:
            self.demands |= {(path, guard - path)}

    def fork(self, arms: list[tuple[Path, Callable[[], int]]]) -> int:
        """Run each arm from the present state on its own path, then join what they changed.

        Arms whose path contradicts the present one are not run. Falls through when an arm does.
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
        self.path = common_path(outcomes)
        if any(context != contexts[0] for context in contexts):
            self.diverged = list(zip(outcomes, contexts, strict=True))
        else:
            self.state.join(outcomes, base)
            self.context = contexts[0]
        return NORMAL

    def _runs(self, run: Callable[[], int]) -> bool:
        """Run one arm; whether it falls through. What it left entered is left again."""
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
        """Return from the present function with a value."""
        frame = self.frame
        always = not frame.exits and self.branches == frame.branches
        changes = {} if always else self.state.changes_since(frame.mark)
        frame.exits.append((Outcome(self.path, changes), value, self.context))
        frame.returns_here = always

    def split(self, test: Value) -> tuple[Path | None, Path | None]:
        """The paths on which a test holds and fails; None where it cannot."""
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

        Raises Halts when it ends every path.
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
        if len(ways) > MAX_FORKS:  # the last that is run stands for the others
            before, (_, last) = ways[: MAX_FORKS - 1], ways[MAX_FORKS - 1]
            ways = [*before, (frozenset({one_of([guard for guard, _ in before]).negation}), last)]
        base = self.path
        name = ("joined", place.node if isinstance(place, Site) else place.number)
        joined = self.either([(guard, partial(use, option)) for guard, option in ways], name)
        self.assume(self.path - base)
        return joined

    def either(self, arms: Sequence[tuple[Path, Callable[[], Value]]], name: tuple[Any, ...]) -> Value:
        """What each of several arms gives on its own path, joined. Raises Halts when it ends every path."""
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
        """A condition of its own for something that can go either way at `site`."""
        return Condition(name, site)


def _nothing() -> None:
    """A program that was released has nothing to release."""


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
    """The alternatives of a value, those that are alike as one."""
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
