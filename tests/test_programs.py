"""The fixture programs as a collection: enough programs, enough silent ones, no unknown directive."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.programs import FIXTURES, Program, programs, read_program

PROGRAMS = programs()

FLAGGED_TWICE = (
    *(f"GPU{number}" for number in (*range(101, 106), 107)),
    *(f"GPU{number}" for number in (*range(201, 204), *range(205, 211), *range(212, 216))),
    *(f"GPU{number}" for number in range(301, 309)),
    *(f"GPU{number}" for number in range(402, 405)),
    *(f"GPU{number}" for number in (*range(501, 507), 508, 509)),
    *(f"GPU{number}" for number in range(601, 605)),
    *(f"GPU{number}" for number in range(701, 705)),
    "GPU901",
)


def test_there_are_at_least_sixty_programs() -> None:
    assert len(PROGRAMS) >= 60


@pytest.mark.parametrize("family", sorted({program.name.partition("/")[0] for program in PROGRAMS}))
def test_at_least_a_quarter_of_a_family_has_nothing_to_report(family: str) -> None:
    members = [program for program in PROGRAMS if program.name.startswith(family + "/")]
    silent = [program for program in members if program.silent]
    assert 4 * len(silent) >= len(members), f"{len(silent)} silent of {len(members)}"


@pytest.mark.parametrize("code", FLAGGED_TWICE)
def test_a_rule_is_expected_in_at_least_two_programs(code: str) -> None:
    counts = Counter(code for program in PROGRAMS for code in {each.code for each in program.expectations})
    assert counts[code] >= 2


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_is_a_whole_program(program: Program) -> None:
    for path, text in program.modules:
        module = compile(text, path, "exec")
        assert module.co_consts[0].strip(), f"{path} has no docstring"
    rows = sum(text.count("\n") for _, text in program.modules)
    assert 30 <= rows <= 250, f"{program.name} has {rows} rows"


def test_an_unknown_directive_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.programs.FIXTURES", tmp_path)
    program = tmp_path / "broken.py"
    program.write_text("import tensorflow as tf  # expect: GPU10\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"broken\.py:1: not a directive"):
        read_program(program)


def test_a_directory_is_one_program_of_several_modules() -> None:
    captioning = read_program(FIXTURES / "placement" / "captioning")
    assert [path for path, _ in captioning.modules] == ["main.py", "network.py", "settings.py"]
    assert {(each.module, each.code) for each in captioning.expectations} == {("main.py", "GPU101")}
