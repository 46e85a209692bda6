"""Steps wait for their input."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.measures.time_words import duration


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Each line that reads an input."""
    time = observed.time
    for one in time.by_line:
        if one.name == "input" and one.count:
            yield Candidate(
                "input-bound",
                one.where,
                "each step waits for its input",
                f"{min(one.count, time.steps)} of {time.steps} steps waited, {duration(one.seconds / one.count)} each.",
                "Do less for each element, or give the work to more threads.",
                {"input": one.seconds},
            )
