"""A `tf.function` is traced a few times, not on each call."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.expectations.expectation import Expectation, Level, Run, held, violated

_ID = "retrace"


def check(run: Run) -> Iterator[Expectation]:
    """Each function that ran, by its traces that ran."""
    most = run.settings.probe_max_traces
    for function in run.capture.functions.values():
        subject = f"traces of `{function.name}`"
        expected = f"at most {most}" + (" for each" if function.made > 1 else "")
        several = f", {function.traces_of_each:.3g} for each of {function.made} functions" if function.made > 1 else ""
        observed = f"{function.traces}{several}"
        if function.traces_of_each > most:
            yield violated(
                _ID,
                subject,
                expected,
                observed,
                code="GPU504",
                where=function.where,
                fix="pass tensors instead of Python values, and make the function once",
                level=Level.WARN,
            )
        else:
            yield held(_ID, subject, expected, observed, where=function.where)
