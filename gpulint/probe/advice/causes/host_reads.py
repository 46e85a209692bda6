"""Python reads tensors and waits for the device meanwhile."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.causes.eager_step import EAGER_OPERATIONS
from gpulint.probe.advice.matching import finding_at, sentence
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.eager_operations import READ as OF_VARIABLE
from gpulint.probe.measures.reasons import is_bookkeeping
from gpulint.probe.measures.time_spent import CODE, PartAt
from gpulint.probe.measures.time_words import duration

READ = "read"
"""Detail of the time that a line spends in reads."""

_WITH_READS = {("python", CODE), ("launch", EAGER_OPERATIONS)}

RULES = ("GPU502", "GPU501")


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Each line that reads tensors, with what Python does there with the values, and the reads of variables that it
    launches. What Keras reads within `fit`, and TensorFlow where it converts arguments, is not the program's doing."""
    by_line: dict[Where | None, list[PartAt]] = defaultdict(list)
    for one in observed.time.by_line:
        if one.detail == READ and one.count and _is_asked_for(observed.capture, one.where):
            by_line[one.where].append(one)
    for where, reads in by_line.items():
        cures: dict[str, float] = defaultdict(float)
        for one in reads:
            cures[one.name] += one.seconds
        count, seconds = sum(one.count for one in reads), sum(one.seconds for one in reads)
        for part in observed.time.by_line:
            if part.where == where is not None and (part.name, part.detail) in _WITH_READS:
                cures[part.name] += part.seconds * _share_of_reads(observed.capture, where)
        finding = finding_at(observed, RULES, where)
        fix = "Read it every hundred steps, or keep a metric on the device and read it once per epoch."
        yield Candidate(
            "host-reads",
            where,
            finding.message if finding is not None else "Python reads a tensor and waits for it",
            f"{count:,} reads in {observed.time.steps:,} steps, {duration(seconds / count)} each.",
            sentence(finding.instead) if finding is not None else fix,
            cures,
            finding.code if finding is not None else None,
        )


def _is_asked_for(capture: Capture, where: Where | None) -> bool:
    """Whether the program itself reads on a line. Early captures tell only who reads in steps."""
    asked = {read.where for read in capture.step_reads}
    if capture.reads:
        return where in asked | {read.where for read in capture.reads}
    return where in asked or where not in {data.where for data in capture.data}


def _share_of_reads(capture: Capture, where: Where) -> float:
    """Share of a line's eager operations that read variables; 1 if it runs none."""
    ran = Counter[str]()
    for one, count in capture.executions.items():
        if one.where == where and not is_bookkeeping(one.op):
            ran[one.op] += count
    return ran[OF_VARIABLE] / ran.total() if ran else 1.0
