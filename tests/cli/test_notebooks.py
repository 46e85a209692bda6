"""`gpulint check` and `gpulint plan` on notebooks and Markdown files, as a user runs them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpulint.cli.main import main
from tests.notebooks import notebook

PINNED = "with tf.device('/gpu:0'):\n    x = tf.zeros(4)"
IMPORT = "import tensorflow as tf"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, *cells: str) -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    text = notebook(*cells)
    Path(name).write_text(text, encoding="utf-8")
    return text


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=stdin)


def concise(*arguments: str, stdin: str | None = None) -> list[str]:
    """The findings without their messages."""
    done = run("check", "--output-format", "concise", *arguments, stdin=stdin)
    assert not done.stderr
    return [re.sub(r"(\w+)\[(GPU\d+)\].*", r"\2", line) for line in done.stdout.splitlines() if "GPU" in line]


def findings(*arguments: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(run("check", "--output-format", "json", *arguments).stdout)
    return found


def test_notebooks_are_discovered_and_positions_are_in_cells() -> None:
    write("a/b.ipynb", "md:# t", IMPORT, f"\n{PINNED}")
    write("a/.ipynb_checkpoints/b-checkpoint.ipynb", IMPORT, PINNED)
    assert concise() == ["a/b.ipynb:cell 3:2:6: GPU101"]
    (found,) = findings()
    assert (found["cell"], found["location"], found["noqa_row"]) == (2, {"row": 2, "column": 6}, 2)


def test_the_text_shows_the_cell_as_it_was_written() -> None:
    write("a.ipynb", "import tensorflow as tf\n", f"%time y = 1\n{PINNED}")
    assert run("check").stdout.startswith(
        "warning[GPU101] operations are pinned to `/gpu:0`\n"
        "  --> a.ipynb:cell 2:2:6\n"
        "2 | with tf.device('/gpu:0'):\n"
        "  |      ^^^^^^^^^^^^^^^^^^^\n"
    )


def test_github_annotations_have_the_rows_of_the_file() -> None:
    text = write("a.ipynb", IMPORT, f'x = """é\\"\n"""\n{PINNED}')
    out = run("check", "--output-format", "github").stdout
    row = next(row for row, line in enumerate(text.split("\n"), 1) if "tf.device" in line)
    column = text.split("\n")[row - 1].index("tf.device") + 1
    assert f"file=a.ipynb,line={row},endLine={row},col={column},endColumn={column + 19}::a.ipynb:cell 2:3:6: " in out


@pytest.mark.parametrize("form", ["azure", "gitlab", "junit", "pylint", "rdjson", "sarif"])
def test_every_format_without_cells_has_the_row_of_the_file(form: str) -> None:
    text = write("a.ipynb", IMPORT, f"# été\n\n{PINNED}")
    out = run("check", "--output-format", form).stdout
    row = next(row for row, line in enumerate(text.split("\n"), 1) if "tf.device" in line)
    shown = {
        "azure": f"linenumber={row};columnnumber=11;",
        "gitlab": f'"begin": {row},',
        "junit": f'line="{row}"',
        "pylint": f"a.ipynb:{row}: [GPU101",
        "rdjson": f'"line": {row},',
        "sarif": f'"startLine": {row},',
    }
    assert shown[form] in out


def test_reviewdog_counts_the_bytes_of_the_file() -> None:
    write("a.ipynb", IMPORT, "é = '日本'; x = tf.device('/gpu:0')\nwith x: y = tf.zeros(4)")
    (found,) = json.loads(run("check", "--output-format", "rdjson").stdout)["diagnostics"]
    start, end = (found["location"]["range"][end] for end in ("start", "end"))
    row = Path("a.ipynb").read_bytes().split(b"\n")[start["line"] - 1]
    assert row[start["column"] - 1 : end["column"] - 1] == b"tf.device('/gpu:0')"


def test_since_knows_the_rows_of_cells(project: Path) -> None:
    write("a.ipynb", IMPORT, PINNED)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], check=True)
    write("a.ipynb", IMPORT, PINNED, PINNED.replace("x =", "y ="))
    assert concise() == ["a.ipynb:cell 2:1:6: GPU101", "a.ipynb:cell 3:1:6: GPU101"]
    assert concise("--since", "HEAD") == ["a.ipynb:cell 3:1:6: GPU101"]


def test_a_baseline_knows_a_cell_that_moved() -> None:
    write("a.ipynb", IMPORT, PINNED)
    assert run("check", "--baseline", "known.json", "--write-baseline").exit_code == 0
    write("a.ipynb", "md:# t", IMPORT, f"# moved\n{PINNED}", PINNED.replace("gpu:0", "gpu:1"))
    assert concise("--baseline", "known.json") == ["a.ipynb:cell 4:1:6: GPU101"]


def test_no_comments_are_written_into_notebooks() -> None:
    text = write("a.ipynb", IMPORT, PINNED)
    done = run("check", "--add-ignore")
    assert "gpulint: a.ipynb: not changed: comments are only written to Python files\n" in done.stderr
    assert (done.exit_code, Path("a.ipynb").read_text()) == (1, text)


def test_several_processes_find_the_same_in_notebooks() -> None:
    for number in range(4):
        write(f"{number}.ipynb", "%%writefile net.py\nimport tensorflow as tf\n" + PINNED, IMPORT, f"{PINNED}\nx = (")
        write(f"good{number}.ipynb", IMPORT, f"# {'x' * 300_000}\n{PINNED}")
    alone = run("check", "--jobs", "1", "--output-format", "full").stdout
    assert alone.count("[GPU101]") >= 8 and alone.count("[GPU001]") == 4
    assert run("check", "--jobs", "3", "--output-format", "full").stdout == alone


def test_a_broken_cell_is_reported_and_the_others_are_checked() -> None:
    write("a.ipynb", IMPORT, "x = (", PINNED, "y = )")
    assert concise() == ["a.ipynb:cell 2:1:5: GPU001", "a.ipynb:cell 3:1:6: GPU101", "a.ipynb:cell 4:1:5: GPU001"]
    assert "= why: nothing in this cell was checked" in run("check").stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "a.ipynb:1:2: error[GPU001] not a notebook: a member in double quotes is missing"),
        ('{"nbformat": 3, "worksheets": []}', "a.ipynb:1:1: error[GPU001] a notebook of format 3: convert it"),
        ("version https://git-lfs.github.com/spec/v1\n", "a.ipynb:1:1: error[GPU001] not a notebook: Expecting value"),
        ('{"nbformat": 4, "metadata": {}}', "a.ipynb:1:1: error[GPU001] not a notebook: it has no list of cells"),
    ],
)
def test_a_file_that_is_not_a_notebook_is_one_line_and_the_run_continues(text: str, said: str) -> None:
    Path("a.ipynb").write_text(text)
    write("b.ipynb", IMPORT, PINNED)
    done = run("check", "--output-format", "concise")
    first, second, _ = done.stdout.splitlines()
    assert first.startswith(said) and second.startswith("b.ipynb:cell 2:1:6: warning[GPU101]")
    assert done.exit_code == 1


def test_empty_foreign_and_bulky_notebooks_are_fine() -> None:
    Path("empty.ipynb").write_text("")
    Path("none.ipynb").write_text('{"cells": [], "nbformat": 4}')
    bulky = json.loads(notebook(IMPORT))
    bulky["cells"][0]["outputs"] = [{"output_type": "display_data", "data": {"image/png": "A" * 20_000_000}}]
    Path("bulky.ipynb").write_text(json.dumps(bulky))
    Path("r.ipynb").write_text(notebook("tensorflow <- 1", metadata={"kernelspec": {"name": "ir", "language": "R"}}))
    assert run("check").stdout.startswith("All checks passed!\n")


def test_suppressions_end_with_their_cell_and_file_ignore_does_not() -> None:
    write(
        "a.ipynb",
        f"{IMPORT}\n# gpulint: disable[GPU101]\n{PINNED}",
        "with tf.device('/gpu:0'):  # gpulint: ignore[GPU101] why\n    x = tf.zeros(4)",
        f"# gpulint: ignore[GPU101]\n{PINNED}\n# gpulint: ignore[GPU101]",
        PINNED,
    )
    assert concise() == ["a.ipynb:cell 4:1:6: GPU101"]
    assert concise("--extend-select", "GPU002") == ["a.ipynb:cell 3:4:1: GPU002", "a.ipynb:cell 4:1:6: GPU101"]
    write("a.ipynb", IMPORT, PINNED, "# gpulint: file-ignore[GPU101]", f"%%writefile b.py\n{IMPORT}\n{PINNED}")
    assert concise() == []


def test_per_file_ignores_cover_the_files_that_a_notebook_writes() -> None:
    write("a.ipynb", IMPORT, PINNED, f"%%writefile b.py\n{IMPORT}\n{PINNED}")
    assert concise() == ["a.ipynb:cell 2:1:6: GPU101", "a.ipynb:cell 3:3:6: GPU101"]
    assert concise("--per-file-ignores", "*.ipynb:GPU101") == []


def test_fingerprints_know_no_rows_and_no_cells() -> None:
    write("a.ipynb", IMPORT, PINNED, f"y = 1\n{PINNED.replace('gpu:0', 'gpu:1')}")
    before = [one["fingerprint"] for one in findings()]
    write("a.ipynb", "md:# t", f"# a\n{IMPORT}", "z = 2", f"\n\n{PINNED}", PINNED.replace("gpu:0", "gpu:1"))
    assert [one["fingerprint"] for one in findings()] == before
    assert len(set(before)) == 2


BUILDER = """%%writefile lib/net.py
import tensorflow as tf

def build():
    return tf.keras.Sequential([tf.keras.layers.Dense(1)])"""
USED = [
    f"{IMPORT}\nfrom lib.net import build",
    "strategy = tf.distribute.MirroredStrategy()\nmodel = build()",
    "with strategy.scope():\n    model.compile('adam', 'mse')",
]


def test_cells_import_what_other_cells_write() -> None:
    write("a.ipynb", BUILDER, *USED)
    (found,) = [one for one in findings() if one["code"] == "GPU201"]
    assert (found["cell"], found["location"]) == (2, {"row": 2, "column": 9})
    assert [(one["cell"], one["location"]["row"]) for one in found["related"]] == [(0, 5), (2, 1), (3, 2)]  # type: ignore[attr-defined]


def test_what_a_notebook_writes_is_its_own_affair() -> None:
    """A module of the same name beside the notebook is another one, and remains so for other programs."""
    write("a.ipynb", BUILDER, *USED)
    Path("lib").mkdir()
    Path("lib/net.py").write_text("def build():\n    return None\n")
    Path("b.py").write_text("\n".join(USED))
    assert [one["filename"] for one in findings() if one["code"] == "GPU201"] == ["a.ipynb"]


def test_a_notebook_imports_modules_of_its_folder() -> None:
    write("a.ipynb", "%%writefile other.py\nx = 1", *USED)
    Path("lib").mkdir()
    Path("lib/net.py").write_text(BUILDER.partition("\n")[2])
    assert [one["related"][0]["filename"] for one in findings() if one["code"] == "GPU201"] == ["lib/net.py"]  # type: ignore[index]


def test_a_notebook_is_read_for_the_tensorflow_that_it_installs() -> None:
    removed = "import tensorflow as tf\ntf.keras.optimizers.SGD(lr=0.1)"
    write("a.ipynb", removed)
    assert concise("--extend-select", "GPU9") == ["a.ipynb:cell 1:2:28: GPU901"]
    write("a.ipynb", "!pip install -q tensorflow==2.3.0", removed)
    assert concise() == []
    assert concise("--target-tensorflow", "2.18") == ["a.ipynb:cell 2:2:28: GPU901"]
    write("a.ipynb", "!pip install -q tensorflow==2.18.0", removed)
    assert concise() == ["a.ipynb:cell 2:2:28: GPU901"]


def test_a_notebook_comes_from_standard_input() -> None:
    text = notebook(IMPORT, PINNED)
    assert concise("-", "--stdin-filename", "a.ipynb", stdin=text) == ["a.ipynb:cell 2:1:6: GPU101"]


def test_the_plan_shows_cells() -> None:
    write(
        "a.ipynb", "md:# t", IMPORT, "s = tf.distribute.MirroredStrategy()", "x = (", "y = 1\nwith s.scope():\n    pass"
    )
    done = run("plan", "a.ipynb")
    assert done.exit_code == 1
    assert done.stderr == "gpulint: a.ipynb:cell 4:1:5: '(' was never closed\n"
    assert done.stdout == (
        "a.ipynb\n\n"
        "  cell 3\n"
        "1 │ s = tf.distribute.MirroredStrategy()\n"
        "  │   must    initialises the runtime\n"
        "  │   must    MirroredStrategy on every visible GPU\n"
        "  cell 5\n"
        "2 │ with s.scope():\n"
        "  │   must    enters the scope of MirroredStrategy (cell 3 line 1)\n"
        "  │           in MirroredStrategy scope\n"
    )
    notes = json.loads(run("plan", "a.ipynb", "--output-format", "json").stdout)["notes"]
    assert [(note["cell"], note["location"]["row"]) for note in notes] == [(2, 1), (2, 1), (4, 2)]


def test_markdown_is_checked_where_it_is_asked_for() -> None:
    Path("a.md").write_text(
        f"# t\n\n```python\n{IMPORT}\n```\n\n- a\n\n  ```python\n  {PINNED}\n  ```\n".replace("\n    x", "\n      x")
    )
    Path("b.qmd").write_text(f"```{{python}}\n{IMPORT}\n{PINNED}\n```\n")
    assert concise() == []
    assert concise("--extension", "md") == ["a.md:10:8: GPU101"]
    assert concise("--extension", "qmd:markdown,.md") == ["a.md:10:8: GPU101", "b.qmd:3:6: GPU101"]
    Path("gpulint.toml").write_text('extension = { md = "markdown" }\n')
    assert concise() == ["a.md:10:8: GPU101"]


@pytest.mark.parametrize("given", ["md:latex", "foo"])
def test_an_extension_without_a_language_is_wrong_usage(given: str) -> None:
    done = run("check", "--extension", given)
    assert (done.exit_code, done.stderr) == (
        2,
        f"gpulint: --extension: `{given}` is not of the form EXT:python|ipynb|markdown\n",
    )


def test_a_script_of_percent_cells_is_python() -> None:
    Path("a.py").write_text(f"# %% [markdown]\n# # t\n\n# %%\n{IMPORT}\n\n# %%\n{PINNED}\n")
    assert concise() == ["a.py:8:6: GPU101"]
