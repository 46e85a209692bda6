"""What a run found."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpulint.linting.finding import Finding, Silenced
from gpulint.places import Site


@dataclass(slots=True)
class CheckResult:
    """What a run found. `errors` are faults of gpulint itself or of a rule, one line each, with tracebacks.

    `stopped` are the bounds of the analysis that were reached, each with the function of that place. `programs` are, by
    path, the checked files by which a file came to its findings, or might have come to others: itself and those that
    import it. Of the `files`, `analysed` speak of TensorFlow; of those, `remembered` were not analysed in this run
    because the cache had what they gave.
    """

    findings: list[Finding] = field(default_factory=list)
    suppressed: list[Silenced] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    programs: dict[str, set[str]] = field(default_factory=dict)
    files: int = 0
    analysed: int = 0
    remembered: int = 0
    stopped: set[tuple[str, Site]] = field(default_factory=set)
