"""The expectations that stand in the settings and on the command line, read before anything is run."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Wanted
from gpulint.probe.expectations.expression import ExpressionError, parse
from gpulint.settings import Settings, SettingsError, row_of


def wanted(settings: Settings, given: Iterable[str] = (), by: str = "--expect") -> list[Wanted]:
    """Those of the settings, then those that are given, `by` what. Raises SettingsError, with file and line, for one
    that cannot be read."""
    found = []
    for text in settings.probe_expect:
        where = _where(settings, text)
        origin = f"{where.path}:{where.row}" if where is not None else settings.source or "--config"
        found.append(_read(Wanted(text, "settings", where), origin))
    return [*found, *(_read(Wanted(text, "--expect"), by) for text in given)]


def _read(one: Wanted, origin: str) -> Wanted:
    try:
        parse(one.text)
    except ExpressionError as error:
        raise SettingsError(f"{origin}: {error}") from None
    return one


def _where(settings: Settings, text: str) -> Where | None:
    if not settings.source:
        return None
    in_list = row_of(settings.source, text)
    row = in_list or row_of(settings.source, *text.split(" ", 1))  # a table has the metric as a key
    return Where(os.path.abspath(settings.source), row) if row else None
