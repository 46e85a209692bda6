"""All fixes of all fixture programs together: nothing breaks, nothing is lost, and a second run over what was fixed
changes nothing."""

from __future__ import annotations

import ast
import io
import re
import shutil
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gpulint.fixing.rounds import Fixed
from gpulint.linting.result import CheckResult
from tests.fixing.fixing import fixed
from tests.programs import FIXTURES

EXPECTATION = re.compile(r" *# expect: GPU.*$", re.MULTILINE)
"""A comment that marks the row of a finding; on a row that a fix deletes, it would have to be kept."""


class Run(NamedTuple):
    before: Counter[tuple[str, str]]
    first: Fixed
    second: Fixed


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("fixtures")
    shutil.copytree(FIXTURES, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.log"))
    paths = sorted(root.rglob("*.py"))
    for path in paths:
        path.write_text(EXPECTATION.sub("", path.read_text(encoding="utf-8")), encoding="utf-8")
    paths.insert(0, root / "all.py")
    paths[0].write_text("", encoding="utf-8")
    checks: list[CheckResult] = []
    first = fixed(paths, checks=checks)
    again = [paths[0], *map(Path, first.after)]
    second = fixed(again, given={path: source.data for path, source in first.after.items()})
    return Run(counted(checks[0]), first, second)


def counted(result: CheckResult) -> Counter[tuple[str, str]]:
    return Counter((one.span.path, one.code) for one in result.findings)


def changed(run: Run) -> Iterator[tuple[str, str, str]]:
    """(path, text before, text after) of each file that fixes change."""
    assert len(run.first.after) > 50
    for path, after in run.first.after.items():
        yield path, run.first.before[path].text, after.text


def comments(text: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def long_strings(text: str) -> Counter[str]:
    nodes = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    return Counter(value for value in nodes if isinstance(value, str) and "\n" in value)


def test_what_is_fixed_compiles(run: Run) -> None:
    for path, _, after in changed(run):
        compile(after, path, "exec", dont_inherit=True)


def test_no_comment_is_lost(run: Run) -> None:
    assert [path for path, before, after in changed(run) if comments(before) != comments(after)] == []


def test_no_string_of_several_rows_changes(run: Run) -> None:
    assert [path for path, before, after in changed(run) if long_strings(before) != long_strings(after)] == []


def test_no_file_has_more_findings_than_before(run: Run) -> None:
    before, after = Counter[str](), Counter[str]()
    for (path, _), number in run.before.items():
        before[path] += number
    for (path, _), number in counted(run.first.checked.result).items():
        after[path] += number
    assert [path for path in after if after[path] > before[path]] == []


def test_what_is_fixed_is_not_found_again(run: Run) -> None:
    after = counted(run.first.checked.result)
    gone = Counter((one.span.path, one.code) for one in run.first.fixed)
    again = [key for key, number in gone.items() if after[key] > max(run.before[key] - number, 0)]
    assert again == []


def test_nothing_is_left_that_can_be_fixed(run: Run) -> None:
    assert [one for one in run.first.checked.result.findings if one.fix is not None] == []


def test_a_second_run_changes_nothing(run: Run) -> None:
    assert run.second.after == {}


def test_no_fix_fails(run: Run) -> None:
    assert run.first.checked.result.errors == []
