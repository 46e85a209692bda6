"""A `tf.function` is traced a few times, not on each call."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.expectations.expectation import Expectation, Level, Run, held, violated
from gpulint.probe.measures.retracing import causes_of, fixes, in_words, is_recreated
from gpulint.probe.verdicts.steps import traced_function

_ID = "retrace"

RULES = frozenset({"GPU504", "GPU505"})
"""Rules about retracing: the result of a finding says the same of its function."""

SHOWN = 4
"""Limit of causes that are shown."""


def check(run: Run) -> Iterator[Expectation]:
    """Each function that ran, by its traces that ran, with what differed between them."""
    most = run.settings.probe.max_traces
    told = [traced_function(finding, run.capture) for finding in run.findings if finding.code in RULES]
    for function in run.capture.functions.values():
        if function in told:
            continue
        subject = f"traces of `{function.name}`"
        expected = f"at most {most}" + (" for each" if function.made > 1 else "")
        observed = f"{function.traces}"
        if function.made > 1 and function.traces_of_each >= 1:
            observed += f", {function.traces_of_each:.3g} for each of {function.made} functions"
        elif function.made > 1:
            observed += f", {function.made} functions"
        causes = causes_of(function.name, run.capture)
        recreated = is_recreated(function, run.capture, most)
        if function.traces_of_each > most or recreated:
            yield violated(
                _ID,
                subject,
                "created once" if recreated else expected,
                observed + (", each run once" if recreated else ""),
                code="GPU505" if recreated else "GPU504",
                where=function.where,
                evidence=tuple(in_words(causes)[:SHOWN]),
                fix=fixes(causes) or "pass tensors instead of Python values, and create the function once",
                level=Level.WARN,
            )
        else:
            yield held(_ID, subject, expected, observed, where=function.where)
