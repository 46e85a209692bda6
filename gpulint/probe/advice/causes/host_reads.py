"""Python reads tensors and waits for the device meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.matching import finding_at, sentence
from gpulint.probe.measures.time_words import duration

READ = "read"
"""Detail of the time that a line spends in reads."""

RULES = ("GPU502", "GPU501")


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Each line that reads tensors."""
    for one in observed.time.by_line:
        if one.detail == READ and one.count:
            finding = finding_at(observed, RULES, one.where)
            fix = "Read it every hundred steps, or keep a metric on the device and read it once per epoch."
            yield Candidate(
                "host-reads",
                one.where,
                finding.message if finding is not None else "Python reads a tensor and waits for it",
                f"{one.count:,} reads in {observed.time.steps:,} steps, {duration(one.seconds / one.count)} each.",
                sentence(finding.instead) if finding is not None else fix,
                {one.name: one.seconds},
                finding.code if finding is not None else None,
            )
