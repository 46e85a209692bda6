"""Steps wait for copies between devices."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.causes.launch_bound import LAUNCH
from gpulint.probe.advice.matching import finding_at, sentence
from gpulint.probe.capture.records import Copy, Where
from gpulint.probe.expectations.metrics import is_on
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_words import duration

LINK = 25e9
"""Bytes per second between two GPUs over PCIe 4.0 with 16 lanes (31.5 GB/s in theory)."""

LATENCY = 10e-6
"""Seconds of the smallest copy between two GPUs."""


def candidates(observed: Observed) -> Iterator[Candidate]:
    """The line whose copies in a step move most, except those of a strategy's reduction. Batches come from the host:
    a step has to wait for them. In a rehearsal, copies between GPUs take no time: there it is the share that they would
    have of a step that launches operations and copies, and does nothing else."""
    capture, time = observed.capture, observed.time
    by_line: dict[Where, Counter[Copy]] = defaultdict(Counter)
    for one, count in capture.copies.items():
        if one.where is not None and one.in_step and not one.reduces and one.source != one.target:
            if not capture.simulated or (is_on(one.source, "GPU") and is_on(one.target, "GPU")):
                by_line[one.where][one] += count
    part = "launch" if capture.simulated else "copy"
    if not by_line or not time.seconds_of(part):
        return
    sizes = {where: sum((one.bytes or 0) * count for one, count in copies.items()) for where, copies in by_line.items()}
    where = max(by_line, key=lambda each: (sizes[each], by_line[each].total()))
    share = sizes[where] / sum(sizes.values()) if any(sizes.values()) else 1.0
    copies = by_line[where]
    ways = ", ".join(sorted({f"{one.source} to {one.target}" for one in copies}))
    readers = ", ".join(sorted({f"`{one.consumer}`" for one in copies if one.consumer})[:3])
    finding = finding_at(observed, ("GPU102",), where)
    size = f" of {in_words(sizes[where])}" if sizes[where] else ""
    number = f"{copies.total():,} copies" if copies.total() > 1 else "1 copy"
    cost = f"; {duration(time.seconds_of(part) / time.steps)} per step"
    if capture.simulated:
        copying = sizes[where] / LINK + copies.total() * LATENCY
        launching = (time.operations_per_step or 0.0) * LAUNCH
        share = copying / (copying + launching)
        cost = f". On real GPUs copying takes at least {duration(copying)}, launching the step {duration(launching)}"
    yield Candidate(
        "copies",
        where,
        f"{readers or 'this line'} reads {'tensors' if copies.total() > 1 else 'a tensor'} from another device",
        f"{number}{size} in each step, {ways}{cost}.",
        sentence(finding.instead)
        if finding is not None
        else "Compute its inputs on one device, or put it into its own `tf.device` scope.",
        {part: time.seconds_of(part) * share},
        finding.code if finding is not None else None,
        in_proportion=capture.simulated > 0,
    )
