"""Python does not read tensors in every training step: each read waits for the device."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Expectation, Level, Run, held, violated
from gpulint.probe.verdicts.evidence import is_in

_ID = "host-reads"
_SUBJECT = "host reads"
_EXPECTED = "not after every training step"
_FIX = (
    "read every hundred steps, or collect the tensors and read them after the loop; in `fit`, use a metric or "
    "`on_epoch_end`"
)

NEEDED = 10
"""Steps with a read needed: short runs read as often as they train."""

OFTEN = 0.5
"""Share of the training steps after which a line reads, from the first time to the last."""

RULES = frozenset({"GPU501", "GPU502"})
"""Rules about reads in loops, whose findings are compared with the run by themselves."""


def check(run: Run) -> Iterator[Expectation]:
    """Each line that reads after most training steps. Where there are GPUs, only tensors on them count."""
    capture = run.capture
    if sum(one.taken for one in capture.steps.values()) < NEEDED:
        return
    has_gpu = any(name.startswith("GPU") for name in capture.own_devices)
    found = [
        (one, count, steps)
        for one, (count, steps) in capture.step_reads.items()
        if count >= NEEDED and count >= OFTEN * steps and (one.device.startswith("GPU") or not has_gpu)
    ]
    for one, count, steps in sorted(found, key=str):
        if not _is_found(run, one.where):
            yield violated(
                _ID,
                _SUBJECT,
                _EXPECTED,
                f"after {count} of {steps} steps ({capture.reads[one]} reads from {one.device})",
                code="GPU501",
                where=one.where,
                fix=_FIX,
                level=Level.WARN,
            )
    if not found:
        yield held(_ID, _SUBJECT, _EXPECTED, "no line reads after most steps")


def _is_found(run: Run, where: Where | None) -> bool:
    spans = (
        span
        for finding in run.findings
        if finding.code in RULES
        for span in (finding.span, *(related.span for related in finding.related))
    )
    return any(is_in(where, span) for span in spans)
