"""Every file of the site's source, by its path."""

from __future__ import annotations

import json
import re
from pathlib import Path

from gpulint.linting import pack
from gpulint.output import settings_schema
from gpulint.probe.expectations import levels
from scripts.pages import commands, rules, settings

ROOT = Path(__file__).resolve().parents[2]
_BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md")
"""Pages that stand at the top of the repository."""

_RULE = re.compile(r"\]\(\.\./rules/\w+/(\w+)\.py\)")
_ROW = re.compile(r"^\|.*", re.MULTILINE)
_CODE = re.compile(r"`[^`]*`")


def gathered() -> dict[str, str]:
    """Texts by path: those of docs/ and of the top, the generated ones, and the JSON schema of the settings."""
    files = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
    files |= {name.lower(): (ROOT / name).read_text(encoding="utf-8") for name in _BESIDE}
    schema = settings_schema.schema(pack.load(installed=False), levels.IDS, levels.IGNORABLE)
    generated = {
        **dict(rules.pages()),
        **settings.pages(),
        **commands.pages(),
        settings_schema.FILE_NAME: json.dumps(schema, indent=2) + "\n",
    }
    if taken := files.keys() & generated.keys():
        raise ValueError(f"pages that are written by hand and generated: {', '.join(sorted(taken))}")
    return {path: _as_python_markdown(_within_the_site(text)) for path, text in (files | generated).items()}


def _as_python_markdown(text: str) -> str:
    """A text without the backslashes that GitHub wants before a `|` in code in a table, and Python-Markdown shows."""

    def row(found: re.Match[str]) -> str:
        return _CODE.sub(lambda code: code[0].replace("\\|", "|"), found[0])

    return _ROW.sub(row, text)


def _within_the_site(text: str) -> str:
    """A text whose links to other pages lead to where they are in the site: all in one directory. Those to a source
    lead to the page that is generated from it."""
    text = text.replace("](docs/", "](").replace("](../gpulint/settings/options.py)", "](settings.md)")
    text = text.replace("](../rules)", "](rules/index.md)")
    text = _RULE.sub(lambda link: f"](rules/{link[1].replace('_', '-')}.md)", text)
    return re.sub(rf"\]\(\.\./({'|'.join(map(re.escape, _BESIDE))})", lambda link: f"]({link[1].lower()}", text)
