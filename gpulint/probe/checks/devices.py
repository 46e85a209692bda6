"""The devices passed to a strategy exist."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.expectations.expectation import Expectation, Run, held, violated

_ID = "device-exists"


def check(run: Run) -> Iterator[Expectation]:
    """Each strategy, by its devices."""
    capture = run.capture
    for strategy in capture.strategies:
        asked = list(dict.fromkeys(strategy.devices))
        if not asked or not capture.logical:
            continue
        missing = [device for device in asked if device not in capture.logical]
        subject, expected = f"devices of {strategy.cls}", ", ".join(asked)
        if missing:
            yield violated(
                _ID,
                subject,
                expected,
                f"there is no {', '.join(missing)}; training under it may hang",
                code="GPU107",
                where=strategy.where,
                fix="omit the list: the strategy uses all GPUs",
            )
        else:
            yield held(_ID, subject, expected, "there", where=strategy.where)
