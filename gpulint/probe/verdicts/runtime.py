"""GPU3xx, GPU70x, GPU901: configuration, memory, clusters and removed names."""

from __future__ import annotations

import re
from collections import defaultdict

from gpulint.linting.finding import Finding
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Variable, Where
from gpulint.probe.measures import configuration, leaks
from gpulint.probe.measures.number_words import counted
from gpulint.probe.verdicts.evidence import (
    STEP,
    Judge,
    Verdict,
    ended_with,
    first_line,
    first_of,
    is_in,
    is_near,
    made_by,
    placed,
    raised_here,
)

_NAME = re.compile(r"`(\w+)`")
BUILT = 3
"""Coexisting models of one line that count as piling up rather than a pair."""


def _refused(finding: Finding, capture: Capture) -> Verdict | None:
    made = [one for one in capture.calls if is_in(one.where, finding.span)]
    failed = next((one for one in made if configuration.rule_of(one.error) == finding.code), None)
    return Verdict(True, failed.error) if failed is not None else None


def _accepted(finding: Finding, capture: Capture) -> Verdict | None:
    """A call that is late from a loop's second iteration on, as the initialisation comes below it, is in time in the
    first."""
    made = [one for one in capture.calls if is_in(one.where, finding.span)]
    rounds = 2 if any(one.span.row > finding.span.end_row for one in finding.related) else 1
    if len(made) < rounds or capture.error or any(one.error for one in made):
        return None
    return Verdict(False, f"{made[0].name} was accepted")


def _dropped(finding: Finding, capture: Capture) -> Verdict | None:
    """Growth and a limit were both accepted: the runtime says whether memory grows."""
    made = [one for one in capture.calls if is_in(one.where, finding.span)]
    both = next((configuration.device_of(one) for one in made if configuration.is_split(one)), "")
    if both not in configuration.growth_enabled_for(capture):
        return None
    in_force = configuration.growth_in_force(capture)
    if in_force is None:
        return None
    if in_force:
        return Verdict(False, f"the memory of {both} grows nonetheless")
    return Verdict(True, f"growth was requested on {both}, was dropped because of the limit, and is not in effect")


def _late_variable(finding: Finding, capture: Capture) -> Verdict | None:
    named = _NAME.search(finding.message)
    read, end = capture.environment.get("query", capture.environment.get("runtime")), capture.environment.get("end")
    if named is None or read is None or end is None:
        return None
    before, after = read.get(named[1]), end.get(named[1])
    if before == after:
        return (
            Verdict(False, f"it was {before!r} when TensorFlow listed the devices, and did not change")
            if after
            else None
        )
    text = "not set" if before is None else f"{before!r}"
    return Verdict(True, f"it was {text} when TensorFlow listed the devices, and was set to {after!r} later")


def _piled_up(finding: Finding, capture: Capture) -> Verdict | None:
    """Verdict by the variables that one line creates in several iterations: whether older ones still existed. A model
    that builds lazily creates them on another line of the loop."""
    loops = [one.span._replace(end_row=one.span.end_row + STEP) for one in finding.related if "loop" in one.message]
    by_place: defaultdict[tuple[Where | None, ...], list[Variable]] = defaultdict(list)
    for one in made_by(finding.span, capture) or [one for span in loops for one in made_by(span, capture)]:
        by_place[(one.where, *one.callers)].append(one)
    made = max(by_place.values(), key=_rounds, default=[])
    rounds, there = _rounds(made), 1 + max((one.older for one in made), default=0)
    if rounds < BUILT:
        return None
    size = sum(one.bytes for one in made)
    text = f"{rounds} models were created, {size:,} bytes of variables in all"
    if there >= BUILT and 2 * there > rounds:
        return Verdict(True, f"{text}; {there} of them existed at once")
    return Verdict(False, f"{text}; at most {there} existed at once") if there < BUILT else None


def _rounds(made: list[Variable]) -> int:
    return len({one.round for one in made})


def _kept(finding: Finding, capture: Capture) -> Verdict | None:
    """Verdict by the tensors left over from the lines of the finding or of its loop. Those returned by a function are
    attributed to the line that calls it."""
    spans = [(finding.span, 0), *((one.span, STEP if "loop" in one.message else 0) for one in finding.related)]
    here = [one for one in capture.kept if any(is_in(one.where, span, after) for span, after in spans)]
    if not here:
        return None
    worst = max(here, key=lambda one: (leaks.is_kept(one), one.bytes))
    if leaks.is_kept(worst):
        steps = f"{worst.left} of {worst.made} sampled steps"
        return Verdict(True, f"{steps} kept a tensor alive on {worst.device} ({leaks.each_step(worst)})")
    if any(one.left for one in here):
        return None
    return Verdict(False, f"no tensor from here outlived its step, in {worst.made} sampled steps")


def _one_worker(finding: Finding, capture: Capture) -> Verdict | None:
    strategy = next((one for one in capture.strategies if is_near(one.where, finding.span)), None)
    if strategy is None:
        return None
    if any("/task:" in device for device in capture.logical):  # a device of another worker
        return Verdict(False, f"the cluster has {len(capture.logical)} devices")
    return Verdict(True, f"one worker, with {strategy.replicas} replica{'' if strategy.replicas == 1 else 's'}")


def _removed_name(finding: Finding, capture: Capture) -> Verdict | None:
    """Confirmed by its own error on its own line: a program uses many removed names and ends with the first. Refuted
    where the line ran without one."""
    spans = [finding.span, *(related.span for related in finding.related)]
    if any(is_in(capture.error_at, span) for span in spans):
        missing = _MISSING.search(capture.error)
        is_its_own = missing is None or re.search(rf"\b{re.escape(missing[1])}\b|\bother names?\b", finding.message)
        if capture.error.startswith(_GONE) and is_its_own:
            return Verdict(True, f"the program ended here with {first_line(capture.error)}")
        return None
    ran = sum(one.times for one in placed(capture) if is_in(one.where, finding.span))
    return Verdict(False, f"{counted(ran, 'operation')} ran here without an error") if ran else None


_MISSING = re.compile(r"(?:has no attribute|cannot import name|unexpected keyword argument) '(\w+)'")
_GONE = ("AttributeError", "ImportError", "ModuleNotFoundError", "TypeError")

VERDICTS: dict[str, Judge] = {
    "GPU301": first_of(_refused, raised_here("RuntimeError", "ValueError"), _accepted),
    "GPU302": _late_variable,
    "GPU303": first_of(_refused, ended_with("Memory growth cannot differ")),
    "GPU304": raised_here("TypeError"),
    "GPU305": _piled_up,
    "GPU306": first_of(_refused, raised_here("ValueError"), _dropped),
    "GPU307": _kept,
    "GPU701": _one_worker,
    "GPU702": ended_with("Collective ops must be configured at program startup"),
    "GPU901": _removed_name,
}
