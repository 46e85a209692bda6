"""Which devices compute a training step, and on how many examples each, if a strategy is used halfway?

Counted on TensorFlow 2.21 with a strategy for two logical CPU devices and batches of 32:

* a strategy that is never entered (GPU203), and a step that is called directly (GPU206): one device computes all 32;
* `strategy.run` on batches of a plain dataset (GPU205): both compute the same 32;
* `fit` in the scope, and `strategy.run` on batches of a distributed dataset: both compute 16. A replica's part is the
  batch divided by their number (GPU209), whatever the device can do (GPU219).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

BATCH = 32


def devices_of(step: Callable[[], object]) -> list[str]:
    """The devices that compute matrix products in the first call."""
    from tensorflow.python.eager import context

    context.context().enable_run_metadata()
    step()
    graphs = context.context().export_run_metadata().partition_graphs
    context.context().disable_run_metadata()
    nodes = (node for graph in graphs for node in graph.node if "MatMul" in node.op)
    return sorted({node.device.rpartition("device:")[2] for node in nodes})


def main() -> None:
    import keras
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    examples: list[int] = []

    class Network(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.head = keras.layers.Dense(4)

        def call(self, x: Any) -> Any:
            examples.append(x.shape[0])
            return self.head(x)

    def trained(batches: int) -> Any:
        data = tf.data.Dataset.from_tensors((tf.zeros((BATCH, 8)), tf.zeros((BATCH, 4)))).unbatch()
        return data.repeat(batches).batch(BATCH, drop_remainder=True)

    def shown(name: str, step: Callable[[], object]) -> None:
        examples.clear()
        devices = devices_of(step)
        print(f"{name}: {devices}, examples of each {sorted(set(filter(None, examples)))}")

    def by_fit(model: Any) -> Callable[[], object]:
        model.compile("sgd", "mse", jit_compile=False)
        return lambda: model.fit(trained(1), verbose=0)

    devices_of(tf.function(lambda: tf.zeros(())))  # TensorFlow records no graphs the first time that it is asked
    shown("strategy never entered (GPU203), `fit`", by_fit(Network()))
    with strategy.scope():
        shown("in the scope, `fit`", by_fit(Network()))
        model = Network()
        model(tf.zeros((BATCH, 8)))
        optimizer = keras.optimizers.SGD()
        optimizer.build(model.trainable_variables)

    def update(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )

    direct = tf.function(update)
    replicated = tf.function(lambda x, y: strategy.run(update, args=(x, y)))
    plain = next(iter(trained(1)))
    apart = next(iter(strategy.experimental_distribute_dataset(trained(1))))
    shown("the step called directly (GPU206)", lambda: direct(*plain))
    shown("`strategy.run` on a batch of the dataset (GPU205)", lambda: replicated(*plain))
    shown("`strategy.run` on a distributed batch", lambda: replicated(*apart))


if __name__ == "__main__":
    main()
