"""The rule API: what a rule pack imports, ours or a user's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

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


class Said(NamedTuple):
    """Prose that takes a report back: one of `words` in a comment beside or above one of `sites`, or in a line of
    the docstring around it that is also about `subject`. Words are lower case."""

    sites: tuple[Site, ...]
    words: frozenset[str]
    subject: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a rule yields: a place and what is wrong there.

    `why` and `instead` default to the rule's own. `related` are (site, message) pairs. `supersedes` names
    sites that this report already explains, so that rules listing this one in `yields_to` stay silent there.
    `is_all` says that nothing else is to be said of its file. `is_answer` says that what the rule reports at the place
    does not hold, whatever other programs that get there give reason for; it is never shown itself.
    `unless` is what the author can have written beside the code that makes it right. `fix` is how the rule would
    change the file. `happens_at` is the place of the event that a report of `on_end` is about, where that is not `site`
    itself (a pipeline that is read elsewhere).
    """

    site: Site
    message: str
    why: str = ""
    instead: str = ""
    confidence: Confidence = Confidence.HIGH
    related: tuple[tuple[Site, str], ...] = ()
    supersedes: tuple[Site, ...] = ()
    is_all: bool = False
    is_answer: bool = False
    unless: Said | None = None
    fix: Offer | None = field(default=None, compare=False)
    happens_at: Site | None = field(default=None, compare=False)


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
    """What it costs, in one line."""
    instead: ClassVar[str]
    """What to write instead, in one line."""
    since: ClassVar[str] = "0.1"
    on_by_default: ClassVar[bool] = True
    in_graph_mode: ClassVar[bool] = False
    """Whether it also reads TF1 graph-mode files."""
    in_one_replica: ClassVar[bool] = True
    """Whether it also reads events on paths where the program has seen that there is only one replica or GPU."""
    whoever_calls: ClassVar[bool] = False
    """Whether a place is wrong whatever a function is given, so that it counts also where no caller leads to it."""
    once_a_row: ClassVar[bool] = False
    """Whether several places of one row are one thing to mend: only the first is reported."""
    speaks_of: ClassVar[frozenset[str] | None] = None
    """Identifiers of which a program, or what it uses of its imports, must have at least one for this rule to find
    anything in it (`device(`: it must be called; `.map`: it must stand behind a dot); None when the rule looks at every
    program. A program of which no enabled rule speaks is not run at all."""
    speaks_of_before: ClassVar[tuple[tuple[int, int], frozenset[str]] | None] = None
    """(release, words): words besides, where the targeted TensorFlow is older than that release."""
    besides: ClassVar[tuple[frozenset[str], ...]] = ()
    """Sets of identifiers of each of which a program must have one, too."""
    asks_release: ClassVar[bool] = False
    """Whether it is about what a release of TensorFlow has: of no interest in files that others import only where a
    check says that it is another one."""
    about_cost: ClassVar[bool] = False
    """Whether it is about time and memory only: of no interest in test files (`test_*.py`, `*_test.py`) and in programs
    that hide all GPUs from TensorFlow."""
    raises: ClassVar[bool] = False
    """Whether TensorFlow raises at whatever it finds: of no interest in test files, which pass as they are."""
    itself: ClassVar[str] = ""
    """A regular expression that the file's own text must match as well, where what it imports is not enough."""
    yields_to: ClassVar[tuple[str, ...]] = ()
    """Codes of rules whose reports explain the same place better."""

    @staticmethod
    def own_words(text: str, words: frozenset[str]) -> frozenset[str]:
        """The words of a file that matter to this rule besides, from its text and all its identifiers."""
        return frozenset()

    @classmethod
    @cache
    def subscriptions(cls) -> dict[str, str]:
        """Event class name → name of the method that receives it."""
        return {
            "".join(word.capitalize() for word in name[3:].split("_")): name
            for name in dir(cls)
            if name.startswith("on_") and name not in ("on_end", "on_by_default")
        }

    _program: Program

    def bind(self, program: Program) -> None:
        """Called once, before the first event of the program."""
        self._program = program

    def all(self, *kinds: type[E]) -> Iterator[E]:
        """The program's events of these kinds, in evaluation order: `self.all(events.ModelFitted)`. As with `on_…`
        methods, those of graph mode and of single replicas only if the rule wants them."""
        return self._program.events(kinds, self.in_graph_mode, self.in_one_replica)

    def node(self, site: Site) -> libcst.CSTNode | None:
        """The LibCST node at a site, as `libcst.matchers` takes it; None if LibCST cannot parse the file.

        The first call for a file parses it: ask only once everything else speaks for a report.
        """
        return self._program.node(site)

    def on_end(self, plan: Plan) -> Iterable[Report] | None:
        """Called once, after the last event of the program."""
