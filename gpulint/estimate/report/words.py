"""Words that the formats of an estimate's report share."""

from __future__ import annotations

import os

from gpulint.estimate.result import Estimate, Memory
from gpulint.output.summary import number
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.report import located

SPREAD = 0.03
"""Share of the peak from which the spread is shown."""

PRECISIONS = {"float32": "float32", "mixed_float16": "mixed float16", "mixed_bfloat16": "mixed bfloat16"}


def place(filename: str, row: int, cell: int | None = None) -> str:
    """A line relative to the working directory; "" if it is unknown."""
    return located(Where(os.path.abspath(filename), row, cell)) if filename else ""


def title(estimate: Estimate) -> str:
    """Title of an estimate: `train.py:40 fit · batch 32 per GPU · float32 · estimated, no step was run`."""
    step = estimate.step
    parts = [f"{place(step.filename, step.row, step.cell)} {step.name}".strip()]
    if step.batch is not None:
        parts.append(f"batch {step.batch:,}{' per GPU' if step.replicas > 1 else ''}")
    parts.append(PRECISIONS.get(step.precision, step.precision))
    if step.replicas > 1:
        parts.append(number(step.replicas, "replica"))
    if step.is_compiled:
        parts.append("compiled by XLA")
    return " · ".join([*parts, "estimated, no step was run"])


def size(bytes_: int | None) -> str:
    """Bytes in words, or `unknown`."""
    return "unknown" if bytes_ is None else in_words(bytes_)


def peak(memory: Memory) -> str:
    """The peak of a step, with what of it the allocator may not need: `3 GiB, of which …`."""
    highest, least = memory.steady_peak or 0, memory.least_peak or 0
    spread = highest - least
    if spread < SPREAD * highest:
        return in_words(highest)
    return (
        f"{in_words(highest)}; up to {in_words(spread)} less if the allocator finds a chunk of the right size each time"
    )


def fits(memory: Memory | None) -> str:
    """Whether the step fits: `yes`, `no` or `unknown`."""
    return memory.fits if memory is not None else "unknown"


def headline(estimate: Estimate) -> str:
    """The answer in one sentence: on which cards the step fits."""
    by_answer: dict[str, list[str]] = {}
    for one in estimate.cards:
        by_answer.setdefault(fits(one.memory), []).append(one.card.name)
    parts = []
    for answer, verb in (("yes", "fits on"), ("no", "does not fit on"), ("unknown", "may or may not fit on")):
        if names := by_answer.get(answer):
            listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
            parts.append(f"{verb} {listed}")
    return f"The step {'; it '.join(parts)}."
