"""Fixing the example of a rule leaves no finding, and a second run changes nothing."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from gpulint.linting.pack import load
from gpulint.linting.rule import Rule
from tests.checking import codes_in
from tests.fixing.fixing import fixed, fixed_text
from tests.test_rule_examples import BLOCK, SECTION

PACK = load(installed=False)
FIXING = [rule for rule in PACK if "## Fix\n" in (rule.__doc__ or "")]


def example(rule: type[Rule]) -> str:
    block = BLOCK.match(textwrap.dedent(SECTION.findall(rule.__doc__ or "")[0]))
    assert block is not None
    return block["text"]


@pytest.mark.parametrize("rule", FIXING, ids=lambda rule: rule.code)
def test_the_example_is_fixed_and_a_second_run_changes_nothing(rule: type[Rule], tmp_path: Path) -> None:
    after = fixed_text(example(rule), tmp_path)
    assert after != example(rule)
    assert codes_in(after, tmp_path) == set()
    assert fixed_text(after, tmp_path) == after


@pytest.mark.parametrize("rule", [rule for rule in PACK if rule not in FIXING], ids=lambda rule: rule.code)
def test_a_page_without_a_section_on_the_fix_has_none(rule: type[Rule], tmp_path: Path) -> None:
    assert fixed_text(example(rule), tmp_path, select=(rule.code,)) == example(rule)


@pytest.mark.parametrize("rule", FIXING, ids=lambda rule: rule.code)
def test_the_page_says_whether_the_fix_is_safe(rule: type[Rule], tmp_path: Path) -> None:
    page = rule.__doc__ or ""
    section = page[page.index("## Fix\n") :].partition("\n    ##")[0]
    path = tmp_path / "program.py"
    path.write_text(example(rule), encoding="utf-8")
    found = fixed([path], unsafe=False).fixed
    is_safe = any(finding.code == rule.code for finding in found)
    assert re.search(r"\b[Ss]afe\b" if is_safe else r"\b[Uu]nsafe\b", section)


SCOPE = "import tensorflow as tf\n\nstrategy = tf.distribute.MirroredStrategy(['GPU:0', 'GPU:1'])\n"
COMPILE = "with strategy.scope():\n{indent}model.compile('adam', 'mse')\n"


def test_a_constant_between_a_model_and_its_layers_is_moved_with_them(tmp_path: Path) -> None:
    parts = ("model = tf.keras.Sequential()\n", "UNITS = 4\n", "model.add(tf.keras.layers.Dense(UNITS))\n")
    after = fixed_text(f"{SCOPE}{''.join(parts)}{COMPILE.format(indent='    ')}", tmp_path)
    moved = "".join(f"    {part}" for part in (*parts, "model.compile('adam', 'mse')\n"))
    assert after == f"{SCOPE}with strategy.scope():\n{moved}"


def test_the_indentation_is_that_of_the_first_block_on_rows_of_its_own(tmp_path: Path) -> None:
    before = f"{SCOPE}if strategy: WIDTH = 4\nfor name in 'ab':\n  print(name)\n"
    made = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    after = fixed_text(f"{before}{made}{COMPILE.format(indent='  ')}", tmp_path)
    assert after == f"{before}with strategy.scope():\n  {made}  model.compile('adam', 'mse')\n"


def test_a_program_that_parses_and_does_not_compile_is_fixed(tmp_path: Path) -> None:
    made = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    after = fixed_text(f"{SCOPE}{made}{COMPILE.format(indent='    ')}return\n", tmp_path)
    assert after == f"{SCOPE}with strategy.scope():\n    {made}    model.compile('adam', 'mse')\nreturn\n"
