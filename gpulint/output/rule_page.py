"""The page of a rule, from its docstring."""

from __future__ import annotations

import inspect
import re

from gpulint.linting.rule import Rule
from gpulint.output.site import ships


def summary(rule: type[Rule]) -> str:
    """The title of a rule: the first line of its docstring."""
    return inspect.cleandoc(rule.__doc__ or "").partition("\n")[0]


def fixes(rule: type[Rule]) -> tuple[str, ...]:
    """The kinds of fixes that the page of a rule promises: "safe", "unsafe", both or none."""
    section = (rule.__doc__ or "").partition("## Fix\n")[2].partition("\n    ##")[0].lower()
    return tuple(word for word in ("safe", "unsafe") if re.search(rf"\b{word}\b", section))


def page(rule: type[Rule]) -> str:
    """The page of a rule, in Markdown."""
    title, _, rest = inspect.cleandoc(rule.__doc__ or "").partition("\n")
    state = "" if rule.on_by_default else ", off by default"
    since = f" Since {rule.since}." if ships(rule.code) else ""  # plug-ins count their own releases
    head = f"# {rule.name} ({rule.code})\n\n{title}. Severity: {rule.severity.value}{state}.{since}\n"
    return head + _with_skipped(rest, rule)


def _with_skipped(text: str, rule: type[Rule]) -> str:
    """The sections of a page, with what the engine skips for rules of this kind under *What is not reported*."""
    if not (rule.is_performance or rule.raises):
        return text
    programs = ", or in programs that hide all GPUs" if rule.is_performance else ""
    skipped = f"The rule reports nothing in files named `test_*.py` or `*_test.py`{programs}."
    before, title, after = text.partition(_NOT_REPORTED)
    if not title:
        return f"{text.rstrip()}\n\n{_NOT_REPORTED}{skipped}\n"
    section, following, rest = after.partition("\n\n## ")
    return f"{before}{title}{section.rstrip()}\n\n{skipped}\n{following[1:]}{rest}"


_NOT_REPORTED = "## What is not reported\n"
