"""`gpulint.expect` in programs: without effect unless they are watched, else with evidence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import gpulint
from gpulint.probe.capture.reader import read
from gpulint.probe.capture.records import Where
from gpulint.probe.launch.command import Target, command_line
from tests import warm
from tests.probe.watching.in_process import DEVICES, row_of, said


def test_where_nobody_watches_nothing_happens() -> None:
    value = object()
    assert gpulint.expect.on_gpu(value) is value
    assert gpulint.expect.on("GPU:1", None) is None
    assert gpulint.expect.on_cpu([value]) == [value]
    assert gpulint.expect.max_traces(print, 1) is print
    gpulint.expect.that("this is no expression")
    gpulint.expect.on("this is no device", value)
    with gpulint.expect.on_gpu(), gpulint.expect.no_copies(), gpulint.expect.on("?"):
        pass
    with pytest.raises(KeyError), gpulint.expect.on_gpu():
        raise KeyError
    assert not gpulint.expect.is_probed()


def test_importing_gpulint_and_its_expectations_imports_nothing_heavy() -> None:
    text = """
import sys
before = set(sys.modules)
import gpulint
gpulint.expect.on_gpu(1)
with gpulint.expect.no_copies():
    gpulint.expect.that("steps > 1")
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    modules = ("", "._version", ".expect", ".probe", ".probe.agent", ".probe.agent.active")
    own = {f"gpulint{name}" for name in modules}
    assert own <= loaded
    assert {name for name in loaded if name.startswith("gpulint")} == own
    assert loaded.isdisjoint(
        {"libcst", "rich", "click", "tensorflow", "keras", "numpy", "psutil", "pathspec", "tomllib"}
    )


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'gpulint' has no attribute 'expects'"):
        _ = gpulint.expects  # type: ignore[attr-defined]


STATED = (
    DEVICES
    + """
class Net(tf.Module):
    def __init__(self):
        with tf.device("CPU:1"):
            self.w = tf.Variable(tf.ones((4, 4)), name="w")

with gpulint.watch() as run:
    net = gpulint.expect.on("CPU:1", Net())  # module there
    gpulint.expect.on("/cpu:0", net)  # module elsewhere
    gpulint.expect.on_cpu([net.w, tf.ones(3)])  # several
    gpulint.expect.on_gpu(tf.ones(3))  # no gpu
    gpulint.expect.on_cpu(3)  # a number
    late = gpulint.expect.on("CPU:0", tf.keras.Sequential([tf.keras.layers.Dense(3)]))  # built later
    never = gpulint.expect.on("CPU:0", tf.keras.Sequential([tf.keras.layers.Dense(3)]))  # never built
    late(tf.ones((2, 4)))

    @gpulint.expect.on_cpu
    @tf.function
    def step(x):  # function
        with tf.device("CPU:1"):
            y = tf.matmul(x, net.w)
        gpulint.expect.on("CPU:0", y)  # symbolic
        return y

    def plain(x):
        return tf.abs(x)

    gpulint.expect.on("CPU:1", step)  # function there
    gpulint.expect.on("CPU:1", plain)  # python
    gpulint.expect.max_traces(step, 1)  # once
    gpulint.expect.max_traces(plain, 1)  # no function
    for size in (2, 3, 3):
        step(tf.ones((size, 4)))
    with tf.device("CPU:1"):
        plain(tf.constant(-1.0))

    with tf.device("CPU:1"):
        with gpulint.expect.on("CPU:1"):  # block there
            step(tf.ones((3, 4)))
            tf.abs(tf.constant(-1.0))
    for _ in range(50):
        with gpulint.expect.on("CPU:1"):  # block elsewhere
            with tf.device("CPU:0"):
                tf.abs(tf.constant(-1.0))
    with gpulint.expect.on("CPU:1"):  # empty
        pass

    @tf.function(jit_compile=True)
    def compiled(x):
        return x + 1

    with gpulint.expect.on("CPU:0"):  # compiled
        compiled(tf.ones(3))

    gpulint.expect.that("traces[step] <= 1")  # expression
    gpulint.expect.that("trace[step] <= 1")  # no expression
"""
)


@pytest.mark.tensorflow
def test_values_functions_and_blocks_are_checked(tmp_path: Path) -> None:
    text = STATED + "print(json.dumps([told(run), run.capture.faults]))\n"
    expectations, faults = said(tmp_path, text)
    assert faults == []
    by_row = {one[4]: (one[1], one[3]) for one in expectations if one[0].startswith("expect")}

    def seen(part: str) -> tuple[str, str]:
        found: tuple[str, str] = by_row[row_of(STATED, part)]
        return found

    assert seen("# module there") == ("pass", "1 on CPU:1")
    assert seen("# module elsewhere") == ("fail", "1 on CPU:1")
    assert seen("# several") == ("pass", "1 on CPU:1, 1 on CPU:0")
    assert seen("# no gpu") == ("fail", "1 on CPU:0")
    assert seen("# a number") == ("inconclusive", "it has no device")
    assert seen("# built later") == ("pass", "2 on CPU:0")
    assert seen("# never built") == ("inconclusive", "it has no variables")
    assert seen("# function there")[0] == "pass"
    assert seen("# python") == ("pass", "1 on CPU:1")
    assert seen("# once") == ("fail", "2")
    assert seen("# no function") == ("inconclusive", "it is not a `tf.function`")
    assert seen("# symbolic") == ("fail", "3 on CPU:1")  # another device scope needs another graph
    assert seen("# block there")[0] == "pass"
    assert seen("# block elsewhere") == ("fail", "50 on CPU:0")
    assert seen("# empty") == ("inconclusive", "no operation ran in it")
    assert seen("# compiled")[0] == "pass"
    assert seen("# expression") == ("fail", "2")
    assert "did you mean `traces[FUNCTION]`?" in seen("# no expression")[1]
    assert ("expect-on", "pass") in {(one[0], one[1]) for one in expectations if one[2] == "function `step`"}
    assert len(by_row) == len([one for one in expectations if one[0].startswith("expect")])  # a line states one


COPIES = (
    DEVICES
    + """
with tf.device("CPU:0"):
    x = tf.ones((4, 4))

@tf.function
def crossing(x):
    with tf.device("CPU:1"):
        y = tf.matmul(x, x)
    with tf.device("CPU:0"):
        return tf.matmul(y, x)

@tf.function
def staying(x):
    return tf.matmul(x, x)

with gpulint.watch() as run:
    with gpulint.expect.no_copies():  # crossing
        crossing(x)
    with gpulint.expect.no_copies():  # staying
        staying(x)
    with gpulint.expect.no_copies():  # eager crossing
        with tf.device("CPU:1"):
            tf.matmul(x, x)
    with gpulint.expect.no_copies():  # eager staying
        tf.matmul(x, x)
    with gpulint.expect.no_copies():  # empty
        pass
print(json.dumps([told(run), run.capture.faults]))
"""
)


@pytest.mark.tensorflow
def test_copies_between_devices_in_a_block_are_found(tmp_path: Path) -> None:
    expectations, faults = said(tmp_path, COPIES)
    assert faults == []
    statuses = {one[4]: one[1] for one in expectations if one[0] == "expect-copies"}
    parts = ("# crossing", "# staying", "# eager crossing", "# eager staying", "# empty")
    assert [statuses[row_of(COPIES, part)] for part in parts] == ["fail", "pass", "fail", "pass", "inconclusive"]


@pytest.mark.tensorflow
def test_each_replica_is_checked(tmp_path: Path) -> None:
    text = (
        DEVICES
        + """
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with gpulint.watch() as run:
    with strategy.scope():
        v = gpulint.expect.on("CPU:0", tf.Variable(1.0))
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3)])
    gpulint.expect.on_cpu(model)
    with gpulint.expect.on_cpu():
        strategy.run(lambda: tf.matmul(tf.ones((4, 4)), tf.ones((4, 4))))
print(json.dumps([[one[1], one[3]] for one in told(run) if one[0] == "expect-on"] + [run.capture.faults]))
"""
    )
    broken, model, block, faults = said(tmp_path, text)
    assert broken == ["fail", "1 on CPU:0, 1 on CPU:1"]
    assert model == ["pass", "2 on CPU:0, 2 on CPU:1"]
    assert block[0] == "pass"
    assert faults == []


@pytest.mark.tensorflow
def test_another_function_of_the_same_name_is_not_confused_with_it(tmp_path: Path) -> None:
    text = (
        DEVICES
        + """
def make(device):
    @tf.function
    def step(x):
        with tf.device(device):
            return tf.matmul(x, x)
    return step

def other():
    @tf.function
    def step(x):
        with tf.device("CPU:1"):
            return tf.matmul(x, x)
    return step

with gpulint.watch() as run:
    mine = make("CPU:0")
    gpulint.expect.on("CPU:0", mine)
    gpulint.expect.max_traces(mine, 1)
    mine(tf.ones((4, 4)))
    theirs = gpulint.expect.on("CPU:1", other())
    theirs(tf.ones((4, 4)))
print(json.dumps([one[1] for one in told(run) if one[0].startswith("expect")] + [run.capture.faults]))
"""
    )
    assert said(tmp_path, text) == ["pass", "pass", "pass", []]


@pytest.mark.tensorflow
def test_what_was_stated_is_in_the_capture_of_a_program_that_is_killed(tmp_path: Path) -> None:
    text = (
        DEVICES
        + "import os, signal\ngpulint.expect.on('CPU:1', tf.Variable(1.0))  # here\n"
        + "with gpulint.expect.on_cpu():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    (tmp_path / "prog.py").write_text(text)
    line = command_line(Target("prog.py"), str(tmp_path / "run.jsonl"), 0, 1, False)
    done = warm.python().run(line, cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL
    value, block = read(str(tmp_path / "run.jsonl")).stated.values()
    assert value.where == Where(os.path.join(tmp_path, "prog.py"), row_of(text, "# here"))
    assert (value.form, value.expected) == ("on", "CPU:1")
    assert block.missing == "the block did not end"


@pytest.mark.tensorflow
def test_settings_options_and_program_together_decide_the_exit_status(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(DEVICES + "gpulint.expect.on('CPU:0', tf.ones(3))\ntf.abs(tf.ones(3))\n")
    (tmp_path / "gpulint.toml").write_text('[probe]\nexpect = ["ops.on[CPU:0] == 100%"]\n')

    def probe(*arguments: str) -> tuple[int, list[tuple[str, str, str | None]]]:
        command = [sys.executable, "-m", "gpulint", "probe", "--output-format", "json", "-o", "r.json", *arguments]
        done = warm.python().run([*command, "prog.py"], cwd=tmp_path)
        found = json.loads((tmp_path / "r.json").read_text())["expectations"]
        rows = [(one["subject"], one["status"], (one["origin"] or {}).get("filename")) for one in found]
        return done.returncode, [one for one in rows if one[0] != "tf.config.set_logical_device_configuration"]

    status, found = probe()
    assert status == 0
    assert ("ops.on[CPU:0]", "pass", str(tmp_path / "gpulint.toml")) in found
    assert ("tensor of shape (3,)", "pass", str(tmp_path / "prog.py")) in found
    status, found = probe("--expect", "devices.cpu == 2", "--expect", "devices.gpu >= 1")
    assert status == 1
    assert ("devices.cpu", "pass", None) in found
    assert ("devices.gpu", "fail", None) in found
    assert probe("--expect", "steps >= 0", "--expect", "step.mean <= 1s", "--strict")[0] == 3
