"""A strategy uses all its devices, and its replicas have the same variables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from gpulint.probe.capture import Capture, Strategy, Variable
from gpulint.probe.expectation import Expectation, Run, Status, held, undecided, violated

_SPREAD = "strategy-spread"
_MIRRORED = "variables-mirrored"
SHOWN = 3
"""Variables that are named as evidence."""


def check(run: Run) -> Iterator[Expectation]:
    """For each strategy with several replicas: variables and operations on its devices."""
    for strategy in run.capture.strategies:
        devices = tuple(dict.fromkeys(strategy.devices))
        if strategy.replicas < 2:
            continue
        subject = f"{strategy.cls} of {strategy.replicas} replicas"
        if len(devices) < strategy.replicas:
            reason = f"the replicas share {len(devices)} device: {', '.join(devices)}"
            yield undecided(_SPREAD, Status.INCONCLUSIVE, subject, "work on every device", reason)
            continue
        yield from _spread(run.capture, strategy, devices, subject)
        yield from _mirrored(run.capture, strategy, devices, subject)


def _spread(capture: Capture, strategy: Strategy, devices: tuple[str, ...], subject: str) -> Iterator[Expectation]:
    expected = f"work on {', '.join(devices)}"
    operations = Counter[str]()
    for ran, count in capture.executions.items():
        operations[ran.device] += count
    for node, count in capture.nodes.items():
        operations[node.assigned] += count
    idle = [device for device in devices if not operations[device]]
    observed = ", ".join(f"{device}: {operations[device]} operations" for device in devices)
    if idle:
        code = "GPU203" if len(idle) == len(devices) else "GPU201"
        yield violated(
            _SPREAD,
            subject,
            expected,
            observed,
            code=code,
            where=strategy.where,
            fix="build the model in `strategy.scope()` and train it with `fit` or `strategy.run`",
        )
    else:
        yield held(_SPREAD, subject, expected, observed, where=strategy.where)


def _mirrored(capture: Capture, strategy: Strategy, devices: tuple[str, ...], subject: str) -> Iterator[Expectation]:
    if strategy.cls not in ("MirroredStrategy", "MultiWorkerMirroredStrategy", "CollectiveAllReduceStrategy"):
        return
    expected = "the same bytes of variables on each device"
    on: dict[str, list[Variable]] = defaultdict(list)
    for variable in capture.variables:
        on[variable.device].append(variable)
    sizes = {device: sum(variable.bytes for variable in on[device]) for device in devices}
    observed = ", ".join(f"{device}: {size:,} bytes" for device, size in sizes.items())
    alone = [variable for variable in _of_one_device(on, devices) if variable.bytes > 0]
    if not any(sizes.values()):
        yield undecided(_MIRRORED, Status.INCONCLUSIVE, subject, expected, "no variable was seen on these devices")
    elif len(set(sizes.values())) > 1 and alone:
        alone.sort(key=lambda variable: -variable.bytes)
        yield violated(
            _MIRRORED,
            subject,
            expected,
            observed,
            code="GPU201",
            where=alone[0].where,
            evidence=tuple(f"{one.name} ({one.bytes:,} bytes) only on {one.device}" for one in alone[:SHOWN]),
            fix="build it inside `with strategy.scope():`",
        )
    elif len(set(sizes.values())) == 1:
        yield held(_MIRRORED, subject, expected, observed, where=strategy.where)


def _of_one_device(on: dict[str, list[Variable]], devices: tuple[str, ...]) -> list[Variable]:
    """The variables of a strategy's first device that no other one has a copy of."""
    others = Counter((one.shape, one.dtype) for device in devices[1:2] for one in on[device])
    alone = []
    for variable in on[devices[0]]:
        if others[variable.shape, variable.dtype]:
            others[variable.shape, variable.dtype] -= 1
        else:
            alone.append(variable)
    return alone
