"""Settings that count only if the user trusts where they come from: rules of the project's own, limits and fixes."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from gpulint.settings.model import LIMITS, Settings
from gpulint.settings.trust import Trust, Withheld, not_trusted

FIXES = ("fix", "fix_only", "unsafe_fixes")
"""Fields that let a check change files."""

GUARDED = frozenset({"rule_paths", *LIMITS, *FIXES})
"""Fields that need trust."""

_DEFAULTS = Settings()


def as_trusted(
    settings: Settings, trust: Trust, source: str, folders: Sequence[str], guarded: Collection[str]
) -> tuple[Settings, list[str]]:
    """Settings without the `guarded` fields for which trust is missing, and a line for each limit and fix among them.

    `source` names where the fields come from. Limits and fixes need trust in its `folders`, rules also in their own.
    """
    changes: dict[str, Any] = {}
    notes = []
    for name in LIMITS:
        default, value = getattr(_DEFAULTS, name), getattr(settings, name)
        if name in guarded and not 0 < value <= default and (folder := trust.uncovered(folders)) is not None:
            changes[name] = default
            key = name.replace("_", "-")
            notes.append(f"{source}: {key} = {value} not applied, it stays {default}: {not_trusted(folder)}")
    for name in FIXES:
        if name in guarded and getattr(settings, name) and (folder := trust.uncovered(folders)) is not None:
            changes[name] = False
            notes.append(f"{source}: {name.replace('_', '-')} = true not applied: {not_trusted(folder)}")
    if "rule_paths" in guarded and settings.rule_paths:
        needed = [*folders, *(os.path.join(settings.root, path) for path in settings.rule_paths)]
        if (folder := trust.uncovered(needed)) is not None:
            is_enough = trust.accepting(folders[0]).uncovered(needed) is None
            remedy = os.path.realpath(folders[0]) if is_enough else ""
            changes |= {"rule_paths": (), "withheld": Withheld(source, settings.rule_paths, folder, remedy)}
    return replace(settings, **changes), notes
