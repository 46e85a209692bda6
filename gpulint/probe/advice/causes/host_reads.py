"""Python reads tensors and waits for the device meanwhile."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.causes.eager_step import CODE, EAGER_OPERATIONS
from gpulint.probe.advice.matching import finding_at, sentence
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.eager_operations import READ as OF_VARIABLE
from gpulint.probe.measures.reasons import is_bookkeeping
from gpulint.probe.measures.time_words import duration

READ = "read"
"""Detail of the time that a line spends in reads."""

_WITH_READS = {("python", CODE), ("launch", EAGER_OPERATIONS)}

RULES = ("GPU502", "GPU501")


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Each line that reads tensors, with what Python does there with the values, and the reads of variables that it
    launches. What Keras reads within `fit` is not the program's doing."""
    asked = {read.where for read in observed.capture.step_reads}
    of_keras = {data.where for data in observed.capture.data} - asked
    for one in observed.time.by_line:
        if one.detail == READ and one.count and one.where not in of_keras:
            cures = defaultdict(float, {one.name: one.seconds})
            for part in observed.time.by_line:
                if part.where == one.where is not None and (part.name, part.detail) in _WITH_READS:
                    cures[part.name] += part.seconds * _share_of_reads(observed.capture, one.where)
            finding = finding_at(observed, RULES, one.where)
            fix = "Read it every hundred steps, or keep a metric on the device and read it once per epoch."
            yield Candidate(
                "host-reads",
                one.where,
                finding.message if finding is not None else "Python reads a tensor and waits for it",
                f"{one.count:,} reads in {observed.time.steps:,} steps, {duration(one.seconds / one.count)} each.",
                sentence(finding.instead) if finding is not None else fix,
                cures,
                finding.code if finding is not None else None,
            )


def _share_of_reads(capture: Capture, where: Where) -> float:
    """Share of a line's eager operations that read variables; 1 if it runs none."""
    ran = Counter[str]()
    for one, count in capture.executions.items():
        if one.where == where and not is_bookkeeping(one.op):
            ran[one.op] += count
    return ran[OF_VARIABLE] / ran.total() if ran else 1.0
