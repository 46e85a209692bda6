"""Calls that configure devices take effect."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.expectations.expectation import Expectation, Run, held, violated
from gpulint.probe.measures.configuration import rule_of

_ID = "configuration"
_EXPECTED = "takes effect"


def check(run: Run) -> Iterator[Expectation]:
    """Each configuration call, by its error."""
    for call in run.capture.calls:
        subject = f"{call.name}({', '.join(_argument(name, text) for name, text in call.arguments.items())})"
        if not call.error:
            yield held(_ID, subject, _EXPECTED, "accepted", where=call.where)
            continue
        code = rule_of(call.error)
        yield violated(
            _ID,
            subject,
            _EXPECTED,
            call.error,
            code=code,
            where=call.where,
            fix="configure devices before the first tensor, model or list of logical devices"
            if code == "GPU301"
            else "",
        )


def _argument(name: str, text: str) -> str:
    return text if name.isdigit() else f"{name}={text}"
