"""Options of `gpulint check` that ruff also has, and the errors for wrong ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpulint.cli.check import command
from gpulint.cli.main import main

PINNED = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'
NUMBER = 'import os\n\nos.environ["TF_NUM_INTEROP_THREADS"] = 4\nimport tensorflow as tf\n'
SILENT = PINNED.replace("):", "):  # gpulint: ignore[GPU101] one card")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pinned.py").write_text(PINNED)
    return tmp_path


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", "--output-format", "concise", *arguments])


def codes(*arguments: str) -> list[tuple[str, str]]:
    out = CliRunner().invoke(main, ["check", "--output-format", "json", *arguments]).stdout
    return [(one["filename"], one["code"]) for one in json.loads(out)]


def test_extending_options_add_to_the_settings(project: Path) -> None:
    (project / "other.py").write_text(PINNED)
    (project / "third.py").write_text(NUMBER)
    (project / "gpulint.toml").write_text("extend-exclude = ['other.py']\n[lint]\nignore = ['GPU304']\n")
    assert codes() == [("pinned.py", "GPU101")]
    assert codes("--extend-exclude", "pinned.py") == []
    assert codes("--extend-ignore", "GPU1") == []
    assert codes("--ignore", "GPU1") == [("third.py", "GPU304")]
    assert codes("--exclude", "none", "--extend-select", "GPU002") == [("pinned.py", "GPU101")]


def test_an_ignored_prefix_does_not_outweigh_a_selected_code() -> None:
    assert codes("--extend-select", "GPU101", "--extend-ignore", "GPU1") == [("pinned.py", "GPU101")]
    assert codes("--extend-select", "GPU101", "--extend-ignore", "hardcoded-device") == []


@pytest.mark.parametrize(
    "text",
    [
        SILENT,
        SILENT.replace("gpulint: ignore[GPU101] one card", "noqa"),
        f"# gpulint: file-ignore[GPU1] one card\n{PINNED}",
    ],
)
def test_ignore_noqa_reports_what_comments_silence(project: Path, text: str) -> None:
    (project / "pinned.py").write_text(text)
    assert codes() == []
    for _ in range(2):  # the second result is a cached one
        assert codes("--ignore-noqa", "--extend-select", "GPU002") == [("pinned.py", "GPU101")]
    assert codes() == []


def test_a_comment_can_name_a_prefix_and_is_unused_as_a_whole(project: Path) -> None:
    (project / "pinned.py").write_text(SILENT.replace("GPU101", "GPU1"))
    assert codes("--extend-select", "GPU002") == []
    (project / "pinned.py").write_text("import tensorflow as tf  # gpulint: ignore[GPU1]\n")
    done = check("--extend-select", "GPU002")
    assert re.search(r"suppresses nothing: no finding of its \d rules here", done.stdout)


def test_an_unknown_rule_in_a_comment_is_reported_with_the_nearest_one(project: Path) -> None:
    (project / "pinned.py").write_text(SILENT.replace("GPU101", "hardcoded-devise"))
    assert "there is no rule `hardcoded-devise`; did you mean `hardcoded-device`?" in check().stdout


def test_an_unknown_rule_in_the_settings_is_reported_with_its_row(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.gpulint.lint]\nextend-select = [\n    "GPU0O2",\n]\n')
    assert "pyproject.toml:3: lint.extend-select: there is no rule `GPU0O2`; did you mean" in check().stderr


def test_an_unknown_rule_of_an_option_is_no_fault_of_the_file(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.gpulint.lint]\nignore = ["GPU201"]\n')
    assert check("--select", "GPU0O2").stderr.startswith("gpulint: --select: there is no rule `GPU0O2`; did you mean")


def test_fix_only_fixes_and_reports_nothing_else(project: Path) -> None:
    (project / "number.py").write_text(NUMBER)
    done = check("--fix-only")
    assert (done.exit_code, done.stdout) == (0, "Fixed 1 finding.\n")
    assert '= "4"' in (project / "number.py").read_text()
    done = check("--fix-only")
    assert (done.exit_code, done.stdout) == (0, "Nothing to fix.\n")
    assert codes("--fix-only") == []
    assert codes() == [("pinned.py", "GPU101")]


def test_fix_only_does_not_hide_what_could_not_be_read(project: Path) -> None:
    (project / "broken.py").write_text("import tensorflow as tf\nx = (1,\n")
    done = check("--fix-only")
    assert done.exit_code == 1 and "broken.py:2:5: error[GPU001]" in done.stdout and "GPU101" not in done.stdout


def test_show_fixes_lists_what_was_fixed(project: Path) -> None:
    (project / "number.py").write_text(NUMBER + 'os.environ["B"] = 5\n')
    done = check("--fix", "--show-fixes")
    assert done.stderr == "gpulint: fixed in number.py: 2 × GPU304 (env-not-string)\n"
    assert check("--fix", "--show-fixes").stderr == ""


def test_a_fix_can_fail_the_run(project: Path) -> None:
    (project / "pinned.py").write_text(NUMBER)
    assert check("--fix", "--exit-non-zero-on-fix").exit_code == 1
    assert check("--fix", "--exit-non-zero-on-fix").exit_code == 0


@pytest.mark.parametrize("form", ["text", "full", "concise", "grouped"])
def test_quiet_prints_findings_only(form: str) -> None:
    def shown(*arguments: str) -> str:
        return CliRunner().invoke(main, ["check", "--output-format", form, *arguments]).output

    whole, quiet = shown(), shown("-q")
    assert whole.startswith(quiet) and "GPU101" in quiet and "Found" in whole and "Found" not in quiet
    assert shown("-q", "--ignore", "GPU101") == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-warnings", "-3"], "-3 is not in the range x>=0"),
        (["--config", "max-warnings = -3"], "`max-warnings` must be a whole number from 0 on, or -1, not -3"),
        (
            ["--target-tensorflow", "9.9"],
            "`target-tensorflow` must be a release of TensorFlow 1 or 2 such as \"2.16\", not '9.9'",
        ),
        (["--target-tensorflow", "1.16"], "`target-tensorflow` must be a release of TensorFlow"),
        (["--select", "GPU99"], "did you mean `GPU9`?"),
        (["--select", "GPU10x"], "--select: there is no rule `GPU10x`; did you mean `GPU10`?"),
        (["--select", "gpu0O2"], "did you mean `GPU002`?"),
    ],
)
def test_wrong_values_are_refused(arguments: list[str], message: str) -> None:
    done = check(*arguments)
    assert done.exit_code == 2 and message in done.stderr


@pytest.mark.parametrize(
    ("word", "near"), [("GPU20l", "GPU201"), ("gpu602x", "GPU602"), ("model-outside-scpe", "model-outside-scope")]
)
def test_the_nearest_rule_is_suggested(word: str, near: str) -> None:
    assert f"there is no rule `{word}`; did you mean `{near}`?" in CliRunner().invoke(main, ["rule", word]).stderr


def test_the_rules_with_a_prefix_are_named() -> None:
    done = CliRunner().invoke(main, ["rule", "gpu00"])
    assert done.exit_code == 2
    assert done.stderr.endswith("there is no rule `gpu00`; with this prefix there are GPU001, GPU002, GPU003, GPU006\n")


def test_a_release_newer_than_the_newest_known_is_reported_once() -> None:
    done = check("--target-tensorflow", "2.99")
    assert done.stderr.count("TensorFlow 2.99 is newer than 2.") == 1 and done.exit_code == 1
    assert check("--target-tensorflow", "2.99", "-q").stderr == ""


def test_an_unknown_command_is_reported_with_the_nearest_one() -> None:
    done = CliRunner().invoke(main, ["chek", "."])
    assert done.exit_code == 2 and "there is no command 'chek'; did you mean 'check'?" in done.stderr
    assert CliRunner().invoke(main, ["qqq"]).exit_code == 2


def test_markdown_has_a_hint(project: Path) -> None:
    (project / "README.md").write_text("```python\nimport tensorflow as tf\n```\n")
    done = CliRunner().invoke(main, ["check", "README.md"])
    assert "= help: check the code blocks of Markdown files with `--extension md`" in done.stdout


def test_help_has_every_option_once_and_under_its_subject() -> None:
    text = CliRunner().invoke(main, ["check", "--help"]).stdout
    names = [name for parameter in command.params for name in parameter.opts if name.startswith("--")]
    shown = re.compile(r"^  (?:-\w, )?(--[\w-]+)", re.MULTILINE)
    assert sorted(shown.findall(text)) == sorted([*names, "--help"])
    assert shown.findall(text.partition("Other options:\n")[2]) == ["--watch", "--help"]


def test_a_fix_that_cannot_be_written_says_why(project: Path) -> None:
    (project / "pinned.py").write_text(PINNED.replace("):", "):  # the first card"))
    done = CliRunner().invoke(main, ["check", "--fix", "--unsafe-fixes"])
    assert "= fix: none here, because a comment would be lost\n" in done.stdout
    (one,) = json.loads(CliRunner().invoke(main, ["check", "--output-format", "json"]).stdout)
    assert (one["fix"], one["no_fix"]) == (None, "a comment would be lost")
