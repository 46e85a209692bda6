"""GPU3xx, GPU70x, GPU901: configuration, memory, clusters and removed names."""

from __future__ import annotations

import re
from collections import Counter

from gpulint.linting.finding import Finding
from gpulint.probe import memory
from gpulint.probe.capture import Capture
from gpulint.probe.checks.configuration import code_of
from gpulint.probe.deciders.evidence import (
    STEP,
    Decider,
    Said,
    ended_with,
    first_line,
    first_of,
    is_in,
    is_near,
    raised_here,
)

_NAME = re.compile(r"`(\w+)`")
BUILT = 3
"""Models made on one line that are a pile rather than a pair."""


def _refused(finding: Finding, capture: Capture) -> Said | None:
    made = [one for one in capture.calls if is_in(one.where, finding.span)]
    failed = next((one for one in made if code_of(one.error) == finding.code), None)
    return Said(True, failed.error) if failed is not None else None


def _accepted(finding: Finding, capture: Capture) -> Said | None:
    made = [one for one in capture.calls if is_in(one.where, finding.span)]
    if not made or capture.error or any(one.error for one in made):
        return None
    return Said(False, f"{made[0].name} was accepted")


def _late_variable(finding: Finding, capture: Capture) -> Said | None:
    named = _NAME.search(finding.message)
    read, end = capture.environment.get("query", capture.environment.get("runtime")), capture.environment.get("end")
    if named is None or read is None or end is None:
        return None
    before, after = read.get(named[1]), end.get(named[1])
    if before == after:
        return Said(False, f"it was {before!r} when the devices were asked for, and stayed so") if after else None
    told = "not set" if before is None else f"{before!r}"
    return Said(True, f"when the devices were asked for it was {told}; {after!r} came later")


def _piled_up(finding: Finding, capture: Capture) -> Said | None:
    spans = [(finding.span, 0), *((one.span, STEP if "loop" in one.message else 0) for one in finding.related)]
    made = [one for one in capture.variables if any(is_in(one.where, span, after) for span, after in spans)]
    alike = Counter((one.where, re.sub(r"_\d+", "", one.name), one.shape, one.device) for one in made)
    rounds = max(alike.values(), default=0)
    if rounds < BUILT:
        return None
    size = sum(one.bytes for one in made)
    return Said(True, f"{rounds} models were made, {size:,} bytes of variables in all")


def _climbs(finding: Finding, capture: Capture) -> Said | None:
    steps = sum(one.taken for one in capture.steps.values())
    grown = [one for one in memory.leaks(capture.memory, {}, steps) if one.steady]
    if grown:
        worst = max(grown, key=lambda one: one.growth)
        return Said(True, f"memory of {worst.subject} rose by {worst.growth / 2**20:.1f} MiB, without a fall")
    return None


def _one_worker(finding: Finding, capture: Capture) -> Said | None:
    strategy = next((one for one in capture.strategies if is_near(one.where, finding.span)), None)
    if strategy is None:
        return None
    if any("/task:" in device for device in capture.logical):  # another worker's
        return Said(False, f"the cluster has {len(capture.logical)} devices")
    return Said(True, f"one worker, with {strategy.replicas} replica{'' if strategy.replicas == 1 else 's'}")


def _gone(finding: Finding, capture: Capture) -> Said | None:
    """By the name that the error speaks of: a program has many that are gone, and ends with the first."""
    missing = _MISSING.search(capture.error)
    if missing is not None and re.search(rf"\b{re.escape(missing[1])}\b", finding.message):
        return Said(True, f"the program ended with {first_line(capture.error)}")
    return None


_MISSING = re.compile(r"(?:has no attribute|cannot import name|unexpected keyword argument) '(\w+)'")
_GONE = ("AttributeError", "ImportError", "ModuleNotFoundError", "TypeError")

DECIDERS: dict[str, Decider] = {
    "GPU301": first_of(_refused, raised_here("RuntimeError", "ValueError"), _accepted),
    "GPU302": _late_variable,
    "GPU303": first_of(_refused, ended_with("Memory growth cannot differ")),
    "GPU304": raised_here("TypeError"),
    "GPU305": _piled_up,
    "GPU306": first_of(_refused, raised_here("ValueError")),
    "GPU307": _climbs,
    "GPU701": _one_worker,
    "GPU702": ended_with("Collective ops must be configured at program startup"),
    "GPU901": first_of(raised_here(*_GONE), _gone),
}
