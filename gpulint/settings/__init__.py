"""Settings: `[tool.gpulint]` of pyproject.toml, or gpulint.toml."""

from __future__ import annotations

from gpulint.settings.finder import SettingsFinder
from gpulint.settings.loading import FILE_NAMES, apply, load, parse_override
from gpulint.settings.model import (
    LIMITS,
    NEWEST_TENSORFLOW,
    CacheOutside,
    LintSettings,
    ProbeSettings,
    Settings,
    SettingsError,
)
from gpulint.settings.options import OPTIONS, TABLES, Option
from gpulint.settings.toml import row_of

__all__ = [
    "FILE_NAMES",
    "LIMITS",
    "NEWEST_TENSORFLOW",
    "OPTIONS",
    "TABLES",
    "CacheOutside",
    "LintSettings",
    "Option",
    "ProbeSettings",
    "Settings",
    "SettingsError",
    "SettingsFinder",
    "apply",
    "load",
    "parse_override",
    "row_of",
]
