"""The page of each rule, and the index of all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from gpulint.linting import pack
from gpulint.linting.rule import Rule
from gpulint.output.rule_page import fixes, page, summary
from gpulint.probe.verdicts import VERDICTS

FAMILIES = {
    "GPU0": "The tool itself",
    "GPU1": "Placement",
    "GPU2": "Distribution strategies",
    "GPU3": "Memory and runtime configuration",
    "GPU4": "Input pipelines",
    "GPU5": "Synchronisation and tracing",
    "GPU6": "Numerics and kernels",
    "GPU7": "Clusters",
    "GPU9": "Names that TensorFlow no longer has",
}

_INTRODUCTION = """# Rules

In a terminal: `gpulint rule --all` lists them, `gpulint rule GPU201` or `gpulint rule model-outside-scope` prints one.

* **severity**: that of the findings, unless `lint.severity` says otherwise. A rule that is *off* reports only where it
  is selected.
* **fix**: what `gpulint check --fix` changes (*safe*), or `--fix --unsafe-fixes` (*unsafe*): [Fixes](../fixes.md).
* **probe**: whether a run under `gpulint probe` [confirms or refutes](../probe.md#findings-confirmed-or-refuted) them.
"""


def pages() -> Iterator[tuple[str, str]]:
    """(path in the site's source, text) of each rule's page and of the index."""
    rules = pack.load(installed=False)
    yield "rules/index.md", index(rules)
    for rule in rules:
        yield f"rules/{rule.name}.md", rule_page(rule)  # `gpulint/output/site.py` links to it


def index(rules: pack.Pack) -> str:
    """The rules by family, in tables. Raises KeyError for a family without a title."""
    parts = [_INTRODUCTION]
    for family, members in groupby(rules, lambda rule: rule.code[:4]):
        rows = "\n".join(map(_row, members))
        parts.append(
            f"## {FAMILIES[family]} ({family}xx)\n\n"
            f"| code | rule | finds | severity | fix | probe |\n|---|---|---|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


def _row(rule: type[Rule]) -> str:
    severity = rule.severity.value if rule.on_by_default else f"{rule.severity.value}, off"
    probe = "yes" if rule.code in VERDICTS else "–"
    fix = ", ".join(fixes(rule)) or "–"
    return f"| {rule.code} | [{rule.name}]({rule.name}.md) | {summary(rule)} | {severity} | {fix} | {probe} |"


def rule_page(rule: type[Rule]) -> str:
    """The page that `gpulint rule` prints, with what the index says of the rule."""
    head, rest = re.split(r"\n(?=## )", page(rule), maxsplit=1)
    facts = [
        f"Fix: {', '.join(fixes(rule)) or 'none'}.",
        "A run under `gpulint probe` [confirms or refutes](../probe.md#findings-confirmed-or-refuted) its findings."
        if rule.code in VERDICTS
        else "No run decides about its findings.",
        f"Silence one: `# gpulint: ignore[{rule.code}] reason` ([how](../suppressions.md)).",
    ]
    return f"{head}\n{' '.join(facts)}\n\n{rest.rstrip()}\n\n[All rules](index.md)\n"
