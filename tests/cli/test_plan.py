"""`gpulint plan --events`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint.cli.main import main
from tests.notebooks import notebook

PROGRAM = """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
    model.compile("sgd", "mse")
"""


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_event_is_shown_with_its_place_and_fields(in_folder: Path) -> None:
    (in_folder / "train.py").write_text(PROGRAM)
    result = CliRunner().invoke(main, ["plan", "--events", "train.py"])
    assert result.exit_code == 0
    rows = [line.split(maxsplit=2) for line in result.stdout.splitlines()]
    assert [(place, event) for place, event, *_ in rows] == [
        ("3:12", "RuntimeInitialised"),
        ("3:12", "StrategyBuilt"),
        ("4:6", "ScopeMade"),
        ("4:6", "StrategyUsed"),
        ("4:6", "ScopeEntered"),
        ("4:6", "StrategyUsed"),
        ("5:34", "LayerBuilt"),
        ("5:13", "ModelBuilt"),
        ("6:5", "ModelCompiled"),
    ]
    assert rows[1][2] == "strategy=MirroredStrategy, arguments=(), state='no', since=None"
    assert rows[-1][2] == "model=instance of Sequential, arguments=('sgd', 'mse'), in=scope of MirroredStrategy"


def test_events_as_json(in_folder: Path) -> None:
    (in_folder / "train.py").write_text(PROGRAM)
    events = json.loads(CliRunner().invoke(main, ["plan", "--events", "--output-format", "json", "train.py"]).stdout)
    assert events[-1] == {
        "event": "ModelCompiled",
        "filename": "train.py",
        "location": {"row": 6, "column": 5},
        "fields": {
            "model": "instance of Sequential",
            "arguments": "('sgd', 'mse')",
            "in": "scope of MirroredStrategy",
        },
    }


def test_events_of_other_files_and_cells_say_where_they_are(in_folder: Path) -> None:
    (in_folder / "build.py").write_text("import tensorflow as tf\n\n\ndef scale(x):\n    return tf.square(x)\n")
    cells = ["import tensorflow as tf", "from build import scale\n\nscale(tf.ones(3))"]
    (in_folder / "train.ipynb").write_text(notebook(*cells))
    lines = CliRunner().invoke(main, ["plan", "--events", "train.ipynb"]).stdout.splitlines()
    assert [line.partition(" OpCalled")[0] for line in lines if "OpCalled" in line] == ["cell 2 3:7", "build.py:5:12"]


def test_a_program_without_events_is_reported_as_such(in_folder: Path) -> None:
    (in_folder / "empty.py").write_text("import tensorflow as tf\n")
    assert CliRunner().invoke(main, ["plan", "--events", "empty.py"]).stdout == "The program has no event.\n"


def test_a_folder_is_shown_file_by_file(in_folder: Path) -> None:
    (in_folder / "train.py").write_text(PROGRAM)
    (in_folder / "lib").mkdir()
    (in_folder / "lib" / "other.py").write_text(PROGRAM.replace("Mirrored", "OneDevice"))
    (in_folder / "lib" / "silent.py").write_text("x = 1\n")
    out = CliRunner().invoke(main, ["plan", "."]).stdout
    alone = [CliRunner().invoke(main, ["plan", name]).stdout for name in ("lib/other.py", "train.py")]
    assert out == "\n".join(alone)
    plans = json.loads(CliRunner().invoke(main, ["plan", "--output-format", "json", "lib", "train.py"]).stdout)
    assert [(one["filename"], {note["filename"] for note in one["notes"]}) for one in plans] == [
        ("lib/other.py", {"lib/other.py"}),
        ("train.py", {"train.py"}),
    ]


def test_a_folder_with_nothing_to_show_is_reported_as_such(in_folder: Path) -> None:
    (in_folder / "silent.py").write_text("x = 1\n")
    assert CliRunner().invoke(main, ["plan", "."]).stdout == "Nothing to show in 1 file.\n"
    assert json.loads(CliRunner().invoke(main, ["plan", "--output-format", "json", "."]).stdout) == []


def test_a_file_that_cannot_be_parsed_does_not_hide_the_others(in_folder: Path) -> None:
    (in_folder / "train.py").write_text(PROGRAM)
    (in_folder / "broken.py").write_text("x = (\n")
    done = CliRunner().invoke(main, ["plan", "."])
    assert done.exit_code == 1 and "broken.py:1:5" in done.stderr and "MirroredStrategy" in done.stdout


def test_conditions_are_spelled_out(in_folder: Path) -> None:
    (in_folder / "train.py").write_text(
        "import argparse\nimport sys\nimport tensorflow as tf\n\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--a')\nparser.add_argument('--b')\nargs = parser.parse_args()\n"
        "if args.a and args.b:\n    tf.distribute.MirroredStrategy()\n"
        "if isinstance(args.a, (list, tuple)):\n    tf.distribute.MirroredStrategy()\n"
        "if sys.argv[1] == 'x':\n    tf.distribute.MirroredStrategy()\n"
    )
    notes = json.loads(CliRunner().invoke(main, ["plan", "--output-format", "json", "train.py"]).stdout)["notes"]
    because = [one["because"] for one in notes if "MirroredStrategy" in one["text"]]
    assert because == ["a and b", "isinstance(a, (list, tuple))", "sys.argv[1] == 'x'"]


def test_replicas_run_a_method_by_its_name(in_folder: Path) -> None:
    (in_folder / "trainer.py").write_text(
        "import tensorflow as tf\n\n\nclass Trainer:\n    def step(self):\n        return tf.zeros(4)\n\n"
        "    def train(self):\n        tf.distribute.MirroredStrategy().run(self.step)\n\n\nTrainer().train()\n"
    )
    shown = CliRunner().invoke(main, ["plan", "trainer.py"])
    assert "every replica of MirroredStrategy runs `step`" in shown.stdout


def test_a_function_that_nothing_calls_is_shown_as_if_called(in_folder: Path) -> None:
    (in_folder / "train.py").write_text(
        "import tensorflow as tf\n\n\ndef build(rows, batch):\n"
        "    return tf.data.Dataset.from_tensor_slices(rows).batch(batch)\n"
    )
    text = CliRunner().invoke(main, ["plan", "train.py"]).stdout
    assert "if called from_tensor_slices → batch; batches of `batch`, but nothing in the program calls `build`" in text
    notes = json.loads(CliRunner().invoke(main, ["plan", "--output-format", "json", "train.py"]).stdout)["notes"]
    assert {note["certainty"] for note in notes} == {"unknown"}


def test_a_place_where_the_analysis_stopped_is_said_once_with_its_path(in_folder: Path) -> None:
    (in_folder / "lib").mkdir()
    nested = "".join(f"def f{level}(x):\n    return f{level + 1}(x)\n\n\n" for level in range(16))
    (in_folder / "lib" / "deep.py").write_text(
        f"import tensorflow as tf\n\n\n{nested}def f16(x):\n    return tf.zeros(x)\n"
    )
    for name in ("one.py", "two.py"):
        (in_folder / name).write_text(f"from lib.deep import f0\n{PROGRAM}\nf0(4)\n")
    said = [
        line for line in CliRunner().invoke(main, ["plan", "one.py", "two.py"]).stdout.splitlines() if "depth" in line
    ]
    assert [line.partition(" line ")[0] for line in said] == ["  lib/deep.py"]


def test_settings_of_a_directory_that_cannot_be_read_are_one_line(in_folder: Path) -> None:
    (in_folder / "project").mkdir()
    (in_folder / "project" / "gpulint.toml").write_text('[lint]\nselect = "GPU1"\n')
    (in_folder / "project" / "train.py").write_text(PROGRAM)
    result = CliRunner().invoke(main, ["plan", "."])
    assert result.exit_code == 2
    assert "project/gpulint.toml:2: `lint.select` must be a list of strings" in result.stderr
    assert len(result.stderr.splitlines()) == 1
