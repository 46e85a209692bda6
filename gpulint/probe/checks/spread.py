"""A strategy uses all its devices, and its replicas have the same variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Strategy
from gpulint.probe.checks.copies import between_replicas, is_unsure
from gpulint.probe.expectations.expectation import Expectation, Run, Status, held, undecided, violated
from gpulint.probe.measures.number_words import counted
from gpulint.probe.measures.variable_balance import variable_balance
from gpulint.probe.measures.work import work

_SPREAD = "strategy-spread"
_MIRRORED = "variables-mirrored"
MIXED = (
    "Mixing different tf.distribute.Strategy",
    "must only be passed a variable created in this",
    'Need to be inside "with strategy.scope()"',
)
"""Errors of TensorFlow and Keras for a variable that was created outside the strategy."""

_READS = ("ReadVariableOp", "ResourceGather")

SHOWN = 3
"""Variables named as evidence."""


def check(run: Run) -> Iterator[Expectation]:
    """Variables and operations by device, of each strategy with several replicas on existing devices."""
    for strategy in run.capture.strategies:
        devices = tuple(dict.fromkeys(strategy.devices))
        is_there = not run.capture.logical or set(devices) <= set(run.capture.logical)
        if strategy.own_replicas < 2 or not is_there:
            continue
        subject = f"{strategy.cls} of {strategy.replicas} replicas"
        if len(devices) < strategy.own_replicas:
            reason = f"the replicas share {len(devices)} device: {', '.join(devices)}"
            yield undecided(_SPREAD, Status.INCONCLUSIVE, subject, "work on every device", reason)
            continue
        yield from _spread(run.capture, strategy, devices, subject)
        yield from _mirrored(run.capture, strategy, subject)


def _spread(capture: Capture, strategy: Strategy, devices: tuple[str, ...], subject: str) -> Iterator[Expectation]:
    expected = f"work on {', '.join(devices)}"
    done = work(capture)
    idle = [device for device in devices if not done.by_device[device]]
    observed = ", ".join(f"{device}: {counted(done.by_device[device], 'operation')}" for device in devices)
    observed += " in training steps" if done.steps else ""
    has_failed = bool(capture.error) and not done.steps
    if idle and (done.unseen or has_failed or not (done.steps or done.by_device)):
        reason = "the program failed before it trained" if has_failed else "no training step was seen"
        if done.unseen:
            reason = f"no graph was recorded for {', '.join(done.unseen)}"
        yield undecided(_SPREAD, Status.INCONCLUSIVE, subject, expected, reason)
    elif idle:
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


def _mirrored(capture: Capture, strategy: Strategy, subject: str) -> Iterator[Expectation]:
    found = variable_balance(strategy, capture.variables)
    if found is None:
        return
    expected = "each replica has the variables that it uses"
    observed = ", ".join(f"{device}: {size:,} bytes" for device, size in found.sizes.items())
    if found.verdict == "inconclusive":
        yield undecided(_MIRRORED, Status.INCONCLUSIVE, subject, expected, found.reason)
        return
    if found.verdict != "fail":
        yield held(_MIRRORED, subject, expected, observed, where=strategy.where)
        return
    uneven = sorted(found.uneven, key=lambda variable: -variable.bytes)
    reached = (*_reached(capture, strategy), *_copied(capture, strategy))
    if not reached and not any(text in capture.error for text in MIXED):
        told = f"{observed}; no replica was seen to use the variables that are on one device only"
        if is_unsure(capture, strategy):
            yield undecided(_MIRRORED, Status.INCONCLUSIVE, subject, expected, observed)
        elif any(node.replica and node.op in _READS for node in capture.nodes):
            yield held(_MIRRORED, subject, expected, told, where=strategy.where)
        else:
            yield undecided(_MIRRORED, Status.INCONCLUSIVE, subject, expected, told)
        return
    yield violated(
        _MIRRORED,
        subject,
        expected,
        observed,
        code="GPU201",
        where=uneven[0].where,
        evidence=(*(f"{one.name} ({one.bytes:,} bytes) only on {one.device}" for one in uneven[:SHOWN]), *reached),
        fix="create it inside `with strategy.scope():`",
    )


def _copied(capture: Capture, strategy: Strategy) -> tuple[str, ...]:
    """Copies that each replica's device receives from another, in words."""
    sizes = Counter[tuple[str, str]]()
    for one, count in between_replicas(capture, strategy).items():
        sizes[one.source, one.target] += (one.bytes or 0) * count
    return tuple(f"{size:,} bytes from {source} to {target} each time" for (source, target), size in sizes.items())


def _reached(capture: Capture, strategy: Strategy) -> tuple[str, ...]:
    """Uses of the variables on one device by replicas on others, in words."""
    devices = set(strategy.devices)
    counts = Counter[tuple[int, str]]()
    for node, count in capture.nodes.items():
        if node.replica and node.op.endswith("VariableOp") and node.assigned in devices:
            if node.assigned != strategy.devices[node.replica % len(strategy.devices)]:
                counts[node.replica, node.assigned] += count
    return tuple(
        f"replica {replica} uses variables of {device} ({count:,} ×)" for (replica, device), count in counts.items()
    )
