"""Training waits for checkpoints and summaries to be written."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.measures.time_words import duration

SUMMARY = "summary"
"""Detail of the time that a line spends in writing summaries."""


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Each line that writes files."""
    time = observed.time
    for one in time.by_line:
        if one.name != "checkpoint" or not one.count:
            continue
        is_summary = SUMMARY in one.detail
        yield Candidate(
            "checkpoints",
            one.where,
            "training waits for summaries" if is_summary else "training waits for its checkpoints",
            f"{one.count:,} were written in {time.steps:,} steps, {duration(one.seconds / one.count)} each.",
            "Write them every hundred steps."
            if is_summary
            else "Save less often, or in the background (`CheckpointOptions(enable_async=True)`).",
            {"checkpoint": one.seconds},
        )
