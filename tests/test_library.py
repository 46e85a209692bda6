"""gpulint as a library."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import gpulint
from gpulint.cli.main import main
from gpulint.discovery import MissingPath
from gpulint.output.record import record
from tests.checking import findings_of
from tests.notebooks import notebook

PINNED = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'


def test_importing_gpulint_imports_nothing_heavy() -> None:
    code = "import sys, gpulint; print(sorted({'libcst', 'click', 'rich', 'gpulint.library'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_program_can_be_checked_without_a_file() -> None:
    (finding,) = findings_of(gpulint.check_source(PINNED, "train.py"))
    assert (finding.code, finding.span.path, finding.span.row) == ("GPU101", "train.py", 3)
    settings = gpulint.Settings(lint=gpulint.LintSettings(ignore=("GPU1",)))
    assert findings_of(gpulint.check_source(PINNED, settings=settings)) == []


def test_a_program_that_does_not_parse_is_a_finding() -> None:
    assert [one.code for one in findings_of(gpulint.check_source("import tensorflow\nx = ("))] == ["GPU001"]


def test_a_plan_says_what_the_program_will_do() -> None:
    made = gpulint.plan(PINNED, "train.py")
    assert (made.path, made.complete, made.graph_mode) == ("train.py", True, False)
    assert [(one.span.row, one.kind) for one in made.notes if one.kind == "device"] == [(3, "device")]


def test_a_notebook_is_known_by_its_path(tmp_path: Path) -> None:
    text = notebook("import tensorflow as tf", PINNED.partition("\n\n")[2])
    (finding,) = findings_of(gpulint.check_source(text, "train.ipynb"))
    assert (finding.code, finding.span.path, finding.span.cell, finding.span.row) == ("GPU101", "train.ipynb", 1, 1)
    made = gpulint.plan(text, "train.ipynb")
    assert [(one.span.cell, one.span.row) for one in made.notes if one.kind == "device"] == [(1, 1)]
    (tmp_path / "train.ipynb").write_text(text)
    found = findings_of(gpulint.check_paths([tmp_path], jobs=2))
    assert [(one.code, one.span.cell, one.span.row) for one in found] == [("GPU101", 1, 1)]


def test_results_can_be_pickled() -> None:
    for value in (gpulint.check_source(PINNED), gpulint.plan(PINNED), gpulint.Settings()):
        assert pickle.loads(pickle.dumps(value)) == value


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs that cause findings in a helper, yield to one another, and suppress findings."""
    monkeypatch.chdir(tmp_path)
    filler = "# " + "x" * 98 + "\n"
    (tmp_path / "gpulint.toml").write_text("[lint.per-file-ignores]\n'ignored.py' = ['GPU101']\n")
    (tmp_path / "shared.py").write_text("import tensorflow as tf\n\ndef at(d):\n    with tf.device(d):\n        pass\n")
    for number in range(24):
        (tmp_path / f"program_{number:02}.py").write_text(
            f"import tensorflow as tf\nfrom shared import at\n{filler * 700}at('/gpu:0')\nwith tf.device('/gpu:1'):\n"
            f"    x = tf.zeros({number})\n"
        )
    (tmp_path / "ignored.py").write_text(PINNED)
    (tmp_path / "silent.py").write_text(PINNED.replace("):", "):  # gpulint: ignore[GPU101] one card"))
    (tmp_path / "broken.py").write_text("import tensorflow\nx = (\n")
    return tmp_path


def by_command(*arguments: str) -> list[Any]:
    found = CliRunner().invoke(main, ["check", "--output-format", "json", "--jobs", "1", *arguments])
    assert found.exit_code == 1, found.output
    return list(json.loads(found.stdout))


def test_check_paths_gives_what_the_command_gives_with_any_executor(project: Path) -> None:
    asked: list[int] = []

    def pickled(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterable[Any]:
        asked.append(len(tasks))
        for task in tasks:
            work, given = pickle.loads(pickle.dumps((function, task)))
            yield pickle.loads(pickle.dumps(work(given)))

    expected = by_command(".")
    assert {one["code"] for one in expected} == {"GPU001", "GPU101"}
    assert "shared.py" in {one["filename"] for one in expected}
    alone = gpulint.check_paths(["."])
    assert [record(one) for one in findings_of(alone)] == expected
    assert findings_of(gpulint.check_paths([project / "."], map=pickled)) != []
    for same in (gpulint.check_paths(["."], jobs=3), gpulint.check_paths(["."], map=pickled)):
        assert same == alone
    assert min(asked) > 3


def test_a_missing_path_is_reported() -> None:
    with pytest.raises(MissingPath):
        gpulint.check_paths([os.path.join("no", "where.py")])
