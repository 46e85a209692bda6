"""Launching programs that use the installed TensorFlow, with all of its placement log."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from tests.probe.launch.launched import Launched

PROGRAM = """
import sys
import tensorflow as tf

tf.debugging.set_log_device_placement(True)

@tf.function
def step(x):
    return tf.reduce_sum(tf.linalg.matmul(x, x))

x = tf.ones([4, 4])
for number in range(15_000):
    x = tf.nn.relu(x) * 0.5
    if number % 1000 == 0:
        print("step", number, float(step(x)))
        print("warned", number, file=sys.stderr)
"""


@pytest.mark.tensorflow
@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed")
class TestLive:
    def test_log_is_counted_and_only_the_programs_output_comes_out(self, tmp_path: Path) -> None:
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "0"}
        command = [sys.executable, "-u", str(tmp_path / "program.py")]
        launched = Launched(tmp_path, PROGRAM, options={"command": command, "environment": environment})
        output, errors = launched.finish()
        assert output.count(b"step") == len(output.splitlines()) == 15
        assert [line for line in errors.splitlines() if b"warned" in line] == [
            b"warned %d" % number for number in range(0, 15_000, 1000)
        ]
        assert b"/job:localhost" not in output + errors
        logs = launched.capture.logs
        assert sum(logs["stderr"].ran.values()) >= 30_000 and logs["stderr"].torn == logs["stdout"].torn == 0
        assert any(op == "MatMul" for op, _ in logs["stdout"].placed)
