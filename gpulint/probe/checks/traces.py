"""A `tf.function` is traced a few times, not for each call."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.expectation import Expectation, Level, Run, held, violated

_ID = "retrace"
MAX_TRACES = 5
"""Traces of one function that are no sign of trouble: TensorFlow itself warns from the fifth of the last calls on."""


def check(run: Run) -> Iterator[Expectation]:
    """Each function that was run, by the traces of it that were run."""
    for function in run.capture.functions.values():
        subject = f"traces of `{function.name}`"
        expected = f"at most {MAX_TRACES}"
        several = f" of {function.made} functions" if function.made > 1 else ""
        observed = f"{function.traces}{several}"
        if function.traces_of_each > MAX_TRACES:
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
