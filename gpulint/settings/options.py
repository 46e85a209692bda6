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
        """Its value in some settings."""
        return getattr(getattr(settings, self.table) if self.table else settings, self.field)

    @property
    def full(self) -> str:
        """Key with its table, such as `lint.select`."""
        return f"{self.table}.{self.key}" if self.table else self.key


OPTIONS = (
    Option("include", "", "strings", "Glob patterns of the files that discovery picks up."),
    Option("exclude", "", "strings", "Patterns that discovery leaves out; replaces the defaults."),
    Option("extend-exclude", "", "strings", "Patterns to leave out in addition to `exclude`."),
    Option("extension", "", "language by extension", "Extensions that mean python, ipynb or markdown."),
    Option("respect-gitignore", "", "bool", "Leave out what git ignores."),
    Option("force-exclude", "", "bool", "Leave out excluded files even when they are named on the command line."),
    Option("src", "", "strings", "Directories in which imports are searched, besides those above the importing file."),
    Option("rule-paths", "", "strings", "Directories with rules of your own; loaded only from trusted folders."),
    Option(
        "target-tensorflow",
        "",
        "version",
        'The TensorFlow release the program runs on, such as "2.16"; else what the project pins or names.',
    ),
    Option("output-format", "", "format", "The form of the output."),
    Option("baseline", "", "string", "File with the findings that are known, as with `--baseline`."),
    Option("cache-dir", "", "string", "Directory of what was found before, from that of this file."),
    Option("max-warnings", "", "int", "Exit with 1 only when there are more warnings than this (-1: any)."),
    Option("max-file-seconds", "", "count", "Processor time that one file may take before it is given up (0: any)."),
    Option("max-file-memory", "", "count", "Megabytes that checking a file may take before it is given up (0: any)."),
    Option("max-file-size", "", "count", "Megabytes of the largest file that is read (0: any)."),
    Option("fix", "", "bool", "Fix what can be fixed, as with `--fix`."),
    Option("unsafe-fixes", "", "bool", "Apply unsafe fixes, too, as with `--unsafe-fixes`."),
    Option("select", "lint", "rules", "Rules to turn on: codes, prefixes, names or ALL."),
    Option("ignore", "lint", "rules", "Rules to turn off."),
    Option("extend-select", "lint", "rules", "Rules to turn on in addition to `select`."),
    Option("per-file-ignores", "lint", "rules by pattern", "Rules to turn off in files that match a pattern."),
    Option("fixable", "lint", "rules", "Rules whose findings may be fixed."),
    Option("unfixable", "lint", "rules", "Rules whose findings are never fixed."),
    Option("severity", "lint", "severity by rule", "Another severity for a rule: error, warning, info or off."),
    Option("expect", "probe", "expectations", 'What a run is held against, such as "ops.on_gpu >= 90%".'),
    Option("level", "probe", "level by check", "Another level for a check of the probe: error, warn or off."),
    Option("timeout", "probe", "number", "Seconds after which the program is stopped (0: never)."),
    Option("hang-after", "probe", "number", "Seconds without a sign of life after which it is stopped (0: never)."),
    Option("steps", "probe", "count", "Training steps after the warm-up after which it is ended (0: none)."),
    Option("warmup", "probe", "count", "Training steps before those that count."),
    Option("strict", "probe", "bool", "Exit with 3 where something stays inconclusive."),
    Option("without-gpu", "probe", "fail or skip", "What becomes of expectations of GPUs where there is none."),
    Option("max-traces", "probe", "count", "Traces of one function that are no sign of trouble."),
    Option("leak", "probe", "number", "Share of a device's memory that it may fill steadily over the steps."),
    Option("imbalance", "probe", "number", "Greatest peak by least peak of the devices of a strategy."),
    Option("headroom", "probe", "number", "Share of a device's memory above which it is nearly full."),
)
"""Every key: the loader, `gpulint config` and the documentation read this table."""

TABLES = ("lint", "probe")

OPTIONS_BY_KEY: Mapping[str, Option] = {option.full: option for option in OPTIONS}
"""The options by their full key, such as `lint.select`."""
