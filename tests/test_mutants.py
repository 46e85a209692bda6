"""`make mutants`: the changes of a module, the tests that run for it, and their verdict."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from scripts import mutants

MODULE = '''"""A module."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    LIMIT: "Literal[3]" = 3


def last(rows: list[int], limit: "Literal[1]" = 5) -> int | None:
    """The last row below a limit."""
    for row, _ in zip([one for one in rows if one], rows, strict=True):
        if not rows or row < limit and row in rows:
            print(f"{row + 1}")
            break
        if rows:
            raise ValueError(row + 1)
    return min(rows) + 2
'''


def test_code_is_changed_and_no_annotation_text_or_error() -> None:
    changes = {(one.row, one.old, one.new) for one in mutants.mutations(MODULE.encode())}
    assert changes == {
        (9, "5", "6"),
        (11, "one", "True"),
        (12, "not rows or (row < limit and row in rows)", "not rows and (row < limit and row in rows)"),
        (12, "not rows", "(rows)"),
        (12, "row < limit and row in rows", "row < limit or row in rows"),
        (12, "row < limit", "row <= limit"),
        (12, "row in rows", "row not in rows"),
        (13, "print(f'{row + 1}')", "pass"),
        (14, "break", "continue"),
        (15, "rows", "(not rows)"),
        (17, "return min(rows) + 2", "return None"),
        (17, "min(rows) + 2", "min(rows) - 2"),
        (17, "min", "max"),
        (17, "2", "3"),
    }


@pytest.mark.parametrize("path", ["gpulint/analysis/engine/expressions.py", "gpulint/output/summary.py"])
def test_a_change_is_a_program_that_differs(path: str) -> None:
    source = (mutants.ROOT / path).read_bytes()
    before = ast.dump(ast.parse(source))
    places = list(mutants.mutations(source))
    assert len(places) > 20
    for one in places[:: max(1, len(places) // 20)]:
        assert ast.dump(ast.parse(one.apply(source))) != before, one


def test_a_seed_draws_the_same_places() -> None:
    first, again, other = (mutants.drawn(mutants.ROOT, 5, seed, ["rules/steps"]) for seed in (1, 1, 2))
    assert first == again != other
    assert all(path.startswith("rules/steps/") for path, _ in first)


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("gpulint/probe/advice/causes/copies.py", "tests/probe/advice"),
        ("gpulint/estimate/time/bounds.py", "tests/estimate/time"),
        ("gpulint/analysis/engine/calls.py", "tests/analysis"),
        ("gpulint/discovery.py", "tests/cli"),
        ("rules/steps/retrace_risk.py", "tests/test_mdtest.py"),
    ],
)
def test_the_tests_of_a_room_run_first(path: str, tests: str) -> None:
    assert mutants.tests_of(mutants.ROOT, path)[0][0] == tests


def test_of_a_rule_the_tests_with_its_code_run_first() -> None:
    first, second, *_ = mutants.tests_of(mutants.ROOT, "rules/steps/retrace_risk.py")
    assert first == (*second, "-k", "GPU504")


def test_every_module_has_tests_that_exist() -> None:
    for path in (one.relative_to(mutants.ROOT) for one in (mutants.ROOT / "gpulint").rglob("*.py")):
        stages = mutants.tests_of(mutants.ROOT, path.as_posix())
        assert stages and all((mutants.ROOT / name).exists() for stage in stages for name in stage), path


def test_survivors_are_distinguished_from_what_the_tests_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in {
        "gpulint/__init__.py": "",
        "gpulint/sums/__init__.py": "",
        "gpulint/sums/both.py": "def both(a, b):\n    return a + b\n\n\ndef nothing(a, b):\n    return a < b\n",
        "rules/__init__.py": "",
        "tests/sums/test_both.py": "from gpulint.sums.both import both\n\n\ndef test():\n    assert both(1, 2) == 3\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    mutants.main(["--marks", ""], tmp_path)
    out = capsys.readouterr().out
    results = {line.split(" | ")[1]: line.split(" | ")[3].removesuffix(" |") for line in out.splitlines()[2:-2]}
    killed = "killed by tests/sums"
    assert results == {"`return a + b`": killed, "`a + b`": killed, "`return a < b`": "survived", "`a < b`": "survived"}
    assert out.endswith("\n2 of 4 killed.\n")
    (tmp_path / "tests/sums/test_both.py").write_text("def test():\n    assert False\n")
    mutants.main(["--marks", "", "--count", "1"], tmp_path)
    told = capsys.readouterr()
    assert "| untested |" in told.out and told.out.endswith("\n0 of 1 killed.\n")
    assert told.err == "left out, as they fail without a mutant: tests/sums\n"
