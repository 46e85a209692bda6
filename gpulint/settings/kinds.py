"""The types of settings: they convert a value of the configuration file, or say what it should have been."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpulint.sources.language import LANGUAGES

_RELEASE = "^(1\\.([0-9]|1[0-5])|2\\.[0-9]{1,3})$"
"""Releases of TensorFlow: 1.15 was the last one before 2.0."""

Schema = Mapping[str, Any]
"""A JSON schema."""


MOST = 10**8
"""Largest number that a setting takes: more seconds, megabytes or steps overflow the system's counters."""


class WrongValue(ValueError):
    """A value of the wrong type. The message names the right one: "a list of strings"."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of settings: its values in words (`wanted`) and as JSON Schema; `convert` turns a value of the file into
    that of the settings, or raises WrongValue."""

    wanted: str
    convert: Callable[[Any], Any]
    schema: Schema

    @property
    def is_table(self) -> bool:
        return self.schema.get("type") == "object"


_SPECIFIER = r"(?:~= *[0-9]{1,9}(?:\.[0-9]{1,9})+|(?:==|!=|<=|>=|<|>) *[0-9]{1,9}(?:\.[0-9]{1,9})*)"
_REQUIREMENT = rf"^(?:{_SPECIFIER}(?: *, *{_SPECIFIER})*)?$"


def _is_requirement(value: object) -> bool:
    return isinstance(value, str) and re.match(_REQUIREMENT, value) is not None and "\n" not in value


def converted(kind: str, value: Any) -> Any:
    """The value of a setting for a value of the file. Raises WrongValue."""
    return KINDS[kind].convert(value)


def _checked(wanted: str, is_right: Callable[[Any], bool], schema: Schema) -> Kind:
    def convert(value: Any) -> Any:
        if not is_right(value):
            raise WrongValue(wanted)
        if excess := _excess(value):
            raise WrongValue(f"{wanted}{excess}")
        return tuple(value) if isinstance(value, list) else value

    return Kind(wanted, convert, schema)


_TEXT: Schema = {"type": "string", "pattern": "^[^\\u0000]*$"}
_STRING = _checked("a string", lambda value: isinstance(value, str), _TEXT)


def _table(wanted: str, of: Kind) -> Kind:
    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            raise WrongValue("a table")
        try:
            return tuple((_STRING.convert(key), of.convert(one)) for key, one in value.items())
        except WrongValue:
            raise WrongValue(wanted) from None

    schema = {"type": "object", "propertyNames": _TEXT, "additionalProperties": of.schema}
    return Kind(wanted, convert, schema)


def _one_of(*words: str) -> Kind:
    wanted = " or ".join(f"`{word}`" for word in words)
    return _checked(wanted, lambda value: value in words, {"type": "string", "enum": [*words]})


def _excess(value: Any) -> str:
    """Problem of a value of the right type: too large a number, or a NUL, which no file name can have."""
    if isinstance(value, (int, float)) and abs(value) > MOST:
        return f", {MOST:,} at most"
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return " without NUL" if any("\0" in text for text in texts) else ""


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= sys.float_info.max


_EXPECTATIONS = "a list of strings, or a table of them by metric"


def _expectations(value: Any) -> tuple[str, ...]:
    if isinstance(value, dict) and all(isinstance(part, str) for part in value.values()):
        value = [f"{metric} {limit}" for metric, limit in value.items()]
    if not _are_strings(value):
        raise WrongValue(_EXPECTATIONS)
    if excess := _excess(value):
        raise WrongValue(f"{_EXPECTATIONS}{excess}")
    return tuple(value)


_STRINGS = _checked("a list of strings", _are_strings, {"type": "array", "items": _TEXT})

KINDS: Mapping[str, Kind] = {
    "strings": _STRINGS,
    "rules": _STRINGS,
    "bool": _checked("true or false", lambda value: isinstance(value, bool), {"type": "boolean"}),
    "count or -1": _checked(
        "a whole number from 0 on, or -1",
        lambda value: _is_int(value) and value >= -1,
        {"type": "integer", "minimum": -1, "maximum": MOST},
    ),
    "count": _checked(
        "a whole number from 0 on",
        lambda value: _is_int(value) and value >= 0,
        {"type": "integer", "minimum": 0, "maximum": MOST},
    ),
    "number": _checked("a number from 0 on", _is_number, {"type": "number", "minimum": 0, "maximum": MOST}),
    "release": _checked(
        'a release of TensorFlow 1 or 2 such as "2.16"',
        lambda value: isinstance(value, str) and "\n" not in value and bool(re.match(_RELEASE, value)),
        {"type": "string", "pattern": _RELEASE},
    ),
    "requirement": _checked(
        'a requirement such as ">=0.1"',
        _is_requirement,
        {"type": "string", "pattern": _REQUIREMENT},
    ),
    "format": _STRING,
    "string": _STRING,
    "fail or skip": _one_of("fail", "skip"),
    "expectations": Kind(
        _EXPECTATIONS,
        _expectations,
        {"anyOf": [_STRINGS.schema, {"type": "object", "propertyNames": _TEXT, "additionalProperties": _TEXT}]},
    ),
    "rules by pattern": _table("a table of lists of strings", _STRINGS),
    "language by extension": _table(f"a table of {', '.join(LANGUAGES)}", _one_of(*LANGUAGES)),
    "severity by rule": _table(
        "a table of error, warning, info or off by rule", _one_of("error", "warning", "info", "off")
    ),
    "checks": _STRINGS,
    "level by check": _table("a table of error, warn or off by check", _one_of("error", "warn", "off")),
}
"""Every type, keyed by the name that `OPTIONS` and the documentation use."""
