"""The reference of the settings, from the table that the loader reads."""

from __future__ import annotations

from gpulint.cli.config import example, meaning
from gpulint.output.settings_text import written
from gpulint.settings import OPTIONS, TABLES, Option, Settings
from gpulint.settings.kinds import KINDS

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


def _section(option: Option) -> str:
    return (
        f"### `{option.full}`\n\n{meaning(option)}\n\n"
        f"Type: {KINDS[option.kind].wanted}. Default: `{written(option, Settings())}`.\n\n"
        f"```toml\n{example(option)}\n```\n"
    )
