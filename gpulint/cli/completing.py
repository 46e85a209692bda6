"""Shell completion of rules and settings. Commands name these functions, and nearly every run needs none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from gpulint.settings import OPTIONS, SettingsError, SettingsFinder

if TYPE_CHECKING:
    from gpulint.linting.pack import Pack


def rule(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes and names of rules with a prefix, including the project's own."""
    from gpulint.output.rule_page import summary

    return [
        CompletionItem(word, help=summary(one))
        for one in _rules()
        for word in (one.code, one.name)
        if word.lower().startswith(incomplete.lower()) and (incomplete or word == one.code)
    ]


def rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completion of the last of several selectors separated by commas."""
    before, comma, last = incomplete.rpartition(",")
    found = rule(ctx, param, last)
    if "ALL".startswith(last.upper()):
        found.append(CompletionItem("ALL", help="Every rule"))
    return [CompletionItem(f"{before}{comma}{one.value}", help=one.help) for one in found]


def setting(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Keys of settings with a prefix."""
    return [CompletionItem(one.full, help=one.help) for one in OPTIONS if one.full.startswith(incomplete)]


def _rules() -> Pack:
    """The trusted rules of this directory; the shipped ones if settings or rules cannot be loaded."""
    from gpulint.linting import pack
    from gpulint.linting.selection import Catalogue

    try:
        return Catalogue.load(pack.Sources.of(SettingsFinder().of_directory("."))).pack
    except (SettingsError, pack.PackError):
        return pack.load(installed=False)
