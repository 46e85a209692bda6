"""Results of analysing the programs in one file, before they are merged with those of other files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from gpulint.linting.finding import Finding
from gpulint.linting.provenance import Provenance
from gpulint.linting.result import CheckResult, Target
from gpulint.places import Site
from gpulint.rewriting.fix import Fix
from gpulint.sources.suppressions import Comments


class Candidate(NamedTuple):
    """A report at its place in the text. The finding's path is absolute.

    `entry` is the function that was run without a known caller, `places` are the sites of the events that the report is
    about, `fault` is (message, traceback) if its fix could not be written. `is_all` and `retracts` are those of
    `Report`. `offer` is the fix without edits, whether or not it can be written. `justified` is the comment that
    explains the report away, "" if there is none.
    """

    finding: Finding
    site: Site
    places: tuple[Site, ...] = ()
    supersedes: tuple[Site, ...] = ()
    is_all: bool = False
    entry: Site | None = None
    fault: tuple[str, str] | None = None
    retracts: bool = False
    offer: Fix | None = None
    justified: str = ""


@dataclass(slots=True)
class Examined:
    """Results of the programs in one file: reports about them and their imports, the functions of other files that they
    call, and errors. They depend on nothing but what `provenance` lists.

    `path` is "" for an error that belongs to no single file.
    """

    path: str
    candidates: list[Candidate] = field(default_factory=list)
    called: set[Site] = field(default_factory=set)
    passed: set[Site] = field(default_factory=set)
    """Sites of events in other files, which these calls cause."""
    reached: set[str] = field(default_factory=set)
    """Files with reports or called functions."""
    elsewhere: set[str] = field(default_factory=set)
    """Files with reports that were dropped because the run does not check them."""
    unreadable: list[Finding] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    analysed: int = 0
    uses: bool = False
    """Whether the file imports TensorFlow: others that are analysed only mention it."""
    target: Target | None = None
    """The release that the file was checked for, None for a file that is not about TensorFlow."""
    stopped: set[tuple[str, Site]] = field(default_factory=set)
    """Bounds of the analysis that were reached, each with the function around it, or the start of the file."""
    comments: dict[str, Comments] = field(default_factory=dict)
    """Suppression comments, by path: of the file if it has any for gpulint, and of all files with candidates."""
    readings: Mapping[str, str] = field(default_factory=dict)
    """States, by path, of the files that were read."""
    lost: str = ""
    """Why the file must not be read again, "" if it may. Can be a file that only others import."""
    provenance: Provenance | None = None
    """None if another attempt could give a different result."""


class Memory(Protocol):
    """Results of earlier runs. Paths are absolute."""

    def examined(self, path: str, shown: Collection[str]) -> Examined | None:
        """The result for a file on disk if the files in `shown` are checked, None if it is not known."""

    def keep(
        self, files: Sequence[str], result: CheckResult, provenance: Provenance | None, fresh: Sequence[Examined]
    ) -> None:
        """Store the result of a run over `files` (as the user gave them) unless `provenance` is None, and those of the
        files that were not known before (`fresh`)."""
