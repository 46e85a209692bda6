"""The reference of the settings, from the table that the loader reads."""

from __future__ import annotations

from gpulint.cli.config import meaning
from gpulint.output.settings_text import written
from gpulint.settings import OPTIONS, TABLES, Option, Settings
from gpulint.settings.kinds import KINDS

EXAMPLES = {
    "exclude": '["build", "notebooks/old"]',
    "extend-exclude": '["third_party", "*_pb2.py"]',
    "extension": '{ md = "markdown" }',
    "rule-paths": '["lint"]',
    "target-tensorflow": '"2.16"',
    "required-version": '">=0.1"',
    "output-format": '"concise"',
    "baseline": '"gpulint-baseline.json"',
    "max-warnings": "10",
    "lint.select": '["GPU1", "GPU2", "sequential-input"]',
    "lint.ignore": '["GPU101"]',
    "lint.extend-select": '["GPU002"]',
    "lint.per-file-ignores": '{ "benchmarks/*" = ["GPU101"] }',
    "lint.fixable": '["GPU4"]',
    "lint.unfixable": '["GPU901"]',
    "lint.severity": '{ GPU101 = "error", retrace-risk = "off" }',
    "probe.expect": '["ops.on_gpu >= 90%", "traces.max <= 3"]',
    "probe.level": '{ retrace = "off" }',
    "probe.timeout": "600",
    "probe.steps": "20",
    "probe.without-gpu": '"skip"',
}
"""Values that show more than the default does."""

_INTRODUCTION = """# Settings

Every key there is, with its default. Where the file is looked for and how settings come together is told in
[Configuration](configuration.md). In a terminal: `gpulint config` lists the keys, `gpulint config KEY` tells of one.

In gpulint.toml the tables stand without the prefix: `[lint]` for `[tool.gpulint.lint]`.

## Top level

### `extend`

Another configuration file, relative to this one: its settings hold where this one says nothing.

Type: a path. Not set by default.
"""


def pages() -> dict[str, str]:
    """The page by its path in the site's source."""
    parts = [_INTRODUCTION]
    for table in ("", *TABLES):
        if table:
            parts.append(f"## {table}\n")
        parts += [_section(option) for option in OPTIONS if option.table == table]
    return {"settings.md": "\n".join(parts)}


def example(option: Option) -> str:
    """A setting as it stands in a pyproject.toml."""
    table = f"tool.gpulint.{option.table}" if option.table else "tool.gpulint"
    return f"[{table}]\n{option.key} = {EXAMPLES.get(option.full) or written(option, Settings())}"


def _section(option: Option) -> str:
    return (
        f"### `{option.full}`\n\n{meaning(option)}\n\n"
        f"Type: {KINDS[option.kind].wanted}. Default: `{written(option, Settings())}`.\n\n"
        f"```toml\n{example(option)}\n```\n"
    )
