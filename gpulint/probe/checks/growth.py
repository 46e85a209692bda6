"""Memory growth, if set, covers all GPUs that the program uses."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.expectations.expectation import Expectation, Run, held, violated
from gpulint.probe.measures.configuration import SET_GROWTH, device_of, growth_enabled_for, growth_in_force, is_split
from gpulint.probe.measures.reasons import has_gpu

_ID = "growth-set"


def check(run: Run) -> Iterator[Expectation]:
    """The GPUs with growth enabled, compared with those that TensorFlow uses. The configuration check reports
    errors."""
    capture = run.capture
    gpus = [name for name in capture.visible if name.startswith("GPU")] if has_gpu(capture) else []
    calls = [call for call in capture.calls if call.name == SET_GROWTH]
    on = growth_enabled_for(capture)
    if not on or not gpus or any(call.error for call in calls):
        return
    subject, expected = "memory growth", f"set for {', '.join(gpus)} before the first operation"
    missing = [name for name in gpus if name not in on]
    if missing:
        yield violated(
            _ID,
            subject,
            expected,
            f"not set for {', '.join(missing)}",
            code="GPU303",
            where=calls[0].where,
            fix="set it in a loop over all GPUs",
        )
    elif growth_in_force(capture) is False:
        split = [call for call in capture.calls if is_split(call)]
        yield violated(
            _ID,
            subject,
            expected,
            "set, but not in effect: TensorFlow drops it for a device that is split into logical ones",
            code="GPU306" if any(device_of(call) in on for call in split) else "",
            where=split[0].where if split else calls[0].where,
            fix="keep one of the two",
        )
    else:
        yield held(_ID, subject, expected, "set", where=calls[0].where)
