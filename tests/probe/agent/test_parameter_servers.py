"""A program with parameter servers, whose graphs are available only after waiting for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.probe.agent.test_agent import probed
from tests.releases import never_seen

pytestmark = pytest.mark.tensorflow

PROGRAM = """
import socket, time
import tensorflow as tf
from tensorflow.python.eager import context


def port():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return free.getsockname()[1]


spec = tf.train.ClusterSpec({"worker": [f"localhost:{port()}"], "ps": [f"localhost:{port()}"]})
configuration = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=2)
for job in ("worker", "ps"):
    tf.distribute.Server(spec, job_name=job, task_index=0, config=configuration, protocol="grpc")
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(spec, rpc_layer="grpc")
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    weight = tf.Variable(tf.ones((4, 4)))


def exported(*arguments):
    print("asked for graphs")
    return export(*arguments)


export = context.pywrap_tfe.TFE_ContextExportRunMetadata
context.pywrap_tfe.TFE_ContextExportRunMetadata = exported


def slowly(x):
    time.sleep(0.1)  # needs the GIL, in a server of this process
    return x


@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.matmul(tf.numpy_function(slowly, [tf.ones((4, 4))], tf.float32), weight))
    weight.assign_sub(0.1 * tape.gradient(loss, weight))
    return loss


began = time.monotonic()
while time.monotonic() < began + 3 or loss.fetch() == 64:
    loss = coordinator.schedule(step)
    coordinator.join()
print(loss.fetch() < 64)
"""


def test_parameter_servers_are_not_waited_for(tmp_path: Path) -> None:
    done, capture = probed(tmp_path, PROGRAM)
    assert (done.stdout, done.returncode) == ("True\n", 0)
    assert capture.strategies[0].cls == "ParameterServerStrategy" and not capture.steps
    assert [one for one in capture.lost if one[0] not in never_seen()] == [
        ("graphs", "the program runs operations on remote devices"),
        ("functions", "TensorFlow does not report those that a coordinator schedules"),
    ]
