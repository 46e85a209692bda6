"""The result of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from gpulint.linting.finding import Finding, Silenced
from gpulint.places import Site


class Target(NamedTuple):
    """A TensorFlow release, and the file or option that names it; "" for the newest one, if nothing does."""

    release: str
    origin: str


@dataclass(slots=True)
class CheckResult:
    """The result of a run. `errors` are faults of gpulint or of a rule, one line each, with tracebacks.

    `stopped` are the bounds of the analysis that were reached, each with the function around it. `programs` are, by
    path, the checked files that decide the findings of a file: itself and those that import it. Of the number of
    `files`, `analysed` mention TensorFlow; the results of `remembered` ones came from the cache. The number `using` it
    import it or have a finding. `withheld` is, by code, the number of findings that are not shown because they depend
    on a TensorFlow release which is not known. The number `known` are in the baseline, and not among the findings.
    """

    findings: list[Finding] = field(default_factory=list)
    suppressed: list[Silenced] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    programs: dict[str, set[str]] = field(default_factory=dict)
    files: int = 0
    analysed: int = 0
    using: int = 0
    remembered: int = 0
    targets: dict[Target, int] = field(default_factory=dict)
    """Number of files that use TensorFlow for each release that they were checked for."""
    stopped: set[tuple[str, Site]] = field(default_factory=set)
    withheld: dict[str, int] = field(default_factory=dict)
    known: int = 0
    notes: list[str] = field(default_factory=list)
    """Settings without effect, such as a rule that does not exist, one line each."""
