"""Every rule's page is a test: its example triggers the rule and nothing else, what to write instead is silent.

A block after a line such as `` `helpers.py`: `` is another file of the program.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

import gpulint
from gpulint.linting.rule import Rule
from gpulint.settings import LintSettings, Settings
from tests.checking import PACK, codes_in, codes_of

SECTIONS = ("What it does", "Why is this bad", "Example", "Use instead")
SECTION = re.compile(r"## (?:Example|Use instead)\n(.*?)(?=\n *## |\Z)", re.DOTALL)
BLOCK = re.compile(r"\A\s*(?:`(?P<name>\w+\.py)`:\s*)?```python\n(?P<text>.*?)```", re.DOTALL)


@pytest.mark.parametrize("rule", PACK, ids=lambda rule: rule.code)
def test_a_page_has_all_sections(rule: type[Rule]) -> None:
    page = rule.__doc__ or ""
    assert [section for section in SECTIONS if f"## {section}\n" not in page] == []
    assert page.partition("\n")[0].strip()


@pytest.mark.parametrize("rule", PACK, ids=lambda rule: rule.code)
def test_the_example_shows_the_rule_and_the_remedy_is_silent(rule: type[Rule], tmp_path: Path) -> None:
    example, instead = SECTION.findall(rule.__doc__ or "")
    settings = Settings(root=str(tmp_path), lint=LintSettings(select=("ALL",)))
    program = _program_of(example, tmp_path)
    result = gpulint.check_source(program, str(tmp_path / "program.py"), settings)
    assert codes_of(result) == {rule.code}
    assert codes_in(_program_of(instead, tmp_path), tmp_path) == set()


def _program_of(section: str, directory: Path) -> str:
    """The program of a section. Its other files are written to the directory."""
    section = textwrap.dedent(section)
    program = None
    while (block := BLOCK.match(section)) is not None and program is None:
        if block["name"] is not None:
            (directory / block["name"]).write_text(block["text"], encoding="utf-8")
        else:
            program = block["text"]
        section = section[block.end() :]
    assert program is not None
    return program


@pytest.mark.parametrize("rule", PACK, ids=lambda rule: rule.code)
def test_the_sections_stand_in_one_order(rule: type[Rule]) -> None:
    page = rule.__doc__ or ""
    places = [page.index(f"## {section}\n") for section in SECTIONS]
    assert places == sorted(places)


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in PACK}) == len({rule.name for rule in PACK}) == len(PACK)
