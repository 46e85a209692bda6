"""Tests of rules: a program with `# expect: CODE` on the rows that a rule reports, and what its fix writes.

def test_small_batch() -> None:
    assert_reports(SmallBatch, '''
        import tensorflow as tf

        data = tf.data.Dataset.range(1000)
        small = data.batch(8)  # expect: ACM001
        large = data.batch(64)
    ''')
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from gpulint.linting import pack
from gpulint.linting.engine import Checker
from gpulint.linting.finding import Finding
from gpulint.linting.result import CheckResult
from gpulint.linting.rule import Rule
from gpulint.linting.selection import Catalogue
from gpulint.rewriting.text import chosen, edited
from gpulint.settings import LintSettings, Settings, SettingsFinder

_EXPECT = re.compile(r"#\s*expect:\s*(?P<codes>[A-Z]{1,4}\d{3}(?:\s*,\s*[A-Z]{1,4}\d{3})*)\s*$")

_FILE = "program.py"


def reports(rule: type[Rule], program: str, target: str = "") -> list[Finding]:
    """The findings of a rule in a program, with their fixes; the program may be indented.

    `target` is the TensorFlow release, by default the newest. Raises AssertionError with the traceback if the rule
    raises, or if the program does not parse.
    """
    _, result = _checked(rule, textwrap.dedent(program), target)
    if result.errors:  # no `assert`: pytest would add the whole result to the message
        raise AssertionError("\n".join(trace for _, trace in result.errors))
    for one in result.findings:
        if one.code != rule.code:
            raise AssertionError(f"row {one.span.row}: {one.message}")
    return result.findings


def assert_reports(rule: type[Rule], program: str, target: str = "") -> None:
    """Fail unless a rule reports exactly the rows that have `# expect: CODE`. The message names the rows, and the
    events that the program has if none of them is one that the rule receives."""
    text = textwrap.dedent(program)
    expected = [
        row
        for row, line in enumerate(text.split("\n"), 1)
        if (found := _EXPECT.search(line)) and rule.code in re.findall(r"\w+", found["codes"])
    ]
    reported = sorted(one.span.row for one in reports(rule, program, target))
    if reported != expected:
        raise AssertionError(
            f"{rule.code} is expected on rows {expected} and reported on rows {reported}{_never(rule, text, target)}"
        )


def fixed(rule: type[Rule], program: str, target: str = "") -> str:
    """A program after the fixes of all findings of a rule, safe or not. Raises as `reports` does."""
    text = textwrap.dedent(program)
    found = reports(rule, program, target)
    return edited(
        text, chain.from_iterable(fix.edits for fix in chosen(one.fix for one in found if one.fix is not None))
    )


def _checked(rule: type[Rule], text: str, target: str) -> tuple[Checker, CheckResult]:
    others: Sequence[type[Rule]] = [one for one in pack.load(installed=False) if one.code != rule.code]
    lint = LintSettings(select=(rule.code,))
    settings = Settings(root=os.getcwd(), lint=lint, target_origin="the test")
    if target:
        settings = replace(settings, target_tensorflow=target)
    checker = Checker(SettingsFinder(settings), Catalogue((*others, rule)))
    return checker, checker.check([_FILE], {_FILE: text.encode()})


def _never(rule: type[Rule], text: str, target: str) -> str:
    """Sentence with the events of the program, if the rule receives none of them; else ""."""
    checker, _ = _checked(rule, text, target)
    plan = checker.plan(checker.load(_FILE, text.encode()).main)
    happened = {type(event).__name__ for event in plan.events}
    plan.release()
    kinds = {*rule.subscriptions(), *(kind.__name__ for kind in rule.listens_to)}
    if not kinds or kinds & happened:
        return ""
    others = f"only {', '.join(sorted(happened))}" if happened else "the program has no events"
    return f"; no {' or '.join(sorted(kinds))} ever occurred, {others}"


__all__ = ["assert_reports", "fixed", "reports"]
