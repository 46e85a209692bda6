"""The types that settings have: what a value of the configuration file becomes, or what it should have been."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from gpulint.sources.language import LANGUAGES

_VERSION = re.compile(r"\d+\.\d+\Z")


class WrongValue(ValueError):
    """A value of another type; its text says what is wanted instead: "a list of strings"."""


def converted(kind: str, value: Any) -> Any:
    """A value of the file as the settings have it. Raises WrongValue."""
    return _KINDS[kind](value)


def _checked(wanted: str, is_right: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if not is_right(value):
            raise WrongValue(wanted)
        return tuple(value) if isinstance(value, list) else value

    return convert


def _table(wanted: str, is_right: Callable[[Any], bool], part: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            raise WrongValue("a table")
        if not all(is_right(one) for one in value.values()):
            raise WrongValue(wanted)
        return tuple((key, part(one)) for key, one in value.items())

    return convert


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


def _expectations(value: Any) -> tuple[str, ...]:
    if isinstance(value, dict) and all(isinstance(part, str) for part in value.values()):
        return tuple(f"{metric} {limit}" for metric, limit in value.items())
    if not _are_strings(value):
        raise WrongValue("a list of strings, or a table of them by metric")
    return tuple(value)


_STRINGS = _checked("a list of strings", _are_strings)

_KINDS: dict[str, Callable[[Any], Any]] = {
    "strings": _STRINGS,
    "rules": _STRINGS,
    "bool": _checked("true or false", lambda value: isinstance(value, bool)),
    "int": _checked("a whole number", _is_int),
    "count": _checked("a whole number from 0 on", lambda value: _is_int(value) and value >= 0),
    "number": _checked("a number from 0 on", _is_number),
    "version": _checked(
        'a version such as "2.16"', lambda value: isinstance(value, str) and bool(_VERSION.match(value))
    ),
    "format": _checked("a string", lambda value: isinstance(value, str)),
    "string": _checked("a string", lambda value: isinstance(value, str)),
    "fail or skip": _checked("`fail` or `skip`", lambda value: value in ("fail", "skip")),
    "expectations": _expectations,
    "rules by pattern": _table("a table of lists of strings", _are_strings, tuple),
    "language by extension": _table(f"a table of {', '.join(LANGUAGES)}", lambda value: value in LANGUAGES, str),
    "severity by rule": _table(
        "a table of error, warning, info or off", lambda value: value in ("error", "warning", "info", "off"), str
    ),
    "level by check": _table("a table of error, warn or off", lambda value: value in ("error", "warn", "off"), str),
}
