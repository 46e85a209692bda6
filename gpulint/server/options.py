"""Options of the server in an editor: `initializationOptions` and the `gpulint` section of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

OPEN_FILES, WORKSPACE = "openFilesOnly", "workspace"


class BadOption(Exception):
    """An option that the server does not understand. The message names it and its valid values."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the server, named as in an editor's settings.

    `settings` is a table as in gpulint.toml that overrides configuration files; `debounce` is in milliseconds.
    """

    configuration: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    diagnostic_mode: str = OPEN_FILES
    debounce: int = 150
    hover_devices: bool = True
    hint_devices: bool = True
    hint_batches: bool = True


def read_options(given: object, before: Options | None = None) -> Options:
    """The options in an editor's table; missing ones keep their value in `before`. Raises BadOption."""
    options = before or Options()
    if given is None:
        return options
    if not isinstance(given, Mapping):
        raise BadOption(f"the options must be an object, not {given!r}")
    table = given["gpulint"] if isinstance(given.get("gpulint"), Mapping) else given
    for key, value in table.items():
        if key == "configuration":
            options = replace(options, configuration=_checked(key, value or "", str, "a path"))
        elif key == "settings":
            options = replace(options, settings=_checked(key, value or {}, Mapping, "an object"))
        elif key == "diagnosticMode":
            if value not in (OPEN_FILES, WORKSPACE):
                raise BadOption(f"gpulint.{key} must be `{OPEN_FILES}` or `{WORKSPACE}`, not {value!r}")
            options = replace(options, diagnostic_mode=value)
        elif key == "debounce":
            wanted = _checked(key, value, int, "a number of milliseconds")
            options = replace(options, debounce=min(max(wanted, 0), MAX_DEBOUNCE))
        elif key == "hover":
            options = replace(options, hover_devices=_switch(key, value, "device", options.hover_devices))
        elif key == "inlayHints":
            options = replace(
                options,
                hint_devices=_switch(key, value, "device", options.hint_devices),
                hint_batches=_switch(key, value, "batch", options.hint_batches),
            )
        else:
            known = "configuration, settings, diagnosticMode, debounce, hover, inlayHints"
            raise BadOption(f"gpulint.{key}: there is no such option; there are {known}")
    return options


MAX_DEBOUNCE = 10_000


def _checked(key: str, value: Any, kind: type, wanted: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadOption(f"gpulint.{key} must be {wanted}, not {value!r}")
    return value


def _switch(key: str, value: object, part: str, before: bool) -> bool:
    """Whether a part is enabled: `true`, or `{"device": true}`."""
    if isinstance(value, Mapping):
        value = value.get(part, before)
    if not isinstance(value, bool):
        raise BadOption(f"gpulint.{key} must be true, false, or an object of them, not {value!r}")
    return value
