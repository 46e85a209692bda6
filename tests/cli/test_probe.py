"""`gpulint probe` as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from gpulint.cli.main import main
from gpulint.probe.report.schema import of_probe
from tests import warm

OUTSIDE = """import sys
import tensorflow as tf

cpu, = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def network():
    return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8)])


if "--inside" in sys.argv:
    with strategy.scope():
        model = network()
else:
    model = network()
with strategy.scope():
    optimizer = tf.keras.optimizers.SGD()


def forward(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


@tf.function
def step(x):
    strategy.run(forward, (x,))


data = tf.data.Dataset.from_tensor_slices(tf.ones((64, 4))).batch(4 * strategy.num_replicas_in_sync)
for x in strategy.experimental_distribute_dataset(data):
    step(x)
print("trained")
"""


def probe(directory: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return warm.python().run(
        [sys.executable, "-m", "gpulint", "probe", "--isolated", *arguments], cwd=directory, given=stdin
    )


def test_a_program_without_tensorflow_runs_unchanged(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import sys\nprint(input(), sys.argv)\n")
    done = probe(tmp_path, "a.py", "--timeout", "-x", stdin="hello\n")
    assert done.returncode == 0
    first, *report = done.stdout.splitlines()
    assert first == "hello ['a.py', '--timeout', '-x']"
    assert report[0].startswith("a.py · ")
    assert report[2:] == ["The program did not import TensorFlow.", "", "Checks  1 inconclusive (-v shows them)"]
    assert probe(tmp_path, "--strict", "a.py", stdin="hello\n").returncode == 3


def test_a_module_is_run_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "work.py").write_text("import sys\nprint(__name__, __spec__.name, sys.argv[1:])\n")
    assert probe(tmp_path, "-m", "pack.work", "a", "-b").stdout.startswith("__main__ pack.work ['a', '-b']\n")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("raise SystemExit(3)", 4),
        ("1 / 0", 4),
        ("import os\nos._exit(0)", 0),
        ("import os\nos.kill(os.getpid(), 9)", 4),
    ],
)
def test_a_program_that_fails_is_reported(text: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(text + "\n")
    assert probe(tmp_path, "a.py").returncode == status
    assert probe(tmp_path, "--exit-zero", "a.py").returncode == status


@pytest.mark.parametrize(
    ("text", "own"), [("raise SystemExit(7)", 7), ("", 0), ("import os\nos.kill(os.getpid(), 9)", 128 + 9)]
)
def test_the_status_is_the_reports_or_the_programs(text: str, own: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(text + "\n")
    broken = ("--expect", "seconds <= 0s")
    assert probe(tmp_path, *broken, "a.py").returncode == 1
    assert probe(tmp_path, *broken, "--exit-status", "program", "a.py").returncode == own
    assert probe(tmp_path, *broken, "--exit-zero", "a.py").returncode == (4 if own else 0)


def test_beside_a_capture_stand_stacks_only_where_the_program_was_stopped(tmp_path: Path) -> None:
    for name, text in (("a", "print(1)\n"), ("b", "import time\ntime.sleep(600)\n")):
        (tmp_path / f"{name}.py").write_text(text)
    probe(tmp_path, "--capture", "a.jsonl", "a.py")
    probe(tmp_path, "--capture", "b.jsonl", "--hang-after", "3", "b.py")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["a.jsonl", "a.py", "b.jsonl", "b.jsonl.stacks", "b.py"]


def test_a_program_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import time\nprint('on', flush=True)\ntime.sleep(600)\n")
    done = probe(tmp_path, "--timeout", "2", "a.py")
    assert done.returncode == 124
    assert done.stdout.startswith("on\n")
    assert "stopped (timeout)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.py"], "gpulint: none.py: no such file"),
        ([], "gpulint: name one program, --replay CAPTURE, --compare BEFORE AFTER, --merge DIR or --log FILE"),
        (["--replay", "none.jsonl"], "gpulint: none.jsonl: No such file or directory"),
        (["--replay", "a.py"], "gpulint: a.py: not a gpulint capture"),
        (["--log", "none.log"], "gpulint: none.log: No such file or directory"),
        (
            ["--expect", "ops.on_gup>=90%", "a.py"],
            "gpulint: --expect: `ops.on_gup>=90%`: there is no metric `ops.on_gup`; did you mean `ops.on_gpu`?",
        ),
        (
            ["--config", "probe.expect=['steps >= many']", "a.py"],
            "gpulint: --config: `steps >= many` is not an expectation: "
            "write METRIC OP VALUE, such as `ops.on_gpu >= 90%`",
        ),
        (
            ["--config", "probe.level.retrase='off'", "a.py"],
            "gpulint: --config: probe.level: there is no check `retrase`; did you mean `retrace`?",
        ),
        (
            ["--ignore", "retrase", "a.py"],
            "gpulint: --ignore: there is no check or cause `retrase`; did you mean `retrace`?",
        ),
        (["--html", "none/a.html", "a.py"], "gpulint: none/a.html: No such file or directory"),
        (["--html", ".", "a.py"], "gpulint: .: Is a directory"),
        (["-o", "a.py/report", "a.py"], "gpulint: a.py/report: Not a directory"),
        (["--trace", "none/a.json", "a.py"], "gpulint: none/a.json: No such file or directory"),
        (["--trace", ".", "a.py"], "gpulint: .: Is a directory"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print(1)\n")
    done = probe(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stderr == message + "\n"


@pytest.mark.parametrize(
    "arguments",
    [
        *(["probe", option, "100000"] for option in ("--simulate-gpus", "--local-workers")),
        ["estimate", "--gpus", "100000"],
    ],
)
def test_more_gpus_or_workers_than_a_machine_has_are_wrong_usage(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print(1)\n")
    done = CliRunner().invoke(main, [*arguments, str(tmp_path / "a.py")])
    assert done.exit_code == 2 and "100000 is not in the range" in done.output


@pytest.mark.parametrize("directory", ["a.py", "a.py/logs"])
def test_a_log_directory_is_no_file(directory: str, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs gpulint[tensorboard]")
    (tmp_path / "a.py").write_text("print(1)\n")
    done = probe(tmp_path, "--tensorboard", directory, "a.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"gpulint: {directory}: Not a directory\n"


def test_without_tensorboard_its_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpulint.probe.report.tensorboard.find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("print(1)\n")
    done = CliRunner().invoke(main, ["probe", "--isolated", "--tensorboard", "logs", "a.py"])
    assert done.exit_code == 2
    assert done.output.splitlines() == ["gpulint: --tensorboard needs TensorBoard: pip install tensorboard"]
    assert not (tmp_path / "logs").exists()


def test_the_command_line_wins_over_the_settings(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import time\ntime.sleep(600)\n")
    settings = ["--config", "probe.timeout=300", "--config", "probe.hang-after=1"]
    done = probe(tmp_path, *settings, "a.py")
    assert (done.returncode, "stopped (hang)" in done.stdout) == (124, True)
    done = probe(tmp_path, *settings, "--timeout", "2", "--hang-after", "0", "a.py")
    assert (done.returncode, "stopped (timeout)" in done.stdout) == (124, True)


def test_an_expectation_is_checked_against_a_placement_log(tmp_path: Path) -> None:
    line = "MatMul: (MatMul): /job:localhost/replica:0/task:0/device:{}\n"
    (tmp_path / "run.log").write_text(line.format("GPU:1") * 3 + line.format("CPU:0"))
    assert probe(tmp_path, "--log", "run.log", "--expect", "ops.on_gpu >= 75%").returncode == 0
    done = probe(tmp_path, "--log", "run.log", "--expect", "ops.on_gpu >= 90%")
    assert done.returncode == 1
    assert "observed: 75%" in done.stdout and "3 of 4 there" in done.stdout
    assert probe(tmp_path, "--log", "run.log", "--expect", "steps >= 1", "--strict").returncode == 3


def test_a_page_is_written_beside_the_report(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print('<b>')\n")
    (tmp_path / "run.log").write_text("MatMul: (MatMul): /job:localhost/replica:0/task:0/device:GPU:1\n")
    for arguments in (
        ["--capture", "run.jsonl", "a.py"],
        ["--replay", "run.jsonl"],
        ["--log", "run.log"],
    ):
        done = probe(tmp_path, "--html", "run.html", *arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.endswith(("nothing to check\n", "1 inconclusive (-v shows them)\n"))
        written = (tmp_path / "run.html").read_text(encoding="utf-8")
        assert written.startswith("<!DOCTYPE html>")
        assert "GPU:1" in written if "--log" in arguments else "print" in written
        (tmp_path / "run.html").unlink()


def test_a_placement_log_is_reported_on(tmp_path: Path) -> None:
    line = "MatMul: (MatMul): /job:localhost/replica:0/task:0/device:GPU:1\n"
    (tmp_path / "run.log").write_text("loading\n" + line * 3)
    done = probe(tmp_path, "--log", "run.log")
    assert done.returncode == 0
    assert "3 of them placements" in done.stdout
    assert "MatMul" in done.stdout
    assert "GPU:1" in done.stdout
    report = json.loads(probe(tmp_path, "--log", "run.log", "--output-format", "json").stdout)
    (placement,) = report["placements"]
    assert (placement["op"], placement["assigned"], placement["count"]) == ("MatMul", "GPU:1", 3)
    assert (placement["filename"], placement["requested"]) == (None, None)


@pytest.mark.parametrize("content", [b"", b"Epoch 1/2\nloss: 0.5\n", b"\x7fELF\0\xff" * 999])
def test_a_file_that_is_no_placement_log_is_wrong_usage(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.log").write_bytes(content)
    done = probe(tmp_path, "--log", "run.log")
    said = "gpulint: run.log: not a placement log: no line says where TensorFlow ran anything\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.tensorflow
def test_a_finding_is_confirmed_on_its_line_and_its_look_alike_passes(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(OUTSIDE)
    broken = probe(tmp_path, "--output-format", "json", "-o", "broken.json", "--capture", "run.jsonl", "train.py")
    assert "trained" not in broken.stdout  # Keras raises: no replica but the first has the variables
    report = json.loads((tmp_path / "broken.json").read_text())
    jsonschema.validate(report, of_probe())
    (found,) = [one for one in report["expectations"] if one["code"] == "GPU201"]
    assert (found["status"], found["observed"]) == ("fail", "confirmed: variables on CPU:0 only")
    assert found["origin"] == {"filename": str(tmp_path / "train.py"), "row": 17}
    assert (broken.returncode, report["status"]) == (1, 1)

    replayed = probe(tmp_path, "--output-format", "json", "--replay", "run.jsonl")
    assert replayed.returncode == 1
    assert json.loads(replayed.stdout) == report

    right = probe(tmp_path, "--output-format", "json", "-o", "right.json", "train.py", "--inside")
    assert right.stdout == "trained\n"
    found = json.loads((tmp_path / "right.json").read_text())["expectations"]
    assert right.returncode == 0, found
    assert {one["status"] for one in found} == {"pass", "inconclusive"}
    assert [one["status"] for one in found if one["id"] == "variables-mirrored"] == ["pass"]


@pytest.mark.tensorflow
def test_placements_agree_with_the_log_that_tensorflow_prints(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import tensorflow as tf\n\ntf.debugging.set_log_device_placement(True)\n"
        'x = tf.ones((4, 4))\nwith tf.device("CPU:0"):\n    y = tf.linalg.matmul(x, x)\n'
    )
    done = probe(tmp_path, "--output-format", "json", "-o", "a.json", "--capture", "run.jsonl", "a.py")
    assert done.returncode == 0
    report = json.loads((tmp_path / "a.json").read_text())
    seen = {(one["op"], one["assigned"]) for one in report["placements"]}
    assert ("MatMul", "CPU:0") in seen
    assert sum(stream["placements"] for stream in report["log"].values()) > 0
    assert not report["faults"]


def test_devices_of_a_placement_log_are_sorted_by_number(tmp_path: Path) -> None:
    line = "MatMul: (MatMul): /job:localhost/replica:0/task:0/device:GPU:{}\n"
    (tmp_path / "run.log").write_text("".join(map(line.format, (10, 9))))
    done = probe(tmp_path, "--log", "run.log", "--output-format", "json")
    names = [one["name"] for one in json.loads(done.stdout)["devices"]]
    assert names == ["GPU:9", "GPU:10"]
