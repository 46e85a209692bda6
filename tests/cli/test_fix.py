"""`gpulint check --fix`, `--unsafe-fixes` and `--diff` as a user runs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpulint.cli.main import main
from tests.notebooks import notebook

PINNED = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'
FREE = "import tensorflow as tf\n\nx = tf.zeros(4)\n"
NUMBER = 'import os\nimport tensorflow as tf\n\nos.environ["CUDA_VISIBLE_DEVICES"] = 0\n'
TEXT = NUMBER.replace("= 0", '= "0"')


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pinned.py").write_text(PINNED)
    (tmp_path / "number.py").write_text(NUMBER)
    return tmp_path


def check(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["check", *arguments], input=stdin)


def texts(project: Path) -> tuple[str, str]:
    return (project / "pinned.py").read_text(), (project / "number.py").read_text()


def test_without_the_option_nothing_is_written(project: Path) -> None:
    done = check("--output-format", "concise")
    assert texts(project) == (PINNED, NUMBER)
    assert "number.py:4:1: error[GPU304] [*] " in done.stdout
    assert "pinned.py:3:6: warning[GPU101] operations" in done.stdout
    assert "[*] up to 1 fixable with `--fix`; 1 more with `--unsafe-fixes`." in done.stdout


def test_safe_fixes_are_written_and_what_is_left_is_shown(project: Path) -> None:
    done = check("--fix")
    assert texts(project) == (PINNED, TEXT)
    assert done.exit_code == 1
    assert "GPU101" in done.stdout and "GPU304" not in done.stdout
    assert "1 fixed, 1 remaining; 1 more with `--unsafe-fixes`.\n" in done.stdout


def test_unsafe_fixes_are_written_when_they_are_asked_for(project: Path) -> None:
    done = check("--fix", "--unsafe-fixes")
    assert texts(project) == (FREE, TEXT)
    assert done.exit_code == 0 and done.stdout.startswith("2 fixed, 0 remaining.\nAll checks passed!\n")


def test_a_diff_shows_what_would_be_fixed_and_writes_nothing(project: Path) -> None:
    done = check("--diff", "--unsafe-fixes")
    assert texts(project) == (PINNED, NUMBER)
    assert done.exit_code == 1
    assert done.stderr == "Would fix 2 findings.\n"
    assert done.stdout.startswith("--- number.py\n+++ number.py\n@@ -1,4 +1,4 @@\n")


def test_a_diff_with_nothing_to_fix_exits_with_0(project: Path) -> None:
    done = check("--diff", "pinned.py")
    assert (done.exit_code, done.stdout) == (0, "")


def test_a_diff_says_why_a_fix_cannot_be_written(project: Path) -> None:
    (project / "pinned.py").write_text(PINNED.replace('"/gpu:0"):', '"/gpu:0"):  # the second card'))
    done = check("--diff", "--unsafe-fixes", "pinned.py")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "1 finding of GPU101 has no fix, because a comment would be lost\nNothing to fix.\n"


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
def test_a_diff_can_be_applied_with_patch(project: Path) -> None:
    (project / "pinned.py").write_bytes(PINNED.rstrip("\n").replace("x = ", "x = 1\n    x = ").encode())
    diff = check("--diff", "--unsafe-fixes").stdout_bytes
    expected = {path: path.read_bytes() for path in project.glob("*.py")}
    subprocess.run(["patch", "-p0", "-s"], input=diff, cwd=project, check=True)
    patched = {path: path.read_bytes() for path in project.glob("*.py")}
    for path, before in expected.items():
        path.write_bytes(before)
    check("--fix", "--unsafe-fixes")
    assert patched == {path: path.read_bytes() for path in project.glob("*.py")}


def test_standard_input_is_printed_fixed_and_findings_go_to_the_other_stream(project: Path) -> None:
    both = NUMBER + 'with tf.device("/gpu:1"):\n    x = tf.zeros(4)\n'
    done = check("--fix", "--stdin-filename", "both.py", "-", stdin=both)
    assert done.stdout == both.replace("= 0", '= "0"')
    assert "GPU107" in done.stderr and done.exit_code == 1
    assert not (project / "both.py").exists()


def test_standard_input_without_anything_to_fix_is_printed_as_it_was(project: Path) -> None:
    text = b"x = 1\r\ny = 2"
    assert check("--fix", "-", stdin=text).stdout_bytes == text


def test_unfixable_rules_are_not_fixed(project: Path) -> None:
    (project / "gpulint.toml").write_text('[lint]\nunfixable = ["GPU304"]\n')
    done = check("--fix", "--output-format", "json")
    assert texts(project) == (PINNED, NUMBER)
    assert {finding["code"]: finding["fix"] is None for finding in json.loads(done.stdout)} == {
        "GPU101": False,
        "GPU304": True,
    }


def test_the_settings_can_ask_for_fixes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "gpulint.toml").write_text("fix = true\nunsafe-fixes = true\n")
    monkeypatch.setenv("GPULINT_TRUST", str(project))
    check()
    assert texts(project) == (FREE, TEXT)
    (project / "number.py").write_text(NUMBER)
    check("--no-fix")
    assert texts(project) == (FREE, NUMBER)


def test_an_unknown_rule_among_the_fixable_ones_is_an_error(project: Path) -> None:
    (project / "gpulint.toml").write_text('[lint]\nfixable = ["GPU999"]\n')
    done = check("--fix")
    assert done.exit_code == 2 and "GPU999" in done.stderr
    assert texts(project) == (PINNED, NUMBER)


def test_a_wrong_output_format_is_reported_before_anything_is_written(project: Path) -> None:
    (project / "gpulint.toml").write_text('output-format = "xml"\n')
    assert check("--fix").exit_code == 2
    assert texts(project) == (PINNED, NUMBER)


def test_json_has_the_edits_of_a_fix(project: Path) -> None:
    (found,) = json.loads(check("--output-format", "json", "number.py").stdout)
    assert found["fix"] == {
        "applicability": "safe",
        "message": 'Write it as a string, `"0"`',
        "edits": [
            {
                "content": '"0"',
                "location": {"row": 4, "column": 38},
                "end_location": {"row": 4, "column": 39},
                "cell": None,
            }
        ],
    }


def test_a_file_that_cannot_be_written_is_reported_in_one_line_and_its_findings_stay(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "replace", full)
    done = check("--fix")
    assert done.exit_code == 1
    assert done.stderr == "gpulint: number.py: cannot be written: No space left on device; left as it is\n"
    assert "GPU304" in done.stdout and "0 fixed, 2 remaining" in done.stdout
    assert texts(project) == (PINNED, NUMBER)


def test_an_unused_suppression_is_taken_out(project: Path) -> None:
    rows = (
        "import tensorflow as tf\n"
        "# gpulint: ignore[GPU101] gone\n"
        "x = tf.zeros(4)  # gpulint: ignore[GPU102] gone\n"
        "y = tf.zeros(4)  # noqa: GPU101\n"
        "z = tf.zeros(4)  # gpulint: ignore[GPU101]  # type: ignore\n"
    )
    (project / "pinned.py").write_text(rows)
    check("--fix", "--select", "ALL", "pinned.py")
    assert (project / "pinned.py").read_text() == (
        "import tensorflow as tf\n"
        "x = tf.zeros(4)\n"
        "y = tf.zeros(4)  # noqa: GPU101\n"
        "z = tf.zeros(4)  # gpulint: ignore[GPU101]  # type: ignore\n"
    )


def test_a_diff_is_not_green_where_a_file_cannot_be_read(project: Path) -> None:
    (project / "broken.py").write_text("import tensorflow as tf\nx = (\n")
    done = check("--diff", "broken.py")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "broken.py:2:" in done.stderr


# --------------------------------------------------------------------------- with notebooks


def ran(*cells: str) -> str:
    """A notebook whose cells have outputs."""
    document = json.loads(notebook(*cells))
    for number, cell in enumerate(document["cells"], 1):
        if cell["cell_type"] == "code":
            cell |= {
                "execution_count": number,
                "outputs": [{"output_type": "stream", "name": "stdout", "text": ["é\n"]}],
            }
    return json.dumps(document, indent=1) + "\n"


def test_only_the_cells_of_a_notebook_change_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    cells = ["md:# é", "import os\nimport tensorflow as tf\n%matplotlib inline"]
    first, second = 'os.environ["CUDA_VISIBLE_DEVICES"] = 0', 'with tf.device("/gpu:0"):\n    x = tf.zeros(4)'
    path = tmp_path / "a.ipynb"
    path.write_text(ran(*cells, first, second))
    done = check("--isolated", "--fix", "--unsafe-fixes", "--select", "GPU101,GPU304", str(path))
    assert done.stdout.startswith("2 fixed, 0 remaining.\nAll checks passed!\n")
    assert path.read_text() == ran(*cells, first.replace("= 0", '= "0"'), "x = tf.zeros(4)")
    before = path.stat()
    check("--isolated", "--fix", "--unsafe-fixes", "--select", "GPU101,GPU304", str(path))
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_the_last_and_the_first_rows_of_a_cell_can_be_changed(tmp_path: Path) -> None:
    cells = ["import tensorflow as tf", "y = 1\nx = 2  # gpulint: ignore[GPU101]\n# gpulint: ignore[GPU101]\nz = 3"]
    path = tmp_path / "a.ipynb"
    path.write_text(ran(*cells))
    check("--isolated", "--fix", "--select", "ALL", str(path))
    assert path.read_text() == ran(cells[0], "y = 1\nx = 2\nz = 3")


def test_a_diff_of_a_notebook_names_the_cell(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(text := ran("import os\nimport tensorflow as tf", 'os.environ["CUDA_VISIBLE_DEVICES"] = 0'))
    done = check("--isolated", "--diff", "--select", "GPU304", str(path))
    assert done.stdout.splitlines()[:2] == [f"--- {path}:cell 2", f"+++ {path}:cell 2"]
    assert '+os.environ["CUDA_VISIBLE_DEVICES"] = "0"' in done.stdout
    assert (done.exit_code, path.read_text()) == (1, text)


def test_a_fix_of_a_row_with_a_magic_is_not_offered(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(ran("import tensorflow as tf", "%time tf.config.run_functions_eagerly(True)", "x = tf.zeros(4)"))
    before = path.read_text()
    assert "fixed" in check("--isolated", "--fix", "--unsafe-fixes", "--select", "ALL", str(path)).stdout
    assert path.read_text() == before


def test_markdown_is_fixed_inside_its_blocks(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(text := f"# It's\n\n```python\n{NUMBER}```\n")
    wanted = text.replace(NUMBER, TEXT)
    done = check("--isolated", "--extension", "md", "--diff", str(path))
    assert wanted.splitlines()[4] in done.stdout and path.read_text() == text
    assert check("--isolated", "--extension", "md", "--fix", str(path)).exit_code == 0
    assert path.read_text() == wanted


# ------------------------------------------------------------------------------- with gates


def test_what_a_baseline_has_is_not_fixed(project: Path) -> None:
    check("--baseline", "known.json", "--write-baseline")
    (project / "new.py").write_text(NUMBER)
    done = check("--baseline", "known.json", "--fix")
    assert texts(project) == (PINNED, NUMBER)
    assert (project / "new.py").read_text() == TEXT
    assert done.exit_code == 0 and done.stdout.startswith("1 fixed, 0 remaining.\nAll checks passed!\n")


def test_since_a_revision_only_what_changed_is_fixed(project: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], check=True)
    (project / "new.py").write_text(NUMBER)
    check("--since", "HEAD", "--fix")
    assert texts(project) == (PINNED, NUMBER)
    assert (project / "new.py").read_text() == TEXT


def test_several_processes_fix_the_same(project: Path) -> None:
    for number in range(3):
        (project / f"long{number}.py").write_text(NUMBER + f"# {'x' * 400_000}\n")
    done = check("--fix", "--jobs", "3")
    assert "4 fixed, 1 remaining" in done.stdout
    assert {path.read_text()[: len(TEXT)] for path in project.glob("long*.py")} == {TEXT}
