"""Launching programs that use the installed TensorFlow: their output, and TensorFlow's placement log."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpulint.probe.launch.command import Target, command_line
from tests.probe.launch.launched import Launched
from tests.releases import never_seen

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"),
]

OWN_LOG = """
import sys
import tensorflow as tf

with tf.Graph().as_default():
    product = tf.matmul(tf.ones((2, 2)), tf.ones((2, 2)), name="product")
    with tf.compat.v1.Session(config=tf.compat.v1.ConfigProto(log_device_placement=True)) as session:
        print(session.run(product)[0, 0], end=" is all")
"""

EAGER = """
import sys
import tensorflow as tf

@tf.function
def step(x):
    return tf.reduce_sum(tf.linalg.matmul(x, x))

x = tf.ones([4, 4])
for number in range(500):
    x = tf.nn.relu(x) * 0.5
    if number % 100 == 0:
        tf.print("step", number, step(x))
        print("warned", number, file=sys.stderr)
"""

BLIND = """
import sys
from gpulint.probe.agent import internals, running

internals.PRIVATE["watch"] = internals.PRIVATE["watch"]._replace(name="removed")
running.main(sys.argv[1:])
"""
"""Runs the agent with a TensorFlow that does not report operations."""


def environment() -> dict[str, str]:
    """Environment of a program whose messages are all shown. A test calls it: the temporary folder of the test session
    is not set while this module is imported."""
    return {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "0"}


def without_times(text: bytes) -> list[bytes]:
    """Lines without the headers of TensorFlow's log, which have the time and the thread."""
    return [re.sub(rb"^(?:[IWE]\d{4} [\d:. ]+|\d{4}-\d\d-\d\d [\d:.]+: )", b"", line) for line in text.splitlines()]


@pytest.mark.parametrize("source", [OWN_LOG, EAGER], ids=["its own log", "no log"])
def test_the_output_is_that_of_the_program_alone(tmp_path: Path, source: str) -> None:
    line = command_line(Target(str(tmp_path / "program.py")), str(tmp_path / "run.jsonl"), 0, 3, False)
    launched = Launched(tmp_path, source, options={"command": line, "environment": environment()})
    output, errors = launched.finish()
    alone = subprocess.run([sys.executable, launched.script], env=environment(), capture_output=True, check=True)
    assert output == alone.stdout
    assert without_times(errors) == without_times(alone.stderr)
    assert (b"/job:localhost" in output + errors) is (source is OWN_LOG)
    logs = launched.capture.logs
    assert (("MatMul", "CPU:0") in logs["stderr"].placed) is (source is OWN_LOG)
    assert {evidence for evidence, _ in launched.capture.lost} <= {"sessions"} | never_seen()


def test_the_log_replaces_operations_and_is_held_back(tmp_path: Path) -> None:
    (tmp_path / "blind.py").write_text(BLIND)
    program = str(tmp_path / "program.py")
    arguments = command_line(Target(program), str(tmp_path / "run.jsonl"), 0, 3, False)[3:]
    command = [sys.executable, "-u", str(tmp_path / "blind.py"), *arguments]
    launched = Launched(tmp_path, EAGER, options={"command": command, "environment": environment()})
    output, errors = launched.finish()
    assert output == b""
    said = [line for line in errors.splitlines() if line.startswith((b"step", b"warned"))]
    assert [line.split()[1] for line in said] == [b"%d" % number for number in range(0, 500, 100) for _ in range(2)]
    assert b"/job:localhost" not in errors
    capture = launched.capture
    assert not capture.executions and {evidence for evidence, _ in capture.lost} == {"operations"} | never_seen()
    assert capture.logs["stderr"].ran["Relu", "CPU:0"] == 500 and capture.logs["stderr"].torn == 0
    assert ("MatMul", "CPU:0") in capture.logs["stdout"].placed
    (record,) = (json.loads(line) for line in launched.capture_path.read_text().splitlines() if '"logging"' in line)
    assert record["instead_of"] == ["operations"]
