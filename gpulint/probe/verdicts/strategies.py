"""GPU2xx: replicas of a strategy."""

from __future__ import annotations

import re
from collections import Counter

from gpulint.linting.finding import Finding
from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Strategy, Variable
from gpulint.probe.measures.reasons import is_heavy
from gpulint.probe.measures.splits import divided, shares, splits_by_loop
from gpulint.probe.measures.variable_balance import uneven
from gpulint.probe.measures.work import work
from gpulint.probe.verdicts.evidence import (
    Judge,
    Verdict,
    by_device,
    ended_with,
    first_line,
    first_of,
    is_all_seen,
    is_in,
    is_near,
    made_by,
    of_replicas,
    peers,
    placed,
    raised_here,
)

_MIXED = "Mixing different tf.distribute.Strategy"
_OTHER_STRATEGY = ("different strategy", "must only be passed a variable created in this")
_OUTSIDE = ('Need to be inside "with strategy.scope()"',)
_UPDATES = ("AssignAddVariableOp", "AssignSubVariableOp", "AssignVariableOp")
_USES = ("compiled", "fitted", "used")
"""Words of a model finding for the line that uses it."""

_SIZE = re.compile(r"\bbatch size (\d+)")


def _strategy_at(finding: Finding, capture: Capture) -> Strategy | None:
    """The strategy created in the rows of a finding, or of its related lines."""
    spans = [finding.span, *(related.span for related in finding.related)]
    return next((one for span in spans for one in capture.strategies if is_in(one.where, span)), None)


def _variables_of_one_replica(finding: Finding, capture: Capture) -> Verdict | None:
    strategy = of_replicas(capture)
    if strategy is None:
        return None
    made = made_by(finding.span, capture) or _variables_built_in_use(finding, capture)
    if not made:
        return None
    alone = made if len(_devices(made)) == 1 else uneven(made, strategy.devices)
    if alone:
        idle = _idle(strategy, capture)
        on = ", ".join(_devices(alone))
        return Verdict(True, f"variables on {on} only" + (f", {', '.join(idle)} idle" if idle else ""))
    return Verdict(False, f"variables on {', '.join(_devices(made))}")


def _variables_built_in_use(finding: Finding, capture: Capture) -> list[Variable]:
    """Variables of a lazily built model, in the rows that use it."""
    uses = [related.span for related in finding.related if related.message.startswith(_USES)]
    return [one for span in uses for one in made_by(span, capture)]


def _devices(variables: list[Variable]) -> list[str]:
    return sorted({one.device for one in variables})


def _optimizer_of_one_replica(finding: Finding, capture: Capture) -> Verdict | None:
    """In the scope its counters, too, would be on each device."""
    made = made_by(finding.span, capture)
    if of_replicas(capture) is None or len(_devices(made)) != 1:
        return None
    return Verdict(True, f"variables on {made[0].device} only")


def _idle(strategy: Strategy, capture: Capture) -> list[str]:
    """Devices of a strategy that ran nothing in steps, or no heavy work while others did; none if work was not
    seen."""
    if not is_all_seen(capture):
        return []
    heavy = Counter[str]()
    for ran, count in capture.executions.items():
        heavy[ran.device] += count * is_heavy(ran.op)
    for node, count in capture.nodes.items():
        heavy[node.assigned] += count * is_heavy(node.op)
    counts = +heavy or work(capture).by_device
    return [device for device in dict.fromkeys(strategy.devices) if counts and not counts[device]]


def _unused(finding: Finding, capture: Capture) -> Verdict | None:
    strategy = _strategy_at(finding, capture)
    if strategy is None or strategy.replicas < 2 or len(set(strategy.devices)) < 2:
        return None
    idle = _idle(strategy, capture)
    if idle:
        busy = ", ".join(device for device in dict.fromkeys(strategy.devices) if device not in idle) or "no device"
        return Verdict(True, f"{strategy.replicas} replicas, but {busy} does all the work; {', '.join(idle)} idle")
    return None


def _not_entered(finding: Finding, capture: Capture) -> Verdict | None:
    strategy = of_replicas(capture)
    devices = {one.device for one in capture.variables}
    if strategy is None or not devices:
        return None
    return Verdict(True, f"variables on {devices.pop()} only") if len(devices) == 1 else None


def _whole_batches(finding: Finding, capture: Capture) -> Verdict | None:
    here = [one for one in capture.runs if is_in(one.where, finding.span)]
    if not here:
        return None
    if (same := next((one for one in here if one.whole and not one.divided), None)) is not None:
        batch = f"a batch of {same.batch}" if same.batch else "the same batch"
        return Verdict(True, f"each of the {same.replicas} replicas got the whole of {batch}")
    if all(one.divided for one in here):
        return Verdict(False, f"each of the {here[0].replicas} replicas got its own shard")
    return None


def _one_replica(finding: Finding, capture: Capture) -> Verdict | None:
    strategy = of_replicas(capture)
    if strategy is None or any(is_in(one.where, finding.span) for one in capture.runs):
        return None
    idle = _idle(strategy, capture)
    return Verdict(True, f"{', '.join(idle)} idle while the step ran") if idle else None


def _eager_runs(finding: Finding, capture: Capture) -> Verdict | None:
    here = {one: count for one, count in capture.runs.items() if is_in(one.where, finding.span)}
    eager = sum(count for one, count in here.items() if one.eager and not one.traced)
    if eager:
        return Verdict(
            True, f"{eager} calls outside a function: Python dispatched every operation of every replica separately"
        )
    return Verdict(False, "it was called inside a function") if here else None


def _divided(finding: Finding, capture: Capture) -> Verdict | None:
    strategy = next((one for one in capture.strategies if one.replicas > 1), None)
    said = _SIZE.search(finding.message)
    if strategy is None or said is None:
        return None
    size = int(said[1])
    loops = splits_by_loop(capture).values()
    for sizes in (splits.most_common(1)[0][0] for splits in loops):
        if sum(sizes) == size:
            return Verdict(True, f"the {strategy.replicas} replicas got {shares(sizes)}")
    if any(sum(sizes) == size for splits in loops for sizes in splits):
        return None  # the last batch of an epoch
    given = {batch.size for batch in capture.batches}
    given |= {one.batch * one.replicas for one in capture.runs if one.batch and one.divided}
    if size in given:
        return Verdict(True, f"the {strategy.replicas} replicas got {shares(divided(size, strategy.replicas))}")
    return None


def one_replica(finding: Finding, capture: Capture) -> Verdict | None:
    strategy = next((one for one in capture.strategies if is_near(one.where, finding.span)), None)
    if strategy is None:
        return None
    if strategy.replicas > 1:
        return Verdict(False, f"{strategy.replicas} replicas")
    others = peers(strategy.devices[0], capture) if strategy.devices else []
    return Verdict(True, f"one replica, on {strategy.devices[0]}; {', '.join(others)} unused") if others else None


def _applied_each_time(finding: Finding, capture: Capture) -> Verdict | None:
    applied = sum(
        count
        for ran, count in capture.executions.items()
        if ran.op == "AssignAddVariableOp" and is_in(ran.where, finding.span)
    )
    taken = sum(steps.taken + steps.merged for (name, _), steps in capture.steps.items() if name == EAGER_STEP)
    if applied and applied == taken:
        return Verdict(True, f"{taken} gradients were computed, and all {applied} were applied one by one")
    return None


def _updated_by_each(finding: Finding, capture: Capture) -> Verdict | None:
    strategy = of_replicas(capture)
    devices = _devices(made_by(finding.span, capture))
    if strategy is None or not devices:
        return None
    if len(devices) > 1:
        return Verdict(False, f"it has a copy on each of {', '.join(devices)}")
    updates = Counter[str]()
    for one in placed(capture):
        if one.op in _UPDATES and any(is_in(one.where, related.span) for related in finding.related):
            updates[one.device] += one.times
    (device,) = devices
    if sum(updates.values()) < strategy.replicas:
        return None
    return Verdict(True, f"{strategy.replicas} replicas share one copy, on {device}; updates: {by_device(updates)}")


def _does_not_compile(finding: Finding, capture: Capture) -> Verdict | None:
    if capture.compiled and of_replicas(capture) is not None and capture.error.startswith(_COMPILING):
        return Verdict(True, f"the program ended with {first_line(capture.error)}")
    return None


_COMPILING = ("InvalidArgumentError", "UnimplementedError", "InternalError")

VERDICTS: dict[str, Judge] = {
    "GPU201": first_of(ended_with(*_OUTSIDE), _variables_of_one_replica, ended_with(_MIXED, *_OTHER_STRATEGY)),
    "GPU202": first_of(ended_with(_MIXED, *_OTHER_STRATEGY), _optimizer_of_one_replica),
    "GPU203": first_of(_unused, _not_entered),
    "GPU205": _whole_batches,
    "GPU206": _one_replica,
    "GPU207": _eager_runs,
    "GPU209": _divided,
    "GPU210": ended_with(_MIXED, *_OTHER_STRATEGY),
    "GPU212": first_of(ended_with("merge_call", "gradient_accumulation_steps"), _applied_each_time),
    "GPU213": _updated_by_each,
    "GPU214": first_of(ended_with("PerReplica"), raised_here("TypeError", "ValueError", "AttributeError")),
    "GPU215": first_of(_does_not_compile, ended_with("merge_call", "gradient_accumulation_steps", "Need to be inside")),
    "GPU217": ended_with("You must feed a value for placeholder tensor 'cond/"),
    "GPU705": ended_with("convert a value (PerReplica", "Invalid reduction dimension 0"),
}
