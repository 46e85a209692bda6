"""Steps wait for copies between devices."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.matching import finding_at, sentence
from gpulint.probe.capture.records import Copy, Where
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_words import duration


def candidates(observed: Observed) -> Iterator[Candidate]:
    """The line whose copies in a step move most, except those of a strategy's reduction. Batches come from the host:
    a step has to wait for them."""
    seconds = observed.time.seconds_of("copy")
    by_line: dict[Where, Counter[Copy]] = defaultdict(Counter)
    for one, count in observed.capture.copies.items():
        if one.where is not None and one.in_step and not one.reduces and one.source != one.target:
            by_line[one.where][one] += count
    if not by_line or not seconds:
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
    yield Candidate(
        "copies",
        where,
        f"{readers or 'this line'} needs {'tensors' if copies.total() > 1 else 'a tensor'} of another device",
        f"{number}{size} in each step, {ways}; {duration(seconds / observed.time.steps)} per step.",
        sentence(finding.instead)
        if finding is not None
        else "Compute its inputs on one device, or put it into a `tf.device` scope of its own.",
        {"copy": seconds * share},
        finding.code if finding is not None else None,
    )
