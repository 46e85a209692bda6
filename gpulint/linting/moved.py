"""Codes and names of rules that were merged into others or removed. They stay valid wherever a rule can be named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpulint.settings import Settings

MERGED: Mapping[str, str] = {
    "GPU507": "GPU506",
    "GPU204": "GPU203",
    "GPU211": "GPU101",
    "GPU401": "GPU402",
    "no-prefetch": "GPU402",
    "single-device-strategy": "GPU101",
    "GPU216": "GPU215",
    "accumulation-under-strategy": "GPU215",
    "eager-left-on": "GPU506",
    "jit-under-strategy": "GPU215",
    "scope-not-entered": "GPU203",
    "GPU004": "GPU003",
    "GPU005": "GPU003",
    "malformed-suppression": "GPU003",
    "unknown-suppression": "GPU003",
    "unmatched-suppression": "GPU003",
}
"""The present code for each former code and name."""

_UNSEEN = "it was off by default, and what it advised helped no program that was measured"

REMOVED: Mapping[str, str] = {
    "GPU106": _UNSEEN,
    "manual-replication": _UNSEEN,
    "GPU405": _UNSEEN,
    "prefetch-not-last": _UNSEEN,
}
"""Code or name of a removed rule → why it was removed."""


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
        named = one.select + one.ignore + one.extend_select + one.extend_ignore + one.fixable + one.unfixable
        per_file = [word for _, words in one.per_file_ignores for word in words]
        severe = [word for word, _ in one.severity]
        for word in (*named, *per_file, *severe):
            if (now := present(word)) != word:
                found[f"{word} is part of {now} now"] = None
            elif (reason := reason_removed(word)) is not None:
                found[f"{word} was removed: {reason}"] = None
    return list(found)
