"""`gpulint check` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpulint.cli.main import main

PINNED = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'
CLEAN = "import tensorflow as tf\n\nx = tf.zeros(4)\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pinned.py").write_text(PINNED)
    (tmp_path / "clean.py").write_text(CLEAN)
    return tmp_path


def check(*arguments: str, stdin: str | bytes | None = None, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(main, ["check", *arguments], input=stdin)


def test_findings_exit_with_1_and_their_absence_with_0(project: Path) -> None:
    assert check("pinned.py").exit_code == 1
    clean = check("clean.py")
    assert clean.exit_code == 0
    assert clean.stdout.splitlines() == [
        "All checks passed!",
        "Checked for TensorFlow 2.21 (the newest known: nothing pins an older one); 1 of 1 file uses it.",
    ]


def test_the_text_output_shows_source_reason_and_remedy(project: Path) -> None:
    assert check("pinned.py").stdout == (
        "warning[GPU101] operations are pinned to `/gpu:0`\n"
        "  --> pinned.py:3:6\n"
        '3 | with tf.device("/gpu:0"):\n'
        "  |      ^^^^^^^^^^^^^^^^^^^\n"
        "  = why: all of this work runs on one GPU: if the machine has more, the others sit idle\n"
        "  = help: remove `tf.device`; to use every GPU, create the model inside "
        "`with tf.distribute.MirroredStrategy().scope():`\n"
        "  = fix: Remove `tf.device`: TensorFlow chooses the device (unsafe)\n"
        "  = rule: hardcoded-device\n"
        "\n"
        "(unsafe): the fix may change what the program does.\n"
        "Found 1 warning in 1 file. Up to 1 fixable with `--fix --unsafe-fixes`.\n"
        "Checked for TensorFlow 2.21 (the newest known: nothing pins an older one); 1 of 1 file uses it.\n"
    )


def test_the_closing_line_counts_each_severity(project: Path) -> None:
    number = 'import os\n\nos.environ["CUDA_VISIBLE_DEVICES"] = 0\n'
    (project / "three.py").write_text(number + PINNED + "layer = tf.keras.layers.GRU(8, reset_after=False)\n")
    assert "\nFound 1 error, 1 warning and 1 note in 1 file." in check("three.py").stdout


def test_concise_output_is_one_line_a_finding(project: Path) -> None:
    out = check("--output-format", "concise").stdout
    assert out.splitlines()[0] == "pinned.py:3:6: warning[GPU101] operations are pinned to `/gpu:0`"


def test_github_output_escapes_and_places(project: Path) -> None:
    out = check("--output-format", "github").stdout
    assert out.startswith("::warning title=gpulint (GPU101),file=pinned.py,line=3,endLine=3,col=6,endColumn=25::")
    assert out.count("\n") == 1


def test_json_output_has_every_field_of_the_contract(project: Path) -> None:
    (finding,) = json.loads(check("--output-format", "json").stdout)
    assert set(finding) == {
        "filename", "location", "end_location", "cell", "code", "name", "message", "why", "help", "cost", "severity",
        "confidence", "url", "fix", "no_fix", "noqa_row", "related", "fingerprint", "evidence",
    }  # fmt: skip
    assert finding["location"] == {"row": 3, "column": 6}
    assert (finding["code"], finding["severity"], finding["evidence"]) == ("GPU101", "warning", "static")


def test_a_fingerprint_survives_moved_lines(project: Path) -> None:
    def fingerprint() -> str:
        return str(json.loads(check("--output-format", "json").stdout)[0]["fingerprint"])

    before = fingerprint()
    (project / "pinned.py").write_text("# a comment\n\n" + PINNED)
    assert fingerprint() == before


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--select", "GPU2"], 0),
        (["--select", "hardcoded-device"], 1),
        (["--ignore", "GPU1"], 0),
        (["--select", "GPU2", "--extend-select", "GPU101"], 1),
        (["--per-file-ignores", "pinned.py:GPU101"], 0),
        (["--per-file-ignores", "other/*:GPU101"], 1),
        (["--exit-zero"], 0),
        (["--max-warnings", "1"], 0),
    ],
)
def test_selection_decides_the_exit_status(project: Path, arguments: list[str], status: int) -> None:
    assert check(*arguments).exit_code == status


def test_an_unknown_rule_is_an_error_with_the_nearest_one(project: Path) -> None:
    result = check("--select", "hardcoded-devise")
    assert result.exit_code == 2
    assert "did you mean `hardcoded-device`?" in result.stderr


def test_statistics_count_by_rule(project: Path) -> None:
    assert check("--statistics").stdout == "1\tGPU101\thardcoded-device\n"


NESTED = "import tensorflow as tf\n\nwith tf.device('/gpu:0'):\n    pass\n\n" + "".join(
    f"def f{number}(x):\n    return f{number + 1}(x)\n\n" for number in range(16)
)


def test_statistics_say_that_there_are_no_findings(project: Path) -> None:
    assert check("--statistics", "--ignore", "GPU101").stdout == "All checks passed!\n"
    assert json.loads(check("--statistics", "--ignore", "GPU101", "--output-format", "json").stdout) == []


def test_statistics_count_the_functions_in_which_the_analysis_stopped(project: Path) -> None:
    for name in ("a.py", "b.py"):
        (project / name).write_text(NESTED + "def f16(x):\n    tf.zeros(x)\n\nf0(4)\n")
    out = check("--statistics").stdout.splitlines()
    assert out == ["3\tGPU101\thardcoded-device", "2\t-\tfunctions in which the analysis stopped: call depth"]
    counts = json.loads(check("--statistics", "--output-format", "json").stdout)
    assert counts[-1] == {"code": None, "name": "stopped: call depth", "count": 2}


@pytest.mark.parametrize("form", ["text", "full", "concise", "grouped"])
def test_the_last_line_counts_functions_that_were_not_followed_to_the_end(form: str, project: Path) -> None:
    (project / "a.py").write_text(NESTED + "def f16(x):\n    tf.zeros(x)\n\nf0(4)\n")
    for _ in range(2):  # the second result is a cached one
        last = check("--output-format", form).stdout.splitlines()[-1]
        assert last == "1 function was not followed to the end (`-v` lists the files, `gpulint plan FILE` shows where)."
    assert "gpulint: a.py: 1 function was not followed to the end\n" in check("-v").stderr


def test_plan_says_where_and_why_the_analysis_stopped(project: Path) -> None:
    (project / "a.py").write_text(NESTED + "def f16(x):\n    tf.zeros(x)\n\nf0(4)\n")
    text = CliRunner().invoke(main, ["plan", "a.py"]).stdout
    assert "Where the analysis stopped:\n  line 40: calls nest too deeply to be followed (call depth)\n" in text
    (stop,) = json.loads(CliRunner().invoke(main, ["plan", "--output-format", "json", "a.py"]).stdout)["not_followed"]
    assert (stop["bound"], stop["location"]["row"], stop["why"]) == (
        "call depth", 40, "calls nest too deeply to be followed",
    )  # fmt: skip


def test_plan_says_where_in_another_file_the_analysis_stopped(project: Path) -> None:
    (project / "chain.py").write_text(NESTED + "def f16(x):\n    tf.zeros(x)\n")
    (project / "a.py").write_text("import tensorflow as tf\nfrom chain import f0\n\nf0(tf.zeros(4))\n")
    text = CliRunner().invoke(main, ["plan", "a.py"]).stdout
    assert "  chain.py line 40: calls nest too deeply to be followed (call depth)\n" in text
    (stop,) = json.loads(CliRunner().invoke(main, ["plan", "--output-format", "json", "a.py"]).stdout)["not_followed"]
    assert (Path(stop["filename"]).name, stop["location"]["row"]) == ("chain.py", 40)


def test_standard_input_has_the_name_it_is_given(project: Path) -> None:
    out = check("-", "--stdin-filename", "piped.py", "--output-format", "concise", stdin=PINNED).stdout
    assert out.startswith("piped.py:3:6: warning[GPU101]")


def test_a_missing_path_is_an_error(project: Path) -> None:
    result = check("nowhere.py")
    assert result.exit_code == 1
    assert "nowhere.py: no such file" in result.stderr


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"import tensorflow as tf\nx = (1,\n", "2:5"),
        (b"import tensorflow as tf\nname = '\xff'\n", "2:9"),
        (b"import tensorflow as tf\nx = '\0'\n", "2:6"),
        (b"# coding: nonsense\nimport tensorflow\n", "1:1"),
        (b"import tensorflow as tf\nprint 'two'\n", "2:1"),
    ],
)
def test_unreadable_files_give_one_diagnostic_and_the_run_continues(project: Path, data: bytes, place: str) -> None:
    (project / "broken.py").write_bytes(data)
    result = check("--output-format", "concise")
    assert result.exit_code == 1
    assert [line.split(" ")[:2] for line in result.stdout.splitlines()[:-1]] == [
        [f"broken.py:{place}:", "error[GPU001]"],
        ["pinned.py:3:6:", "warning[GPU101]"],
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("this is no python\n", "1:12"),
        ("x = 1\nprint 'two'\n", "2:1"),
        ("def f(:\n    pass\n", "1:7"),
        ("# -*- coding: nothing -*-\n", "1:1"),
        ("x = 1\n\0\n", "2:1"),
        ("x = '\n", "1:5"),
    ],
)
def test_a_file_that_cannot_be_read_is_reported_whatever_it_imports(project: Path, text: str, place: str) -> None:
    (project / "other.py").write_text(text)
    done = check("other.py", "--output-format", "concise")
    assert done.exit_code == 1 and done.stdout.startswith(f"other.py:{place}: error[GPU001] ")
    assert check("other.py", "--output-format", "concise").stdout == done.stdout


@pytest.mark.parametrize(
    "text",
    [
        "", "x = 1", "import os\n", "def f():\n\treturn 1\n", "x = 1 if 2 else 3\r\n", "\ufeffx = 1\n", "x = '\\d'\n",
        "async def f():\n    return [x async for x in y]\n", "match x:\n    case [1, *_]:\n        pass\n",
        "assert (1, 2)\n",
        "x = " + "(" * 90 + ")" * 90 + "\n", "type X = int\n", "x = " + "1 + " * 3_000 + "1\n",
        "if x: pass\n" + "elif x: pass\n" * 900,
    ],
)  # fmt: skip
def test_python_of_any_release_without_tensorflow_is_left_alone(project: Path, text: str) -> None:
    (project / "other.py").write_text(text, encoding="utf-8")
    done = check("other.py")
    assert (done.exit_code, done.stderr) == (0, "")


def test_show_files_lists_what_would_be_checked(project: Path) -> None:
    assert check("--show-files").stdout == "clean.py\npinned.py\n"


def test_color_is_for_terminals_and_those_who_force_it(project: Path) -> None:
    assert "\x1b[" not in check("pinned.py").stdout
    assert "\x1b[" in check("pinned.py", FORCE_COLOR="1").stdout
    assert "\x1b[" not in check("pinned.py", FORCE_COLOR="1", NO_COLOR="1").stdout


def test_escapes_in_source_do_not_reach_the_terminal(project: Path) -> None:
    (project / "pinned.py").write_text(PINNED.replace("):", "):  # \x1b[31m red"))
    assert "\x1b" not in check("pinned.py").stdout


def test_a_suppression_silences_its_statement(project: Path) -> None:
    (project / "pinned.py").write_text(PINNED.replace("):", "):  # gpulint: ignore[GPU101] one card"))
    assert check("pinned.py").exit_code == 0


def test_findings_in_a_helper_are_shown_only_when_it_is_checked(project: Path) -> None:
    (project / "helper.py").write_text(
        "import tensorflow as tf\n\n\ndef at(d):\n    with tf.device(d):\n        pass\n"
    )
    (project / "caller.py").write_text("import tensorflow as tf\nfrom helper import at\n\nat('/gpu:0')\n")
    assert check("caller.py").exit_code == 0
    out = check("caller.py", "helper.py", "--output-format", "concise").stdout
    assert out.startswith("helper.py:5:10: warning[GPU101]")


def test_a_rule_can_be_explained_by_code_or_name() -> None:
    runner = CliRunner()
    assert runner.invoke(main, ["rule", "GPU101"]).stdout == runner.invoke(main, ["explain", "hardcoded-device"]).stdout
    wrong = runner.invoke(main, ["rule", "GPU10l"])
    assert wrong.exit_code == 2
    assert "did you mean" in wrong.stderr
    listed = runner.invoke(main, ["rule", "--all"]).stdout.splitlines()
    assert [line for line in listed if line.startswith("GPU201")]


def test_a_plan_says_what_happens_and_how_sure_that_is(project: Path) -> None:
    (project / "train.py").write_text(
        "import sys\nimport tensorflow as tf\n\nif sys.argv[1:]:\n    s = tf.distribute.MirroredStrategy()\n"
        "    with s.scope():\n        m = tf.keras.Sequential([])\n"
    )
    runner = CliRunner()
    text = runner.invoke(main, ["plan", "train.py"]).stdout
    assert "may     Sequential: one copy on each replica of MirroredStrategy" in text
    notes = json.loads(runner.invoke(main, ["plan", "train.py", "--output-format", "json"]).stdout)["notes"]
    model = next(note for note in notes if note["kind"] == "model")
    assert (model["certainty"], model["scopes"]) == ("may", ["MirroredStrategy scope"])


@pytest.mark.parametrize(
    ("files", "last"),
    [
        ({"a.py": "import torch\n", "b.py": "import torch\n"}, "0 of 2 files use TensorFlow."),
        ({"a.py": "import torch\n"}, "0 of 1 file uses TensorFlow."),
        (
            {"a.py": "import tensorflow\n", "b.py": "", "requirements.txt": "tensorflow==2.16.1\n"},
            "Checked for TensorFlow 2.16 (requirements.txt); 1 of 2 files use it.",
        ),
        (
            {
                "a.py": "def f():\n    import tensorflow\n",
                "main.py": "from a import f\n\nf()\n",
                "test.py": 'PROGRAM = """\nimport tensorflow as tf\n"""\n# keras\n',
                "lazy.py": "import importlib\n\ntf = importlib.import_module('tensorflow')\n",
            },
            "Checked for TensorFlow 2.21 (the newest known: nothing pins an older one); 3 of 4 files use it.",
        ),
        ({"test.py": 'PROGRAM = """\nimport tensorflow as tf\n"""\n'}, "0 of 1 file uses TensorFlow."),
        (
            {"a.py": "import tensorflow\n", "README.md": "Ported from code for TensorFlow 2.3.\n"},
            "Checked for TensorFlow 2.21 (the newest known: nothing pins an older one); 1 of 1 file uses it.",
        ),
        (
            {"a.py": "import tensorflow\n", "b/c.py": "import keras\n", "b/gpulint.toml": 'target-tensorflow = "2.10"'},
            "Checked for TensorFlow 2.10 (b/gpulint.toml, 1 file), "
            "2.21 (the newest known: nothing pins an older one, 1 file); 2 of 2 files use it.",
        ),
    ],
)
def test_the_last_line_says_what_was_checked(
    files: dict[str, str], last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for _ in range(2):  # the second result is a cached one
        assert check().stdout.splitlines()[-1] == last
    assert "README" not in check("--output-format", "json-full").stdout


def test_withheld_findings_are_counted_as_they_would_be_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    helper = "import tensorflow as tf\n\ndef optimizer(rate):\n    return tf.keras.optimizers.Adam(lr=rate)\n"
    (tmp_path / "helper.py").write_text(helper, encoding="utf-8")
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text("from helper import optimizer\n\noptimizer(0.1)\n", encoding="utf-8")
    said = check().stdout
    assert "No findings to show." in said and "1 finding of GPU901 is not shown" in said
    shown = check("--extend-select", "GPU901", "--output-format", "json").stdout
    assert [one["code"] for one in json.loads(shown)] == ["GPU901"]
