"""The placement log parser on the log of the installed TensorFlow, compared with the devices of its tensors."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import pytest

from gpulint.probe.placement_log.counts import Placements, short_device
from gpulint.probe.placement_log.records import Execution, Placement
from tests.probe.placement_log.logs import Outcome, parse

PROGRAM = """
import json
import tensorflow as tf

tf.debugging.set_log_device_placement(True)
cpu = tf.config.list_physical_devices("CPU")[0]
configuration = tf.config.LogicalDeviceConfiguration
tf.config.set_logical_device_configuration(cpu, [configuration(), configuration(), configuration()])

@tf.function
def tower(x):
    x = tf.tanh(x, name="where_it_was_called")
    with tf.device("/cpu:2"):
        return tf.linalg.matmul(x, x, name="where_it_was_told")

print("progress", end="... ", flush=True)
truth = {}
with tf.device("/cpu:1"):
    a = tf.ones([3, 3])
    truth["Softplus"] = tf.nn.softplus(a).device
truth["Softsign"] = tf.nn.softsign(a).device
for size in range(2, 40):
    print("loss: 0.%d" % size, flush=True)
    with tf.device("/cpu:1"):
        tower(tf.ones([size, size]))
print(json.dumps(truth))
"""


@pytest.fixture(scope="module")
def streams() -> tuple[Outcome, Outcome]:
    """Standard output and standard error of a real run."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "0"}
    environment.pop("PYTHONUNBUFFERED", None)  # with it C stdio tears no lines
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, env=environment, timeout=300, check=True
    )
    return parse(done.stdout), parse(done.stderr)


@pytest.mark.tensorflow
@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed")
class TestLive:
    def test_operations_ran_where_their_tensors_are(self, streams: tuple[Outcome, Outcome]) -> None:
        output, errors = streams
        truth = json.loads(output.text[output.text.index(b"{") :].split(b"\n")[0])
        ran = {record.op: record.device for record in errors.records if isinstance(record, Execution)}
        for op in ("Softplus", "Softsign"):
            assert ran[op] == truth[op]
        sums = Placements()
        sums.add(output.records)
        assert set(sums.nodes["where_it_was_told"]) == {("MatMul", "CPU:2")}
        assert set(sums.nodes["where_it_was_called"]) == {("Tanh", short_device(truth["Softplus"]))}

    def test_what_the_program_prints_is_in_order_and_torn_lines_are_few(self, streams: tuple[Outcome, Outcome]) -> None:
        output, errors = streams
        printed = [b"progress... ", *(b"loss: 0.%d\n" % size for size in range(2, 40))]
        positions = [output.text.index(line) for line in printed]
        assert positions == sorted(positions)
        assert errors.counts.torn == errors.counts.recovered == 0
        placed = [sum(isinstance(r, Placement) for r in stream.records) for stream in streams]
        assert placed[0] + output.counts.torn == placed[1] > 150
        assert 0 < output.counts.torn + output.counts.recovered < placed[1] / 20
