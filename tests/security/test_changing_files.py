"""Files that change during a check: findings, rows and fixes come from one content, and no edit is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpulint.checking import Checked, Checking
from gpulint.cli.main import main
from gpulint.linting.workers import Workers
from gpulint.settings import SettingsFinder
from gpulint.sources import writing
from tests.checking import findings_of

TAPE = "with tf.GradientTape(persistent=True) as tape:\n    loss = model(x)\n"
BEFORE = f"import tensorflow as tf\n\nmodel = tf.keras.Sequential()\n{TAPE}g = tape.gradient(loss, model.variables)\n"
AFTER = f"import tensorflow as tf\n\nN = 64 * 1024 * 1024 * 1024 + 4096\nM = 3\n{BEFORE.partition('tf')[2]}"
HELPER = "import tensorflow as tf\n\n\ndef place(d):\n    with tf.device(d):\n        return tf.zeros(4)\n"
CALLER = "import tensorflow as tf\nfrom helper import place\n\nplace('/gpu:0')\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(BEFORE)
    return tmp_path


@pytest.fixture
def disturbed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Run some code once the processes of a run have examined its files, the first time only."""

    def disturb(event: Callable[[], object]) -> None:
        examine = Workers.__call__
        pending = [event]

        def examined(workers: Workers, portions: Sequence[tuple[str, ...]], *more: Any) -> object:
            found = examine(workers, portions, *more)
            if portions and pending:
                pending.pop()()
            return found

        monkeypatch.setattr(Workers, "__call__", examined)

    return disturb


def check(project: Path, *names: str, edits: bool = True, remembers: bool = False) -> Checked:
    finder = SettingsFinder(root=str(project))
    settings = finder.of_directory(str(project))
    checking = Checking(finder, settings, cache_directory="" if remembers else None, edits=edits)
    checked = checking(names or ("train.py",), {})
    findings_of(checked.result)
    return checked


def test_findings_are_those_of_the_rows_that_are_shown_with_them(
    project: Path, disturbed: Callable[[Callable[[], object]], None]
) -> None:
    disturbed(lambda: (project / "train.py").write_text("# a comment\n" * 7 + BEFORE))
    checked = check(project)
    (finding,) = checked.result.findings
    assert checked.texts.line("train.py", finding.span.row).startswith("with tf.GradientTape(persistent=True)")


@pytest.mark.parametrize("remembers", [False, True])
def test_a_program_and_its_helper_are_judged_by_one_content_of_each(
    project: Path, disturbed: Callable[[Callable[[], object]], None], remembers: bool
) -> None:
    (project / "helper.py").write_text(HELPER)
    (project / "main.py").write_text(CALLER)
    if remembers:
        check(project, "helper.py", "main.py", edits=False, remembers=True)
        (project / "main.py").write_text(f"{CALLER}print(1)\n")
    disturbed(lambda: (project / "helper.py").write_text("#\n" * 9 + HELPER))
    checked = check(project, "helper.py", "main.py", edits=False, remembers=remembers)
    assert [one.code for one in checked.result.findings] == ["GPU101"]
    assert "tf.device(d)" in checked.texts.line("helper.py", checked.result.findings[0].span.row)
    again = check(project, "helper.py", "main.py", edits=False)
    assert again.result.findings == checked.result.findings


def test_a_file_that_vanishes_counts_as_empty(project: Path, disturbed: Callable[[Callable[[], object]], None]) -> None:
    disturbed(lambda: (project / "train.py").unlink())
    assert check(project).result.findings == []


def test_a_remembered_finding_is_not_shown_over_other_rows(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = check(project, edits=False, remembers=True)
    from gpulint.caching.present import Present

    agrees = Present.agrees_with

    def agree_then_change(present: Present, *arguments: Any) -> bool:
        agreed = agrees(present, *arguments)
        (project / "train.py").write_text("#\n" * 5 + BEFORE)
        return agreed

    monkeypatch.setattr(Present, "agrees_with", agree_then_change)
    second = check(project, edits=False, remembers=True)
    (before,), (after,) = first.result.findings, second.result.findings
    assert after.span.row == before.span.row + 5
    assert "GradientTape" in second.texts.line("train.py", after.span.row)


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["check", "--isolated", "-n", *arguments])
    assert isinstance(done.exception, (SystemExit, type(None))), done.exc_info
    return done.exit_code, done.output


def test_a_fix_is_written_only_into_the_text_that_it_was_computed_from(
    project: Path, disturbed: Callable[[Callable[[], object]], None]
) -> None:
    disturbed(lambda: (project / "train.py").write_text(AFTER))
    run("--fix", "train.py")
    assert (project / "train.py").read_text() == AFTER.replace("persistent=True", "")


def test_a_file_that_changes_before_its_fix_is_written_stays_as_it_is(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = writing.put

    def late(path: str, *more: Any) -> None:
        Path(path).write_text(AFTER)
        put(path, *more)

    monkeypatch.setattr(writing, "put", late)
    status, output = run("--fix", "train.py")
    assert (project / "train.py").read_text() == AFTER
    assert status == 1 and "left as it is" in output
    assert not list(project.glob(".gpulint-*"))
