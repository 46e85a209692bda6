"""The base class of rules, and what they report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar, overload

from gpulint.confidence import Confidence
from gpulint.linting.finding import Severity
from gpulint.places import Site
from gpulint.rewriting.offer import Offer

if TYPE_CHECKING:
    import libcst

    from gpulint.analysis.plan.events import Event
    from gpulint.analysis.plan.plan import Plan
    from gpulint.linting.program import Program

E = TypeVar("E", bound="Event")
F = TypeVar("F", bound="Event")
G = TypeVar("G", bound="Event")


_SUPPLIES = frozenset(
    {
        "assigned",
        "assigns",
        "come",
        "comes",
        "defined",
        "defines",
        "export",
        "exported",
        "exports",
        "filled",
        "fills",
        "given",
        "gives",
        "injected",
        "injects",
        "passed",
        "passes",
        "provided",
        "provides",
        "set",
        "sets",
        "supplied",
        "supplies",
    }
)
"""Verbs that say where the value of a variable comes from."""


class JustifyingComment(NamedTuple):
    """A comment that explains a report away, which is then listed as suppressed: one of `words`, in lower case and not
    denied, in the statement of one of `sites` or right above it.

    One of `subjects` must be next to the word. If they name the code itself (`describes_code`), a comment in the
    statement may leave them out, and the docstrings of the functions around the site are read, too.
    """

    sites: tuple[Site, ...]
    words: frozenset[str]
    subjects: frozenset[str]
    describes_code: bool = True

    @classmethod
    def of_variable(cls, site: Site, *names: str) -> JustifyingComment:
        """A comment that says that something outside the program sets one of these environment variables."""
        return cls((site,), frozenset(map(str.lower, names)), _SUPPLIES, describes_code=False)


@dataclass(frozen=True, slots=True)
class Report:
    """A place and what is wrong there.

    `why`, `instead`, `severity` and `cost` default to the rule's own; a `severity` that the user set for the rule wins.
    `related` are (site, message) pairs; a finding that shows places in several functions is inferred, whatever its
    `confidence`. `supersedes` are further sites that this report explains: rules that list this one in `yields_to` stay
    silent there. `is_all` drops all other reports about its file. `retracts` retracts what the rule reports at the
    place for other programs; it is never shown. `unless` is a comment that suppresses the report. `happens_at` is the
    site of the event that a report of `on_end` is about, if that is not `site` (a pipeline that is consumed elsewhere).
    """

    site: Site
    message: str
    why: str = ""
    instead: str = ""
    confidence: Confidence = Confidence.HIGH
    severity: Severity | None = None
    related: tuple[tuple[Site, str], ...] = ()
    supersedes: tuple[Site, ...] = ()
    is_all: bool = False
    retracts: bool = False
    unless: JustifyingComment | None = None
    fix: Offer | None = field(default=None, compare=False)
    happens_at: Site | None = field(default=None, compare=False)
    cost: str = ""


class Rule:
    """Base of every rule. A fresh instance reads each program, so that a rule may keep state on `self`.

    A rule subscribes to an event of `gpulint.analysis.plan.events` by defining a method named after it:
    `on_strategy_run(self, event, plan)` receives every `StrategyRun`. `on_end(self, plan)` is called once, after the
    last event. Each yields `Report`s, or returns None if it has none.

    The class docstring is the rule's page. Its first line is the title; the sections *What it does*, *Why is
    this bad*, *Example*, *Use instead*, *What is not reported* and *At run time* follow as Markdown
    headings, and its two code blocks (Example, Use instead) are run as tests. A rule that offers fixes says in a
    section *Fix*, before *At run time*, what they change; then the example must be one that can be fixed.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    why: ClassVar[str]
    """The consequence of the problem, in one line."""
    instead: ClassVar[str]
    """The code to write instead, in one line."""
    cost: ClassVar[str] = ""
    """The cost in a few words, if it was measured: "5 to 37× slower for small models"."""
    since: ClassVar[str] = "0.1"
    api_version: ClassVar[int] = 1
    """The `gpulint.plugin.VERSION` that it needs. A rule that needs a later one is not loaded."""
    on_by_default: ClassVar[bool] = True
    preview: ClassVar[bool] = False
    """Whether it is still tried out: on only with `lint.preview`, or where its own code or name is selected."""
    deprecated: ClassVar[str] = ""
    """Why the rule will be removed, "" if it will not. ALL and prefixes do not select it; its code does, with a
    note."""
    replaces: ClassVar[tuple[str, ...]] = ()
    """Former codes and names of the rule. They are accepted wherever a rule can be named."""
    listens_to: ClassVar[tuple[type[Event], ...]] = ()
    """Kinds of events that `on_end` asks `self.all` for, besides those that `on_…` methods receive. Without
    `any_of_names`, `self.all` accepts no others."""
    in_graph_mode: ClassVar[bool] = False
    """Whether it also receives events of TensorFlow 1 graph mode."""
    in_one_replica: ClassVar[bool] = True
    """Whether it also receives events on paths on which the program has found only one replica or GPU."""
    context_insensitive: ClassVar[bool] = False
    """Whether its reports do not depend on the arguments of the function around them, and count without a known
    caller."""
    once_a_row: ClassVar[bool] = False
    """Whether only the first of several places on one row is reported."""
    once_a_file: ClassVar[bool] = False
    """Whether its reports with the same message in one file are one finding, with the other places as related ones."""
    any_of_names: ClassVar[frozenset[str] | None] = None
    """Identifiers of which a program, or the code that it uses of its imports, must contain at least one: `device(`
    only as a call, `.map` only behind a dot. A program that no enabled rule wants is not analysed. None, the default,
    for those that the rule's events need: `needed_names`."""
    any_of_names_before: ClassVar[tuple[tuple[int, int], frozenset[str]] | None] = None
    """(release, words): further identifiers if the targeted TensorFlow is older than `release`."""
    all_of_name_sets: ClassVar[tuple[frozenset[str], ...]] = ()
    """Further sets of identifiers: the program must contain at least one of each."""
    asks_release: ClassVar[bool] = False
    """Whether what it finds depends on the TensorFlow release. It skips files that are imported only behind a check for
    another release, and is on by default only for files whose release is known."""
    is_performance: ClassVar[bool] = False
    """Whether it is about time and memory only: it skips test files (`test_*.py`, `*_test.py`) and programs that hide
    all GPUs from TensorFlow."""
    raises: ClassVar[bool] = False
    """Whether TensorFlow raises an error for what it finds: it skips test files, which are assumed to pass."""
    source_pattern: ClassVar[str] = ""
    """A regular expression that the text of the file itself must match, not only what it imports."""
    yields_to: ClassVar[tuple[str, ...]] = ()
    """Codes of rules whose reports replace this rule's at the same place."""

    @staticmethod
    def own_words(text: str, words: frozenset[str]) -> frozenset[str]:
        """Further identifiers of a file that matter to this rule, given its text and all its identifiers."""
        return frozenset()

    @classmethod
    @cache
    def needed_names(cls) -> frozenset[str] | None:
        """`any_of_names`, or else the identifiers without which none of the rule's events occur; None if it must see
        every program: some of its events occur without any of a few names, or `on_end` does not say what it asks
        for."""
        if cls.any_of_names is not None:
            return cls.any_of_names
        from gpulint.knowledge.words import OF_EVENTS  # importing takes milliseconds, which a fully cached run saves

        kinds = {*cls.subscriptions(), *(kind.__name__ for kind in cls.listens_to)}
        needed = [OF_EVENTS.get(kind) for kind in kinds]
        known = [names for names in needed if names is not None]
        asks_in_secret = cls.on_end is not Rule.on_end and not cls.listens_to
        return None if asks_in_secret or len(known) < len(needed) else frozenset().union(*known)

    @classmethod
    @cache
    def subscriptions(cls) -> dict[str, str]:
        """Names of the methods that receive events, by event class name."""
        return {
            "".join(word.capitalize() for word in name[3:].split("_")): name
            for name in dir(cls)
            if name.startswith("on_") and name not in ("on_end", "on_by_default")
        }

    _program: Program

    def bind(self, program: Program) -> None:
        """Called once, before the first event of the program."""
        self._program = program

    @overload
    def all(self, kind: type[E], /) -> tuple[E, ...]: ...
    @overload
    def all(self, kind: type[E], other: type[F], /) -> tuple[E | F, ...]: ...
    @overload
    def all(self, kind: type[E], other: type[F], third: type[G], /) -> tuple[E | F | G, ...]: ...
    @overload
    def all(self, *kinds: type[Event]) -> tuple[Event, ...]: ...
    def all(self, *kinds: type[Event]) -> tuple[Event, ...]:
        """The program's events of these kinds, in evaluation order: `self.all(events.ModelFitted)`. As with `on_…`
        methods, those of graph mode and of single replicas only if the rule wants them.

        Raises ValueError for a kind that is missing in `listens_to`: programs with only such events are not analysed.
        """
        if self.listens_to and self.any_of_names is None:
            for kind in kinds:
                if kind not in self.listens_to and kind.__name__ not in self.subscriptions():
                    raise ValueError(f"add events.{kind.__name__} to `listens_to` of {type(self).__name__}")
        return tuple(self._program.events(kinds, self.in_graph_mode, self.in_one_replica))

    def node(self, site: Site) -> libcst.CSTNode | None:
        """The LibCST node at a site, as `libcst.matchers` takes it; None if LibCST cannot parse the file.

        The first call for a file parses it: ask only once everything else speaks for a report.
        """
        return self._program.node(site)

    def source(self, place: Site | libcst.CSTNode) -> str:
        """The code at a site, or of a node, as it is written there; "" if LibCST cannot parse the file. As costly as
        `node`."""
        import libcst

        node = self.node(place) if isinstance(place, Site) else place
        return libcst.Module([]).code_for_node(node).strip() if node is not None else ""

    def short(self, place: Site | libcst.CSTNode | None, default: str) -> str:
        """The code at a place or of a node, for a message that repeats it; `default` if it is long or unknown."""
        code = self.source(place) if place is not None else ""
        return code if code.isprintable() and 0 < len(code) <= SHORT else default

    def name_of(self, made: Site, place: Site, default: str) -> str:
        """The variable that refers to an object, created at `made`, for a message about a place in the same file;
        `default` if there is none."""
        return (self._program.name_of(made) if made.path == place.path else "") or default

    def on_end(self, plan: Plan) -> Iterable[Report] | None:
        """Called once, after the last event of the program."""


SHORT = 50
"""Maximum number of characters of code that a message repeats."""
