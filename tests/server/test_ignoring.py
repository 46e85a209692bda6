"""Comments that an action writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpulint.linting import pack
from gpulint.linting.engine import SYNTAX_ERROR, Checker
from gpulint.linting.finding import Finding
from gpulint.linting.selection import Catalogue
from gpulint.places import Span
from gpulint.server.ignoring import ignore
from gpulint.settings import SettingsFinder

FIXTURES = Path(__file__).parents[2] / "fixtures"

PATH = "/program.py"


def found(text: str) -> list[Finding]:
    checker = Checker(SettingsFinder(isolated=True), Catalogue(pack.load(installed=False)))
    return checker.check([PATH], {PATH: text.encode()}).findings


def ignored(text: str, finding: Finding) -> str:
    lines = re.split(r"\r\n?|\n", text)
    edit = ignore(text, lines, finding.span, finding.code)
    assert edit is not None
    span, new = edit
    assert span.row == span.end_row
    line = lines[span.row - 1]
    lines[span.row - 1] = line[: span.column - 1] + new + line[span.end_column - 1 :]
    return "\n".join(lines)


def silenced(text: str) -> str:
    (finding,) = found(text)
    after = ignored(text, finding)
    assert found(after) == []
    return after


def test_a_comment_goes_to_the_end_of_the_line() -> None:
    after = silenced('import tensorflow as tf\nwith tf.device("/gpu:0"):   \n    tf.ones(2)\n')
    assert after.splitlines()[1] == 'with tf.device("/gpu:0"):  # gpulint: ignore[GPU101]'


def test_a_comment_that_is_there_stays() -> None:
    after = silenced('import tensorflow as tf\nwith tf.device("/gpu:0"):  # the fast one\n    tf.ones(2)\n')
    assert after.splitlines()[1] == 'with tf.device("/gpu:0"):  # the fast one  # gpulint: ignore[GPU101]'


def test_a_code_joins_those_of_a_suppression() -> None:
    text = 'import tensorflow as tf\nwith tf.device("/gpu:0"):  # gpulint: ignore[GPU102] why\n    tf.ones(2)\n'
    finding = next(one for one in found(text) if one.code == "GPU101")
    after = ignored(text, finding)
    assert after.splitlines()[1].endswith("# gpulint: ignore[GPU102, GPU101] why")
    assert found(after) == []


def test_a_hash_in_a_string_is_no_comment() -> None:
    text = 'import tensorflow as tf\nwith tf.device("/gpu:0"): print("# gpulint: ignore[GPU102]", tf.ones(2))\n'
    assert silenced(text).splitlines()[1].endswith("tf.ones(2))  # gpulint: ignore[GPU101]")


@pytest.mark.parametrize(
    "statement",
    [
        'with tf.device("/gpu:0"), \\\n    open("x"):\n    tf.ones(2)',
        'with tf.device("/gpu:0"), open("""\nx"""):\n    tf.ones(2)',
        'with tf.device("/gpu:0"), open(f"""\n{1}"""):\n    tf.ones(2)',
    ],
)
def test_where_no_comment_can_stand_it_goes_to_the_end_of_the_statement(statement: str) -> None:
    silenced(f"import tensorflow as tf\n{statement}\n")


def test_in_brackets_over_several_lines_it_stands_at_the_place() -> None:
    after = silenced('import tensorflow as tf\nwith (\n    tf.device("/gpu:0"),\n    open("x"),\n):\n    tf.ones(2)\n')
    assert after.splitlines()[2] == '    tf.device("/gpu:0"),  # gpulint: ignore[GPU101]'


def test_there_is_no_comment_for_what_is_no_python() -> None:
    assert ignore('x = """', ['x = """'], Span(PATH, 1, 1, 1, 2), "GPU101") is None


@pytest.mark.parametrize("folder", ["placement", "strategies", "pipelines", "memory"])
def test_in_every_fixture_a_comment_silences_its_finding_and_no_other(folder: str) -> None:
    tried = 0
    for path in sorted((FIXTURES / folder).glob("*.py"))[::4]:
        text = path.read_text("utf-8")
        before = found(text)
        for finding in before[:2]:
            if finding.code == SYNTAX_ERROR:
                continue
            tried += 1
            after = found(ignored(text, finding))
            kept = [one.fingerprint for one in before if one.code != finding.code]
            assert [one.fingerprint for one in after if one.code != finding.code] == kept, path
            rows = [one.span.row for one in after if one.code == finding.code]
            assert finding.span.row not in rows, path
    assert tried
