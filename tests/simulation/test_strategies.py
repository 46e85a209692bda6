"""Strategies on simulated GPUs use all of them, and training runs on each."""

from __future__ import annotations

import importlib.metadata
import re

import pytest

from gpulint.probe.capture.contents import Capture
from gpulint.probe.expectations.expectation import Status
from tests.simulation.conftest import Rehearse
from tests.simulation.test_devices import said

pytestmark = pytest.mark.tensorflow

FIT = """
import numpy as np
import tensorflow as tf

strategy = {strategy}
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((6, 4)), {layers}])
    model.compile("adam", "mse")
rows, targets = np.ones((48, 6, 4), "float32"), np.ones((48, 2), "float32")
model.fit(rows, targets, batch_size=24, epochs=2, verbose=0)
assert np.isfinite(model.evaluate(rows, targets, batch_size=24, verbose=0))
"""
DENSE = "tf.keras.layers.Flatten(), tf.keras.layers.Dense(2, name='last')"


def computing(capture: Capture) -> set[str]:
    """Devices on which products are computed."""
    return {node.assigned for node in capture.nodes if "MatMul" in node.op}


@pytest.mark.parametrize("gpus", [2, 4, 8])
def test_mirrored_training_takes_every_gpu_and_its_verdict_is_good(gpus: int, rehearse: Rehearse) -> None:
    run = rehearse(FIT.format(strategy="tf.distribute.MirroredStrategy()", layers=DENSE), gpus)
    every = tuple(f"GPU:{index}" for index in range(gpus))
    (strategy,) = run.capture.strategies
    assert (strategy.devices, strategy.replicas) == (every, gpus)
    assert computing(run.capture) == set(every)
    kernels = [one for one in run.capture.variables if "last/kernel" in one.name and "adam" not in one.name]
    assert sorted(one.device for one in kernels) == sorted(every)
    judged = {one.id: one.status for one in run.expectations() if one.code != "GPU209"}
    assert judged["strategy-spread"] is Status.PASS
    assert judged["variables-mirrored"] is Status.PASS


@pytest.mark.parametrize(
    ("strategy", "devices"),
    [
        ("tf.distribute.MirroredStrategy(['/gpu:1', 'GPU:2'])", {"GPU:1", "GPU:2"}),
        ("tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.NcclAllReduce())", {"GPU:0", "GPU:1", "GPU:2"}),
        (
            "tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.HierarchicalCopyAllReduce())",
            {"GPU:0", "GPU:1", "GPU:2"},
        ),
        ("tf.distribute.OneDeviceStrategy('/gpu:1')", {"GPU:1"}),
        ("tf.distribute.experimental.CentralStorageStrategy()", {"GPU:0", "GPU:1", "GPU:2"}),
        ("tf.distribute.MultiWorkerMirroredStrategy()", {"GPU:0", "GPU:1", "GPU:2"}),
    ],
)
def test_every_strategy_trains_on_its_devices(strategy: str, devices: set[str], rehearse: Rehearse) -> None:
    if "CentralStorage" in strategy and importlib.metadata.version("keras").startswith("3.3."):
        pytest.skip("`fit` of Keras 3.3 fails under this strategy")
    capture = rehearse(FIT.format(strategy=strategy, layers=DENSE), 3).capture
    assert set(capture.strategies[-1].devices) == devices
    assert computing(capture) == devices


def test_keras_compiles_with_xla_where_there_is_a_gpu(rehearse: Rehearse) -> None:
    text = FIT.format(strategy="tf.distribute.get_strategy()", layers=DENSE)
    compiled, opened = rehearse(text, 1).capture, rehearse(text, 1, no_jit=True).capture
    assert computing(compiled) == set()
    assert computing(opened) == {"GPU:0"}


def test_recurrent_layers_do_without_cudnn(rehearse: Rehearse) -> None:
    layers = "tf.keras.layers.LSTM(4), tf.keras.layers.Reshape((4, 1)), tf.keras.layers.GRU(2)"
    capture = rehearse(FIT.format(strategy="tf.distribute.MirroredStrategy()", layers=layers), 2).capture
    assert computing(capture) == {"GPU:0", "GPU:1"}


def test_a_step_of_ones_own_reduces_over_the_replicas(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        """
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    weight = tf.Variable([1.0, 2.0])
said["copies"] = [short(one.device) for one in weight.values]

@tf.function
def step():
    def replica():
        own = tf.distribute.get_replica_context()
        number = tf.cast(own.replica_id_in_sync_group, tf.float32)
        return own.all_reduce("sum", number * weight)
    return strategy.reduce("mean", strategy.run(replica), axis=None)

said["reduced"] = step().numpy().tolist()
rows = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4))
said["parts"] = [[short(one.device) for one in strategy.experimental_local_results(row)] for row in rows]
""",
        4,
    )
    devices = [f"GPU:{index}" for index in range(4)]
    assert answer == {"copies": devices, "reduced": [6.0, 12.0], "parts": [devices, devices]}


BOTH = """
import tensorflow as tf
import numpy as np

if {plain}:
    cpu, = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)
strategy = tf.distribute.MirroredStrategy(["{first}", "{second}"])
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3), tf.keras.layers.Dropout(0.2)])
    model.compile("adam", "mse")
model.fit(np.ones((16, 4), "float32"), np.ones((16, 3), "float32"), batch_size=8, verbose=0)

@tf.function
def halves(x):
    with tf.device("{first}"):
        left = tf.nn.relu(x @ x)
    with tf.device("{second}"):
        right = tf.reduce_sum(x)
        with tf.device("/cpu:0"):
            return left, right, tf.linalg.inv(x)

halves(tf.eye(3))
with tf.device("{second}"):
    y = tf.sqrt(tf.ones(3)) + 1.0
"""


def test_the_same_program_on_plain_logical_cpus_has_the_same_placements(rehearse: Rehearse) -> None:
    names = {"CPU:2": "GPU:1", "CPU:3": "GPU:2"}
    plain = rehearse(BOTH.format(plain=True, first="CPU:2", second="CPU:3"), 0).capture
    simulated = rehearse(BOTH.format(plain=False, first="GPU:1", second="GPU:2"), 3).capture
    lacking = {op for (op, _), kernel in simulated.kernels.items() if not kernel.gpu}

    def placements(capture: Capture) -> dict[tuple[str, str, str, int], int]:
        found: dict[tuple[str, str, str, int], int] = {}
        placed = [((one.op, one.requested, one.device, one.where), count) for one, count in capture.executions.items()]
        placed += [((one.op, one.requested, one.assigned, one.where), n) for one, n in capture.nodes.items()]
        for (op, requested, device, where), count in placed:
            if names.get(requested, requested) in names.values() and op not in lacking:
                row = where.row if where is not None else 0
                key = (op, names.get(requested, requested), names.get(device, device), row)
                found[key] = found.get(key, 0) + count
        return found

    def variables(capture: Capture) -> list[tuple[str, str, int]]:
        found = [
            (re.sub(r"_\d+$", "", one.name), names.get(one.device, one.device), one.bytes) for one in capture.variables
        ]
        return sorted(one for one in found if one[1] in names.values())

    assert placements(simulated) == placements(plain)
    assert variables(simulated) == variables(plain)
    assert len(placements(plain)) > 20
