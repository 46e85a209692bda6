"""Settings as the configuration file has them."""

from __future__ import annotations

from gpulint.output.escapes import printable, toml_string
from gpulint.settings import OPTIONS, Option, Settings
from gpulint.settings.kinds import KINDS


def shown(settings: Settings) -> str:
    """All settings as TOML, for `--show-settings`."""
    lines = [f"# {printable(settings.source)}" if settings.source else "# defaults"]
    lines += [f"{option.full} = {written(option, settings)}" for option in OPTIONS]
    return "\n".join(lines)


def written(option: Option, settings: Settings) -> str:
    """The value of one setting as TOML."""
    value = option.value(settings)
    return "{}" if not value and KINDS[option.kind].is_table else _toml(value)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return "{ " + ", ".join(f"{_toml(key)} = {_toml(part)}" for key, part in value) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(part) for part in value) + "]"
    return toml_string(str(value))
