"""What the programs in a file gave, before it is set beside what others gave."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from gpulint.linting.finding import Finding
from gpulint.linting.provenance import MadeFrom
from gpulint.linting.result import CheckResult
from gpulint.places import Site
from gpulint.rewriting.fix import Fix
from gpulint.sources.suppressions import Comments


class Candidate(NamedTuple):
    """A report that has its place. The finding's path is absolute; `entry` is the function that was
    run without a known caller to find it, `places` those of the events that it is about, `is_all` says that nothing
    else is to be said of its file, `fault` says (message, traceback) why the fix could not be written, `is_answer` that
    what its rule reports at the place does not hold. `offer` is the fix without its edits, whether or not that can be
    written; the finding has it too, unless the run needs edits."""

    finding: Finding
    site: Site
    places: tuple[Site, ...] = ()
    supersedes: tuple[Site, ...] = ()
    is_all: bool = False
    entry: Site | None = None
    fault: tuple[str, str] | None = None
    is_answer: bool = False
    offer: Fix | None = None


@dataclass(slots=True)
class Examined:
    """What the programs in one file gave: what they and their imports are reported for, which functions of other files
    they call, and what went wrong with them. It depends on nothing but what it was `made_from`.

    `path` is "" where nothing can be said of any one file but what went wrong.
    """

    path: str
    candidates: list[Candidate] = field(default_factory=list)
    called: set[Site] = field(default_factory=set)
    passed: set[Site] = field(default_factory=set)
    """Places in other files where something happens in these calls."""
    reached: set[str] = field(default_factory=set)
    """The files that they reach into: those that they are reported for, and those whose functions they call."""
    elsewhere: set[str] = field(default_factory=set)
    """Files that they are reported for and that were not checked: those candidates are left out."""
    unreadable: list[Finding] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    analysed: int = 0
    stopped: set[tuple[str, Site]] = field(default_factory=set)
    """Bounds of the analysis that were reached, each with the function in which that was, or the start of the file."""
    comments: dict[str, Comments] = field(default_factory=dict)
    """Suppression comments of the file, if they name gpulint, and of all files that it is reported in."""
    readings: Mapping[str, str] = field(default_factory=dict)
    """States, by path, of the files that were read for it."""
    lost: str = ""
    """Why nobody may read the file any more, which need not be one that was to be examined; "" where anybody may."""
    made_from: MadeFrom | None = None
    """None where another look could give something else."""


class Memory(Protocol):
    """What is known from earlier runs. Paths of files that were examined are absolute."""

    def examined(self, path: str, shown: Collection[str]) -> Examined | None:
        """What the programs in a file on disk give where those in `shown` are checked."""

    def keep(
        self, files: Sequence[str], result: CheckResult, made_from: MadeFrom | None, fresh: Sequence[Examined]
    ) -> None:
        """Remember what a run over `files`, as they are shown, came to, None where another run could come to something
        else, and what those gave that were not known."""
