"""GPU1xx: where operations were placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpulint.linting.finding import Finding
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.evidence import COPIES, REQUESTED
from gpulint.probe.capture.records import Execution, Node
from gpulint.probe.measures.number_words import counted
from gpulint.probe.measures.reasons import NO_KERNEL, has_gpu, is_bookkeeping, is_free, is_heavy, reason
from gpulint.probe.verdicts.evidence import (
    STEP,
    Judge,
    PlacedOp,
    Verdict,
    by_device,
    first_of,
    is_all_seen,
    is_in,
    of_replicas,
    peers,
    placed,
    raised_here,
)
from gpulint.probe.verdicts.strategies import one_replica


def _with_requested_device(finding: Finding, capture: Capture) -> list[PlacedOp]:
    """Operations with a requested device in the rows of a finding or shortly below: the statements of its block."""
    return [
        one for one in placed(capture) if one.requested and is_in(one.where, finding.span, STEP) and not is_free(one.op)
    ]


def _work(capture: Capture) -> Iterator[tuple[str, str, int]]:
    """Operation, device and number of all that ran, on whichever line, bookkeeping excluded."""
    for ran, count in capture.executions.items():
        if not ran.part:
            yield ran.op, ran.device, count
    for node, count in capture.nodes.items():
        yield node.op, node.assigned, count


def _confined(finding: Finding, capture: Capture) -> Verdict | None:
    devices = {one.device for one in _with_requested_device(finding, capture)}
    if len(devices) != 1:
        return None
    (device,) = devices
    others = peers(device, capture)
    if not others and device.startswith("GPU"):
        pinned = sum(one.times for one in _with_requested_device(finding, capture))
        return Verdict(True, f"{counted(pinned, 'operation')} pinned to {device}, the only GPU here")
    if not others or not is_all_seen(capture):
        return None
    everything, heavy = Counter[str](), Counter[str]()
    for op, on, times in _work(capture):
        if not is_free(op) and not is_bookkeeping(op):
            everything[on] += times
            heavy[on] += times * is_heavy(op)
    counts = +heavy or everything
    idle = [name for name in others if not counts[name]]
    if len(idle) < len(others):
        return None
    return Verdict(True, f"{counted(counts[device], 'operation')} on {device}, none on {', '.join(idle)}")


def _copied(finding: Finding, capture: Capture) -> Verdict | None:
    here = {one: count for one, count in capture.copies.items() if is_in(one.where, finding.span)}
    if here:
        moved = Counter[str]()
        for one, count in here.items():
            moved[f"from {one.source} to {one.target}"] += count
        size = sum((one.bytes or 0) * count for one, count in here.items())
        text = ", ".join(f"{count} {way}" for way, count in sorted(moved.items()))
        return Verdict(True, f"copies on this line: {text}" + (f", {size:,} bytes" if size else ""))
    is_here = any(is_in(one.where, finding.span) for one in placed(capture))
    if is_here and len(capture.logical) > 1 and is_all_seen(capture, COPIES, REQUESTED):
        return Verdict(False, "the operations of this line read nothing from another device")
    return None


def _replicas_pinned(finding: Finding, capture: Capture) -> Verdict | None:
    """Verdict by the first row of the block that is in a step (unpinned replicas are each on their own device), else by
    the variables created in the block."""
    strategy = of_replicas(capture)
    if strategy is None:
        return None
    steps = {node.where for node in capture.nodes if node.part == "step"}
    asked = [one for one in _with_requested_device(finding, capture) if one.where in steps]
    first = min((one.where.row for one in asked), default=0)
    devices = Counter[str]()
    for one in asked:
        if one.where.row == first:
            devices[one.device] += one.times
    if len(devices) == 1:
        ((device, count),) = devices.items()
        return Verdict(True, f"all {strategy.replicas} replicas ran on {device} ({counted(count, 'operation')})")
    made = {one.device for one in capture.variables if is_in(one.where, finding.span, STEP)}
    if len(made) > 1:
        return Verdict(True, f"variables are on {', '.join(sorted(made))} despite the device scope")
    return Verdict(False, f"operations of the {strategy.replicas} replicas: {by_device(devices)}") if devices else None


def _without_kernel(finding: Finding, capture: Capture) -> Verdict | None:
    if not has_gpu(capture):
        return None
    everything: list[Execution | Node] = [*capture.executions, *capture.nodes]
    for one in everything:
        if is_in(one.where, finding.span) and one.requested.startswith("GPU"):
            why = reason(one, capture)
            if why.startswith(NO_KERNEL):
                return Verdict(True, f"`{one.op}` was requested on {one.requested} and ran on the host: {why}")
    return None


def _missing_device(finding: Finding, capture: Capture) -> Verdict | None:
    for one in _with_requested_device(finding, capture):
        if capture.logical and one.requested not in capture.logical:
            return Verdict(True, f"there is no {one.requested}: its operations ran on {one.device}")
    return None


VERDICTS: dict[str, Judge] = {
    "GPU101": first_of(_confined, one_replica),
    "GPU102": _copied,
    "GPU103": raised_here("ValueError", "InvalidArgumentError", "RuntimeError"),
    "GPU104": _replicas_pinned,
    "GPU105": _without_kernel,
    "GPU107": first_of(raised_here("RuntimeError", "ValueError", "InvalidArgumentError"), _missing_device),
}
