"""Comparing two captures for `gpulint probe --compare`."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from gpulint.cli.options import UserError
from gpulint.probe.capture.reader import CaptureError, read
from gpulint.probe.checks.verify import exit_status, verify
from gpulint.probe.compare.comparison import Comparison, compared
from gpulint.probe.expectations.expectation import Run, UserExpectation
from gpulint.probe.report import RunReport
from gpulint.settings import Settings

FORMATS = ("text", "json")


def comparison_of(paths: tuple[str, str], settings: Settings, expected: Sequence[UserExpectation]) -> Comparison:
    """Raises UserError for a file that is no capture. Findings of `gpulint check` are left out: the files may have
    changed since the runs."""
    before, after = (_report(path, settings, expected) for path in paths)
    return compared(before, after)


def _report(path: str, settings: Settings, expected: Sequence[UserExpectation]) -> RunReport:
    try:
        capture = read(path)
        expectations = verify(Run(capture, (), expected, settings))
        status = exit_status(expectations, capture.end, settings.probe.strict, capture.faults)
        return RunReport.of(capture, expectations, status, (), settings.probe.ignore)
    except CaptureError as error:
        raise UserError(str(error)) from None
    except OSError as error:
        raise UserError(f"{error.filename or path}: {error.strerror or error}") from None
    except Exception as error:
        raise UserError(damaged(path, error)) from None


def damaged(path: str, error: Exception) -> str:
    """Message for a saved file that no report can be written on."""
    return f"{path}: a damaged capture: {type(error).__name__}: {textwrap.shorten(str(error), 200)}"


def rendered(comparison: Comparison, form: str, color: bool, width: int) -> str:
    """The comparison in one of FORMATS."""
    from gpulint.probe.compare import json, text

    return json.render(comparison) if form == "json" else text.render(comparison, color, width)


def page_of(comparison: Comparison) -> str:
    """The comparison as HTML."""
    from gpulint.probe.compare import page

    return page.render(comparison)
