"""A JSON schema of the settings, for completion and checks in editors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpulint.linting.pack import Pack
from gpulint.output import formats
from gpulint.output.json_schema import DRAFT
from gpulint.settings import OPTIONS, TABLES, Option, Settings
from gpulint.settings.kinds import KINDS, Schema

FILE_NAME = "gpulint.schema.json"
"""File name of the schema on the site."""


def schema(rules: Pack, checks: Iterable[str], ignorable: Iterable[str]) -> dict[str, Any]:
    """The schema of gpulint.toml and of `[tool.gpulint]`. `rules` are the ones that editors suggest (others are
    allowed), `checks` those of the probe, `ignorable` what its reports can leave out."""
    words = ["ALL", *sorted({rule.code[:4] for rule in rules}), *(rule.code for rule in rules)]
    named = [*words, *(rule.name for rule in rules)]
    properties: dict[str, Any] = {
        "extend": {"description": "Another configuration file, whose settings these change.", "type": "string"}
    }
    tables: dict[str, dict[str, Any]] = {table: {} for table in TABLES}
    for option in OPTIONS:
        place = tables[option.table] if option.table else properties
        place[option.key] = _described(option, _values(option, named, checks, ignorable))
    for table, keys in tables.items():
        properties[table] = {"type": "object", "additionalProperties": False, "properties": keys}
    return {
        "$schema": DRAFT,
        "$id": FILE_NAME,
        "title": "gpulint",
        "description": "The settings of gpulint: gpulint.toml, or [tool.gpulint] in pyproject.toml.",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def of_pyproject(table: Schema) -> dict[str, Any]:
    """The schema of a pyproject.toml whose table `[tool.gpulint]` has another schema; other tables can be anything."""
    tool = {"type": "object", "properties": {"gpulint": {key: value for key, value in table.items() if key[0] != "$"}}}
    return {"$schema": table["$schema"], "type": "object", "properties": {"tool": tool}}


def _default(option: Option) -> Any:
    """The default of a setting as JSON."""
    value = option.value(Settings())
    if isinstance(value, tuple):
        return dict(value) if KINDS[option.kind].is_table else [*value]
    return value


def _described(option: Option, values: Schema) -> dict[str, Any]:
    return {"description": option.help, "default": _default(option), **values}


def _values(option: Option, rules: list[str], checks: Iterable[str], ignorable: Iterable[str]) -> Schema:
    """The schema of a setting's values. Names of rules from other packs are allowed."""
    own = KINDS[option.kind].schema
    one_rule: Mapping[str, Any] = {"anyOf": [{"enum": rules}, KINDS["string"].schema]}
    if option.kind == "format":
        return {"type": "string", "enum": [*formats.NAMES]}
    if option.kind == "rules":
        return {**own, "items": one_rule}
    if option.kind == "rules by pattern":
        return {**own, "additionalProperties": {**own["additionalProperties"], "items": one_rule}}
    if option.kind == "checks":
        return {**own, "items": {"enum": [*ignorable]}}
    if option.kind == "level by check":
        level = own["additionalProperties"]
        return {"type": "object", "additionalProperties": False, "properties": dict.fromkeys(checks, level)}
    return own
