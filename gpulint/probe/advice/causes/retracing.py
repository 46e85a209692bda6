"""Functions are traced again and again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from gpulint.probe.advice.advice import Candidate, Observed, Outside
from gpulint.probe.advice.matching import finding_at, place_of, sentence
from gpulint.probe.agent.garbage import GARBAGE
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.retracing import causes_of, fixes, needed
from gpulint.probe.measures.time_spent import TimeSpent, Tracing
from gpulint.probe.measures.time_words import duration

OF_PIPELINES = ("Dataset_", "_init_func", "_next_func", "_finalize_func", "_remote_")
"""Beginnings of the names of functions that pipelines call: those of the program, and those by which each iterator of a
strategy hands elements over."""

RULES = ("GPU505", "GPU504", "GPU408")


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Each line whose functions are traced again; the first trace of each is needed."""
    by_line: dict[Where | None, list[Tracing]] = defaultdict(list)
    for one in observed.time.tracings:
        if one.kind != "trace" or one.function.startswith(OF_PIPELINES):
            continue
        if 0 < one.again <= needed(causes_of(one.function, observed.capture)):
            continue
        if lost_to(observed.time, one) or _is_outside(observed, one):
            by_line[one.where].append(one)
    for where, found in by_line.items():
        most = max(found, key=lambda one: one.again_seconds)
        finding = finding_at(observed, RULES, where)
        is_fit = any(each.where == where for each in observed.capture.data)
        changed = next((one.causes[0].rpartition("×: ")[2] for one in (most, *found) if one.causes), "")
        traced = "`fit` traces its step" if is_fit else f"`{most.function}` is traced"
        text = f"{traced} {most.again + 1:,} times"
        seconds, why = sum(one.again_seconds for one in found), f": {changed}" if changed else ""
        yield Candidate(
            "retracing",
            place_of(finding) if finding is not None else where,
            text,
            f"{_others(most.again, seconds)}{why}.",
            sentence(finding.instead) if finding is not None else _fix(observed, most, is_fit),
            {"trace": sum(lost_to(observed.time, one) for one in found)},
            finding.code if finding is not None else None,
            outside=_outside(observed, found),
        )


def _is_outside(observed: Observed, one: Tracing) -> bool:
    """Whether a function that a rule reports was traced again outside the training time only."""
    is_within = any((each.name, each.detail) == ("trace", one.function) for each in observed.time.by_line)
    return one.again_seconds > 0 and not is_within and finding_at(observed, RULES, one.where) is not None


def _outside(observed: Observed, found: Sequence[Tracing]) -> Outside | None:
    outside = [one for one in found if _is_outside(observed, one)]
    if not outside:
        return None
    most = max(outside, key=lambda one: one.again_seconds)
    saved = sum(one.again_seconds for one in outside)
    return Outside(f"{most.count:,} traces of `{most.function}`", sum(one.seconds for one in outside), saved)


def _others(again: int, seconds: float) -> str:
    """The seconds of all traces but the first."""
    if again == 1:
        return f"The second trace took {duration(seconds)}"
    return f"Retracing took {duration(seconds)}, {duration(seconds / again)} each time"


def _fix(observed: Observed, one: Tracing, is_fit: bool) -> str:
    if known := fixes(causes_of(one.function, observed.capture)):
        return sentence(known)
    functions = observed.capture.functions.values()
    made = sum(each.made for each in functions if (each.name, each.where) == (one.function, one.where))
    if is_fit:
        return "Pad the batches to a few lengths (`padded_batch`, `bucket_by_sequence_length`)."
    if made > 1 and made >= one.again / 2:
        return "Create the function once, before the loop."
    return "Pass tensors of one shape, or give it an `input_signature` with `None` for the dimensions that vary."


def lost_to(time: TimeSpent, one: Tracing) -> float:
    """Seconds of a function's traces, or compilations, but the first ones. Those before the end of the first step are
    not part of the time. Compilations are found on the lines that call the function. Collections of garbage during
    traces belong to each in proportion."""
    traced = [each for each in time.by_line if each.name == "trace" and each.detail != GARBAGE]
    found = [each for each in traced if each.detail == one.function]
    here = [each for each in found if each.where == one.where and one.kind == "trace"]
    within = sum(each.seconds for each in here or found)
    named = sum(each.seconds for each in traced)
    collecting = sum(each.seconds for each in time.by_line if (each.name, each.detail) == ("trace", GARBAGE))
    return min(one.again_seconds, within * (1 + collecting / named)) if within else 0.0
