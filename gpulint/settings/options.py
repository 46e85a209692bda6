"""The keys of the configuration file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpulint.settings.model import Settings


@dataclass(frozen=True, slots=True)
class Option:
    """One key of the configuration file: its table, its type (a key of `KINDS`) and what it is for."""

    key: str
    table: str
    kind: str
    help: str

    @property
    def field(self) -> str:
        """Name of its field of `Settings`, or of the settings of its table."""
        return self.key.replace("-", "_")

    def value(self, settings: Settings) -> Any:
        """Value of the option in some settings."""
        return getattr(getattr(settings, self.table) if self.table else settings, self.field)

    @property
    def full(self) -> str:
        """Key with its table, such as `lint.select`."""
        return f"{self.table}.{self.key}" if self.table else self.key


OPTIONS = (
    Option("include", "", "strings", "Glob patterns of the files to check."),
    Option("exclude", "", "strings", "Patterns to skip; replaces the defaults."),
    Option("extend-exclude", "", "strings", "Patterns to skip in addition to `exclude`."),
    Option("extension", "", "language by extension", "File extensions to check, each as python, ipynb or markdown."),
    Option("respect-gitignore", "", "bool", "Skip files that git ignores."),
    Option("force-exclude", "", "bool", "Skip excluded files even if they are named on the command line."),
    Option("src", "", "strings", "Directories in which imports are searched, besides those above the importing file."),
    Option("rule-paths", "", "strings", "Directories with your own rules; loaded only from trusted folders."),
    Option(
        "target-tensorflow",
        "",
        "release",
        'TensorFlow release that the program runs on, such as "2.16"; by default what the project pins or names.',
    ),
    Option("output-format", "", "format", "Output format."),
    Option("baseline", "", "string", "File with known findings, which are not reported, as with `--baseline`."),
    Option("cache-dir", "", "string", "Cache directory, relative to this file."),
    Option(
        "max-warnings", "", "count or -1", "Exit with 1 only if there are more warnings than this (-1: any number)."
    ),
    Option("max-file-seconds", "", "count", "Seconds of processor time after which a file is given up (0: no limit)."),
    Option("max-file-memory", "", "count", "Megabytes of memory beyond which a file is given up (0: no limit)."),
    Option("max-file-size", "", "count", "Size in megabytes above which a file is not read (0: no limit)."),
    Option("fix", "", "bool", "Apply safe fixes, as with `--fix`; only in trusted folders."),
    Option(
        "fix-only", "", "bool", "Apply fixes and report nothing else, as with `--fix-only`; only in trusted folders."
    ),
    Option("show-fixes", "", "bool", "List the findings that were fixed, as with `--show-fixes`."),
    Option("unsafe-fixes", "", "bool", "Also apply unsafe fixes, as with `--unsafe-fixes`; only in trusted folders."),
    Option("required-version", "", "requirement", 'Releases of gpulint that this file is for, such as ">=0.1,<1".'),
    Option("preview", "lint", "bool", "Enable rules in preview."),
    Option(
        "select",
        "lint",
        "rules",
        "Rules to enable: codes, prefixes, names or ALL; if empty, all but those that are off by default.",
    ),
    Option("ignore", "lint", "rules", "Rules to disable."),
    Option("extend-select", "lint", "rules", "Rules to enable in addition to `select`."),
    Option("extend-ignore", "lint", "rules", "Rules to disable in addition to `ignore`."),
    Option("ignore-noqa", "lint", "bool", "Also report findings that comments silence, as with `--ignore-noqa`."),
    Option("per-file-ignores", "lint", "rules by pattern", "Rules to disable in files that match a pattern."),
    Option("fixable", "lint", "rules", "Rules whose findings may be fixed."),
    Option("unfixable", "lint", "rules", "Rules whose findings are never fixed."),
    Option("severity", "lint", "severity by rule", "Severity by rule or prefix: error, warning, info or off."),
    Option(
        "expect", "probe", "expectations", 'Expectations that a run is checked against, such as "ops.on_gpu >= 90%".'
    ),
    Option("level", "probe", "level by check", "Level of a check of the probe: error, warn or off."),
    Option("ignore", "probe", "checks", "Checks and causes of advice to leave out of the probe's report."),
    Option("timeout", "probe", "number", "Seconds after which the program is stopped (0: never)."),
    Option("hang-after", "probe", "number", "Seconds without progress after which the program is stopped (0: never)."),
    Option(
        "steps", "probe", "count", "Training steps after the warm-up after which the program is stopped (0: never)."
    ),
    Option("warmup", "probe", "count", "Training steps to skip before measuring."),
    Option("strict", "probe", "bool", "Exit with 3 if a check is inconclusive."),
    Option(
        "without-gpu",
        "probe",
        "fail or skip",
        "Whether expectations about GPUs fail or are skipped on a machine without one.",
    ),
    Option("max-traces", "probe", "count", "Number of traces of one function up to which nothing is reported."),
    Option("leak", "probe", "number", "Share of a device's memory that may fill up steadily over the steps."),
    Option(
        "imbalance",
        "probe",
        "number",
        "Acceptable ratio of the highest to the lowest peak memory among the devices of a strategy.",
    ),
    Option("headroom", "probe", "number", "Share of a device's memory above which it is nearly full."),
)
"""Every key: the loader, `gpulint config` and the documentation read this table."""

TABLES = ("lint", "probe")

OPTIONS_BY_KEY: Mapping[str, Option] = {option.full: option for option in OPTIONS}
"""The options by their full key, such as `lint.select`."""
