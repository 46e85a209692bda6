"""The page of a rule, from its docstring."""

from __future__ import annotations

import inspect

from gpulint.linting.rule import Rule


def page(rule: type[Rule]) -> str:
    """The page of a rule, in Markdown."""
    title, _, rest = inspect.cleandoc(rule.__doc__ or "").partition("\n")
    state = "" if rule.on_by_default else ", off by default"
    head = f"# {rule.name} ({rule.code})\n\n{title}. Severity: {rule.severity.value}{state}. Since {rule.since}.\n"
    return head + rest
