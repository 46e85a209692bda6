"""Functions are traced again and again."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.matching import finding_at, place_of, sentence
from gpulint.probe.measures.retracing import causes_of, fixes
from gpulint.probe.measures.time_spent import Tracing
from gpulint.probe.measures.time_words import duration

RULES = ("GPU505", "GPU504")


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Each function that is traced more than once; its first trace is needed."""
    for one in observed.time.tracings:
        if one.kind == "trace" and one.count > 1:
            finding = finding_at(observed, RULES, one.where)
            changed = f": {', '.join(one.causes)}" if one.causes else ""
            yield Candidate(
                "retracing",
                place_of(finding) if finding is not None else one.where,
                f"`{one.function}` is traced {one.count:,} times{changed}",
                f"Tracing took {duration(one.seconds)}, {duration(one.seconds / one.count)} each time.",
                sentence(finding.instead) if finding is not None else _fix(observed, one),
                {"trace": one.seconds * (one.count - 1) / one.count},
                finding.code if finding is not None else None,
            )


def _fix(observed: Observed, one: Tracing) -> str:
    capture = observed.capture
    if known := fixes(causes_of(one.function, capture)):
        return sentence(known)
    made = sum(each.made for each in capture.functions.values() if (each.name, each.where) == (one.function, one.where))
    if made > 1 and made >= one.count / 2:
        return "Create the function once, before the loop."
    if any(each.where == one.where for each in capture.data):
        return "Pad the batches to a few lengths (`padded_batch`, `bucket_by_sequence_length`)."
    return "Pass tensors of one shape, or give it an `input_signature` with `None` for what varies."
