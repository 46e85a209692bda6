"""Expectations from the settings and the command line, parsed before the program runs."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import UserExpectation
from gpulint.probe.expectations.expression import ExpressionError, parse
from gpulint.settings import Settings, SettingsError, row_of


def requested_expectations(
    settings: Settings, given: Iterable[str] = (), by: str = "--expect"
) -> list[UserExpectation]:
    """Expectations of the settings, then the given ones, whose source is `by`. Raises SettingsError with file and
    line for an unreadable one."""
    found = []
    for text in settings.probe.expect:
        where = _where(settings, text)
        origin = f"{where.path}:{where.row}" if where is not None else settings.source or "--config"
        found.append(_read(UserExpectation(text, "settings", where), origin))
    return [*found, *(_read(UserExpectation(text, "--expect"), by) for text in given)]


def _read(one: UserExpectation, origin: str) -> UserExpectation:
    try:
        parse(one.text)
    except ExpressionError as error:
        raise SettingsError(f"{origin}: {error}") from None
    return one


def _where(settings: Settings, text: str) -> Where | None:
    if not settings.source:
        return None
    in_list = row_of(settings.source, text)
    row = in_list or row_of(settings.source, *text.split(" ", 1))  # in a table, the metric is the key
    return Where(os.path.abspath(settings.source), row) if row else None
