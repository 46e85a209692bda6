"""Codes and names of rules that were merged into others or removed. They stay valid wherever a rule can be named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpulint.settings import Settings

MERGED: Mapping[str, str] = {}
"""The present code for each former code and name."""

REMOVED: Mapping[str, str] = {}
"""Why a rule was removed, by its code and its name."""


def present(word: str) -> str:
    """The present code or name of a rule for one that may be a former one."""
    return MERGED.get(word.upper()) or MERGED.get(word.lower()) or word


def reason_removed(word: str) -> str | None:
    """Why a rule was removed, None if it was not."""
    return REMOVED.get(word.upper()) or REMOVED.get(word.lower())


def notes(settings: Iterable[Settings]) -> list[str]:
    """A line for each former code or name in settings."""
    found: dict[str, None] = {}
    for one in (each.lint for each in settings):
        per_file = [word for _, words in one.per_file_ignores for word in words]
        severe = [word for word, _ in one.severity]
        for word in (
            *(one.select + one.ignore + one.extend_select + one.fixable + one.unfixable),
            *per_file,
            *severe,
        ):
            if (now := present(word)) != word:
                found[f"{word} is part of {now} now"] = None
            elif (reason := reason_removed(word)) is not None:
                found[f"{word} was removed: {reason}"] = None
    return list(found)
