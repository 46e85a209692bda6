"""Calls that configure devices do what they ask for."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.expectations.expectation import Expectation, Run, held, violated

_ID = "configuration"
_EXPECTED = "takes effect"

_CODES = (
    ("cannot be modified after being initialized", "GPU301"),
    ("cannot be modified once initialized", "GPU301"),
    ("cannot be modified after initialization", "GPU301"),
    ("Memory growth cannot differ", "GPU303"),
    ("when virtual devices configured", "GPU306"),
)
"""Parts of TensorFlow's error messages (`tensorflow/python/eager/context.py` of 2.16 and 2.21) → the rule that speaks
of them."""


def check(run: Run) -> Iterator[Expectation]:
    """Every configuration call that was made, by the error that it raised."""
    for call in run.capture.calls:
        subject = f"{call.name}({', '.join(_argument(name, text) for name, text in call.arguments.items())})"
        if not call.error:
            yield held(_ID, subject, _EXPECTED, "accepted", where=call.where)
            continue
        code = code_of(call.error)
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


def code_of(error: str) -> str:
    """The rule that speaks of an error of a configuration call, "" for none."""
    return next((code for part, code in _CODES if part in error), "")


def _argument(name: str, text: str) -> str:
    return text if name.isdigit() else f"{name}={text}"
