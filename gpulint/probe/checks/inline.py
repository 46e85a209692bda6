"""Expectations of values and blocks stated in the program (`gpulint.expect`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpulint.knowledge.devices import parse_device
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Stated
from gpulint.probe.checks.stated import NO_GPU, lacks_gpu
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status, held, undecided, violated
from gpulint.probe.expectations.metrics import SHOWN, is_on, most_frequent
from gpulint.probe.measures.reasons import bound, is_bookkeeping

_ON, _TRACES, _COPIES = "expect-on", "expect-traces", "expect-copies"


def check(run: Run) -> Iterator[Expectation]:
    """Each expectation of the program that is not an expression."""
    for stated in run.capture.stated.values():
        if stated.form == "on":
            yield _on(run, stated)
        elif stated.form == "traces":
            yield _traces(stated)
        elif stated.form == "copies":
            yield _copies(stated)


def _on(run: Run, stated: Stated) -> Expectation:
    device = parse_device(stated.expected)
    expected = f"on {stated.expected}"
    if device is None or not device.type:
        reason = f"`{stated.expected}` is not a device; write `GPU`, `GPU:0` or `CPU`"
        return violated(_ON, stated.subject, expected, reason, where=stated.where)
    without_gpu = device.is_gpu and lacks_gpu(run.capture)
    if without_gpu and run.settings.probe.without_gpu == "skip":
        return undecided(_ON, Status.SKIP, stated.subject, expected, NO_GPU)
    ops = stated.ops or _in_lines(run.capture, stated)
    free = bound(run.capture) if device.is_gpu else set()
    seen = stated.objects + Counter(
        {key: n for key, n in ops.items() if key[1] and key not in free and not is_bookkeeping(key[0])}
    )
    elsewhere = Counter({key: count for key, count in seen.items() if not is_on(key[1], stated.expected)})
    devices = Counter[str]()
    for (_, there), count in seen.items():
        devices[there] += count
    observed = ", ".join(f"{count} on {there}" for there, count in devices.most_common())
    if elsewhere:
        evidence = (NO_GPU, *most_frequent(elsewhere)) if without_gpu else most_frequent(elsewhere)
        return violated(_ON, stated.subject, expected, observed, where=stated.where, evidence=evidence)
    if stated.missing or not seen:
        return _unknown(
            _ON, stated, stated.subject, expected, stated.missing or "no op with a choice of device was observed"
        )
    return held(_ON, stated.subject, expected, observed, where=stated.where)


def _in_lines(capture: Capture, stated: Stated) -> Counter[tuple[str, str]]:
    """(op, device) of what a function's lines ran or built."""
    found: Counter[tuple[str, str]] = Counter()
    if stated.lines is None:
        return found
    for ran, count in capture.executions.items():
        if stated.lines.has(ran.where, ran.op):
            found[ran.op, ran.device] += count
    for node, count in capture.nodes.items():
        if stated.lines.has(node.where, node.op):
            found[node.op, node.assigned] += count
    return found


def _traces(stated: Stated) -> Expectation:
    expected = f"at most {stated.expected}"
    subject = f"traces of {stated.subject}"
    try:
        limit = float(stated.expected)
    except ValueError:
        return violated(_TRACES, subject, expected, f"`{stated.expected}` is not a number", where=stated.where)
    if stated.traces is None:
        return _unknown(_TRACES, stated, subject, expected, stated.missing or "it is not a `tf.function`")
    if stated.traces > limit:
        fix = "pass tensors instead of Python values, and create the function once"
        return violated(_TRACES, subject, expected, str(stated.traces), where=stated.where, fix=fix)
    if not stated.traces:
        return _unknown(_TRACES, stated, subject, expected, "it was not called")
    return held(_TRACES, subject, expected, str(stated.traces), where=stated.where)


def _copies(stated: Stated) -> Expectation:
    subject, expected = f"copies between devices in {stated.subject}", "none"
    if stated.copies:
        shown = stated.copies.most_common(SHOWN)
        evidence = tuple(f"{count:,} × {copy.op} from {copy.source} to {copy.target}" for copy, count in shown)
        total = str(stated.copies.total())
        return violated(_COPIES, subject, expected, total, where=stated.where, evidence=evidence)
    if stated.missing:
        return _unknown(_COPIES, stated, subject, expected, stated.missing)
    return held(_COPIES, subject, expected, "none", where=stated.where)


def _unknown(id: str, stated: Stated, subject: str, expected: str, reason: str) -> Expectation:
    return Expectation(id, Status.INCONCLUSIVE, Level.ERROR, subject, expected, reason, where=stated.where)
