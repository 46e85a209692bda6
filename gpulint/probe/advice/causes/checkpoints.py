"""Training waits for checkpoints and summaries to be written."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.measures.time_spent import PartAt
from gpulint.probe.measures.time_words import duration

SUMMARY = "summary"
"""Detail of the time that a line spends in writing summaries."""

CHECKPOINT = "train.Checkpoint"
"""How the details of TensorFlow's own checkpoints begin, and of their manager's."""


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Each line that writes files."""
    time = observed.time
    for one in time.by_line:
        if one.name != "checkpoint" or not one.count:
            continue
        is_summary = SUMMARY in one.detail
        were = "was" if one.count == 1 else "were"
        yield Candidate(
            "checkpoints",
            one.where,
            "training waits for summaries" if is_summary else "training waits for its checkpoints",
            f"{one.count:,} {were} written in {time.steps:,} steps, {duration(one.seconds / one.count)} each.",
            "Write them every hundred steps." if is_summary else _fix(observed, one),
            {"checkpoint": one.seconds},
        )


def _fix(observed: Observed, saves: PartAt) -> str:
    if saves.detail.startswith(CHECKPOINT):
        return "Save less often, or in the background (`CheckpointOptions(enable_async=True)`)."
    if any(one.where == saves.where for one in observed.capture.data):
        epochs = sum(one.where == saves.where and one.name.startswith("epoch") for one in observed.time.phases)
        how = "less often than after every epoch" if saves.count <= epochs else 'after each epoch (`save_freq="epoch"`)'
        return f"Save {how}, or after more batches: `save_freq` of the callback is their number."
    return "Save less often."
