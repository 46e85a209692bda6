"""Readers of the formats, as in the programs that read them, as far as the tests need it."""

from __future__ import annotations

import re
from typing import NamedTuple


class Command(NamedTuple):
    """A command to a CI system."""

    name: str
    properties: dict[str, str]
    data: str


def github_command(line: str) -> Command | None:
    """A line as GitHub's runner reads it: `::name key=value,key=value::data`."""
    line = line.lstrip()
    if not line.startswith("::") or (end := line.find("::", 2)) < 0:
        return None
    name, _, rest = line[2:end].partition(" ")
    properties = {}
    for part in rest.strip().split(","):
        key, equals, value = part.partition("=")
        if equals and value:
            properties[key] = _unescaped(value, {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"})
    return Command(name, properties, _unescaped(line[end + 2 :], {"%0D": "\r", "%0A": "\n", "%25": "%"}))


def azure_command(line: str) -> Command | None:
    """A line as the agent of Azure Pipelines reads it: `##vso[area.event key=value;]data`, anywhere in the line."""
    start = line.find("##vso[")
    end = line.find("]", start)
    if start < 0 or end < 0:
        return None
    name, _, rest = line[start + 6 : end].partition(" ")
    escapes = {"%3B": ";", "%0D": "\r", "%0A": "\n", "%5D": "]", "%AZP25": "%"}
    properties = {}
    for part in rest.split(";"):
        key, equals, value = part.partition("=")
        if equals:
            properties[key.strip()] = _unescaped(value, escapes)
    return Command(name, properties, _unescaped(line[end + 1 :], escapes))


def old_github_command(line: str) -> bool:
    """Whether GitHub's runner finds a command of its first form: `##[name]data`, anywhere in the line."""
    return re.search(r"##\[[^\]]*\]", line) is not None


def _unescaped(text: str, escapes: dict[str, str]) -> str:
    for escape, char in escapes.items():
        text = text.replace(escape, char)
    return text
